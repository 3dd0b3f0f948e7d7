//! Scalar operators and functions: names, element types they accept, types they give; and the
//! monoids that reduce.
//!
//! The exact values they give are in [`crate::scalar`].

use crate::{DType, TypeSet};
use serde::{Deserialize, Serialize};

/// The element type of an operator's result, relative to its operands'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ResultType {
    /// The operands' type.
    Same,
    /// The type of the operands' real part.
    Real,
    /// One type whatever the operands'.
    Fixed(DType),
}

impl ResultType {
    /// The result type for operands of type `t`.
    pub const fn of(self, t: DType) -> DType {
        match self {
            Self::Same => t,
            Self::Real => t.real(),
            Self::Fixed(fixed) => fixed,
        }
    }
}

/// Functions of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum UnaryOp {
    /// `-x`: `0 - x`, but `-0.0` for `0.0`.
    Neg,
    /// `/x`: `1 / x`.
    Recip,
    /// `^x`: e to the power of x.
    Exp,
    /// `$x`: natural logarithm.
    Ln,
    /// `@sqrt`.
    Sqrt,
    /// `@abs`; the modulus of a complex number. Wraps on the least integer.
    Abs,
    /// `@sign`: -1, 0 or 1 (`-0.0`, `0.0` and NaN give themselves).
    Sign,
    /// `@floor`.
    Floor,
    /// `@ceil`.
    Ceil,
    /// `@round`: half to even.
    Round,
    /// `@sin`.
    Sin,
    /// `@cos`.
    Cos,
    /// `@tan`.
    Tan,
    /// `@tanh`.
    Tanh,
    /// `@sinh`.
    Sinh,
    /// `@cosh`.
    Cosh,
    /// `@erf`: the error function.
    Erf,
    /// `@sigmoid`: `1 / (1 + exp(-x))`.
    Sigmoid,
    /// `@gelu`: `x * (1 + erf(x / sqrt 2)) / 2`, the exact form.
    Gelu,
    /// `@log1p`: `ln(1 + x)`.
    Log1p,
    /// `@expm1`: `exp(x) - 1`.
    Expm1,
    /// `@not` of a bool.
    Not,
    /// `@conj`: complex conjugate; a real number's own value.
    Conj,
    /// `@re`: real part.
    Re,
    /// `@im`: imaginary part, 0 for a real number.
    Im,
    /// `@u8`, `@f16` and so on: Rust's `as` (to an integer: from a float towards zero, saturating, NaN
    /// gives 0, from an integer wrapping; to `f16` and `bf16` with one rounding, of an integer by way of `f32`); to bool: whether it differs from 0 (so NaN gives true); bool gives 0 and 1.
    /// To a complex type, of which i has no spelling: the real part is cast, the imaginary part is 0
    /// or cast.
    Cast(DType),
}

impl UnaryOp {
    /// Every function of one operand.
    pub const ALL: [UnaryOp; 38] = [
        Self::Neg,
        Self::Recip,
        Self::Exp,
        Self::Ln,
        Self::Sqrt,
        Self::Abs,
        Self::Sign,
        Self::Floor,
        Self::Ceil,
        Self::Round,
        Self::Sin,
        Self::Cos,
        Self::Tan,
        Self::Tanh,
        Self::Sinh,
        Self::Cosh,
        Self::Erf,
        Self::Sigmoid,
        Self::Gelu,
        Self::Log1p,
        Self::Expm1,
        Self::Not,
        Self::Conj,
        Self::Re,
        Self::Im,
        Self::Cast(DType::F32),
        Self::Cast(DType::F64),
        Self::Cast(DType::I32),
        Self::Cast(DType::I64),
        Self::Cast(DType::Bool),
        Self::Cast(DType::U8),
        Self::Cast(DType::U16),
        Self::Cast(DType::U32),
        Self::Cast(DType::U64),
        Self::Cast(DType::I8),
        Self::Cast(DType::I16),
        Self::Cast(DType::F16),
        Self::Cast(DType::BF16),
    ];

