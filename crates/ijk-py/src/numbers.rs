//! Integers from Python, with errors that name the argument and the allowed values.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

/// An integer from 0 to the greatest of its type. Messages name it `what`: the name of an argument.
pub fn whole<T: TryFrom<u64>>(any: &Bound<'_, PyAny>, what: &str) -> PyResult<T> {
    let most = u64::MAX >> (u64::BITS as usize - 8 * size_of::<T>());
    limited(any, what, || format!("a whole number from 0 to {most} is allowed"))
}

/// A non-negative integer; messages list the `allowed` values.
fn limited<T: TryFrom<u64>>(
    any: &Bound<'_, PyAny>,
    what: &str,
    allowed: impl Fn() -> String,
) -> PyResult<T> {
    let refused = || PyValueError::new_err(format!("{what} is {any}: {}", allowed()));
    let number = any.extract::<u64>().map_err(|error| outside(any, error, what, refused))?;
    T::try_from(number).map_err(|_| refused())
}

/// A signed integer.
pub fn signed(any: &Bound<'_, PyAny>, what: &str) -> PyResult<i64> {
    let refused = || {
        let (least, most) = (i64::MIN, i64::MAX);
        let message = format!("{what} is {any}: a whole number from {least} to {most} is allowed");
        PyValueError::new_err(message)
    };
    any.extract().map_err(|error| outside(any, error, what, refused))
}

/// The exception for a number that is too large or no integer.
fn outside(any: &Bound<'_, PyAny>, error: PyErr, what: &str, refused: impl Fn() -> PyErr) -> PyErr {
    let py = any.py();
    if error.is_instance_of::<PyOverflowError>(py) {
        return refused();
    }
    if !error.is_instance_of::<PyTypeError>(py) {
        return error;
    }
    match any.repr() {
        Ok(shown) => PyTypeError::new_err(format!("{what} is {shown}, not a whole number")),
        Err(error) => error,
    }
}

/// An axis of a tensor of some rank, with negative numbers from the end; not checked against the rank.
pub fn axis(any: &Bound<'_, PyAny>, what: &str, rank: usize) -> PyResult<usize> {
    limited(any, what, || match rank {
        0 => "the tensor has no axes".into(),
        _ => format!("the tensor has the axes 0 to {}", rank - 1),
    })
}

/// Non-negative integers; messages name them `what`.
pub fn shape<T: TryFrom<u64>>(any: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<T>> {
    list(any, what, |item, what| whole(item, what))
}

/// Lists of non-negative integers.
pub fn shapes(any: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<Vec<usize>>> {
    list(any, what, shape)
}

/// For each axis the extent of a block, or None.
pub fn blocks(any: &Bound<'_, PyAny>) -> PyResult<Vec<Option<usize>>> {
    let allowed =
        || "a block has 1 element or more, and None means that the axis is not cut".into();
    list(any, "blocks", |item, what| match item.is_none() {
        true => Ok(None),
        false => limited(item, what, allowed).map(Some),
    })
}

/// Positions on an axis of some extent; not checked against it.
pub fn positions(any: &Bound<'_, PyAny>, axis: usize, extent: usize) -> PyResult<Vec<usize>> {
    let allowed = || match extent {
        0 => "the axis has no positions".into(),
        _ => format!("the axis has the positions 0 to {}", extent - 1),
    };
    let what = format!("positions of axis {axis}");
    list(any, &what, |item, what| limited(item, what, allowed))
}

/// Converts each item of an iterable; the conversion receives a name for messages.
fn list<T>(
    any: &Bound<'_, PyAny>,
    what: &str,
    item: impl Fn(&Bound<'_, PyAny>, &str) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let items = any.try_iter().map_err(|_| match any.repr() {
        Ok(shown) => PyTypeError::new_err(format!("{what} is {shown}, not a list")),
        Err(error) => error,
    })?;
    items.enumerate().map(|(n, any)| item(&any?, &format!("{what}[{n}]"))).collect()
}
