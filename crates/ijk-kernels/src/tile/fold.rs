//! Reductions of tiles by a monoid.
//!
//! The order is a function of extents. Rows are folded in strips of [`FOLD_STRIP_BYTES`] bytes, lane `l` combining
//! elements `l`, `l + L`, `l + 2L`, …; the lanes are then combined by halving.

use super::for_monoid;
use super::op::Op2;
use crate::simd::Level;
use crate::simd::leveled;
use crate::tuning::order::FOLD_STRIP_BYTES;
use crate::tuning::time::{FOLDED_ROWS, NARROW_ROW};
use ijk_types::{DType, Monoid};

/// Folds rows of values into accumulators.
///
/// # Safety
/// As each field of [`FoldKernels`] says, for elements of the kernels' type; accumulators overlap no values; the
/// processor supports the SIMD level of the kernels.
pub type Fold = unsafe fn(rows: usize, n: usize, acc: *mut u8, values: *const u8);

/// Folds rows of values that are `step` bytes apart into accumulators.
///
/// # Safety
/// As for [`Fold`]; the rows' elements are aligned.
pub type FoldRows = unsafe fn(rows: usize, n: usize, acc: *mut u8, values: *const u8, step: isize);

/// Combines values with elements at offsets.
///
/// # Safety
/// For each `i < n`, `out` plus `offsets[i]` elements is an element that no other thread accesses.
pub type CombineAt = unsafe fn(n: usize, out: *mut u8, offsets: *const i64, values: *const u8);

/// The kernels of one monoid and element type.
#[derive(Clone, Copy, Debug)]
pub struct FoldKernels {
    /// `acc[k] = acc[k] op values[r][k]` for `r < rows` in turn, `k < n`.
    pub down: Fold,
    /// The same for rows with a stride in bytes.
    pub rows: FoldRows,
    /// `acc[r] = acc[r] op fold of values[r][0..n]` for `r < rows`, with `n > 0`.
    pub along: Fold,
    /// `out[offsets[i]] = out[offsets[i]] op values[i]` for `i < n` in turn.
    pub at: CombineAt,
    /// True if the result depends on the order by rounding.
    pub rounds: bool,
}

/// Folds rows into accumulators.
///
/// # Safety
/// As for [`Fold`]: `acc` has `n` elements, `values` `rows * n`.
#[inline(always)]
unsafe fn down<O: Op2<Out = <O as Op2>::In>>(
    rows: usize,
    n: usize,
    acc: *mut u8,
    values: *const u8,
) {
    let (acc, values) = (acc.cast::<O::In>(), values.cast::<O::In>());
    if rows > 1 && n <= NARROW_ROW {
        // SAFETY: guaranteed by the caller.
        return unsafe { down_narrow::<O>(rows, n, acc, values) };
    }
    let step = (n * size_of::<O::In>()) as isize;
    // SAFETY: guaranteed by the caller; rows are contiguous to each other.
    unsafe { spread::<O>(rows, n, acc.cast(), values.cast(), step) }
}

/// # Safety
/// As for [`FoldRows`].
#[inline(always)]
unsafe fn spread<O: Op2<Out = <O as Op2>::In>>(
    rows: usize,
    n: usize,
    acc: *mut u8,
    values: *const u8,
    step: isize,
) {
    let (acc, mut row) = (acc.cast::<O::In>(), values);
    // SAFETY: guaranteed by the caller.
    unsafe {
        for _ in 0..rows / FOLDED_ROWS {
            several::<O, FOLDED_ROWS>(n, acc, row, step);
            row = row.wrapping_offset(FOLDED_ROWS as isize * step);
        }
        for _ in 0..rows % FOLDED_ROWS {
            several::<O, 1>(n, acc, row, step);
            row = row.wrapping_offset(step);
        }
    }
}

/// Folds `R` rows.
///
/// # Safety
/// As for [`spread`].
#[inline(always)]
unsafe fn several<O: Op2<Out = <O as Op2>::In>, const R: usize>(
    n: usize,
    acc: *mut O::In,
    values: *const u8,
    step: isize,
) {
    let row = |r: usize| values.wrapping_offset(r as isize * step).cast::<O::In>();
    let mut rows: [&[O::In]; R] = [&[]; R];
    // SAFETY: guaranteed by the caller: row `r` of `R`, and accumulators that overlap none of them.
    unsafe {
        for r in 0..R {
            rows[r] = std::slice::from_raw_parts(row(r), n);
        }
        together::<O, R>(std::slice::from_raw_parts_mut(acc, n), rows);
    }
}

