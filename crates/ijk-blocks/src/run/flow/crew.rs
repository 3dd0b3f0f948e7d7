//! Subset of workers that compute a stage.

/// Every so many of the workers of all processes. Schedules number those who compute, timely numbers all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) struct Crew {
    every: usize,
}

impl Crew {
    /// Every so many of them, the first among them; 1 is everybody.
    pub(in crate::run) fn every(every: usize) -> Self {
        Self { every: every.max(1) }
    }

    /// Returns true if all workers compute.
    pub(in crate::run) fn is_everybody(self) -> bool {
        self.every == 1
    }

    /// The place of a worker in schedules, if it computes.
    pub(in crate::run) fn place(self, worker: usize) -> Option<usize> {
        worker.is_multiple_of(self.every).then_some(worker / self.every)
    }

    /// The worker in a place.
    pub(in crate::run) fn worker(self, place: usize) -> usize {
        place * self.every
    }
}
