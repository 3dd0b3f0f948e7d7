//! Selection of the axes of the run, and of the operands that are copied for it.

use ijk_kernels::tuning::order::{SHORT_AXES_COLUMNS, SHORT_AXES_COPIED, SHORT_AXES_SPLIT};
use ijk_kernels::tuning::time::SHORT_AXES_COPY;

/// An axis with its strides in left, right and out, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProductAxis {
    pub(super) extent: usize,
    pub(super) steps: [isize; 3],
}

impl ProductAxis {
    /// An axis over blocks of `values` values, and one within them.
    fn split(self, values: usize) -> (Self, Self) {
        let step = |step: isize| step.wrapping_mul(values as isize);
        let outer = Self { extent: self.extent / values, steps: self.steps.map(step) };
        (outer, Self { extent: values, ..self })
    }
}

/// Copy of an operand: axes of the copy, outermost first, with the strides of the source.
pub(super) type Copied = Vec<(usize, isize)>;

/// Roles of the axes.
#[derive(Clone, Debug)]
pub(super) struct RunShape {
    /// Elements of the run.
    pub(super) run: usize,
    /// Axes of rows, in descending order of output strides.
    pub(super) rows: Vec<ProductAxis>,
    /// Axes that left does not have, in the same order.
    pub(super) columns: Vec<ProductAxis>,
    /// Axes that are summed.
    pub(super) steps: Vec<ProductAxis>,
    /// True if right is contiguous along the run, false if it is one element for all of it.
    pub(super) right_runs: bool,
    /// True if left is the second operand.
    pub(super) swapped: bool,
    /// Copies of left and right, if any.
    pub(super) copied: [Option<Copied>; 2],
    pub(super) lanes: usize,
}

/// Layout of an operand along the run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunLayout {
    Contiguous,
    Constant,
    Mixed,
}

impl RunShape {
    /// The shape with the lowest estimated time, for kept and summed axes.
    pub(super) fn new(
        mut kept: Vec<ProductAxis>,
        summed: Vec<ProductAxis>,
        lanes: usize,
    ) -> Option<Self> {
        kept.sort_by_key(|axis| axis.steps[2].unsigned_abs());
        let (mut most, mut length) = (0, 1isize);
        while most < kept.len() && kept[most].steps[2] == length {
            length = length.saturating_mul(kept[most].extent as isize);
            most += 1;
        }
        let shapes = (0..=most).filter_map(|inner| Self::of(&kept, &summed, inner, lanes));
        let cost = |shape: &Self| shape.nanoseconds();
        shapes.min_by(|x, y| cost(x).total_cmp(&cost(y)))
    }

    /// The shape whose run is the first `inner` of the kept axes.
    fn of(
        kept: &[ProductAxis],
        summed: &[ProductAxis],
        inner: usize,
        lanes: usize,
    ) -> Option<Self> {
        let (inside, outside) = kept.split_at(inner);
        let run: usize = inside.iter().map(|axis| axis.extent).product();
        let mut kinds = [0, 1].map(|operand| kind(inside, operand));
        let mut copies = kinds.map(|kind| kind == RunLayout::Mixed);
        if run > 1 && kinds == [RunLayout::Constant; 2] {
            copies[0] = true;
        }
        for (kind, copied) in kinds.iter_mut().zip(copies) {
            *kind = if copied { RunLayout::Contiguous } else { *kind };
        }
        let lacks = |operand: usize| {
            let lacking = outside.iter().filter(|axis| axis.steps[operand] == 0);
            lacking.map(|axis| axis.extent).product::<usize>()
        };
        let swapped = match kinds {
            [RunLayout::Contiguous, RunLayout::Constant] => false,
            [RunLayout::Constant, RunLayout::Contiguous] => true,
            _ => lacks(1) > lacks(0),
        };
        let swap = |axis: &ProductAxis| match (swapped, axis.steps) {
            (true, [a, b, c]) => ProductAxis { steps: [b, a, c], ..*axis },
            (false, _) => *axis,
        };
        if swapped {
            kinds.swap(0, 1);
            copies.swap(0, 1);
        }
        let [inside, outside, summed] =
            [inside, outside, summed].map(|axes| axes.iter().map(swap).collect::<Vec<_>>());
        let mut shape = Self {
            run,
            rows: outside,
            columns: Vec::new(),
            steps: summed,
            right_runs: run > 1 && kinds[1] == RunLayout::Contiguous,
            swapped,
            copied: [None, None],
            lanes,
        };
        for (operand, _) in copies.into_iter().enumerate().filter(|&(_, copied)| copied) {
            shape.copy(operand, &inside)?;
        }
        shape.rows.reverse();
        shape.take_columns();
        Some(shape)
    }

