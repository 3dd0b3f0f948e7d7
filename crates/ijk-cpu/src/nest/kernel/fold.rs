//! Reductions of tiles by a monoid.
//!
//! The order is fixed by extents alone. Rows are folded in [`LANES`]-byte strips of lanes, lane `l`
//! taking elements `l`, `l + L`, `l + 2L`, …; the lanes are then joined by halving.

use super::for_monoid;
use super::op::Op2;
use crate::simd::Level;
use crate::simd::leveled;
use ijk_types::{DType, Monoid};

/// Folds rows of values into accumulators.
///
/// # Safety
/// As each field says, for elements of the kernels' type; accumulators overlap no values; the
/// processor has the SIMD level the kernels were chosen for.
pub(crate) type Fold = unsafe fn(rows: usize, n: usize, acc: *mut u8, values: *const u8);

/// Folds rows of values that lie so many bytes apart into accumulators.
///
/// # Safety
/// As for [`Fold`]; the rows' elements are aligned.
pub(crate) type FoldRows =
    unsafe fn(rows: usize, n: usize, acc: *mut u8, values: *const u8, step: isize);

/// Combines values into elements anywhere.
///
/// # Safety
/// For each `i < n`, `out` plus `offsets[i]` elements is an element nobody else accesses.
pub(crate) type CombineAt =
    unsafe fn(n: usize, out: *mut u8, offsets: *const i64, values: *const u8);

/// The kernels of one monoid and element type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoldKernels {
    /// `acc[k] = acc[k] op values[r][k]` for `r < rows` in turn, `k < n`.
    pub down: Fold,
    /// The same for rows that lie some bytes apart.
    pub rows: FoldRows,
    /// `acc[r] = acc[r] op fold of values[r][0..n]` for `r < rows`, with `n > 0`.
    pub along: Fold,
    /// `out[offsets[i]] = out[offsets[i]] op values[i]` for `i < n` in turn.
    pub at: CombineAt,
    /// Whether rounding depends on the order.
    pub rounds: bool,
}

/// Bytes of the lanes that a row is folded in.
const LANES: usize = 256;

/// A combination written for a fixed number of lanes.
///
/// # Safety
/// That of [`Fold`]: `acc` has `n` elements, `values` `rows * n`.
#[inline(always)]
unsafe fn down<O: Op2<Out = <O as Op2>::In>>(
    rows: usize,
    n: usize,
    acc: *mut u8,
    values: *const u8,
) {
    let (acc, values) = (acc.cast::<O::In>(), values.cast::<O::In>());
    if rows > 1 && n <= NARROW {
        // SAFETY: the caller's promise.
        return unsafe { down_narrow::<O>(rows, n, acc, values) };
    }
    let step = (n * size_of::<O::In>()) as isize;
    // SAFETY: the caller's promise; rows follow each other.
    unsafe { spread::<O>(rows, n, acc.cast(), values.cast(), step) }
}

/// Rows that are folded at a time: memory gives more where several are read side by side, and accumulators
/// are read and written once for all of them (column sums of 4096²: 2.1 ms one by one, 1.6 ms so).
const ROWS: usize = 8;

/// # Safety
/// That of [`FoldRows`].
#[inline(always)]
unsafe fn spread<O: Op2<Out = <O as Op2>::In>>(
    rows: usize,
    n: usize,
    acc: *mut u8,
    values: *const u8,
    step: isize,
) {
    let (acc, mut row) = (acc.cast::<O::In>(), values);
    // SAFETY: the caller's promise.
    unsafe {
        for _ in 0..rows / ROWS {
            several::<O, ROWS>(n, acc, row, step);
            row = row.wrapping_offset(ROWS as isize * step);
        }
        for _ in 0..rows % ROWS {
            several::<O, 1>(n, acc, row, step);
            row = row.wrapping_offset(step);
        }
    }
}

