//! Finished blocks, which need not be computed.

use super::stage::Stage;
use crate::domain::Coordinates;
use crate::store::Sink;
use std::collections::HashSet;

/// The finished blocks of a stage's output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Done(HashSet<Vec<usize>>);

/// Greatest number of blocks that are checked; with more, all are computed again.
const MOST: usize = 1 << 28;

impl Done {
    /// The finished blocks of a sink.
    pub(crate) fn new(stage: &Stage, sink: &dyn Sink) -> Self {
        let grid = stage.out.grid();
        if !sink.may_be_done() || Coordinates::count(&grid) > MOST {
            return Self::default();
        }
        Self(Coordinates::all(&grid).filter(|at| sink.is_done(at)).collect())
    }

    pub(crate) fn has(&self, at: &[usize]) -> bool {
        self.0.contains(at)
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = &[usize]> {
        self.0.iter().map(Vec::as_slice)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Scalar operations of the finished blocks.
    pub(crate) fn operations(&self, stage: &Stage) -> u64 {
        self.0.iter().fold(0, |sum: u64, at| sum.saturating_add(stage.operations(at)))
    }

    /// Returns true if all blocks of the stage are finished.
    pub(crate) fn is_all(&self, stage: &Stage) -> bool {
        self.0.len() == stage.blocks()
    }
}

impl FromIterator<Vec<usize>> for Done {
    fn from_iter<I: IntoIterator<Item = Vec<usize>>>(places: I) -> Self {
        Self(places.into_iter().collect())
    }
}
