//! Terms of block tensors by the book: their types by the rules, their values on plain arrays.
//!
//! Blocks change no value, so evaluation does not know them.

mod evaluate;
mod random;
mod rules;

pub use random::BlockCase;

use crate::Value;
use ijk_types::{BinaryOp, DType, Monoid, UnaryOp};
use std::sync::Arc;

/// Dimensions, blocks (`None` where an axis is not cut), type of an element.
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
        /// What elements of missing blocks are, if some may be missing.
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
        /// What folds.
        plus: Fold,
        /// What combines pairs.
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

/// What becomes of the values of a fibre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fold {
    /// They are combined.
    Monoid(Monoid),
    /// The position of the greatest: needs a fibre that is not cut.
    ArgMax,
}

/// What becomes of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Times {
    /// An operator.
    Op(BinaryOp),
    /// `l * l - r`.
    SquareLess,
}
