//! Small blocks of memory that a thread keeps at hand.
//!
//! Planning asks for hundreds of lists of a few elements, and gives them back together: far more of one size than
//! allocators keep for a thread. Those that go beyond are merged with their neighbours and cut out again, which
//! takes longer than what the lists are for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

/// Sizes are multiples of this, which is also how blocks are aligned:
const STEP: usize = 16;
/// so many of them are small.
const SIZES: usize = 32;
/// Blocks of one size that a thread keeps at most.
const MOST: u32 = 256;

/// The size of a small block: how many steps, less one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Size(usize);

impl Size {
    /// Of a block for a layout, if that is small.
    #[inline]
    pub fn of(layout: Layout) -> Option<Self> {
        let steps = layout.size().wrapping_sub(1) / STEP;
        (steps < SIZES && layout.align() <= STEP).then_some(Self(steps))
    }

    /// The layout of the block as the system knows it.
    #[inline]
    pub fn layout(self) -> Layout {
        // SAFETY: the alignment is a power of two, and the size small.
        unsafe { Layout::from_size_align_unchecked((self.0 + 1) * STEP, STEP) }
    }
}

/// A block that nobody uses: it holds where the next one is.
struct Block(*mut Block);

/// Blocks of one size.
#[derive(Clone, Copy)]
struct List {
    first: *mut Block,
    /// How many there are; as many as are kept at most, where none are: when the thread has not begun, and when it
    /// ends.
    count: u32,
}

impl List {
    const CLOSED: Self = Self { first: ptr::null_mut(), count: MOST };
}

thread_local! {
    /// The blocks that a thread keeps, by size. Nothing is to be dropped with it, so that it is there at once.
    static KEPT: [Cell<List>; SIZES] = const { [const { Cell::new(List::CLOSED) }; SIZES] };

    /// Gives the blocks of a thread back when it ends.
    static END: End = const { End };
}

struct End;

impl Drop for End {
    fn drop(&mut self) {
        KEPT.with(|kept| {
            for (size, list) in kept.iter().enumerate() {
                let mut block = list.replace(List::CLOSED).first;
                while !block.is_null() {
                    // SAFETY: blocks in the list are of that size, from the system, and nobody's else.
                    unsafe {
                        let next = (*block).0;
                        System.dealloc(block.cast(), Size(size).layout());
                        block = next;
                    }
                }
            }
        });
    }
}

/// A block of the thread; null, if it keeps none of that size.
#[inline]
pub fn take(size: Size) -> *mut u8 {
    KEPT.with(|kept| {
        let List { first, count } = kept[size.0].get();
        if !first.is_null() {
            // SAFETY: a block in the list holds the next one.
            let first = unsafe { (*first).0 };
            kept[size.0].set(List { first, count: count - 1 });
        }
        first.cast()
    })
}

/// Keeps a block, or gives it back to the system.
///
/// # Safety
/// It is of that size, from the system, and nobody uses it any more.
#[inline]
pub unsafe fn give(size: Size, memory: *mut u8) {
    KEPT.with(|kept| {
        let List { first, count } = kept[size.0].get();
        if count < MOST || opens(first) {
            let count = if count < MOST { count + 1 } else { 1 };
            let block = memory.cast::<Block>();
            // SAFETY: the block is large enough and aligned, and the caller's no more.
            unsafe { block.write(Block(first)) };
            kept[size.0].set(List { first: block, count });
        } else {
            // SAFETY: the caller's promise.
            unsafe { System.dealloc(memory, size.layout()) };
        }
    });
}

/// Whether a list with no room is one that the thread has not begun, and may.
#[cold]
fn opens(first: *mut Block) -> bool {
    first.is_null() && END.try_with(|_| ()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_hold_what_is_asked_for() {
        for bytes in 1..=SIZES * STEP {
            let size = Size::of(Layout::from_size_align(bytes, 8).unwrap()).unwrap();
            assert!((bytes..bytes + STEP).contains(&size.layout().size()));
        }
        for (bytes, align) in [(SIZES * STEP + 1, 8), (32, 32), (0, 1)] {
            assert!(Size::of(Layout::from_size_align(bytes, align).unwrap()).is_none());
        }
    }

    #[test]
    fn what_is_given_is_taken_again_and_no_more_than_so_much() {
        let size = Size(SIZES - 1);
        // SAFETY: the size is not 0.
        let block = |_| unsafe { System.alloc(size.layout()) };
        let blocks: Vec<_> = (0..2 * MOST).map(block).collect();
        // SAFETY: of that size, from the system, and used by nobody.
        blocks.iter().for_each(|&block| unsafe { give(size, block) });
        for &block in blocks[..MOST as usize].iter().rev() {
            assert_eq!(take(size), block);
            // SAFETY: as above.
            unsafe { System.dealloc(block, size.layout()) };
        }
        assert!(take(size).is_null());
    }
}
