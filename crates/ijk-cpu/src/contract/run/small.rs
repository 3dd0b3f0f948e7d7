//! Matrices for which packing panels takes longer than the products: operands are read in place, with m in the lanes,
//! and nothing is allocated. If m is not contiguous in lhs, lhs is copied first, as a whole or in parts that fit L1.

use crate::contract::canonical::bundle::TensorId;
use crate::contract::canonical::problem::{Problem, TensorPointers};
use crate::contract::run::context::Context;
use crate::contract::select::small::{LhsCopy, LhsParts, SmallGemm};
use crate::copy::CopySide;
use ijk_kernels::contraction::small::{COLUMNS, NextBatch, SmallArgs, SmallFn};
use ijk_kernels::contraction::word::ElementWord;
use ijk_kernels::tuning::order::{KC, SMALL_NARROW_LHS_BYTES};
use ijk_kernels::tuning::time::SMALL_TASK_COLUMNS;
use std::array;
use std::mem::MaybeUninit;
use std::ops::Range;

impl SmallGemm {
    /// Computes some batches on this thread, if each is one call; returns false otherwise. The arguments that batches
    /// share are set once, since that takes longer than the products of 8 × 8 matrices.
    ///
    /// # Safety
    /// As for [`run`](Self::run), for all these batches; `tensors` point to the first batch of the problem.
    pub(crate) unsafe fn run_batches<W: ElementWord>(
        &self,
        problem: &Problem,
        tensors: TensorPointers,
        batches: Range<usize>,
    ) -> bool {
        let kernel = self.kernel(problem).filter(|_| self.is_one_call());
        let Some(kernel) = kernel else {
            return false;
        };
        let batch = &problem.batch;
        let (inner, steps) = batch.axes().last().map_or((1, [0; 3]), |a| (a.extent, a.strides));
        let bytes = |operand: TensorId, n: usize| {
            steps[operand as usize].wrapping_mul((n * size_of::<W>()) as isize)
        };
        let whole = self.piece(problem, tensors, self.parts.values * self.parts.rows);
        let mut n = batches.start;
        while n < batches.end {
            let first = tensors.at::<W>(batch, n);
            let count = (inner - n % inner).min(batches.end - n);
            for step in 0..count {
                let next = self.prefetches() && n + step + 1 < batch.len();
                let ahead = next.then(|| {
                    let next = tensors.at::<W>(batch, n + step + 1);
                    self.ahead([next.left, next.right], 0)
                });
                let left = first.left.wrapping_offset(bytes(TensorId::Left, step));
                let right = first.right.wrapping_offset(bytes(TensorId::Right, step));
                let out = first.out.wrapping_offset(bytes(TensorId::Out, step));
                let piece = SmallArgs {
                    left: (left, whole.left.1),
                    right: (right, whole.right.1),
                    out: (out, whole.out.1),
                    ahead: ahead.as_ref(),
                    ..whole
                };
                // SAFETY: guaranteed by the caller.
                unsafe { kernel(&piece) };
            }
            n += count;
        }
        true
    }

    /// The microkernel for the columns of the problem.
    fn kernel(&self, problem: &Problem) -> Option<SmallFn> {
        problem.algebra.small.for_columns(problem.n.len())
    }

