//! Errors of evaluation.

use crate::EvalError;
use ijk_types::{DType, ScalarError};
use thiserror::Error;

/// Error of the Einsum Tuple evaluator.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum EtError {
    /// A name that is not defined in this place.
    #[error("`{0}` is not known here")]
    Unknown(String),
    /// Different ranks.
    #[error("ranks {0} and {1} meet")]
    Ranks(usize, usize),
    /// A number of indices that differs from the array's.
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
    /// An index array of a type other than integers.
    #[error("an index array of {0}")]
    IndexType(DType),
    /// An operator that does not support the element type.
    #[error("the operator does not take elements of type {0}")]
    Type(DType),
    /// A function in an unsupported position.
    #[error("`{0}` can not be used so")]
    Function(&'static str),
    /// Sizes or index values that are too large.
    #[error("the program is too large")]
    TooLarge,
    /// An element is read that no pass before has assigned.
    #[error("an element is read that no pass before has assigned")]
    Order,
    /// A scalar operation without a value.
    #[error(transparent)]
    Value(#[from] EvalError),
}

impl From<ScalarError> for EtError {
    fn from(error: ScalarError) -> Self {
        Self::Value(error.into())
    }
}
