//! Profitability of contractions relative to loop nests. Thresholds are tuned by benchmarks.

use crate::plan::{Contraction, ContractionAxis, Role};
use ijk_types::{BinaryOp, Monoid};

/// Products that a contraction forms in the time of moving a byte to memory and back.
pub(crate) const PRODUCTS_PER_BYTE: u64 = 100;

/// Products from which on few rows are multiplied in lanes that stay partly empty, even if there are few steps.
const MANY_PRODUCTS: u64 = 1 << 15;

/// Steps from which on sums of a few rows or columns fill lanes.
const LONG_SUM: u64 = 1 << 10;

/// Products of a vector by a matrix, one of a batch, from which on gemv reads the matrix faster than a loop nest,
const LARGE_MATRIX: u64 = 1 << 14;

/// and products of the batch from which on it does so for smaller ones, since they are out of cache.
const MANY_MATRICES: u64 = 1 << 21;

/// Distance of rows in elements up to which they are read like contiguous ones.
const NEAR_ROWS: usize = 1 << 10;

/// Tells whether a contraction of these extents is faster than a loop nest. Tuned by benchmarks.
///
/// Matrix-vector products need sides that fill vector lanes; batched products need enough work each to amortise
/// packing.
pub(crate) fn worth_contracting(batch: u64, m: u64, n: u64, k: u64) -> bool {
    let (short, long) = (m.min(n), m.max(n));
    let work = m.saturating_mul(n).saturating_mul(k);
    match (short, batch) {
        (_, 0) | (0, _) => false,
        (1, 1) => k >= 16 && long >= 16 || k >= LONG_SUM && long > 1,
        (1, _) => {
            let large = work >= LARGE_MATRIX || work.saturating_mul(batch) >= MANY_MATRICES;
            k >= 16 && long >= 16 && large
        }
        (_, 1) => k > 1 && (short.saturating_mul(k) >= 16 && work > 64 || work >= MANY_PRODUCTS),
        (_, _) => k > 1 && work >= 512,
    }
}

/// Tells whether a contraction is faster than a loop nest, and its output strides are injective.
pub(crate) fn is_worth(whole: &Contraction) -> bool {
    let [batch, m, n, k] = [Role::Batch, Role::M, Role::N, Role::K].map(|role| whole.extent(role));
    let gemv = worth_contracting(batch, m, n, k) && (batch == 1 || m.min(n) > 1 || is_dense(whole));
    (gemv || worth_dots(whole, m, n, k)) && apart(&whole.axes)
}

/// Tells whether the rows of the matrices of a batched matrix-vector product are near each other: those of one matrix
/// are read one after another, while a loop nest may read those of the batch in the order of memory.
fn is_dense(whole: &Contraction) -> bool {
    let step = |axis: &ContractionAxis| match whole.extent(Role::M) > 1 {
        true => axis.a.unsigned_abs(),
        false => axis.b.unsigned_abs(),
    };
    let row = whole.extent(Role::M).max(whole.extent(Role::N)) as usize;
    let steps = whole.axes.iter().filter(|axis| axis.role == Role::K && axis.extent > 1);
    steps.map(step).all(|step| step <= row.max(NEAR_ROWS))
}

/// Tells whether dot products beat a loop nest: sums of products along contiguous axes, with k long enough or enough
/// rows to fill vector lanes. Tuned by benchmarks.
fn worth_dots(whole: &Contraction, m: u64, n: u64, k: u64) -> bool {
    let inexact = whole.dtype.is_float() || whole.dtype.is_complex();
    let sums = whole.map == BinaryOp::Mul && whole.reduce == Monoid::Add && whole.then.is_none();
    // Overlapping rows are windows, which need no packing.
    let along = |step: fn(&ContractionAxis) -> isize| {
        let unit = whole.axes.iter().find(|x| x.role == Role::K && x.extent > 1 && step(x) == 1);
        unit.is_some_and(|k| {
            let overlaps = |x: &ContractionAxis| (1..k.extent).contains(&step(x).unsigned_abs());
            !whole.axes.iter().any(|x| x.role != Role::K && x.extent > 1 && overlaps(x))
        })
    };
    let (left, right) = (along(|x| x.a), along(|x| x.b));
    let contiguous = if m > n {
        left
    } else if n > m {
        right
    } else {
        left && right
    };
    let batch = whole.extent(Role::Batch);
    // Batched 1 × k × 1 products are computed side by side, like the rows of one matrix.
    let rows = if m.max(n) == 1 { batch } else { m.max(n) };
    let long = k >= 256 || (k >= 8 && rows >= 8 && rows.saturating_mul(k) >= 256);
    let batched = batch > 0 && m.min(n) == 1;
    inexact && sums && batched && contiguous && long
}

/// Tells whether the output's strides are injective: each stride exceeds the span of all axes with smaller strides.
/// `i[j+i]` in Fortran order is not.
fn apart(axes: &[ContractionAxis]) -> bool {
    let kept = axes.iter().filter(|axis| axis.role != Role::K && axis.extent > 1);
    let mut steps: Vec<(usize, usize)> = kept.map(|a| (a.c.unsigned_abs(), a.extent)).collect();
    steps.sort_unstable();
    let mut reach = 0usize;
    steps.into_iter().all(|(step, extent)| {
        let fits = step > reach;
        reach = reach.saturating_add(step.saturating_mul(extent - 1));
        fits
    })
}
