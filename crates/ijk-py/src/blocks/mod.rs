//! Block tensors.

mod foreign;
mod run;
mod stores;
mod values;

use crate::arrays::{from_tensor, is_masked, readonly};
use crate::component::Component;
use crate::error::{raise, raise_blocks};
use crate::memory::typestr;
use crate::numbers;
use ijk::blocks::{
    self, Aggregation, BinaryOp, Block, Error, Formula, Function, IntoAggregation, IntoFunction,
    Positions, UnaryOp, Zip,
};
use ijk::et::{Bindings, BlocksError};
use numpy::PyUntypedArray;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PySlice, PyTuple};
use std::path::PathBuf;

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
                return Ok(Self { inner: opened.get().inner.clone() });
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
        made(blocks::BigTensor::from_tensor(tensor, blocks))
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
        let (shape, blocks) = (numbers::shape(shape, "shape")?, numbers::blocks(blocks)?);
        let (of, values) = values::read(elements, dtype)?;
        made(blocks::BigTensor::lit_of(of, values, shape, blocks))
    }

    /// A tensor whose blocks are read by a function: of the first and the last positions of a block along each axis.
    #[staticmethod]
    fn _reading(
        read: Py<PyAny>,
        shape: Vec<usize>,
        blocks: &Bound<'_, PyAny>,
        dtype: &str,
        name: String,
        identity: String,
    ) -> PyResult<Self> {
        foreign::reading(read, shape, numbers::blocks(blocks)?, dtype, name, identity)
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
        let options = stores::options(storage_options)?;
        let executor = run::executor(None, None)?;
        let opened = run::computing(py, executor, |executor| match partial {
            true => executor.open_partial(path, &options),
            false => executor.open(path, &options),
        });
        Ok(Self { inner: opened? })
    }

    /// The einsum of tensors, with numpy.einsum's meaning of subscripts; NumPy arrays are operands that are not cut.
    ///
    /// Raises ijk.Error where subscripts are wrong or do not fit, or an index has different blocks.
    #[staticmethod]
    #[pyo3(signature = (subscripts, *tensors))]
    fn einsum(subscripts: &str, tensors: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let tensors = tensors.iter().map(|any| tensor(&any)).collect::<PyResult<Vec<_>>>()?;
        let tensors: Vec<&blocks::BigTensor> = tensors.iter().collect();
        made(blocks::BigTensor::einsum(subscripts, &tensors))
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

    fn __neg__(&self) -> PyResult<Self> {
        made(self.inner.map(UnaryOp::Neg))
    }

    fn __matmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let product = match other.cast::<Self>() {
            Ok(other) => Some(made(self.inner.matmul(&other.get().inner))?),
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
        let shape: Vec<usize> = numbers::shape(shape, "shape")?;
        made(self.inner.bc(shape, numbers::blocks(blocks)?))
    }

    /// Some positions of each axis: a slice or range without steps, ascending positions, or None for all.
    ///
    /// >>> u.select(slice(0, 1), [0, 2])
    /// BigTensor([1, 2], [1, 2], f64)
    #[pyo3(signature = (*positions))]
    fn select(&self, positions: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let all = positions.iter().enumerate().map(|(axis, any)| self.positions(axis, &any));
        made(self.inner.select(all.collect::<PyResult<Vec<_>>>()?))
    }

    /// A function of each element: text such as "x + 1", "f64(x) / 2" or "0 < x and x < 1", or a program in i
    /// of one array of rank 0. If elements are lists, len(x), sum(x), prod(x), max(x), min(x), all(x), any(x),
    /// argmax(x) and argmin(x) fold each list, and all other operations apply to each item: "x + 1", or, with a cast,
    /// "sum(x) / f64(len(x))".
    ///
    /// >>> ijk.BigTensor.lit([[1, 2], [], [3]], [3], [None]).map("sum(x) > 2").collect()
    /// array([ True, False,  True])
    fn map(&self, function: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(component) = function.cast::<Component>() {
            return made(self.inner.map(&component.get().inner));
        }
        let text: String = function.extract().map_err(|_| {
            let kind = function.get_type();
            PyTypeError::new_err(format!("map takes text or a component, not {kind}"))
        })?;
        made(self.inner.map(function_of(&text)?))
    }

    /// The same elements in other blocks.
    fn reblock(&self, blocks: &Bound<'_, PyAny>) -> PyResult<Self> {
        made(self.inner.reblock(numbers::blocks(blocks)?))
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
        let (by, other) = (aggregation_of(aggregation)?, tensor(other)?);
        let i = numbers::axis(i, "axis i", self.inner.dims().len())?;
        let j = numbers::axis(j, "axis j", other.dims().len())?;
        made(self.inner.contract_by(&other, i, j, by))
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
    /// path, storage_options: a directory or a URL of an object store, as for open.
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
            run::computing(py, executor, |executor| executor.save(&self.inner, path, &options));
        run::saved(py, saved)
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
    /// The operation with another tensor or a number; None for other operands.
    fn combined(
        slf: &Bound<'_, Self>,
        op: Zip,
        other: &Bound<'_, PyAny>,
        swapped: bool,
    ) -> PyResult<Option<Self>> {
        let inner = &slf.get().inner;
        if let Ok(other) = other.cast::<Self>() {
            return made(inner.zip(op, &other.get().inner)).map(Some);
        }
        let Some(number) = number(other) else {
            let py = other.py();
            let fitted = py
                .import("ijk._tensors")?
                .call_method1("fitted", (slf, other, matches!(op, Zip::Div)))?;
            let Ok((own, other)) = fitted.extract::<(Bound<'_, Self>, Bound<'_, Self>)>() else {
                return Ok(None);
            };
            let (own, other) = (&own.get().inner, &other.get().inner);
            let (l, r) = if swapped { (other, own) } else { (own, other) };
            return made(l.zip(op, r)).map(Some);
        };
        let (x, number) = (Formula::variable(0), Formula::number(number));
        let (l, r) = if swapped { (number, x) } else { (x, number) };
        let op: BinaryOp = op.operator();
        made(inner.map(Formula::binary(op, l, r))).map(Some)
    }

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

/// The result of a rule.
fn made(built: Result<blocks::BigTensor, Error>) -> PyResult<BigTensor> {
    Ok(BigTensor { inner: built.map_err(raise_blocks)? })
}

/// A tensor, or `NotImplemented`, so that Python tries the other operand.
fn or_else<'py>(py: Python<'py>, tensor: Option<BigTensor>) -> PyResult<Bound<'py, PyAny>> {
    match tensor {
        Some(tensor) => Ok(Bound::new(py, tensor)?.into_any()),
        None => Ok(py.NotImplemented().into_bound(py)),
    }
}

