//! The exact meaning of every scalar operation, on dynamically typed values.

mod dispatch;
mod display;

use crate::with_element;
use crate::{
    BinaryOp, C64, C128, DType, Element, Literal, LiteralError, Monoid, Number, Ordered, UnaryOp,
    bf16, f16,
};
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
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    I8(i8),
    I16(i16),
    F16(f16),
    BF16(bf16),
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
    /// Random numbers between bounds that have none between them.
    #[error("RANDOM needs finite bounds, the lower less than the upper")]
    EmptyRange,
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
            Self::U8(_) => DType::U8,
            Self::U16(_) => DType::U16,
            Self::U32(_) => DType::U32,
            Self::U64(_) => DType::U64,
            Self::I8(_) => DType::I8,
            Self::I16(_) => DType::I16,
            Self::F16(_) => DType::F16,
            Self::BF16(_) => DType::BF16,
        }
    }

    /// 0, or false.
    pub fn zero(t: DType) -> Self {
        with_element!(t, T => T::default().into_scalar())
    }

    /// The nearest binary64, of a complex number's real part.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Bool(x) => x.into(),
            Self::I32(x) => x.into(),
            Self::I64(x) => x as f64,
            Self::F32(x) => x.into(),
            Self::F64(x) => x,
            Self::C64(x) => x.re.into(),
            Self::C128(x) => x.re,
            Self::U8(x) => x.into(),
            Self::U16(x) => x.into(),
            Self::U32(x) => x.into(),
            Self::U64(x) => x as f64,
            Self::I8(x) => x.into(),
            Self::I16(x) => x.into(),
            Self::F16(x) => Ordered::to_f64(x),
            Self::BF16(x) => Ordered::to_f64(x),
        }
    }

    /// The value as it lies in memory, followed by zeros.
    pub fn to_ne_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        match self {
            Self::Bool(x) => put(0, &[x.into()]),
            Self::U8(x) => put(0, &x.to_ne_bytes()),
            Self::U16(x) => put(0, &x.to_ne_bytes()),
            Self::U32(x) => put(0, &x.to_ne_bytes()),
            Self::U64(x) => put(0, &x.to_ne_bytes()),
            Self::I8(x) => put(0, &x.to_ne_bytes()),
            Self::I16(x) => put(0, &x.to_ne_bytes()),
            Self::I32(x) => put(0, &x.to_ne_bytes()),
            Self::I64(x) => put(0, &x.to_ne_bytes()),
            Self::F16(x) => put(0, &x.to_ne_bytes()),
            Self::BF16(x) => put(0, &x.to_ne_bytes()),
            Self::F32(x) => put(0, &x.to_ne_bytes()),
            Self::F64(x) => put(0, &x.to_ne_bytes()),
            Self::C64(x) => {
                put(0, &x.re.to_ne_bytes());
                put(4, &x.im.to_ne_bytes());
            }
            Self::C128(x) => {
                put(0, &x.re.to_ne_bytes());
                put(8, &x.im.to_ne_bytes());
            }
        }
        bytes
    }

    /// Equality of element type and bits: NaN equals itself, and `0.0` differs from `-0.0`.
    pub fn same_bits(self, other: Self) -> bool {
        fn typed<T: Element>(x: Scalar, y: Scalar) -> bool {
            matches!((T::from_scalar(x), T::from_scalar(y)), (Some(x), Some(y)) if x.same_bits(y))
        }
        with_element!(self.dtype(), T => typed::<T>(self, other))
    }
}

impl Literal {
    /// The value the literal has in an element type.
    ///
    /// # Errors
    /// If it has none: a fraction, infinity or NaN for an integer or bool; an integer beyond the type's range;
    /// an integer other than 0 and 1 for bool.
    ///
    /// ```
    /// use ijk_types::{DType, Literal, Scalar};
    /// assert_eq!(Literal::Integer(2).to_scalar(DType::F32), Ok(Scalar::F32(2.0)));
    /// assert!(Literal::Float(0.5).to_scalar(DType::I32).is_err());
    /// ```
    pub fn to_scalar(self, t: DType) -> Result<Scalar, LiteralError> {
        fn typed<T: Element>(literal: Literal) -> Result<Scalar, LiteralError> {
            T::from_literal(literal).map(T::into_scalar)
        }
        with_element!(t, T => typed::<T>(self))
    }

