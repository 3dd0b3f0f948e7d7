//! Element types as NumPy describes them.

use super::Problem;
use super::literal::Value;
use ijk_types::DType;

/// Storage format of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub dtype: DType,
    /// Numbers have the byte order opposite to this machine's.
    pub swapped: bool,
}

/// NumPy's kind and size of each element type. NumPy has no `bf16`; the package `ml_dtypes` stores it as raw bytes.
const CODES: [(&str, DType); 15] = [
    ("b1", DType::Bool),
    ("u1", DType::U8),
    ("u2", DType::U16),
    ("u4", DType::U32),
    ("u8", DType::U64),
    ("i1", DType::I8),
    ("i2", DType::I16),
    ("i4", DType::I32),
    ("i8", DType::I64),
    ("f2", DType::F16),
    ("V2", DType::BF16),
    ("f4", DType::F32),
    ("f8", DType::F64),
    ("c8", DType::C64),
    ("c16", DType::C128),
];

/// NumPy type to convert other number types to.
const CASTS: [(&str, &str); 3] = [("f12", "float64"), ("f16", "float64"), ("c32", "complex128")];

/// Kinds of elements that are not numbers, in words.
const KINDS: [(char, &str); 7] = [
    ('O', "these are Python objects"),
    ('U', "this is text"),
    ('S', "this is text"),
    ('a', "this is text"),
    ('V', "these are raw bytes or records"),
    ('M', "these are dates; `.astype('int64')` in NumPy makes them numbers"),
    ('m', "these are durations; `.astype('int64')` in NumPy makes them numbers"),
];

/// The description this machine's elements have.
pub(crate) fn describe(dtype: DType) -> String {
    let code = CODES.iter().find(|(_, t)| *t == dtype).map_or("", |(code, _)| code);
    let order = match (dtype, cfg!(target_endian = "big")) {
        (DType::Bool | DType::U8 | DType::I8, _) => '|',
        (_, true) => '>',
        (_, false) => '<',
    };
    format!("{order}{code}")
}

/// Parses the `descr` of a header.
pub(crate) fn parse(descr: &Value) -> Result<Stored, Problem> {
    let Value::Str(text) = descr else {
        let hint = "; these are records: save one field of them, `array['name']`".into();
        return Err(Problem::Dtype { descr: "record".into(), hint });
    };
    let (order, code) = match text.chars().next() {
        Some(order @ ('<' | '>' | '=' | '|')) => (order, &text[1..]),
        _ => ('=', &text[..]),
    };
    let foreign = if cfg!(target_endian = "big") { '<' } else { '>' };
    match CODES.iter().find(|(known, _)| *known == code) {
        Some(&(_, dtype)) => Ok(Stored { dtype, swapped: order == foreign && dtype.size() > 1 }),
        None => Err(unsupported(text, code)),
    }
}

#[cold]
fn unsupported(text: &str, code: &str) -> Problem {
    let cast = CASTS.iter().find(|(known, _)| *known == code);
    let kind = code.chars().next().and_then(|c| KINDS.iter().find(|(known, _)| *known == c));
    let hint = match (cast, kind) {
        (Some((_, to)), _) => {
            format!("; convert with `np.save(path, np.load(path).astype(np.{to}))`")
        }
        (_, Some((_, what))) => format!("; {what}"),
        _ => String::new(),
    };
    Problem::Dtype { descr: format!("{:?}", shorten(text)), hint }
}

/// At most 40 characters of a text.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_round_trip() {
        for dtype in DType::ALL {
            let descr = Value::Str(describe(dtype));
            assert_eq!(parse(&descr).unwrap(), Stored { dtype, swapped: false });
        }
        let big = parse(&Value::Str(">c16".into())).unwrap();
        assert_eq!(big, Stored { dtype: DType::C128, swapped: cfg!(target_endian = "little") });
        assert!(!parse(&Value::Str(">b1".into())).unwrap().swapped);
        for bytes in ["<V2", "|V2"] {
            assert_eq!(parse(&Value::Str(bytes.into())).unwrap().dtype, DType::BF16);
        }
    }

    #[test]
    fn others_are_explained() {
        let message = |text: &str| parse(&Value::Str(text.into())).unwrap_err().to_string();
        assert!(message("<f16").contains("np.load(path).astype(np.float64)"));
        assert!(message("|O").contains("Python objects"));
        assert!(message("<U5").contains("text"));
        assert!(message("|V8").contains("records"));
        assert!(message("").contains("type \"\" are not supported"));
        assert!(message("é").contains("f16, bf16, f32, f64"));
        assert!(parse(&Value::List(vec![])).unwrap_err().to_string().contains("records"));
    }
}
