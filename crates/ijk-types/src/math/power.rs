//! Powers, remainders and lengths.

use super::exponential::{exp_by, exp_parts, horner};
use super::float::Float;
use super::logarithm::{ln_by, split_any};
use super::tables;

/// IEEE 754's `pow`, given the magnitude: `|x|` to the power of `y`. The first and second powers
/// are exactly `x` and `x * x`, so that a compiler may write them so.
#[inline(always)]
fn with_sign<F: Float>(x: F, y: F, magnitude: F) -> F {
    let whole = y.trunc() == y;
    let half = F::HALF * y;
    let odd = whole && half.floor() != half;
    let value = if odd { magnitude.copysign(x) } else { magnitude };
    let value = if y == F::ONE { x } else { value };
    let value = if y == F::TWO { x * x } else { value };
    let undefined = x < F::ZERO && x > -F::INFINITY && !whole;
    let value = if undefined { F::NAN } else { value };
    let endless = x.abs() == F::ONE && y.abs() == F::INFINITY;
    if endless || x == F::ONE || y == F::ZERO { F::ONE } else { value }
}

/// Returns true if a power is [a few products, quotients and roots](brief) within 2 ulp, and so is defined by them.
#[inline(always)]
pub fn is_brief<F: Float>(y: F) -> bool {
    let (three, four) = (F::TWO + F::ONE, F::TWO + F::TWO);
    let whole = y == three || y == four || y == -F::ONE || y == -F::TWO;
    whole || y == F::HALF || y == -F::HALF || y == F::ONE + F::HALF
}

/// `x` to the power of such a `y`; anything for others.
///
/// The second power of the reciprocal, since a reciprocal of the second power would be of one that
/// overflows. Roots are of `x + 0`, which is 0 for -0, and of -inf they are those of its magnitude.
#[inline(always)]
pub fn brief<F: Float>(x: F, y: F) -> F {
    let square = x * x;
    let root = (x + F::ZERO).sqrt();
    let root = if x == -F::INFINITY { F::INFINITY } else { root };
    let inverse = F::ONE / if y == -F::HALF { root } else { x };
    let value = if y == -F::TWO { inverse * inverse } else { inverse };
    let value = if y == F::TWO + F::ONE { square * x } else { value };
    let value = if y == F::TWO + F::TWO { square * square } else { value };
    let value = if y == F::HALF { root } else { value };
    if y == F::ONE + F::HALF { x.abs() * root } else { value }
}

/// The coefficients for `f32` in binary64.
const fn widen<const N: usize>(narrow: [f32; N]) -> [f64; N] {
    let mut wide = [0.0; N];
    let mut n = 0;
    while n < N {
        wide[n] = narrow[n] as f64;
        n += 1;
    }
    wide
}

const LN: [f64; tables::single::LN.len()] = widen(tables::single::LN);
const EXPM1: [f64; tables::single::EXPM1.len()] = widen(tables::single::EXPM1);

/// In binary64, whose 29 further bits are ample for the product in the exponent, by the polynomials
/// for `f32`, whose errors are below its last place.
#[inline(always)]
pub fn pow_single(x: f32, y: f32) -> f32 {
    let magnitude = exp_by(f64::from(y) * ln_by(f64::from(x.abs()), &LN), &EXPM1);
    with_sign(x, y, magnitude as f32)
}

/// The logarithm as a sum of two numbers, to about 66 bits.
#[inline(always)]
pub fn ln_double(x: f64) -> (f64, f64) {
    let (e, m) = split_any(x);
    // s + s_low = f / (2 + f), where 2 + f = g + g_low
    let f = m - 1.0;
    let g = 2.0 + f;
    let g_low = f - (g - 2.0);
    let inverse = 1.0 / g;
    let s = f * inverse;
    let s_low = ((-s).mul_add(g, f) - s * g_low) * inverse;
    // z + z_low = s²
    let z = s * s;
    let z_low = (s + s).mul_add(s_low, s.mul_add(s, -z));
    // q + q_low = 2/3 + 2/5 z + …
    let tail = z * horner(z, &tables::double::LN_TAIL);
    let [third, third_low] = tables::double::TWO_THIRDS;
    let q = third + tail;
    let q_low = (third - q) + tail + third_low;
    // u + u_low = s³ q
    let p = z * q;
    let p_low = z_low.mul_add(q, z.mul_add(q_low, z.mul_add(q, -p)));
    let u = s * p;
    let u_low = s_low.mul_add(p, s.mul_add(p_low, s.mul_add(p, -u)));
    // v + v_low = 2s + s³ q
    let twice = s + s;
    let v = twice + u;
    let v_low = ((twice - v) + u) + ((s_low + s_low) + u_low);
    // and e ln 2
    let [ln_2, ln_2_low] = tables::double::LN_2;
    let w = e * ln_2;
    let w_low = e.mul_add(ln_2_low, e.mul_add(ln_2, -w));
    let high = w + v;
    (high, ((w - high) + v) + (v_low + w_low))
}

