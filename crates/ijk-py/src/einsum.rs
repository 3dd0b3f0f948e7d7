//! Einsums of NumPy's arrays without a copy.

use crate::arrays::{Readonly, arguments, from_tensor};
use crate::engine::{self, Engine};
use crate::error::raise;
use crate::numbers;
use crate::outputs::Outputs;
use crate::run::computing;
use ijk::{EinsumSteps, Label, TensorView, TensorViewMut};
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PyList, PyTuple, PyType};

/// A parsed einsum with its plans.
#[pyclass(module = "ijk", frozen, weakref)]
pub struct Einsum {
    inner: ijk::Einsum,
    path: Option<Vec<Vec<usize>>>,
}

#[pymethods]
impl Einsum {
    /// Subscripts as text, or as lists of integers and ..., that of the output last or None.
    #[new]
    #[pyo3(signature = (subscripts, output = None, path = None))]
    fn new(
        subscripts: &Bound<'_, PyAny>,
        output: Option<&Bound<'_, PyAny>>,
        path: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let path = path.map(|any| numbers::shapes(any, "the path")).transpose()?;
        let inner = match subscripts.extract::<String>() {
            Ok(text) => ijk::Einsum::new(&text),
            Err(_) => {
                let lists = subscripts.try_iter()?.map(|list| labels(&list?));
                let lists = lists.collect::<PyResult<Vec<_>>>()?;
                let output = output.map(labels).transpose()?;
                ijk::Einsum::from_lists(&lists, output.as_deref())
            }
        };
        let inner = inner.map_err(raise)?;
        let planned = path.clone().map_or(inner.clone(), |path| inner.with_path(path));
        Ok(Self { inner: planned, path })
    }

    /// The einsum of arrays of one element type.
    #[pyo3(signature = (*operands, out = None, engine = None))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        operands: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
        engine: Option<&Bound<'py, Engine>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        apply(py, &self.inner, &arguments(operands, "operand")?, out, engine::engine(py, engine)?)
    }

    /// The einsum of NumPy's arrays; None unless their number fits and all have one supported element type.
    #[pyo3(signature = (*operands, engine = None))]
    fn fast<'py>(
        &self,
        py: Python<'py>,
        operands: &Bound<'py, PyTuple>,
        engine: Option<&Bound<'py, Engine>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(arrays) = plain(operands)? else { return Ok(None) };
        if arrays.len() != self.inner.arity() {
            return Ok(None);
        }
        apply(py, &self.inner, &arrays, None, engine::engine(py, engine)?).map(Some)
    }

    /// The order of multiplication for operands of these shapes: the path in opt_einsum's format, the
    /// multiplications along it and of the sum as written, the elements of the largest result of a step,
    /// and a text with all of these.
    fn path<'py>(&self, py: Python<'py>, shapes: Vec<Vec<usize>>) -> PyResult<Bound<'py, PyTuple>> {
        let shapes = slices(&shapes);
        let engine = engine::engine(py, None)?;
        let path = py.detach(|| engine.einsum_path(&self.inner, &shapes));
        let path = path.map_err(|error| PyErr::take(py).unwrap_or_else(|| raise(error)))?;
        let steps = path.steps().iter().map(|step| PyTuple::new(py, step));
        let steps = PyList::new(py, steps.collect::<PyResult<Vec<_>>>()?)?;
        let (cost, naive) = (path.multiplications(), path.naive_multiplications());
        (steps, cost, naive, path.largest(), path.to_string()).into_pyobject(py)
    }

    /// The pairwise products for operands of these shapes: the extent of each index; the index of each axis of
    /// each operand, or None; and for each step the numbers of its factors (results of steps are numbered after
    /// the operands) and the index of each axis of its result.
    fn steps<'py>(
        &self,
        py: Python<'py>,
        shapes: Vec<Vec<usize>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let shapes = slices(&shapes);
        let engine = engine::engine(py, None)?;
        let steps = py.detach(|| engine.einsum_steps(&self.inner, &shapes));
        let steps = steps.map_err(|error| PyErr::take(py).unwrap_or_else(|| raise(error)))?;
        let EinsumSteps { extents, operands, steps } = steps;
        let steps: Vec<_> = steps.into_iter().map(|step| (step.factors, step.axes)).collect();
        (extents, operands, steps).into_pyobject(py)
    }

    /// The shape of the result, for operands of these shapes.
    fn result_shape(&self, shapes: Vec<Vec<usize>>) -> PyResult<Vec<usize>> {
        self.inner.result_shape(&slices(&shapes)).map_err(raise)
    }

    /// The same with bytes of the caller that count against the memory limit of an engine.
    fn beside(&self, bytes: u64) -> Self {
        Self { inner: self.inner.beside(bytes), path: self.path.clone() }
    }

    /// The subscripts as lists of numbers and ...: of each operand, and of the output.
    fn lists<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let list = |labels: &Vec<Label>| {
            let items = labels.iter().map(|label| match label {
                Label::Index(number) => Ok(number.into_pyobject(py)?.into_any()),
                Label::Ellipsis => Ok(py.Ellipsis().into_bound(py)),
            });
            PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)
        };
        let (operands, output) = self.inner.labels();
        let operands = operands.iter().map(list).collect::<PyResult<Vec<_>>>()?;
        (PyList::new(py, operands)?, list(&output)?).into_pyobject(py)
    }

    /// Arguments from which pickle rebuilds the einsum: its lists and its path.
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let lists = slf.get().lists(py)?;
        let arguments = (lists.get_item(0)?, lists.get_item(1)?, slf.get().path.clone());
        Ok((slf.get_type(), arguments.into_pyobject(py)?))
    }

    /// True if the only operand, of this shape, is not summed over, so that the result is a view of it.
    fn is_view(&self, shape: Vec<usize>) -> PyResult<bool> {
        self.inner.is_view(&shape).map_err(raise)
    }

    /// Number of operands.
    #[getter]
    fn arity(&self) -> usize {
        self.inner.arity()
    }

    fn __repr__(&self) -> String {
        format!("Einsum({:?})", self.inner.to_string())
    }
}

