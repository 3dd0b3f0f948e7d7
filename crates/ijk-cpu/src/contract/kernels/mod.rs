//! Microkernels, compiled for each SIMD level, and the sets of them for pairs of map and reduction.

pub(crate) mod algebra;
pub(crate) mod gemv;
pub(crate) mod microkernel;
pub(crate) mod panel;
pub(crate) mod small;
pub(crate) mod thin;
pub(crate) mod word;