#[inline(always)]
pub fn pow_double(x: f64, y: f64) -> f64 {
    let a = x.abs();
    let (high, low) = ln_double(a);
    let high = if a == f64::INFINITY { a } else { high };
    let high = if a == 0.0 { f64::NEG_INFINITY } else { high };
    let high = if a.is_nan() { a } else { high };
    let product = y * high;
    let product_low = y.mul_add(low, y.mul_add(high, -product));
    let inside = (-746.0..=710.0).contains(&product);
    let bounded = if product > 710.0 { 710.0 } else { product };
    let bounded = if product < -746.0 { -746.0 } else { bounded };
    let (p, _, first, second) = exp_parts(bounded, if inside { product_low } else { 0.0 });
    with_sign(x, y, p.mul_add(first, first) * second)
}

/// `x mod y` where the quotient has far fewer bits than the format.
///
/// The quotient may have been rounded up to the next integer, or to zero: then the remainder has
/// the wrong sign and is one divisor off. Every fused product is exact but where Python's own
/// addition of the divisor rounds, and rounds the same.
#[inline(always)]
pub fn modulo<F: Float>(x: F, y: F) -> F {
    let q = (x / y).floor();
    let r = (-q).mul_add(y, x);
    let wrong = (r < F::ZERO) != (y < F::ZERO);
    let floored = if wrong { r + y } else { r };
    if r == F::ZERO { F::ZERO.copysign(y) } else { floored }
}

/// The floored quotient where it has far fewer bits than the format: the quotient may have been rounded up to the next
/// integer, which the sign of the remainder shows.
#[inline(always)]
pub fn floor_div<F: Float>(x: F, y: F) -> F {
    let q = (x / y).floor();
    let r = (-q).mul_add(y, x);
    let wrong = r != F::ZERO && (r < F::ZERO) != (y < F::ZERO);
    let lower = q - F::ONE;
    // A quotient that rounding raised to one is positive: `lower` is +0, as it must be.
    if wrong { lower } else { q }
}

/// The floored quotient, given the exact remainder of the truncated one.
#[inline(always)]
pub fn floor_div_by<F: Float>(x: F, y: F, rest: F) -> F {
    let quotient = (x - rest) / y;
    let down = rest != F::ZERO && (rest < F::ZERO) != (y < F::ZERO);
    let quotient = if down { quotient - F::ONE } else { quotient };
    if quotient == F::ZERO {
        return F::ZERO.copysign(x / y);
    }
    let floor = quotient.floor();
    if quotient - floor > F::HALF { floor + F::ONE } else { floor }
}

/// In binary64, where nothing overflows.
#[inline(always)]
pub fn hypot_single(x: f32, y: f32) -> f32 {
    let (a, b) = (f64::from(x), f64::from(y));
    let length = a.mul_add(a, b * b).sqrt() as f32;
    infinite_if_either_is(x, y, length)
}

#[inline(always)]
pub fn hypot_double(x: f64, y: f64) -> f64 {
    const LARGE: f64 = f64::from_bits((1023 + 600) << 52);
    const SMALL: f64 = f64::from_bits((1023 - 600) << 52);
    let (a, b) = (x.abs(), y.abs());
    let greater = if a > b { a } else { b };
    let (down, up) = if greater > 1e150 { (SMALL, LARGE) } else { (1.0, 1.0) };
    let (down, up) = if greater < 1e-150 { (LARGE, SMALL) } else { (down, up) };
    let (a, b) = (a * down, b * down);
    infinite_if_either_is(x, y, a.mul_add(a, b * b).sqrt() * up)
}

#[inline(always)]
fn infinite_if_either_is<F: Float>(x: F, y: F, length: F) -> F {
    let infinite = x.abs() == F::INFINITY || y.abs() == F::INFINITY;
    if infinite { F::INFINITY } else { length }
}
