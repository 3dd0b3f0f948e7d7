//! Cancellation of runs.

use ijk_kernels::tuning::time::INTERRUPT_INTERVAL;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_asks_now_and_then() {
        let token = CancelToken::new(Some(|| true), None);
        assert!(!token.has_ended());
        thread::sleep(INTERRUPT_INTERVAL);
        thread::scope(|scope| {
            let other = scope.spawn(|| token.has_ended());
            assert!(!other.join().unwrap());
        });
        assert!(token.has_ended());
        thread::scope(|scope| {
            let other = scope.spawn(|| token.has_ended());
            assert!(other.join().unwrap());
        });
    }

    #[test]
    fn a_run_goes_on_while_nobody_minds() {
        let token = CancelToken::new(Some(|| false), None);
        thread::sleep(INTERRUPT_INTERVAL);
        assert!(!token.has_ended());
    }

    #[test]
    fn a_flag_ends_a_run_on_any_thread() {
        let stop = Arc::new(AtomicBool::new(false));
        let token = CancelToken::new(None, Some(Arc::clone(&stop)));
        assert!(!token.has_ended());
        stop.store(true, Ordering::Relaxed);
        thread::scope(|scope| assert!(scope.spawn(|| token.has_ended()).join().unwrap()));
        assert!(token.has_ended());
    }
}
