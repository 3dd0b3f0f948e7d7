//! Complex functions, computed in binary64 and rounded for `Complex32`.
//!
//! Branch cuts and signs of zeros are those of C99's Annex G where it defines them for finite
//! numbers; none overflows where its value does not.

use super::double;
use crate::{C64, C128};

/// A function of [`C128`] as one of [`C64`].
#[inline]
pub fn lift_single(f: impl Fn(C128) -> C128, z: C64) -> C64 {
    narrow(f(widen(z)))
}

/// A function of two [`C128`] as one of [`C64`].
#[inline]
pub fn lift2_single(f: impl Fn(C128, C128) -> C128, z: C64, w: C64) -> C64 {
    narrow(f(widen(z), widen(w)))
}

/// A function of [`C128`] itself.
#[inline]
pub fn lift_double(f: impl Fn(C128) -> C128, z: C128) -> C128 {
    f(z)
}

/// A function of two [`C128`] itself.
#[inline]
pub fn lift2_double(f: impl Fn(C128, C128) -> C128, z: C128, w: C128) -> C128 {
    f(z, w)
}

#[inline(always)]
fn widen(z: C64) -> C128 {
    C128::new(z.re.into(), z.im.into())
}

#[inline(always)]
fn narrow(z: C128) -> C64 {
    C64::new(z.re as f32, z.im as f32)
}

/// The quotient of two [`C64`], in binary64, where nothing overflows.
#[inline(always)]
pub fn div_single(z: C64, w: C64) -> C64 {
    narrow(quotient(widen(z), widen(w)))
}

/// `z / w`, with both scaled by powers of two so that no intermediate overflows or underflows
/// needlessly.
#[inline]
pub fn div(z: C128, w: C128) -> C128 {
    let (a, up) = balance(z);
    let (b, down) = balance(w);
    let q = quotient(a, b);
    let shift = |x| libm::ldexp(x, up - down);
    C128::new(shift(q.re), shift(q.im))
}

/// The textbook quotient; by zero, each component's own.
#[inline(always)]
fn quotient(z: C128, w: C128) -> C128 {
    let norm = w.re * w.re + w.im * w.im;
    if norm == 0.0 {
        return C128::new(z.re / norm, z.im / norm);
    }
    C128::new((z.re * w.re + z.im * w.im) / norm, (z.im * w.re - z.re * w.im) / norm)
}

/// `z` scaled to a greatest component in [1, 2), and the exponent taken out.
#[inline]
fn balance(z: C128) -> (C128, i32) {
    let greatest = z.re.abs().max(z.im.abs());
    if greatest == 0.0 || !greatest.is_finite() {
        return (z, 0);
    }
    let exponent = libm::ilogb(greatest);
    let shift = |x| libm::ldexp(x, -exponent);
    (C128::new(shift(z.re), shift(z.im)), exponent)
}

/// `e` to the power of `z`.
#[inline]
pub fn exp(z: C128) -> C128 {
    polar(z.re, z.im)
}

/// `exp(log_radius)` at `angle`; real for an angle of 0.
#[inline]
fn polar(log_radius: f64, angle: f64) -> C128 {
    if angle == 0.0 {
        return C128::new(double::exp(log_radius), angle);
    }
    let (re, im) = (double::cos(angle), double::sin(angle));
    if log_radius > 709.0 {
        let half = double::exp(log_radius * 0.5);
        return C128::new(half * re * half, half * im * half);
    }
    let radius = double::exp(log_radius);
    C128::new(scale(radius, re), scale(radius, im))
}

/// The product, but 0 for a factor 0 (`exp(-inf + i inf)` is 0).
#[inline(always)]
fn scale(radius: f64, x: f64) -> f64 {
    if radius == 0.0 { 0.0f64.copysign(x) } else { radius * x }
}

/// The principal natural logarithm: imaginary part in [-π, π].
#[inline]
pub fn ln(z: C128) -> C128 {
    C128::new(ln_modulus(z), double::atan2(z.im, z.re))
}

/// `ln |z|`; near the unit circle from `|z|² - 1`, without cancellation.
#[inline]
fn ln_modulus(z: C128) -> f64 {
    let (a, b) = (z.re.abs(), z.im.abs());
    let (big, small) = if a < b { (b, a) } else { (a, b) };
    if big > 0.5 && big < 2.0 && small < 2.0 {
        let excess = (big - 1.0) * (big + 1.0);
        return 0.5 * double::log1p(small.mul_add(small, excess));
    }
    let (scaled, exponent) = balance(z);
    let ln = double::ln(double::hypot(scaled.re, scaled.im));
    f64::from(exponent).mul_add(std::f64::consts::LN_2, ln)
}

