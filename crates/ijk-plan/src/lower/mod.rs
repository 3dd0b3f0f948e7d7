//! Lowering: statements become steps over buffers, with offsets and strides instead of index expressions.

pub(crate) mod arena;
pub(crate) mod buffers;
pub(crate) mod emit;
pub(crate) mod nest;
pub(crate) mod network;
pub(crate) mod reverse;
