//! Storage of intermediate results, other than memory.

use super::{Sink, Source};
use crate::{StoreError, Type, Value};
use std::fmt;
use std::sync::Arc;

/// A store of blocks, written and then read.
pub trait Store: Source + Sink {}

impl<S: Source + Sink> Store for S {}

/// Makes stores for intermediate results: see [`Executor::scratch`](crate::Executor::scratch).
pub trait Scratch: Send + Sync + fmt::Debug {
    /// A store for a tensor, whose missing blocks equal a value everywhere. Its contents are removed when it is
    /// dropped.
    ///
    /// # Errors
    /// If there is no room.
    fn store(&self, ty: &Type, fill: &Value) -> Result<Arc<dyn Store>, StoreError>;
}
