//! From an element type that is known at run time to its Rust type.

/// An expression in which `$T` is the Rust type of a [`DType`](crate::DType).
///
/// ```
/// use ijk_types::{DType, with_element};
/// let size = |dtype: DType| with_element!(dtype, T => size_of::<T>());
/// assert_eq!((size(DType::I32), size(DType::C128)), (4, 16));
/// ```
#[macro_export]
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::with_ordered!($dtype, $T => $body,
            C64 => { type $T = $crate::C64; $body },
            C128 => { type $T = $crate::C128; $body })
    };
}

/// The same for element types that are ordered: all but the complex ones, for which `else` is evaluated.
///
/// ```
/// use ijk_types::{DType, Ordered, with_ordered};
/// let one = |dtype: DType| with_ordered!(dtype, T => true.cast::<T>().to_string(), else "?".into());
/// assert_eq!([one(DType::Bool), one(DType::F32), one(DType::C64)], ["true", "1", "?"]);
/// ```
#[macro_export]
macro_rules! with_ordered {
    ($dtype:expr, $T:ident => $body:expr, else $otherwise:expr) => {
        $crate::with_ordered!($dtype, $T => $body, C64 => $otherwise, C128 => $otherwise)
    };
    ($dtype:expr, $T:ident => $body:expr, C64 => $c64:expr, C128 => $c128:expr) => {
        match $dtype {
            $crate::DType::Bool => {
                type $T = bool;
                $body
            }
            $crate::DType::U8 => {
                type $T = u8;
                $body
            }
            $crate::DType::U16 => {
                type $T = u16;
                $body
            }
            $crate::DType::U32 => {
                type $T = u32;
                $body
            }
            $crate::DType::U64 => {
                type $T = u64;
                $body
            }
            $crate::DType::I8 => {
                type $T = i8;
                $body
            }
            $crate::DType::I16 => {
                type $T = i16;
                $body
            }
            $crate::DType::I32 => {
                type $T = i32;
                $body
            }
            $crate::DType::I64 => {
                type $T = i64;
                $body
            }
            $crate::DType::F16 => {
                type $T = $crate::f16;
                $body
            }
            $crate::DType::BF16 => {
                type $T = $crate::bf16;
                $body
            }
            $crate::DType::F32 => {
                type $T = f32;
                $body
            }
            $crate::DType::F64 => {
                type $T = f64;
                $body
            }
            $crate::DType::C64 => $c64,
            $crate::DType::C128 => $c128,
        }
    };
}
