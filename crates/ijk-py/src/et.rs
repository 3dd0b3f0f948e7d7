//! Programs in Einsum Tuple.

use crate::arrays::{Readonly, from_tensor, readonly};
use crate::blocks;
use crate::engine::{self, Engine};
use crate::error::raise;
use crate::numbers;
use crate::run::computing;
use ijk::et::Bindings;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;

/// A program in Einsum Tuple: statements on arrays of any rank.
#[pyclass(module = "ijk", frozen)]
pub struct Program {
    inner: ijk::et::Program,
}

#[pymethods]
impl Program {
    #[new]
    fn new(source: &str) -> PyResult<Self> {
        Ok(Self { inner: ijk::et(source).map_err(raise)? })
    }

    /// Runs the program on arrays by name, and returns a dict of its outputs. `ranks` and `dims` fix ranks and
    /// extents that neither arrays nor constraints determine, `seed` seeds random numbers. If an array is a block
    /// tensor, outputs are block tensors.
    #[pyo3(signature = (*, ranks = None, dims = None, seed = None, engine = None, **arrays))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        ranks: Option<HashMap<String, Bound<'py, PyAny>>>,
        dims: Option<HashMap<String, Bound<'py, PyAny>>>,
        seed: Option<&Bound<'py, PyAny>>,
        engine: Option<&Bound<'py, Engine>>,
        arrays: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let choices = choices(ranks, dims, seed)?;
        if let Some(tensors) = arrays.map(blocks::any_by_name).transpose()?.flatten() {
            if engine.is_some() {
                let message =
                    "block tensors are computed when they are collected or written: no engine";
                return Err(PyTypeError::new_err(message));
            }
            return blocks::apply_by_name(py, &self.inner, &tensors, &choices);
        }
        let count = arrays.map_or(0, |arrays| arrays.len());
        let (mut names, mut given) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (name, array) in arrays.into_iter().flat_map(|arrays| arrays.iter()) {
            let name: String = name.extract()?;
            given.push(readonly(&array, || format!("`{name}`"))?);
            names.push(name);
        }
        let bound = names.into_iter().zip(given.iter().map(Readonly::view));
        let bindings = bound.fold(choices, |bindings, (name, view)| bindings.bind(name, view));
        let engine = engine::engine(py, engine)?;
        let mut outputs = computing(py, || self.inner.run_on(engine, &bindings))?;
        let results = PyDict::new(py);
        for (name, tensor) in outputs.take_all() {
            results.set_item(name, from_tensor(py, tensor)?)?;
        }
        Ok(results)
    }

    /// Arrays that can be bound, and outputs, as text.
    #[getter]
    fn signature(&self) -> String {
        self.inner.signature().to_string()
    }

    fn __repr__(&self) -> String {
        format!("Program({:?})", self.inner.to_string())
    }
}

/// Ranks, extents and the seed of a run.
fn choices<'a>(
    ranks: Option<HashMap<String, Bound<'_, PyAny>>>,
    dims: Option<HashMap<String, Bound<'_, PyAny>>>,
    seed: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bindings<'a>> {
    let mut bindings = Bindings::new();
    for (name, rank) in ranks.into_iter().flatten() {
        bindings = bindings.rank(&name, numbers::whole(&rank, &format!("ranks[{name:?}]"))?);
    }
    for (name, dims) in dims.into_iter().flatten() {
        let dims: Vec<u64> = numbers::shape(&dims, &format!("dims[{name:?}]"))?;
        bindings = bindings.dims(&name, dims);
    }
    Ok(match seed {
        Some(seed) => bindings.seed(numbers::whole(seed, "seed")?),
        None => bindings,
    })
}
