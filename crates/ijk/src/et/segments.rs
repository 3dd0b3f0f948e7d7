//! Lowered programs, in segments that end where extents depend on elements.

use crate::Error;
use crate::cache::PlanCache;
use crate::prepared::PreparedLoop;
use ijk_ir::et::{Checked, LoopStage, Lowering, Solution, Stage, Step, Wanted};
use ijk_types::DType;
use std::sync::Arc;

/// Key of a lowered program.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct SegmentKey {
    pub solution: Arc<Solution>,
    /// For each array the type and shape that is bound to it.
    pub bound: Vec<Option<(DType, Vec<u64>)>>,
    /// Arrays that hold plain numbers.
    pub weak: Vec<usize>,
    pub seed: u64,
    /// Arrays that are results besides the program's.
    pub kept: Vec<usize>,
    /// Least and greatest elements of arrays that extents depend on, as far as they are known.
    pub ranges: Vec<Vec<Option<(i64, i64)>>>,
}

/// The stages up to an array whose elements determine extents, or to the end.
pub(super) struct Segment {
    pub stages: Vec<SegmentStage>,
    pub then: Option<Wanted>,
}

/// A stage with its plans.
pub(super) enum SegmentStage {
    Run(Box<Stage>, PlanCache),
    Loop(Box<LoopStage>, PlanCache<PreparedLoop>),
}

/// Lowers the segment that follows the known ranges.
pub(super) fn lower(checked: &Checked, case: &SegmentKey) -> Result<Segment, Error> {
    let fail = |diagnostics| Error::program(&checked.source, diagnostics);
    let mut lowering =
        Lowering::new(checked, &case.solution, &case.bound, case.seed).map_err(fail)?;
    lowering.weaken(&case.weak);
    lowering.keep(&case.kept);
    let mut known = case.ranges.iter();
    let mut stages = Vec::new();
    loop {
        match lowering.step().map_err(fail)? {
            Some(Step::Run(stage)) => {
                stages.push(SegmentStage::Run(stage, PlanCache::default()));
            }
            Some(Step::Loop(stage)) => {
                stages.push(SegmentStage::Loop(stage, PlanCache::default()));
            }
            Some(Step::Tell(wanted)) => match known.next() {
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
