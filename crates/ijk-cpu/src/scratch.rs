//! Aligned memory for packing and temporaries, reused from call to call.
//!
//! Fresh pages cost more than the work done in them, so an engine keeps its buffers.

use ijk_tensor::advise_huge_pages;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::Mutex;

/// Every buffer starts at a multiple of this: a cache line, a vector register.
pub(crate) const ALIGNMENT: usize = 64;

/// Buffers from this size on start at a multiple of it, where the kernel can use huge pages.
const HUGE: usize = 2 << 20;

/// What a pool keeps at most, in buffers: a thread needs two or three at a time.
const KEPT: usize = 64;

/// Free buffers, shared by the threads of an engine.
#[derive(Debug, Default)]
pub struct ScratchPool {
    free: Mutex<Vec<Block>>,
}

impl ScratchPool {
    /// A pool without buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// At least `bytes` bytes, uninitialised, aligned to 64 bytes; they return to the pool on drop.
    pub(crate) fn take(&self, bytes: usize) -> Scratch<'_> {
        let block = self.reuse(bytes).unwrap_or_else(|| Block::new(bytes));
        Scratch { block: Some(block), pool: self }
    }

    /// The same, or `None` if the allocator refuses.
    pub(crate) fn try_take(&self, bytes: usize) -> Option<Scratch<'_>> {
        let block = self.reuse(bytes).or_else(|| Block::try_new(bytes))?;
        Some(Scratch { block: Some(block), pool: self })
    }

    /// Frees the buffers that nobody has.
    pub(crate) fn clear(&self) {
        let free = std::mem::take(&mut *self.free.lock().unwrap_or_else(|e| e.into_inner()));
        drop(free);
    }

    /// The smallest free block that is large enough.
    fn reuse(&self, bytes: usize) -> Option<Block> {
        let mut free = self.free.lock().unwrap_or_else(|e| e.into_inner());
        let fits = |(_, block): &(usize, &Block)| block.layout.size() >= bytes;
        let best = free.iter().enumerate().filter(fits).min_by_key(|(_, b)| b.layout.size());
        best.map(|(at, _)| at).map(|at| free.swap_remove(at))
    }

    /// Keeps a block, or frees the smallest where there are too many.
    fn give_back(&self, block: Block) {
        let mut free = self.free.lock().unwrap_or_else(|e| e.into_inner());
        free.push(block);
        if free.len() > KEPT {
            let smallest = (0..free.len()).min_by_key(|&at| free[at].layout.size());
            smallest.map(|at| free.swap_remove(at));
        }
    }
}

/// A buffer borrowed from a [`ScratchPool`].
pub(crate) struct Scratch<'a> {
    block: Option<Block>,
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
            self.pool.give_back(block);
        }
    }
}

/// Memory from the global allocator.
#[derive(Debug)]
struct Block {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a block is plain memory that it alone owns.
unsafe impl Send for Block {}

impl Block {
    /// That many bytes at least.
    fn new(bytes: usize) -> Self {
        Self::try_new(bytes).unwrap_or_else(|| match Self::layout(bytes) {
            Some(layout) => handle_alloc_error(layout),
            None => panic!("{bytes} bytes of scratch memory cannot be had"),
        })
    }

    /// The same, or `None` if the allocator refuses.
    fn try_new(bytes: usize) -> Option<Self> {
        let layout = Self::layout(bytes)?;
        // SAFETY: the size is at least 1.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        // SAFETY: so many bytes were just allocated; nobody else knows of them.
        advise_huge_pages(unsafe {
            std::slice::from_raw_parts_mut(start.as_ptr().cast(), layout.size())
        });
        Some(Self { start, layout })
    }

    /// Sizes are rounded up, so that a slightly larger request finds the block again.
    fn layout(bytes: usize) -> Option<Layout> {
        let granule = if bytes >= HUGE { HUGE } else { 4096 };
        let size = bytes.max(1).checked_next_multiple_of(granule)?;
        let alignment = if bytes >= HUGE { HUGE } else { ALIGNMENT };
        Layout::from_size_align(size, alignment).ok()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and owned by this block alone.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_reused() {
        let pool = ScratchPool::new();
        let first = pool.take(1000);
        let address = first.as_ptr() as usize;
        assert_eq!(address % ALIGNMENT, 0);
        drop(first);
        let again = pool.take(4000);
        assert_eq!(again.as_ptr() as usize, address);
        let other = pool.take(1);
        assert_ne!(other.as_ptr() as usize, address);
    }

    #[test]
    fn large_buffers_fit_huge_pages() {
        let pool = ScratchPool::new();
        assert_eq!(pool.take(HUGE + 1).as_ptr() as usize % HUGE, 0);
    }

    #[test]
    fn a_pool_does_not_grow_without_end() {
        let pool = ScratchPool::new();
        let many: Vec<_> = (0..100).map(|_| pool.take(10)).collect();
        drop(many);
        assert_eq!(pool.free.lock().unwrap().len(), KEPT);
    }
}
