//! Kernels over tiles: monomorphic loops that the tile program calls through function pointers.
//!
//! Every kernel is compiled once for each SIMD level. The level is selected when a nest is compiled, never inside a
//! loop.

#![allow(clippy::needless_range_loop, reason = "an index names the same register everywhere")]

mod arg;
mod chain;
mod count;
mod divide;
mod extreme;
mod fold;
mod into;
mod lookup;
mod map;
mod moves;
mod op;
mod power;
mod random;
mod relative;
mod rows;
mod scan;
mod strips;
mod table;

pub use arg::{ArgKernels, arg};
pub use chain::{
    ChainFold, ChainRows, Compare, Destination, FoldTo, Link, LinkCode, LinkOp, chain, chains,
    fold_chain, folded_length, folds_chain, streams,
};
pub use count::{COUNTED_LANES, CountKernels, counts};
pub use fold::{CombineAt, Fold, FoldKernels, fold};
pub use into::{IntoPlane, into_plane};
pub use lookup::{LookupKernel, Table, looked_up};
pub use map::TileKernel;
pub use moves::{Ascends, MoveKernels, all_hold, any_of, ascends, in_range, iota, moves, within};
pub use random::draws;
pub use relative::{RelativeScan, relative};
pub use rows::{FoldRowsTo, RowsTo, fold_rows_to, fold_scaled_rows};
pub use scan::{ScanKernels, ScanRows, scan};
pub use table::{binary, is_dear, joined, takes_splat, unary};

/// Faults of kernels, as bits.
pub mod fault {
    /// Integer division or remainder by zero.
    pub const DIVISION: u32 = 1;
    /// An integer to a negative power.
    pub const POWER: u32 = 2;
    /// A computed offset outside the array.
    pub const OFFSET: u32 = 4;
    /// A random number from an empty range.
    pub const RANGE: u32 = 8;
}

/// `Some` of an expression with `$O` bound to the operator of a monoid for a type; `None` if the type does not have it.
macro_rules! for_monoid {
    ($monoid:expr, $t:expr, $O:ident => $body:expr) => {
        match $monoid {
            ijk_types::Monoid::Add => for_monoid!(@ $t, $O, $body, Add, Bool: bool, I32: i32,
                I64: i64, F32: f32, F64: f64, C64: ijk_types::C64, C128: ijk_types::C128),
            ijk_types::Monoid::Mul if $t.is_complex() => for_monoid!(@ $t, $O, $body, Product,
                C64: ijk_types::C64, C128: ijk_types::C128),
            ijk_types::Monoid::Mul => for_monoid!(@ $t, $O, $body, Mul, Bool: bool, I32: i32,
                I64: i64, F32: f32, F64: f64),
            ijk_types::Monoid::Max => for_monoid!(@ $t, $O, $body, Max, Bool: bool, I32: i32,
                I64: i64, F32: f32, F64: f64),
            ijk_types::Monoid::Min => for_monoid!(@ $t, $O, $body, Min, Bool: bool, I32: i32,
                I64: i64, F32: f32, F64: f64),
            ijk_types::Monoid::And => for_monoid!(@ $t, $O, $body, Mul, Bool: bool),
            ijk_types::Monoid::Or => for_monoid!(@ $t, $O, $body, Add, Bool: bool),
            // Plans have sums of exponentials in its place.
            ijk_types::Monoid::LogAddExp => None,
        }
    };
    (@ $t:expr, $O:ident, $body:expr, $op:ident, $($variant:ident: $T:ty),*) => {
        match $t {
            $(ijk_types::DType::$variant => {
                type $O = crate::tile::op::$op<$T>;
                Some($body)
            })*
            #[allow(unreachable_patterns)]
            _ => None,
        }
    };
}
pub(crate) use for_monoid;
