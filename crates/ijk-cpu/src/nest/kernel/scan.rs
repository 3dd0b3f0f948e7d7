//! Scans by a monoid: each value combined with all before it.
//!
//! The order is fixed by lengths alone. Values are taken in blocks of [`BLOCK`], each scanned from
//! its own start; what came before the block is combined last. In a block of a row, groups of lanes
//! are scanned by doubling. So no sum is of more than `BLOCK + n / BLOCK` values one after another.

use super::op::{self, Op2};
use super::{extreme, for_monoid};
use crate::simd::Level;
use crate::simd::leveled;
use ijk_types::{DType, Monoid};

/// Values that are scanned from a start of their own.
pub(crate) const BLOCK: usize = 512;

/// Scans rows of `n` neighbouring values to neighbouring places: `extents` are rows and `n`, `steps`
/// bytes from a row to the next on either side. `sum` is what came before each, and then that with
/// all of the last.
///
/// # Safety
/// Rows have their elements at `from` and `to` (which may be the same ones), `sum` is one; the
/// processor has the SIMD level the kernel was chosen for.
pub(crate) type ScanRows =
    unsafe fn(extents: [usize; 2], sum: *mut u8, from: *const u8, to: *mut u8, steps: [isize; 2]);

/// Takes one value of each of `n` rows that lie side by side: `block[i]` is that of the values in
/// the present block, `to[i]` the same after `sums[i]`. The first value of a block starts it.
///
/// # Safety
/// All have `n` elements; those of `sums` and `block` are nobody else's; the processor has the
/// SIMD level the kernel was chosen for.
pub(crate) type ScanStep =
    unsafe fn(first: bool, n: usize, sums: *const u8, block: *mut u8, from: *const u8, to: *mut u8);

/// The kernels of one monoid and element type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanKernels {
    /// Along rows from low to high addresses.
    pub up: ScanRows,
    /// From high to low: `from` and `to` are the highest.
    pub down: ScanRows,
    /// Across rows.
    pub across: ScanStep,
}

/// # Safety
/// That of [`ScanRows`].
#[inline(always)]
unsafe fn rows<O: Op2<Out = <O as Op2>::In>, const DOWN: bool>(
    [rows, n]: [usize; 2],
    sum: *mut u8,
    from: *const u8,
    to: *mut u8,
    steps: [isize; 2],
) {
    let sum = sum.cast::<O::In>();
    // SAFETY: the caller's promise.
    unsafe {
        let before = sum.read();
        for row in 0..rows as isize {
            let (from, to) = (from.offset(row * steps[0]), to.offset(row * steps[1]));
            let (from, to) = (from.cast::<O::In>(), to.cast::<O::In>());
            let after = match size_of::<O::In>() {
                1 | 4 => lanes::<O, DOWN, 16>(n, before, from, to),
                8 => lanes::<O, DOWN, 8>(n, before, from, to),
                _ => lanes::<O, DOWN, 4>(n, before, from, to),
            };
            sum.write(after);
        }
    }
}

/// Scans a row after `sum`; gives that with all of it.
///
/// # Safety
/// `from` and `to` have `n` elements, in the direction that `DOWN` says.
#[inline(always)]
unsafe fn lanes<O: Op2<Out = <O as Op2>::In>, const DOWN: bool, const L: usize>(
    n: usize,
    mut sum: O::In,
    from: *const O::In,
    to: *mut O::In,
) -> O::In {
    let step = |at: usize| if DOWN { -(at as isize) } else { at as isize };
    let mut at = 0;
    while at < n {
        let length = BLOCK.min(n - at);
        // SAFETY: the block's values are among the `n`.
        let all = unsafe {
            let (from, to) = (from.offset(step(at)), to.offset(step(at)));
            block::<O, DOWN, L>(length, sum, from, to)
        };
        sum = O::apply(sum, all);
        at += length;
    }
    sum
}

