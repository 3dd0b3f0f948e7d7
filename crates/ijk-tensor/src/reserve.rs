//! A reserve for small pieces of memory, so that a process which has no more ends a computation with an
//! error instead of being aborted.
//!
//! Allocations that grow with arrays are fallible. Lists of a few elements are not: each of them would need an error of
//! its own. When the allocator refuses one of those, the reserve is released for it, and the next computation is
//! refused until the reserve is restored.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Parts of the reserve, given up one by one, and bytes of each: what an allocator asks the system for when it
/// needs some more.
const PARTS: usize = 4;
const PART: usize = 1 << 20;

/// Bytes of the reserve.
pub const BYTES: usize = PARTS * PART;

/// Bytes of the largest piece of memory that the reserve is given up for.
const SMALL: usize = 256 << 10;

/// The reserve. Atomic statics, since a process has one allocator, which must not lock.
static KEPT: [AtomicPtr<u8>; PARTS] = [const { AtomicPtr::new(ptr::null_mut()) }; PARTS];

/// Some of the reserve was released and has not been restored.
static GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// The system's allocator with a reserve for small pieces, for programs that would rather report an error
/// than be aborted:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: ijk_tensor::reserve::WithReserve = ijk_tensor::reserve::WithReserve;
///
/// assert!(ijk_tensor::reserve::is_there());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct WithReserve;

/// Returns true if the reserve exists or can be restored; otherwise there is no memory for a computation.
#[inline]
pub fn is_there() -> bool {
    !KEPT[0].load(Ordering::Relaxed).is_null() || restore()
}

/// Returns true if `bytes` may be allocated now: large requests are refused while the reserve is needed.
#[inline]
pub fn allows(bytes: usize) -> bool {
    bytes <= SMALL || !GIVEN_UP.load(Ordering::Relaxed) || restore()
}

fn layout() -> Option<Layout> {
    Layout::from_size_align(PART, 4096).ok()
}

/// Makes the reserve whole, the part that is given up first last; whether it is.
#[cold]
fn restore() -> bool {
    let Some(layout) = layout() else { return false };
    for kept in KEPT.iter().rev().filter(|kept| kept.load(Ordering::Relaxed).is_null()) {
        // SAFETY: the size is not 0.
        let memory = unsafe { System.alloc(layout) };
        if memory.is_null() {
            return false;
        }
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        if kept.compare_exchange(ptr::null_mut(), memory, order.0, order.1).is_err() {
            // SAFETY: just allocated, and nobody else has seen it.
            unsafe { System.dealloc(memory, layout) };
        }
    }
    GIVEN_UP.store(false, Ordering::Relaxed);
    true
}

/// Gives a part of the reserve up; whether there was one.
#[cold]
fn give_up() -> bool {
    let Some(layout) = layout() else { return false };
    GIVEN_UP.store(true, Ordering::Relaxed);
    let mut parts = KEPT.iter().map(|kept| kept.swap(ptr::null_mut(), Ordering::AcqRel));
    let memory = parts.find(|memory| !memory.is_null());
    // SAFETY: allocated with this layout by `restore`; whoever takes it out owns it.
    memory.map(|memory| unsafe { System.dealloc(memory, layout) }).is_some()
}

/// Asks again with a part of the reserve given up, as long as the system refuses something small.
#[inline]
fn or_with_reserve(mut given: *mut u8, bytes: usize, again: impl Fn() -> *mut u8) -> *mut u8 {
    while given.is_null() && bytes <= SMALL && give_up() {
        given = again();
    }
    given
}

// SAFETY: the system's allocator does it all, with the layouts that it is given.
unsafe impl GlobalAlloc for WithReserve {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let alloc = || unsafe { System.alloc(layout) };
        or_with_reserve(alloc(), layout.size(), alloc)
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let alloc = || unsafe { System.alloc_zeroed(layout) };
        or_with_reserve(alloc(), layout.size(), alloc)
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise; what is refused leaves the memory as it was.
        let realloc = || unsafe { System.realloc(memory, layout, size) };
        or_with_reserve(realloc(), size, realloc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_small_is_asked_for_again() {
        assert!(is_there());
        let mut byte = 0u8;
        let there = &raw mut byte;
        assert_eq!(or_with_reserve(there, 1, ptr::null_mut), there);
        assert!(or_with_reserve(ptr::null_mut(), SMALL + 1, || there).is_null());
        assert_eq!(or_with_reserve(ptr::null_mut(), SMALL, || there), there);
        assert!(is_there() && allows(SMALL + 1));
        for _ in 0..PARTS {
            assert!(give_up());
        }
        assert!(allows(SMALL) && GIVEN_UP.load(Ordering::Relaxed));
        assert!(allows(SMALL + 1) && is_there() && !GIVEN_UP.load(Ordering::Relaxed));
    }
}
