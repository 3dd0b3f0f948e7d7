//! Cancellation of runs.

use crate::runtime::threads::Workers;
use crate::tuning::time::{CANCEL_OPERATIONS, INTERRUPT_INTERVAL};
use ijk_tensor::fork::generation;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ThreadId};
use std::time::Instant;

/// Interrupt callback, called by the thread that started a run.
pub(crate) type InterruptCallback = fn() -> bool;

/// A run that can be cancelled, owned by the thread that started it.
#[derive(Debug)]
pub(crate) struct CancelToken {
    ask: Option<InterruptCallback>,
    /// Flag that cancels the run.
    stop: Option<Arc<AtomicBool>>,
    owner: ThreadId,
    /// Process that started it: a child that is forked meanwhile has none of its other threads.
    generation: usize,
    begun: Instant,
    /// Time of the owner's last call, in nanoseconds since the start.
    asked: AtomicU64,
    ended: AtomicBool,
}

impl CancelToken {
    /// A run of this thread, which is cancelled when `ask` returns true or the flag is set.
    pub(crate) fn new(ask: Option<InterruptCallback>, stop: Option<Arc<AtomicBool>>) -> Self {
        Self {
            ask,
            stop,
            owner: thread::current().id(),
            generation: generation(),
            begun: Instant::now(),
            asked: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        }
    }

    /// Returns true if the run is cancelled; calls the callback at intervals, on the thread that started the run.
    pub(crate) fn has_ended(&self) -> bool {
        if self.ended.load(Ordering::Relaxed) {
            return true;
        }
        let stopped = self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        if stopped || self.asks() {
            self.ended.store(true, Ordering::Relaxed);
        }
        self.ended.load(Ordering::Relaxed)
    }

    /// Result of the callback, if this is the owner's thread and the interval is over.
    fn asks(&self) -> bool {
        let Some(ask) = self.ask.filter(|_| thread::current().id() == self.owner) else {
            return false;
        };
        let now = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if now.saturating_sub(self.asked.load(Ordering::Relaxed))
            < INTERRUPT_INTERVAL.as_nanos() as u64
        {
            return false;
        }
        let ends = ask();
        // The callback may take long, and may fork.
        let now = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.asked.store(now, Ordering::Relaxed);
        ends || self.generation != generation()
    }
}

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

    #[test]
    fn the_owner_asks_now_and_then() {
        let watch = CancelToken::new(Some(|| true), None);
        assert!(!watch.has_ended());
        thread::sleep(INTERRUPT_INTERVAL);
        thread::scope(|scope| {
            let other = scope.spawn(|| watch.has_ended());
            assert!(!other.join().unwrap());
        });
        assert!(watch.has_ended());
        thread::scope(|scope| {
            let other = scope.spawn(|| watch.has_ended());
            assert!(other.join().unwrap());
        });
    }

    #[test]
    fn a_run_goes_on_while_nobody_minds() {
        let watch = CancelToken::new(Some(|| false), None);
        thread::sleep(INTERRUPT_INTERVAL);
        assert!(!watch.has_ended());
    }

    #[test]
    fn a_flag_ends_a_run_on_any_thread() {
        let stop = Arc::new(AtomicBool::new(false));
        let watch = CancelToken::new(None, Some(Arc::clone(&stop)));
        assert!(!watch.has_ended());
        stop.store(true, Ordering::Relaxed);
        thread::scope(|scope| assert!(scope.spawn(|| watch.has_ended()).join().unwrap()));
        assert!(watch.has_ended());
    }

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
