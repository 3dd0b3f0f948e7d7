//! Matrices for which packing panels takes longer than the products: operands are read in place, with m in the lanes,
//! and nothing is allocated. If m is not contiguous in lhs, lhs is copied first, as a whole or in parts that fit L1.

#![allow(clippy::needless_range_loop, reason = "an index names the same register everywhere")]

use super::algebra::Algebra;
use super::bundle::{Bundle, BundleAxis, Operand};
use super::pack::Word;
use super::panel::Prepare;
use super::problem::{Problem, Tensors};
use super::{Context, dot};
use crate::Level;
use crate::copy::{Copier, Side};
use crate::lines::{LINE, prefetch_far};
use crate::simd::lane::{KernelSet, Lane, Op, Semiring};
use crate::simd::{Kernel, Simd};
use crate::tuning::order::{
    KC, SMALL_BYTES, SMALL_COPIED_RUN, SMALL_LHS_BYTES, SMALL_NARROW_LHS_BYTES, SMALL_PARTS,
    SMALL_POINTS, SMALL_POINTS_OF_ONE_GROUP, SMALL_RHS_ONCE_BYTES,
};
use crate::tuning::time::{SMALL_PREFETCH_BYTES, SMALL_TASK_COLUMNS};
use smallvec::SmallVec;
use std::array;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

/// A prepared product of small matrices; m is contiguous in lhs and output. Strides are in elements.
#[derive(Clone, Debug)]
pub(crate) struct SmallGemm {
    /// Rows that are multiplied at a time.
    parts: LhsParts,
    /// The two axes of n: extent, stride in rhs, and stride in the output.
    columns: [(usize, isize, isize); 2],
    /// Number of steps.
    k: usize,
    /// Stride of k in lhs.
    left_k: isize,
    /// Stride of k in rhs.
    right_k: isize,
    /// Offsets in rhs of the columns that are multiplied at a time, from the first of them.
    right_offsets: [isize; COLUMNS],
    /// True to combine with the contents of the output.
    accumulate: bool,
    /// Bytes of lhs and rhs to prefetch for each part of the next batch, and bytes to prefetch at each step.
    ahead: ([usize; 2], usize),
    /// Copy that makes m contiguous, if it is not.
    moved: Option<Box<LhsCopy>>,
}

/// Rows that are multiplied at a time: those of some values of the outermost axis of m.
#[derive(Clone, Copy, Debug)]
struct LhsParts {
    /// Extent of that axis.
    values: usize,
    /// Values in a part, except for the last.
    each: usize,
    /// Rows of one value.
    rows: usize,
    /// Stride of the axis in lhs, in elements.
    left: isize,
}

/// Copy of a part of lhs: axes of rows and the axis of k, with strides in bytes.
#[derive(Clone, Debug)]
struct LhsCopy {
    copier: Copier,
    /// Index of the axis that is cut into parts.
    outermost: usize,
    extents: SmallVec<[usize; 4]>,
    from: SmallVec<[isize; 4]>,
    to: SmallVec<[isize; 4]>,
}

/// Arguments of a microkernel: rows and columns that are multiplied at a time, with strides as in [`SmallGemm`].
#[derive(Clone, Copy)]
pub(crate) struct SmallArgs<'a> {
    rows: usize,
    columns: usize,
    k: usize,
    left: (*const u8, isize),
    right: (*const u8, isize),
    /// Loaded from memory: the compiler would compute known offsets by a chain of additions, which takes longer than
    /// the products of a step.
    right_offsets: &'a [isize; COLUMNS],
    out: (*mut u8, isize),
    accumulate: bool,
    identity: *const u8,
    ahead: Option<&'a NextBatch>,
}

/// Memory to prefetch for the next batch: `bytes` of each operand, one after the other.
#[derive(Clone, Copy, Debug)]
struct NextBatch {
    from: [*const u8; 2],
    bytes: [usize; 2],
    /// Bytes to prefetch at each step.
    step: usize,
}

impl NextBatch {
    /// Address of the next prefetch after `bytes` bytes, and bytes to prefetch at each step from there.
    #[inline(always)]
    fn after(&self, bytes: usize) -> (*const u8, usize) {
        let [left, right] = self.bytes;
        match bytes.checked_sub(left) {
            None => (self.from[0].wrapping_add(bytes), self.step),
            Some(bytes) if bytes < right => (self.from[1].wrapping_add(bytes), self.step),
            _ => (self.from[0], 0),
        }
    }
}

/// No lines to prefetch.
const NO_LINES: (*const u8, usize) = (ptr::null(), 0);

