//! An index statement over blocks.

use super::expr::Expr;
use crate::domain::{Affine, Coordinates, Points, StageAxis};
use crate::{Aggregation, Formula, Type, Value};
use std::ops::Range;

/// Computes the blocks of an array: at each point of the grid of its axes, combines the operands' parts into a block of
/// the output.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    /// Axes of the output, in its order, then those that are folded.
    pub(crate) axes: Vec<StageAxis>,
    pub(crate) operands: Vec<Operand>,
    pub(crate) kernel: Kernel,
    /// Computed output positions, and conditions on points.
    pub(crate) points: Points,
    /// The type of the output.
    pub(crate) out: Type,
    /// The elements of an output block to which nothing was added, unless they have to be computed.
    pub(crate) identity: Option<Value>,
    /// Blocks per part if the first folded axis is split: then the last axis of the output is that of the parts.
    pub(crate) split: Option<usize>,
}

/// Operand of a stage: an expression and the stage's axes that it is read along.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) expr: Expr,
    /// For each axis of the expression, the map of points of the stage to positions on it.
    pub(crate) index: Vec<Affine>,
}

impl Operand {
    /// Ranges of the expression's axes for these ranges of the stage's axes.
    pub(crate) fn ranges(&self, ranges: &[Range<usize>]) -> Vec<Range<usize>> {
        self.index.iter().map(|affine| affine.range(ranges)).collect()
    }

    /// Returns true if positions may be beyond its axes, or are elements of other operands: then parts have all axes.
    pub(crate) fn skips(&self) -> bool {
        self.index.iter().any(|affine| !affine.is_plain())
    }

    /// Returns true if the operand depends on an axis of the stage.
    pub(crate) fn has(&self, axis: usize) -> bool {
        self.index.iter().any(|affine| affine.has(axis))
    }
}

/// Operation of a stage at each point of its grid.
#[derive(Clone, Debug)]
pub(crate) enum Kernel {
    /// The only operand is the output.
    Copy,
    /// Maps the elements of the operands at each point of the output.
    Map(Formula),
    /// Maps the elements of the operands, mostly pairs, and folds.
    Contract(Aggregation),
}

impl Stage {
    /// Number of its axes that the output has.
    pub(crate) fn kept(&self) -> usize {
        self.out.rank()
    }

    /// Number of blocks of the output.
    pub(crate) fn blocks(&self) -> usize {
        Coordinates::count(&self.out.grid())
    }

    /// The axis of the output that counts the parts of a split axis.
    pub(crate) fn parts(&self) -> Option<usize> {
        self.split.and_then(|_| self.kept().checked_sub(1))
    }

    /// Returns true if the part of an operand for a block depends on the block's position along an axis.
    pub(crate) fn reads(&self, operand: usize, axis: usize) -> bool {
        let has = |axis| self.operands.get(operand).is_some_and(|operand| operand.has(axis));
        has(axis) || self.parts() == Some(axis) && has(self.kept())
    }

    /// The grid of panels.
    pub(crate) fn folded(&self) -> Vec<usize> {
        let mut grid: Vec<usize> = self.axes[self.kept()..].iter().map(StageAxis::blocks).collect();
        if let (Some(each), Some(first)) = (self.split, grid.first_mut()) {
            *first = each;
        }
        grid
    }

    /// Number of panels of each block of the output: the points of the grid of the folded axes, in order. At least one
    /// where the fold needs all at once.
    pub(crate) fn panels(&self) -> usize {
        let panels = Coordinates::count(&self.folded());
        let whole = matches!(&self.kernel, Kernel::Contract(by) if by.needs_whole());
        if whole { 1 } else { panels }
    }

    /// Returns true if all points are skipped for axes of these ranges.
    pub(crate) fn misses(&self, ranges: &[Range<usize>]) -> bool {
        if (0..self.operands.len()).any(|operand| self.ends_before(operand, ranges)) {
            return true;
        }
        let is_written = |(axis, at): &(usize, Affine)| !at.misses(&ranges[*axis], ranges);
        let holds = |at: &Affine| !at.misses(&(0..usize::MAX), ranges);
        !(self.points.writes.iter().all(is_written) && self.points.guards.iter().all(holds))
    }

    /// Returns true if an operand has no part for a panel, as the last part of a split axis has fewer of them.
    pub(crate) fn ends_before(&self, operand: usize, ranges: &[Range<usize>]) -> bool {
        let folded = self.kept();
        self.split.is_some() && self.operands[operand].has(folded) && ranges[folded].is_empty()
    }

    /// Number of points along an axis: one where the output is written at computed positions.
    pub(crate) fn extent(&self, axis: usize, of: usize) -> usize {
        if self.points.writes(axis) { of.min(1) } else { of }
    }

    /// The positions of each axis at a block of the output and a panel.
    pub(crate) fn ranges(&self, at: &[usize], panel: usize) -> Vec<Range<usize>> {
        let mut panel = Coordinates::of(&self.folded(), panel);
        if let (Some(each), Some(part), Some(first)) = (self.split, at.last(), panel.first_mut()) {
            *first += part * each;
        }
        self.axes.iter().zip(at.iter().chain(&panel)).map(|(axis, &n)| axis.range(n)).collect()
    }
}
