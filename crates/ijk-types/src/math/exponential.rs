//! Exponentials and what is made of them.

use super::float::Float;

/// A polynomial, lowest coefficient first.
#[inline(always)]
pub fn horner<F: Float>(x: F, coefficients: &[F]) -> F {
    if coefficients.len() >= 12 {
        return horner_in_two(x, coefficients);
    }
    let mut sum = F::ZERO;
    for (n, &c) in coefficients.iter().rev().enumerate() {
        sum = if n == 0 { c } else { sum.mul_add(x, c) };
    }
    sum
}

/// A long polynomial as two interleaved ones in `x²`, which a processor computes side by side.
#[inline(always)]
fn horner_in_two<F: Float>(x: F, coefficients: &[F]) -> F {
    let z = x * x;
    let mut sums = [F::ZERO; 2];
    for (n, &c) in coefficients.iter().enumerate().rev() {
        let sum = &mut sums[n % 2];
        *sum = if n + 2 >= coefficients.len() { c } else { sum.mul_add(z, c) };
    }
    sums[1].mul_add(x, sums[0])
}

/// The less, and NaN for NaN.
#[inline(always)]
pub fn at_most<F: Float>(x: F, bound: F) -> F {
    if x > bound { bound } else { x }
}

#[inline(always)]
pub fn at_least<F: Float>(x: F, bound: F) -> F {
    if x < bound { bound } else { x }
}

/// `(left + low) / (a + b)` as an unevaluated sum: the quotient, and its remainder's, which counts
/// what the sum lost. For a reciprocal instead of a division.
#[inline(always)]
pub fn quotient_of_sum<F: Float>(left: F, low: F, a: F, b: F) -> (F, F) {
    let sum = a + b;
    let back = sum - a;
    let lost = (a - (sum - back)) + (b - back);
    let inverse = F::ONE / sum;
    let q = left * inverse;
    let rest = (-q).mul_add(lost, (-q).mul_add(sum, left)) + low;
    (q, rest * inverse)
}

/// `left / (a + b)` for |b| at most |a|, so that subtractions give exactly what the sum lost.
#[inline(always)]
fn quotient_of_ordered<F: Float>(left: F, a: F, b: F) -> F {
    let sum = a + b;
    let lost = b - (sum - a);
    let inverse = F::ONE / sum;
    let q = left * inverse;
    (-q).mul_add(lost, (-q).mul_add(sum, left)).mul_add(inverse, q)
}

/// `(magic + n, r)` with `x = n ln 2 + r`, |r| at most a little above half of ln 2; `magic` is
/// [`MAGIC`](Float::MAGIC), or more by a small integer.
#[inline(always)]
fn reduce<F: Float>(x: F, magic: F) -> (F, F) {
    let k = x.mul_add(F::LOG2_E, magic);
    let n = k - magic;
    (k, n.mul_add(-F::LN_2[1], n.mul_add(-F::LN_2[0], x)))
}

/// `exp(x)` by another polynomial for reduced arguments.
#[inline(always)]
pub fn exp_by<F: Float>(x: F, polynomial: &[F]) -> F {
    let (k, r) = reduce(at_least(at_most(x, F::EXP_MAX), F::EXP_MIN), F::MAGIC_OR_NONE);
    let (a, b) = F::power_of_two_or_none(k);
    (r * r).mul_add(horner(r, polynomial), r).mul_add(a, a) * b
}

/// `exp(r) - 1` for a reduced argument.
#[inline(always)]
fn expm1_reduced<F: Float>(r: F) -> F {
    (r * r).mul_add(horner(r, F::EXPM1), r)
}

/// `exp(x + low) = (1 + p + p_low) a b`, with p reduced and a, b powers of two, as (p, p_low, a, b).
#[inline(always)]
pub fn exp_parts<F: Float>(x: F, low: F) -> (F, F, F, F) {
    let (k, high) = reduce(x, F::MAGIC);
    let (a, b) = F::power_of_two_pair(k);
    let r = high + low;
    let curve = horner(r, F::EXPM1);
    let p = (r * r).mul_add(curve, r);
    let p_low = (r * r).mul_add(curve, r - p) + ((high - r) + low);
    (p, p_low, a, b)
}

#[inline(always)]
pub fn exp<F: Float>(x: F) -> F {
    exp_by(x, F::EXPM1)
}

/// Half of `exp(x)`, for `x` not negative.
#[inline(always)]
fn half_exp<F: Float>(x: F) -> F {
    let (k, r) = reduce(at_most(x, F::SINH_MAX), F::MAGIC);
    let (a, b) = F::power_of_two_pair(k - F::ONE);
    expm1_reduced(r).mul_add(a, a) * b
}

#[inline(always)]
pub fn expm1<F: Float>(x: F) -> F {
    let (k, r) = reduce(at_least(at_most(x, F::EXP_MAX), F::EXPM1_MIN), F::MAGIC);
    let p = expm1_reduced(r);
    // 2^n (1 + p) - 1 by halves, so that the greatest results do not overflow on the way.
    let half = F::power_of_two(k - F::ONE);
    let scaled = F::TWO * p.mul_add(half, half - F::HALF);
    (if k == F::MAGIC { p } else { scaled }).copysign(x)
}

#[inline(always)]
pub fn tanh<F: Float>(x: F) -> F {
    let t = expm1(-F::TWO * x.abs());
    quotient_of_ordered(-t, F::TWO, t).copysign(x)
}

#[inline(always)]
pub fn sigmoid<F: Float>(x: F) -> F {
    let e = exp(-x.abs());
    quotient_of_ordered(if x < F::ZERO { e } else { F::ONE }, F::ONE, e)
}

#[inline(always)]
pub fn sinh<F: Float>(x: F) -> F {
    let z = x * x;
    let small = (x * z).mul_add(horner(z, F::SINH), x);
    let half = half_exp(x.abs());
    let large = (half - F::HALF * F::HALF / half).copysign(x);
    if x.abs() < F::ONE { small } else { large }
}

#[inline(always)]
pub fn cosh<F: Float>(x: F) -> F {
    let half = half_exp(x.abs());
    half + F::HALF * F::HALF / half
}
