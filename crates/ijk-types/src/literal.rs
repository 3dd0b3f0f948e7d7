//! Literals and constants of programs, before and after they take an element type.

use crate::DType;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A number written in a program. It has no element type: it takes its operand's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Literal {
    /// Digits without point or exponent, with its sign.
    Integer(i64),
    /// A number with a point or an exponent, `@inf`, `@nan`, `@pi`, `@e`; rounded to binary64.
    Float(f64),
}

/// Why a literal has no value of an element type.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum LiteralError {
    /// `0.5` where elements are integers.
    #[error("{0} is not a value of {1}")]
    Fractional(f64, DType),
    /// `3000000000` where elements are `i32`.
    #[error("{0} does not fit in {1}")]
    OutOfRange(i64, DType),
}
