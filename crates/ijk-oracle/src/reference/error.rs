//! Errors of evaluation.

use ijk_types::{DType, LiteralError, ScalarError};
use thiserror::Error;

/// Error of an evaluator.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum EvalError {
    /// The tree has a node that did not parse.
    #[error("the program has a syntax error")]
    Syntax,
    /// A program without items.
    #[error("the program is empty")]
    Empty,
    /// Two bindings of one name, or two bare expressions.
    #[error("`{0}` is bound twice")]
    Duplicate(String),
    /// A name without a binding.
    #[error("`{0}` is not bound")]
    Unbound(String),
    /// A binding that depends on itself.
    #[error("`{0}` is defined by itself")]
    Cycle(String),
    /// A number of arguments, operands, inputs or outputs that does not match.
    #[error("{what}: {found} where {expected} fit")]
    Arity {
        /// The kind of operands.
        what: &'static str,
        /// Actual number.
        found: usize,
        /// Expected number.
        expected: usize,
    },
    /// An array of the wrong rank.
    #[error("an array of rank {found} is indexed by {expected} positions")]
    Rank {
        /// Of the array.
        found: usize,
        /// Of the compound index.
        expected: usize,
    },
    /// An operator that does not support the element type.
    #[error("the operator does not take elements of type {0}")]
    Type(DType),
    /// Operands of different element types.
    #[error("operands have types {0} and {1}")]
    Mixed(DType, DType),
    /// A function in an unsupported position.
    #[error("`{0}` can not be used so")]
    Misplaced(&'static str),
    /// No operand is an index.
    #[error("at least one operand must be an index")]
    NoIndex,
    /// Index arithmetic that is not quasi-affine.
    #[error("the index is not affine")]
    NotAffine,
    /// A letter that is dropped without a reduction.
    #[error("the letter `{0}` is dropped, and nothing reduces it")]
    Dropped(char),
    /// Two extents of one letter.
    #[error("the letter `{letter}` is {first} and {second}")]
    Extents {
        /// The letter.
        letter: char,
        /// One extent.
        first: u64,
        /// The other.
        second: u64,
    },
    /// A state of a loop that changes an extent.
    #[error("a state of a loop has an extent {0}, and {1} in the next pass")]
    State(u64, u64),
    /// Two numbers of passes of a loop.
    #[error("a loop has {0} passes and {1}")]
    Passes(u64, u64),
    /// Nothing determines an extent.
    #[error("nothing determines the extent of `{0}`")]
    Undetermined(String),
    /// An access out of bounds.
    #[error("an index reaches {least}..={greatest} where the extent is {extent}")]
    Bounds {
        /// Least value of the index.
        least: i128,
        /// Greatest value of the index.
        greatest: i128,
        /// Extent of the axis.
        extent: u64,
    },
    /// An output's index that can be negative.
    #[error("an index of the output reaches {0}")]
    NegativeOutput(i128),
    /// Two points of a map with a common element of the output.
    #[error("two points of a map meet in one element of the output")]
    Collision,
    /// argmax or argmin of an empty axis.
    #[error("there is no greatest or least element of an empty axis")]
    EmptyArg,
    /// Sizes beyond the limits.
    #[error("the program is too large")]
    TooLarge,
    /// A scalar operation that fails.
    #[error(transparent)]
    Scalar(#[from] ScalarError),
    /// A literal without a value.
    #[error(transparent)]
    Literal(#[from] LiteralError),
    /// A core program that violates a rule of the core IR.
    #[error("the core program is malformed: {0}")]
    Core(&'static str),
}
