//! Fused loop nests, executed tile by tile.
//!
//! A [`Nest`](ijk_plan::plan::Nest) is compiled to a register program: every instruction is one SIMD kernel over a tile
//! of some hundred elements in L1.
//!
//! * [`geometry`] merges axes and selects those inside a tile, whose size [`tiling`] chooses,
//! * [`mod@order`] determines the order of combination,
//! * [`body`] lowers nodes to instructions, [`lower`] the nest to a program,
//! * [`rows`] finds nests that move whole rows, which have their own execution,
//! * [`run`] executes tiles, [`reduce`] combines partial results, [`launch`] distributes blocks among threads,
//!   [`one_tile`] has nests of a single tile, [`standing`] runs a short nest many times, [`sorted`] and [`copies`]
//!   combine values at computed places, [`threshold`] has conditions on positions along rows,
//! * [`beside`] lets nests that write parts of one array take turns.

mod beside;
mod body;
mod copies;
mod explain;
mod geometry;
mod launch;
mod lower;
mod one_tile;
mod order;
mod program;
mod reduce;
mod rows;
mod run;
mod sorted;
mod standing;
mod threshold;
mod tiling;

pub(crate) use beside::{BesideProgram, joined};
pub(crate) use ijk_kernels::tile::{
    FoldKernels, IntoPlane, RelativeScan, ScanKernels, ScanRows, TileKernel, binary, fault, fold,
    into_plane, moves, relative, scan, takes_splat, unary,
};
pub(crate) use launch::Launch;
pub(crate) use order::{Order, order};
pub(crate) use program::TileNest;
pub(crate) use standing::StandingNest;

use crate::check::{CheckedNest, Layout};
use crate::error::Fault;
use ijk_kernels::simd::Level;
use ijk_plan::plan::Nest;
use ijk_types::Scalar;

/// Compiles a checked nest, whose domain is not empty.
pub(crate) fn compile(
    nest: &Nest,
    checked: &CheckedNest,
    layouts: &[Layout],
    level: Level,
) -> Result<TileNest, Fault> {
    lower::Lowering { nest, checked, layouts, level }.lower()
}

/// The bytes of a scalar in memory.
pub(crate) fn scalar_bits(scalar: Scalar) -> [u64; 2] {
    let bytes = scalar.to_ne_bytes();
    let half = |n: usize| std::array::from_fn(|i| bytes[8 * n + i]);
    [u64::from_ne_bytes(half(0)), u64::from_ne_bytes(half(1))]
}
