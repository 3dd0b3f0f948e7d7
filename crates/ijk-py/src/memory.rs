//! Arrays of NumPy in the memory of an engine.

use crate::error::DTypeError;
use ijk::{DType, Tensor};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

/// Results of fewer bytes own their memory: such arrays are cheaper to create, and most allocators reuse memory of that
/// size by themselves.
const LEAST: usize = 1 << 20;

/// The memory of a large result: the base object of arrays that refer to it. When the last of them is deleted, the
/// memory returns to its engine for later results.
#[pyclass(module = "ijk", frozen)]
pub struct Memory {
    tensor: Tensor,
    address: usize,
}

#[pymethods]
impl Memory {
    /// NumPy's array interface: of a writable array that keeps this object alive.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", typestr(self.tensor.dtype()))?;
        interface.set_item("shape", PyTuple::new(py, self.tensor.shape())?)?;
        interface.set_item("data", (self.address, false))?;
        Ok(interface)
    }
}

/// An element type in the spelling of the array interface.
pub fn typestr(dtype: DType) -> String {
    let order = if cfg!(target_endian = "little") { '<' } else { '>' };
    let (order, kind) = match dtype {
        DType::Bool => ('|', 'b'),
        // Its bits; NumPy has no spelling for it.
        DType::BF16 => (order, 'u'),
        _ if dtype.is_unsigned() => (order, 'u'),
        _ if dtype.is_integer() => (order, 'i'),
        _ if dtype.is_float() => (order, 'f'),
        _ => (order, 'c'),
    };
    format!("{order}{kind}{}", dtype.size())
}

/// An array of a tensor's elements, in the same memory if that is large.
pub fn share(py: Python<'_>, mut tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let address = tensor.view_mut().as_mut_ptr() as usize;
    let dtype = tensor.dtype();
    let array = ASARRAY.import(py, "numpy", "asarray")?.call1((Memory { tensor, address },))?;
    match dtype {
        DType::BF16 => array.call_method1("view", (bfloat16(py)?,)),
        _ => Ok(array),
    }
}

/// The element type of `bf16`, of the package `ml_dtypes`.
pub fn bfloat16(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static BFLOAT16: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let found = BFLOAT16.import(py, "ml_dtypes", "bfloat16").map_err(|_| {
        DTypeError::new_err(
            "NumPy's arrays have elements of bfloat16 where the package ml_dtypes is installed: \
             cast with `@f32`, or install it",
        )
    })?;
    py.import("numpy")?.call_method1("dtype", (found,))
}

/// True if a tensor is large enough to share its memory.
pub fn is_large(tensor: &Tensor) -> bool {
    tensor.byte_len() >= LEAST
}
