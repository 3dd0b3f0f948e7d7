//! Programs in Einsum Tuple.

use crate::arrays::{Readonly, from_tensor, is_number, readonly};
use crate::blocks;
use crate::engine::{self, Engine};
use crate::error::raise;
use crate::explanation::Explanation;
use crate::numbers;
use crate::run::computing;
use ijk::et::Bindings;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyType};
use std::collections::HashMap;

/// A program in Einsum Tuple: statements on arrays of any rank.
#[pyclass(module = "ijk", frozen, weakref)]
pub struct Program {
    pub inner: ijk::et::Program,
}

#[pymethods]
impl Program {
    #[new]
    fn new(py: Python<'_>, source: &str) -> PyResult<Self> {
        let inner = ijk::et(source).map_err(raise)?;
        // The caller of the function `et` is two frames up.
        warn(py, source, inner.warnings(), 2)?;
        Ok(Self { inner })
    }

    /// Runs the program on arrays by name, and returns a dict of its outputs. `ranks` and `dims` fix ranks and
    /// extents that neither arrays nor constraints determine, `seed` seeds random numbers. Arrays by names that are
    /// taken, such as `seed`, stand in a dict: `program({"seed": x})`. If an array is a block tensor, outputs are block
    /// tensors.
    #[pyo3(signature = (named = None, /, *, ranks = None, dims = None, seed = None, engine = None, **arrays))]
    #[allow(clippy::too_many_arguments, reason = "Python's keywords")]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        py: Python<'py>,
        named: Option<&Bound<'py, PyAny>>,
        ranks: Option<HashMap<String, Bound<'py, PyAny>>>,
        dims: Option<HashMap<String, Bound<'py, PyAny>>>,
        seed: Option<&Bound<'py, PyAny>>,
        engine: Option<&Bound<'py, Engine>>,
        arrays: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let dict = named.and_then(|named| named.cast::<PyDict>().ok());
        if let (Some(named), None) = (named, dict) {
            let options = given_choices(py, &ranks, &dims, seed)?;
            options.set_item("engine", engine)?;
            let run = py.import("ijk._interchange")?.getattr("run_named")?;
            return run.call1((slf, named, arrays, options));
        }
        let arrays = together(dict, arrays)?;
        let [numbers, others] = apart(arrays.as_ref())?;
        if let Some(given) = direct(others.as_ref())? {
            let choices = with_numbers(choices(ranks, dims, seed)?, numbers.as_ref())?;
            return Ok(slf.get().computed(py, choices, engine, given)?.into_any());
        }
        if let Some(tensors) = others.as_ref().map(blocks::any_by_name).transpose()?.flatten() {
            if engine.is_some() {
                let message =
                    "block tensors are computed when they are collected or written: no engine";
                return Err(PyTypeError::new_err(message));
            }
            let given = given_choices(py, &ranks, &dims, seed)?;
            given.set_item("numbers", &numbers)?;
            let choices = with_numbers(choices(ranks, dims, seed)?, numbers.as_ref())?;
            return Ok(blocks::apply_by_name(slf, &tensors, &choices, &given)?.into_any());
        }
        let options = given_choices(py, &ranks, &dims, seed)?;
        options.set_item("engine", engine)?;
        options.set_item("numbers", numbers)?;
        py.import("ijk._interchange")?.getattr("run")?.call1((slf, others, options))
    }

    /// Runs the program on arrays of NumPy, and numbers; others are converted before.
    #[pyo3(signature = (named, /, *, numbers = None, ranks = None, dims = None, seed = None, engine = None))]
    #[allow(clippy::too_many_arguments, reason = "Python's keywords")]
    fn _apply<'py>(
        &self,
        py: Python<'py>,
        named: &Bound<'py, PyDict>,
        numbers: Option<&Bound<'py, PyDict>>,
        ranks: Option<HashMap<String, Bound<'py, PyAny>>>,
        dims: Option<HashMap<String, Bound<'py, PyAny>>>,
        seed: Option<&Bound<'py, PyAny>>,
        engine: Option<&Bound<'py, Engine>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let choices = with_numbers(choices(ranks, dims, seed)?, numbers)?;
        self.computed(py, choices, engine, by_name(Some(named))?)
    }

    /// Explains a run on arrays of these element types and shapes, in C order: one explanation for each stage of the
    /// program, with the plan, its cost, and for each step the kernel, the blocking, and the reasons for both. Nothing
    /// is computed.
    #[pyo3(signature = (named = None, /, *, ranks = None, dims = None, seed = None, engine = None, **arrays))]
    #[allow(clippy::too_many_arguments, reason = "Python's keywords")]
    fn explain(
        &self,
        py: Python<'_>,
        named: Option<&Bound<'_, PyDict>>,
        ranks: Option<HashMap<String, Bound<'_, PyAny>>>,
        dims: Option<HashMap<String, Bound<'_, PyAny>>>,
        seed: Option<&Bound<'_, PyAny>>,
        engine: Option<&Bound<'_, Engine>>,
        arrays: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Explanation>> {
        let [numbers, others] = apart(together(named, arrays)?.as_ref())?;
        let given = by_name(others.as_ref())?;
        let choices = with_numbers(choices(ranks, dims, seed)?, numbers.as_ref())?;
        let bindings = bound(choices, &given);
        let engine = engine::engine(py, engine)?;
        let explanations = self.inner.explain(engine, &bindings).map_err(raise)?;
        explanations.iter().map(Explanation::of).collect()
    }

    /// Refuses names of eintups of which the program reads components as values, `time[time]`: whoever has arrays of
    /// these names means their elements.
    fn _check_components(&self, names: Vec<String>) -> PyResult<()> {
        let mut read = names.iter().filter(|name| self.inner.reads_component(name));
        read.try_for_each(|name| self.inner.check_input(name).map_err(raise))
    }

    /// Inputs and outputs with their indices.
    #[getter]
    fn signature(&self) -> String {
        self.inner.signature().to_string()
    }

    /// The text.
    #[getter]
    fn source(&self) -> &str {
        self.inner.source()
    }

    /// Name by which libraries call a function.
    #[getter]
    fn __name__(&self) -> &'static str {
        "program"
    }

    /// Arguments from which pickle rebuilds the program: its text.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (String,)) {
        (slf.get_type(), (slf.get().inner.source().into(),))
    }

    /// The program itself, which does not change.
    fn __copy__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    /// The program itself.
    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf.clone()
    }

    fn __repr__(&self) -> String {
        format!("Program({:?})", self.inner.to_string())
    }
}

