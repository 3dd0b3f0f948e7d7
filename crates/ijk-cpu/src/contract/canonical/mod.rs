//! Canonical form of a contraction: bundles of axes with the strides of lhs, rhs and output.

pub(crate) mod bundle;
pub(crate) mod columns;
pub(crate) mod k_tile;
pub(crate) mod problem;
pub(crate) mod ranges;
