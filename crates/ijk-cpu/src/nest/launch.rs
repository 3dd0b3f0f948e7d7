//! Distributes the blocks of a nest among threads.
//!
//! The blocks, and the order in which their results are combined, do not depend on the number of threads; neither do
//! results.

use super::TileNest;
use super::one_tile::OneTile;
use super::program::{ReduceSpec, Sink};
use super::run::Worker;
use super::sorted;
use crate::copy::fence;
use crate::error::RunError;
use crate::scratch::{Need, ScratchPool};
use crate::threads::Workers;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

impl TileNest {
    /// Estimated work, in nanoseconds on one thread.
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// Upper bound of its scratch memory.
    pub fn need(&self) -> Need {
        let shared = match &self.sink {
            Sink::Reduce(spec) if spec.chunks > 1 => {
                let kept: usize = self.geometry.kept.iter().map(|&a| self.blocks[a]).product();
                kept.saturating_mul(spec.chunks).saturating_mul(spec.stride)
            }
            Sink::Rows(rows) if self.parallel == 0 => {
                let points = self.geometry.loops.iter().map(|each| each.axis.extent).product();
                if rows.accumulates() { sorted::bytes(rows, points) } else { 0 }
            }
            _ => 0,
        };
        Need { shared: shared as u64, each: self.scratch as u64 }
    }

    /// Number of blocks of the loops that may be divided among threads, and of the others for each.
    pub(super) fn block_counts(&self) -> [usize; 2] {
        let (divisible, rest) = self.geometry.kept.split_at(self.parallel);
        [divisible, rest].map(|loops| loops.iter().map(|&a| self.blocks[a]).product())
    }

    /// Returns true if it uses non-temporal stores.
    fn streams(&self) -> bool {
        match &self.sink {
            Sink::Stream(_) => true,
            Sink::Rows(rows) => rows.stream.is_some(),
            _ => false,
        }
    }
}

/// A nest with its buffers and execution environment.
#[derive(Clone, Copy)]
pub(crate) struct Launch<'a> {
    /// The program.
    pub nest: &'a TileNest,
    /// The first element of each buffer.
    pub bases: &'a [*mut u8],
    /// Worker threads.
    pub workers: &'a Workers,
    /// Source of scratch memory.
    pub scratch: &'a ScratchPool,
}

// SAFETY: the pointers are dereferenced by workers only, to which `Launch::run` assigns disjoint blocks.
unsafe impl Sync for Launch<'_> {}
// SAFETY: as for `Sync`.
unsafe impl Send for Launch<'_> {}

