//! Checks for cancellation in long loops.

use crate::runtime::threads::Workers;
use ijk_kernels::tuning::time::CANCEL_OPERATIONS;

/// Checks for cancellation in a long loop, at intervals.
pub(crate) struct Pace<'a> {
    workers: &'a Workers,
    left: usize,
}

impl<'a> Pace<'a> {
    /// For the loop of a task of these threads.
    pub(crate) fn new(workers: &'a Workers) -> Self {
        Self { workers, left: CANCEL_OPERATIONS }
    }

    /// Counts `operations` operations; returns true if the run is cancelled.
    #[inline]
    pub(crate) fn ends_after(&mut self, operations: usize) -> bool {
        match self.left.checked_sub(operations) {
            Some(left) => {
                self.left = left;
                false
            }
            None => {
                self.left = CANCEL_OPERATIONS;
                self.workers.have_ended()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::cancel::CancelToken;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_long_loop_asks_at_its_pace() {
        let stop = Arc::new(AtomicBool::new(true));
        let workers = Workers::new(1).watched(CancelToken::new(None, Some(stop)));
        let mut pace = Pace::new(&workers);
        assert!(!pace.ends_after(1) && !pace.ends_after(CANCEL_OPERATIONS - 1));
        assert!(pace.ends_after(1));
        assert!(Pace::new(&workers).ends_after(CANCEL_OPERATIONS + 1));
    }
}
