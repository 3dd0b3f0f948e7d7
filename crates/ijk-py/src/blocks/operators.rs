//! Operators of block tensors and numbers, arrays or other tensors.

use super::BigTensor;
use crate::arrays::is_masked;
use ijk::blocks::{Formula, Zip};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBool;

impl BigTensor {
    /// The operation with another tensor or a number; None for other operands.
    pub(super) fn combined(
        slf: &Bound<'_, Self>,
        op: Zip,
        other: &Bound<'_, PyAny>,
        swapped: bool,
    ) -> PyResult<Option<Self>> {
        if let Ok(other) = other.cast::<Self>() {
            return Self::zipped(op, slf, other).map(Some);
        }
        let py = other.py();
        let Some(number) = number(other) else {
            let fitted = py
                .import("ijk._tensors")?
                .call_method1("fitted", (slf, other, matches!(op, Zip::Div)))?;
            let Ok((own, other)) = fitted.extract::<(Bound<'_, Self>, Bound<'_, Self>)>() else {
                return Ok(None);
            };
            let (l, r) = if swapped { (other, own) } else { (own, other) };
            return Self::zipped(op, &l, &r).map(Some);
        };
        let (x, constant) = (Formula::variable(0), Formula::number(number));
        let (l, r) = if swapped { (constant, x) } else { (x, constant) };
        let own = slf.get();
        let built = own.inner.map(Formula::binary(op.operator(), l, r));
        Self::called(py, built, ("number", (name(op), number, swapped)), [own]).map(Some)
    }

    fn zipped(op: Zip, l: &Bound<'_, Self>, r: &Bound<'_, Self>) -> PyResult<Self> {
        let (py, l, r) = (l.py(), l.get(), r.get());
        Self::called(py, l.inner.zip(op, &r.inner), ("zip", (name(op),)), [l, r])
    }
}

/// The name of an operation in `_recipe.py`.
fn name(op: Zip) -> &'static str {
    match op {
        Zip::Add => "add",
        Zip::Sub => "sub",
        Zip::Mul => "mul",
        Zip::Div => "truediv",
        Zip::Max => "max",
        Zip::Min => "min",
    }
}

/// A tensor, or `NotImplemented`, so that Python tries the other operand.
pub fn or_else<'py>(py: Python<'py>, tensor: Option<BigTensor>) -> PyResult<Bound<'py, PyAny>> {
    match tensor {
        Some(tensor) => Ok(Bound::new(py, tensor)?.into_any()),
        None => Ok(py.NotImplemented().into_bound(py)),
    }
}

/// A real number of Python or NumPy; not a bool.
fn number(any: &Bound<'_, PyAny>) -> Option<f64> {
    // A masked value is no number.
    if is_masked(any).unwrap_or(true) {
        return None;
    }
    let is_bool = any.is_instance_of::<PyBool>();
    let is_number =
        any.hasattr("__float__").unwrap_or(false) && !any.hasattr("shape").unwrap_or(true);
    let scalar = any.getattr("shape").is_ok_and(|shape| shape.len().is_ok_and(|n| n == 0));
    (!is_bool && (is_number || scalar)).then(|| any.extract().ok())?
}

pub fn no_tensor(any: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("a block tensor or a number is expected, not {}", any.get_type()))
}