/// Folds slices: as such the compiler knows that they do not overlap.
#[inline(always)]
fn together<O: Op2<Out = <O as Op2>::In>, const R: usize>(acc: &mut [O::In], rows: [&[O::In]; R]) {
    for k in 0..acc.len() {
        let mut sum = acc[k];
        for r in 0..R {
            sum = O::apply(sum, rows[r][k]);
        }
        acc[k] = sum;
    }
}

/// # Safety
/// As for [`down`].
#[inline(always)]
unsafe fn down_narrow<O: Op2<Out = <O as Op2>::In>>(
    rows: usize,
    n: usize,
    acc: *mut O::In,
    values: *const O::In,
) {
    // SAFETY: guaranteed by the caller; strips are no longer than the rows.
    unsafe {
        match n {
            16.. => strips::<O, 16>(rows, n, acc, values),
            8.. => strips::<O, 8>(rows, n, acc, values),
            4.. => strips::<O, 4>(rows, n, acc, values),
            _ => {
                for k in 0..n {
                    strip::<O, 1>(rows, n, acc.add(k), values.add(k));
                }
            }
        }
    }
}

/// Folds rows of at least `S` elements in strips of `S`, two at a time. The last strip overlaps its predecessor to be
/// full: both combine the same values with what the accumulators held before.
///
/// # Safety
/// As for [`down`], with `n >= S`.
#[inline(always)]
unsafe fn strips<O: Op2<Out = <O as Op2>::In>, const S: usize>(
    rows: usize,
    n: usize,
    acc: *mut O::In,
    values: *const O::In,
) {
    let count = n.div_ceil(S);
    // SAFETY: strips within the rows.
    unsafe {
        if count % 2 == 1 {
            strip::<O, S>(rows, n, acc, values);
        }
        for first in (count % 2..count).step_by(2) {
            pair::<O, S>(rows, n, acc, values, [first * S, ((first + 1) * S).min(n - S)]);
        }
    }
}

/// Folds two strips of each row, which may overlap.
///
/// # Safety
/// As for [`strip`], with strips from both elements of `at` on.
#[inline(always)]
unsafe fn pair<O: Op2<Out = <O as Op2>::In>, const S: usize>(
    rows: usize,
    n: usize,
    acc: *mut O::In,
    values: *const O::In,
    at: [usize; 2],
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut low = acc.add(at[0]).cast::<[O::In; S]>().read();
        let mut high = acc.add(at[1]).cast::<[O::In; S]>().read();
        for r in 0..rows {
            let row = values.add(r * n);
            let (x, y) = (row.add(at[0]).cast::<[O::In; S]>(), row.add(at[1]).cast::<[O::In; S]>());
            let (x, y) = (x.read(), y.read());
            for s in 0..S {
                low[s] = O::apply(low[s], x[s]);
                high[s] = O::apply(high[s], y[s]);
            }
        }
        acc.add(at[0]).cast::<[O::In; S]>().write(low);
        acc.add(at[1]).cast::<[O::In; S]>().write(high);
    }
}

