//! Where results go that are computed with again, if not to memory.

use super::{Sink, Source};
use crate::{StoreError, Type, Value};
use std::fmt;
use std::sync::Arc;

/// Blocks that are written, and then read.
pub trait Store: Source + Sink {}

impl<S: Source + Sink> Store for S {}

/// Makes places for the blocks of intermediate results: see
/// [`Executor::scratch`](crate::Executor::scratch).
pub trait Scratch: Send + Sync + fmt::Debug {
    /// A place for a tensor, whose missing blocks are a value everywhere. When it is dropped, what it holds is
    /// gone.
    ///
    /// # Errors
    /// If there is no room.
    fn store(&self, ty: &Type, fill: &Value) -> Result<Arc<dyn Store>, StoreError>;
}
