//! A nest that one thread runs many times.

use super::TileNest;
use super::program::Sink;
use super::run::Worker;
use crate::scratch::{Scratch, ScratchPool};
use crate::threads::Workers;

/// A nest with its scratch memory, constants and the state of one thread: what a short run would spend most of its time
/// on.
pub(crate) struct StandingNest<'p> {
    worker: Worker<'p>,
    blocks: usize,
    _memory: Scratch<'p>,
}

impl<'p> StandingNest<'p> {
    /// `None` if a run is worth dividing among threads, combines partial results, or moves rows, or if there is no memory.
    pub(crate) fn new(
        nest: &'p TileNest,
        workers: &'p Workers,
        scratch: &'p ScratchPool,
    ) -> Option<Self> {
        let plain = match &nest.sink {
            Sink::Reduce(spec) => spec.chunks <= 1 && spec.rows.is_none(),
            Sink::Rows(_) => false,
            _ => true,
        };
        if !plain || workers.are_worth(nest.cost) {
            return None;
        }
        let memory = scratch.try_take(nest.scratch)?;
        let blocks = nest.geometry.kept.iter().map(|&a| nest.blocks[a]).product();
        // SAFETY: the memory has the nest's scratch bytes, and stays with the worker, which is its only user; addresses
        // of buffers are set before each run.
        let worker = unsafe { Worker::new((nest, workers), &[], memory.as_ptr()) };
        Some(Self { worker, blocks, _memory: memory })
    }

    /// Executes the nest; returns the faults that occurred.
    ///
    /// # Safety
    /// As for [`Launch::run`](super::Launch::run).
    pub(crate) unsafe fn run(&mut self, bases: &[*mut u8]) -> u32 {
        self.worker.move_to(bases);
        // SAFETY: guaranteed by the caller.
        unsafe { self.worker.run(0..self.blocks) };
        std::mem::take(&mut self.worker.faults)
    }
}
