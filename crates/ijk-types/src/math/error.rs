//! The error function and the Gaussian error linear unit.

use super::exponential::{at_most, exp_parts, horner, quotient_of_sum};
use super::float::Float;

/// `scale exp(t²/2) 2 Φ(-t)` for `t` not negative, as an unevaluated sum.
#[inline(always)]
fn scaled_tail<F: Float>(scale: F, t: F) -> (F, F) {
    let u = (t - F::TAIL_CENTRE) / (t + F::TAIL_CENTRE);
    let p = horner(u, F::TAIL);
    let value = scale.mul_add(p, scale);
    quotient_of_sum(value, scale.mul_add(p, scale - value), F::ONE, t)
}

/// `x²` as an unevaluated sum.
#[inline(always)]
fn square<F: Float>(x: F) -> (F, F) {
    let high = x * x;
    (high, x.mul_add(x, -high))
}

#[inline(always)]
pub fn erf<F: Float>(x: F) -> F {
    let small = x.mul_add(horner(x * x, F::ERF), x);
    let y = at_most(x.abs(), F::ERF_MAX);
    let (high, low) = square(y);
    let (p, _, a, b) = exp_parts(-high, -low);
    let (tail, _) = scaled_tail(F::ONE, y * F::SQRT_2);
    let large = (F::ONE - p.mul_add(tail, tail) * a * b).copysign(x);
    if x.abs() < F::ONE { small } else { large }
}

/// `x Φ(x)`. For negative x from the tail of Φ, where `1 + erf` would cancel; scaled by the powers
/// of two last, so that subnormal results round once.
#[inline(always)]
pub fn gelu<F: Float>(x: F) -> F {
    let y = at_most(x.abs(), F::GELU_MAX);
    let (high, low) = square(y);
    let (p, p_low, a, b) = exp_parts(-(F::HALF * high), -(F::HALF * low));
    let (tail, tail_low) = scaled_tail(F::HALF * y, y);
    let below = (tail + p.mul_add(tail, p_low.mul_add(tail, tail_low))) * a * b;
    let large = if x < F::ZERO { -below } else { x - below };
    let small = x * x.mul_add(horner(high, F::NORMAL), F::HALF);
    if y < F::GELU_SMALL { small } else { large }
}
