//! Fill values, as the specification spells them and as others do.

use super::error::ZarrError;
use ijk_types::{C64, C128, DType, Monoid, Ordered, Scalar, bf16, f16, scalar};
use serde_json::Value;

/// The fill value of elements of a type. `null` is 0, as it is for zarr-python.
pub(super) fn parse(value: &Value, dtype: DType) -> Result<Scalar, ZarrError> {
    if value.is_null() {
        return Ok(Scalar::zero(dtype));
    }
    let fill = match dtype {
        DType::Bool => truth(value).map(Scalar::Bool),
        DType::U8 => integer(value).and_then(|n| n.try_into().ok()).map(Scalar::U8),
        DType::U16 => integer(value).and_then(|n| n.try_into().ok()).map(Scalar::U16),
        DType::U32 => integer(value).and_then(|n| n.try_into().ok()).map(Scalar::U32),
        DType::U64 => integer(value).and_then(|n| n.try_into().ok()).map(Scalar::U64),
        DType::I8 => integer(value).and_then(|n| n.try_into().ok()).map(Scalar::I8),
        DType::I16 => integer(value).and_then(|n| n.try_into().ok()).map(Scalar::I16),
        DType::I32 => integer(value).and_then(|n| n.try_into().ok()).map(Scalar::I32),
        DType::I64 => integer(value).and_then(|n| n.try_into().ok()).map(Scalar::I64),
        DType::F16 => half(value, f16::from_bits).map(Scalar::F16),
        DType::BF16 => half(value, bf16::from_bits).map(Scalar::BF16),
        DType::F32 => single(value).map(Scalar::F32),
        DType::F64 => double(value).map(Scalar::F64),
        DType::C64 => parts(value, single).map(|[re, im]| Scalar::C64(C64::new(re, im))),
        DType::C128 => parts(value, double).map(|[re, im]| Scalar::C128(C128::new(re, im))),
    };
    fill.ok_or_else(|| ZarrError::Fill {
        value: value.to_string(),
        of: dtype,
        allowed: allowed(dtype),
    })
}

/// Accepted spellings, for messages.
fn allowed(dtype: DType) -> String {
    let bits = |bits: &str| {
        format!(r#"numbers, "NaN", "Infinity", "-Infinity", bits such as "0x{bits}", and null"#)
    };
    let whole = |[least, greatest]: [Scalar; 2]| {
        format!("whole numbers from {least} to {greatest}, and null")
    };
    match dtype {
        DType::Bool => "true, false, 0, 1 and null".into(),
        DType::F16 => bits("7e00"),
        DType::BF16 => bits("7fc0"),
        DType::F32 => bits("7fc00000"),
        DType::F64 => bits("7ff8000000000000"),
        DType::C64 | DType::C128 => {
            r#"pairs such as [0.0, "NaN"], of what floating-point numbers may be, and null"#.into()
        }
        _ => whole([Monoid::Max, Monoid::Min].map(|m| scalar::identity(m, dtype))),
    }
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => match integer(value)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        },
    }
}

/// A whole number, which may be spelled as another one or as text.
fn integer(value: &Value) -> Option<i128> {
    let whole = |x: f64| (x.fract() == 0.0 && x.abs() <= 2f64.powi(64)).then_some(x as i128);
    match value {
        Value::Number(number) if number.is_i64() => number.as_i64().map(i128::from),
        Value::Number(number) if number.is_u64() => number.as_u64().map(i128::from),
        Value::Number(number) => number.as_f64().and_then(whole),
        Value::String(text) => match text.trim().parse() {
            Ok(number) => Some(number),
            Err(_) if text.bytes().all(|c| c.is_ascii_digit() || b" +-".contains(&c)) => None,
            Err(_) => text.trim().parse().ok().and_then(whole),
        },
        _ => None,
    }
}

fn half<T: Ordered>(value: &Value, of_bits: impl Fn(u16) -> T) -> Option<T> {
    match bits(value, 4) {
        Some(bits) => Some(of_bits(bits? as u16)),
        None => number(value).map(Ordered::cast),
    }
}

fn single(value: &Value) -> Option<f32> {
    match bits(value, 8) {
        Some(bits) => Some(f32::from_bits(bits? as u32)),
        None => Some(number(value)? as f32),
    }
}

fn double(value: &Value) -> Option<f64> {
    match bits(value, 16) {
        Some(bits) => Some(f64::from_bits(bits?)),
        None => number(value),
    }
}