    /// Arguments for the first block of k of `rows` rows and all columns of the inner axis.
    pub(crate) fn piece(
        &self,
        problem: &Problem,
        tensors: TensorPointers,
        rows: usize,
    ) -> SmallArgs<'_> {
        let [_, (columns, _, out_n)] = self.columns;
        SmallArgs {
            rows,
            columns,
            k: self.k.min(KC),
            left: (tensors.left, self.left_k),
            right: (tensors.right, self.right_k),
            right_offsets: &self.right_offsets,
            out: (tensors.out, out_n),
            accumulate: self.accumulate,
            identity: problem.algebra.identity.0.as_ptr(),
            ahead: None,
        }
    }

    /// Computes one batch.
    ///
    /// # Safety
    /// As for [`gemm`](crate::contract::run::blocked::gemm), for the problem that `self` was made from.
    pub(crate) unsafe fn run<W: ElementWord>(
        &self,
        problem: &Problem,
        tensors: TensorPointers,
        context: &Context,
    ) {
        let LhsParts { values, each, rows, left } = self.parts;
        let parts = values.div_ceil(each);
        let (axis, count) = self.columns_at_a_time(context);
        let (all, right_step, out_step) = self.columns[axis];
        context.parallel_for(parts * all.div_ceil(count), |task| {
            let (first, column) = (task % parts * each, task / parts * count);
            let right = column as isize * right_step;
            let out = (first * rows) as isize + column as isize * out_step;
            let next = { tensors }.next.filter(|_| column == 0);
            let ahead = next.map(|next| self.ahead(next, task % parts));
            let ahead = ahead.as_ref();
            let tensors = TensorPointers::new(
                { tensors }.left.cast::<W>().wrapping_offset(first as isize * left).cast(),
                { tensors }.right.cast::<W>().wrapping_offset(right).cast(),
                { tensors }.out.cast::<W>().wrapping_offset(out).cast(),
            );
            let mut columns = self.columns.map(|(count, _, _)| count);
            columns[axis] = count.min(all - column);
            let values = each.min(values - first);
            // SAFETY: guaranteed by the caller; tasks differ in rows or columns of the output.
            unsafe {
                match &self.moved {
                    None => self.multiply::<W>(problem, (values, columns), tensors, ahead),
                    Some(moved) => {
                        let sides = (values, columns);
                        self.move_and_multiply::<W>(moved, problem, sides, tensors, ahead)
                    }
                }
            }
        });
    }

    /// Axis along which columns are cut, and columns at a time: all, unless they are divided among threads.
    pub(crate) fn columns_at_a_time(&self, context: &Context) -> (usize, usize) {
        let [(outer, ..), (inner, ..)] = self.columns;
        let axis = usize::from(outer == 1);
        let all = self.columns[axis].0;
        let most = (outer * inner / SMALL_TASK_COLUMNS).min(all);
        match context.threads() {
            2.. if self.parts.each == self.parts.values && most >= 2 => {
                let tasks = most.min(2 * context.threads());
                let count = all.div_ceil(tasks);
                (axis, if axis == 1 { count.next_multiple_of(COLUMNS) } else { count })
            }
            _ => (axis, all),
        }
    }

    /// Copies the part of lhs of `sides.0` values, and multiplies it by some columns.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    #[inline(never)]
    pub(crate) unsafe fn move_and_multiply<W: ElementWord>(
        &self,
        moved: &LhsCopy,
        problem: &Problem,
        sides: (usize, [usize; 2]),
        tensors: TensorPointers,
        ahead: Option<&NextBatch>,
    ) {
        let mut memory = MaybeUninit::<
            [AlignedLine; SMALL_NARROW_LHS_BYTES / size_of::<AlignedLine>()],
        >::uninit();
        let left = memory.as_mut_ptr().cast::<u8>();
        // SAFETY: guaranteed by the caller; a part of lhs fits `SMALL_LHS_BYTES`.
        unsafe {
            moved.copy(sides.0, left, tensors.left);
            self.multiply::<W>(problem, sides, TensorPointers { left, ..tensors }, ahead);
        }
    }

    /// Multiplies the contiguous rows of `values` values by some columns.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    pub(crate) unsafe fn multiply<W: ElementWord>(
        &self,
        problem: &Problem,
        (values, [outer, inner]): (usize, [usize; 2]),
        tensors: TensorPointers,
        mut ahead: Option<&NextBatch>,
    ) {
        let Some(kernel) = self.kernel(problem) else { return };
        let [(_, right_step, out_step), _] = self.columns;
        let step = |from: *const u8, by: isize| from.cast::<W>().wrapping_offset(by).cast::<u8>();
        for n in 0..outer as isize {
            let rows = values * self.parts.rows;
            let mut piece = SmallArgs { ahead: ahead.take(), ..self.piece(problem, tensors, rows) };
            piece.columns = inner;
            piece.right.0 = step(tensors.right, n * right_step);
            piece.out.0 = step(tensors.out, n * out_step).cast_mut();
            let mut left = self.k;
            loop {
                // SAFETY: guaranteed by the caller.
                unsafe { kernel(&piece) };
                left -= piece.k;
                if left == 0 {
                    break;
                }
                let further = piece.k as isize;
                piece.left.0 = step(piece.left.0, further * self.left_k);
                piece.right.0 = step(piece.right.0, further * self.right_k);
                (piece.k, piece.accumulate) = (left.min(KC), true);
                piece.ahead = None;
            }
        }
    }

    /// Memory to prefetch while the part of index `part` is computed.
    pub(crate) fn ahead(&self, next: [*const u8; 2], part: usize) -> NextBatch {
        let (bytes, step) = self.ahead;
        let from = array::from_fn(|n| next[n].wrapping_add(part * bytes[n]));
        NextBatch { from, bytes, step }
    }
}

impl LhsCopy {
    /// Copies the rows of `values` values of the outermost axis.
    ///
    /// # Safety
    /// They are readable at `from`, and `to` has room for a part.
    pub(crate) unsafe fn copy(&self, values: usize, to: *mut u8, from: *const u8) {
        let mut extents = self.extents.clone();
        extents[self.outermost] = values;
        let side = CopySide { ptr: from, strides: &self.from };
        // SAFETY: guaranteed by the caller.
        unsafe { self.copier.copy(&extents, CopySide { ptr: to, strides: &self.to }, side) };
    }
}

/// Alignment of a copy of lhs.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct AlignedLine(#[allow(dead_code, reason = "memory")] [u8; 64]);
