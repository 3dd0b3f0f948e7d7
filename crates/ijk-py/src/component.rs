//! Programs in i.

use crate::arrays::{
    Readonly, direct, dtype_of, from_tensor, is_number, named, type_of, typed_number,
};
use crate::axes;
use crate::blocks;
use crate::engine::{self, Engine};
use crate::error::raise;
use crate::explanation::Explanation;
use crate::linear;
use crate::numbers;
use crate::outputs::Outputs;
use crate::points;
use crate::recipe::{Recipe, Step};
use crate::run::computing;
use ijk::__private::core::TypeTerm;
use ijk::{LoopForm, TensorView, TensorViewMut};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// A program in i: a function of arrays.
///
/// Component(source). `f >> g` is f, then g (`f . g` in i); `f << g` is g, then f; `f & g` applies both to the
/// same arguments, `f | g` to separate ones, and `~f` swaps the first two. `f ** 10` applies f ten times;
/// f.fold() and f.scan() apply it to one row of further arguments after another.
#[pyclass(module = "ijk", frozen, weakref)]
pub struct Component {
    pub inner: ijk::Program,
    recipe: Recipe,
}

#[pymethods]
impl Component {
    #[new]
    fn new(source: &str) -> PyResult<Self> {
        Ok(Self { inner: ijk::i(source).map_err(raise)?, recipe: Recipe::text(source) })
    }

