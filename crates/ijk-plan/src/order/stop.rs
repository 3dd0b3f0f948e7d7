//! Searches that somebody may want to end.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How often it is asked whether the search is to end.
const EVERY: Duration = Duration::from_millis(20);

/// Asks now and then whether a search is to end; the answer yes is final.
pub(super) struct Stop<'a> {
    ask: &'a dyn Fn() -> bool,
    asked: Cell<Instant>,
    stopped: Cell<bool>,
}

impl<'a> Stop<'a> {
    pub(super) fn new(ask: &'a dyn Fn() -> bool) -> Self {
        Self { ask, asked: Cell::new(Instant::now()), stopped: Cell::new(false) }
    }

    /// Whether the search is to end. Cheap enough for every few hundred candidates.
    pub(super) fn is_set(&self) -> bool {
        if !self.stopped.get() && self.asked.get().elapsed() >= EVERY {
            self.stopped.set((self.ask)());
            self.asked.set(Instant::now());
        }
        self.stopped.get()
    }
}
