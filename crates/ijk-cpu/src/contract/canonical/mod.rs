//! Canonical form of a contraction: bundles of axes with the strides of lhs, rhs and output.

pub(crate) mod bundle;
pub(crate) mod columns;
pub(crate) mod k_tile;
pub(crate) mod problem;
pub(crate) mod ranges;

use crate::Level;
use ijk_kernels::contraction::algebra::Algebra;
use ijk_plan::plan::Contraction;

/// The microkernels of a level for a contraction; `None` if it has none (see [`Contraction::supports`]).
pub(crate) fn algebra_of(level: Level, task: &Contraction) -> Option<Algebra> {
    Algebra::find(level, task.dtype, (task.map, task.then), task.reduce)
}
