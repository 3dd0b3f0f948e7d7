//! Programs of block tensors.

use super::{BigTensor, tensor};
use crate::component::Component;
use crate::error::{raise, raise_blocks};
use crate::et::Program;
use ijk::blocks;
use ijk::et::{Bindings, BlocksError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// All arguments as tensors, if one of them is.
pub fn any(arguments: &Bound<'_, PyTuple>) -> PyResult<Option<Vec<BigTensor>>> {
    match arguments.iter().any(|argument| argument.is_instance_of::<BigTensor>()) {
        true => {
            arguments.iter().map(|argument| tensor(&argument)).collect::<PyResult<_>>().map(Some)
        }
        false => Ok(None),
    }
}

/// All arrays of a dict as tensors, if one of them is.
pub fn any_by_name(arrays: &Bound<'_, PyDict>) -> PyResult<Option<Vec<(String, BigTensor)>>> {
    if !arrays.iter().any(|(_, array)| array.is_instance_of::<BigTensor>()) {
        return Ok(None);
    }
    let named = |(name, array): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        Ok((name.extract()?, tensor(&array)?))
    };
    arrays.iter().map(named).collect::<PyResult<_>>().map(Some)
}

/// Applies a program in Einsum Tuple to tensors: a dict of its results. The choices of extents and others come as they
/// were given, too.
pub fn apply_by_name<'py>(
    program: &Bound<'py, Program>,
    tensors: &[(String, BigTensor)],
    choices: &Bindings<'_>,
    given: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = program.py();
    let inner: Vec<_> = tensors.iter().map(|(name, tensor)| (&name[..], &tensor.inner)).collect();
    let applied = program.get().inner.apply_blocks(&inner, choices).map_err(|error| match error {
        BlocksError::Program(error) => raise(error),
        BlocksError::Blocks(error) => raise_blocks(error),
    });
    let given = py.import("copy")?.call_method1("deepcopy", (given,))?;
    let names = PyTuple::new(py, tensors.iter().map(|(name, _)| name))?;
    let results = PyDict::new(py);
    for (name, inner) in applied? {
        let call = ("run", (program, &names, &given, &name));
        let parts = tensors.iter().map(|(_, tensor)| tensor);
        results.set_item(&name, BigTensor::called(py, Ok(inner), call, parts)?)?;
    }
    Ok(results)
}

/// Applies a program to tensors: one result, or a tuple of several.
pub fn apply<'py>(
    component: &Bound<'py, Component>,
    tensors: &[BigTensor],
) -> PyResult<Bound<'py, PyAny>> {
    let py = component.py();
    let inner: Vec<&blocks::BigTensor> = tensors.iter().map(|tensor| &tensor.inner).collect();
    let results = component.get().inner.apply_blocks(&inner).map_err(raise_blocks)?;
    let wrapped = results.into_iter().enumerate().map(|(number, inner)| {
        let call = ("apply", (component, number));
        Bound::new(py, BigTensor::called(py, Ok(inner), call, tensors)?)
    });
    let mut results = wrapped.collect::<PyResult<Vec<_>>>()?;
    match results.len() {
        1 => Ok(results.swap_remove(0).into_any()),
        _ => Ok(PyTuple::new(py, results)?.into_any()),
    }
}
