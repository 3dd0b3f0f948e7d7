//! Element types between their Rust types and [`DType`].

use ijk_types::{C64, C128, DType, Element, Scalar, bf16, f16, with_element};
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
    macro_rules! typed {
        ($($variant:ident: $T:ty),*) => {
            match value {
                $(Scalar::$variant(x) => {
                    // SAFETY: the caller's promise, for the Rust type of the variant.
                    unsafe { ptr.cast::<$T>().write(x) }
                })*
            }
        };
    }
    typed!(
        Bool: bool, U8: u8, U16: u16, U32: u32, U64: u64, I8: i8, I16: i16, I32: i32, I64: i64,
        F16: f16, BF16: bf16, F32: f32, F64: f64, C64: C64, C128: C128
    )
}