impl Launch<'_> {
    /// Executes the nest; returns the faults that occurred.
    ///
    /// # Safety
    /// `bases` are the buffers that the nest was checked against: all elements that it reads are initialised, and no
    /// other thread accesses the output.
    pub unsafe fn run(&self) -> Result<u32, RunError> {
        if let Some(tile) = &self.nest.one_tile {
            // SAFETY: guaranteed by the caller.
            return unsafe { self.run_one(tile) };
        }
        // SAFETY: guaranteed by the caller.
        unsafe {
            match &self.nest.sink {
                Sink::Reduce(spec) if spec.chunks > 1 => self.run_chunks(spec),
                Sink::Rows(rows) if self.nest.parallel == 0 && rows.has_parts() => {
                    self.run_sums(rows)
                }
                // A single thread is as fast in the order of the rows.
                Sink::Rows(rows) if self.nest.parallel == 0 && self.is_large() => {
                    match (rows.accumulates(), self.copies(rows)) {
                        (true, Some(copies)) => {
                            self.run_copies(&copies, 0..self.nest.blocks.iter().product())
                        }
                        (true, None) => self.run_listed(rows),
                        (false, _) => self.run_rows(rows.reach()),
                    }
                }
                _ => self.run_blocks(),
            }
        }
    }

    /// Executes a nest of one tile.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn run_one(&self, tile: &OneTile) -> Result<u32, RunError> {
        let bytes = self.nest.scratch;
        let (mut small, large);
        let memory = if bytes <= size_of::<SmallScratch>() {
            small = SmallScratch([MaybeUninit::uninit(); SMALL_SCRATCH]);
            small.0.as_mut_ptr().cast()
        } else {
            large = self.scratch.try_take(bytes).ok_or(RunError::OutOfMemory(bytes))?;
            large.as_ptr()
        };
        // SAFETY: guaranteed by the caller; only this run accesses the memory, which has the nest's scratch bytes.
        Ok(unsafe { tile.prepare(memory) | tile.run(self.bases, memory) })
    }

    /// Number of points of the whole nest.
    pub(super) fn points(&self) -> usize {
        self.nest.geometry.loops.iter().map(|each| each.axis.extent).product()
    }

    /// Calls `body` with each task, in parallel if the nest is large enough.
    pub(super) fn each(&self, tasks: usize, body: impl Fn(usize) + Sync) {
        if self.is_large() {
            self.workers.parallel_for(tasks, body);
        } else {
            (0..tasks).take_while(|_| !self.workers.have_ended()).for_each(body);
        }
    }

    /// Returns true if the work is worth dividing among threads.
    pub(super) fn is_large(&self) -> bool {
        self.workers.are_worth(self.nest.cost)
    }

    /// Calls `work` with a worker that has its own scratch memory.
    ///
    /// # Safety
    /// As for [`run`](Self::run); `work` processes blocks that no other worker does.
    pub(super) unsafe fn work(&self, faults: &AtomicU32, work: impl FnOnce(&mut Worker<'_>)) {
        let memory = self.scratch.try_take(self.nest.scratch);
        let Some(memory) = memory else {
            faults.fetch_or(OUT_OF_MEMORY, Ordering::Relaxed);
            return;
        };
        // SAFETY: guaranteed by the caller; only this worker accesses the memory.
        let mut worker =
            unsafe { Worker::new((self.nest, self.workers), self.bases, memory.as_ptr()) };
        work(&mut worker);
        if self.nest.streams() {
            fence();
        }
        if worker.faults != 0 {
            faults.fetch_or(worker.faults, Ordering::Relaxed);
        }
    }

    /// Executes blocks of outputs.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn run_blocks(&self) -> Result<u32, RunError> {
        let [divisible, rest] = self.nest.block_counts();
        let faults = AtomicU32::new(0);
        self.workers.parallel_ranges(divisible, self.nest.cost, |range| {
            let range = range.start * rest..range.end * rest;
            // SAFETY: guaranteed by the caller; blocks of different tasks differ in a loop that separates elements of
            // the output.
            unsafe { self.work(&faults, |worker| worker.run(range)) };
        });
        self.settle(faults)
    }

    /// Executes all rows on each thread, which moves only those of its part of the output: elements are combined in the
    /// order of rows for any number of threads.
    ///
    /// # Safety
    /// As for [`run`](Self::run); no offset outside `reach` is written.
    unsafe fn run_rows(&self, reach: Range<i64>) -> Result<u32, RunError> {
        let blocks: usize = self.nest.blocks.iter().product();
        let parts = self.workers.threads();
        let faults = AtomicU32::new(0);
        self.each(parts, |part| {
            // SAFETY: guaranteed by the caller; parts are disjoint.
            unsafe {
                self.work(&faults, |worker| {
                    worker.own = part_of(&reach, part, parts);
                    worker.run(0..blocks);
                });
            }
        });
        self.settle(faults)
    }

    /// Executes chunks of a reduction with few outputs, then combines their results pairwise.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn run_chunks(&self, spec: &ReduceSpec) -> Result<u32, RunError> {
        let kept: usize = self.nest.geometry.kept.iter().map(|&a| self.nest.blocks[a]).product();
        let bytes = kept * spec.chunks * spec.stride;
        let memory = self.scratch.try_take(bytes).ok_or(RunError::OutOfMemory(bytes))?;
        let results = ChunkResults { start: memory.as_ptr(), stride: spec.stride };
        let faults = AtomicU32::new(0);
        self.each(kept * spec.chunks, |task| {
            let (block, chunk) = (task / spec.chunks, task % spec.chunks);
            // SAFETY: guaranteed by the caller; each task has its own result.
            unsafe {
                self.work(&faults, |worker| worker.run_chunk(block, chunk, results.of(task)));
            }
        });
        if faults.load(Ordering::Relaxed) != 0 {
            return self.settle(faults);
        }
        for block in (0..kept).take_while(|_| !self.workers.have_ended()) {
            let first = block * spec.chunks;
            // SAFETY: all chunks are done; only this thread accesses their results.
            unsafe {
                results.join(spec, first);
                self.work(&faults, |worker| worker.finish_block(block, results.of(first)));
            }
        }
        self.settle(faults)
    }

    /// The faults as a result.
    pub(super) fn settle(&self, faults: AtomicU32) -> Result<u32, RunError> {
        settled(faults, self.nest.scratch)
    }
}

/// The faults as a result, given the scratch memory of a worker.
pub(super) fn settled(faults: AtomicU32, scratch: usize) -> Result<u32, RunError> {
    match faults.into_inner() {
        faults if faults & OUT_OF_MEMORY != 0 => Err(RunError::OutOfMemory(scratch)),
        faults => Ok(faults),
    }
}

/// The range of index `part` out of `parts`.
pub(super) fn part_of(range: &Range<i64>, part: usize, parts: usize) -> Range<i64> {
    let length = i128::from(range.end) - i128::from(range.start);
    let cut =
        |part: usize| (i128::from(range.start) + length * part as i128 / parts as i128) as i64;
    cut(part)..cut(part + 1)
}

/// Bytes of scratch memory that a run has on its stack.
const SMALL_SCRATCH: usize = 1024;

/// Scratch memory on the stack: a nest of few points takes less time than to take some of the pool.
#[repr(align(64))]
struct SmallScratch([MaybeUninit<u8>; SMALL_SCRATCH]);

/// Fault bit: scratch memory for a worker could not be allocated.
pub(super) const OUT_OF_MEMORY: u32 = 1 << 31;

/// The results of chunks, contiguous in scratch memory.
#[derive(Clone, Copy)]
struct ChunkResults {
    start: *mut u8,
    stride: usize,
}

// SAFETY: each task dereferences the pointer to its own result only.
unsafe impl Sync for ChunkResults {}

impl ChunkResults {
    /// The result of a task.
    fn of(&self, task: usize) -> *mut u8 {
        self.start.wrapping_add(task * self.stride)
    }

    /// Combines the results of all chunks of one block, pairwise, into the first.
    ///
    /// # Safety
    /// They exist, from `first` on, and no other thread accesses them.
    unsafe fn join(&self, spec: &ReduceSpec, first: usize) {
        let mut step = 1;
        while step < spec.chunks {
            for left in (0..spec.chunks - step).step_by(2 * step) {
                // SAFETY: guaranteed by the caller. Results of a partial block have fewer outputs than `spec.outputs`;
                // the rest holds initialised values that are never read.
                unsafe {
                    spec.join(spec.outputs, self.of(first + left), self.of(first + left + step))
                };
            }
            step *= 2;
        }
    }
}
