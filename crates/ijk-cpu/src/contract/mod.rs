//! Contraction: `c = reduce over k of map(a, b)` for bundles of axes with any strides, optionally combined with the
//! previous contents of `c`.
//!
//! Microkernels, and the set of them for a pair of map and reduction, are in [`ijk_kernels::contraction`]. Rooms, none of
//! which imports from one below it in this list:
//!
//! * [`canonical`]: the contraction as four bundles of axes (batch, m, n, k) with the strides of lhs, rhs and output.
//! * [`select`]: the operand that fills the lanes, the algorithm (one ordered table in [`select::algorithm`]), blocking,
//!   what is packed or read in place, and whether the output is staged in scratch memory.
//! * [`run`]: packing, the loops of each algorithm, and stores of the output.
//!
//! Packing reads the tensors through tables of offsets, so a transposed, broadcast or convolution-like operand needs no
//! copy of its own.
//!
//! # Order of combination
//!
//! It is a function of extents, strides, element type and level, not of the number of threads. k is cut into blocks of
//! nearly equal length and at [`SPLIT_K_STEPS`](ijk_kernels::tuning::order::SPLIT_K_STEPS), never by thread; within a block
//! steps follow each other, or lanes are combined as a fixed tree. Blocks have kc/2 to 2·kc steps
//! ([`Blocking::block`](select::blocking::Blocking::block), with kc = [`KC`](ijk_kernels::tuning::order::KC)), so the error of
//! an element that sums K products is at most `(2·kc + 2·K/kc) · eps · Σ|ab|`.

mod canonical;
mod run;
mod select;

#[cfg(test)]
mod tests;

pub(crate) use run::context::Context;
pub(crate) use run::program::{ContractProgram, contract};
pub(crate) use run::shared_operand::{
    PackedSharedOperand, SharedArgument, SharedOperandGemm, SharedOperandPart,
};
