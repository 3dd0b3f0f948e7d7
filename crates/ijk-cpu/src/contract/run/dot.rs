//! gemv for few columns and contiguous k: each row is a dot product with k in the lanes.

use crate::contract::canonical::bundle::TensorId;
use crate::contract::canonical::problem::{Problem, TensorPointers};
use crate::contract::run::context::Context;
use crate::contract::select::gemv::{DotGemv, dot_kernel, dot_steps};
use crate::runtime::scratch::Scratch;
use ijk_kernels::contraction::gemv::{DotArgs, MOST_LANES, PairedDotArgs};
use ijk_kernels::contraction::panel;
use ijk_kernels::contraction::panel::Prepare;
use ijk_kernels::contraction::word::ElementWord;
use ijk_kernels::tuning::order::{DOT_ROWS, THIN_EXTENT};
use std::mem::MaybeUninit;
use std::ops::Range;

impl DotGemv {
    /// Computes one batch.
    ///
    /// # Safety
    /// As for [`gemm`](crate::contract::run::blocked::gemm), for the problem that `self` was made from.
    pub(crate) unsafe fn run<W: ElementWord>(&self, problem: &Problem, tensors: TensorPointers) {
        let identity = problem.algebra.identity.0.as_ptr();
        let out = tensors.out.cast::<W>();
        // SAFETY: guaranteed by the caller: rows and vector are contiguous, and so is the output; an identity is an
        // element.
        unsafe {
            let start = identity.cast::<W>().read_unaligned();
            (0..self.offsets.len()).for_each(|row| out.add(row).write(start));
            (self.kernel)(&DotArgs {
                k: problem.k.len(),
                left: tensors.left,
                offsets: self.offsets.as_ptr(),
                count: self.offsets.len(),
                right: tensors.right,
                sums: tensors.out,
                identity: identity.cast(),
            });
        }
    }
}

/// Batched dot products: each batch is one row by one column, several batches at a time.
///
/// # Safety
/// As for [`gemm`](crate::contract::run::blocked::gemm), for all batches of a problem with one output for which [`DotGemv::of`] is `Some`;
/// `tensors` point to the first batch of the problem, not of `range`.
pub(crate) unsafe fn dot_batches<W: ElementWord>(
    problem: &Problem,
    tensors: TensorPointers,
    range: Range<usize>,
) {
    let Some(kernels) = &problem.algebra.rows.kernels else { return };
    let mut out = [const { MaybeUninit::<W>::uninit() }; MOST_LANES];
    for start in range.clone().step_by(MOST_LANES) {
        let count = (range.end - start).min(MOST_LANES);
        let offsets = [TensorId::Left, TensorId::Right, TensorId::Out].map(|operand| {
            let mut offsets = [0; MOST_LANES];
            problem.batch.offsets(operand, start, &mut offsets[..count]);
            offsets
        });
        let rows = |base: *const u8, offsets: [isize; MOST_LANES]| {
            offsets.map(|offset| base.cast::<W>().wrapping_offset(offset).cast::<u8>())
        };
        // SAFETY: guaranteed by the caller: rows are contiguous, and the output has these elements.
        unsafe {
            (kernels.pairs)(&PairedDotArgs {
                k: problem.k.len(),
                rows: [rows(tensors.left, offsets[0]), rows(tensors.right, offsets[1])],
                count,
                out: out.as_mut_ptr().cast(),
                identity: problem.algebra.identity.0.as_ptr(),
            });
            for (value, offset) in out[..count].iter().zip(offsets[2]) {
                tensors.out.cast::<W>().offset(offset).write(value.assume_init());
            }
        }
    }
}

/// Computes one batch for the steps `ks` of k.
///
/// # Safety
/// As for [`gemm`](crate::contract::run::blocked::gemm).
pub(crate) unsafe fn dot<W: ElementWord>(
    problem: &Problem,
    tensors: TensorPointers,
    ks: Range<usize>,
    context: &Context,
) {
    let m = problem.m.len();
    context.parallel_for(m.div_ceil(DOT_ROWS), |task| {
        let rows = task * DOT_ROWS..((task + 1) * DOT_ROWS).min(m);
        // SAFETY: guaranteed by the caller; tasks differ in rows.
        unsafe { some_rows::<W>(problem, tensors, ks.clone(), context, rows) };
    });
}