/// `R` rows.
///
/// # Safety
/// As for [`spread`].
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "the number of rows must be known")]
unsafe fn several<O: Op2<Out = <O as Op2>::In>, const R: usize>(
    n: usize,
    acc: *mut O::In,
    values: *const u8,
    step: isize,
) {
    let row = |r: usize| values.wrapping_offset(r as isize * step).cast::<O::In>();
    let mut rows: [&[O::In]; R] = [&[]; R];
    // SAFETY: the caller's promise: row `r` of `R`, and accumulators that overlap none of them.
    unsafe {
        for r in 0..R {
            rows[r] = std::slice::from_raw_parts(row(r), n);
        }
        together::<O, R>(std::slice::from_raw_parts_mut(acc, n), rows);
    }
}

/// Slices, of which the compiler knows that they are apart.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "the number of rows must be known")]
fn together<O: Op2<Out = <O as Op2>::In>, const R: usize>(acc: &mut [O::In], rows: [&[O::In]; R]) {
    for k in 0..acc.len() {
        let mut sum = acc[k];
        for r in 0..R {
            sum = O::apply(sum, rows[r][k]);
        }
        acc[k] = sum;
    }
}

/// Rows up to this length are folded strip by strip, each of which stays in registers: in memory one
/// row would wait for the one before it.
const NARROW: usize = 64;

/// # Safety
/// As for [`down`].
#[inline(always)]
unsafe fn down_narrow<O: Op2<Out = <O as Op2>::In>>(
    rows: usize,
    n: usize,
    acc: *mut O::In,
    values: *const O::In,
) {
    let mut k = 0;
    // SAFETY: strips within the rows.
    unsafe {
        while k + 16 <= n {
            strip::<O, 16>(rows, n, acc.add(k), values.add(k));
            k += 16;
        }
        while k + 4 <= n {
            strip::<O, 4>(rows, n, acc.add(k), values.add(k));
            k += 4;
        }
        while k < n {
            strip::<O, 1>(rows, n, acc.add(k), values.add(k));
            k += 1;
        }
    }
}

/// `S` neighbours of each row.
///
/// # Safety
/// As for [`down`], with so many accumulators and values in rows that are `n` apart.
#[inline(always)]
unsafe fn strip<O: Op2<Out = <O as Op2>::In>, const S: usize>(
    rows: usize,
    n: usize,
    acc: *mut O::In,
    values: *const O::In,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = acc.cast::<[O::In; S]>().read();
        for r in 0..rows {
            let row = values.add(r * n).cast::<[O::In; S]>().read();
            for s in 0..S {
                sums[s] = O::apply(sums[s], row[s]);
            }
        }
        acc.cast::<[O::In; S]>().write(sums);
    }
}

/// # Safety
/// That of [`Fold`]: `acc` has `rows` elements, `values` `rows * n`, `n > 0`.
#[inline(always)]
unsafe fn along<O: Op2<Out = <O as Op2>::In>>(
    rows: usize,
    n: usize,
    acc: *mut u8,
    values: *const u8,
) {
    let (acc, values) = (acc.cast::<O::In>(), values.cast::<O::In>());
    for r in 0..rows {
        // SAFETY: row `r` of `rows`; each has `n` elements.
        unsafe {
            let folded = row::<O>(n, values.add(r * n));
            acc.add(r).write(O::apply(acc.add(r).read(), folded));
        }
    }
}

/// The fold of one row.
///
/// # Safety
/// `values` has `n > 0` elements.
#[inline(always)]
unsafe fn row<O: Op2<Out = <O as Op2>::In>>(n: usize, values: *const O::In) -> O::In {
    match size_of::<O::In>() {
        // SAFETY: the caller's promise.
        1 => unsafe { lanes::<O, { LANES }>(n, values) },
        // SAFETY: as above.
        4 => unsafe { lanes::<O, { LANES / 4 }>(n, values) },
        // SAFETY: as above.
        8 => unsafe { lanes::<O, { LANES / 8 }>(n, values) },
        // SAFETY: as above.
        _ => unsafe { lanes::<O, { LANES / 16 }>(n, values) },
    }
}

