//! Exponential and logarithm to base 2, by basic arithmetic: the same bits on every system.
//!
//! The functions of the standard library differ between systems in the last place, which would change the order that
//! is found.

/// Greatest exponent: sums of a few costs stay finite.
const MAX_EXPONENT: f64 = 1000.0;

/// 2^x for x clamped to ±1000, to about 14 digits.
pub(super) fn exp2(x: f64) -> f64 {
    let x = x.clamp(-MAX_EXPONENT, MAX_EXPONENT);
    let whole = x.round();
    let t = (x - whole) * std::f64::consts::LN_2;
    // exp(t) for |t| <= ln(2) / 2, by its series.
    let mut sum = 1.0;
    for k in (1..=13).rev() {
        sum = 1.0 + sum * t / f64::from(k);
    }
    sum * f64::from_bits(((whole as i64 + 1023) as u64) << 52)
}

/// Base-2 logarithm of a positive normal number, to about 14 digits.
pub(super) fn log2(x: f64) -> f64 {
    let bits = x.clamp(f64::MIN_POSITIVE, f64::MAX).to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if m > std::f64::consts::SQRT_2 {
        m /= 2.0;
        exponent += 1;
    }
    // log(m) = 2 artanh(z), |z| < 0.172.
    let z = (m - 1.0) / (m + 1.0);
    let mut sum = 0.0;
    for k in (0..10).rev() {
        sum = sum * z * z + 1.0 / f64::from(2 * k + 1);
    }
    exponent as f64 + 2.0 * z * sum / std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_near_those_of_the_system() {
        for k in -9000..=9000 {
            let x = f64::from(k) * 0.1071;
            assert!((exp2(x) / x.exp2() - 1.0).abs() < 1e-12, "2^{x}");
            let y = x.exp2();
            assert!((log2(y) - x).abs() < 1e-12, "log {y}");
        }
        assert_eq!((exp2(0.0), exp2(10.0), log2(1024.0), log2(1.0)), (1.0, 1024.0, 10.0, 0.0));
        assert!(exp2(1e9).is_finite() && exp2(-1e9) > 0.0);
    }
}
