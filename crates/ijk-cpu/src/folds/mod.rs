//! Folds along rows: sums, maxima and minima of elements, of their magnitudes or squares, or of those of differences
//! from another array or from a value of the row (variances, norms, distances); or of products with another array. A
//! row may be strips with gaps between them, as the inside of an image is.
//!
//! A tile program writes each difference, then each square, to L1 before they are folded, and has an overhead for each
//! row, which takes longer than reading the elements. Here they stay in registers.

mod long;
mod strips;

use crate::check::CheckedNest;
use crate::error::RunError;
use crate::explain::{KernelChoice, Reason, Relation};
use crate::nest::scalar_bits;
use crate::origin::Origin;
use crate::steps::StepRun;
use ijk_kernels::folds::{self as kernel, FoldFn, Of, RowLayout, Tensors, Term};
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::order::{ROW_FOLD_LENGTH, ROW_FOLD_PIECE, ROW_FOLD_PRODUCTS};
use ijk_kernels::tuning::time::{ROW_FOLD, ROW_FOLD_BYTE, ROW_FOLD_ELEMENT};
use ijk_plan::plan::{Contraction, ContractionAxis, Nest, Node, NodeId, Role, Start};
use ijk_types::{BinaryOp, Reducer, UnaryOp};
use long::LongRows;
use strips::Strips;

pub(crate) use ijk_kernels::folds::least_row;

/// A prepared fold.
#[derive(Clone, Debug)]
pub(crate) struct FoldsProgram {
    /// Elements, and the array that is subtracted from them or multiplied by them.
    x: Origin,
    other: Option<Origin>,
    out: Origin,
    /// Axes of rows, innermost last: extents, and strides in bytes in `x`, `other` and `out`.
    rows: Vec<(usize, [isize; 3])>,
    /// The elements of a row.
    strips: Strips,
    kernel: FoldFn,
    /// The least length of a row at its level.
    least_row: usize,
    /// Set for rows that threads share.
    long: Option<LongRows>,
    /// Initial value of folds, as bits.
    identity: u64,
    /// Buffer of the elements, and its prefetch distance in bytes.
    buffer: usize,
    ahead: isize,
    cost: f64,
}

impl FoldsProgram {
    /// The program of a checked nest, if it is such a fold.
    pub(crate) fn new(nest: &Nest, checked: &CheckedNest, level: Level) -> Option<Self> {
        let Some(Reducer::Monoid(monoid)) = nest.reduce else { return None };
        let t = nest.store.dtype;
        let several: Vec<usize> =
            (0..nest.axes.len()).filter(|&a| checked.extents[a] != 1).collect();
        let (folded, kept): (Vec<usize>, Vec<usize>) =
            several.into_iter().partition(|&a| nest.axes[a].reduced);
        let inner = |&axis: &usize| Some((axis, operands(nest, axis)?));
        let (inner, (term, of, mut x, mut other)) = folded.iter().find_map(inner)?;
        let size = t.size();
        // The operand that differs between rows is the one to prefetch.
        let repeats = |load: usize| kept.last().is_some_and(|&a| nest.loads[load].strides[a] == 0);
        if let (Of::Product, Some(second)) = (of, &mut other)
            && repeats(x)
        {
            std::mem::swap(&mut x, second);
        }
        // Strides in bytes in `x` and in the other operand.
        let steps = |a: usize| {
            let of = |load: usize| nest.loads[load].strides[a].checked_mul(size as isize);
            Some([of(x)?, other.map_or(Some(0), of)?])
        };
        let strip = |&a: &usize| Some((checked.extents[a], steps(a)?));
        let outer = folded.iter().filter(|&&a| a != inner);
        let strips = Strips::new(strip(&inner)?, outer.map(strip).collect::<Option<_>>()?)?;
        let plain = nest.start == Start::Covered
            && nest.store.offset.is_none()
            && !nest.sequential
            && !checked.in_place
            && nest.loads.iter().all(|load| load.dtype == t)
            && !nest.axes.iter().any(|axis| axis.collides)
            && kept.iter().all(|a| checked.separable.contains(a));
        let length = strips.elements();
        // One value is subtracted from all elements of a row.
        let centred = of != Of::Centre || strips.axes.iter().all(|(_, [_, other])| *other == 0);
        if !plain || !centred || length < least_row(level) {
            return None;
        }
        let axis = |&a: &usize| {
            let [x, other] = steps(a)?;
            Some((
                checked.extents[a],
                [x, other, nest.store.strides[a].checked_mul(size as isize)?],
            ))
        };
        let rows = kept.iter().map(axis).collect::<Option<Vec<_>>>()?;
        if !strips.are_near(&rows, size) {
            return None;
        }
        let count = rows.iter().map(|&(extent, _)| extent).product::<usize>();
        let origin = |load: usize| Origin::new(nest.loads[load].base, size);
        Some(Self {
            x: origin(x),
            other: other.map(origin),
            out: Origin::new(nest.store.base, size),
            rows,
            long: LongRows::new((t, monoid), (&strips, of), level),
            strips,
            kernel: kernel::find(t, (monoid, term, of), level)?,
            least_row: least_row(level),
            identity: scalar_bits(ijk_types::scalar::identity(monoid, t))[0],
            buffer: nest.loads[x].base.buffer.0 as usize,
            ahead: 0,
            cost: count as f64
                * match length <= ROW_FOLD_LENGTH {
                    true => ROW_FOLD + length as f64 * ROW_FOLD_ELEMENT,
                    false => (length * size) as f64 * nest.loads.len() as f64 * ROW_FOLD_BYTE,
                },
        })
    }

