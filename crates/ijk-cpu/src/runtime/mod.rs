//! Execution environment of all steps: worker threads, cancellation, scratch memory, and prefetch of cache lines.

pub(crate) mod cancel;
pub(crate) mod pace;
mod pool;
pub(crate) mod scratch;
pub(crate) mod threads;
