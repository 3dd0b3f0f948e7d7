//! Where in its buffer an array's first element is.

use ijk_plan::plan::Base;

/// A buffer, and bytes to the element at the origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    buffer: usize,
    offset: isize,
}

impl Origin {
    /// A base in elements of `size` bytes.
    pub(crate) fn new(base: Base, size: usize) -> Self {
        let offset = base.offset.wrapping_mul(size as isize);
        Self { buffer: base.buffer.0 as usize, offset }
    }

    /// The element, given where buffers start.
    pub(crate) fn of(&self, bases: &[*mut u8]) -> *mut u8 {
        bases[self.buffer].wrapping_offset(self.offset)
    }
}
