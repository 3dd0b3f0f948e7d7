//! A nest that one thread runs many times.

use super::TileNest;
use super::one_tile::OneTile;
use super::program::Sink;
use super::run::Worker;
use crate::scratch::{Scratch, ScratchPool};
use crate::threads::Workers;

/// A nest with its scratch memory, constants and the state of one thread: what a short run would spend most of its time
/// on.
pub(crate) struct StandingNest<'p> {
    tiles: Tiles<'p>,
    memory: Scratch<'p>,
}

/// The tiles of a nest.
enum Tiles<'p> {
    /// One, with the faults that its next run returns, too.
    One(&'p OneTile, u32),
    /// A number of blocks.
    Blocks(Box<Worker<'p>>, usize),
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
        if let Some(tile) = &nest.one_tile {
            // SAFETY: the memory has the nest's scratch bytes, and stays with the tile.
            let faults = unsafe { tile.prepare(memory.as_ptr()) };
            return Some(Self { tiles: Tiles::One(tile, faults), memory });
        }
        let blocks = nest.geometry.kept.iter().map(|&a| nest.blocks[a]).product();
        // SAFETY: the memory has the nest's scratch bytes, and stays with the worker, which is its only user; addresses
        // of buffers are set before each run.
        let worker = unsafe { Worker::new((nest, workers), &[], memory.as_ptr()) };
        Some(Self { tiles: Tiles::Blocks(Box::new(worker), blocks), memory })
    }

    /// Executes the nest; returns the faults that occurred.
    ///
    /// # Safety
    /// As for [`Launch::run`](super::Launch::run).
    #[inline]
    pub(crate) unsafe fn run(&mut self, bases: &[*mut u8]) -> u32 {
        match &mut self.tiles {
            Tiles::One(tile, faults) => {
                // SAFETY: guaranteed by the caller; the memory is the tile's, and prepared.
                std::mem::take(faults) | unsafe { tile.run(bases, self.memory.as_ptr()) }
            }
            Tiles::Blocks(worker, blocks) => {
                worker.move_to(bases);
                // SAFETY: guaranteed by the caller.
                unsafe { worker.run(0..*blocks) };
                std::mem::take(&mut worker.faults)
            }
        }
    }
}
