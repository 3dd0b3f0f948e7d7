//! Lowered programs of earlier runs.

use crate::Error;
use crate::cache::PlanCache;
use ijk_ir::et::{Checked, Lowering, Solution, Stage, Step, Wanted};
use ijk_types::DType;
use std::sync::{Arc, Mutex, PoisonError};

/// Segments that are kept.
const MOST: usize = 64;

/// What a program was lowered for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub solution: Solution,
    /// For each array what is bound to it.
    pub bound: Vec<Option<(DType, Vec<u64>)>>,
    pub seed: u64,
    /// Arrays that are results besides the program's.
    pub kept: Vec<usize>,
    /// What was told of arrays so far.
    pub told: Vec<Vec<Option<(i64, i64)>>>,
}

/// The stages up to where something must be told of an array, or to the end.
pub(super) struct Segment {
    pub stages: Vec<(Stage, PlanCache)>,
    pub then: Option<Wanted>,
}

/// Segments by what they were lowered for, the least recently used ones forgotten.
#[derive(Default)]
pub(super) struct Segments {
    kept: Mutex<Vec<(Case, Arc<Segment>)>>,
}

impl Segments {
    /// The segment of an earlier run, or a new one.
    pub fn get(&self, checked: &Checked, case: &Case) -> Result<Arc<Segment>, Error> {
        if let Some(segment) = self.find(case) {
            return Ok(segment);
        }
        let segment = Arc::new(lower(checked, case)?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(0, (case.clone(), Arc::clone(&segment)));
        kept.truncate(MOST);
        Ok(segment)
    }

    fn find(&self, case: &Case) -> Option<Arc<Segment>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(own, _)| own == case)?;
        kept[..=at].rotate_right(1);
        Some(Arc::clone(&kept[0].1))
    }
}

fn lower(checked: &Checked, case: &Case) -> Result<Segment, Error> {
    let fail = |diagnostics| Error::program(&checked.source, diagnostics);
    let mut lowering =
        Lowering::new(checked, &case.solution, &case.bound, case.seed).map_err(fail)?;
    lowering.keep(&case.kept);
    let mut told = case.told.iter();
    let mut stages = Vec::new();
    loop {
        match lowering.step().map_err(fail)? {
            Some(Step::Run(stage)) => stages.push((*stage, PlanCache::default())),
            Some(Step::Tell(wanted)) => match told.next() {
                Some(ranges) => {
                    lowering.tell(wanted, ranges);
                    stages.clear();
                }
                None => return Ok(Segment { stages, then: Some(wanted) }),
            },
            None => return Ok(Segment { stages, then: None }),
        }
    }
}
