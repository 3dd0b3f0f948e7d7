//! Runs that somebody may want to end early.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// How often it is asked whether a run is to end.
const EVERY: Duration = Duration::from_millis(20);

/// One run, watched by the thread that began it.
#[derive(Debug)]
pub(crate) struct Watch {
    ask: fn() -> bool,
    owner: ThreadId,
    asked: Mutex<Instant>,
    ended: AtomicBool,
}

impl Watch {
    /// A run of this thread, which ends when `ask` says so.
    pub(crate) fn new(ask: fn() -> bool) -> Self {
        let (owner, asked) = (thread::current().id(), Mutex::new(Instant::now()));
        Self { ask, owner, asked, ended: AtomicBool::new(false) }
    }

    /// Whether the run is to end: asked from time to time, on the thread that began it.
    pub(crate) fn has_ended(&self) -> bool {
        if self.ended.load(Ordering::Relaxed) {
            return true;
        }
        if thread::current().id() != self.owner {
            return false;
        }
        let Ok(mut asked) = self.asked.try_lock() else { return false };
        if asked.elapsed() < EVERY {
            return false;
        }
        *asked = Instant::now();
        if (self.ask)() {
            self.ended.store(true, Ordering::Relaxed);
        }
        self.ended.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_asks_now_and_then() {
        let watch = Watch::new(|| true);
        assert!(!watch.has_ended());
        thread::sleep(EVERY);
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
        let watch = Watch::new(|| false);
        thread::sleep(EVERY);
        assert!(!watch.has_ended());
    }
}
