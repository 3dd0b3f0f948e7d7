//! Selection of small matrices, for which packing panels takes longer than the products.

use crate::Level;
use crate::contract::canonical::bundle::{Bundle, BundleAxis, TensorId};
use crate::contract::canonical::problem::Problem;
use crate::contract::select::gemv::is_dot;
use crate::copy::Copier;
use ijk_kernels::contraction::algebra::Algebra;
use ijk_kernels::contraction::panel::Prepare;
use ijk_kernels::contraction::small::{COLUMNS, MOST_GROUPS};
use ijk_kernels::lines::LINE;
use ijk_kernels::tuning::order::{
    KC, SMALL_BYTES, SMALL_COPIED_COLUMNS, SMALL_COPIED_RUN, SMALL_LHS_BYTES,
    SMALL_NARROW_LHS_BYTES, SMALL_NARROW_STEPS, SMALL_PARTS, SMALL_POINTS,
    SMALL_POINTS_OF_ONE_GROUP, SMALL_RHS_ONCE_BYTES,
};
use ijk_kernels::tuning::time::SMALL_PREFETCH_BYTES;
use smallvec::SmallVec;
use std::array;

/// A prepared product of small matrices; m is contiguous in lhs and output. Strides are in elements.
#[derive(Clone, Debug)]
pub(crate) struct SmallGemm {
    /// Rows that are multiplied at a time.
    pub(crate) parts: LhsParts,
    /// The two axes of n: extent, stride in rhs, and stride in the output.
    pub(crate) columns: [(usize, isize, isize); 2],
    /// Number of steps.
    pub(crate) k: usize,
    /// Stride of k in lhs.
    pub(crate) left_k: isize,
    /// Stride of k in rhs.
    pub(crate) right_k: isize,
    /// Offsets in rhs of the columns that are multiplied at a time, from the first of them.
    pub(crate) right_offsets: [isize; COLUMNS],
    /// True to combine with the contents of the output.
    pub(crate) accumulate: bool,
    /// Bytes of lhs and rhs to prefetch for each part of the next batch, and bytes to prefetch at each step.
    pub(crate) ahead: ([usize; 2], usize),
    /// Copy that makes m contiguous, if it is not.
    pub(crate) moved: Option<Box<LhsCopy>>,
}

/// Rows that are multiplied at a time: those of some values of the outermost axis of m.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LhsParts {
    /// Extent of that axis.
    pub(crate) values: usize,
    /// Values in a part, except for the last.
    pub(crate) each: usize,
    /// Rows of one value.
    pub(crate) rows: usize,
    /// Stride of the axis in lhs, in elements.
    pub(crate) left: isize,
}

/// Copy of a part of lhs: axes of rows and the axis of k, with strides in bytes.
#[derive(Clone, Debug)]
pub(crate) struct LhsCopy {
    pub(crate) copier: Copier,
    /// Index of the axis that is cut into parts.
    pub(crate) outermost: usize,
    pub(crate) extents: SmallVec<[usize; 4]>,
    pub(crate) from: SmallVec<[isize; 4]>,
    pub(crate) to: SmallVec<[isize; 4]>,
}

impl SmallGemm {
    /// The prepared form of a problem of small matrices, if m is contiguous or can be made so by a copy.
    pub(crate) fn of(problem: &Problem, level: Level) -> Option<Self> {
        let Problem { algebra, m, n, k, accumulate, .. } = problem;
        let fits = |a: &Bundle, b: &Bundle, most: usize| {
            a.len().saturating_mul(b.len()).saturating_mul(algebra.size) <= most
        };
        let once = m.len() <= 2 * algebra.lanes;
        let narrow = is_narrow([m, n, k], TensorId::Right, algebra);
        let sides = [m, n, k].iter().all(|b| b.len() >= 1);
        let right = if once { SMALL_RHS_ONCE_BYTES } else { SMALL_BYTES };
        let near = narrow || k.len() <= KC && fits(k, n, right) && fits(m, n, SMALL_BYTES);
        let keeps = algebra.left == Prepare::Keep && algebra.right == Prepare::Keep;
        let dense = m.run(TensorId::Out) == m.len();
        let kernel = algebra.small.for_columns(n.len());
        if !(sides && near && keeps && dense && kernel.is_some()) {
            return None;
        }
        let parts = if narrow { LhsParts::whole(problem) } else { LhsParts::of(problem)? };
        let columns = columns(n)?;
        let [_, (_, right_n, _)] = columns;
        let small = Self {
            parts,
            columns,
            k: k.len(),
            left_k: k.step(TensorId::Left)?,
            right_k: k.step(TensorId::Right)?,
            right_offsets: array::from_fn(|n| (n as isize).wrapping_mul(right_n)),
            accumulate: *accumulate,
            ahead: ahead(problem, &parts),
            moved: None,
        };
        if m.run(TensorId::Left) == m.len() {
            return Some(small);
        }
        let moved = Some(Box::new(LhsCopy::of(problem, &parts, level)?));
        let left_k = (parts.each * parts.rows) as isize;
        (!is_dot(problem)).then_some(Self { left_k, moved, ..small })
    }

