//! Cancellation of a search.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Polling interval.
const EVERY: Duration = Duration::from_millis(20);

/// Polls a callback at intervals; once it returns true, the search is stopped for good.
pub(super) struct Stop<'a> {
    ask: &'a dyn Fn() -> bool,
    asked: Cell<Instant>,
    stopped: Cell<bool>,
}

impl<'a> Stop<'a> {
    pub(super) fn new(ask: &'a dyn Fn() -> bool) -> Self {
        Self { ask, asked: Cell::new(Instant::now()), stopped: Cell::new(false) }
    }

    /// Tells whether the search is stopped. Cheap enough for every few hundred candidates.
    pub(super) fn is_set(&self) -> bool {
        if !self.stopped.get() && self.asked.get().elapsed() >= EVERY {
            self.stopped.set((self.ask)());
            self.asked.set(Instant::now());
        }
        self.stopped.get()
    }
}
