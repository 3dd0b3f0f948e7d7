//! Elements as text, aligned the way NumPy prints them.

use ijk::Scalar;

/// Digits after the point, at most.
const PRECISION: usize = 8;

/// Texts of elements that are printed together, of equal widths.
pub fn align(elements: &[Scalar]) -> Vec<String> {
    match elements.first() {
        Some(x) if x.dtype().is_float() => reals(&parts(elements, |x| x.0)),
        Some(Scalar::C64(_) | Scalar::C128(_)) => complex(elements),
        _ => right(elements.iter().map(|x| plain(*x)).collect()),
    }
}

/// Text of a single element: the shortest that reads back as the same value.
pub fn plain(x: Scalar) -> String {
    match x {
        Scalar::Bool(true) => "True".into(),
        Scalar::Bool(false) => "False".into(),
        whole if whole.dtype().is_integer() => whole.to_string(),
        other => with_digit(align(&[other]).swap_remove(0)),
    }
}

/// `4.` as `4.0`, as a number alone is written.
fn with_digit(text: String) -> String {
    if text.ends_with('.') { text + "0" } else { text }
}

/// A real number: its value, and its shortest digits, which differ between `f32` and `f64`.
#[derive(Clone)]
struct Real {
    value: f64,
    /// `d.ddd` and the power of ten, without signs; the digits of 0 are `0`.
    digits: String,
    power: i32,
    /// Digits and a point, no power.
    fixed: String,
}

impl Real {
    fn new(value: f64, scientific: String, fixed: String) -> Self {
        let (digits, power) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        let digits = digits.trim_start_matches('-').to_string();
        Self { value, digits, power: power.parse().unwrap_or(0), fixed }
    }

    fn single(x: f32) -> Self {
        Self::new(x.into(), format!("{x:e}"), format!("{x}"))
    }

    /// Of an `f16` or `bf16`, whose digits are fewer than those of the same number as an `f64`.
    fn half(x: Scalar) -> Self {
        let short: f64 = x.to_string().parse().unwrap_or(x.as_f64());
        Self { value: x.as_f64(), ..Self::double(short) }
    }

    fn double(x: f64) -> Self {
        Self::new(x, format!("{x:e}"), format!("{x}"))
    }
}

/// One part of each element: 0 is the real, 1 the imaginary one.
fn parts(elements: &[Scalar], part: impl Fn((Real, Real)) -> Real) -> Vec<Real> {
    let both = |x: &Scalar| match *x {
        Scalar::F32(x) => (Real::single(x), Real::single(0.0)),
        Scalar::F64(x) => (Real::double(x), Real::double(0.0)),
        Scalar::C64(x) => (Real::single(x.re), Real::single(x.im)),
        Scalar::C128(x) => (Real::double(x.re), Real::double(x.im)),
        x @ (Scalar::F16(_) | Scalar::BF16(_)) => (Real::half(x), Real::single(0.0)),
        _ => (Real::double(0.0), Real::double(0.0)),
    };
    elements.iter().map(|x| part(both(x))).collect()
}

fn complex(elements: &[Scalar]) -> Vec<String> {
    let real = reals(&parts(elements, |x| x.0));
    let imaginary = reals(&parts(elements, |x| x.1));
    let join = |(re, im): (&String, &String)| {
        let (body, blanks) = (im.trim(), im.len() - im.trim_end().len());
        let sign = if body.starts_with('-') { "" } else { "+" };
        format!("{re}{sign}{body}j{:blanks$}", "")
    };
    let texts: Vec<_> = real.iter().zip(&imaginary).map(join).collect();
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    texts.into_iter().map(|text| format!("{text:<width$}")).collect()
}

/// Real numbers, aligned at their decimal points.
fn reals(numbers: &[Real]) -> Vec<String> {
    let magnitudes =
        || numbers.iter().map(|x| x.value.abs()).filter(|x| x.is_finite() && *x != 0.0);
    let greatest = magnitudes().fold(0.0, f64::max);
    let least = magnitudes().fold(f64::INFINITY, f64::min);
    let any = least.is_finite();
    let scientific = any && (greatest >= 1e8 || least < 1e-4 || greatest / least > 1000.0);
    let texts = if scientific { powers(numbers) } else { points(numbers) };
    right(texts)
}

