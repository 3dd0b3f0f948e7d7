//! NumPy's arrays in an engine's memory.

use ijk::{DType, Tensor};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

/// Smaller results than so many bytes are arrays that own their memory: those are made in a microsecond
/// less, and the allocator of most systems finds memory of that size again by itself.
const LEAST: usize = 1 << 20;

/// The memory of a large result: the base of the arrays that look at it. When the last of them is gone,
/// the memory returns to its engine, for the next result.
#[pyclass(module = "ijk", frozen)]
pub struct Memory {
    tensor: Tensor,
    address: usize,
}

#[pymethods]
impl Memory {
    /// What NumPy makes an array of: one that may be written, and keeps this alive.
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

/// An element type as the array interface spells it.
pub fn typestr(dtype: DType) -> String {
    let order = if cfg!(target_endian = "little") { '<' } else { '>' };
    let (order, kind) = match dtype {
        DType::Bool => ('|', 'b'),
        DType::I32 | DType::I64 => (order, 'i'),
        DType::F32 | DType::F64 => (order, 'f'),
        DType::C64 | DType::C128 => (order, 'c'),
    };
    format!("{order}{kind}{}", dtype.size())
}

/// An array of a tensor's elements, in its memory, where that is large.
pub fn share(py: Python<'_>, mut tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let address = tensor.view_mut().as_mut_ptr() as usize;
    ASARRAY.import(py, "numpy", "asarray")?.call1((Memory { tensor, address },))
}

/// Whether a tensor has memory that is worth to be shared.
pub fn is_large(tensor: &Tensor) -> bool {
    tensor.byte_len() >= LEAST
}
