//! The bytes of a chunk as they are stored.

use super::error::ZarrError;
use super::metadata::Layout;
use crate::Block;
use ijk_tensor::Tensor;
use std::borrow::Cow;
use std::sync::Arc;

/// The bytes of a chunk, with whatever owns them: requests hold them without a copy.
pub(super) enum Payload {
    /// Those of a block.
    Block(Arc<Block>),
    /// Those of a block with what is beyond the end of the array.
    Padded(Tensor),
    Encoded(Vec<u8>),
}

impl Payload {
    /// The same as an array stores them.
    pub(super) fn encoded(self, layout: &Layout) -> Result<Self, ZarrError> {
        match layout.codecs.encode(self.as_ref(), &layout.chunk, &layout.elements)? {
            Cow::Owned(bytes) => Ok(Self::Encoded(bytes)),
            Cow::Borrowed(_) => Ok(self),
        }
    }
}

impl AsRef<[u8]> for Payload {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Encoded(bytes) => bytes,
            Self::Block(block) => block.as_numbers().map_or(&[], Tensor::as_bytes),
            Self::Padded(tensor) => tensor.as_bytes(),
        }
    }
}
