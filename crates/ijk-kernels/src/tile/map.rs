//! Elementwise kernels.

use super::op::{Op1, Op2};
use crate::simd::Level;
use crate::simd::leveled;

/// An elementwise kernel: `dst[i] = f(a[i], b[i], c[i])` for `i < n`; returns the faults that occurred.
///
/// # Safety
/// `dst` and the operands of the kernel point to `n` elements (one, if an operand is a splat) of the kernel's element
/// types, initialised and aligned; `dst` overlaps no operand. The processor supports the SIMD level of the kernel.
pub type TileKernel =
    unsafe fn(n: usize, dst: *mut u8, a: *const u8, b: *const u8, c: *const u8) -> u32;

/// # Safety
/// As for [`TileKernel`].
#[inline(always)]
unsafe fn map1<O: Op1>(n: usize, dst: *mut u8, a: *const u8, _b: *const u8, _c: *const u8) -> u32 {
    let (dst, a) = (dst.cast::<O::Out>(), a.cast::<O::In>());
    let mut faults = 0;
    for i in 0..n {
        // SAFETY: `i < n`; the caller guarantees `n` elements each.
        unsafe {
            let x = a.add(i).read();
            faults |= O::fault(x);
            dst.add(i).write(O::apply(x));
        }
    }
    faults
}

/// # Safety
/// As for [`TileKernel`]; `A` and `B` mark operands that are splats.
#[inline(always)]
unsafe fn map2<O: Op2, const A: bool, const B: bool>(
    n: usize,
    dst: *mut u8,
    a: *const u8,
    b: *const u8,
    _c: *const u8,
) -> u32 {
    let (dst, a, b) = (dst.cast::<O::Out>(), a.cast::<O::In>(), b.cast::<O::In>());
    let mut faults = 0;
    if n == 0 {
        return 0;
    }
    // SAFETY: there is at least one element. It is read before the loop, since the compiler cannot know that `dst` does
    // not overlap the operands.
    let (a0, b0) = unsafe { (a.read(), b.read()) };
    for i in 0..n {
        // SAFETY: `i < n`; the caller guarantees `n` elements each, or one of a splat.
        unsafe {
            let x = if A { a0 } else { a.add(i).read() };
            let y = if B { b0 } else { b.add(i).read() };
            faults |= O::fault(x, y);
            dst.add(i).write(O::apply(x, y));
        }
    }
    faults
}

leveled!(
    /// The loop of a function of one operand.
    kernel1, map1, [O: Op1], [O],
    (n: usize, dst: *mut u8, a: *const u8, b: *const u8, c: *const u8) -> u32
);

leveled!(
    /// The loop of a function of two operands; `A` and `B` mark splats.
    kernel2, map2, [O: Op2, const A: bool, const B: bool], [O, A, B],
    (n: usize, dst: *mut u8, a: *const u8, b: *const u8, c: *const u8) -> u32
);

/// The kernel of a function of one operand.
pub(super) fn one<O: Op1>(level: Level) -> Option<TileKernel> {
    Some(kernel1::<O>(level))
}

/// The kernel of a cheap function of two operands, one of which may be a splat.
pub(super) fn light<O: Op2>(level: Level, a_splat: bool, b_splat: bool) -> Option<TileKernel> {
    match (a_splat, b_splat) {
        (false, false) => Some(kernel2::<O, false, false>(level)),
        (true, false) => Some(kernel2::<O, true, false>(level)),
        (false, true) => Some(kernel2::<O, false, true>(level)),
        (true, true) => None,
    }
}

/// The kernel of a function of two operands so expensive that splats do not matter.
pub(super) fn heavy<O: Op2>(level: Level, a_splat: bool, b_splat: bool) -> Option<TileKernel> {
    (!a_splat && !b_splat).then(|| kernel2::<O, false, false>(level))
}