impl Program {
    /// Computes with arrays by name, where they lie.
    fn computed<'py>(
        &self,
        py: Python<'py>,
        choices: Bindings<'static>,
        engine: Option<&Bound<'py, Engine>>,
        given: Vec<(String, Readonly<'py>)>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let bindings = bound(choices, &given);
        let engine = engine::engine(py, engine)?;
        let mut outputs = computing(py, || self.inner.run_on(engine, &bindings))?;
        warn(py, self.inner.source(), outputs.warnings(), 1)?;
        let results = PyDict::new(py);
        for (name, tensor) in outputs.take_all() {
            results.set_item(name, from_tensor(py, tensor)?)?;
        }
        Ok(results)
    }
}

/// Issues warnings about a program, with `frames` as Python's `stacklevel`: 1 is the present frame.
fn warn(py: Python<'_>, source: &str, all: &[ijk::Diagnostic], frames: u32) -> PyResult<()> {
    for warning in all {
        let message = ijk::render(source, "program", std::slice::from_ref(warning), false);
        py.import("warnings")?.call_method1("warn", (message, py.None(), frames))?;
    }
    Ok(())
}

/// The arrays of a dict and those of keywords; a name in both is an error.
fn together<'py>(
    named: Option<&Bound<'py, PyDict>>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(named) = named else { return Ok(keywords.cloned()) };
    let all = named.copy()?;
    for (name, array) in keywords.into_iter().flat_map(|keywords| keywords.iter()) {
        if all.contains(&name)? {
            return Err(PyTypeError::new_err(format!("the array `{name}` is given twice")));
        }
        all.set_item(name, array)?;
    }
    Ok(Some(all))
}

