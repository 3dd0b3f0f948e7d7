//! NumPy's arrays as views, and tensors as NumPy's arrays.
//!
//! Arrays are not locked: threads read and write parts of one array concurrently, as in NumPy, and an element that
//! another thread changes is read before or after the change (see [`ForeignArray`]).

use crate::error::raise;
use crate::memory;
use ijk::__private::foreign::{Foreign, ForeignArray};
use ijk::__private::{Footprint, Overlap};
use ijk::num_complex::{Complex32, Complex64};
use ijk::{DType, TensorView};
use numpy::{
    PyArrayDescr, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyInt, PyList, PyTuple, PyType};

/// Bytes of booleans from which on they are checked without the interpreter lock.
const LONG_CHECK: usize = 1 << 20;

/// Results of fewer bytes are copied to memory of NumPy, which caches blocks below this size: an object that owns other
/// memory costs more.
const SMALL: usize = 1024;

/// Greatest rank of an array that rust-numpy creates, and of one that NumPy creates.
const MOST_AXES: [usize; 2] = [32, 64];

/// The element type of a description. NumPy's numbers (`NPY_BOOL` and so on) are those of systems whose `long` has 64
/// bits and of others; types of other packages, such as `bfloat16` of `ml_dtypes`, have numbers from [`FIRST_FOREIGN`]
/// on, in the order in which they are registered.
fn dtype(descr: &Bound<'_, PyArrayDescr>) -> Option<DType> {
    match (descr.num(), descr.itemsize()) {
        (0, 1) => Some(DType::Bool),
        (1, 1) => Some(DType::I8),
        (2, 1) => Some(DType::U8),
        (3, 2) => Some(DType::I16),
        (4, 2) => Some(DType::U16),
        (5 | 7, 4) => Some(DType::I32),
        (6 | 8, 4) => Some(DType::U32),
        (7 | 9, 8) => Some(DType::I64),
        (8 | 10, 8) => Some(DType::U64),
        (23, 2) => Some(DType::F16),
        (11, 4) => Some(DType::F32),
        (12, 8) => Some(DType::F64),
        (14, 8) => Some(DType::C64),
        (15, 16) => Some(DType::C128),
        (FIRST_FOREIGN.., 2) => {
            let name: Option<String> =
                descr.getattr(intern!(descr.py(), "name")).ok()?.extract().ok();
            (name? == "bfloat16").then_some(DType::BF16)
        }
        _ => None,
    }
}

/// The first number of an element type that is not NumPy's own.
const FIRST_FOREIGN: i32 = 256;

macro_rules! by_type {
    ($($variant:ident $element:ty;)*) => {
        /// Pointer to the first element of an array of a type.
        fn data(any: &Bound<'_, PyAny>, dtype: DType) -> Option<*mut u8> {
            match dtype {
                $(DType::$variant => Some(any.cast::<PyArrayDyn<$element>>().ok()?.data().cast()),)*
                // The same memory as elements that Rust has.
                DType::F16 | DType::BF16 => {
                    let bits = any.call_method1(intern!(any.py(), "view"), (intern!(any.py(), "u2"),));
                    Some(bits.ok()?.cast::<PyArrayDyn<u16>>().ok()?.data().cast())
                }
            }
        }

        /// An array of a tensor's elements, without a copy unless it is small.
        pub fn from_tensor<'py>(py: Python<'py>, tensor: ijk::Tensor) -> PyResult<Bound<'py, PyAny>> {
            let [most_made_here, most] = MOST_AXES;
            if tensor.rank() > most {
                let rank = tensor.rank();
                let message = format!("the result has {rank} axes, but NumPy's arrays have at most {most}");
                return Err(PyValueError::new_err(message));
            }
            let half = matches!(tensor.dtype(), DType::F16 | DType::BF16);
            if half || memory::is_large(&tensor) || tensor.rank() > most_made_here {
                return memory::share(py, tensor);
            }
            let copied = tensor.byte_len() < SMALL;
            Ok(match tensor.dtype() {
                $(DType::$variant if copied => {
                    let array = tensor.view().to_ndarray::<$element>().map_err(|e| raise(e.into()))?;
                    PyArrayDyn::from_array(py, &array).into_any()
                })*
                $(DType::$variant => {
                    let array = tensor.into_array::<$element, numpy::ndarray::IxDyn>();
                    PyArrayDyn::<$element>::from_owned_array(py, array.map_err(|e| raise(e.into()))?).into_any()
                })*
                DType::F16 | DType::BF16 => memory::share(py, tensor)?,
            })
        }
    };
}

