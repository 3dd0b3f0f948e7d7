//! Execution environment of contractions.

use crate::error::RunError;
use crate::runtime::scratch::{Scratch, ScratchPool};
use crate::{Level, Workers};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Execution environment of a contraction.
pub(crate) struct Context<'a> {
    /// Instruction set.
    pub(crate) level: Level,
    /// Threads and cancellation.
    pub(crate) workers: &'a Workers,
    /// True if only the calling thread works.
    pub(crate) alone: bool,
    /// Scratch memory for panels.
    pub(crate) scratch: &'a ScratchPool,
    /// Bytes of an allocation that failed; 0 if none did.
    pub(crate) refused: &'a AtomicUsize,
}

impl<'a> Context<'a> {
    /// A context with these threads and this memory. The size of an allocation that fails is stored in `refused`.
    pub(crate) fn new(
        level: Level,
        workers: &'a Workers,
        scratch: &'a ScratchPool,
        refused: &'a AtomicUsize,
    ) -> Self {
        Self { level, workers, alone: false, scratch, refused }
    }

    /// At least `bytes` bytes, or `None` if allocation fails: the contraction then stops, and [`settle`](Self::settle)
    /// returns the error.
    pub(crate) fn take(&self, bytes: usize) -> Option<Scratch<'a>> {
        let memory = self.scratch.try_take(bytes);
        if memory.is_none() {
            self.refused.fetch_max(bytes.max(1), Ordering::Relaxed);
        }
        memory
    }

    /// Result of a contraction: an error if an allocation failed.
    pub(crate) fn settle(&self) -> Result<(), RunError> {
        match self.refused.load(Ordering::Relaxed) {
            0 => Ok(()),
            bytes => Err(RunError::OutOfMemory(bytes)),
        }
    }

    /// Returns true if the run was cancelled or has failed.
    pub(crate) fn have_ended(&self) -> bool {
        self.refused.load(Ordering::Relaxed) != 0 || self.workers.have_ended()
    }

    /// Number of threads that work in parallel.
    pub(crate) fn threads(&self) -> usize {
        if self.alone { 1 } else { self.workers.threads() }
    }

    /// Returns true if work of `nanoseconds` on one thread is worth dividing among threads.
    pub(crate) fn are_worth(&self, nanoseconds: f64) -> bool {
        !self.alone && self.workers.are_worth(nanoseconds)
    }

    /// [`Workers::parallel_for`], or a plain loop.
    pub(crate) fn parallel_for(&self, tasks: usize, body: impl Fn(usize) + Sync) {
        match self.alone {
            false => self.workers.parallel_for(tasks, self.until_refused(body)),
            true => self.plain(tasks, body),
        }
    }

    /// [`Workers::parallel_in_order`], or a plain loop.
    pub(crate) fn parallel_in_order(&self, tasks: usize, body: impl Fn(usize) + Sync) {
        match self.alone {
            false => self.workers.parallel_in_order(tasks, self.until_refused(body)),
            true => self.plain(tasks, body),
        }
    }

    pub(crate) fn plain(&self, tasks: usize, body: impl Fn(usize)) {
        (0..tasks).take_while(|_| !self.have_ended()).for_each(body);
    }

    pub(crate) fn until_refused(&self, body: impl Fn(usize) + Sync) -> impl Fn(usize) + Sync {
        move |task| {
            if self.refused.load(Ordering::Relaxed) == 0 {
                body(task);
            }
        }
    }

    /// The same context without other threads.
    pub(crate) fn alone(&self) -> Context<'a> {
        Context { alone: true, ..*self }
    }
}
