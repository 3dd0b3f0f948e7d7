//! Element types as Rust traits: what generic code, such as the in-line loops of `i!`, computes with.
//!
//! One trait for each [`TypeSet`](crate::TypeSet) an operator accepts. Every method gives bit for
//! bit what [`crate::scalar`] and the engine give.

/// The casts of a primitive number, which are Rust's; `$to` is the method that gives its own type, and `$float` the type
/// from which `f16` and `bf16` are rounded.
macro_rules! casts {
    ($to:ident, $float:ident) => {
        casts!(@as u8 to_u8, u16 to_u16, u32 to_u32, u64 to_u64, i8 to_i8, i16 to_i16);
        casts!(@as i32 to_i32, i64 to_i64, f32 to_f32, f64 to_f64);
        #[inline(always)]
        fn to_f16(self) -> f16 {
            crate::math::half::Narrow::narrow_f16(self as $float)
        }
        #[inline(always)]
        fn to_bf16(self) -> bf16 {
            crate::math::half::Narrow::narrow_bf16(self as $float)
        }
        #[inline(always)]
        fn cast_from<T: Ordered>(value: T) -> Self {
            value.$to()
        }
    };
    (@as $($t:ident $method:ident),*) => {
        $(#[inline(always)]
        fn $method(self) -> $t {
            self as $t
        })*
    };
}

/// Real and imaginary parts of the types that are not complex.
macro_rules! no_imaginary_part {
    () => {
        #[inline(always)]
        fn conj(self) -> Self {
            self
        }
        #[inline(always)]
        fn re(self) -> Self {
            self
        }
        #[inline(always)]
        fn im(self) -> Self {
            Self::default()
        }
    };
}

mod boolean;
mod complex;
mod float;
mod half;
mod integer;

use crate::{DType, Literal, LiteralError, Monoid, Scalar, ScalarError, bf16, f16};

/// Any element type: `bool`, primitive integers up to 64 bits, `half::f16`, `half::bf16`, `f32`, `f64`, `Complex32` and
/// `Complex64` ([`TypeSet::ALL`](crate::TypeSet::ALL)).
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
    /// The value as a dynamically typed one.
    fn into_scalar(self) -> Scalar;
    /// The value of a scalar of this element type; `None` for one of another type.
    fn from_scalar(scalar: Scalar) -> Option<Self>;
    /// Bitwise equality: NaN equals itself, and `0.0` differs from `-0.0`.
    fn same_bits(self, other: Self) -> bool;
    /// Neutral value of `monoid`, from which a reduction starts.
    ///
    /// # Panics
    /// If the type does not have the monoid: maximum and minimum of complex numbers, `@and` and
    /// `@or` of anything but bools.
    fn identity(monoid: Monoid) -> Self;
    /// `+`; or for bool.
    fn add(self, right: Self) -> Self;
    /// `*`; and for bool. Of complex numbers `(ac - bd) + (ad + bc)i`, each product and sum rounded.
    fn mul(self, right: Self) -> Self;
}