by_type! {
    Bool bool;
    I32 i32;
    I64 i64;
    U8 u8;
    U16 u16;
    U32 u32;
    U64 u64;
    I8 i8;
    I16 i16;
    F32 f32;
    F64 f64;
    C64 Complex32;
    C128 Complex64;
}

/// A reference to an array of NumPy, which keeps its memory in place: NumPy refuses to resize an array with other
/// references.
pub struct Numpy<'py> {
    array: Bound<'py, PyUntypedArray>,
    data: *mut u8,
    dtype: DType,
}

impl<'py> Numpy<'py> {
    /// The array, if its elements have a supported type in native byte order.
    #[inline]
    pub fn of(any: &Bound<'py, PyAny>) -> Option<Self> {
        let array = any.cast::<PyUntypedArray>().ok()?;
        let descr = array.dtype();
        let dtype = dtype(&descr)?;
        if descr.is_native_byteorder() == Some(false) {
            return None;
        }
        Some(Self { array: array.clone(), data: data(any, dtype)?, dtype })
    }

    /// The element type of an array in any byte order.
    pub fn dtype_of(array: &Bound<'py, PyUntypedArray>) -> Option<DType> {
        dtype(&array.dtype())
    }

    /// The array.
    pub fn array(&self) -> &Bound<'py, PyUntypedArray> {
        &self.array
    }

    /// Pointer to the first element.
    pub fn address(&self) -> usize {
        self.data.addr()
    }
}

impl ForeignArray for Numpy<'_> {
    fn data(&self) -> *mut u8 {
        self.data
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    fn byte_strides(&self) -> &[isize] {
        self.array.strides()
    }
}

/// An input array.
pub struct Readonly<'py>(Foreign<Numpy<'py>>);

impl<'py> Readonly<'py> {
    /// The array without a copy, if it is an array or a scalar of NumPy of a supported type and layout.
    #[inline]
    pub fn of(any: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let array = match Numpy::of(any) {
            Some(_) if is_masked(any)? => return Ok(None),
            Some(array) => Some(array),
            None => scalar(any)?.and_then(|array| Numpy::of(&array)),
        };
        let Some(Ok(mut array)) = array.map(Foreign::new) else { return Ok(None) };
        if let Some(booleans) = array.unchecked() {
            let checked = match booleans.len() {
                0..LONG_CHECK => booleans.check(),
                _ => any.py().detach(move || booleans.check()),
            };
            let copied = checked.map_err(|error| raise(error.into()))?;
            array.checked(copied);
        }
        Ok(Some(Self(array)))
    }

    /// The array as a view for the engine.
    #[inline]
    pub fn view(&self) -> TensorView<'_> {
        self.0.view()
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.0.dtype()
    }

    /// True if the array may overlap a footprint.
    pub fn may_read(&self, bytes: &Footprint) -> bool {
        self.0.read_footprint().is_some_and(|read| read.overlap(bytes) != Overlap::Disjoint)
    }
}

/// Returns true for a masked array, whose elements have no meaning without its mask.
#[inline]
pub fn is_masked(any: &Bound<'_, PyAny>) -> PyResult<bool> {
    static MASKED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if any.is_exact_instance_of::<PyUntypedArray>() {
        return Ok(false);
    }
    any.is_instance(MASKED.import(any.py(), "numpy.ma", "MaskedArray")?)
}

/// A scalar of NumPy as an array of rank 0.
fn scalar<'py>(any: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    static GENERIC: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = any.py();
    let is_scalar = any.is_instance(GENERIC.import(py, "numpy", "generic")?)?;
    is_scalar.then(|| any.call_method0(intern!(py, "__array__"))).transpose()
}

/// An array without a copy, or converted to a supported one. Messages name it `name`.
pub fn readonly<'py>(
    any: &Bound<'py, PyAny>,
    name: impl Fn() -> String,
) -> PyResult<Readonly<'py>> {
    if let Some(array) = Readonly::of(any)? {
        return Ok(array);
    }
    let name = name();
    let plain = any.py().import("ijk._arrays")?.call_method1("plain", (any, &name))?;
    let wrong = || PyTypeError::new_err(format!("{name} is no array that ijk computes with"));
    Readonly::of(&plain)?.ok_or_else(wrong)
}

