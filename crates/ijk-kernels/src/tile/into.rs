//! Planes combined with planes of any strides.

use super::for_monoid;
use super::op::Op2;
use crate::simd::Level;
use crate::simd::leveled;
use ijk_types::{DType, Monoid};

/// `out[i, j] = out[i, j] op values[i, j]` for rows `i` and columns `j` in turn, with strides in bytes.
///
/// # Safety
/// For each row and column these are initialised elements of the kernel's type; no other thread accesses those of
/// `out`, and none of them is in `values`; the processor supports the SIMD level of the kernel.
pub type IntoPlane = unsafe fn(
    extents: [usize; 2],
    out: *mut u8,
    to: [isize; 2],
    values: *const u8,
    from: [isize; 2],
);

/// # Safety
/// As for [`IntoPlane`].
#[inline(always)]
unsafe fn into<O: Op2<Out = <O as Op2>::In>>(
    extents: [usize; 2],
    out: *mut u8,
    to: [isize; 2],
    values: *const u8,
    from: [isize; 2],
) {
    let unit = size_of::<O::In>() as isize;
    // SAFETY: guaranteed by the caller.
    unsafe {
        match (to[1] == unit, from[1] == unit) {
            (true, true) => steps::<O>(extents, out, [to[0], unit], values, [from[0], unit]),
            (false, true) => steps::<O>(extents, out, to, values, [from[0], unit]),
            _ => steps::<O>(extents, out, to, values, from),
        }
    }
}

/// # Safety
/// As for [`IntoPlane`].
#[inline(always)]
unsafe fn steps<O: Op2<Out = <O as Op2>::In>>(
    extents: [usize; 2],
    out: *mut u8,
    to: [isize; 2],
    values: *const u8,
    from: [isize; 2],
) {
    let (rows, columns) = (extents[0] as isize, extents[1] as isize);
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

/// The kernel of a monoid for a type; `None` if the type does not have it.
pub fn into_plane(monoid: Monoid, t: DType, level: Level) -> Option<IntoPlane> {
    for_monoid!(monoid, t, O => into_at::<O>(level))
}