    /// The value as an integer, for messages and conversions to `t`. A whole [`Literal::Float`]
    /// that fits in `i64`, such as `1e6`, is one.
    pub(crate) fn to_integer(self, t: DType) -> Result<i64, LiteralError> {
        match self {
            Self::Integer(n) => Ok(n),
            Self::Float(x) if x.fract() == 0.0 && x.abs() < 9.2e18 => Ok(x as i64),
            Self::Float(x) => Err(LiteralError::Fractional(x, t)),
        }
    }
}

/// The value of a function of one operand.
///
/// # Errors
/// [`ScalarError`].
///
/// ```
/// use ijk_types::{Scalar, UnaryOp, scalar};
/// assert_eq!(scalar::unary(UnaryOp::Neg, Scalar::I32(2)), Ok(Scalar::I32(-2)));
/// ```
pub fn unary(op: UnaryOp, x: Scalar) -> Result<Scalar, ScalarError> {
    if let UnaryOp::Cast(to @ (DType::C64 | DType::C128)) = op {
        return Ok(to_complex(to, x));
    }
    match x {
        Scalar::Bool(x) => dispatch::unary_bool(op, x),
        Scalar::I32(x) => dispatch::unary_ordered_number(op, x),
        Scalar::I64(x) => dispatch::unary_ordered_number(op, x),
        Scalar::F32(x) => dispatch::unary_real(op, x),
        Scalar::F64(x) => dispatch::unary_real(op, x),
        Scalar::C64(x) => dispatch::unary_inexact(op, x),
        Scalar::C128(x) => dispatch::unary_inexact(op, x),
        Scalar::U8(x) => dispatch::unary_ordered_number(op, x),
        Scalar::U16(x) => dispatch::unary_ordered_number(op, x),
        Scalar::U32(x) => dispatch::unary_ordered_number(op, x),
        Scalar::U64(x) => dispatch::unary_ordered_number(op, x),
        Scalar::I8(x) => dispatch::unary_ordered_number(op, x),
        Scalar::I16(x) => dispatch::unary_ordered_number(op, x),
        Scalar::F16(x) => dispatch::unary_real(op, x),
        Scalar::BF16(x) => dispatch::unary_real(op, x),
    }
}

/// Casts to a complex type.
fn to_complex(to: DType, x: Scalar) -> Scalar {
    let narrow = |x: f64| x as f32;
    match (to, x) {
        (DType::C64, Scalar::C64(_)) | (DType::C128, Scalar::C128(_)) => x,
        (DType::C64, Scalar::C128(x)) => Scalar::C64(C64::new(narrow(x.re), narrow(x.im))),
        (DType::C64, Scalar::I64(x)) => Scalar::C64(C64::new(x as f32, 0.0)),
        (DType::C64, Scalar::U64(x)) => Scalar::C64(C64::new(x as f32, 0.0)),
        (DType::C64, x) => Scalar::C64(C64::new(narrow(x.as_f64()), 0.0)),
        (_, Scalar::C64(x)) => Scalar::C128(C128::new(x.re.into(), x.im.into())),
        (_, x) => Scalar::C128(C128::new(x.as_f64(), 0.0)),
    }
}

/// The value of a function of two operands of one type.
///
/// # Errors
/// [`ScalarError`].
///
/// ```
/// use ijk_types::{BinaryOp, Scalar, scalar};
/// let quotient = scalar::binary(BinaryOp::Div, Scalar::I32(-7), Scalar::I32(2));
/// assert_eq!(quotient, Ok(Scalar::I32(-4)));
/// ```
pub fn binary(op: BinaryOp, left: Scalar, right: Scalar) -> Result<Scalar, ScalarError> {
    use Scalar::*;
    match (left, right) {
        (Bool(x), Bool(y)) => dispatch::binary_bool(op, x, y),
        (I32(x), I32(y)) => dispatch::binary_ordered_number(op, x, y),
        (I64(x), I64(y)) => dispatch::binary_ordered_number(op, x, y),
        (F32(x), F32(y)) => dispatch::binary_real(op, x, y),
        (F64(x), F64(y)) => dispatch::binary_real(op, x, y),
        (C64(x), C64(y)) => dispatch::binary_inexact(op, x, y),
        (C128(x), C128(y)) => dispatch::binary_inexact(op, x, y),
        (U8(x), U8(y)) => dispatch::binary_ordered_number(op, x, y),
        (U16(x), U16(y)) => dispatch::binary_ordered_number(op, x, y),
        (U32(x), U32(y)) => dispatch::binary_ordered_number(op, x, y),
        (U64(x), U64(y)) => dispatch::binary_ordered_number(op, x, y),
        (I8(x), I8(y)) => dispatch::binary_ordered_number(op, x, y),
        (I16(x), I16(y)) => dispatch::binary_ordered_number(op, x, y),
        (F16(x), F16(y)) => dispatch::binary_real(op, x, y),
        (BF16(x), BF16(y)) => dispatch::binary_real(op, x, y),
        _ => Err(ScalarError::Type(right.dtype())),
    }
}