    /// Applies the program; returns an array, or a tuple if it has several results. If an argument is a block
    /// tensor, results are block tensors; tensors of PyTorch give such tensors, and arrays of JAX, of xarray and of other
    /// libraries with the Python array API arrays of theirs. Two of these kinds raise TypeError.
    ///
    /// A plain number of Python takes the element type of the other arguments that share its type.
    ///
    /// out: an array that the result is written to, or a tuple of one for each result. It may share memory with
    /// arguments, whose old elements are read. If arguments are tensors, out may be, too.
    #[pyo3(signature = (*arguments, out = None, engine = None))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
        engine: Option<&Bound<'py, Engine>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = &slf.get().with_weak_numbers(arguments)?;
        if let Some(tensors) = blocks::any(arguments)? {
            if out.is_some() || engine.is_some() {
                let message = "block tensors are computed when they are collected or written: no out, no engine";
                return Err(PyTypeError::new_err(message));
            }
            return blocks::apply(slf, &tensors);
        }
        match direct(arguments, out)? {
            Some(arrays) => slf.get().computed(py, &arrays, out, engine),
            None => {
                let function = py.import("ijk._interchange")?.getattr("apply")?;
                let options = PyDict::new(py);
                options.set_item("out", out)?;
                options.set_item("engine", engine)?;
                function.call((slf, arguments), Some(&options))
            }
        }
    }

    /// Applies the program to arrays of NumPy; other arguments are converted before.
    #[pyo3(signature = (*arguments, out = None, engine = None))]
    fn _apply<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
        engine: Option<&Bound<'py, Engine>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = &self.with_weak_numbers(arguments)?;
        self.computed(py, &crate::arrays::arguments(arguments, "argument")?, out, engine)
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

    /// Element types and shapes of the results, for arguments of these.
    fn results(&self, arguments: Vec<(String, Vec<usize>)>) -> PyResult<Vec<(String, Vec<usize>)>> {
        let typed = arguments.iter().map(|(name, shape)| Ok((type_of(name)?, &shape[..])));
        let typed = typed.collect::<PyResult<Vec<_>>>()?;
        let results = self.inner.results(&typed).map_err(raise)?;
        Ok(results.into_iter().map(|(dtype, shape)| (named(dtype), shape)).collect())
    }

    /// For each axis of arguments of these ranks, and of each result, the number of its class: axes that one letter
    /// indexes are in one class. Then for each axis of each result its letter.
    #[allow(clippy::type_complexity, reason = "three lists for Python")]
    fn axes(
        &self,
        ranks: Vec<usize>,
    ) -> PyResult<(Vec<Vec<usize>>, Vec<Vec<usize>>, Vec<Vec<String>>)> {
        axes::classes(self.inner.lowered(), &ranks)
    }

    /// The program as an einsum: factors, each an argument's number and its indices, and the indices of the result.
    /// None where it is no sum of products.
    fn product(&self) -> Option<linear::Product> {
        linear::product(self.inner.lowered())
    }

    /// The texts and combinators of the program, parts first: for each a word, and the numbers of its parts.
    fn steps(&self) -> Vec<Step> {
        self.recipe.texts()
    }

    /// The text of a program without combining operators, else None.
    #[getter]
    fn source(&self) -> Option<&str> {
        self.recipe.source()
    }

    /// Arguments from which pickle rebuilds the program: its steps.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Vec<Step>,))> {
        Ok((py.import("ijk._recipe")?.getattr("component")?, (self.steps(),)))
    }

    /// The program itself, which does not change.
    fn __copy__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    /// The program itself.
    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf.clone()
    }

    /// Name by which libraries call a function.
    #[getter]
    fn __name__(&self) -> &'static str {
        "component"
    }

    /// Explains an application to arrays of these element types, shapes and strides: the plan, its cost, and for each
    /// step the kernel, the blocking, and the reasons for both. Nothing is computed.
    #[pyo3(signature = (*arguments, engine = None))]
    fn explain(
        &self,
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        engine: Option<&Bound<'_, Engine>>,
    ) -> PyResult<Explanation> {
        if blocks::any(arguments)?.is_some() {
            return Err(PyTypeError::new_err(
                "block tensors have no plan of one engine to explain",
            ));
        }
        let arrays = crate::arrays::arguments(arguments, "argument")?;
        let views: Vec<TensorView<'_>> = arrays.iter().map(Readonly::view).collect();
        let engine = engine::engine(py, engine)?;
        Explanation::of(&engine.explain_arrays(&self.inner, &views).map_err(raise)?)
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
        self.with(then.get(), "rshift", ijk::Program::chain)
    }

    fn __lshift__(&self, first: &Bound<'_, Self>) -> PyResult<Self> {
        self.with(first.get(), "lshift", ijk::Program::compose)
    }

    fn __and__(&self, other: &Bound<'_, Self>) -> PyResult<Self> {
        self.with(other.get(), "and_", ijk::Program::fanout)
    }

    fn __or__(&self, other: &Bound<'_, Self>) -> PyResult<Self> {
        self.with(other.get(), "or_", ijk::Program::pair)
    }

    fn __invert__(&self) -> PyResult<Self> {
        let recipe = Recipe::combined("invert", [&self.recipe]);
        Ok(Self { inner: self.inner.swap().map_err(raise)?, recipe })
    }

    fn __pow__(&self, passes: u64, modulo: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        match modulo {
            None => self.repeat(passes),
            Some(_) => Err(PyTypeError::new_err("a component to a power has no modulus")),
        }
    }

    /// The program a number of times: its results are the next values of its first arguments, and its other arguments
    /// are the same in every pass. The same as `self ** passes`, and as `@repeat{passes} self` in i.
    fn repeat(&self, passes: u64) -> PyResult<Self> {
        self.looped(LoopForm::Repeat, Some(passes), None)
    }

    /// The program once for each row along the first axis of its further arguments: its results are the next values of
    /// its first arguments, and the last values are the result. `@fold self` in i.
    ///
    /// rows: the number of further arguments of which each pass takes a row; the others are the same in every pass.
    /// passes: the number of passes, needed if there are no such arguments.
    #[pyo3(signature = (rows = None, passes = None))]
    fn fold(&self, rows: Option<usize>, passes: Option<u64>) -> PyResult<Self> {
        self.looped(LoopForm::Fold, passes, rows)
    }

    /// As fold, but the result has the values after every pass, along a new first axis. `@scan self` in i.
    #[pyo3(signature = (rows = None, passes = None))]
    fn scan(&self, rows: Option<usize>, passes: Option<u64>) -> PyResult<Self> {
        self.looped(LoopForm::Scan, passes, rows)
    }

    /// As fold, but the last row comes first. `@foldback self` in i.
    #[pyo3(signature = (rows = None, passes = None))]
    fn foldback(&self, rows: Option<usize>, passes: Option<u64>) -> PyResult<Self> {
        self.looped(LoopForm::FoldBack, passes, rows)
    }

    /// As scan, but the last row comes first: row k of a result is the state after row k of the arguments and those
    /// behind it. `@scanback self` in i.
    #[pyo3(signature = (rows = None, passes = None))]
    fn scanback(&self, rows: Option<usize>, passes: Option<u64>) -> PyResult<Self> {
        self.looped(LoopForm::ScanBack, passes, rows)
    }

    /// As repeat, but the last result is a bool of rank 0, which ends the loop after the first pass in which it is true;
    /// passes is the greatest number of passes. `@until{passes} self` in i.
    fn until(&self, passes: u64) -> PyResult<Self> {
        self.looped(LoopForm::Until, Some(passes), None)
    }

    fn __repr__(&self) -> String {
        format!("Component({})", self.inner.signature())
    }

    fn __str__(&self) -> String {
        self.inner.to_string()
    }
}

