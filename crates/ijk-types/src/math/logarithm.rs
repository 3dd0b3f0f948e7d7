//! Logarithms.

use super::exponential::horner;
use super::float::Float;

/// `e ln 2 + ln(1 + f)` for f in [√½ - 1, √2 - 1].
///
/// With `s = f / (2 + f)`, `ln(1 + f) = 2s + s³ polynomial(s²)`, written so that f enters exactly.
#[inline(always)]
fn ln_reduced<F: Float>(e: F, f: F, polynomial: &[F]) -> F {
    let s = f / (F::TWO + f);
    let z = s * s;
    let h = F::HALF * f * f;
    let low = s.mul_add(z.mul_add(horner(z, polynomial), h), e * F::LN_2[1]);
    e.mul_add(F::LN_2[0], f - (h - low))
}

/// A positive number's (e, m, 2^-e), [`Float::split`] for subnormal numbers too.
#[inline(always)]
pub fn split_any<F: Float>(x: F) -> (F, F) {
    // A factor, and not a choice of numbers, both of which would be split.
    let (scale, less) = if x < F::MIN_POSITIVE { F::LIFT } else { (F::ONE, F::ZERO) };
    let (e, m, _) = F::split(x * scale);
    (e - less, m)
}

#[inline(always)]
pub fn ln<F: Float>(x: F) -> F {
    ln_by(x, F::LN)
}

/// `ln(x)` with `ln(1 + f) = f - f²/2 + f³ polynomial(f)`: a longer polynomial than that of [`ln_by`], but fewer
/// operations in all, and no division. For double precision, it would be too long. `ln 2` has one part: the error of the
/// other is far below the last place.
#[inline(always)]
pub fn ln_undivided<F: Float>(x: F, polynomial: &[F]) -> F {
    let (e, m) = split_any(x);
    let f = m - F::ONE;
    let z = f * f;
    let q = f.mul_add(horner(f, polynomial), -F::HALF);
    let value = e.mul_add(F::LN_2[0], z.mul_add(q, f));
    at_ends(x, x, value)
}

/// `ln(x)` by another polynomial for reduced arguments.
#[inline(always)]
pub fn ln_by<F: Float>(x: F, polynomial: &[F]) -> F {
    let (e, m) = split_any(x);
    at_ends(x, x, ln_reduced(e, m - F::ONE, polynomial))
}

/// The logarithm at infinity, zero and below, where it is not `value`; `unbounded` is the argument
/// or, for `log1p`, what stays infinite with it.
#[inline(always)]
fn at_ends<F: Float>(unbounded: F, x: F, value: F) -> F {
    let value = if unbounded == F::INFINITY { F::INFINITY } else { value };
    let value = if x == F::ZERO { -F::INFINITY } else { value };
    if x >= F::ZERO { value } else { F::NAN }
}

#[inline(always)]
pub fn log1p<F: Float>(x: F) -> F {
    let u = F::ONE + x;
    // Rounding error of u: u + lost = 1 + x exactly.
    let back = u - F::ONE;
    let lost = (F::ONE - (u - back)) + (x - back);
    let (e, m, inverse) = F::split(u);
    let f = lost.mul_add(inverse, m - F::ONE);
    let value = at_ends(x, u, ln_reduced(e, f, F::LN));
    if x == F::ZERO { x } else { value }
}