    /// Its algorithm and blocking, with reasons.
    pub(crate) fn explain(&self) -> KernelChoice {
        let algorithm = match self.other {
            Some(_) => "folds of two operands in registers",
            None => "folds in registers",
        };
        let (relation, then) = match self.long {
            None => (Relation::AtMost, "one thread folds it, and values stay in registers"),
            Some(_) => (Relation::Above, "threads fold parts of it, and values stay in registers"),
        };
        let row = ("the row", self.strips.elements());
        let limit = ("ROW_FOLD_LENGTH", ROW_FOLD_LENGTH);
        let choice = KernelChoice::new(algorithm)
            .extent("rows", self.count())
            .extent("length", self.strips.elements())
            .block("piece", ROW_FOLD_PIECE.min(self.strips.elements()), "elements");
        let choice = match self.strips.count() {
            1 => choice,
            count => choice.block("strips", count, "of a row"),
        };
        let choice = match &self.long {
            Some(long) => choice.block("parts", long.parts, "of a row"),
            None => choice,
        };
        choice.because(Reason::compared(row, relation, limit, then)).because(Reason::compared(
            row,
            Relation::AtLeast,
            ("least_row", self.least_row),
            "it fills vectors",
        ))
    }

    /// Estimated work, in nanoseconds on one thread.
    pub(crate) fn cost(&self) -> f64 {
        self.cost
    }

    /// Enables prefetch of a buffer at a distance of `bytes`; returns false if it does not read that.
    pub(crate) fn fetch_ahead(&mut self, buffer: usize, bytes: isize) -> bool {
        if self.buffer == buffer {
            self.ahead = bytes;
        }
        self.buffer == buffer
    }