/// Scans a block after `sum`; gives its values combined.
///
/// # Safety
/// `from` and `to` have `n > 0` elements, in the direction that `DOWN` says.
#[inline(always)]
unsafe fn block<O: Op2<Out = <O as Op2>::In>, const DOWN: bool, const L: usize>(
    n: usize,
    sum: O::In,
    from: *const O::In,
    to: *mut O::In,
) -> O::In {
    let mut taken: Option<O::In> = None;
    let start = |taken: Option<O::In>| taken.map_or(sum, |taken| O::apply(sum, taken));
    let mut at = 0;
    while at + L <= n {
        // SAFETY: `L` elements from `at` on are among the `n`, the lowest address first.
        unsafe {
            let place = if DOWN { -((at + L - 1) as isize) } else { at as isize };
            let mut group: [O::In; L] = from.offset(place).cast::<[O::In; L]>().read_unaligned();
            if DOWN {
                group.reverse();
            }
            let group = doubled::<O, L>(group);
            let before = start(taken);
            let mut out = group;
            out.iter_mut().for_each(|x| *x = O::apply(before, *x));
            if DOWN {
                out.reverse();
            }
            to.offset(place).cast::<[O::In; L]>().write_unaligned(out);
            let last = group[L - 1];
            taken = Some(taken.map_or(last, |taken| O::apply(taken, last)));
        }
        at += L;
    }
    while at < n {
        let place = if DOWN { -(at as isize) } else { at as isize };
        // SAFETY: `at < n`.
        unsafe {
            let x = from.offset(place).read();
            let next = taken.map_or(x, |taken| O::apply(taken, x));
            to.offset(place).write(O::apply(sum, next));
            taken = Some(next);
        }
        at += 1;
    }
    // A block has a value.
    taken.unwrap_or(sum)
}

/// Each lane combined with all before it: first with its neighbour, then with two, four, …
#[inline(always)]
fn doubled<O: Op2<Out = <O as Op2>::In>, const L: usize>(mut group: [O::In; L]) -> [O::In; L] {
    let mut distance = 1;
    while distance < L {
        let before = group;
        for lane in distance..L {
            group[lane] = O::apply(before[lane - distance], before[lane]);
        }
        distance *= 2;
    }
    group
}

/// # Safety
/// That of [`ScanStep`].
#[inline(always)]
unsafe fn across<O: Op2<Out = <O as Op2>::In>>(
    first: bool,
    n: usize,
    sums: *const u8,
    block: *mut u8,
    from: *const u8,
    to: *mut u8,
) {
    let (sums, block) = (sums.cast::<O::In>(), block.cast::<O::In>());
    let (from, to) = (from.cast::<O::In>(), to.cast::<O::In>());
    for i in 0..n {
        // SAFETY: `i < n`.
        unsafe {
            let x = from.add(i).read();
            let x = if first { x } else { O::apply(block.add(i).read(), x) };
            block.add(i).write(x);
            to.add(i).write(O::apply(sums.add(i).read(), x));
        }
    }
}

leveled!(rows_at, rows, [O: Op2<Out = <O as Op2>::In>, const DOWN: bool], [O, DOWN],
    (extents: [usize; 2], sum: *mut u8, from: *const u8, to: *mut u8, steps: [isize; 2]) -> ());
leveled!(across_at, across, [O: Op2<Out = <O as Op2>::In>], [O],
    (first: bool, n: usize, sums: *const u8, block: *mut u8, from: *const u8, to: *mut u8) -> ());

fn kernels<O: Op2<Out = <O as Op2>::In>>(level: Level) -> ScanKernels {
    ScanKernels {
        up: rows_at::<O, false>(level),
        down: rows_at::<O, true>(level),
        across: across_at::<O>(level),
    }
}

/// The same of an operator whose order does not show.
fn extremes<O: Op2<Out = <O as Op2>::In>>(level: Level) -> ScanKernels {
    ScanKernels {
        up: extreme::rows_at::<O, false>(level),
        down: extreme::rows_at::<O, true>(level),
        across: across_at::<O>(level),
    }
}

/// The kernels of a monoid on a type; `None` if the type does not have it.
pub(crate) fn scan(monoid: Monoid, t: DType, level: Level) -> Option<ScanKernels> {
    match (monoid, t) {
        (Monoid::Max, DType::I32) => Some(extremes::<op::Max<i32>>(level)),
        (Monoid::Max, DType::I64) => Some(extremes::<op::Max<i64>>(level)),
        (Monoid::Max, DType::F32) => Some(extremes::<op::Max<f32>>(level)),
        (Monoid::Max, DType::F64) => Some(extremes::<op::Max<f64>>(level)),
        (Monoid::Min, DType::I32) => Some(extremes::<op::Min<i32>>(level)),
        (Monoid::Min, DType::I64) => Some(extremes::<op::Min<i64>>(level)),
        (Monoid::Min, DType::F32) => Some(extremes::<op::Min<f32>>(level)),
        (Monoid::Min, DType::F64) => Some(extremes::<op::Min<f64>>(level)),
        _ => for_monoid!(monoid, t, O => kernels::<O>(level)),
    }
}