/// `1.25` and `10.  `: fractions padded with blanks to one length.
fn points(numbers: &[Real]) -> Vec<String> {
    let texts: Vec<_> = numbers.iter().map(fixed).collect();
    let tail = |text: &String| text.find('.').map_or(0, |at| text.len() - at);
    let longest = texts.iter().map(tail).max().unwrap_or(0);
    let pad = |text: String| match text.contains('.') {
        true => format!("{text}{:1$}", "", longest - tail(&text)),
        false => text,
    };
    texts.into_iter().map(pad).collect()
}

/// At most [`PRECISION`] digits after the point, which is always there.
fn fixed(number: &Real) -> String {
    if !number.value.is_finite() {
        return special(number.value);
    }
    let short = number.fixed.find('.').is_none_or(|at| number.fixed.len() - at - 1 <= PRECISION);
    let text = if short { number.fixed.clone() } else { format!("{:.PRECISION$}", number.value) };
    match text.contains('.') {
        true => text.trim_end_matches('0').to_string(),
        false => text + ".",
    }
}

/// `1.25e+03`: digits padded with zeros to one length.
fn powers(numbers: &[Real]) -> Vec<String> {
    let short: Vec<_> = numbers.iter().map(shorten).collect();
    let fraction = |digits: &str| digits.len().saturating_sub(2);
    let finite = || short.iter().filter(|x| x.value.is_finite());
    let longest = finite().map(|x| fraction(&x.digits)).max().unwrap_or(0);
    let wide = if finite().any(|x| x.power.abs() >= 100) { 3 } else { 2 };
    short
        .iter()
        .map(|x| {
            if !x.value.is_finite() {
                return special(x.value);
            }
            let sign = if x.value.is_sign_negative() { "-" } else { "" };
            let point = if x.digits.contains('.') { "" } else { "." };
            let zeros = longest - fraction(&x.digits);
            let direction = if x.power < 0 { '-' } else { '+' };
            let power = x.power.abs();
            format!("{sign}{}{point}{:0<zeros$}e{direction}{power:0wide$}", x.digits, "")
        })
        .collect()
}

/// The number with at most [`PRECISION`] digits after the first.
fn shorten(number: &Real) -> Real {
    if number.digits.len() <= PRECISION + 2 {
        return number.clone();
    }
    Real::new(number.value, format!("{:.PRECISION$e}", number.value), String::new())
}

fn special(value: f64) -> String {
    match (value.is_nan(), value > 0.0) {
        (true, _) => "nan".into(),
        (_, true) => "inf".into(),
        _ => "-inf".into(),
    }
}

/// Texts aligned to the right.
fn right(texts: Vec<String>) -> Vec<String> {
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    texts.into_iter().map(|text| format!("{text:>width$}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ijk::num_complex::{Complex32 as C64, Complex64 as C128};

    fn f64s(values: &[f64]) -> String {
        align(&values.iter().map(|&x| Scalar::F64(x)).collect::<Vec<_>>()).join(" ")
    }

    /// Expected texts are those that NumPy prints between the brackets.
    #[test]
    fn like_numpy() {
        assert_eq!(f64s(&[1.0, 2.5]), "1.  2.5");
        assert_eq!(f64s(&[1.0, -10.25, 0.0]), "  1.   -10.25   0.  ");
        assert_eq!(f64s(&[0.1 + 0.2, 1.0 / 3.0]), "0.3        0.33333333");
        assert_eq!(f64s(&[1e10, 1.0]), "1.e+10 1.e+00");
        assert_eq!(f64s(&[1e-10, 1.23456789]), "1.00000000e-10 1.23456789e+00");
        assert_eq!(f64s(&[1e-300, 1.0]), "1.e-300 1.e+000");
        assert_eq!(f64s(&[1.0, f64::NAN, f64::NEG_INFINITY]), "  1.  nan -inf");
        assert_eq!(f64s(&[-0.0, 123456.0]), "    -0. 123456.");
        assert_eq!(
            align(&[Scalar::F32(0.1), Scalar::F32(16777216.0)]).join(" "),
            "1.0000000e-01 1.6777216e+07"
        );
        assert_eq!(align(&[Scalar::I32(1), Scalar::I32(-20)]).join(" "), "  1 -20");
        assert_eq!(align(&[Scalar::Bool(true), Scalar::Bool(false)]).join(" "), " True False");
        let complex = [C64::new(1.0, -2.0), C64::new(0.5, 3.25)].map(Scalar::C64);
        assert_eq!(align(&complex).join(" "), "1. -2.j   0.5+3.25j");
        assert_eq!(plain(Scalar::C128(C128::new(1.0, 2.0))), "1.+2.j");
        assert!(align(&[]).is_empty());
    }
}