/// A compiled microkernel.
///
/// # Safety
/// The machine supports the kernel's level; all rows, columns and steps of the operands are readable, and those of the
/// output writable.
pub(crate) type SmallFn = unsafe fn(&SmallArgs);

/// The microkernel of a pair; `None` if it has none.
pub(crate) const fn kernel<L: Lane, P: Semiring<L>>() -> Option<SmallFn> {
    match P::KERNELS {
        KernelSet::Full => Some(run::<L, P>),
        _ => None,
    }
}

impl SmallGemm {
    /// The prepared form of a problem of small matrices, if m is contiguous or can be made so by a copy.
    pub(crate) fn of(problem: &Problem, level: Level) -> Option<Self> {
        let Problem { algebra, m, n, k, accumulate, .. } = problem;
        let fits = |a: &Bundle, b: &Bundle, most: usize| {
            a.len().saturating_mul(b.len()).saturating_mul(algebra.size) <= most
        };
        let once = m.len() <= 2 * algebra.lanes;
        let narrow = is_narrow([m, n, k], Operand::Right, algebra);
        let sides = [m, n, k].iter().all(|b| b.len() >= 1);
        let right = if once { SMALL_RHS_ONCE_BYTES } else { SMALL_BYTES };
        let near = narrow || k.len() <= KC && fits(k, n, right) && fits(m, n, SMALL_BYTES);
        let keeps = algebra.left == Prepare::Keep && algebra.right == Prepare::Keep;
        let dense = m.run(Operand::Out) == m.len();
        if !(sides && near && keeps && dense && algebra.small.is_some()) {
            return None;
        }
        let parts = if narrow { LhsParts::whole(problem) } else { LhsParts::of(problem)? };
        let columns = columns(n)?;
        let [_, (_, right_n, _)] = columns;
        let small = Self {
            parts,
            columns,
            k: k.len(),
            left_k: k.step(Operand::Left)?,
            right_k: k.step(Operand::Right)?,
            right_offsets: array::from_fn(|n| (n as isize).wrapping_mul(right_n)),
            accumulate: *accumulate,
            ahead: ahead(problem, &parts),
            moved: None,
        };
        if m.run(Operand::Left) == m.len() {
            return Some(small);
        }
        let moved = Some(Box::new(LhsCopy::of(problem, &parts, level)?));
        let left_k = (parts.each * parts.rows) as isize;
        (!dot::suits(problem)).then_some(Self { left_k, moved, ..small })
    }

    /// Returns true if the next batch is prefetched.
    pub(crate) fn looks_ahead(&self) -> bool {
        self.ahead.1 > 0
    }

    /// Returns true if operands are read in place, without a copy.
    pub(crate) fn reads_in_place(&self) -> bool {
        self.moved.is_none()
    }

    /// Returns true if a batch is one call of the microkernel.
    fn is_one_call(&self) -> bool {
        let [(outer, ..), _] = self.columns;
        self.moved.is_none() && self.parts.each >= self.parts.values && outer == 1 && self.k <= KC
    }

