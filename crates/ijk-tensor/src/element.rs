//! Element types between their Rust types and [`DType`].

use ijk_types::{C64, C128, DType, Element, Scalar};
use std::any::TypeId;

/// Evaluates an expression with `$T` the Rust type of a [`DType`]'s elements.
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            ijk_types::DType::Bool => {
                type $T = bool;
                $body
            }
            ijk_types::DType::I32 => {
                type $T = i32;
                $body
            }
            ijk_types::DType::I64 => {
                type $T = i64;
                $body
            }
            ijk_types::DType::F32 => {
                type $T = f32;
                $body
            }
            ijk_types::DType::F64 => {
                type $T = f64;
                $body
            }
            ijk_types::DType::C64 => {
                type $T = ijk_types::C64;
                $body
            }
            ijk_types::DType::C128 => {
                type $T = ijk_types::C128;
                $body
            }
        }
    };
}
pub(crate) use with_element;

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

/// Whether `T` is the Rust type of that element type.
#[inline]
fn is_of_dtype<T: 'static>(dtype: DType) -> bool {
    with_element!(dtype, E => TypeId::of::<E>()) == TypeId::of::<T>()
}

/// An element type's values as scalars and back.
pub(crate) trait AsScalar: Copy + 'static {
    /// The value as a scalar.
    fn to_scalar(self) -> Scalar;
    /// The scalar's value, where it is of this type.
    fn from_scalar(scalar: Scalar) -> Option<Self>;
}

macro_rules! as_scalar {
    ($($T:ty: $variant:ident),*) => {$(
        impl AsScalar for $T {
            #[inline]
            fn to_scalar(self) -> Scalar {
                Scalar::$variant(self)
            }
            #[inline]
            fn from_scalar(scalar: Scalar) -> Option<Self> {
                match scalar {
                    Scalar::$variant(value) => Some(value),
                    _ => None,
                }
            }
        }
    )*};
}
as_scalar!(bool: Bool, i32: I32, i64: I64, f32: F32, f64: F64, C64: C64, C128: C128);

/// Reads the element at `ptr`.
///
/// # Safety
/// `ptr` points to an initialised, aligned element of type `dtype`.
#[inline]
pub(crate) unsafe fn read(dtype: DType, ptr: *const u8) -> Scalar {
    // SAFETY: the caller's promise, for the Rust type of `dtype`.
    with_element!(dtype, T => unsafe { ptr.cast::<T>().read() }.to_scalar())
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
