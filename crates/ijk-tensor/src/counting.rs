//! An allocator that counts how often memory is asked for, for benchmarks of what should take little.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Another allocator, which tells how often it is asked for memory: by all threads, what grows included.
///
/// ```
/// use ijk_tensor::{counting::Counting, reserve::WithReserve};
///
/// #[global_allocator]
/// static ALLOCATOR: Counting<WithReserve> = Counting::new(WithReserve);
///
/// assert!(ALLOCATOR.asked(|| drop(std::hint::black_box(vec![1]))) > 0);
/// ```
#[derive(Debug)]
pub struct Counting<A> {
    inner: A,
    asked: AtomicU64,
    /// What nobody asks about is not counted, which would take as long as the memory itself.
    counts: AtomicBool,
}

impl<A> Counting<A> {
    /// Counts what that allocator is asked for.
    pub const fn new(inner: A) -> Self {
        Self { inner, asked: AtomicU64::new(0), counts: AtomicBool::new(false) }
    }

    /// How often while something is done.
    pub fn asked(&self, work: impl FnOnce()) -> u64 {
        let before = self.asked.load(Ordering::Relaxed);
        self.counts.store(true, Ordering::Relaxed);
        work();
        self.counts.store(false, Ordering::Relaxed);
        self.asked.load(Ordering::Relaxed) - before
    }

    fn count(&self) {
        if self.counts.load(Ordering::Relaxed) {
            self.asked.fetch_add(1, Ordering::Relaxed);
        }
    }
}

// SAFETY: the other allocator does it all, with the layouts that it is given.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count();
        // SAFETY: the caller's promise.
        unsafe { self.inner.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.count();
        // SAFETY: the caller's promise.
        unsafe { self.inner.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { self.inner.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.count();
        // SAFETY: the caller's promise.
        unsafe { self.inner.realloc(memory, layout, size) }
    }
}