    /// Element types the operand may have.
    pub const fn accepts(self) -> TypeSet {
        match self {
            Self::Neg | Self::Recip | Self::Abs | Self::Conj | Self::Re | Self::Im => {
                TypeSet::NUMBER
            }
            Self::Exp
            | Self::Ln
            | Self::Sqrt
            | Self::Sin
            | Self::Cos
            | Self::Tan
            | Self::Tanh
            | Self::Sinh
            | Self::Cosh => TypeSet::INEXACT,
            Self::Floor
            | Self::Ceil
            | Self::Round
            | Self::Erf
            | Self::Sigmoid
            | Self::Gelu
            | Self::Log1p
            | Self::Expm1 => TypeSet::REAL,
            Self::Sign => TypeSet::ORDERED_NUMBER,
            Self::Not => TypeSet::BOOL,
            Self::Cast(DType::C64 | DType::C128) => TypeSet::ALL,
            Self::Cast(_) => TypeSet::ORDERED,
        }
    }

    /// Element type of the result.
    pub const fn result(self) -> ResultType {
        match self {
            Self::Abs | Self::Re | Self::Im => ResultType::Real,
            Self::Cast(t) => ResultType::Fixed(t),
            _ => ResultType::Same,
        }
    }
}

/// Functions of two operands of one element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BinaryOp {
    /// `+`; or for bool.
    Add,
    /// `*`; and for bool.
    Mul,
    /// `-`.
    Sub,
    /// `/`; floors on integers, where division by zero is an error.
    Div,
    /// `>`: the greater; NaN if either is; or for bool.
    Max,
    /// `<`: the less; NaN if either is; and for bool.
    Min,
    /// `^`: power. A negative power of an integer is an error.
    Pow,
    /// `$`: logarithm of the right operand to the base of the left: `ln(right) / ln(left)`.
    Log,
    /// `@eq`.
    Eq,
    /// `@ne`.
    Ne,
    /// `@lt`.
    Lt,
    /// `@le`.
    Le,
    /// `@gt`.
    Gt,
    /// `@ge`.
    Ge,
    /// `@and` of bools.
    And,
    /// `@or` of bools.
    Or,
    /// `@mod`: the remainder of floored division, with the divisor's sign; by zero is an error
    /// for integers and NaN for floats.
    Mod,
    /// `@atan2(y, x)`.
    Atan2,
    /// `@hypot`.
    Hypot,
    /// `@logaddexp`: `ln(exp(x) + exp(y))`.
    LogAddExp,
    /// `//` of Einsum Tuple on floats: the greatest integer that is at most the exact quotient.
    FloorDiv,
}

impl BinaryOp {
    /// Every function of two operands.
    pub const ALL: [BinaryOp; 21] = [
        Self::Add,
        Self::Mul,
        Self::Sub,
        Self::Div,
        Self::Max,
        Self::Min,
        Self::Pow,
        Self::Log,
        Self::Eq,
        Self::Ne,
        Self::Lt,
        Self::Le,
        Self::Gt,
        Self::Ge,
        Self::And,
        Self::Or,
        Self::Mod,
        Self::Atan2,
        Self::Hypot,
        Self::LogAddExp,
        Self::FloorDiv,
    ];

    /// Element types the operands may have.
    pub const fn accepts(self) -> TypeSet {
        match self {
            Self::Add | Self::Mul | Self::Eq | Self::Ne => TypeSet::ALL,
            Self::Sub | Self::Div | Self::Pow => TypeSet::NUMBER,
            Self::Max | Self::Min | Self::Lt | Self::Le | Self::Gt | Self::Ge => TypeSet::ORDERED,
            Self::Log => TypeSet::INEXACT,
            Self::And | Self::Or => TypeSet::BOOL,
            Self::Mod => TypeSet::ORDERED_NUMBER,
            Self::Atan2 | Self::Hypot | Self::LogAddExp | Self::FloorDiv => TypeSet::REAL,
        }
    }

