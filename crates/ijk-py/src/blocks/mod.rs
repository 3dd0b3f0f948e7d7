//! Block tensors.

mod foreign;
mod operators;
mod programs;
mod recipe;
mod run;
mod stores;
mod values;

use crate::arrays::{from_tensor, readonly};
use crate::component::Component;
use crate::error::raise_blocks;
use crate::memory::typestr;
use crate::numbers;
use crate::recipe::Recipe;
use ijk::blocks::{
    self, Aggregation, Block, Error, Function, IntoAggregation, IntoFunction, Positions, UnaryOp,
    Zip,
};
use numpy::PyUntypedArray;
use operators::{no_tensor, or_else};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice, PyTuple};
use recipe::{PickledStep, TensorStep};
use std::path::PathBuf;

pub use programs::{any, any_by_name, apply, apply_by_name};

/// A tensor cut into blocks, as a term: nothing is computed before it is collected or written.
///
/// BigTensor(array, blocks=None)
///
/// array: a NumPy array, or a value that converts to one; it is copied. Arrays in files (numpy.memmap, datasets of h5py,
/// zarr.Array) and dask arrays are not: each of their blocks is read when it is needed, every time.
/// blocks: for each axis the extent of a block, or None if the axis is not cut; None for no axis, or for the chunks of
/// an array that has such.
///
/// Its type is (shape, blocks, element type). u + v, - * / and max, min take tensors of one shape and type with
/// compatible blocks (equal, or one of them None), or a number; u @ v contracts the last axis of u with the
/// first of v. Raises ijk.Error (a ValueError) or ijk.DTypeError (a TypeError), with the rule, the types and the
/// axis that does not fit. repr is the type, str the term.
///
/// >>> u = ijk.BigTensor(np.arange(6.0).reshape(2, 3), [1, 2])
/// >>> u
/// BigTensor([2, 3], [1, 2], f64)
/// >>> (u @ u.einsum("ij->ji", u)).collect()
/// array([[ 5., 14.],
///        [14., 50.]])
#[pyclass(module = "ijk", frozen, weakref)]
pub struct BigTensor {
    inner: blocks::BigTensor,
    recipe: Recipe<TensorStep>,
}

impl BigTensor {
    /// The same tensor, as another object of Python's.
    fn same(&self) -> Self {
        Self { inner: self.inner.clone(), recipe: self.recipe.clone() }
    }
}

/// Elements from which on an array is copied without the interpreter lock.
const LONG_COPY: usize = 1 << 16;

#[pymethods]
impl BigTensor {
    #[new]
    #[pyo3(signature = (array, blocks = None))]
    fn new(array: &Bound<'_, PyAny>, blocks: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let py = array.py();
        if !array.is_exact_instance_of::<PyUntypedArray>() {
            let opened = py.import("ijk._sources")?.call_method1("opened", (array, blocks))?;
            if let Ok(opened) = opened.cast::<Self>() {
                return Ok(opened.get().same());
            }
        }
        let blocks = blocks.map(numbers::blocks).transpose()?;
        let array = readonly(array, || "an array".into())?;
        let view = array.view();
        let copied = match view.len() {
            0..LONG_COPY => view.to_tensor(),
            _ => py.detach(|| view.to_tensor()),
        };
        let tensor = copied.map_err(|error| raise_blocks(error.into()))?;
        let blocks = blocks.unwrap_or_else(|| vec![None; tensor.shape().len()]);
        Self::in_memory(blocks::BigTensor::from_tensor(tensor, blocks))
    }

    /// The elements, in C order, of a tensor of that shape: numbers, or lists of numbers, or lists of these.
    ///
    /// dtype: "f64", "array(i64)", "array(array(f32))"; by default the common type of the elements. 1 and 2.5 have
    /// no common type: write 1.0, or give dtype.
    ///
    /// >>> ijk.BigTensor.lit([[1, 2], [], [3]], [3], [None])
    /// BigTensor([3], [⊥], array(i64))
    #[staticmethod]
    #[pyo3(signature = (elements, shape, blocks, dtype = None))]
    fn lit(
        elements: &Bound<'_, PyAny>,
        shape: &Bound<'_, PyAny>,
        blocks: &Bound<'_, PyAny>,
        dtype: Option<&str>,
    ) -> PyResult<Self> {
        let shape: Vec<usize> = numbers::shape(shape, "shape")?;
        let blocks = numbers::blocks(blocks)?;
        let (of, values) = values::read(elements, dtype)?;
        Self::in_memory(blocks::BigTensor::lit_of(of, values, shape, blocks))
    }

