//! Microkernels, compiled for each SIMD level, and the sets of them for pairs of map and reduction.

pub mod algebra;
pub mod gemv;
pub mod microkernel;
pub mod panel;
pub mod small;
pub mod thin;
pub mod word;
