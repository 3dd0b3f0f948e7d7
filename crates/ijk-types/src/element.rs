//! Element types as Rust traits: what generic code, such as the in-line loops of `i!`, computes with.
//!
//! One trait for each [`TypeSet`](crate::TypeSet) an operator accepts. Every method gives bit for
//! bit what [`crate::scalar`] and the engine give.

use crate::{DType, Literal, LiteralError, Monoid, ScalarError};

/// Any element type: `bool i32 i64 f32 f64 Complex32 Complex64` ([`TypeSet::ALL`](crate::TypeSet::ALL)).
pub trait Element: Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The element type as a value.
    const DTYPE: DType;
    /// The type of the real part.
    type Real: Element;

    /// The value a literal has in this type.
    ///
    /// # Errors
    /// If it has none: [`LiteralError`].
    fn from_literal(literal: Literal) -> Result<Self, LiteralError>;
    /// What a reduction by `monoid` starts from.
    fn identity(monoid: Monoid) -> Self;
    /// `+`.
    fn add(self, right: Self) -> Self;
    /// `*`.
    fn mul(self, right: Self) -> Self;
}

/// `bool i32 i64 f32 f64`.
pub trait Ordered: Element {
    /// `>`.
    fn max(self, right: Self) -> Self;
    /// `<`.
    fn min(self, right: Self) -> Self;
    /// `@lt`.
    fn lt(self, right: Self) -> bool;
    /// `@le`.
    fn le(self, right: Self) -> bool;
    /// Whether `self` takes the place of `best` in `@argmax`: greater, or the first NaN.
    fn beats_max(self, best: Self) -> bool;
    /// Whether `self` takes the place of `best` in `@argmin`.
    fn beats_min(self, best: Self) -> bool;
    /// Casts: to any ordered type.
    fn cast<U: Ordered>(self) -> U;
}

/// Every element type but `bool`.
pub trait Number: Element {
    /// `-`.
    fn sub(self, right: Self) -> Self;
    /// `/`.
    ///
    /// # Errors
    /// Integer division by zero.
    fn div(self, right: Self) -> Result<Self, ScalarError>;
    /// `^`.
    ///
    /// # Errors
    /// A negative power of an integer.
    fn pow(self, right: Self) -> Result<Self, ScalarError>;
    /// Unary `-`.
    fn neg(self) -> Self;
    /// `@abs`.
    fn abs(self) -> Self::Real;
    /// `@conj`.
    fn conj(self) -> Self;
    /// `@re`.
    fn re(self) -> Self::Real;
    /// `@im`.
    fn im(self) -> Self::Real;
}

/// `i32 i64 f32 f64`.
pub trait OrderedNumber: Ordered + Number {
    /// `@sign`.
    fn sign(self) -> Self;
    /// `@mod`.
    ///
    /// # Errors
    /// An integer modulo zero.
    fn modulo(self, right: Self) -> Result<Self, ScalarError>;
}

/// `f32 f64 Complex32 Complex64`.
pub trait Inexact: Number {
    /// Unary `^`.
    fn exp(self) -> Self;
    /// Unary `$`.
    fn ln(self) -> Self;
    /// `$`: the logarithm of `right` to the base `self`.
    fn log(self, right: Self) -> Self;
    /// `@sqrt`.
    fn sqrt(self) -> Self;
    /// `@sin`.
    fn sin(self) -> Self;
    /// `@cos`.
    fn cos(self) -> Self;
    /// `@tan`.
    fn tan(self) -> Self;
    /// `@tanh`.
    fn tanh(self) -> Self;
    /// `@sinh`.
    fn sinh(self) -> Self;
    /// `@cosh`.
    fn cosh(self) -> Self;
}

/// `f32 f64`.
pub trait Real: Inexact + OrderedNumber {
    /// `@floor`.
    fn floor(self) -> Self;
    /// `@ceil`.
    fn ceil(self) -> Self;
    /// `@round`: half to even.
    fn round(self) -> Self;
    /// `@erf`.
    fn erf(self) -> Self;
    /// `@sigmoid`.
    fn sigmoid(self) -> Self;
    /// `@gelu`.
    fn gelu(self) -> Self;
    /// `@log1p`.
    fn log1p(self) -> Self;
    /// `@expm1`.
    fn expm1(self) -> Self;
    /// `@atan2`: `self` is y.
    fn atan2(self, x: Self) -> Self;
    /// `@hypot`.
    fn hypot(self, right: Self) -> Self;
}
