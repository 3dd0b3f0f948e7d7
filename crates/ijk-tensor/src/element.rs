//! Element types between their Rust types and [`DType`].

use ijk_types::{C64, C128, DType, Element, Scalar, with_element};
use std::any::TypeId;

/// The [`DType`] of a Rust type.
///
/// # Panics
/// If `T` is a foreign implementation of [`Element`]: memory is typed by its [`DType`] alone, so a
/// type that merely claims to be one cannot be let in.
#[inline]
pub fn dtype_of<T: Element>() -> DType {
    assert!(is_of_dtype::<T>(T::DTYPE), "not an element type of this library");
    T::DTYPE
}

/// Returns true if `T` is the Rust type of `dtype`.
#[inline]
fn is_of_dtype<T: 'static>(dtype: DType) -> bool {
    with_element!(dtype, E => TypeId::of::<E>()) == TypeId::of::<T>()
}

/// Reads the element at `ptr`.
///
/// # Safety
/// `ptr` points to an initialised, aligned element of type `dtype`.
#[inline]
pub(crate) unsafe fn read(dtype: DType, ptr: *const u8) -> Scalar {
    // SAFETY: the caller's promise, for the Rust type of `dtype`.
    with_element!(dtype, T => unsafe { ptr.cast::<T>().read() }.into_scalar())
}

/// Writes an element at `ptr`.
///
/// # Safety
/// `ptr` points to aligned memory of an element of type `value.dtype()`, not accessed otherwise.
#[inline]
pub(crate) unsafe fn write(value: Scalar, ptr: *mut u8) {
    // SAFETY (all arms): the caller's promise, for the Rust type of the variant.
    match value {
        // SAFETY: as above.
        Scalar::Bool(x) => unsafe { ptr.cast::<bool>().write(x) },
        // SAFETY: as above.
        Scalar::I32(x) => unsafe { ptr.cast::<i32>().write(x) },
        // SAFETY: as above.
        Scalar::I64(x) => unsafe { ptr.cast::<i64>().write(x) },
        // SAFETY: as above.
        Scalar::F32(x) => unsafe { ptr.cast::<f32>().write(x) },
        // SAFETY: as above.
        Scalar::F64(x) => unsafe { ptr.cast::<f64>().write(x) },
        // SAFETY: as above.
        Scalar::C64(x) => unsafe { ptr.cast::<C64>().write(x) },
        // SAFETY: as above.
        Scalar::C128(x) => unsafe { ptr.cast::<C128>().write(x) },
    }
}
