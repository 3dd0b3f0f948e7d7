//! The exact meaning of every scalar operation, on dynamically typed values.

use crate::{BinaryOp, C64, C128, DType, Literal, LiteralError, Monoid, UnaryOp};
use thiserror::Error;

/// A value of any element type.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Scalar {
    Bool(bool),
    I32(i32),
    I64(i64),
    F32(f32),
    F64(f64),
    C64(C64),
    C128(C128),
}

/// Why a scalar operation has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum ScalarError {
    /// `/` or `@mod` of integers.
    #[error("integer division by zero")]
    DivisionByZero,
    /// `^` of integers with a negative right operand.
    #[error("an integer to a negative power")]
    NegativePower,
    /// The operator does not accept the operands' type, or operands of different types.
    #[error("the operator does not accept elements of type {0}")]
    Type(DType),
}

impl Scalar {
    /// The value's element type.
    pub const fn dtype(self) -> DType {
        match self {
            Self::Bool(_) => DType::Bool,
            Self::I32(_) => DType::I32,
            Self::I64(_) => DType::I64,
            Self::F32(_) => DType::F32,
            Self::F64(_) => DType::F64,
            Self::C64(_) => DType::C64,
            Self::C128(_) => DType::C128,
        }
    }
}

impl Literal {
    /// The value the literal has in an element type.
    ///
    /// # Errors
    /// If it has none: a fraction, infinity or NaN for an integer or bool; an integer beyond `i32`;
    /// an integer other than 0 and 1 for bool.
    pub fn to_scalar(self, _t: DType) -> Result<Scalar, LiteralError> {
        unimplemented!()
    }
}

/// The value of a function of one operand.
///
/// # Errors
/// [`ScalarError`].
pub fn unary(_op: UnaryOp, _x: Scalar) -> Result<Scalar, ScalarError> {
    unimplemented!()
}

/// The value of a function of two operands of one type.
///
/// # Errors
/// [`ScalarError`].
pub fn binary(_op: BinaryOp, _left: Scalar, _right: Scalar) -> Result<Scalar, ScalarError> {
    unimplemented!()
}

/// What a reduction by `monoid` starts from.
///
/// # Panics
/// If the monoid's operator does not accept `t`.
pub fn identity(_monoid: Monoid, _t: DType) -> Scalar {
    unimplemented!()
}
