//! Elements of any type, as Python's numbers and lists.

use crate::arrays::{is_masked, readonly};
use crate::error::DTypeError;
use ijk::__private::Ordered;
use ijk::blocks::{ElementType, Lists, Value};
use ijk::num_complex::{Complex32, Complex64};
use ijk::{DType, Scalar};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyComplexMethods, PyFloat, PyInt, PyList, PyString};

/// Greatest depth of nested lists.
const MAX_NESTING: usize = 64;

/// Elements of the requested type, or of the one that all of them have, and the type.
pub fn read(
    elements: &Bound<'_, PyAny>,
    dtype: Option<&str>,
) -> PyResult<(ElementType, Vec<Value>)> {
    if dtype.is_none() && elements.hasattr("dtype")? {
        return numbers(elements);
    }
    let all = elements.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let of = match dtype {
        Some(name) if name.matches("array(").count() > MAX_NESTING => {
            let message = format!("dtype: lists nest deeper than {MAX_NESTING}");
            return Err(DTypeError::new_err(message));
        }
        Some(name) => parsed(name)?,
        None => {
            let unknown = "no element tells the type; say dtype=\"f64\", or dtype=\"array(f64)\"";
            let kind = common(&all, &[])?.and_then(settled);
            kind.ok_or_else(|| DTypeError::new_err(unknown))?
        }
    };
    let values = all.iter().enumerate().map(|(n, any)| value(any, &of, &[n]));
    Ok((of.clone(), values.collect::<PyResult<_>>()?))
}

/// The elements of a NumPy array.
fn numbers(elements: &Bound<'_, PyAny>) -> PyResult<(ElementType, Vec<Value>)> {
    let array = readonly(elements, || "an array of these elements".into())?;
    let view = array.view();
    Ok((view.dtype().into(), view.iter_scalars().map(Value::from).collect()))
}

/// True for an iterable other than text; scalars and arrays of rank 0 of NumPy cannot be iterated.
fn is_list(any: &Bound<'_, PyAny>) -> bool {
    !any.is_instance_of::<PyString>() && any.try_iter().is_ok()
}

/// `array(array(f64))`.
fn parsed(name: &str) -> PyResult<ElementType> {
    let name = name.trim();
    if let Some(of) = name.strip_prefix("array(").and_then(|rest| rest.strip_suffix(')')) {
        return Ok(ElementType::array(parsed(of)?));
    }
    let wrong = || {
        DTypeError::new_err(format!("`{name}` is no element type, such as f64, i32, array(f64)"))
    };
    DType::from_name(name).map(ElementType::Number).ok_or_else(wrong)
}

/// The type of an element as far as it is known: an empty list does not determine the type of its items.
enum Kind {
    Number(DType),
    List(Option<Box<Kind>>),
}

/// The index of an element in Python's syntax: `[0]`, `[2][1]`.
fn place(at: &[usize]) -> String {
    at.iter().map(|n| format!("[{n}]")).collect()
}

/// An element of known type: its index, its text, its type.
type Told = (String, String, String);

fn kind(any: &Bound<'_, PyAny>, at: &[usize]) -> PyResult<Kind> {
    if is_list(any) {
        if at.len() > MAX_NESTING {
            let message = format!("lists nest deeper than {MAX_NESTING}");
            return Err(DTypeError::new_err(message));
        }
        let items = any.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        return Ok(Kind::List(common(&items, at)?.map(Box::new)));
    }
    Ok(Kind::Number(if any.is_instance_of::<PyBool>() {
        DType::Bool
    } else if any.is_instance_of::<PyInt>() {
        DType::I64
    } else if any.is_instance_of::<PyFloat>() {
        DType::F64
    } else if any.is_instance_of::<PyComplex>() {
        DType::C128
    } else {
        let name = any.getattr("dtype").and_then(|dtype| dtype.getattr("name"));
        let name: Option<String> = name.and_then(|name| name.extract()).ok();
        name.and_then(|name| DType::from_name(short(&name))).ok_or_else(|| {
            DTypeError::new_err(format!("element {} is a {}", place(at), any.get_type()))
        })?
    }))
}

