//! Sources and sinks of blocks.

mod counter;
#[cfg(feature = "zarr")]
mod digest;
mod literal;
mod memory;
mod outline;
mod recut;
mod scratch;
pub(crate) mod together;
mod transfer;
mod url;
#[cfg(feature = "zarr")]
mod zarr;

#[cfg(feature = "zarr")]
pub(crate) use digest::Digest;
pub(crate) use literal::Literal;
pub use memory::MemoryStore;
pub use outline::Outline;
pub use recut::RecutCost;
pub(crate) use recut::{Recut, block_bytes, common_multiple};
pub use scratch::{Scratch, Store};
pub use transfer::{Incoming, Outgoing};
pub use url::url_scheme;
#[cfg(feature = "zarr")]
pub use zarr::{Compression, Saved, StoreOptions, ZarrOptions, ZarrScratch, ZarrStore};

use crate::{Annotations, Block, StoreError, Type, Value};
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Source of the blocks of a tensor: memory, a file, a directory of chunks.
///
/// Must allow any number of threads to read at a time.
pub trait Source: Send + Sync + fmt::Debug {
    /// The tensor's type; its blocks are what [`read`](Self::read) gives.
    fn ty(&self) -> &Type;

    /// Element of missing blocks.
    fn fill(&self) -> Value {
        Value::zero(&self.ty().element)
    }

    /// The block at a position of the grid, or `None` if it is missing: all its elements are [`fill`](Self::fill), and
    /// products skip it where the fill annihilates the other operand.
    ///
    /// # Errors
    /// If it cannot be read, or is not of [`Type::block_shape`] and the element type.
    fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError>;

    /// Asks for a block that is read soon, if the source can send it while others are computed: what comes is taken in
    /// place of [reading](Self::read) it.
    ///
    /// # Errors
    /// If it cannot be asked for.
    fn request(&self, _at: &[usize]) -> Result<Option<Box<dyn Incoming>>, StoreError> {
        Ok(None)
    }

    /// Returns true if blocks can be [asked for](Self::request), so that it is worth memory to have several on their
    /// way.
    fn is_far(&self) -> bool {
        false
    }

    /// Positions of all existing blocks, if they can be listed without a look-up of each: then no other is read in a
    /// run, and missing blocks cost nothing. Blocks that turn out to be missing may be listed.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn present(&self) -> Result<Option<Vec<Vec<usize>>>, StoreError> {
        Ok(None)
    }

    /// Most bytes of memory that reading a block takes, the block among them; 0 where blocks are in memory already.
    fn reading(&self) -> u64 {
        crate::run::largest(self.ty())
    }

    /// Name in messages and printed terms.
    fn name(&self) -> String;

    /// Identity: distinguishes the source from others, and from its state before a change; its name where nothing else
    /// is known.
    ///
    /// # Errors
    /// If it cannot be read.
    fn identity(&self) -> Result<String, StoreError> {
        Ok(self.name())
    }

    /// The directory or file that it reads, if it does.
    fn path(&self) -> Option<&Path> {
        None
    }

    /// Names of its axes, and its attributes, if it has such.
    fn annotations(&self) -> Annotations {
        Annotations::default()
    }

    /// The same source, if it can wait long: its waiting ends soon after a flag is set, with an error.
    fn until(&self, _flag: &Arc<AtomicBool>) -> Option<Arc<dyn Source>> {
        None
    }

    /// Codecs of its blocks, as the text by which results can be stored alike, if they are stored with codecs.
    fn encoding(&self) -> Option<Arc<str>> {
        None
    }

    /// The same tensor in smaller blocks, if these can be read by themselves: the chunks of shards. It is read where
    /// blocks are asked for that are smaller than its own.
    fn parts(&self) -> Option<Arc<dyn Source>> {
        None
    }
}

/// Destination of the blocks of a result.
///
/// Must allow any number of threads to write at a time, each block once, in any order. Blocks of which nothing had to
/// be computed, since all blocks that they depend on are missing, are [left out](Self::leave_out) where they equal the
/// sink's fill.
pub trait Sink: Send + Sync + fmt::Debug {
    /// The type of the tensor that it takes.
    fn ty(&self) -> &Type;

    /// Element of missing blocks, if some may be omitted.
    fn fill(&self) -> Option<Value>;

    /// Stores the block at a position of the grid; `None` where all its elements are [`fill`](Self::fill).
    ///
    /// # Errors
    /// If it cannot be written; blocks that were written stay valid.
    fn write(&self, at: &[usize], block: Option<Arc<Block>>) -> Result<(), StoreError>;

    /// The same, without waiting for a sink that is far away: what is returned tells when the block is stored.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    fn send(
        &self,
        at: &[usize],
        block: Option<Arc<Block>>,
    ) -> Result<Option<Box<dyn Outgoing>>, StoreError> {
        self.write(at, block).map(|()| None)
    }

    /// Returns true if blocks can be [sent](Self::send).
    fn is_far(&self) -> bool {
        false
    }

    /// Ends the writing of blocks: makes them durable, where that takes more than writing them.
    ///
    /// # Errors
    /// If that fails; then some may be lost.
    fn finish(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Stores blocks by their numbers, the last axis fastest, of which nothing had to be computed: all of their
    /// elements are [`fill`](Self::fill).
    ///
    /// # Errors
    /// If they cannot be recorded as done.
    fn leave_out(&self, _numbers: Range<usize>) -> Result<(), StoreError> {
        Ok(())
    }

    /// Most bytes of memory that writing a block takes, beside the block.
    fn writing(&self) -> u64 {
        0
    }

    /// Returns true if a block exists from an earlier run: it is not computed again.
    fn is_done(&self, _at: &[usize]) -> bool {
        false
    }

    /// Returns true if there may be such blocks.
    fn may_be_done(&self) -> bool {
        true
    }
}

/// A source that others hold, too.
impl<S: Source + ?Sized> Source for Arc<S> {
    fn ty(&self) -> &Type {
        (**self).ty()
    }

    fn fill(&self) -> Value {
        (**self).fill()
    }

    fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        (**self).read(at)
    }

    fn request(&self, at: &[usize]) -> Result<Option<Box<dyn Incoming>>, StoreError> {
        (**self).request(at)
    }

    fn is_far(&self) -> bool {
        (**self).is_far()
    }

    fn present(&self) -> Result<Option<Vec<Vec<usize>>>, StoreError> {
        (**self).present()
    }

    fn reading(&self) -> u64 {
        (**self).reading()
    }

    fn name(&self) -> String {
        (**self).name()
    }

    fn identity(&self) -> Result<String, StoreError> {
        (**self).identity()
    }

    fn path(&self) -> Option<&Path> {
        (**self).path()
    }

    fn annotations(&self) -> Annotations {
        (**self).annotations()
    }

    fn until(&self, flag: &Arc<AtomicBool>) -> Option<Arc<dyn Source>> {
        (**self).until(flag)
    }

    fn encoding(&self) -> Option<Arc<str>> {
        (**self).encoding()
    }

    fn parts(&self) -> Option<Arc<dyn Source>> {
        (**self).parts()
    }
}

impl StoreError {
    /// An error of the block of a store.
    ///
    /// ```
    /// let error = ijk_blocks::StoreError::of_block("a.zarr", &[0, 3], "truncated");
    /// assert_eq!(error.to_string(), "block [0, 3] of a.zarr: truncated");
    /// ```
    pub fn of_block(
        store: &str,
        at: &[usize],
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { place: format!("block {at:?} of {store}"), cause: cause.into() }
    }
}