    /// Computes some batches on this thread, if each is one call; returns false otherwise. The arguments that batches
    /// share are set once, since that takes longer than the products of 8 × 8 matrices.
    ///
    /// # Safety
    /// As for [`run`](Self::run), for all these batches; `tensors` point to the first batch of the problem.
    pub(crate) unsafe fn run_batches<W: Word>(
        &self,
        problem: &Problem,
        tensors: Tensors,
        batches: Range<usize>,
    ) -> bool {
        let Some(kernel) = problem.algebra.small.filter(|_| self.is_one_call()) else {
            return false;
        };
        let batch = &problem.batch;
        let (inner, steps) = batch.axes().last().map_or((1, [0; 3]), |a| (a.extent, a.strides));
        let bytes = |operand: Operand, n: usize| {
            steps[operand as usize].wrapping_mul((n * size_of::<W>()) as isize)
        };
        let whole = self.piece(problem, tensors, self.parts.values * self.parts.rows);
        let mut n = batches.start;
        while n < batches.end {
            let first = tensors.at::<W>(batch, n);
            let count = (inner - n % inner).min(batches.end - n);
            for step in 0..count {
                let next = self.looks_ahead() && n + step + 1 < batch.len();
                let ahead = next.then(|| {
                    let next = tensors.at::<W>(batch, n + step + 1);
                    self.ahead([next.left, next.right], 0)
                });
                let left = first.left.wrapping_offset(bytes(Operand::Left, step));
                let right = first.right.wrapping_offset(bytes(Operand::Right, step));
                let out = first.out.wrapping_offset(bytes(Operand::Out, step));
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

    /// Arguments for the first block of k of `rows` rows and all columns of the inner axis.
    fn piece(&self, problem: &Problem, tensors: Tensors, rows: usize) -> SmallArgs<'_> {
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
    /// As for [`gemm`](super::gemm::gemm), for the problem that `self` was made from.
    pub(crate) unsafe fn run<W: Word>(
        &self,
        problem: &Problem,
        tensors: Tensors,
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
            let tensors = Tensors::new(
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
    fn columns_at_a_time(&self, context: &Context) -> (usize, usize) {
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
    unsafe fn move_and_multiply<W: Word>(
        &self,
        moved: &LhsCopy,
        problem: &Problem,
        sides: (usize, [usize; 2]),
        tensors: Tensors,
        ahead: Option<&NextBatch>,
    ) {
        let mut memory = MaybeUninit::<
            [AlignedLine; SMALL_NARROW_LHS_BYTES / size_of::<AlignedLine>()],
        >::uninit();
        let left = memory.as_mut_ptr().cast::<u8>();
        // SAFETY: guaranteed by the caller; a part of lhs fits `SMALL_LHS_BYTES`.
        unsafe {
            moved.copy(sides.0, left, tensors.left);
            self.multiply::<W>(problem, sides, Tensors { left, ..tensors }, ahead);
        }
    }

    /// Multiplies the contiguous rows of `values` values by some columns.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn multiply<W: Word>(
        &self,
        problem: &Problem,
        (values, [outer, inner]): (usize, [usize; 2]),
        tensors: Tensors,
        mut ahead: Option<&NextBatch>,
    ) {
        let Some(kernel) = problem.algebra.small else { return };
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
    fn ahead(&self, next: [*const u8; 2], part: usize) -> NextBatch {
        let (bytes, step) = self.ahead;
        let from = array::from_fn(|n| next[n].wrapping_add(part * bytes[n]));
        NextBatch { from, bytes, step }
    }
}

/// Bytes of lhs and rhs to prefetch for each part of the next batch, and bytes to prefetch at each step; zero if they
/// are few or not contiguous.
fn ahead(problem: &Problem, parts: &LhsParts) -> ([usize; 2], usize) {
    let Problem { m, n, k, algebra, .. } = problem;
    let bytes = [Operand::Left, Operand::Right].map(|operand| problem.piece(operand).unwrap_or(0));
    let rows = m.len().div_ceil(MOST_GROUPS * algebra.lanes);
    let steps = (rows * (n.len() / COLUMNS)).saturating_mul(k.len());
    let total: usize = bytes.iter().sum();
    let each = total.div_ceil(steps.max(1)).min(LINE);
    let parts = parts.values.div_ceil(parts.each.max(1));
    (bytes.map(|bytes| bytes / parts), if total < SMALL_PREFETCH_BYTES { 0 } else { each })
}

/// Columns as in [`SmallGemm`]; `None` if n has more than two axes.
fn columns(n: &Bundle) -> Option<[(usize, isize, isize); 2]> {
    let axis = |axis: &BundleAxis| {
        (axis.extent, axis.strides[Operand::Right as usize], axis.strides[Operand::Out as usize])
    };
    match n.axes() {
        [] => Some([(1, 0, 0); 2]),
        [inner] => Some([(1, 0, 0), axis(inner)]),
        [outer, inner] if inner.extent >= COLUMNS / 2 => Some([axis(outer), axis(inner)]),
        _ => None,
    }
}

/// Returns true if m fits the lanes and k is contiguous in rhs: a large rhs is then read in place, once.
pub(crate) fn is_narrow([m, n, k]: [&Bundle; 3], right: Operand, algebra: &Algebra) -> bool {
    let bytes = |b: &Bundle| b.len().saturating_mul(k.len()).saturating_mul(algebra.size);
    m.len() <= algebra.lanes
        && n.len() >= COLUMNS
        && bytes(m) <= SMALL_NARROW_LHS_BYTES
        && bytes(n) > SMALL_BYTES
        && k.step(right) == Some(1)
        && m.run(Operand::Out) == m.len()
        && algebra.small.is_some()
}

impl LhsParts {
    /// All rows in one part.
    fn whole(problem: &Problem) -> Self {
        let outermost = problem.m.axes().first();
        let (values, left) = outermost.map_or((1, 0), |axis| (axis.extent, axis.strides[0]));
        Self { values, each: values, rows: problem.m.len() / values, left }
    }

    /// The fewest parts of lhs that fit L1; `None` if they are too many, or the problem is too large.
    fn of(problem: &Problem) -> Option<Self> {
        let Problem { algebra, k, batch, .. } = problem;
        let whole = Self::whole(problem);
        let Self { values, rows, .. } = whole;
        let bytes = rows.saturating_mul(k.len()).saturating_mul(algebra.size);
        let fit = SMALL_LHS_BYTES / bytes.max(1);
        let points = problem.points() / batch.len().max(1) as f64;
        if fit >= values {
            return (points <= SMALL_POINTS).then_some(whole);
        }
        // Parts are multiples of whole groups of rows, of nearly equal size.
        let lanes = algebra.lanes;
        let unit = (1..=lanes).find(|n| (n * rows).is_multiple_of(lanes)).unwrap_or(1);
        let most = if fit > unit { fit - fit % unit } else { fit };
        let parts = values.div_ceil(most.max(1));
        let each = values.div_ceil(parts).next_multiple_of(unit).min(most);
        let few = each > 0 && parts <= SMALL_PARTS;
        let several = each * rows >= 2 * lanes;
        let most_points = if several { SMALL_POINTS } else { SMALL_POINTS_OF_ONE_GROUP };
        (few && points <= most_points).then_some(Self { each, ..whole })
    }
}

impl LhsCopy {
    /// The copy that makes rows contiguous; `None` if it is slow.
    fn of(problem: &Problem, parts: &LhsParts, level: Level) -> Option<Self> {
        let Problem { algebra, m, k, .. } = problem;
        let several = m.axes().len() > 1;
        let (inner, step) = m.inner(Operand::Left);
        (!several || inner >= SMALL_COPIED_RUN && step == 1).then_some(())?;
        // Extent, stride in lhs and stride in the copy.
        let mut axes: SmallVec<[(usize, isize, usize); 4]> = SmallVec::new();
        let mut rows = 1;
        for (n, axis) in m.axes().iter().enumerate().rev() {
            let extent = if n == 0 { parts.each } else { axis.extent };
            axes.insert(0, (extent, axis.strides[Operand::Left as usize], rows));
            rows *= extent;
        }
        // In a copy row by row, contiguous rows stay innermost.
        let around = if several { axes.len() - 1 } else { 0 };
        axes.insert(around, (k.len(), k.step(Operand::Left)?, rows));
        let size = algebra.size as isize;
        Some(Self {
            copier: Copier::new(problem.dtype, level),
            outermost: usize::from(!several),
            extents: axes.iter().map(|axis| axis.0).collect(),
            from: axes.iter().map(|axis| axis.1.wrapping_mul(size)).collect(),
            to: axes.iter().map(|axis| axis.2 as isize * size).collect(),
        })
    }

    /// Copies the rows of `values` values of the outermost axis.
    ///
    /// # Safety
    /// They are readable at `from`, and `to` has room for a part.
    unsafe fn copy(&self, values: usize, to: *mut u8, from: *const u8) {
        let mut extents = self.extents.clone();
        extents[self.outermost] = values;
        let side = Side { ptr: from, strides: &self.from };
        // SAFETY: guaranteed by the caller.
        unsafe { self.copier.copy(&extents, Side { ptr: to, strides: &self.to }, side) };
    }
}

/// Alignment of a copy of lhs.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct AlignedLine(#[allow(dead_code, reason = "memory")] [u8; 64]);

/// # Safety
/// As for [`SmallFn`].
unsafe fn run<L: Lane, P: Semiring<L>>(piece: &SmallArgs) {
    // SAFETY: the caller guarantees that the machine supports the level; the identity is an element.
    unsafe {
        let identity = piece.identity.cast::<L::Element>().read_unaligned();
        let product = SmallProduct { piece, identity, asked: 0 };
        L::Simd::assume().vectorize(SmallKernel::<L, P>(product, std::marker::PhantomData));
    }
}

struct SmallKernel<'a, L: Lane, P>(SmallProduct<'a, L>, std::marker::PhantomData<P>);

/// State of a microkernel.
struct SmallProduct<'a, L: Lane> {
    piece: &'a SmallArgs<'a>,
    identity: L::Element,
    /// Bytes that have been prefetched.
    asked: usize,
}

impl<L: Lane, P: Semiring<L>> Kernel for SmallKernel<'_, L, P> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let mut product = self.0;
        let m = product.piece.rows;
        let mut row = 0;
        while row < m {
            let groups = groups_of::<L>(m - row);
            // SAFETY: only `run` above constructs these, and its caller guarantees their contract; the rows are there.
            unsafe {
                match groups {
                    3 => product.rows::<P, 3>(row),
                    2 => product.rows::<P, 2>(row),
                    _ => product.rows::<P, 1>(row),
                }
            }
            row += groups * L::LANES;
        }
    }
}

/// Number of groups of rows that are multiplied at a time. Each group shares the broadcasts, and one alone has too few
/// accumulators to hide the latency of FMA.
#[inline(always)]
fn groups_of<L: Lane>(rows: usize) -> usize {
    let several = L::Simd::REGISTERS / L::REGISTERS >= 32;
    match rows.div_ceil(L::LANES) {
        2 | 4 if several => 2,
        3.. if several => MOST_GROUPS,
        _ => 1,
    }
}

/// Most groups of rows at a time.
const MOST_GROUPS: usize = 3;

/// Columns at a time.
const COLUMNS: usize = 8;

impl<L: Lane> SmallProduct<'_, L> {
    /// Multiplies `G` groups of rows by all columns; the last group may be partial.
    ///
    /// # Safety
    /// As for [`SmallFn`]; the rows are there.
    #[inline(always)]
    unsafe fn rows<P: Semiring<L>, const G: usize>(&mut self, row: usize) {
        let n = self.piece.columns;
        let mut column = 0;
        // SAFETY: guaranteed by the caller.
        unsafe {
            while column + COLUMNS <= n {
                match self.piece.ahead {
                    Some(ahead) => {
                        let lines = ahead.after(self.asked);
                        self.asked += self.piece.k * ahead.step;
                        self.columns::<P, G, COLUMNS, true>(row, column, lines);
                    }
                    None => self.columns::<P, G, COLUMNS, false>(row, column, NO_LINES),
                }
                column += COLUMNS;
            }
            if column + COLUMNS / 2 <= n {
                self.columns::<P, G, { COLUMNS / 2 }, false>(row, column, NO_LINES);
                column += COLUMNS / 2;
            }
            (column..n).for_each(|c| self.columns::<P, G, 1, false>(row, c, NO_LINES));
        }
    }

    /// Multiplies `G` groups of rows by `C` columns, and prefetches from `line` on, `further` bytes more at each step.
    ///
    /// # Safety
    /// As for [`rows`](Self::rows); the columns are there.
    #[inline(always)]
    unsafe fn columns<P: Semiring<L>, const G: usize, const C: usize, const AHEAD: bool>(
        &self,
        row: usize,
        column: usize,
        (mut line, further): (*const u8, usize),
    ) {
        let SmallArgs { k, left, right, right_offsets, out, accumulate, .. } = *self.piece;
        let ((out, out_n), (left, left_k), (right, right_k)) = (out, left, right);
        let last = (self.piece.rows - row - (G - 1) * L::LANES).min(L::LANES);
        let whole = last == L::LANES;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let simd = L::Simd::assume();
            let mut sums = [[L::splat(simd, self.identity); G]; C];
            let mut left = left.cast::<L::Element>().add(row);
            let mut right = right.cast::<L::Element>().offset(column as isize * right_offsets[1]);
            for _ in 0..k {
                if AHEAD {
                    prefetch_far(line);
                    line = line.wrapping_add(further);
                }
                let mut groups = [L::splat(simd, self.identity); G];
                for g in 0..G {
                    let from = left.add(g * L::LANES);
                    let all = whole || g + 1 < G;
                    groups[g] = if all { L::read(from) } else { L::read_partial(from, last) };
                }
                for c in 0..C {
                    let offset = if c == 0 { 0 } else { right_offsets[c] };
                    let factor = L::splat(simd, right.offset(offset).read());
                    for g in 0..G {
                        sums[c][g] = P::step(sums[c][g], groups[g], factor);
                    }
                }
                (left, right) = (left.wrapping_offset(left_k), right.wrapping_offset(right_k));
            }
            for c in 0..C {
                let to = out.cast::<L::Element>().add(row).offset((column + c) as isize * out_n);
                for g in 0..G {
                    let (to, mut sum) = (to.add(g * L::LANES), sums[c][g]);
                    let rows = if g + 1 < G { L::LANES } else { last };
                    if accumulate {
                        sum = P::Combine::apply(L::read_partial(to, rows), sum);
                    }
                    if rows == L::LANES { sum.write(to) } else { sum.write_partial(to, rows) }
                }
            }
        }
    }
}
