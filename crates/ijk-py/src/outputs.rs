//! Output arrays of the caller.

use crate::arrays::{Numpy, Readonly, from_tensor, is_masked};
use crate::error::{DTypeError, raise};
use crate::run::computing;
use ijk::__private::foreign::Foreign;
use ijk::__private::{Footprint, Overlap};
use ijk::{Engine, Tensor, TensorViewMut};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::fmt;

/// An output array.
enum Output<'py> {
    /// The engine writes to it.
    Direct(Foreign<Numpy<'py>>),
    /// NumPy copies to it: elements are unaligned, of another byte order, or interleaved.
    Copied(Bound<'py, PyUntypedArray>),
}

/// Name of an output array in messages.
#[derive(Clone, Copy)]
enum Name {
    Only,
    /// An item of a tuple.
    Nth(usize),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Only => f.write_str("out"),
            Self::Nth(n) => write!(f, "out[{n}]"),
        }
    }
}

/// The argument `out`: one array, or a tuple of them.
pub struct Outputs<'py> {
    given: Bound<'py, PyAny>,
    outputs: Vec<Output<'py>>,
}

impl<'py> Outputs<'py> {
    /// Checks that arrays are writable and that no two elements overlap.
    pub fn of(out: &Bound<'py, PyAny>) -> PyResult<Self> {
        let Ok(tuple) = out.cast::<PyTuple>() else {
            let (output, _) = Output::of(out, Name::Only)?;
            return Ok(Self { given: out.clone(), outputs: vec![output] });
        };
        let mut outputs = Vec::with_capacity(tuple.len());
        let mut footprints: Vec<Footprint> = Vec::with_capacity(tuple.len());
        for (n, any) in tuple.iter().enumerate() {
            let (output, bytes) = Output::of(&any, Name::Nth(n))?;
            let shared = footprints.iter().position(|m| m.overlap(&bytes) != Overlap::Disjoint);
            if let Some(m) = shared {
                let (other, name) = (Name::Nth(m), Name::Nth(n));
                return Err(PyValueError::new_err(format!(
                    "{other} and {name} share memory, so that one result would overwrite the other: \
                     give each an array of its own"
                )));
            }
            outputs.push(output);
            footprints.push(bytes);
        }
        Ok(Self { given: out.clone(), outputs })
    }

