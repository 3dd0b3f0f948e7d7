//! Why a program has no value.

use crate::EvalError;
use ijk_types::{DType, ScalarError};
use thiserror::Error;

/// Why the evaluator of Einsum Tuple gives no value.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum EtError {
    /// A name without a meaning where it stands.
    #[error("`{0}` is not known here")]
    Unknown(String),
    /// Ranks that differ.
    #[error("ranks {0} and {1} meet")]
    Ranks(usize, usize),
    /// A number of indices that is not the array's.
    #[error("`{name}` has {found} indices where it has {expected} places")]
    Places {
        /// The array.
        name: String,
        /// Indices here.
        found: usize,
        /// Places of its signature.
        expected: usize,
    },
    /// The right of `//`, `//^` or `%` is not static.
    #[error("the right of a division or remainder must be static")]
    NotStatic,
    /// The right of `//`, `//^` or `%` is 0.
    #[error("the right of a division or remainder is 0")]
    ZeroDivisor,
    /// `:` elsewhere than once in a nested array.
    #[error("`:` can not stand here")]
    Star,
    /// An index array that holds no integers.
    #[error("an index array of {0}")]
    IndexType(DType),
    /// An operator that does not take the element type.
    #[error("the operator does not take elements of type {0}")]
    Type(DType),
    /// A function that can not be used so.
    #[error("`{0}` can not be used so")]
    Function(&'static str),
    /// Sizes or index values that are too large.
    #[error("the program is too large")]
    TooLarge,
    /// A scalar operation without a value.
    #[error(transparent)]
    Value(#[from] EvalError),
}

impl From<ScalarError> for EtError {
    fn from(error: ScalarError) -> Self {
        Self::Value(error.into())
    }
}