/// The logarithm of `w` to the base `z`.
#[inline]
pub fn log(z: C128, w: C128) -> C128 {
    div(ln(w), ln(z))
}

/// The principal square root: real part not negative.
#[inline]
pub fn sqrt(z: C128) -> C128 {
    if z.re == 0.0 && z.im == 0.0 {
        return C128::new(0.0, z.im);
    }
    if z.im.is_infinite() {
        return C128::new(f64::INFINITY, z.im);
    }
    if z.re.is_infinite() && !z.im.is_nan() {
        return if z.re > 0.0 {
            C128::new(z.re, 0.0f64.copysign(z.im))
        } else {
            C128::new(0.0, f64::INFINITY.copysign(z.im))
        };
    }
    let (scaled, exponent) = balance(z);
    let (scaled, exponent) =
        if exponent % 2 == 0 { (scaled, exponent) } else { (scaled * 2.0, exponent - 1) };
    let root = sqrt_balanced(scaled);
    let shift = |x| libm::ldexp(x, exponent / 2);
    C128::new(shift(root.re), shift(root.im))
}

#[inline]
fn sqrt_balanced(z: C128) -> C128 {
    let t = (0.5 * (double::hypot(z.re, z.im) + z.re.abs())).sqrt();
    let other = 0.5 * z.im / t;
    if z.re >= 0.0 { C128::new(t, other) } else { C128::new(other.abs(), t.copysign(z.im)) }
}

/// Hyperbolic cosine.
#[inline]
pub fn cosh(z: C128) -> C128 {
    if z.im == 0.0 {
        return C128::new(double::cosh(z.re), z.im * z.re.signum());
    }
    if z.re.abs() > 709.0 {
        let half = polar(z.re.abs() - std::f64::consts::LN_2, z.im);
        return C128::new(half.re, half.im * z.re.signum());
    }
    C128::new(double::cosh(z.re) * double::cos(z.im), double::sinh(z.re) * double::sin(z.im))
}

/// Hyperbolic sine.
#[inline]
pub fn sinh(z: C128) -> C128 {
    if z.im == 0.0 {
        return C128::new(double::sinh(z.re), z.im);
    }
    if z.re.abs() > 709.0 {
        let half = polar(z.re.abs() - std::f64::consts::LN_2, z.im);
        return C128::new(half.re * z.re.signum(), half.im);
    }
    C128::new(double::sinh(z.re) * double::cos(z.im), double::cosh(z.re) * double::sin(z.im))
}

/// Hyperbolic tangent.
#[inline]
pub fn tanh(z: C128) -> C128 {
    if z.im == 0.0 {
        return C128::new(double::tanh(z.re), z.im);
    }
    if z.re.abs() > 20.0 {
        let tail = double::exp(-2.0 * z.re.abs());
        let im = 4.0 * double::sin(z.im) * double::cos(z.im) * tail;
        return C128::new(z.re.signum(), im);
    }
    let t = double::tan(z.im);
    let secant = t.mul_add(t, 1.0);
    let s = double::sinh(z.re);
    let c = s.mul_add(s, 1.0).sqrt();
    if t.is_infinite() {
        return C128::new(c / s, 1.0 / t);
    }
    let norm = (secant * s).mul_add(s, 1.0);
    C128::new(secant * c * s / norm, t / norm)
}

/// `-i f(iz)`: sine from hyperbolic sine, tangent from hyperbolic tangent.
#[inline(always)]
fn rotate(f: impl Fn(C128) -> C128, z: C128) -> C128 {
    let w = f(C128::new(-z.im, z.re));
    C128::new(w.im, -w.re)
}

/// Sine.
#[inline]
pub fn sin(z: C128) -> C128 {
    rotate(sinh, z)
}

/// Cosine.
#[inline]
pub fn cos(z: C128) -> C128 {
    cosh(C128::new(-z.im, z.re))
}

/// Tangent.
#[inline]
pub fn tan(z: C128) -> C128 {
    rotate(tanh, z)
}

