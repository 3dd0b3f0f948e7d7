//! Sine, cosine, tangent of arguments that are not huge; angles.

use super::exponential::horner;
use super::float::Float;

/// `(MAGIC + n, r)` with `x = n π/2 + r`, |r| at most a little above π/4.
///
/// The first two products are exact sums with what precedes them, as long as n fits the format.
#[inline(always)]
fn reduce<F: Float>(x: F) -> (F, F) {
    let k = x.mul_add(F::TWO_OVER_PI, F::MAGIC);
    let n = k - F::MAGIC;
    let r = n.mul_add(-F::HALF_PI[1], n.mul_add(-F::HALF_PI[0], x));
    (k, n.mul_add(-F::HALF_PI[2], r))
}

#[inline(always)]
fn sin_reduced<F: Float>(r: F) -> F {
    let z = r * r;
    (z * r).mul_add(horner(z, F::SIN), r)
}

#[inline(always)]
fn cos_reduced<F: Float>(r: F) -> F {
    let z = r * r;
    let h = F::HALF * z;
    let c = F::ONE - h;
    c + (z * z).mul_add(horner(z, F::COS), (F::ONE - c) - h)
}

#[inline(always)]
pub fn sin<F: Float>(x: F) -> F {
    let (k, r) = reduce(x);
    let value = if F::bit(k, 0) { cos_reduced(r) } else { sin_reduced(r) };
    if x == F::ZERO { x } else { F::negate_by_bit_1(value, k) }
}

#[inline(always)]
pub fn cos<F: Float>(x: F) -> F {
    let (k, r) = reduce(x);
    let value = if F::bit(k, 0) { sin_reduced(r) } else { cos_reduced(r) };
    F::negate_by_bit_1(value, k + F::ONE)
}

#[inline(always)]
pub fn tan<F: Float>(x: F) -> F {
    let (k, r) = reduce(x);
    let (s, c) = (sin_reduced(r), cos_reduced(r));
    let odd = F::bit(k, 0);
    let value = (if odd { -c } else { s }) / (if odd { s } else { c });
    if x == F::ZERO { x } else { value }
}

#[inline(always)]
pub fn atan2<F: Float>(y: F, x: F) -> F {
    let (ax, ay) = (x.abs(), y.abs());
    let steep = ay > ax;
    let (less, greater) = if steep { (ax, ay) } else { (ay, ax) };
    let t = less / greater;
    let t = if greater == F::ZERO { F::ZERO } else { t };
    let t = if less == F::INFINITY { F::ONE } else { t };
    let z = t * t;
    let a = (t * z).mul_add(horner(z, F::ATAN), t);
    let left = x.is_sign_negative();
    let a = if steep != left { -a } else { a };
    let flat = if left { F::PI } else { [F::ZERO; 2] };
    let base = if steep { [F::HALF_PI[0], F::HALF_PI[1]] } else { flat };
    (base[0] + (base[1] + a)).copysign(y)
}
