//! Aligned memory for packing and temporaries, reused between calls.
//!
//! Page faults of new memory cost more than the work on it, so an engine keeps its buffers.

use crate::error::RunError;
use crate::runtime::threads::Workers;
use ijk_kernels::tuning::time::{KEPT_BUFFERS, UNCOUNTED_BYTES};
use ijk_tensor::advise_huge_pages;
use ijk_tensor::fork::ForkMutex;
use ijk_tensor::reserve;
use std::alloc::{Layout, alloc, dealloc};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};

/// Alignment of every buffer: a cache line, or a vector register.
pub(crate) const ALIGNMENT: usize = 64;

/// Size and alignment of buffers from which the kernel can use huge pages.
const HUGE: usize = 2 << 20;

/// Upper bound of the scratch memory of a step, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// For all threads together.
    pub(crate) shared: u64,
    /// For each thread that works.
    pub(crate) each: u64,
}

impl Need {
    /// Bytes that count against a memory limit with `threads` threads.
    pub(crate) fn counted(self, threads: usize) -> u64 {
        let threads = threads as u64;
        let all = self.shared.saturating_add(self.each.saturating_mul(threads));
        all.saturating_sub(UNCOUNTED_BYTES.saturating_mul(threads))
    }
}

/// Free buffers, shared by the threads of an engine.
#[derive(Debug, Default)]
pub struct ScratchPool {
    free: Arc<Shelf>,
    /// Buffers of the pool of which this one is a part.
    outer: Option<Arc<Shelf>>,
}

impl ScratchPool {
    /// A pool without buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// A pool for the work of one thread, whose buffers are taken from this one and finally returned to it: until then
    /// the thread reuses buffers in the cache of its core, without contention.
    pub(crate) fn part(&self) -> Self {
        Self { free: Arc::default(), outer: Some(Arc::clone(&self.free)) }
    }

    /// At least `bytes` uninitialised bytes, aligned to 64 bytes, which return to the pool on drop; `None` if
    /// allocation fails even after the pool's free buffers are released.
    pub(crate) fn try_take(&self, bytes: usize) -> Option<Scratch<'_>> {
        let block = self.reuse(bytes).or_else(|| ScratchBlock::try_new(bytes)).or_else(|| {
            self.clear();
            if let Some(outer) = &self.outer {
                drop(outer.take_all());
            }
            ScratchBlock::try_new(bytes)
        })?;
        Some(Scratch { block: Some(block), pool: self })
    }

    /// Divides `count` tasks of `cost` nanoseconds in all among threads: calls `body` with ranges of them, each with
    /// `bytes` bytes, as of [`try_take`](Self::try_take).
    ///
    /// # Errors
    /// If an allocation fails; the tasks of its range are left out.
    pub(crate) fn parallel_ranges(
        &self,
        workers: &Workers,
        (count, cost): (usize, f64),
        bytes: usize,
        body: impl Fn(Range<usize>, *mut u8) + Sync,
    ) -> Result<(), RunError> {
        let failed = AtomicBool::new(false);
        workers.parallel_ranges(count, cost, |range| match self.try_take(bytes) {
            Some(memory) => body(range, memory.as_ptr()),
            None => failed.store(true, Ordering::Relaxed),
        });
        match failed.into_inner() {
            true => Err(RunError::OutOfMemory(bytes)),
            false => Ok(()),
        }
    }

    /// Frees unused buffers.
    pub(crate) fn clear(&self) {
        drop(self.free.take_all());
    }

    /// The smallest free block that is large enough.
    fn reuse(&self, bytes: usize) -> Option<ScratchBlock> {
        self.free.take(bytes).or_else(|| self.outer.as_ref()?.take(bytes))
    }
}

impl Drop for ScratchPool {
    fn drop(&mut self) {
        if let Some(outer) = &self.outer {
            self.free.take_all().into_iter().for_each(|block| outer.give(block));
        }
    }
}

/// Unused blocks.
#[derive(Debug, Default)]
struct Shelf(ForkMutex<Vec<ScratchBlock>>);

