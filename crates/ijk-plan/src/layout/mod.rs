//! Memory layout: that of inputs and outputs is given by the caller, that of temporaries and copies is chosen.
//!
//! Kernels are fast along contiguous axes. Temporaries are laid out for that, and operands whose rows are strided or
//! gathered are copied if that takes a small part of the time of the kernels that read them.

pub(crate) mod argreduce;
pub(crate) mod axis_order;
mod caller;
pub(crate) mod gathered;
pub(crate) mod reordered;
pub(crate) mod reversed;
pub(crate) mod rows;
pub(crate) mod tables;
pub(crate) mod transposed_reductions;
pub(crate) mod transposes;

pub use caller::{Layout, c_strides};
