//! Position of an array's first element in its buffer.

use ijk_plan::plan::Base;

/// A buffer, and the offset of the origin in bytes.
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

    /// Address of the origin, given the addresses of buffers.
    pub(crate) fn of(&self, bases: &[*mut u8]) -> *mut u8 {
        bases[self.buffer].wrapping_offset(self.offset)
    }
}
