//! Functions of `f32`.
//!
//! Each states the greatest error seen, in units of the last place, over every 17th bit pattern and
//! all of the worst intervals (`tests/accuracy_single.rs`). None exceeds 2.

use super::float::Float;
use super::{error, exponential, logarithm, power, tables, trigonometric};

/// `e` to the power of `x`. Greatest error seen: 1.04 ulp.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    exponential::exp(x)
}

/// `exp(x) - 1`, exact to the last places near 0. Greatest error seen: 1.56 ulp.
#[inline(always)]
pub fn expm1(x: f32) -> f32 {
    exponential::expm1(x)
}

/// The natural logarithm: NaN below 0, -inf at both zeros. Greatest error seen: 0.93 ulp.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    logarithm::ln_undivided(x, &tables::single::LN_1P)
}

/// `ln(1 + x)`, exact to the last places near 0. Greatest error seen: 1.39 ulp.
#[inline(always)]
pub fn log1p(x: f32) -> f32 {
    logarithm::log1p(x)
}

/// Hyperbolic tangent. Greatest error seen: 1.86 ulp.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    exponential::tanh(x)
}

/// Hyperbolic sine. Greatest error seen: 1.62 ulp.
#[inline(always)]
pub fn sinh(x: f32) -> f32 {
    exponential::sinh(x)
}

/// Hyperbolic cosine. Greatest error seen: 1.48 ulp.
#[inline(always)]
pub fn cosh(x: f32) -> f32 {
    exponential::cosh(x)
}

/// `1 / (1 + exp(-x))`. Greatest error seen: 1.48 ulp.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    exponential::sigmoid(x)
}

/// The error function. Greatest error seen: 1.15 ulp.
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    error::erf(x)
}

/// `x (1 + erf(x / √2)) / 2`; the limit -0 at -inf. Greatest error seen: 1.82 ulp.
#[inline(always)]
pub fn gelu(x: f32) -> f32 {
    error::gelu(x)
}

/// Beyond this modulus `sin`, `cos` and `tan` need more digits of π than the `_near` functions have.
pub const FAR: f32 = 1_048_576.0;

/// Returns true if `x` is outside the domain of [`sin_near`], [`cos_near`] and [`tan_near`].
#[inline(always)]
pub fn is_far(x: f32) -> bool {
    x.abs() > FAR
}

/// The sine of an argument that [is not far](is_far), without branches; anything for others.
#[inline(always)]
pub fn sin_near(x: f32) -> f32 {
    trigonometric::sin(x)
}

/// The sine of `x` radians. Greatest error seen: 1.67 ulp.
#[inline]
pub fn sin(x: f32) -> f32 {
    if is_far(x) { libm::sinf(x) } else { sin_near(x) }
}

/// The cosine of an argument that [is not far](is_far), without branches; anything for others.
#[inline(always)]
pub fn cos_near(x: f32) -> f32 {
    trigonometric::cos(x)
}

/// The cosine of `x` radians. Greatest error seen: 1.81 ulp.
#[inline]
pub fn cos(x: f32) -> f32 {
    if is_far(x) { libm::cosf(x) } else { cos_near(x) }
}

/// The tangent of an argument that [is not far](is_far), without branches; anything for others.
#[inline(always)]
pub fn tan_near(x: f32) -> f32 {
    trigonometric::tan(x)
}

/// The tangent of `x` radians. Greatest error seen: 1.21 ulp.
#[inline]
pub fn tan(x: f32) -> f32 {
    if is_far(x) { libm::tanf(x) } else { tan_near(x) }
}

/// The angle of the point `(x, y)`, in [-π, π], with the special cases of C's `atan2`. Greatest error seen: 1.48 ulp.
#[inline(always)]
pub fn atan2(y: f32, x: f32) -> f32 {
    trigonometric::atan2(y, x)
}

/// `√(x² + y²)`, infinite if either is. Greatest error seen: 0.51 ulp.
#[inline(always)]
pub fn hypot(x: f32, y: f32) -> f32 {
    power::hypot_single(x, y)
}

/// `ln(exp(x) + exp(y))` without overflow; NumPy's values for infinities: of two that are equal, that one. What is much
/// less than the other operand leaves it as it is, -0 included. The error is relative to the greater of 1 and the operands.
#[inline(always)]
pub fn log_add_exp(x: f32, y: f32) -> f32 {
    let greater = if x > y { x } else { y };
    // NaN for equal infinities, and then not used.
    let rise = log1p(exp(-(x - y).abs()));
    let sum = if rise == 0.0 { greater } else { greater + rise };
    let equal = x + std::f32::consts::LN_2;
    if x == y { equal } else { sum }
}

/// Returns true if `y` is outside the domain of [`pow_near`].
#[inline(always)]
pub fn pow_is_far(y: f32) -> bool {
    power::is_brief(y)
}

/// [`pow`] of an exponent that [is not far](pow_is_far); anything for others.
#[inline(always)]
pub fn pow_near(x: f32, y: f32) -> f32 {
    power::pow_single(x, y)
}

/// [`pow`] of an exponent that [is far](pow_is_far); anything for others.
#[inline(always)]
pub fn pow_far(x: f32, y: f32) -> f32 {
    power::brief(x, y)
}

/// `x` to the power of `y`, with the special cases of IEEE 754's `pow`. Bit for bit, 1, 2, 3 and 4 give `x`,
/// `x * x`, `x * x * x` and `(x * x) * (x * x)`; -1 and -2 the reciprocal and its square; 0.5, -0.5 and 1.5 the root,
/// its reciprocal, and its product with `x`. Greatest error seen: 1.89 ulp of these, 0.57 of others.
#[inline(always)]
pub fn pow(x: f32, y: f32) -> f32 {
    if pow_is_far(y) { pow_far(x, y) } else { pow_near(x, y) }
}

/// Returns true if the operands are outside the domain of [`modulo_near`] and [`floor_div_near`].
#[inline(always)]
pub fn modulo_is_far(x: f32, y: f32) -> bool {
    let few_bits = (x / y).abs() < 4_194_304.0;
    !(few_bits && y.abs() < f32::INFINITY)
}

/// [`modulo`] where it [is not far](modulo_is_far), without branches; anything elsewhere.
#[inline(always)]
pub fn modulo_near(x: f32, y: f32) -> f32 {
    power::modulo(x, y)
}

/// The remainder of floored division, with the sign of `y`: Python's `%`, but NaN where `y` is 0.
#[inline]
pub fn modulo(x: f32, y: f32) -> f32 {
    if !modulo_is_far(x, y) {
        return modulo_near(x, y);
    }
    let rest = libm::fmodf(x, y);
    let floored = if (rest < 0.0) != (y < 0.0) { rest + y } else { rest };
    if rest == 0.0 { f32::ZERO.copysign(y) } else { floored }
}

/// [`floor_div`] where it [is not far](modulo_is_far), without branches; anything elsewhere.
#[inline(always)]
pub fn floor_div_near(x: f32, y: f32) -> f32 {
    power::floor_div(x, y)
}

/// The greatest integer that is at most the exact quotient, rounded where it has more digits than the
/// format: NumPy's `//`. `-1 // inf` is -1, `inf // 2` is NaN, and `x // 0` is `x / 0`.
#[inline]
pub fn floor_div(x: f32, y: f32) -> f32 {
    if !modulo_is_far(x, y) {
        return floor_div_near(x, y);
    }
    if y == 0.0 { x / y } else { power::floor_div_by(x, y, libm::fmodf(x, y)) }
}