    /// A tensor whose blocks are read by a function: of the first and the last positions of a block along each axis.
    /// `source` is pickled in place of the function: a tensor of that has the same blocks.
    #[staticmethod]
    fn _reading(
        py: Python<'_>,
        read: Py<PyAny>,
        shape: Vec<usize>,
        blocks: &Bound<'_, PyAny>,
        dtype: &str,
        named: (String, String),
        source: Py<PyAny>,
    ) -> PyResult<Self> {
        let (blocks, (name, identity)) = (numbers::blocks(blocks)?, named);
        let call = ("array", (source, PyTuple::new(py, &blocks)?));
        Self::called(py, foreign::reading(read, shape, blocks, dtype, name, identity)?, call, [])
    }

    /// The tensor of a Zarr array of format 3 or 2: its chunks are the blocks.
    ///
    /// path: a directory, a zip archive or a place in one, or a URL: s3://bucket/key, https://host/path.
    /// storage_options: a dict for object stores, with the names of AWS's variables in lower case, without aws_
    /// (access_key_id, endpoint_url, region, profile, …), or with those of s3fs (key, secret, anon, client_kwargs).
    /// Without it the environment counts.
    ///
    /// Raises ijk.StoreError if there is none, or if it is an unfinished result. partial=True opens that, too, with
    /// the fill value in place of missing blocks.
    #[staticmethod]
    #[pyo3(signature = (path, *, partial = false, storage_options = None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        partial: bool,
        storage_options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let entries = stores::entries(storage_options)?;
        let options = stores::with_entries(&entries);
        let executor = run::executor(None, None)?;
        let opened = run::computing(py, executor, |executor| match partial {
            true => executor.open_partial(&path, &options),
            false => executor.open(&path, &options),
        });
        // Another process may be in another directory.
        let path = match blocks::url_scheme(&path) {
            None => std::path::absolute(&path)?,
            Some(_) => path,
        };
        let path = path.into_os_string();
        Self::called(py, Ok(opened?), ("open", (path, partial, entries)), [])
    }

    /// The einsum of tensors, with numpy.einsum's meaning of subscripts; NumPy arrays are operands that are not cut.
    ///
    /// Raises ijk.Error where subscripts are wrong or do not fit, or an index has different blocks.
    #[staticmethod]
    #[pyo3(signature = (subscripts, *tensors))]
    fn einsum(subscripts: &str, tensors: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let py = tensors.py();
        let tensors = tensors.iter().map(|any| tensor(&any)).collect::<PyResult<Vec<_>>>()?;
        let inner: Vec<&blocks::BigTensor> = tensors.iter().map(|tensor| &tensor.inner).collect();
        let built = blocks::BigTensor::einsum(subscripts, &inner);
        Self::called(py, built, ("einsum", (subscripts,)), &tensors)
    }

    /// The extent of each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.dims())
    }

    /// For each axis the extent of a block, or None if it is not cut.
    #[getter]
    fn blocks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.inner.ty().blocks)
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.inner.dims().len()
    }

    /// NumPy's element type; for lists its name, such as "array(f64)".
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.inner.element_type().number() {
            Some(dtype) => py.import("numpy")?.call_method1("dtype", (typestr(dtype),)),
            None => Ok(self.inner.element_type().to_string().into_pyobject(py)?.into_any()),
        }
    }

    fn __add__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        or_else(other.py(), Self::combined(slf, Zip::Add, other, false)?)
    }

    fn __radd__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        or_else(other.py(), Self::combined(slf, Zip::Add, other, true)?)
    }

    fn __sub__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        or_else(other.py(), Self::combined(slf, Zip::Sub, other, false)?)
    }

    fn __rsub__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        or_else(other.py(), Self::combined(slf, Zip::Sub, other, true)?)
    }

    fn __mul__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        or_else(other.py(), Self::combined(slf, Zip::Mul, other, false)?)
    }

    fn __rmul__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        or_else(other.py(), Self::combined(slf, Zip::Mul, other, true)?)
    }

    fn __truediv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        or_else(other.py(), Self::combined(slf, Zip::Div, other, false)?)
    }

    fn __rtruediv__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        or_else(other.py(), Self::combined(slf, Zip::Div, other, true)?)
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
        Self::called(py, self.inner.map(UnaryOp::Neg), ("neg", ()), [self])
    }

    fn __matmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let product = match other.cast::<Self>() {
            Ok(right) => {
                let right = right.get();
                let built = self.inner.matmul(&right.inner);
                Some(Self::called(other.py(), built, ("matmul", ()), [self, right])?)
            }
            Err(_) => None,
        };
        or_else(other.py(), product)
    }

    /// Elementwise maximum with another tensor or a number.
    fn max(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::combined(slf, Zip::Max, other, false)?.ok_or_else(|| no_tensor(other))
    }

    /// Elementwise minimum with another tensor or a number.
    fn min(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::combined(slf, Zip::Min, other, false)?.ok_or_else(|| no_tensor(other))
    }

    /// The tensor repeated to a shape whose extents are integer multiples, aligned at the right, in compatible
    /// blocks.
    fn bc(&self, shape: &Bound<'_, PyAny>, blocks: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = blocks.py();
        let shape: Vec<usize> = numbers::shape(shape, "shape")?;
        let blocks = numbers::blocks(blocks)?;
        let call = ("bc", (PyTuple::new(py, &shape)?, PyTuple::new(py, &blocks)?));
        Self::called(py, self.inner.bc(shape, blocks), call, [self])
    }

    /// Some positions of each axis: a slice or range without steps, ascending positions, or None for all.
    ///
    /// >>> u.select(slice(0, 1), [0, 2])
    /// BigTensor([1, 2], [1, 2], f64)
    #[pyo3(signature = (*positions))]
    fn select(&self, positions: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let py = positions.py();
        let all = positions.iter().enumerate().map(|(axis, any)| self.positions(axis, &any));
        let all = all.collect::<PyResult<Vec<_>>>()?;
        let given = all.iter().map(|positions| given(py, positions));
        let call = ("select", PyTuple::new(py, given.collect::<PyResult<Vec<_>>>()?)?);
        Self::called(py, self.inner.select(all), call, [self])
    }

    /// A function of each element: text such as "x + 1", "f64(x) / 2" or "0 < x and x < 1", or a program in i
    /// of one array of rank 0. If elements are lists, len(x), sum(x), prod(x), max(x), min(x), all(x), any(x),
    /// argmax(x) and argmin(x) fold each list, and all other operations apply to each item: "x + 1", or, with a cast,
    /// "sum(x) / f64(len(x))".
    ///
    /// >>> ijk.BigTensor.lit([[1, 2], [], [3]], [3], [None]).map("sum(x) > 2").collect()
    /// array([ True, False,  True])
    fn map(&self, function: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (py, call) = (function.py(), ("map", (function,)));
        if let Ok(component) = function.cast::<Component>() {
            return Self::called(py, self.inner.map(&component.get().inner), call, [self]);
        }
        let text: String = function.extract().map_err(|_| {
            let kind = function.get_type();
            PyTypeError::new_err(format!("map takes text or a component, not {kind}"))
        })?;
        Self::called(py, self.inner.map(function_of(&text)?), call, [self])
    }

    /// The same elements in other blocks.
    fn reblock(&self, blocks: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (py, blocks) = (blocks.py(), numbers::blocks(blocks)?);
        let call = ("reblock", (PyTuple::new(py, &blocks)?,));
        Self::called(py, self.inner.reblock(blocks), call, [self])
    }

    /// The sum of products along axis i of this tensor and axis j of the other, or another aggregation, such as
    /// "max(l + r)" or a program in i of two arrays of rank 1: see ijk.contract.
    #[pyo3(signature = (other, i, j, aggregation = None))]
    fn contract(
        &self,
        other: &Bound<'_, PyAny>,
        i: &Bound<'_, PyAny>,
        j: &Bound<'_, PyAny>,
        aggregation: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (py, by, other) = (other.py(), aggregation_of(aggregation)?, tensor(other)?);
        let i = numbers::axis(i, "axis i", self.inner.dims().len())?;
        let j = numbers::axis(j, "axis j", other.inner.dims().len())?;
        let built = self.inner.contract_by(&other.inner, i, j, by);
        Self::called(py, built, ("contract", (i, j, aggregation)), [self, &other])
    }

    /// Computes the tensor as a NumPy array; of lists, an array of Python lists.
    ///
    /// workers: number of threads; by default all. memory_limit: upper bound, in bytes, of the result, blocks and
    /// buffers; if not even one block at a time fits, ijk.MemoryLimitError names a limit that suffices. limit: upper
    /// bound, in bytes, of the result, 4 GiB by default; a larger one raises ijk.MemoryLimitError at once.
    /// assume_finite: products skip missing blocks without a check of the other blocks for infinities and NaN.
    #[pyo3(signature = (*, workers = None, memory_limit = None, limit = None, assume_finite = false))]
    fn collect<'py>(
        &self,
        py: Python<'py>,
        workers: Option<&Bound<'py, PyAny>>,
        memory_limit: Option<&Bound<'py, PyAny>>,
        limit: Option<&Bound<'py, PyAny>>,
        assume_finite: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut executor = run::executor(workers, memory_limit)?.assume_finite(assume_finite);
        if let Some(bytes) = limit {
            executor = executor.collect_limit(numbers::whole(bytes, "limit")?);
        }
        let block = run::computing(py, executor, |executor| executor.collect(&self.inner))?;
        match block {
            Block::Numbers(tensor) => from_tensor(py, tensor),
            Block::Lists(lists) => values::objects(py, &lists),
        }
    }

    /// Computes the tensor into a Zarr V3 array, chunk by chunk; it may be larger than memory.
    ///
    /// path, storage_options: a directory or a URL of an object store, as for open, or a zip archive (a.zarr.zip), which is
    /// there when it is complete: a write of one that was interrupted begins anew.
    /// compression: None, a level of zstd from 1 to 22, or "same": as the first stored array that it is computed from,
    /// shards included. shards: extents of smaller chunks that make up a chunk, which readers fetch one by one. An
    /// earlier, unfinished write of the same tensor is
    /// continued: finished and intact chunks are not computed again. resume=False refuses any array at the path;
    /// overwrite=True replaces it. Raises ijk.StoreError if the path holds something else, if another process writes
    /// it, or if a chunk cannot be written; then finished chunks remain, and the same call continues the write.
    #[pyo3(signature = (path, *, compression = None, resume = true, overwrite = false, workers = None, memory_limit = None, assume_finite = false, storage_options = None, shards = None))]
    #[allow(clippy::too_many_arguments, reason = "Python's keywords")]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        compression: Option<&Bound<'_, PyAny>>,
        resume: bool,
        overwrite: bool,
        workers: Option<&Bound<'_, PyAny>>,
        memory_limit: Option<&Bound<'_, PyAny>>,
        assume_finite: bool,
        storage_options: Option<&Bound<'_, PyDict>>,
        shards: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let mut options = blocks::ZarrOptions::new().fresh(overwrite).only_new(!resume);
        options = options.command("the same BigTensor.write");
        options = options.at_store(stores::options(storage_options)?);
        if let Some(compression) = compression {
            options = stores::compressed(options, compression, &self.inner)?;
        }
        if let Some(inner) = shards {
            options = options.shards(numbers::shape(inner, "shards")?);
        }
        // Blocks to which nothing was added need no chunk.
        if let Some(fill) = self.inner.fill().and_then(|fill| fill.as_number()) {
            options = options.fill(fill);
        }
        let executor = run::executor(workers, memory_limit)?.assume_finite(assume_finite);
        let saved =
            run::computing(py, executor, |executor| executor.save(&self.inner, &path, &options));
        run::saved(py, &path, saved)
    }

    /// The plan: the stages in which blocks are computed.
    fn plan(&self, py: Python<'_>) -> String {
        py.detach(|| blocks::BlockPlan::new(&self.inner).to_string())
    }

    /// Conversion to a NumPy array: the collected tensor.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err(
                "a block tensor is computed: there is nothing to share",
            ));
        }
        let array = self.collect(py, None, None, None, false)?;
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    /// Arguments from which pickle rebuilds a tensor: the call that made it, down to blocks in memory and to addresses of what is
    /// stored, with their options.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Vec<PickledStep<'py>>,))> {
        recipe::reduced(self, py)
    }

    /// The tensor itself, which does not change.
    fn __copy__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    /// The tensor itself.
    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf.clone()
    }

    /// Makes arrays of NumPy leave operators to block tensors.
    #[classattr]
    fn __array_ufunc__(py: Python<'_>) -> Py<PyAny> {
        py.None()
    }

    fn __repr__(&self) -> String {
        let ty = self.inner.ty().to_string();
        format!("BigTensor{ty}")
    }

    fn __str__(&self) -> String {
        self.inner.to_string()
    }
}