/// Neutral value of `monoid`, from which a reduction starts.
///
/// # Panics
/// If the monoid's operator does not accept `t`.
pub fn identity(monoid: Monoid, t: DType) -> Scalar {
    with_element!(t, T => T::identity(monoid).into_scalar())
}

/// The value that leaves any other one bit for bit as it is when a reduction combines the two: -0 for sums. A product of
/// complex numbers has none (`∞ · (1 + 0i)` has a part `∞ · 0`), so reductions leave out [`SkippedFactor`].
///
/// # Panics
/// If the monoid's operator does not accept `t`.
///
/// ```
/// use ijk_types::{DType, Monoid, Scalar, scalar};
/// let Scalar::F32(x) = scalar::neutral(Monoid::Add, DType::F32) else { panic!() };
/// assert!(x == 0.0 && x.is_sign_negative());
/// ```
pub fn neutral(monoid: Monoid, t: DType) -> Scalar {
    match (monoid, t) {
        (Monoid::Add, DType::F32) => Scalar::F32(-0.0),
        (Monoid::Add, DType::F64) => Scalar::F64(-0.0),
        (Monoid::Add, DType::C64) => Scalar::C64(C64::new(-0.0, -0.0)),
        (Monoid::Add, DType::C128) => Scalar::C128(C128::new(-0.0, -0.0)),
        (Monoid::Mul, DType::C64) => Scalar::C64(C64::SKIPPED),
        (Monoid::Mul, DType::C128) => Scalar::C128(C128::SKIPPED),
        _ => identity(monoid, t),
    }
}

/// Complex types with a value that stands for a factor which a product leaves out.
///
/// Its parts are NaN with bits that no arithmetic makes.
pub trait SkippedFactor: Number {
    /// The value.
    const SKIPPED: Self;

    /// Returns true for [`SKIPPED`](Self::SKIPPED), bit for bit.
    fn is_skipped(self) -> bool;

    /// The product of the factors that are not skipped.
    ///
    /// ```
    /// use ijk_types::{C64, scalar::SkippedFactor};
    /// let x = C64::new(f32::INFINITY, 1.0);
    /// assert_eq!(x.times(C64::SKIPPED), x);
    /// assert_eq!(C64::SKIPPED.times(x), x);
    /// assert_eq!(C64::new(0.0, 1.0).times(C64::new(0.0, 1.0)), C64::new(-1.0, 0.0));
    /// ```
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        let product = self.mul(other);
        let product = if other.is_skipped() { self } else { product };
        if self.is_skipped() { other } else { product }
    }
}

impl SkippedFactor for C64 {
    const SKIPPED: Self = {
        let part = f32::from_bits(0x7fda_5c3b);
        C64::new(part, part)
    };

    #[inline(always)]
    fn is_skipped(self) -> bool {
        self.re.to_bits() == Self::SKIPPED.re.to_bits()
            && self.im.to_bits() == Self::SKIPPED.im.to_bits()
    }
}

impl SkippedFactor for C128 {
    const SKIPPED: Self = {
        let part = f64::from_bits(0x7ffa_5c3b_96e1_d247);
        C128::new(part, part)
    };

    #[inline(always)]
    fn is_skipped(self) -> bool {
        self.re.to_bits() == Self::SKIPPED.re.to_bits()
            && self.im.to_bits() == Self::SKIPPED.im.to_bits()
    }
}

#[cfg(test)]
mod tests;
