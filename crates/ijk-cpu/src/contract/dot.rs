//! Few columns and contiguous k: each row is a dot product, with k in the lanes.

use super::bundle::{Bundle, Operand};
use super::pack::Word;
use super::panel::{self, Prepare};
use super::problem::{Problem, Tensors};
use super::rows::Rows;
use super::{Context, KC};
use std::ops::Range;

/// Steps that are summed in lanes before they are combined with the others: with four lanes or
/// more, no chain is longer than KC.
const STEPS: usize = 4 * KC;

/// Rows of a task.
const ROWS: usize = 64;

/// Most columns for which this beats packing.
const COLUMNS: usize = 3;

/// Whether a problem is of this kind.
pub(crate) fn suits(problem: &Problem) -> bool {
    let algebra = &problem.algebra;
    let long = |bundle: &Bundle| bundle.run(Operand::Left) >= 2 * algebra.lanes;
    long(&problem.k)
        && !long(&problem.m)
        && problem.n.len() <= COLUMNS
        && algebra.left == Prepare::Keep
        && algebra.rows.dots.is_some()
}

/// Computes one batch for the steps `ks` of k.
///
/// # Safety
/// As for [`super::gemm::gemm`].
pub(crate) unsafe fn dot<W: Word>(
    problem: &Problem,
    tensors: Tensors,
    ks: Range<usize>,
    context: &Context,
) {
    let m = problem.m.len();
    context.parallel_for(m.div_ceil(ROWS), |task| {
        let rows = task * ROWS..((task + 1) * ROWS).min(m);
        // SAFETY: the caller's promise; tasks differ in rows.
        unsafe { some_rows::<W>(problem, tensors, ks.clone(), context, rows) };
    });
}

/// # Safety
/// As for [`dot`].
unsafe fn some_rows<W: Word>(
    problem: &Problem,
    tensors: Tensors,
    ks: Range<usize>,
    context: &Context,
    rows: Range<usize>,
) {
    let columns = problem.n.len();
    let scratch = context.scratch.take((columns * ROWS + 4 + STEPS) * size_of::<W>());
    let sums = scratch.as_ptr().cast::<W>();
    // SAFETY: the scratch has room for the sums of each column, four results and a column's steps.
    unsafe {
        let identity = problem.algebra.identity.0.as_ptr().cast::<W>().read_unaligned();
        (0..columns * ROWS).for_each(|n| sums.add(n).write(identity));
        let (results, packed) = (sums.add(columns * ROWS), sums.add(columns * ROWS + 4));
        let mut start = ks.start;
        while start < ks.end {
            let steps = start..start + next_run(problem, start).min(ks.end - start);
            for column in 0..columns {
                let right = right_run(problem, tensors, &steps, column, packed, context);
                let sums = sums.add(column * ROWS);
                let job = Job { problem, tensors, steps: &steps, right, results, sums };
                job.run(&rows);
            }
            start = steps.end;
        }
        write(problem, tensors, rows, sums);
    }
}

/// How many steps from `start` on are neighbours in left and fit a block.
fn next_run(problem: &Problem, start: usize) -> usize {
    let run = problem.k.run(Operand::Left);
    (run - start % run).min(STEPS)
}

/// Some steps of a column, contiguous: where they lie, or packed.
///
/// # Safety
/// As for [`dot`]; `packed` has room for the steps.
unsafe fn right_run<W: Word>(
    problem: &Problem,
    tensors: Tensors,
    steps: &Range<usize>,
    column: usize,
    packed: *mut W,
    context: &Context,
) -> *const W {
    let base = tensors.right.cast::<W>();
    let column = problem.n.offset(Operand::Right, column);
    let keep = problem.algebra.right == Prepare::Keep;
    // SAFETY: the steps of the column are readable.
    unsafe {
        if keep && problem.k.is_run(Operand::Right, steps.start, steps.len()) {
            return base.offset(column + problem.k.offset(Operand::Right, steps.start));
        }
        let mut offsets = [0; 256];
        for start in steps.clone().step_by(256) {
            let offsets = &mut offsets[..(steps.end - start).min(256)];
            problem.k.offsets(Operand::Right, start, offsets);
            for (n, &offset) in offsets.iter().enumerate() {
                packed.add(start - steps.start + n).write(base.offset(column + offset).read());
            }
        }
        let algebra = &problem.algebra;
        panel::prepare(context.level, problem.dtype, algebra.right, packed.cast(), steps.len());
    }
    packed
}

/// One column of some steps.
struct Job<'a, W> {
    problem: &'a Problem,
    tensors: Tensors,
    steps: &'a Range<usize>,
    right: *const W,
    /// Room for four.
    results: *mut W,
    /// For each row.
    sums: *mut W,
}

impl<W: Word> Job<'_, W> {
    /// Adds what the steps contribute to the sums of `rows`.
    ///
    /// # Safety
    /// As for [`dot`].
    unsafe fn run(&self, rows: &Range<usize>) {
        let Problem { m, k, algebra, .. } = self.problem;
        let first = k.offset(Operand::Left, self.steps.start);
        let mut offsets = [0; ROWS];
        let offsets = &mut offsets[..rows.len()];
        m.offsets(Operand::Left, rows.start, offsets);
        let Some([four, one]) = algebra.rows.dots else { return };
        let (kernel, together) = if m.len() < 4 { (one, 1) } else { (four, 4) };
        for (at, group) in offsets.chunks(together).enumerate() {
            let left = |r: usize| {
                let row = group[r.min(group.len() - 1)];
                self.tensors.left.cast::<W>().wrapping_offset(row + first).cast()
            };
            let rows = Rows {
                k: self.steps.len(),
                left: std::array::from_fn(left),
                right: self.right.cast(),
                out: self.results.cast(),
                identity: algebra.identity.0.as_ptr(),
            };
            // SAFETY: rows and column are contiguous for these steps; both buffers have room.
            unsafe {
                kernel(&rows);
                let sums = self.sums.add(at * together).cast();
                (algebra.rows.combine)(sums, self.results.cast(), group.len());
            }
        }
    }
}

/// Writes the sums to the output.
///
/// # Safety
/// As for [`dot`]; `sums` holds `ROWS` for each column.
unsafe fn write<W: Word>(problem: &Problem, tensors: Tensors, rows: Range<usize>, sums: *const W) {
    let mut offsets = [0; ROWS];
    let offsets = &mut offsets[..rows.len()];
    problem.m.offsets(Operand::Out, rows.start, offsets);
    for column in 0..problem.n.len() {
        let column_offset = problem.n.offset(Operand::Out, column);
        for (r, &row) in offsets.iter().enumerate() {
            // SAFETY: the output has this row and column.
            unsafe {
                let out = tensors.out.cast::<W>().offset(row + column_offset);
                let sum = sums.add(column * ROWS + r);
                match problem.accumulate {
                    true => (problem.algebra.rows.combine)(out.cast(), sum.cast(), 1),
                    false => out.write(sum.read()),
                }
            }
        }
    }
}