    /// Executes the folds.
    ///
    /// # Safety
    /// `bases` are the buffers that the nest was checked against: all elements that it reads are initialised, and no
    /// other thread accesses the output.
    pub(crate) unsafe fn run(&self, run: &StepRun<'_>) -> Result<(), RunError> {
        let &StepRun { bases, workers, .. } = run;
        let tensors = &Tensors {
            x: self.x.of(bases),
            // It is not read if nothing is subtracted or multiplied.
            other: self.other.map_or(self.x.of(bases), |other| other.of(bases)),
            out: self.out.of(bases),
        };
        if let Some(long) = &self.long {
            // SAFETY: as below.
            return unsafe { self.run_long(long, tensors, run) };
        }
        let count = self.count();
        let (each, steps) = self.rows.last().copied().unwrap_or((1, [0; 3]));
        let rows = RowLayout { ahead: self.ahead, steps, ..self.layout() };
        workers.parallel_ranges(count, self.cost, |mut range| {
            while !range.is_empty() {
                let count = range.len().min(each - range.start % each);
                let first = tensors.further(self.offsets(range.start));
                // SAFETY: the check of the nest covers all its points, and ensures that rows differ in elements of the
                // output.
                unsafe { (self.kernel)(&rows, count, first) };
                range.start += count;
            }
        });
        Ok(())
    }

    /// The layout of rows without strides.
    fn layout(&self) -> RowLayout<'_> {
        RowLayout {
            length: self.strips.length,
            strips: 0..self.strips.count(),
            axes: &self.strips.axes,
            ahead: 0,
            steps: [0; 3],
            identity: self.identity,
        }
    }

    /// Number of rows.
    fn count(&self) -> usize {
        self.rows.iter().map(|&(extent, _)| extent).product()
    }

    /// Offsets of a row.
    fn offsets(&self, mut row: usize) -> [isize; 3] {
        let mut sums = [0; 3];
        for &(extent, steps) in self.rows.iter().rev() {
            let at = (row % extent) as isize;
            row /= extent;
            sums.iter_mut().zip(steps).for_each(|(sum, step)| *sum += at * step);
        }
        sums
    }
}

/// Returns true if a contraction is a batch of dot products, or the rows of a matrix times a vector, long enough for
/// folds along rows. Rows that overlap are windows, which have better kernels.
pub(crate) fn is_of_rows(task: &Contraction) -> bool {
    let extent = |role: Role| task.extent(role);
    let points = task.axes.iter().map(|axis| axis.extent).product::<usize>();
    let length = extent(Role::K);
    let overlaps = |axis: &ContractionAxis| {
        let step = axis.a.unsigned_abs().max(axis.b.unsigned_abs()) as u64;
        matches!(axis.role, Role::M | Role::N) && axis.extent > 1 && step < length
    };
    extent(Role::M).min(extent(Role::N)) == 1
        && !task.axes.iter().any(overlaps)
        && !task.accumulate
        && points >= ROW_FOLD_PRODUCTS
}

/// Operands of a fold along an axis: function, value, load, and the load that is subtracted or multiplied.
fn operands(nest: &Nest, folded: usize) -> Option<(Term, Of, usize, Option<usize>)> {
    let node = |id: NodeId| nest.body[id.0 as usize].clone();
    let (term, value) = match nest.body.last()? {
        Node::Binary(BinaryOp::Mul, a, b) if a == b => (Term::Square, node(*a)),
        Node::Unary(UnaryOp::Abs, a) => (Term::Magnitude, node(*a)),
        last => (Term::Element, last.clone()),
    };
    let stride = |load: u32| nest.loads[load as usize].strides[folded];
    let (of, x, other) = match value {
        Node::Load(x) => (Of::One, x, None),
        Node::Binary(op @ (BinaryOp::Sub | BinaryOp::Mul), a, b) => {
            let (Node::Load(a), Node::Load(b)) = (node(a), node(b)) else { return None };
            match (stride(a), stride(b)) {
                (1, 1) if op == BinaryOp::Mul => (Of::Product, a, Some(b)),
                _ if op == BinaryOp::Mul => return None,
                (1, 0) => (Of::Centre, a, Some(b)),
                (1, 1) => (Of::Pair, a, Some(b)),
                // Magnitude and square do not depend on the order of subtraction.
                (0, 1) if term != Term::Element => (Of::Centre, b, Some(a)),
                _ => return None,
            }
        }
        _ => return None,
    };
    (stride(x) == 1).then_some((term, of, x as usize, other.map(|load| load as usize)))
}

#[cfg(test)]
mod tests;