/// A number, or text that spells one, NaN or an infinity.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// The bits of `0x` and hexadecimal digits, if a value begins so.
fn bits(value: &Value, digits: usize) -> Option<Option<u64>> {
    let text = value.as_str()?.strip_prefix("0x")?;
    let are_bits = text.len() == digits && text.bytes().all(|c| c.is_ascii_hexdigit());
    Some(u64::from_str_radix(text, 16).ok().filter(|_| are_bits))
}

/// Real and imaginary part; a number alone is real.
fn parts<T: Default>(value: &Value, part: impl Fn(&Value) -> Option<T>) -> Option<[T; 2]> {
    match value {
        Value::Array(parts) => match &parts[..] {
            [re, im] => Some([part(re)?, part(im)?]),
            _ => None,
        },
        _ => Some([part(value)?, T::default()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn others_spellings_are_read() {
        let f32_bits = |bits| Scalar::F32(f32::from_bits(bits));
        let c64 = |re, im| Scalar::C64(C64::new(re, im));
        let cases = [
            (json!(0), Scalar::Bool(false)),
            (json!(1.0), Scalar::Bool(true)),
            (json!("true"), Scalar::Bool(true)),
            (json!("0"), Scalar::Bool(false)),
            (json!(null), Scalar::Bool(false)),
            (json!(0.0), Scalar::I32(0)),
            (json!("-7"), Scalar::I32(-7)),
            (json!("3.0"), Scalar::I32(3)),
            (json!(i64::MIN), Scalar::I64(i64::MIN)),
            (json!("9223372036854775807"), Scalar::I64(i64::MAX)),
            (json!(-(2f64.powi(63))), Scalar::I64(i64::MIN)),
            (json!(null), Scalar::I64(0)),
            (json!(u64::MAX), Scalar::U64(u64::MAX)),
            (json!("255"), Scalar::U8(255)),
            (json!(-128), Scalar::I8(-128)),
            (json!(0.1), Scalar::F16(f16::from_f32(0.1))),
            (json!("0x3f80"), Scalar::BF16(bf16::ONE)),
            (json!(0.1), Scalar::F32(0.1)),
            (json!("NaN"), f32_bits(0x7fc0_0000)),
            (json!("0x7fc00001"), f32_bits(0x7fc0_0001)),
            (json!("-Infinity"), Scalar::F32(f32::NEG_INFINITY)),
            (json!(3), Scalar::F64(3.0)),
            (json!("-0.0"), Scalar::F64(-0.0)),
            (json!("inf"), Scalar::F64(f64::INFINITY)),
            (json!("0xfff8000000000001"), Scalar::F64(f64::from_bits(0xfff8_0000_0000_0001))),
            (json!([1, "-Infinity"]), c64(1.0, f32::NEG_INFINITY)),
            (json!(["0x3f800000", "2"]), c64(1.0, 2.0)),
            (json!(2), c64(2.0, 0.0)),
            (json!(null), Scalar::C128(C128::new(0.0, 0.0))),
        ];
        for (value, expected) in cases {
            let found = parse(&value, expected.dtype()).unwrap();
            assert!(found.same_bits(expected), "{value}: {found:?}");
        }
    }

    #[test]
    fn other_values_are_refused_by_name() {
        let cases = [
            (json!(2), DType::Bool),
            (json!([true]), DType::Bool),
            (json!(2147483648u32), DType::I32),
            (json!(0.5), DType::I32),
            (json!(-1), DType::U8),
            (json!(256), DType::U8),
            (json!(1.9e19), DType::U64),
            (json!("0x7fc00000"), DType::F16),
            (json!("NaN"), DType::I64),
            (json!("9223372036854775808"), DType::I64),
            (json!(u64::MAX), DType::I64),
            (json!(9.3e18), DType::I64),
            (json!(""), DType::F64),
            (json!("one"), DType::F64),
            (json!("0x7fc00000"), DType::F64),
            (json!("0x+fc00000"), DType::F32),
            (json!(false), DType::F32),
            (json!({"a": 1}), DType::F64),
            (json!([1]), DType::C64),
            (json!([1, 2, 3]), DType::C128),
        ];
        for (value, dtype) in cases {
            let error = parse(&value, dtype).unwrap_err().to_string();
            assert!(error.contains(&value.to_string()), "{error}");
            assert!(error.contains(&allowed(dtype)), "{error}");
        }
    }
}