type Combine = fn(&ijk::Program, &ijk::Program) -> Result<ijk::Program, ijk::Error>;

impl Component {
    fn looped(&self, form: LoopForm, passes: Option<u64>, rows: Option<usize>) -> PyResult<Self> {
        let inner = self.inner.looped(form, passes, rows).map_err(raise)?;
        let number = |n: Option<u64>| n.map_or("-".into(), |n| n.to_string());
        let (passes, rows) = (number(passes), number(rows.map(|n| n as u64)));
        let word = format!("{} {rows} {passes}", form.name());
        Ok(Self { inner, recipe: Recipe::combined(&word, [&self.recipe]) })
    }

    /// Two programs combined by an operator of Python.
    fn with(&self, other: &Self, operator: &str, combine: Combine) -> PyResult<Self> {
        let inner = combine(&self.inner, &other.inner).map_err(raise)?;
        Ok(Self { inner, recipe: Recipe::combined(operator, [&self.recipe, &other.recipe]) })
    }

    /// Converts plain numbers of Python to the element types that the other arguments give them.
    fn with_weak_numbers<'py>(
        &self,
        arguments: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        if !arguments.iter().any(|any| is_number(&any)) {
            return Ok(arguments.clone());
        }
        let signature = self.inner.signature();
        let inputs = &signature.inputs;
        let wanted = |n: usize| match inputs.get(n)?.dtype {
            TypeTerm::Fixed(t) => Some(t),
            TypeTerm::Var(v) => {
                let same = inputs
                    .iter()
                    .zip(arguments.iter())
                    .filter(|(port, any)| port.dtype == TypeTerm::Var(v) && !is_number(any));
                same.into_iter().find_map(|(_, any)| dtype_of(&any))
            }
            TypeTerm::RealOf(_) => None,
        };
        let py = arguments.py();
        let arrays = arguments.iter().enumerate().map(|(n, any)| match wanted(n) {
            Some(t) if is_number(&any) => typed_number(&any, t, n),
            _ => Ok(any),
        });
        PyTuple::new(py, arrays.collect::<PyResult<Vec<_>>>()?)
    }

    /// Computes with arrays where they lie.
    fn computed<'py>(
        &self,
        py: Python<'py>,
        arrays: &[Readonly<'py>],
        out: Option<&Bound<'py, PyAny>>,
        engine: Option<&Bound<'py, Engine>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let views: Vec<TensorView<'_>> = arrays.iter().map(Readonly::view).collect();
        let engine = engine::engine(py, engine)?;
        if let Some(out) = out {
            let direct =
                |outputs: &mut [TensorViewMut<'_>]| engine.apply_into(&self.inner, &views, outputs);
            let fresh = || engine.apply(&self.inner, &views);
            return Outputs::of(out)?.compute(engine, arrays, direct, fresh);
        }
        let results = computing(py, || engine.apply(&self.inner, &views))?;
        let results = results.into_iter().map(|tensor| from_tensor(py, tensor));
        let mut results = results.collect::<PyResult<Vec<_>>>()?;
        match results.len() {
            1 => Ok(results.swap_remove(0)),
            _ => Ok(PyTuple::new(py, results)?.into_any()),
        }
    }
}
