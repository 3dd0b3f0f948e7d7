//! Planes combined into planes of any steps.

use super::leveled;
use super::op::{Add, Max, Min, Mul, Op2};
use crate::simd::Level;
use ijk_types::{C64, C128, DType, Monoid};

/// `out[i, j] = out[i, j] op values[i, j]` for rows `i` and columns `j` in turn; steps along both are
/// in bytes.
///
/// # Safety
/// For each row and column these are elements of the kernel's type, initialised, those of `out` nobody
/// else's and none of them in `values`; the processor has the SIMD level the kernel was chosen for.
pub(crate) type IntoPlane = unsafe fn(
    extents: [usize; 2],
    out: *mut u8,
    to: [isize; 2],
    values: *const u8,
    from: [isize; 2],
);

/// # Safety
/// That of [`IntoPlane`].
#[inline(always)]
unsafe fn into<O: Op2<Out = <O as Op2>::In>>(
    extents: [usize; 2],
    out: *mut u8,
    to: [isize; 2],
    values: *const u8,
    from: [isize; 2],
) {
    let unit = size_of::<O::In>() as isize;
    // SAFETY: the caller's promise.
    unsafe {
        match (to[1] == unit, from[1] == unit) {
            (true, true) => steps::<O>(extents, out, [to[0], unit], values, [from[0], unit]),
            (false, true) => steps::<O>(extents, out, to, values, [from[0], unit]),
            _ => steps::<O>(extents, out, to, values, from),
        }
    }
}

/// # Safety
/// That of [`IntoPlane`].
#[inline(always)]
unsafe fn steps<O: Op2<Out = <O as Op2>::In>>(
    extents: [usize; 2],
    out: *mut u8,
    to: [isize; 2],
    values: *const u8,
    from: [isize; 2],
) {
    let [rows, columns] = extents.map(|n| n as isize);
    for i in 0..rows {
        for j in 0..columns {
            // SAFETY: an element of each.
            unsafe {
                let out = out.offset(i * to[0] + j * to[1]).cast::<O::In>();
                let value = values.offset(i * from[0] + j * from[1]).cast::<O::In>();
                out.write(O::apply(out.read(), value.read()));
            }
        }
    }
}

leveled!(into_at, into, [O: Op2<Out = <O as Op2>::In>], [O],
    (extents: [usize; 2], out: *mut u8, to: [isize; 2], values: *const u8, from: [isize; 2]) -> ());

/// The kernel of a monoid on a type; `None` if the type does not have it.
pub(crate) fn into_plane(monoid: Monoid, t: DType, level: Level) -> Option<IntoPlane> {
    macro_rules! of {
        ($op:ident, $($variant:ident: $T:ty),*) => {
            match t {
                $(DType::$variant => Some(into_at::<$op<$T>>(level)),)*
                #[allow(unreachable_patterns)]
                _ => None,
            }
        };
    }
    match monoid {
        Monoid::Add => {
            of!(Add, Bool: bool, I32: i32, I64: i64, F32: f32, F64: f64, C64: C64, C128: C128)
        }
        Monoid::Mul => {
            of!(Mul, Bool: bool, I32: i32, I64: i64, F32: f32, F64: f64, C64: C64, C128: C128)
        }
        Monoid::Max => of!(Max, Bool: bool, I32: i32, I64: i64, F32: f32, F64: f64),
        Monoid::Min => of!(Min, Bool: bool, I32: i32, I64: i64, F32: f32, F64: f64),
        Monoid::And => of!(Mul, Bool: bool),
        Monoid::Or => of!(Add, Bool: bool),
    }
}
