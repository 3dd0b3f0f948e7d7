//! NumPy's arrays as views, and views' element types as NumPy's.

use crate::memory;
use ijk::num_complex::{Complex32, Complex64};
use ijk::{DType, TensorView, TensorViewMut};
use numpy::{
    PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyReadwriteArrayDyn,
    PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// NumPy's numbers of element types (`NPY_BOOL` and so on), on systems whose `long` has 64 bits and
/// others.
fn dtype(number: i32, item: usize) -> Option<DType> {
    match (number, item) {
        (0, 1) => Some(DType::Bool),
        (5 | 7, 4) => Some(DType::I32),
        (7 | 9, 8) => Some(DType::I64),
        (11, 4) => Some(DType::F32),
        (12, 8) => Some(DType::F64),
        (14, 8) => Some(DType::C64),
        (15, 16) => Some(DType::C128),
        _ => None,
    }
}

macro_rules! by_type {
    ($($variant:ident $element:ty;)*) => {
        /// An array that is read for as long as this is there.
        pub enum Readonly<'py> { $($variant(PyReadonlyArrayDyn<'py, $element>),)* }

        /// An array that is written.
        pub enum Readwrite<'py> { $($variant(PyReadwriteArrayDyn<'py, $element>),)* }

        impl<'py> Readonly<'py> {
            /// The array, if it is one of NumPy's with elements that ijk computes with, where they lie.
            pub fn of(any: &Bound<'py, PyAny>) -> Option<Self> {
                let array = any.cast::<PyUntypedArray>().ok()?;
                match plain(array)? {
                    $(DType::$variant => {
                        let array = any.cast::<PyArrayDyn<$element>>().ok()?;
                        Some(Self::$variant(array.try_readonly().ok()?))
                    })*
                }
            }

            /// What the engine takes.
            pub fn view(&self) -> TensorView<'_> {
                match self { $(Self::$variant(x) => TensorView::from(x.as_array()),)* }
            }
        }

        impl<'py> Readwrite<'py> {
            /// The array, if it can be written.
            pub fn of(any: &Bound<'py, PyAny>) -> Option<Self> {
                let array = any.cast::<PyUntypedArray>().ok()?;
                match plain(array)? {
                    $(DType::$variant => {
                        let array = any.cast::<PyArrayDyn<$element>>().ok()?;
                        Some(Self::$variant(array.try_readwrite().ok()?))
                    })*
                }
            }

            /// What the engine takes.
            pub fn view(&mut self) -> TensorViewMut<'_> {
                match self { $(Self::$variant(x) => TensorViewMut::from(x.as_array_mut()),)* }
            }
        }

        /// An array of a tensor's elements, without a copy.
        pub fn from_tensor<'py>(py: Python<'py>, tensor: ijk::Tensor) -> PyResult<Bound<'py, PyAny>> {
            if memory::is_large(&tensor) {
                return memory::share(py, tensor);
            }
            Ok(match tensor.dtype() {
                $(DType::$variant => {
                    let array = tensor.into_array::<$element, numpy::ndarray::IxDyn>();
                    let array = array.map_err(|error| crate::error::raise(error.into()))?;
                    PyArrayDyn::<$element>::from_owned_array(py, array).into_any()
                })*
            })
        }
    };
}

by_type! {
    Bool bool;
    I32 i32;
    I64 i64;
    F32 f32;
    F64 f64;
    C64 Complex32;
    C128 Complex64;
}

/// An argument where it lies, or as an array that ijk computes with.
pub fn readonly<'py>(any: &Bound<'py, PyAny>) -> PyResult<Readonly<'py>> {
    if let Some(array) = Readonly::of(any) {
        return Ok(array);
    }
    let plain = any.py().import("ijk._arrays")?.call_method1("plain", (any,))?;
    let wrong = || PyTypeError::new_err("an argument is no array that ijk computes with");
    Readonly::of(&plain).ok_or_else(wrong)
}

/// All arguments.
pub fn arguments<'py>(all: &Bound<'py, PyTuple>) -> PyResult<Vec<Readonly<'py>>> {
    all.iter().map(|any| readonly(&any)).collect()
}

/// An array for results.
pub fn writable<'py>(any: &Bound<'py, PyAny>) -> PyResult<Readwrite<'py>> {
    let wrong = || PyTypeError::new_err("out is no array that ijk can write to");
    Readwrite::of(any).ok_or_else(wrong)
}

/// The element type of an array whose elements are aligned, of the machine's byte order, and whole
/// elements apart.
fn plain(array: &Bound<'_, PyUntypedArray>) -> Option<DType> {
    let descr = array.dtype();
    let item = descr.itemsize();
    let found = dtype(descr.num(), item)?;
    let whole = || array.strides().iter().all(|stride| stride.unsigned_abs() % item == 0);
    let suits = descr.is_native_byteorder() != Some(false) && array.is_aligned();
    (suits && array.ndim() <= 32 && whole()).then_some(found)
}
