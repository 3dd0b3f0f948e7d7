//! Calls that block tensors were made by, which are pickled.
//!
//! A tensor in memory is its blocks; one in a place is the address of that and the options; any other one is the call
//! that made it from these.

use super::{BigTensor, run, values};
use crate::arrays::from_tensor;
use crate::recipe::Recipe;
use ijk::blocks::{self, Block};
use pyo3::BoundObject;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A step that makes a block tensor of others.
pub enum TensorStep {
    /// A tensor in memory.
    Memory(blocks::BigTensor),
    /// A call, by its name in `_recipe.py`, with values that pickle.
    Call(&'static str, Py<PyTuple>),
}

impl BigTensor {
    /// A tensor in memory.
    pub(super) fn in_memory(built: Result<blocks::BigTensor, blocks::Error>) -> PyResult<Self> {
        let inner = super::checked(built)?;
        let recipe = Recipe::new(TensorStep::Memory(inner.clone()), []);
        Ok(Self { inner, recipe })
    }

    /// The result of a call with some values and tensors.
    pub(super) fn called<'py, 'a, V: IntoPyObject<'py, Target = PyTuple>>(
        py: Python<'py>,
        built: Result<blocks::BigTensor, blocks::Error>,
        (name, values): (&'static str, V),
        parts: impl IntoIterator<Item = &'a Self>,
    ) -> PyResult<Self>
    where
        V::Error: Into<PyErr>,
    {
        let inner = super::checked(built)?;
        let values = values.into_pyobject(py).map_err(Into::into)?;
        let values = values.into_bound().unbind();
        let parts = parts.into_iter().map(|part| &part.recipe);
        Ok(Self { inner, recipe: Recipe::new(TensorStep::Call(name, values), parts) })
    }

    /// The steps that make it again.
    pub(super) fn steps<'py>(&self, py: Python<'py>) -> PyResult<Vec<PickledStep<'py>>> {
        let steps = self.recipe.steps().into_iter();
        let pickled = steps.map(|(step, parts)| {
            let (name, values) = step.pickled(py)?;
            Ok((name, values, parts))
        });
        pickled.collect()
    }
}

/// The name of a call, its values, and the numbers of the steps that make its tensors.
pub type PickledStep<'py> = (&'static str, Bound<'py, PyTuple>, Vec<usize>);

impl TensorStep {
    fn pickled<'py>(&self, py: Python<'py>) -> PyResult<(&'static str, Bound<'py, PyTuple>)> {
        let tensor = match self {
            Self::Call(name, values) => return Ok((*name, values.bind(py).clone())),
            Self::Memory(tensor) => tensor,
        };
        let blocks = PyTuple::new(py, &tensor.ty().blocks)?;
        let executor = run::executor(None, None)?.collect_limit(u64::MAX);
        match run::computing(py, executor, |executor| executor.collect(tensor))? {
            Block::Numbers(array) => {
                Ok(("array", (from_tensor(py, array)?, blocks).into_pyobject(py)?))
            }
            Block::Lists(lists) => {
                let items = values::objects(py, &lists)?.call_method0("ravel")?;
                let items = items.call_method0("tolist")?;
                let shape = PyTuple::new(py, tensor.dims())?;
                let of = tensor.element_type().to_string();
                Ok(("lit", (items, shape, blocks, of).into_pyobject(py)?))
            }
        }
    }
}

/// A function and its arguments, from which pickle rebuilds a tensor.
pub fn reduced<'py>(
    tensor: &BigTensor,
    py: Python<'py>,
) -> PyResult<(Bound<'py, PyAny>, (Vec<PickledStep<'py>>,))> {
    Ok((py.import("ijk._recipe")?.getattr("tensor")?, (tensor.steps(py)?,)))
}