/// The plain numbers of a dict, and the others: a number takes the element type of what it is combined with.
fn apart<'py>(all: Option<&Bound<'py, PyDict>>) -> PyResult<[Option<Bound<'py, PyDict>>; 2]> {
    let Some(all) = all else { return Ok([None, None]) };
    // An integer that fits no element type is an array, whose error says so.
    let plain = |any: &Bound<'py, PyAny>| {
        is_number(any) && (any.extract::<i64>().is_ok() || any.is_instance_of::<PyFloat>())
    };
    if !all.iter().any(|(_, any)| plain(&any)) {
        return Ok([None, Some(all.clone())]);
    }
    let (numbers, others) = (PyDict::new(all.py()), PyDict::new(all.py()));
    for (name, any) in all {
        let own = if plain(&any) { &numbers } else { &others };
        own.set_item(name, any)?;
    }
    Ok([Some(numbers), Some(others)])
}

/// Bindings with plain numbers.
fn with_numbers<'a>(
    mut bindings: Bindings<'a>,
    numbers: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bindings<'a>> {
    for (name, number) in numbers.into_iter().flatten() {
        let name: String = name.extract()?;
        bindings = match number.extract::<i64>() {
            Ok(whole) => bindings.bind(name, whole),
            Err(_) => bindings.bind(name, number.extract::<f64>()?),
        };
    }
    Ok(bindings)
}

/// Names and arrays of a dict, if all are arrays of NumPy.
fn direct<'py>(
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Vec<(String, Readonly<'py>)>>> {
    let Some(named) = named else { return Ok(Some(Vec::new())) };
    let mut given = Vec::with_capacity(named.len());
    for (name, array) in named {
        let Some(array) = Readonly::of(&array)? else { return Ok(None) };
        given.push((name.extract()?, array));
    }
    Ok(Some(given))
}

/// Names and arrays of a dict.
fn by_name<'py>(arrays: Option<&Bound<'py, PyDict>>) -> PyResult<Vec<(String, Readonly<'py>)>> {
    let given = arrays.into_iter().flat_map(|arrays| arrays.iter());
    let given = given.map(|(name, array)| {
        let array = readonly(&array, || format!("`{name}`"))?;
        Ok((name.extract()?, array))
    });
    given.collect()
}

/// Bindings with arrays.
fn bound<'a>(bindings: Bindings<'a>, given: &'a [(String, Readonly<'_>)]) -> Bindings<'a> {
    given
        .iter()
        .fold(bindings, |bindings, (name, array)| bindings.bind(name.as_str(), array.view()))
}

/// Ranks, extents and the seed of a run, as they were given.
fn given_choices<'py>(
    py: Python<'py>,
    ranks: &Option<HashMap<String, Bound<'py, PyAny>>>,
    dims: &Option<HashMap<String, Bound<'py, PyAny>>>,
    seed: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = PyDict::new(py);
    options.set_item("ranks", ranks)?;
    options.set_item("dims", dims)?;
    options.set_item("seed", seed)?;
    Ok(options)
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
        let what = format!("dims[{name:?}]");
        let dims: Vec<u64> = match dims.is_instance_of::<PyInt>() {
            true => vec![numbers::whole(&dims, &what)?],
            false => numbers::shape(&dims, &what)?,
        };
        bindings = bindings.dims(&name, dims);
    }
    Ok(match seed {
        Some(seed) => bindings.seed(numbers::whole(seed, "seed")?),
        None => bindings,
    })
}
