//! Domains of stages: axes in blocks, positions on them, and points of grids of blocks.

mod affine;

pub(crate) use affine::{Affine, filled, renumbered};

use crate::types::{block_count, block_range};
use std::ops::Range;

/// Computed positions at which the points of a stage write along the axes of the output; empty if each point writes at its
/// own position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Points {
    /// For axes of the output that points do not have, the positions: those beyond the output are skipped.
    pub(crate) writes: Vec<(usize, Affine)>,
    /// Conditions: a point is skipped where one of these is out of bounds.
    pub(crate) guards: Vec<Affine>,
}

impl Points {
    /// Returns true if every point writes at its own position.
    pub(crate) fn are_plain(&self) -> bool {
        self.writes.is_empty() && self.guards.is_empty()
    }

    /// All computed positions.
    pub(crate) fn positions(&self) -> impl Iterator<Item = &Affine> {
        self.writes.iter().map(|(_, affine)| affine).chain(&self.guards)
    }

    /// Returns true if an axis of the output is written at computed positions.
    pub(crate) fn writes(&self, axis: usize) -> bool {
        self.writes.iter().any(|(written, _)| *written == axis)
    }
}

/// An axis of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StageAxis {
    pub(crate) name: String,
    pub(crate) extent: usize,
    pub(crate) block: Option<usize>,
    /// The output lacks the axis.
    pub(crate) folded: bool,
}

impl StageAxis {
    /// Number of its blocks.
    pub(crate) fn blocks(&self) -> usize {
        block_count(self.extent, self.block)
    }

    /// The positions of one of its blocks.
    pub(crate) fn range(&self, block: usize) -> Range<usize> {
        block_range(self.extent, self.block, block)
    }
}

/// Points of a grid by their numbers, the last axis fastest.
pub(crate) struct Coordinates;

impl Coordinates {
    /// Number of points of a grid, saturating.
    pub(crate) fn count(grid: &[usize]) -> usize {
        grid.iter().fold(1, |n: usize, &blocks| n.saturating_mul(blocks))
    }

    /// All points in order.
    pub(crate) fn all(grid: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
        (0..Self::count(grid)).map(move |number| Self::of(grid, number))
    }

    /// The point of that number; zeros where there is none.
    pub(crate) fn of(grid: &[usize], number: usize) -> Vec<usize> {
        let mut rest = number;
        let mut at: Vec<usize> = grid
            .iter()
            .rev()
            .map(|&blocks| {
                let place = rest % blocks.max(1);
                rest /= blocks.max(1);
                place
            })
            .collect();
        at.reverse();
        at
    }
}