    /// Element type of the result.
    pub const fn result(self) -> ResultType {
        match self {
            Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge => {
                ResultType::Fixed(DType::Bool)
            }
            _ => ResultType::Same,
        }
    }

    /// The comparison with both sides exchanged, `y > x` for `x < y`; `None` for other functions.
    ///
    /// ```
    /// use ijk_types::BinaryOp;
    ///
    /// assert_eq!(BinaryOp::Le.swapped(), Some(BinaryOp::Ge));
    /// assert_eq!(BinaryOp::Eq.swapped(), Some(BinaryOp::Eq));
    /// assert_eq!(BinaryOp::Sub.swapped(), None);
    /// ```
    pub const fn swapped(self) -> Option<Self> {
        match self {
            Self::Lt => Some(Self::Gt),
            Self::Le => Some(Self::Ge),
            Self::Gt => Some(Self::Lt),
            Self::Ge => Some(Self::Le),
            Self::Eq | Self::Ne => Some(self),
            _ => None,
        }
    }
}

/// A function applied to `map(a, b)` before it is reduced: for distances, on differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Then {
    /// `x * x`.
    Square,
    /// `@abs x`.
    Abs,
}

/// An associative, commutative operator with an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Monoid {
    /// Sum; or for bool. Identity 0.
    Add,
    /// Product; and for bool. Identity 1.
    Mul,
    /// Maximum, NaN if any is. Identity: -inf, the least integer, false.
    Max,
    /// Minimum, NaN if any is. Identity: +inf, the greatest integer, true.
    Min,
    /// `@and` of bools.
    And,
    /// `@or` of bools.
    Or,
    /// `@logaddexp`: the logarithm of a sum of exponentials. Identity: -inf.
    LogAddExp,
}

impl Monoid {
    /// Every monoid.
    pub const ALL: [Monoid; 7] =
        [Self::Add, Self::Mul, Self::Max, Self::Min, Self::And, Self::Or, Self::LogAddExp];

    /// The operator as a function of two operands.
    pub const fn op(self) -> BinaryOp {
        match self {
            Self::Add => BinaryOp::Add,
            Self::Mul => BinaryOp::Mul,
            Self::Max => BinaryOp::Max,
            Self::Min => BinaryOp::Min,
            Self::And => BinaryOp::And,
            Self::Or => BinaryOp::Or,
            Self::LogAddExp => BinaryOp::LogAddExp,
        }
    }

    /// The monoid whose operator is `op`.
    pub fn from_op(op: BinaryOp) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.op() == op)
    }
}

/// Combination of the values that fall on one element of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reducer {
    /// Combine values by a monoid.
    Monoid(Monoid),
    /// Position (i64) of the greatest value along the one reduced axis: the first of equals; the
    /// first NaN if there is one. An empty axis is an error.
    ArgMax,
    /// Position of the least value, likewise.
    ArgMin,
    /// Value or position at each place of the order of the values along the one reduced axis.
    Order(Order),
}

/// Stable orders of the values along an axis, and what is taken from them.
///
/// NaN comes after all other values in both directions; equal values, `0.0` and `-0.0` among them, and NaNs stay in
/// the order of their positions. The places of the order are the last axis of the statement's domain, on which the
/// value does not depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Order {
    /// From the greatest value to the least.
    pub descending: bool,
    /// Positions (i64) in the place of values.
    pub positions: bool,
}

impl Reducer {
    /// True if the result is a position along an axis, i64.
    pub const fn gives_positions(self) -> bool {
        match self {
            Self::Monoid(_) => false,
            Self::ArgMax | Self::ArgMin => true,
            Self::Order(order) => order.positions,
        }
    }
}
