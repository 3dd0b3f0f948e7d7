//! Memory of a loop besides its arrays: one block, taken before the first pass.

use crate::runtime::scratch::ALIGNMENT;

/// LoopPlaces in the block, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LoopMemory {
    bytes: usize,
}

impl LoopMemory {
    /// Adds a place of some bytes; returns its offset. None if sizes overflow.
    pub(super) fn add(&mut self, bytes: usize) -> Option<usize> {
        let at = self.bytes;
        self.bytes = at.checked_add(bytes.checked_next_multiple_of(ALIGNMENT)?)?;
        isize::try_from(self.bytes).ok().map(|_| at)
    }

    /// Bytes of the block.
    pub(super) fn bytes(self) -> usize {
        self.bytes
    }
}
