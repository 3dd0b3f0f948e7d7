//! An allocator that counts allocations, for benchmarks of code that should make few.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Wraps an allocator and counts allocations and reallocations of all threads.
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
    /// Counting is enabled: only while someone reads the counts, since it takes as long as an allocation itself.
    counts: AtomicBool,
}

impl<A> Counting<A> {
    /// Wraps `inner`.
    pub const fn new(inner: A) -> Self {
        Self { inner, asked: AtomicU64::new(0), counts: AtomicBool::new(false) }
    }

    /// Number of calls of the allocator during `work`.
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

// SAFETY: forwards every call to the inner allocator, with the same layout.
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