    /// Returns true if the next batch is prefetched.
    pub(crate) fn prefetches(&self) -> bool {
        self.ahead.1 > 0
    }

    /// Returns true if operands are read in place, without a copy.
    pub(crate) fn reads_in_place(&self) -> bool {
        self.moved.is_none()
    }

    /// Returns true if operands are read in place, without a copy, or with one that the columns amortise.
    pub(crate) fn is_settled(&self) -> bool {
        let [(outer, ..), (inner, ..)] = self.columns;
        self.reads_in_place() || outer * inner >= SMALL_COPIED_COLUMNS
    }

    /// Returns true if a batch is one call of the microkernel.
    pub(crate) fn is_one_call(&self) -> bool {
        let [(outer, ..), _] = self.columns;
        self.moved.is_none() && self.parts.each >= self.parts.values && outer == 1 && self.k <= KC
    }
}

/// Bytes of lhs and rhs to prefetch for each part of the next batch, and bytes to prefetch at each step; zero if they
/// are few or not contiguous.
fn ahead(problem: &Problem, parts: &LhsParts) -> ([usize; 2], usize) {
    let Problem { m, n, k, algebra, .. } = problem;
    let bytes =
        [TensorId::Left, TensorId::Right].map(|operand| problem.piece(operand).unwrap_or(0));
    let rows = m.len().div_ceil(MOST_GROUPS * algebra.lanes);
    let steps = (rows * (n.len() / COLUMNS)).saturating_mul(k.len());
    let total: usize = bytes.iter().sum();
    let each = total.div_ceil(steps.max(1)).min(LINE);
    let parts = parts.values.div_ceil(parts.each.max(1));
    (bytes.map(|bytes| bytes / parts), if total < SMALL_PREFETCH_BYTES { 0 } else { each })
}

/// Columns as in [`SmallGemm`]; `None` if n has more than two axes.
pub(super) fn columns(n: &Bundle) -> Option<[(usize, isize, isize); 2]> {
    let axis = |axis: &BundleAxis| {
        (axis.extent, axis.strides[TensorId::Right as usize], axis.strides[TensorId::Out as usize])
    };
    match n.axes() {
        [] => Some([(1, 0, 0); 2]),
        [inner] => Some([(1, 0, 0), axis(inner)]),
        [outer, inner] if inner.extent >= COLUMNS / 2 => Some([axis(outer), axis(inner)]),
        _ => None,
    }
}

/// Returns true if m fits the lanes, and steps of k are equally far apart in rhs: a large rhs is then read in place,
/// once. Of few steps, sums of several groups of rows are in registers, and columns may be strided.
pub(crate) fn is_narrow([m, n, k]: [&Bundle; 3], right: TensorId, algebra: &Algebra) -> bool {
    let bytes = |b: &Bundle| b.len().saturating_mul(k.len()).saturating_mul(algebra.size);
    let few = k.len() <= SMALL_NARROW_STEPS;
    let groups = if few { algebra.small.groups } else { 1 };
    m.len() <= groups * algebra.lanes
        && n.len() >= COLUMNS
        && bytes(m) <= SMALL_NARROW_LHS_BYTES
        && bytes(n) > SMALL_BYTES
        && (k.step(right) == Some(1) || few && k.step(right).is_some())
        && m.run(TensorId::Out) == m.len()
        && algebra.small.for_columns(n.len()).is_some()
}

impl LhsParts {
    /// All rows in one part.
    pub(crate) fn whole(problem: &Problem) -> Self {
        let outermost = problem.m.axes().first();
        let (values, left) = outermost.map_or((1, 0), |axis| (axis.extent, axis.strides[0]));
        Self { values, each: values, rows: problem.m.len() / values, left }
    }

    /// The fewest parts of lhs that fit L1; `None` if they are too many, or the problem is too large.
    pub(crate) fn of(problem: &Problem) -> Option<Self> {
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
    pub(crate) fn of(problem: &Problem, parts: &LhsParts, level: Level) -> Option<Self> {
        let Problem { algebra, m, k, .. } = problem;
        let several = m.axes().len() > 1;
        let (inner, step) = m.inner(TensorId::Left);
        (!several || inner >= SMALL_COPIED_RUN && step == 1).then_some(())?;
        // Extent, stride in lhs and stride in the copy.
        let mut axes: SmallVec<[(usize, isize, usize); 4]> = SmallVec::new();
        let mut rows = 1;
        for (n, axis) in m.axes().iter().enumerate().rev() {
            let extent = if n == 0 { parts.each } else { axis.extent };
            axes.insert(0, (extent, axis.strides[TensorId::Left as usize], rows));
            rows *= extent;
        }
        // In a copy row by row, contiguous rows stay innermost.
        let around = if several { axes.len() - 1 } else { 0 };
        axes.insert(around, (k.len(), k.step(TensorId::Left)?, rows));
        let size = algebra.size as isize;
        Some(Self {
            copier: Copier::new(problem.dtype, level),
            outermost: usize::from(!several),
            extents: axes.iter().map(|axis| axis.0).collect(),
            from: axes.iter().map(|axis| axis.1.wrapping_mul(size)).collect(),
            to: axes.iter().map(|axis| axis.2 as isize * size).collect(),
        })
    }
}
