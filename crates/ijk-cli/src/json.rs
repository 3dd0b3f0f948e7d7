//! Output of `--json`.

use ijk::{Scalar, visible};
use serde_json::{Value, json};
use std::borrow::Cow;

/// A JSON value on one line; characters that would control a terminal are escaped, as JSON requires of control
/// characters.
pub fn text(value: &Value) -> String {
    let text = value.to_string();
    if matches!(visible(&text), Cow::Borrowed(_)) {
        return text + "\n";
    }
    let mut out = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        match visible(c.encode_utf8(&mut [0; 4])) {
            Cow::Owned(_) => out.push_str(&format!("\\u{:04x}", c as u32)),
            Cow::Borrowed(_) => out.push(c),
        }
    }
    out + "\n"
}

/// An element: complex numbers are pairs; infinities and NaN, which JSON lacks, are the strings `inf`, `-inf`, `nan`.
pub fn scalar(x: Scalar) -> Value {
    match x {
        Scalar::Bool(x) => json!(x),
        Scalar::I32(x) => json!(x),
        Scalar::I64(x) => json!(x),
        Scalar::U8(x) => json!(x),
        Scalar::U16(x) => json!(x),
        Scalar::U32(x) => json!(x),
        Scalar::U64(x) => json!(x),
        Scalar::I8(x) => json!(x),
        Scalar::I16(x) => json!(x),
        Scalar::F16(_) | Scalar::BF16(_) => real(x.as_f64(), &x.to_string()),
        Scalar::F32(x) => real(x.into(), &format!("{x:e}")),
        Scalar::F64(x) => real(x, &format!("{x:e}")),
        Scalar::C64(x) => json!([scalar(Scalar::F32(x.re)), scalar(Scalar::F32(x.im))]),
        Scalar::C128(x) => json!([scalar(Scalar::F64(x.re)), scalar(Scalar::F64(x.im))]),
    }
}

/// A number by its shortest digits, which for an `f32` are fewer than its value has as an `f64`.
fn real(value: f64, shortest: &str) -> Value {
    match (value.is_nan(), value.is_infinite(), value > 0.0) {
        (true, ..) => json!("nan"),
        (_, true, true) => json!("inf"),
        (_, true, false) => json!("-inf"),
        _ => json!(shortest.parse::<f64>().unwrap_or(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ijk::num_complex::Complex64;

    #[test]
    fn scalars() {
        let values = [
            (Scalar::F32(0.1), "0.1"),
            (Scalar::F64(f64::NEG_INFINITY), "\"-inf\""),
            (Scalar::F64(f64::NAN), "\"nan\""),
            (Scalar::I64(i64::MIN), "-9223372036854775808"),
            (Scalar::Bool(true), "true"),
            (Scalar::C128(Complex64::new(1.0, -2.5)), "[1.0,-2.5]"),
        ];
        for (value, text) in values {
            assert_eq!(scalar(value).to_string(), text);
        }
    }

    #[test]
    fn names_steer_no_terminal() {
        let value = json!({ "a\u{202e}\x1b\u{9b}": "\r\n\u{7f}" });
        let shown = text(&value);
        assert!(shown.trim_end().chars().all(|c| (' '..'\x7f').contains(&c)), "{shown:?}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
    }
}