    /// Writes results: directly to these arrays, or, if one of them shares memory with an argument, after all are
    /// computed. Returns the argument `out`.
    pub fn compute(
        mut self,
        engine: &Engine,
        arguments: &[Readonly<'_>],
        direct: impl FnOnce(&mut [TensorViewMut<'_>]) -> Result<(), ijk::Error>,
        fresh: impl FnOnce() -> Result<Vec<Tensor>, ijk::Error>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = self.given.py();
        match self.views(arguments) {
            Some(mut views) => computing(py, || direct(&mut views))?,
            None => self.copy(engine, computing(py, fresh)?)?,
        }
        Ok(self.given)
    }

    /// Views of all arrays, if the engine may write to them while it reads the arguments.
    fn views(&mut self, arguments: &[Readonly<'_>]) -> Option<Vec<TensorViewMut<'_>>> {
        let view = |output| match output {
            &mut Output::Copied(_) => None,
            Output::Direct(array) => {
                let bytes = array.footprint();
                let is_read = arguments.iter().any(|argument| argument.may_read(&bytes));
                if is_read { None } else { array.view_mut() }
            }
        };
        self.outputs.iter_mut().map(view).collect()
    }

    /// Copies results to the arrays, if all fit.
    fn copy(&mut self, engine: &Engine, results: Vec<Tensor>) -> PyResult<()> {
        let (expected, found) = (results.len(), self.outputs.len());
        if expected != found {
            return Err(raise(ijk::Error::OutputCount { expected, found }));
        }
        for (n, (output, result)) in self.outputs.iter().zip(&results).enumerate() {
            output.check_like(n + 1, result)?;
        }
        let py = self.given.py();
        for (output, result) in self.outputs.iter_mut().zip(results) {
            match output {
                Output::Direct(array) => {
                    let mut view = array.view_mut().expect("elements were found to be distinct");
                    computing(py, || engine.copy(&result.view(), &mut view))?;
                }
                Output::Copied(array) => {
                    let result = from_tensor(py, result)?;
                    py.import("numpy")?.call_method1("copyto", (&*array, result))?;
                }
            }
        }
        Ok(())
    }
}

impl<'py> Output<'py> {
    /// Checks that an array is writable and that no two elements overlap, and returns its footprint, too.
    fn of(any: &Bound<'py, PyAny>, name: Name) -> PyResult<(Self, Footprint)> {
        let array = writable(any, name)?;
        let numpy = Numpy::of(any);
        let bytes = distinct(array, numpy.as_ref(), name)?;
        if let Some(Ok(direct)) = numpy.map(Foreign::new)
            && bytes.is_nested()
        {
            return Ok((Self::Direct(direct), bytes));
        }
        if Numpy::dtype_of(array).is_none() {
            return Err(DTypeError::new_err(format!(
                "{name} is of {}, but results are bool, integers of 8 to 64 bits, float16, \
                 bfloat16, float32, float64, complex64 or complex128",
                array.dtype()
            )));
        }
        Ok((Self::Copied(array.clone()), bytes))
    }

    /// Checks that the array has the type and shape of a result, numbered from 1.
    fn check_like(&self, position: usize, result: &Tensor) -> PyResult<()> {
        let (found_dtype, found) = match self {
            Self::Direct(array) => (array.dtype(), array.array().array().shape().to_vec()),
            Self::Copied(array) => {
                (Numpy::dtype_of(array).expect("it is one of these"), array.shape().to_vec())
            }
        };
        let (expected_dtype, expected) = (result.dtype(), result.shape().to_vec());
        if (found_dtype, &found) == (expected_dtype, &expected) {
            return Ok(());
        }
        let error = ijk::Error::Output { position, expected_dtype, expected, found_dtype, found };
        Err(raise(error))
    }
}

/// A writable array of NumPy, of any type, without overlapping elements; raises ValueError or TypeError otherwise.
#[pyfunction]
#[pyo3(signature = (out, /))]
pub fn check_out(out: &Bound<'_, PyAny>) -> PyResult<()> {
    let array = writable(out, Name::Only)?;
    distinct(array, Numpy::of(out).as_ref(), Name::Only).map(drop)
}

/// The array, if it is writable.
fn writable<'a, 'py>(
    out: &'a Bound<'py, PyAny>,
    name: Name,
) -> PyResult<&'a Bound<'py, PyUntypedArray>> {
    let array = out.cast::<PyUntypedArray>().map_err(|_| {
        let kind = out.get_type();
        PyTypeError::new_err(format!("{name} must be a NumPy array, not {kind}"))
    })?;
    let py = out.py();
    if is_masked(out)? {
        return Err(PyTypeError::new_err(format!(
            "{name} is a masked array, whose mask would stay as it is: give {name}.data to write its elements alone"
        )));
    }
    if out.getattr(intern!(py, "flags"))?.getattr(intern!(py, "writeable"))?.is_truthy()? {
        return Ok(array);
    }
    let message = format!("{name} is read-only: give an array that can be written");
    Err(PyValueError::new_err(message))
}

/// The footprint of an array, if no two elements overlap; `numpy` is the array, if ijk supports its type.
fn distinct(
    array: &Bound<'_, PyUntypedArray>,
    numpy: Option<&Numpy<'_>>,
    name: Name,
) -> PyResult<Footprint> {
    let (shape, strides) = (array.shape(), array.strides());
    let address = match numpy {
        Some(numpy) => numpy.address(),
        None => array.getattr("ctypes")?.getattr("data")?.extract()?,
    };
    let bytes = Footprint::new(address, array.dtype().itemsize(), shape, strides);
    if bytes.overlap_of_elements() == Overlap::Disjoint {
        return Ok(bytes);
    }
    let py = array.py();
    let (shape, strides) = (PyTuple::new(py, shape)?, PyTuple::new(py, strides)?);
    Err(crate::error::Error::new_err(format!(
        "elements of {name} share memory (shape {shape}, strides {strides}), so that results would overwrite \
         each other: give an array of its own memory, such as numpy.empty({shape})"
    )))
}
