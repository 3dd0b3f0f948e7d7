//! Lowering: statements become steps over buffers, with offsets and strides instead of index expressions; consecutive
//! statements over the same rows become sweeps.

pub(crate) mod arena;
mod border;
pub(crate) mod buffers;
mod contraction;
pub(crate) mod emit;
mod grouped;
mod nest;
pub(crate) mod network;
mod reverse;
mod sweep;