impl Shelf {
    fn blocks(&self) -> MutexGuard<'_, Vec<ScratchBlock>> {
        self.0.lock()
    }

    /// The smallest block that is large enough.
    fn take(&self, bytes: usize) -> Option<ScratchBlock> {
        let mut free = self.blocks();
        let fits = |(_, block): &(usize, &ScratchBlock)| block.layout.size() >= bytes;
        let best = free.iter().enumerate().filter(fits).min_by_key(|(_, b)| b.layout.size());
        best.map(|(at, _)| at).map(|at| free.swap_remove(at))
    }

    fn take_all(&self) -> Vec<ScratchBlock> {
        std::mem::take(&mut *self.blocks())
    }

    /// Keeps a block, or frees the smallest if there are too many.
    fn give(&self, block: ScratchBlock) {
        let mut free = self.blocks();
        free.push(block);
        if free.len() > KEPT_BUFFERS {
            let smallest = (0..free.len()).min_by_key(|&at| free[at].layout.size());
            smallest.map(|at| free.swap_remove(at));
        }
    }
}

/// A buffer borrowed from a [`ScratchPool`].
pub(crate) struct Scratch<'a> {
    block: Option<ScratchBlock>,
    pool: &'a ScratchPool,
}

impl Scratch<'_> {
    /// The first byte; the contents are uninitialised.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.block.as_ref().map_or(std::ptr::null_mut(), |b| b.start.as_ptr())
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.pool.free.give(block);
        }
    }
}

/// Memory from the global allocator.
#[derive(Debug)]
struct ScratchBlock {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a block is plain memory that it owns exclusively.
unsafe impl Send for ScratchBlock {}

impl ScratchBlock {
    /// At least `bytes` bytes, or `None` if allocation fails.
    fn try_new(bytes: usize) -> Option<Self> {
        let layout = Self::layout(bytes).filter(|layout| reserve::allows(layout.size()))?;
        // SAFETY: the size is at least 1.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        // SAFETY: these bytes were just allocated, and are not shared yet.
        advise_huge_pages(unsafe {
            std::slice::from_raw_parts_mut(start.as_ptr().cast(), layout.size())
        });
        Some(Self { start, layout })
    }

    /// Sizes are rounded up, so that a slightly larger request can reuse the block.
    fn layout(bytes: usize) -> Option<Layout> {
        let granule = if bytes >= HUGE { HUGE } else { 4096 };
        let size = bytes.max(1).checked_next_multiple_of(granule)?;
        let alignment = if bytes >= HUGE { HUGE } else { ALIGNMENT };
        Layout::from_size_align(size, alignment).ok()
    }
}

impl Drop for ScratchBlock {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and owned by this block exclusively.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_reused() {
        let pool = ScratchPool::new();
        let first = pool.try_take(1000).unwrap();
        let address = first.as_ptr() as usize;
        assert_eq!(address % ALIGNMENT, 0);
        drop(first);
        let again = pool.try_take(4000).unwrap();
        assert_eq!(again.as_ptr() as usize, address);
        let other = pool.try_take(1).unwrap();
        assert_ne!(other.as_ptr() as usize, address);
    }

    #[test]
    fn large_buffers_fit_huge_pages() {
        let pool = ScratchPool::new();
        assert_eq!(pool.try_take(HUGE + 1).unwrap().as_ptr() as usize % HUGE, 0);
    }

    #[test]
    fn a_pool_does_not_grow_without_end() {
        let pool = ScratchPool::new();
        let many: Vec<_> = (0..100).map(|_| pool.try_take(10).unwrap()).collect();
        drop(many);
        assert_eq!(pool.free.blocks().len(), KEPT_BUFFERS);
    }

    #[test]
    fn a_part_returns_what_it_took() {
        let pool = ScratchPool::new();
        let address = |scratch: Scratch<'_>| scratch.as_ptr() as usize;
        let outer = address(pool.try_take(5000).unwrap());
        let part = pool.part();
        assert_eq!(address(part.try_take(5000).unwrap()), outer);
        assert!(pool.reuse(1).is_none());
        let (again, other) = (part.try_take(5000).unwrap(), part.try_take(5000).unwrap());
        assert_eq!(again.as_ptr() as usize, outer);
        drop((again, other));
        drop(part);
        assert_eq!(pool.free.blocks().len(), 2);
        pool.clear();
        assert!(pool.reuse(1).is_none());
    }
}
