//! Subset of workers that compute a stage.

/// Every n-th worker of all processes. Schedules number the workers of the subset, timely numbers all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) struct WorkerSubset {
    every: usize,
}

impl WorkerSubset {
    /// Every `every`-th worker, beginning with the first; 1 is all of them.
    pub(in crate::run) fn every(every: usize) -> Self {
        Self { every: every.max(1) }
    }

    /// Returns true if all workers compute.
    pub(in crate::run) fn is_everybody(self) -> bool {
        self.every == 1
    }

    /// Position of a worker in schedules, if it computes.
    pub(in crate::run) fn place(self, worker: usize) -> Option<usize> {
        worker.is_multiple_of(self.every).then_some(worker / self.every)
    }

    /// The worker at a position.
    pub(in crate::run) fn worker(self, place: usize) -> usize {
        place * self.every
    }
}