/// The name of one of NumPy's types.
fn short(name: &str) -> &str {
    match name {
        "uint8" => "u8",
        "uint16" => "u16",
        "uint32" => "u32",
        "uint64" => "u64",
        "int8" => "i8",
        "int16" => "i16",
        "float16" => "f16",
        "bfloat16" => "bf16",
        "int32" => "i32",
        "int64" => "i64",
        "float32" => "f32",
        "float64" => "f64",
        "complex64" => "c64",
        "complex128" => "c128",
        other => other,
    }
}

/// The type of all elements of a list, as far as it is known.
fn common(all: &[Bound<'_, PyAny>], at: &[usize]) -> PyResult<Option<Kind>> {
    let mut first: Option<(usize, Kind)> = None;
    for (n, any) in all.iter().enumerate() {
        let own = kind(any, &[at, &[n]].concat())?;
        first = Some(match first {
            None => (n, own),
            Some((m, kind)) => match both(kind, own) {
                Ok(kind) => (m, kind),
                Err((left, right)) => {
                    let told = |n: usize, kind: &Kind| {
                        (place(&[at, &[n]].concat()), written(&all[n]), kind.to_string())
                    };
                    return Err(differ(&told(m, &left), &told(n, &right)));
                }
            },
        });
    }
    Ok(first.map(|(_, kind)| kind))
}

/// The common type of two elements; both elements if their types differ.
fn both(left: Kind, right: Kind) -> Result<Kind, (Kind, Kind)> {
    match (left, right) {
        (Kind::List(None), Kind::List(of)) | (Kind::List(of), Kind::List(None)) => {
            Ok(Kind::List(of))
        }
        (Kind::List(Some(l)), Kind::List(Some(r))) => match both(*l, *r) {
            Ok(of) => Ok(Kind::List(Some(Box::new(of)))),
            Err((l, r)) => Err((Kind::List(Some(Box::new(l))), Kind::List(Some(Box::new(r))))),
        },
        (Kind::Number(l), Kind::Number(r)) if l == r => Ok(Kind::Number(l)),
        pair => Err(pair),
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(dtype) => dtype.fmt(f),
            Self::List(Some(of)) => write!(f, "array({of})"),
            Self::List(None) => f.write_str("a list"),
        }
    }
}

/// An element in Python's syntax, if that is short.
fn written(any: &Bound<'_, PyAny>) -> String {
    let text = any.repr().map(|text| text.to_string()).unwrap_or_default();
    if text.chars().count() > 40 { "…".into() } else { text }
}

fn differ((at, x, t): &Told, (to, y, u): &Told) -> PyErr {
    let wider = ["c128", "f64", "i64"].into_iter().find(|name| t == name || u == name);
    let dtype = wider.map_or(String::new(), |name| format!(", or say dtype=\"{name}\""));
    DTypeError::new_err(format!(
        "element {at}, {x}, is {t}, but element {to}, {y}, is {u}: the elements of lit have one type; \
         write them alike{dtype}"
    ))
}

fn settled(kind: Kind) -> Option<ElementType> {
    match kind {
        Kind::Number(dtype) => Some(dtype.into()),
        Kind::List(of) => Some(ElementType::array(settled(*of?)?)),
    }
}

/// An element of a type.
fn value(any: &Bound<'_, PyAny>, of: &ElementType, at: &[usize]) -> PyResult<Value> {
    let refused = |why: String| {
        let (at, x) = (place(at), written(any));
        DTypeError::new_err(format!("element {at}, {x}, is no {of}{why}"))
    };
    match of {
        ElementType::Number(_) if is_list(any) => Err(refused(": it is a list".into())),
        ElementType::Number(dtype) => scalar(any, *dtype).map(Value::Number).map_err(|error| {
            match error.is_instance_of::<PyValueError>(any.py()) {
                // A number, but not a value of the type.
                true => PyValueError::new_err(format!(
                    "element {}: {}",
                    place(at),
                    error.value(any.py())
                )),
                false => refused(format!(": {}", error.value(any.py()))),
            }
        }),
        ElementType::Array(_) if !is_list(any) => Err(refused(": it is no list".into())),
        ElementType::Array(items) => {
            let item = |(n, item): (usize, PyResult<Bound<'_, PyAny>>)| {
                value(&item?, items, &[at, &[n]].concat())
            };
            let values = any.try_iter()?.enumerate().map(item).collect::<PyResult<Vec<_>>>()?;
            Value::list_of((**items).clone(), values).ok_or_else(|| refused(String::new()))
        }
    }
}