/// Folds `S` contiguous elements of each row.
///
/// # Safety
/// As for [`down`], with `S` accumulators, and `S` values in each of the rows, which are `n` apart.
#[inline(always)]
unsafe fn strip<O: Op2<Out = <O as Op2>::In>, const S: usize>(
    rows: usize,
    n: usize,
    acc: *mut O::In,
    values: *const O::In,
) {
    // SAFETY: guaranteed by the caller.
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
/// As for [`Fold`]: `acc` has `rows` elements, `values` `rows * n`, `n > 0`.
#[inline(always)]
unsafe fn along<O: Op2<Out = <O as Op2>::In>>(
    rows: usize,
    n: usize,
    acc: *mut u8,
    values: *const u8,
) {
    let (acc, values) = (acc.cast::<O::In>(), values.cast::<O::In>());
    // The rows have more elements than their lower half.
    match n.next_power_of_two() / 2 {
        // SAFETY: guaranteed by the caller.
        4 => unsafe { halved::<O, 4>(rows, n, acc, values) },
        // SAFETY: guaranteed by the caller.
        8 => unsafe { halved::<O, 8>(rows, n, acc, values) },
        // SAFETY: guaranteed by the caller.
        16 if is_short::<O, 16>() => unsafe { halved::<O, 16>(rows, n, acc, values) },
        // SAFETY: guaranteed by the caller.
        32 if is_short::<O, 32>() => unsafe { halved::<O, 32>(rows, n, acc, values) },
        // SAFETY: guaranteed by the caller.
        _ => unsafe { each_row::<O>(rows, n, acc, values) },
    }
}

/// Returns true if rows of fewer than `2 * H` elements are shorter than a strip.
const fn is_short<O: Op2, const H: usize>() -> bool {
    H * size_of::<O::In>() < FOLD_STRIP_BYTES
}

/// Folds rows of at most `2 * H` elements, but more than `H`, in registers: lane `l` combines the elements `l` and
/// `H + l`, if there is such a one.
///
/// # Safety
/// As for [`along`], with rows of such a length.
#[inline(always)]
unsafe fn halved<O: Op2<Out = <O as Op2>::In>, const H: usize>(
    rows: usize,
    n: usize,
    acc: *mut O::In,
    values: *const O::In,
) {
    let (upper, end) = (n - H, rows * n);
    for r in 0..rows {
        let first = r * n;
        // SAFETY: the row's lower half, and the elements after it as far as there are any.
        unsafe {
            let mut lanes = values.add(first).cast::<[O::In; H]>().read();
            let from = values.add(first + H);
            let later = match first + 2 * H <= end {
                true => from.cast::<[O::In; H]>().read(),
                false => {
                    let mut last = lanes;
                    std::ptr::copy_nonoverlapping(from, last.as_mut_ptr(), upper);
                    last
                }
            };
            for l in 0..H {
                // Applied to elements of the next row, too: a choice of values, and no branch.
                let both = O::apply(lanes[l], later[l]);
                lanes[l] = if l < upper { both } else { lanes[l] };
            }
            let folded = halve::<O>(&mut lanes);
            acc.add(r).write(O::apply(acc.add(r).read(), folded));
        }
    }
}

/// Folds rows one by one.
///
/// # Safety
/// As for [`along`].
#[inline(always)]
unsafe fn each_row<O: Op2<Out = <O as Op2>::In>>(
    rows: usize,
    n: usize,
    acc: *mut O::In,
    values: *const O::In,
) {
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
        // SAFETY: guaranteed by the caller.
        1 => unsafe { lanes::<O, { FOLD_STRIP_BYTES }>(n, values) },
        // SAFETY: guaranteed by the caller.
        4 => unsafe { lanes::<O, { FOLD_STRIP_BYTES / 4 }>(n, values) },
        // SAFETY: guaranteed by the caller.
        8 => unsafe { lanes::<O, { FOLD_STRIP_BYTES / 8 }>(n, values) },
        // SAFETY: guaranteed by the caller.
        _ => unsafe { lanes::<O, { FOLD_STRIP_BYTES / 16 }>(n, values) },
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
    // SAFETY: the caller guarantees `n` elements.
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
    for l in 0..tail.len() {
        acc[l] = O::apply(acc[l], tail[l]);
    }
    halve::<O>(&mut acc)
}

/// The fold of at least one value, but fewer than lanes.
#[inline(always)]
fn short<O: Op2<Out = <O as Op2>::In>, const L: usize>(values: &[O::In]) -> O::In {
    let mut acc = [values[0]; L];
    acc[..values.len()].copy_from_slice(values);
    halve::<O>(&mut acc[..values.len()])
}

/// Combines lanes by halving: the upper half with the lower, and again.
#[inline(always)]
fn halve<O: Op2<Out = <O as Op2>::In>>(lanes: &mut [O::In]) -> O::In {
    let mut width = lanes.len();
    while width > 1 {
        let half = width.next_power_of_two() / 2;
        let (low, high) = lanes[..width].split_at_mut(half);
        let low = &mut low[..high.len()];
        for l in 0..high.len() {
            low[l] = O::apply(low[l], high[l]);
        }
        width = half;
    }
    lanes[0]
}

/// # Safety
/// As for [`CombineAt`].
#[inline(always)]
unsafe fn combine_at<O: Op2<Out = <O as Op2>::In>>(
    n: usize,
    out: *mut u8,
    offsets: *const i64,
    values: *const u8,
) {
    let mut i = 0;
    while i < n {
        // SAFETY: `i < n`, here and below; the caller guarantees that the offset is that of an element.
        unsafe {
            let offset = offsets.add(i).read();
            let at = out.cast::<O::In>().wrapping_offset(offset as isize);
            let mut sum = O::apply(at.read(), values.cast::<O::In>().add(i).read());
            i += 1;
            // Consecutive values for the same element are combined in a register, to avoid store-to-load forwarding.
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

/// The kernels of a monoid for a type; `None` if the type does not have it.
pub fn fold(monoid: Monoid, t: DType, level: Level) -> Option<FoldKernels> {
    // Extremes are exact, and so is wrapping arithmetic.
    let sums = matches!(monoid, Monoid::Add | Monoid::Mul);
    let rounds = sums && !(t.is_integer() || t == DType::Bool);
    for_monoid!(monoid, t, O => kernels::<O>(level, rounds))
}

#[cfg(test)]
mod tests {
    use super::super::op::{Add, Max};
    use super::*;

    /// Folds of rows with their lower and upper halves combined, and again.
    fn literal<T: Copy>(row: &[T], apply: impl Fn(T, T) -> T + Copy) -> T {
        let half = row.len().next_power_of_two() / 2;
        if half == 0 || row.len() == 1 {
            return row[0];
        }
        let both = |l: usize| match row.get(half + l) {
            Some(&later) => apply(row[l], later),
            None => row[l],
        };
        literal(&(0..half).map(both).collect::<Vec<T>>(), apply)
    }

    fn check<O: Op2<In: PartialEq + std::fmt::Debug, Out = <O as Op2>::In>>(
        number: impl Fn(usize) -> O::In,
    ) {
        for n in 1..FOLD_STRIP_BYTES / size_of::<O::In>() {
            for rows in 1..4 {
                let values: Vec<O::In> = (0..rows * n).map(&number).collect();
                let mut sums = vec![number(7); rows];
                let level = Level::best();
                // SAFETY: rows of `n` values, and a sum for each.
                unsafe {
                    along_at::<O>(level)(rows, n, sums.as_mut_ptr().cast(), values.as_ptr().cast());
                }
                for (row, sum) in values.chunks(n).zip(sums) {
                    let expected = O::apply(number(7), literal(row, O::apply));
                    assert_eq!(sum, expected, "{rows} rows of {n}");
                }
            }
        }
    }

    #[test]
    fn short_rows_are_folded_by_halving() {
        check::<Add<f32>>(|n| (n * 37 % 101) as f32 + 0.1);
        check::<Add<f64>>(|n| (n * 37 % 101) as f64 + 0.1);
        check::<Max<i32>>(|n| (n * 37 % 101) as i32);
        check::<Max<u8>>(|n| (n * 37 % 101) as u8);
    }

    fn check_down<O: Op2<In: PartialEq + std::fmt::Debug, Out = <O as Op2>::In>>(
        number: impl Fn(usize) -> O::In,
    ) {
        for (n, rows) in (1..NARROW_ROW + 4).flat_map(|n| [0, 1, 2, 5].map(|rows| (n, rows))) {
            let values: Vec<O::In> = (0..rows * n).map(&number).collect();
            let mut sums: Vec<O::In> = (0..n).map(|k| number(k + 7)).collect();
            let mut expected = sums.clone();
            for row in values.chunks(n) {
                expected.iter_mut().zip(row).for_each(|(sum, &x)| *sum = O::apply(*sum, x));
            }
            let level = Level::best();
            // SAFETY: rows of `n` values, and as many sums.
            unsafe {
                down_at::<O>(level)(rows, n, sums.as_mut_ptr().cast(), values.as_ptr().cast());
            }
            assert_eq!(sums, expected, "{rows} rows of {n}");
        }
    }

    #[test]
    fn short_rows_are_folded_down_in_turn() {
        check_down::<Add<f32>>(|n| (n * 37 % 101) as f32 + 0.1);
        check_down::<Add<f64>>(|n| (n * 37 % 101) as f64 + 0.1);
        check_down::<Add<u8>>(|n| (n * 37 % 101) as u8);
    }
}