/// `z` to the power of `w`: by repeated multiplication where `w` is an integer of at most 64 in
/// modulus, else `exp(w ln z)`. `z^0` is 1 and `0^w` is 0 where `re w > 0`.
#[inline]
pub fn pow(z: C128, w: C128) -> C128 {
    let whole = w.re as i32;
    if w.im == 0.0 && f64::from(whole) == w.re && whole.abs() <= 64 {
        return integer_power(z, whole);
    }
    if z.re == 0.0 && z.im == 0.0 && w.re > 0.0 {
        return C128::new(0.0, 0.0);
    }
    let l = ln(z);
    let log_radius = w.re.mul_add(l.re, -(w.im * l.im));
    let angle = w.re.mul_add(l.im, w.im * l.re);
    polar(log_radius, angle)
}

fn integer_power(z: C128, n: i32) -> C128 {
    let (mut result, mut square, mut rest) = (C128::new(1.0, 0.0), z, n.unsigned_abs());
    while rest > 0 {
        if rest & 1 == 1 {
            result *= square;
        }
        square *= square;
        rest >>= 1;
    }
    if n < 0 { div(C128::new(1.0, 0.0), result) } else { result }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> impl Iterator<Item = C128> {
        let axis = [-3.5, -1.0, -0.3, 0.0, 1e-9, 0.25, 1.0, 2.75];
        axis.into_iter().flat_map(move |re| axis.map(|im| C128::new(re, im)))
    }

    fn close(a: C128, b: C128) -> bool {
        (a - b).norm() <= 4e-15 * b.norm().max(1e-300)
    }

    #[test]
    fn functions_agree_with_their_definitions() {
        let i = C128::new(0.0, 1.0);
        for z in grid() {
            assert!(close(exp(z), C128::from_polar(z.re.exp(), z.im)), "exp {z}");
            assert!(close(exp(ln(z)), z) || z.norm() == 0.0, "ln {z}");
            assert!(close(sqrt(z) * sqrt(z), z) && sqrt(z).re >= 0.0, "sqrt {z}");
            let difference = cosh(z) * cosh(z) - sinh(z) * sinh(z);
            assert!((difference - 1.0).norm() <= 1e-12, "cosh² - sinh² {z}");
            let sum = sinh(z) + cosh(z) - exp(z);
            assert!(sum.norm() <= 4e-15 * (sinh(z).norm() + cosh(z).norm()), "sinh + cosh {z}");
            assert!(close(tanh(z) * cosh(z), sinh(z)), "tanh {z}");
            let sum = cos(z) + i * sin(z) - exp(i * z);
            assert!(sum.norm() <= 4e-15 * (sin(z).norm() + cos(z).norm()), "cos + i sin {z}");
            assert!(close(tan(z) * cos(z), sin(z)), "tan {z}");
        }
    }

    #[test]
    fn whole_powers_are_products_and_others_go_through_the_logarithm() {
        let z = C128::new(1.5, -2.0);
        assert_eq!(pow(z, C128::new(3.0, 0.0)), z * z * z);
        assert!(close(pow(z, C128::new(-2.0, 0.0)) * z * z, C128::new(1.0, 0.0)));
        assert!(close(pow(z, C128::new(0.5, 0.0)), sqrt(z)));
        assert!(close(ln(pow(z, C128::new(0.1, 0.2))), ln(z) * C128::new(0.1, 0.2)));
        let zero = C128::new(0.0, 0.0);
        assert_eq!(pow(zero, zero), C128::new(1.0, 0.0));
        assert_eq!(pow(zero, C128::new(0.5, 3.0)), zero);
    }

    #[test]
    fn nothing_overflows_needlessly() {
        let (huge, tiny) = (C128::new(1e308, 1e308), C128::new(3e-310, 4e-310));
        assert!(close(div(huge, huge), C128::new(1.0, 0.0)));
        assert!(close(div(tiny, tiny), C128::new(1.0, 0.0)));
        assert!(close(sqrt(huge) / 1e154, C128::new(1.09868411346781, 0.45508986056222733)));
        assert!(sqrt(tiny).re > 1.5e-155 && ln(huge).re > 709.0);
        assert!(exp(C128::new(709.9, 1.5)).re.is_finite());
        let single = div_single(C64::new(1e38, 1e38), C64::new(1e38, 1e38));
        assert_eq!(single, C64::new(1.0, 0.0));
        assert!(div(C128::new(1.0, 0.0), C128::new(0.0, 0.0)).re.is_infinite());
    }

    #[test]
    fn logarithms_near_the_unit_circle_keep_their_digits() {
        let z = C128::new(1.0, 1e-9);
        assert!((ln(z).re - 5e-19).abs() < 1e-33);
    }
}