/// A real number of Python or NumPy; not a bool.
fn number(any: &Bound<'_, PyAny>) -> Option<f64> {
    // A masked value is no number.
    if is_masked(any).unwrap_or(true) {
        return None;
    }
    let is_bool = any.is_instance_of::<PyBool>();
    let is_number =
        any.hasattr("__float__").unwrap_or(false) && !any.hasattr("shape").unwrap_or(true);
    let scalar = any.getattr("shape").is_ok_and(|shape| shape.len().is_ok_and(|n| n == 0));
    (!is_bool && (is_number || scalar)).then(|| any.extract().ok())?
}

fn no_tensor(any: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("a block tensor or a number is expected, not {}", any.get_type()))
}

/// A tensor, or an array that is not cut.
fn tensor(any: &Bound<'_, PyAny>) -> PyResult<blocks::BigTensor> {
    match any.cast::<BigTensor>() {
        Ok(tensor) => Ok(tensor.get().inner.clone()),
        Err(_) => Ok(BigTensor::new(any, None)?.inner),
    }
}

/// All arguments as tensors, if one of them is.
pub fn any(arguments: &Bound<'_, PyTuple>) -> PyResult<Option<Vec<blocks::BigTensor>>> {
    match arguments.iter().any(|argument| argument.is_instance_of::<BigTensor>()) {
        true => {
            arguments.iter().map(|argument| tensor(&argument)).collect::<PyResult<_>>().map(Some)
        }
        false => Ok(None),
    }
}

/// All arrays of a dict as tensors, if one of them is.
pub fn any_by_name(
    arrays: &Bound<'_, PyDict>,
) -> PyResult<Option<Vec<(String, blocks::BigTensor)>>> {
    if !arrays.iter().any(|(_, array)| array.is_instance_of::<BigTensor>()) {
        return Ok(None);
    }
    let named = |(name, array): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        Ok((name.extract()?, tensor(&array)?))
    };
    arrays.iter().map(named).collect::<PyResult<_>>().map(Some)
}

/// Applies a program in Einsum Tuple to tensors: a dict of its results.
pub fn apply_by_name<'py>(
    py: Python<'py>,
    program: &ijk::et::Program,
    tensors: &[(String, blocks::BigTensor)],
    choices: &Bindings<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    let tensors: Vec<_> = tensors.iter().map(|(name, tensor)| (&name[..], tensor)).collect();
    let applied = program.apply_blocks(&tensors, choices).map_err(|error| match error {
        BlocksError::Program(error) => raise(error),
        BlocksError::Blocks(error) => raise_blocks(error),
    });
    let results = PyDict::new(py);
    for (name, inner) in applied? {
        results.set_item(name, BigTensor { inner })?;
    }
    Ok(results)
}

/// Applies a program to tensors: one result, or a tuple of several.
pub fn apply<'py>(
    py: Python<'py>,
    component: &ijk::Program,
    tensors: &[blocks::BigTensor],
) -> PyResult<Bound<'py, PyAny>> {
    let tensors: Vec<&blocks::BigTensor> = tensors.iter().collect();
    let results = component.apply_blocks(&tensors).map_err(raise_blocks)?;
    let wrapped = results.into_iter().map(|inner| Bound::new(py, BigTensor { inner }));
    let mut results = wrapped.collect::<PyResult<Vec<_>>>()?;
    match results.len() {
        1 => Ok(results.swap_remove(0).into_any()),
        _ => Ok(PyTuple::new(py, results)?.into_any()),
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
    BigTensor { inner: tensor(m1)? }.contract(m2, i, j, aggregation)
}
