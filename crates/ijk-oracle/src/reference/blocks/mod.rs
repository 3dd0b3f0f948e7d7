//! Terms of block tensors read literally: their types by the rules, their values on plain arrays.
//!
//! Blocks change no value, so evaluation ignores them.

mod evaluate;
mod rules;

use crate::Value;
use ijk_types::{BinaryOp, DType, Monoid, UnaryOp};
use std::sync::Arc;

/// Extents, block sizes (`None` if an axis is not cut), and element type.
pub type BlockType = (Vec<usize>, Vec<Option<usize>>, DType);

/// A term.
#[derive(Clone, Debug)]
pub enum BlockTerm {
    /// Elements, of which blocks that are all `missing` need not be stored.
    Lit {
        /// The elements.
        value: Value,
        /// The blocks.
        blocks: Vec<Option<usize>>,
        /// Element of missing blocks, if blocks may be missing.
        missing: Option<ijk_types::Scalar>,
    },
    /// `u op v`.
    Zip(BinaryOp, Arc<BlockTerm>, Arc<BlockTerm>),
    /// `bc(u, d, b)`.
    Broadcast(Arc<BlockTerm>, Vec<usize>, Vec<Option<usize>>),
    /// `select(u, {e_i})`.
    Select(Arc<BlockTerm>, Vec<Vec<usize>>),
    /// `map(f, u)`.
    Map(BlockMap, Arc<BlockTerm>),
    /// `contract(u, v, i, j, +, *)`.
    Contract {
        /// Left operand.
        u: Arc<BlockTerm>,
        /// Right operand.
        v: Arc<BlockTerm>,
        /// Its axis.
        i: usize,
        /// Its axis.
        j: usize,
        /// Reduction.
        plus: Fold,
        /// Combination of pairs.
        times: Times,
    },
    /// `u @ v`.
    Product(Arc<BlockTerm>, Arc<BlockTerm>),
    /// `reblock(u, b)`.
    Reblock(Arc<BlockTerm>, Vec<Option<usize>>),
}

/// A function of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BlockMap {
    /// A function of i.
    Op(UnaryOp),
    /// `scale * x + shift`.
    Affine {
        /// Factor.
        scale: i64,
        /// Summand.
        shift: i64,
    },
    /// `x > n`.
    Above(i64),
}

/// Reduction of a fibre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fold {
    /// Reduction by a monoid.
    Monoid(Monoid),
    /// Position of the greatest element; requires a fibre that is not cut.
    ArgMax,
}

/// Combination of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Times {
    /// An operator.
    Op(BinaryOp),
    /// `l * l - r`.
    SquareLess,
}
