//! axpy for few columns and contiguous rows out of cache: each step adds its row, times a factor, to sums in L1, so
//! that memory is read in long runs.

use crate::contract::canonical::bundle::TensorId;
use crate::contract::canonical::problem::{Problem, TensorPointers};
use crate::contract::run::context::Context;
use ijk_kernels::contraction::gemv::{AXPY_ROWS, AxpyArgs};
use ijk_kernels::contraction::word::ElementWord;
use ijk_kernels::tuning::order::KC;
use ijk_kernels::tuning::time::AXPY_SUM_BYTES;
use std::ops::Range;

/// Computes one batch for the steps `ks` of k.
///
/// # Safety
/// As for [`gemm`](crate::contract::run::blocked::gemm).
pub(crate) unsafe fn axpy<W: ElementWord>(
    problem: &Problem,
    tensors: TensorPointers,
    ks: Range<usize>,
    context: &Context,
) {
    let m = problem.m.len();
    let most = (AXPY_SUM_BYTES / size_of::<W>()).min(m.div_ceil(context.threads()));
    let rows = most.next_multiple_of(problem.algebra.lanes);
    context.parallel_for(m.div_ceil(rows), |task| {
        let rows = task * rows..((task + 1) * rows).min(m);
        // SAFETY: guaranteed by the caller; tasks differ in rows.
        unsafe { some_rows::<W>(problem, tensors, ks.clone(), context, rows) };
    });
}

/// # Safety
/// As for [`axpy`].
unsafe fn some_rows<W: ElementWord>(
    problem: &Problem,
    tensors: TensorPointers,
    ks: Range<usize>,
    context: &Context,
    rows: Range<usize>,
) {
    let (columns, len) = (problem.n.len(), rows.len());
    let Some(scratch) = context.take(2 * columns * len * size_of::<W>()) else { return };
    let totals = scratch.as_ptr().cast::<W>();
    // SAFETY: the scratch has room for the totals and the sums of a block for each column.
    unsafe {
        let identity = problem.algebra.identity.0.as_ptr().cast::<W>().read_unaligned();
        let sums = totals.add(columns * len);
        for start in ks.clone().step_by(KC) {
            if context.have_ended() {
                return;
            }
            let steps = start..(start + KC).min(ks.end);
            let first = start == ks.start;
            let block = if first { totals } else { sums };
            (0..columns * len).for_each(|n| block.add(n).write(identity));
            for some in steps.clone().step_by(STEPS) {
                let some = some..(some + STEPS).min(steps.end);
                add_steps::<W>(problem, tensors, some, &rows, block);
            }
            if !first {
                let combine = problem.algebra.rows.combine;
                combine(totals.cast(), sums.cast_const().cast(), columns * len);
            }
        }
        write::<W>(problem, tensors, rows, totals);
    }
}

/// Steps whose offsets are computed at a time: batches may be short, and the offsets of KC steps fill several lines.
const STEPS: usize = 8 * AXPY_ROWS;

/// Adds the rows of at most STEPS steps to sums.
///
/// # Safety
/// As for [`axpy`]; there are sums for each column.
unsafe fn add_steps<W: ElementWord>(
    problem: &Problem,
    tensors: TensorPointers,
    steps: Range<usize>,
    rows: &Range<usize>,
    sums: *mut W,
) {
    let Problem { k, n, m, algebra, .. } = problem;
    let Some(kernels) = &algebra.rows.kernels else { return };
    let mut offsets = [[0; STEPS]; 2];
    let [left, right] = &mut offsets;
    k.offsets(TensorId::Left, steps.start, &mut left[..steps.len()]);
    k.offsets(TensorId::Right, steps.start, &mut right[..steps.len()]);
    let base = tensors.left.cast::<W>().wrapping_offset(m.offset(TensorId::Left, rows.start));
    for at in (0..steps.len()).step_by(AXPY_ROWS) {
        let count = AXPY_ROWS.min(steps.len() - at);
        for column in 0..n.len() {
            let factor = n.offset(TensorId::Right, column);
            let factor = |r: usize| factor + right[at + r.min(count - 1)];
            let row = |r: usize| base.wrapping_offset(left[at + r.min(count - 1)]).cast();
            // SAFETY: rows and factors are the operands' at these steps.
            unsafe {
                let factors: [W; AXPY_ROWS] =
                    std::array::from_fn(|r| tensors.right.cast::<W>().offset(factor(r)).read());
                (kernels.axpy)(&AxpyArgs {
                    rows: std::array::from_fn(row),
                    count,
                    factors: factors.as_ptr().cast(),
                    sums: sums.add(column * rows.len()).cast(),
                    len: rows.len(),
                });
            }
        }
    }
}

/// Writes the totals to the output.
///
/// # Safety
/// As for [`axpy`]; there are totals for each column.
unsafe fn write<W: ElementWord>(
    problem: &Problem,
    tensors: TensorPointers,
    rows: Range<usize>,
    from: *const W,
) {
    let Problem { m, n, algebra, accumulate, .. } = problem;
    let run = m.is_run(TensorId::Out, rows.start, rows.len());
    for column in 0..n.len() {
        let first = n.offset(TensorId::Out, column);
        // SAFETY: the output has these rows and columns.
        unsafe {
            let from = from.add(column * rows.len());
            let out = tensors.out.cast::<W>().wrapping_offset(first);
            let at = |row: usize| out.wrapping_offset(m.offset(TensorId::Out, row));
            match (run, accumulate) {
                (true, false) => {
                    std::ptr::copy_nonoverlapping(from, at(rows.start), rows.len());
                }
                (true, true) => {
                    (algebra.rows.combine)(at(rows.start).cast(), from.cast(), rows.len());
                }
                (false, _) => rows.clone().enumerate().for_each(|(r, row)| match accumulate {
                    true => (algebra.rows.combine)(at(row).cast(), from.add(r).cast(), 1),
                    false => at(row).write(from.add(r).read()),
                }),
            }
        }
    }
}
