//! Inclusive scans by a monoid.
//!
//! The order is a function of lengths. Values are scanned in blocks of [`SCAN_BLOCK`], each on its own; the total
//! before a block is combined last. Within a block of a row, groups of lanes are scanned by doubling. So no sum has
//! more than `SCAN_BLOCK + n / SCAN_BLOCK` sequential additions.

use super::op::{self, Op2};
use super::{extreme, for_monoid};
use crate::simd::Level;
use crate::simd::leveled;
use crate::tuning::order::SCAN_BLOCK;
use ijk_types::{DType, Monoid};

/// Scans rows of `n` contiguous values to contiguous places: `extents` are the number of rows and `n`, `steps` the
/// strides of rows in bytes of source and destination. `sum` is the initial value for each row, and finally the total
/// of the last one.
///
/// # Safety
/// Rows have their elements at `from` and `to` (which may be identical), and `sum` is one; the processor supports the
/// SIMD level of the kernel.
pub type ScanRows =
    unsafe fn(extents: [usize; 2], sum: *mut u8, from: *const u8, to: *mut u8, steps: [isize; 2]);

/// Scans one value of each of `n` parallel rows: `block[i]` is the scan within the present block, `to[i]` the same
/// combined after `sums[i]`. `first` starts a block.
///
/// # Safety
/// All have `n` elements; no other thread accesses those of `sums` and `block`; the processor supports the SIMD level
/// of the kernel.
pub type ScanStep =
    unsafe fn(first: bool, n: usize, sums: *const u8, block: *mut u8, from: *const u8, to: *mut u8);

/// The kernels of one monoid and element type.
#[derive(Clone, Copy, Debug)]
pub struct ScanKernels {
    /// Along rows from low to high addresses.
    pub up: ScanRows,
    /// Along rows from high to low addresses: `from` and `to` are the highest.
    pub down: ScanRows,
    /// Across rows.
    pub across: ScanStep,
}

/// # Safety
/// As for [`ScanRows`].
#[inline(always)]
unsafe fn rows<O: Op2<Out = <O as Op2>::In>, const DOWN: bool>(
    [rows, n]: [usize; 2],
    sum: *mut u8,
    from: *const u8,
    to: *mut u8,
    steps: [isize; 2],
) {
    let sum = sum.cast::<O::In>();
    // SAFETY: guaranteed by the caller.
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

/// Scans a row after `sum`; returns the total including the row.
///
/// # Safety
/// `from` and `to` have `n` elements, in descending order of addresses if `DOWN`.
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
        let length = SCAN_BLOCK.min(n - at);
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

/// Scans a block after `sum`; returns the total of its values.
///
/// # Safety
/// `from` and `to` have `n > 0` elements, in descending order of addresses if `DOWN`.
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
        // SAFETY: `L` elements from `at` on are among the `n`; `place` is the lowest address.
        unsafe {
            let place = if DOWN { -((at + L - 1) as isize) } else { at as isize };
            let mut group: [O::In; L] = from.offset(place).cast::<[O::In; L]>().read_unaligned();
            if DOWN {
                group.reverse();
            }
            let group = doubled::<O, L>(group);
            let before = start(taken);
            let mut out = group;
            for x in out.iter_mut() {
                *x = O::apply(before, *x);
            }
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
    // A block is not empty.
    taken.unwrap_or(sum)
}

/// Scans the lanes of a group by doubling: each is combined with its neighbour, then at distance two, four, …
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
/// As for [`ScanStep`].
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

/// The kernels of an operator that is independent of order.
fn extremes<O: Op2<Out = <O as Op2>::In>>(level: Level) -> ScanKernels {
    ScanKernels {
        up: extreme::rows_at::<O, false>(level),
        down: extreme::rows_at::<O, true>(level),
        across: across_at::<O>(level),
    }
}

/// The kernels of a monoid for a type; `None` if the type does not have it.
pub fn scan(monoid: Monoid, t: DType, level: Level) -> Option<ScanKernels> {
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