impl BigTensor {
    fn positions(&self, axis: usize, any: &Bound<'_, PyAny>) -> PyResult<Positions> {
        let extent = self.inner.dims().get(axis).copied().unwrap_or_default();
        if any.is_none() {
            return Ok(Positions::All);
        }
        if let Ok(slice) = any.cast::<PySlice>() {
            let of = slice.indices(isize::try_from(extent)?)?;
            let (start, count) = (of.start.max(0) as usize, of.slicelength);
            return match of.step {
                1 => Ok((start..start + count).into()),
                2.. => {
                    Ok((0..count).map(|n| start + n * of.step as usize).collect::<Vec<_>>().into())
                }
                _ => Err(PyValueError::new_err("positions ascend: a slice has a positive step")),
            };
        }
        Ok(numbers::positions(any, axis, extent)?.into())
    }
}

/// Positions as `select` takes them.
fn given<'py>(py: Python<'py>, positions: &Positions) -> PyResult<Bound<'py, PyAny>> {
    Ok(match positions {
        Positions::All => py.None().into_bound(py),
        Positions::Range(range) => {
            let (start, end) = (isize::try_from(range.start)?, isize::try_from(range.end)?);
            PySlice::new(py, start, end, 1).into_any()
        }
        Positions::At(at) => PyTuple::new(py, at.iter())?.into_any(),
    })
}