/// Every element type but the complex ones.
///
/// # Maximum and minimum of floating-point numbers
///
/// The maximum is `let m = if a > b { a } else { b }; if a != a { a } else { m }`: NaN if either
/// operand is, and of two equal operands the right one, which only shows in the sign of a zero.
/// It is a maximum instruction and a blend on a vector unit. It is associative, and but for the
/// sign of zeros and the payload of NaN commutative; the minimum likewise.
pub trait Ordered: Element {
    /// `>`: the greater, NaN if either operand is; or for bool.
    fn max(self, right: Self) -> Self;
    /// `<`: the less, NaN if either operand is; and for bool.
    fn min(self, right: Self) -> Self;
    /// `@lt`.
    fn lt(self, right: Self) -> bool;
    /// `@le`.
    fn le(self, right: Self) -> bool;
    /// Order of `@argmax`: true if `self` replaces `best`, as the greater value or the first NaN.
    fn beats_max(self, best: Self) -> bool;
    /// Order of `@argmin`: true if `self` replaces `best`.
    fn beats_min(self, best: Self) -> bool;
    /// `@bool`: whether it differs from 0.
    fn to_bool(self) -> bool;
    /// `@u8`: from a float towards zero and saturating (NaN gives 0), wrapping from an integer.
    fn to_u8(self) -> u8;
    /// `@u16`: from a float towards zero and saturating (NaN gives 0), wrapping from an integer.
    fn to_u16(self) -> u16;
    /// `@u32`: from a float towards zero and saturating (NaN gives 0), wrapping from an integer.
    fn to_u32(self) -> u32;
    /// `@u64`: from a float towards zero and saturating (NaN gives 0), wrapping from an integer.
    fn to_u64(self) -> u64;
    /// `@i8`: from a float towards zero and saturating (NaN gives 0), wrapping from an integer.
    fn to_i8(self) -> i8;
    /// `@i16`: from a float towards zero and saturating (NaN gives 0), wrapping from an integer.
    fn to_i16(self) -> i16;
    /// `@i32`: from a float towards zero and saturating (NaN gives 0), wrapping from an integer.
    fn to_i32(self) -> i32;
    /// `@i64`: from a float towards zero and saturating (NaN gives 0), wrapping from an integer.
    fn to_i64(self) -> i64;
    /// `@f16`: to the nearest, ties to even; an integer by way of `f32`.
    fn to_f16(self) -> f16;
    /// `@bf16`: to the nearest, ties to even; an integer by way of `f32`.
    fn to_bf16(self) -> bf16;
    /// `@f32`: to the nearest.
    fn to_f32(self) -> f32;
    /// `@f64`: to the nearest.
    fn to_f64(self) -> f64;
    /// The value of this type that a value of another is cast to.
    fn cast_from<T: Ordered>(value: T) -> Self;
    /// Casts: to any ordered type.
    #[inline(always)]
    fn cast<U: Ordered>(self) -> U {
        U::cast_from(self)
    }
}

/// Every element type but `bool`.
pub trait Number: Element {
    /// `-`.
    fn sub(self, right: Self) -> Self;
    /// `/`; rounds down on integers.
    ///
    /// # Errors
    /// Integer division by zero.
    fn div(self, right: Self) -> Result<Self, ScalarError>;
    /// `^`: wraps on integers; IEEE 754's `pow` on floats; `exp(y ln x)` on complex numbers, by
    /// repeated multiplication where y is a small integer.
    ///
    /// # Errors
    /// A negative power of an integer.
    fn pow(self, right: Self) -> Result<Self, ScalarError>;
    /// Unary `/`.
    ///
    /// # Errors
    /// Integer division by zero.
    fn recip(self) -> Result<Self, ScalarError> {
        Self::identity(Monoid::Mul).div(self)
    }
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

/// Integers and floating-point numbers.
pub trait OrderedNumber: Ordered + Number {
    /// `@sign`: -1, 0 or 1; `0.0`, `-0.0` and NaN give themselves.
    fn sign(self) -> Self;
    /// `@mod`: the remainder of floored division, with the sign of the divisor (as Python's `%`;
    /// NaN for a divisor of `0.0`).
    ///
    /// # Errors
    /// An integer modulo zero.
    fn modulo(self, right: Self) -> Result<Self, ScalarError>;
}

/// Floating-point and complex numbers.
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

/// `f16 bf16 f32 f64`. Those of 16 bits compute in `f32` and round the result.
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
    /// Floored division: the greatest integer that is at most the exact quotient (as NumPy's `//`; `x / 0`
    /// for a divisor of `0.0`).
    fn floor_div(self, right: Self) -> Self;
    /// `@hypot`.
    fn hypot(self, right: Self) -> Self;
    /// `@logaddexp`.
    fn log_add_exp(self, right: Self) -> Self;
}

/// Panics: the type checker lets no such reduction through.
#[cold]
fn no_monoid(monoid: Monoid, t: DType) -> ! {
    panic!("{t} has no reduction by {monoid:?}")
}