    /// Adds a copy of an operand: contiguous, with the run innermost.
    fn copy(&mut self, operand: usize, inside: &[ProductAxis]) -> Option<()> {
        let run = inside.iter().rev();
        let mut axes: Vec<(usize, isize)> =
            run.map(|axis| (axis.extent, axis.steps[operand])).collect();
        let mut step = self.run as isize;
        for axis in self.rows.iter_mut().chain(self.steps.iter_mut().rev()) {
            let from = axis.steps[operand];
            if from != 0 {
                axes.insert(0, (axis.extent, from));
                axis.steps[operand] = step;
                step = step.checked_mul(axis.extent as isize)?;
            }
        }
        self.copied[operand] = Some(axes);
        (step as usize <= SHORT_AXES_COPIED).then_some(())
    }

    /// Converts rows that share left to columns, or some of them.
    fn take_columns(&mut self) {
        let mut columns = 1;
        let mut rows = Vec::with_capacity(self.rows.len());
        for axis in std::mem::take(&mut self.rows).into_iter().rev() {
            let taken = match SHORT_AXES_COLUMNS / columns {
                _ if axis.steps[0] != 0 => 1,
                most if axis.extent <= most => axis.extent,
                most if axis.steps[2] == (self.run * columns) as isize => {
                    divisor(axis.extent, most.min(SHORT_AXES_SPLIT))
                }
                _ => 1,
            };
            let (outer, inner) = axis.split(taken);
            if inner.extent > 1 {
                columns *= taken;
                self.columns.insert(0, inner);
            }
            if outer.extent > 1 {
                rows.insert(0, outer);
            }
        }
        self.rows = rows;
    }

    /// Estimated time on one thread, from measured rates.
    pub(super) fn nanoseconds(&self) -> f64 {
        let count =
            |axes: &[ProductAxis]| axes.iter().map(|axis| axis.extent as f64).product::<f64>();
        let vectors = self.run.div_ceil(self.lanes) as f64;
        let [rows, columns, steps] = [&self.rows, &self.columns, &self.steps].map(|x| count(x));
        let groups = (columns / 4.0).ceil();
        let product = if self.right_runs { 0.4 } else { 0.3 };
        let step = groups * 0.3 + columns * product;
        let each = steps * vectors * step + vectors * (groups + columns * 0.7);
        rows * (3.0 + each) + self.copied.iter().flatten().map(copying).sum::<f64>()
    }

    /// Returns true if an operand is contiguous along the sum, long enough to fill lanes with steps.
    pub(super) fn sums_neighbours(&self) -> bool {
        let fills = |axis: &ProductAxis| axis.steps[..2].contains(&1) && axis.extent >= self.lanes;
        self.steps.iter().any(fills)
    }
}

/// The largest divisor of a number that is at most `most`.
fn divisor(of: usize, most: usize) -> usize {
    (1..=most).rev().find(|&n| of.is_multiple_of(n)).unwrap_or(1)
}

/// Estimated time of a copy.
fn copying(axes: &Copied) -> f64 {
    10.0 + SHORT_AXES_COPY * axes.iter().map(|&(extent, _)| extent as f64).product::<f64>()
}

/// Layout of an operand along axes, innermost first.
fn kind(axes: &[ProductAxis], operand: usize) -> RunLayout {
    let mut length = 1;
    let mut contiguous = true;
    for axis in axes {
        contiguous &= axis.steps[operand] == length;
        length *= axis.extent as isize;
    }
    match () {
        () if axes.iter().all(|axis| axis.steps[operand] == 0) => RunLayout::Constant,
        () if contiguous => RunLayout::Contiguous,
        () => RunLayout::Mixed,
    }
}
