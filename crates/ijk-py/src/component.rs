//! Programs in i.

use crate::arrays::{Readonly, from_tensor};
use crate::blocks;
use crate::engine::{self, Engine};
use crate::error::raise;
use crate::numbers;
use crate::outputs::Outputs;
use crate::points;
use crate::run::computing;
use ijk::{TensorView, TensorViewMut};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// A program in i: a function of arrays.
///
/// Component(source). `f >> g` is f, then g (`f . g` in i); `f << g` is g, then f; `f & g` applies both to the
/// same arguments, `f | g` to separate ones, and `~f` swaps the first two.
#[pyclass(module = "ijk", frozen)]
pub struct Component {
    pub inner: ijk::Program,
}

#[pymethods]
impl Component {
    #[new]
    fn new(source: &str) -> PyResult<Self> {
        Ok(Self { inner: ijk::i(source).map_err(raise)? })
    }

    /// Applies the program; returns an array, or a tuple if it has several results. If an argument is a block
    /// tensor, results are block tensors.
    ///
    /// out: an array that the result is written to, or a tuple of one for each result. It may share memory with
    /// arguments, whose old elements are read.
    #[pyo3(signature = (*arguments, out = None, engine = None))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
        engine: Option<&Bound<'py, Engine>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(tensors) = blocks::any(arguments)? {
            if out.is_some() || engine.is_some() {
                let message = "block tensors are computed when they are collected or written: no out, no engine";
                return Err(PyTypeError::new_err(message));
            }
            return blocks::apply(py, &self.inner, &tensors);
        }
        let arrays = crate::arrays::arguments(arguments, "argument")?;
        let views: Vec<TensorView<'_>> = arrays.iter().map(Readonly::view).collect();
        let engine = engine::engine(py, engine)?;
        if let Some(out) = out {
            let direct =
                |outputs: &mut [TensorViewMut<'_>]| engine.apply_into(&self.inner, &views, outputs);
            let fresh = || engine.apply(&self.inner, &views);
            return Outputs::of(out)?.compute(engine, &arrays, direct, fresh);
        }
        let results = computing(py, || engine.apply(&self.inner, &views))?;
        let results = results.into_iter().map(|tensor| from_tensor(py, tensor));
        let mut results = results.collect::<PyResult<Vec<_>>>()?;
        match results.len() {
            1 => Ok(results.swap_remove(0)),
            _ => Ok(PyTuple::new(py, results)?.into_any()),
        }
    }

    /// The shapes of the results for arguments of these shapes.
    fn shapes<'py>(
        &self,
        py: Python<'py>,
        shapes: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let shapes = numbers::shapes(shapes, "shapes")?;
        let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        let shapes = self.inner.shapes(&shapes).map_err(raise)?;
        let tuples = shapes.iter().map(|shape| PyTuple::new(py, shape));
        PyList::new(py, tuples.collect::<PyResult<Vec<_>>>()?)
    }

    /// The names of the program's operations, in the order in which they are computed: arguments are 0, 1, …; the
    /// result of binding m within mm is mm.m.
    fn operations(&self, shapes: Vec<Vec<usize>>) -> PyResult<Vec<String>> {
        Ok(self.named(&shapes)?.names().map(str::to_owned).collect())
    }

    /// The elements that an element of an operation, such as "mm.a[2,1]", is computed from: a dict with a set for each
    /// argument and earlier operation; with on="mm.m", one set; with on="mm.m[2,1,3]", True or False.
    #[pyo3(signature = (shapes, of, on = None))]
    fn dependencies<'py>(
        &self,
        py: Python<'py>,
        shapes: Vec<Vec<usize>>,
        of: &str,
        on: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let operations = self.named(&shapes)?;
        match on {
            None => points::sets(py, operations.dependencies(of).map_err(raise)?),
            Some(on) => points::related(py, &operations, on, of, on.contains('[')),
        }
    }

    /// The elements that are computed from an element of an operation or an argument, such as "0[2,3]": the inverse of
    /// dependencies.
    #[pyo3(signature = (shapes, of, to = None))]
    fn reaches<'py>(
        &self,
        py: Python<'py>,
        shapes: Vec<Vec<usize>>,
        of: &str,
        to: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let operations = self.named(&shapes)?;
        match to {
            None => points::sets(py, operations.reaches(of).map_err(raise)?),
            Some(to) => points::related(py, &operations, of, to, to.contains('[')),
        }
    }

    /// Number of arguments.
    #[getter]
    fn arity(&self) -> usize {
        self.inner.arity()
    }

    /// Ranks and element types of arguments and results, as text.
    #[getter]
    fn signature(&self) -> String {
        self.inner.signature().to_string()
    }

    fn __rshift__(&self, then: &Bound<'_, Self>) -> PyResult<Self> {
        Ok(Self { inner: self.inner.chain(&then.get().inner).map_err(raise)? })
    }

    fn __lshift__(&self, first: &Bound<'_, Self>) -> PyResult<Self> {
        Ok(Self { inner: self.inner.compose(&first.get().inner).map_err(raise)? })
    }

    fn __and__(&self, other: &Bound<'_, Self>) -> PyResult<Self> {
        Ok(Self { inner: self.inner.fanout(&other.get().inner).map_err(raise)? })
    }

    fn __or__(&self, other: &Bound<'_, Self>) -> PyResult<Self> {
        Ok(Self { inner: self.inner.pair(&other.get().inner).map_err(raise)? })
    }

    fn __invert__(&self) -> PyResult<Self> {
        Ok(Self { inner: self.inner.swap().map_err(raise)? })
    }

    fn __repr__(&self) -> String {
        format!("Component({})", self.inner.signature())
    }

    fn __str__(&self) -> String {
        self.inner.to_string()
    }
}