/// # Safety
/// As for [`dot`].
unsafe fn some_rows<W: ElementWord>(
    problem: &Problem,
    tensors: TensorPointers,
    ks: Range<usize>,
    context: &Context,
    rows: Range<usize>,
) {
    let Problem { m, k, n, algebra, .. } = problem;
    let Some(kernel) = dot_kernel(problem) else { return };
    let mut offsets = [0; DOT_ROWS];
    m.offsets(TensorId::Left, rows.start, &mut offsets[..rows.len()]);
    let mut sums = [const { MaybeUninit::<W>::uninit() }; THIN_EXTENT * DOT_ROWS];
    let mut packed = None;
    // SAFETY: an identity is an element; there are sums for each column; rows and columns are
    // contiguous for the steps of a run.
    unsafe {
        let identity = algebra.identity.0.as_ptr().cast::<W>().read_unaligned();
        for column in 0..n.len() {
            sums[column * DOT_ROWS..][..rows.len()].fill(MaybeUninit::new(identity));
        }
        let mut start = ks.start;
        while start < ks.end {
            if context.have_ended() {
                return;
            }
            let steps = start..start + next_run(problem, start).min(ks.end - start);
            let first = k.offset(TensorId::Left, steps.start);
            for column in 0..n.len() {
                let right = right_run::<W>(problem, tensors, &steps, column, &mut packed, context);
                let Some(right) = right else { return };
                kernel(&DotArgs {
                    k: steps.len(),
                    left: tensors.left.cast::<W>().wrapping_offset(first).cast(),
                    offsets: offsets.as_ptr(),
                    count: rows.len(),
                    right: right.cast(),
                    sums: sums[column * DOT_ROWS..].as_mut_ptr().cast(),
                    identity: algebra.identity.0.as_ptr(),
                });
            }
            start = steps.end;
        }
        write(problem, tensors, rows, sums.as_ptr().cast::<W>());
    }
}

/// Number of steps from `start` on that are contiguous in lhs and fit a block.
fn next_run(problem: &Problem, start: usize) -> usize {
    let run = problem.k.run(TensorId::Left);
    (run - start % run).min(dot_steps(problem))
}

/// A contiguous run of a column: in place, or packed into scratch memory; `None` if that cannot be allocated.
///
/// # Safety
/// As for [`dot`].
unsafe fn right_run<'a, W: ElementWord>(
    problem: &Problem,
    tensors: TensorPointers,
    steps: &Range<usize>,
    column: usize,
    packed: &mut Option<Scratch<'a>>,
    context: &Context<'a>,
) -> Option<*const W> {
    let base = tensors.right.cast::<W>();
    let column = problem.n.offset(TensorId::Right, column);
    let keep = problem.algebra.right == Prepare::Keep;
    // SAFETY: the steps of the column are readable; the scratch has room for them.
    unsafe {
        if keep && problem.k.is_run(TensorId::Right, steps.start, steps.len()) {
            return Some(base.offset(column + problem.k.offset(TensorId::Right, steps.start)));
        }
        let bytes = dot_steps(problem) * size_of::<W>();
        if packed.is_none() {
            *packed = context.take(bytes);
        }
        let packed = packed.as_ref()?.as_ptr().cast::<W>();
        let mut offsets = [0; 256];
        for start in steps.clone().step_by(256) {
            let offsets = &mut offsets[..(steps.end - start).min(256)];
            problem.k.offsets(TensorId::Right, start, offsets);
            for (n, &offset) in offsets.iter().enumerate() {
                packed.add(start - steps.start + n).write(base.offset(column + offset).read());
            }
        }
        let algebra = &problem.algebra;
        panel::prepare(context.level, problem.dtype, algebra.right, packed.cast(), steps.len());
        Some(packed)
    }
}

/// Writes the sums to the output.
///
/// # Safety
/// As for [`dot`]; `sums` holds `DOT_ROWS` for each column.
unsafe fn write<W: ElementWord>(
    problem: &Problem,
    tensors: TensorPointers,
    rows: Range<usize>,
    sums: *const W,
) {
    let mut offsets = [0; DOT_ROWS];
    let offsets = &mut offsets[..rows.len()];
    problem.m.offsets(TensorId::Out, rows.start, offsets);
    for column in 0..problem.n.len() {
        let column_offset = problem.n.offset(TensorId::Out, column);
        for (r, &row) in offsets.iter().enumerate() {
            // SAFETY: the output has this row and column.
            unsafe {
                let out = tensors.out.cast::<W>().offset(row + column_offset);
                let sum = sums.add(column * DOT_ROWS + r);
                match problem.accumulate {
                    true => (problem.algebra.rows.combine)(out.cast(), sum.cast(), 1),
                    false => out.write(sum.read()),
                }
            }
        }
    }
}
