//! Lowered programs of earlier runs.

use crate::Error;
use crate::cache::PlanCache;
use ijk_ir::et::{Checked, Lowering, Solution, Stage, Step, Wanted};
use ijk_types::DType;
use std::sync::Arc;

/// What a program was lowered for.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct Case {
    pub solution: Arc<Solution>,
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

/// Lowers the segment after what was told.
pub(super) fn lower(checked: &Checked, case: &Case) -> Result<Segment, Error> {
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