/// The result of a rule.
fn checked(built: Result<blocks::BigTensor, Error>) -> PyResult<blocks::BigTensor> {
    built.map_err(raise_blocks)
}

/// A tensor, or an array that is not cut.
fn tensor(any: &Bound<'_, PyAny>) -> PyResult<BigTensor> {
    match any.cast::<BigTensor>() {
        Ok(tensor) => Ok(tensor.get().same()),
        Err(_) => BigTensor::new(any, None),
    }
}

fn function_of(text: &str) -> PyResult<Function> {
    text.into_function().map_err(|error| raise_blocks(error.into()))
}

fn aggregation_of(any: Option<&Bound<'_, PyAny>>) -> PyResult<Aggregation> {
    let Some(any) = any.filter(|any| !any.is_none()) else {
        return Ok(Aggregation::sum_of_products());
    };
    let aggregation = match any.cast::<Component>() {
        Ok(component) => (&component.get().inner).into_aggregation(),
        Err(_) => any.extract::<String>()?.as_str().into_aggregation(),
    };
    aggregation.map_err(|error| raise_blocks(error.into()))
}

/// Aggregates pairs of elements along axis i of m1 and axis j of m2: the result has the other axes of m1, then
/// those of m2.
///
/// aggregation: None for the sum of products; text of l and r, such as "sum(l * r)", "max(l + r)",
/// "any(l and r)", "any(l == r)", "argmin(l - r)", "logaddexp(l + r)" or "collect(l * r)"; or a program in i of two
/// arrays of rank 1: +(i*i)~. . If elements are lists, the formula folds each pair, as "sum(sum(l * r))" does, or "collect" keeps
/// them.
/// All spellings of a sum of products use the kernels of matrix products.
///
/// >>> ijk.contract(u, u, 1, 1, "max(l + r)").collect()
/// array([[ 4.,  7.],
///        [ 7., 10.]])
#[pyfunction]
#[pyo3(signature = (m1, m2, i, j, aggregation = None))]
pub fn contract(
    m1: &Bound<'_, PyAny>,
    m2: &Bound<'_, PyAny>,
    i: &Bound<'_, PyAny>,
    j: &Bound<'_, PyAny>,
    aggregation: Option<&Bound<'_, PyAny>>,
) -> PyResult<BigTensor> {
    tensor(m1)?.contract(m2, i, j, aggregation)
}