/// All arguments; messages name one by `kind` and its number.
pub fn arguments<'py>(all: &Bound<'py, PyTuple>, kind: &str) -> PyResult<Vec<Readonly<'py>>> {
    let numbered = |(n, any)| readonly(&any, || format!("{kind} {}", n + 1));
    all.iter().enumerate().map(numbered).collect()
}

/// All arguments, if they and `out` are arrays of NumPy, or lists and numbers of Python.
pub fn direct<'py>(
    all: &Bound<'py, PyTuple>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Option<Vec<Readonly<'py>>>> {
    if out.is_some_and(|out| !is_numpys(out)) {
        return Ok(None);
    }
    // A loop: each adapter of an iterator would move the arrays, which are large, once more.
    let mut arrays = Vec::with_capacity(all.len());
    for (n, any) in all.iter().enumerate() {
        match Readonly::of(&any)? {
            Some(array) => arrays.push(array),
            None if is_pythons(&any) => {
                arrays.push(readonly(&any, || format!("argument {}", n + 1))?);
            }
            None => return Ok(None),
        }
    }
    Ok(Some(arrays))
}

/// Returns true for a list and for a number.
fn is_pythons(any: &Bound<'_, PyAny>) -> bool {
    any.is_instance_of::<PyList>()
        || any.is_instance_of::<PyFloat>()
        || any.is_instance_of::<PyInt>()
}

/// Returns true for a plain number of Python, which has no element type of its own.
pub fn is_number(any: &Bound<'_, PyAny>) -> bool {
    any.is_exact_instance_of::<PyFloat>() || any.is_exact_instance_of::<PyInt>()
}

/// The element type of an array or tensor, if it names one.
pub fn dtype_of(any: &Bound<'_, PyAny>) -> Option<DType> {
    if let Ok(array) = any.cast::<PyUntypedArray>() {
        return Numpy::dtype_of(array);
    }
    let name = any.getattr(intern!(any.py(), "dtype")).ok()?.str().ok()?.to_string();
    let name = name.rsplit('.').next()?;
    DType::ALL.into_iter().find(|&dtype| named(dtype) == name)
}

/// A plain number as argument `n`, of an element type.
pub fn typed_number<'py>(
    any: &Bound<'py, PyAny>,
    t: DType,
    n: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = any.py();
    if t.is_integer() && any.is_exact_instance_of::<PyFloat>() {
        let message = format!(
            "argument {} is the number {any}, but the other arguments are {}: pass a whole number, or cast them",
            n + 1,
            named(t)
        );
        return Err(PyTypeError::new_err(message));
    }
    let function = py.import(intern!(py, "ijk._arrays"))?.getattr(intern!(py, "number"))?;
    function.call1((any, named(t))).map_err(|error| match error.is_instance_of::<PyOverflowError>(py) {
        false => error,
        true => PyOverflowError::new_err(format!(
            "argument {} is the number {any}, but the other arguments are {}, which does not hold it: cast them",
            n + 1,
            named(t)
        )),
    })
}

/// Returns true for an array of NumPy, and for a tuple of such arrays.
fn is_numpys(any: &Bound<'_, PyAny>) -> bool {
    let is_array = |any: &Bound<'_, PyAny>| any.is_instance_of::<PyUntypedArray>();
    is_array(any) || any.cast::<PyTuple>().is_ok_and(|tuple| tuple.iter().all(|any| is_array(&any)))
}

/// The element type of a name in NumPy.
pub fn type_of(name: &str) -> PyResult<DType> {
    let unknown = || PyTypeError::new_err(format!("ijk does not compute with elements of {name}"));
    DType::ALL.into_iter().find(|&dtype| named(dtype) == name).ok_or_else(unknown)
}

/// The name of the type that element types promote to, which have these names.
#[pyfunction]
pub fn promoted(names: Vec<String>) -> PyResult<String> {
    let types: Vec<DType> = names.iter().map(|name| type_of(name)).collect::<PyResult<_>>()?;
    Ok(named(types.into_iter().fold(DType::Bool, DType::promoted)))
}

/// The name of an element type in NumPy.
pub fn named(dtype: DType) -> String {
    let kind = match dtype {
        DType::Bool => return "bool".into(),
        DType::BF16 => "bfloat",
        _ if dtype.is_unsigned() => "uint",
        _ if dtype.is_integer() => "int",
        _ if dtype.is_float() => "float",
        _ => "complex",
    };
    format!("{kind}{}", 8 * dtype.size())
}