/// The einsum of NumPy's arrays; None unless all have one supported element type.
#[pyfunction]
#[pyo3(signature = (subscripts, *operands, engine = None))]
pub fn einsum<'py>(
    py: Python<'py>,
    subscripts: &str,
    operands: &Bound<'py, PyTuple>,
    engine: Option<&Bound<'py, Engine>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(arrays) = plain(operands)? else { return Ok(None) };
    let engine = engine::engine(py, engine)?;
    let views: Vec<TensorView<'_>> = arrays.iter().map(Readonly::view).collect();
    let result = computing(py, || engine.einsum(subscripts, &views))?;
    from_tensor(py, result).map(Some)
}

/// The arrays without a copy, if that is possible for all and they have one element type.
fn plain<'py>(operands: &Bound<'py, PyTuple>) -> PyResult<Option<Vec<Readonly<'py>>>> {
    let mut arrays: Vec<Readonly<'py>> = Vec::with_capacity(operands.len());
    for operand in operands {
        let Some(array) = Readonly::of(&operand)? else { return Ok(None) };
        if arrays.first().is_some_and(|first| first.dtype() != array.dtype()) {
            return Ok(None);
        }
        arrays.push(array);
    }
    Ok(Some(arrays))
}

fn apply<'py>(
    py: Python<'py>,
    einsum: &ijk::Einsum,
    arrays: &[Readonly<'py>],
    out: Option<&Bound<'py, PyAny>>,
    engine: &ijk::Engine,
) -> PyResult<Bound<'py, PyAny>> {
    let views: Vec<TensorView<'_>> = arrays.iter().map(Readonly::view).collect();
    let Some(out) = out else {
        let result = computing(py, || engine.apply_einsum(einsum, &views))?;
        return from_tensor(py, result);
    };
    let direct = |outputs: &mut [TensorViewMut<'_>]| match outputs {
        [output] => engine.apply_einsum_into(einsum, &views, output.reborrow()),
        _ => Err(ijk::Error::OutputCount { expected: 1, found: outputs.len() }),
    };
    let fresh = || Ok(vec![engine.apply_einsum(einsum, &views)?]);
    Outputs::of(out)?.compute(engine, arrays, direct, fresh)
}

fn slices(shapes: &[Vec<usize>]) -> Vec<&[usize]> {
    shapes.iter().map(Vec::as_slice).collect()
}

/// A list of integers and ... .
fn labels(list: &Bound<'_, PyAny>) -> PyResult<Vec<Label>> {
    let label = |item: PyResult<Bound<'_, PyAny>>| {
        let item = item?;
        match item.is_instance_of::<PyEllipsis>() {
            true => Ok(Label::Ellipsis),
            false => Ok(Label::Index(numbers::signed(&item, "an index")?)),
        }
    };
    list.try_iter()?.map(label).collect()
}
