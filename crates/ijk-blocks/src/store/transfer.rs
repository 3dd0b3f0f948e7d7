//! Blocks on their way: stores that are far away move many at a time, while others are computed.

use crate::{Block, StoreError};
use std::fmt;
use std::sync::Arc;

/// A block that a source was asked for: see [`Source::request`](super::Source::request). Dropping it ends the transfer.
pub trait Incoming: Send + fmt::Debug {
    /// Returns true if the block can be had without waiting for it.
    fn is_there(&self) -> bool;

    /// The block, as [`Source::read`](super::Source::read) gives it.
    ///
    /// # Errors
    /// As for that.
    fn block(self: Box<Self>) -> Result<Option<Arc<Block>>, StoreError>;
}

/// A block that a sink has not stored yet: see [`Sink::send`](super::Sink::send). Dropping it waits for that.
pub trait Outgoing: Send + fmt::Debug {
    /// Returns true if the transfer has ended.
    fn is_over(&self) -> bool;

    /// Waits until the block is stored.
    ///
    /// # Errors
    /// If it cannot be.
    fn end(self: Box<Self>) -> Result<(), StoreError>;
}