fn scalar(any: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Scalar> {
    if is_masked(any)? && any.getattr("mask")?.is_truthy()? {
        return Err(PyTypeError::new_err("it is masked, and the mask would be lost"));
    }
    // Scalars of NumPy convert to numbers of Python.
    let any = &if any.hasattr("dtype")? { any.call_method0("item")? } else { any.clone() };
    let beyond = || PyValueError::new_err(format!("{any} is beyond the numbers of {dtype}"));
    let whole = || {
        any.extract::<i128>().map_err(|error| {
            match error.is_instance_of::<PyOverflowError>(any.py()) {
                true => beyond(),
                false => error,
            }
        })
    };
    macro_rules! integer {
        ($variant:ident) => {
            Scalar::$variant(whole()?.try_into().map_err(|_| beyond())?)
        };
    }
    Ok(match dtype {
        DType::Bool => Scalar::Bool(any.extract()?),
        DType::U8 => integer!(U8),
        DType::U16 => integer!(U16),
        DType::U32 => integer!(U32),
        DType::U64 => integer!(U64),
        DType::I8 => integer!(I8),
        DType::I16 => integer!(I16),
        DType::I32 => integer!(I32),
        DType::I64 => integer!(I64),
        DType::F16 => Scalar::F16(any.extract::<f64>()?.to_f16()),
        DType::BF16 => Scalar::BF16(any.extract::<f64>()?.to_bf16()),
        DType::F32 => Scalar::F32(any.extract()?),
        DType::F64 => Scalar::F64(any.extract()?),
        DType::C64 | DType::C128 => {
            let number = any.py().get_type::<PyComplex>().call1((any,))?;
            let number = number.cast::<PyComplex>()?;
            let of = Complex64::new(number.real(), number.imag());
            match dtype {
                DType::C64 => Scalar::C64(Complex32::new(of.re as f32, of.im as f32)),
                _ => Scalar::C128(of),
            }
        }
    })
}

/// An array of Python lists.
pub fn objects<'py>(py: Python<'py>, lists: &Lists) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy")?;
    let array = numpy.call_method1("empty", (lists.items.len(), "O"))?;
    for (n, item) in lists.items.iter().enumerate() {
        array.set_item(n, object(py, item)?)?;
    }
    array.call_method1("reshape", (&lists.shape,))
}

/// An element as a Python object.
fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Number(Scalar::Bool(x)) => x.into_bound_py_any(py),
        Value::Number(Scalar::U8(x)) => x.into_bound_py_any(py),
        Value::Number(Scalar::U16(x)) => x.into_bound_py_any(py),
        Value::Number(Scalar::U32(x)) => x.into_bound_py_any(py),
        Value::Number(Scalar::U64(x)) => x.into_bound_py_any(py),
        Value::Number(Scalar::I8(x)) => x.into_bound_py_any(py),
        Value::Number(Scalar::I16(x)) => x.into_bound_py_any(py),
        Value::Number(x @ (Scalar::F16(_) | Scalar::BF16(_))) => x.as_f64().into_bound_py_any(py),
        Value::Number(Scalar::I32(x)) => x.into_bound_py_any(py),
        Value::Number(Scalar::I64(x)) => x.into_bound_py_any(py),
        Value::Number(Scalar::F32(x)) => x.into_bound_py_any(py),
        Value::Number(Scalar::F64(x)) => x.into_bound_py_any(py),
        Value::Number(Scalar::C64(x)) => complex(py, x.re.into(), x.im.into()),
        Value::Number(Scalar::C128(x)) => complex(py, x.re, x.im),
        Value::List(list) => {
            let items = list.items().iter().map(|item| object(py, item));
            Ok(PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
    }
}

fn complex(py: Python<'_>, re: f64, im: f64) -> PyResult<Bound<'_, PyAny>> {
    Ok(PyComplex::from_doubles(py, re, im).into_any())
}
