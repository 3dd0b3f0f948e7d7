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

/// The same with r as an unevaluated sum.
#[inline(always)]
fn reduce_double<F: Float>(x: F) -> (F, F, F) {
    let k = x.mul_add(F::TWO_OVER_PI, F::MAGIC);
    let n = k - F::MAGIC;
    let exact = n.mul_add(-F::HALF_PI[0], x);
    let product = n * -F::HALF_PI[1];
    let product_low = n.mul_add(-F::HALF_PI[1], -product);
    let near = exact + product;
    let back = near - exact;
    let lost = (exact - (near - back)) + (product - back);
    let low = n.mul_add(-F::HALF_PI[2], lost + product_low);
    let r = near + low;
    (k, r, (near - r) + low)
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

/// Sine over cosine, each as an unevaluated sum, corrected by the remainder of the division.
#[inline(always)]
pub fn tan<F: Float>(x: F) -> F {
    let (k, r, low) = reduce_double(x);
    let z = r * r;
    let cubic = (z * r) * horner(z, F::SIN);
    let s = r + cubic;
    let h = F::HALF * z;
    let c = F::ONE - h;
    let quartic = (z * z).mul_add(horner(z, F::COS), (F::ONE - c) - h);
    let cosine = c + quartic;
    let s_low = low.mul_add(cosine, (r - s) + cubic);
    let c_low = (-low).mul_add(s, (c - cosine) + quartic);
    let odd = F::bit(k, 0);
    let (above, above_low) = if odd { (-cosine, -c_low) } else { (s, s_low) };
    let (below, below_low) = if odd { (s, s_low) } else { (cosine, c_low) };
    let inverse = F::ONE / below;
    let q = above * inverse;
    let rest = (-q).mul_add(below_low, (-q).mul_add(below, above)) + above_low;
    let value = rest.mul_add(inverse, q);
    if x == F::ZERO { x } else { value }
}

#[inline(always)]
pub fn atan2<F: Float>(y: F, x: F) -> F {
    let (ax, ay) = (x.abs(), y.abs());
    let steep = ay > ax;
    let (less, greater) = if steep { (ax, ay) } else { (ay, ax) };
    let t = less / greater;
    let t = if greater == F::ZERO { F::ZERO } else { t };
    let both_infinite = less == F::INFINITY && greater == F::INFINITY;
    let t = if both_infinite { F::ONE } else { t };
    let z = t * t;
    let a = (t * z).mul_add(horner(z, F::ATAN), t);
    let left = x.is_sign_negative();
    let a = if steep != left { -a } else { a };
    let flat = if left { F::PI } else { [F::ZERO; 2] };
    let base = if steep { [F::HALF_PI[0], F::HALF_PI[1]] } else { flat };
    let angle = (base[0] + (base[1] + a)).copysign(y);
    // Comparisons above take NaN for a number.
    if x.is_nan() || y.is_nan() { x + y } else { angle }
}