/// The fold of one row in `L` lanes.
///
/// # Safety
/// `values` has `n > 0` elements.
#[inline(always)]
unsafe fn lanes<O: Op2<Out = <O as Op2>::In>, const L: usize>(
    n: usize,
    values: *const O::In,
) -> O::In {
    // SAFETY: the caller promises `n` elements.
    let values = unsafe { std::slice::from_raw_parts(values, n) };
    if n < L {
        return short::<O, L>(values);
    }
    let (strips, tail) = values.as_chunks::<L>();
    let mut acc = strips[0];
    for strip in &strips[1..] {
        for l in 0..L {
            acc[l] = O::apply(acc[l], strip[l]);
        }
    }
    for (lane, &x) in acc.iter_mut().zip(tail) {
        *lane = O::apply(*lane, x);
    }
    halve::<O>(&mut acc)
}

/// The fold of fewer values than lanes, of which there are some. A number that is known here halves in
/// registers.
#[inline(always)]
fn short<O: Op2<Out = <O as Op2>::In>, const L: usize>(values: &[O::In]) -> O::In {
    if let Ok(values) = <&[O::In; 8]>::try_from(values) {
        return halve::<O>(&mut { *values });
    }
    if let Ok(values) = <&[O::In; 16]>::try_from(values) {
        return halve::<O>(&mut { *values });
    }
    if let Ok(values) = <&[O::In; 32]>::try_from(values) {
        return halve::<O>(&mut { *values });
    }
    let mut acc = [values[0]; L];
    acc[..values.len()].copy_from_slice(values);
    halve::<O>(&mut acc[..values.len()])
}

/// Joins lanes by halving: the upper half into the lower, and again.
#[inline(always)]
fn halve<O: Op2<Out = <O as Op2>::In>>(lanes: &mut [O::In]) -> O::In {
    let mut width = lanes.len();
    while width > 1 {
        let half = width.next_power_of_two() / 2;
        let (low, high) = lanes[..width].split_at_mut(half);
        for (x, &y) in low.iter_mut().zip(&*high) {
            *x = O::apply(*x, y);
        }
        width = half;
    }
    lanes[0]
}

/// # Safety
/// That of [`CombineAt`].
#[inline(always)]
unsafe fn combine_at<O: Op2<Out = <O as Op2>::In>>(
    n: usize,
    out: *mut u8,
    offsets: *const i64,
    values: *const u8,
) {
    let mut i = 0;
    while i < n {
        // SAFETY: `i < n`, here and below, and the offset is an element's.
        unsafe {
            let offset = offsets.add(i).read();
            let at = out.cast::<O::In>().wrapping_offset(offset as isize);
            let mut sum = O::apply(at.read(), values.cast::<O::In>().add(i).read());
            i += 1;
            // What falls on one element is taken in a register: memory would be read after it is written.
            while i < n && offsets.add(i).read() == offset {
                sum = O::apply(sum, values.cast::<O::In>().add(i).read());
                i += 1;
            }
            at.write(sum);
        }
    }
}

leveled!(down_at, down, [O: Op2<Out = <O as Op2>::In>], [O],
    (rows: usize, n: usize, acc: *mut u8, values: *const u8) -> ());
leveled!(rows_at, spread, [O: Op2<Out = <O as Op2>::In>], [O],
    (rows: usize, n: usize, acc: *mut u8, values: *const u8, step: isize) -> ());
leveled!(along_at, along, [O: Op2<Out = <O as Op2>::In>], [O],
    (rows: usize, n: usize, acc: *mut u8, values: *const u8) -> ());

/// The kernels of an operator.
fn kernels<O: Op2<Out = <O as Op2>::In>>(level: Level, rounds: bool) -> FoldKernels {
    let at: CombineAt = combine_at::<O>;
    let (down, rows, along) = (down_at::<O>(level), rows_at::<O>(level), along_at::<O>(level));
    FoldKernels { down, rows, along, at, rounds }
}

/// The kernels of a monoid on a type; `None` if the type does not have it.
pub(crate) fn fold(monoid: Monoid, t: DType, level: Level) -> Option<FoldKernels> {
    // Extremes are exact, and so is arithmetic that wraps.
    let sums = matches!(monoid, Monoid::Add | Monoid::Mul);
    let rounds = sums && !(t.is_integer() || t == DType::Bool);
    for_monoid!(monoid, t, O => kernels::<O>(level, rounds))
}
