//! Printing of scalars as NumPy prints them: the shortest digits that read back as the same value.

use super::Scalar;
use crate::Ordered;
use std::fmt;

impl fmt::Display for Scalar {
    /// `1`, `0.5`, `1e-07`, `nan`, `-inf`, `(1.0+2.0j)`, `true`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match *self {
            Self::Bool(x) => x.to_string(),
            Self::I32(x) => x.to_string(),
            Self::I64(x) => x.to_string(),
            Self::F32(x) => float(x, x.into()),
            Self::F64(x) => float(x, x),
            Self::U8(x) => x.to_string(),
            Self::U16(x) => x.to_string(),
            Self::U32(x) => x.to_string(),
            Self::U64(x) => x.to_string(),
            Self::I8(x) => x.to_string(),
            Self::I16(x) => x.to_string(),
            Self::F16(x) => half(x),
            Self::BF16(x) => half(x),
            Self::C64(z) => complex(float(z.re, z.re.into()), float(z.im, z.im.into())),
            Self::C128(z) => complex(float(z.re, z.re), float(z.im, z.im)),
        })
    }
}

/// Digits of `x`, whose value is `value`: without exponent from 1e-4 to below 1e16.
fn float(x: impl fmt::Display + fmt::LowerExp, value: f64) -> String {
    if !value.is_finite() {
        return format!("{value}").to_lowercase();
    }
    if value == 0.0 || (1e-4..1e16).contains(&value.abs()) {
        let digits = x.to_string();
        return if digits.contains('.') { digits } else { digits + ".0" };
    }
    let text = format!("{x:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// The fewest digits that read back as `x`.
fn half<T: Ordered>(x: T) -> String {
    let value = x.to_f64();
    let digits = |count: usize| format!("{value:.count$e}").parse().unwrap_or(value);
    let short = (0..9).map(digits).find(|&short: &f64| short.cast::<T>().same_bits(x));
    let short = short.unwrap_or(value);
    float(short, short)
}

fn complex(re: String, im: String) -> String {
    let sign = if im.starts_with('-') { "" } else { "+" };
    format!("({re}{sign}{im}j)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{C64, DType, Literal};

    #[test]
    fn scalars_print_as_numpy_prints_them() {
        for (x, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e-4, "0.0001"),
            (1.5e-5, "1.5e-05"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (-2.5e300, "-2.5e+300"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(Scalar::F64(x).to_string(), text);
        }
        assert_eq!(Scalar::F32(0.1).to_string(), "0.1");
        for t in [DType::F16, DType::BF16] {
            let print = |x| Literal::Float(x).to_scalar(t).unwrap().to_string();
            assert_eq!([0.1, -0.0, 2.5, f64::NAN].map(print), ["0.1", "-0.0", "2.5", "nan"]);
        }
        assert_eq!(Scalar::C64(C64::new(1.0, -2.5)).to_string(), "(1.0-2.5j)");
        assert_eq!(format!("{:>5}|{:<6}|", Scalar::I32(-7), Scalar::Bool(true)), "   -7|true  |");
    }
}
