//! Elements of any type, as Python's numbers and lists.

use crate::arrays::readonly;
use crate::error::DTypeError;
use ijk::blocks::{ElementType, Lists, Value};
use ijk::num_complex::{Complex32, Complex64};
use ijk::{DType, Scalar};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyComplexMethods, PyFloat, PyInt, PyList, PyString};

/// Elements of the type that is asked for, or that they have together.
pub fn read(elements: &Bound<'_, PyAny>, dtype: Option<&str>) -> PyResult<Vec<Value>> {
    let all = elements.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let of = match dtype {
        Some(name) => parsed(name)?,
        None if !all.iter().any(is_list) => return numbers(elements),
        None => {
            let kinds = all.iter().map(kind).collect::<PyResult<Vec<_>>>()?;
            let unknown = "no element tells the type; say dtype=\"array(f64)\"";
            common(kinds)?.and_then(settled).ok_or_else(|| DTypeError::new_err(unknown))?
        }
    };
    all.iter().map(|any| value(any, &of)).collect()
}

/// Numbers, as NumPy makes an array of them.
fn numbers(elements: &Bound<'_, PyAny>) -> PyResult<Vec<Value>> {
    let array = elements.py().import("numpy")?.call_method1("asarray", (elements,))?;
    let array = readonly(&array, || "an array of these elements".into())?;
    Ok(array.view().iter_scalars().map(Value::from).collect())
}

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

/// What an element tells of its type: an empty list does not tell of what it is one.
enum Kind {
    Number(DType),
    List(Option<Box<Kind>>),
}

fn kind(any: &Bound<'_, PyAny>) -> PyResult<Kind> {
    if is_list(any) {
        let kinds = any.try_iter()?.map(|item| kind(&item?)).collect::<PyResult<Vec<_>>>()?;
        return Ok(Kind::List(common(kinds)?.map(Box::new)));
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
        return Err(DTypeError::new_err(format!("an element is a {}", any.get_type())));
    }))
}

fn common(kinds: Vec<Kind>) -> PyResult<Option<Kind>> {
    let mut all: Option<Kind> = None;
    for kind in kinds {
        all = Some(match (all, kind) {
            (None, kind) => kind,
            (Some(Kind::Number(l)), Kind::Number(r)) => Kind::Number(wider(l, r)),
            (Some(Kind::List(l)), Kind::List(r)) => {
                let both = l.into_iter().chain(r).map(|kind| *kind).collect();
                Kind::List(common(both)?.map(Box::new))
            }
            _ => return Err(DTypeError::new_err("some elements are lists and some are numbers")),
        });
    }
    Ok(all)
}

fn wider(l: DType, r: DType) -> DType {
    let width = |of: DType| {
        [DType::Bool, DType::I64, DType::F64, DType::C128].iter().position(|t| *t == of)
    };
    if width(l) < width(r) { r } else { l }
}

fn settled(kind: Kind) -> Option<ElementType> {
    match kind {
        Kind::Number(dtype) => Some(dtype.into()),
        Kind::List(of) => Some(ElementType::array(settled(*of?)?)),
    }
}

/// An element of a type.
fn value(any: &Bound<'_, PyAny>, of: &ElementType) -> PyResult<Value> {
    match of {
        ElementType::Number(dtype) => Ok(Value::Number(scalar(any, *dtype)?)),
        ElementType::Array(of) => {
            let items =
                any.try_iter()?.map(|item| value(&item?, of)).collect::<PyResult<Vec<_>>>()?;
            let wrong = || DTypeError::new_err(format!("an element is no list of {of}"));
            Value::list_of((**of).clone(), items).ok_or_else(wrong)
        }
    }
}

fn scalar(any: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Scalar> {
    let beyond = || PyValueError::new_err(format!("{any} is beyond the numbers of {dtype}"));
    let whole = || {
        any.extract::<i64>().map_err(|error| {
            match error.is_instance_of::<PyOverflowError>(any.py()) {
                true => beyond(),
                false => error,
            }
        })
    };
    Ok(match dtype {
        DType::Bool => Scalar::Bool(any.extract()?),
        DType::I32 => Scalar::I32(i32::try_from(whole()?).map_err(|_| beyond())?),
        DType::I64 => Scalar::I64(whole()?),
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

/// An array of Python's lists.
pub fn objects<'py>(py: Python<'py>, lists: &Lists) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy")?;
    let array = numpy.call_method1("empty", (lists.items.len(), "O"))?;
    for (n, item) in lists.items.iter().enumerate() {
        array.set_item(n, object(py, item)?)?;
    }
    array.call_method1("reshape", (&lists.shape,))
}

/// An element as one of Python's.
fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Number(Scalar::Bool(x)) => x.into_bound_py_any(py),
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
