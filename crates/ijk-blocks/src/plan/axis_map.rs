//! Maps from positions of one axis to positions of another.

use crate::types::{block_count, block_range};
use std::ops::Range;
use std::sync::Arc;

/// A map of positions of an axis to positions of an axis of an array, as a list of steps that are applied in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AxisMap {
    steps: Vec<MapStep>,
}

/// A step of a map of positions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MapStep {
    /// Adds an offset.
    Shift(usize),
    /// The remainder: a repetition with that period.
    Modulo(usize),
    /// The position at that place of a list.
    Table(Arc<[usize]>),
}

/// Contiguous positions in one block of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Destination: positions relative to the first of the region.
    pub(crate) at: usize,
    /// The number of the block.
    pub(crate) block: usize,
    /// Positions in the block.
    pub(crate) within: Range<usize>,
}

impl AxisMap {
    /// The map that first applies a step, then this one.
    #[must_use]
    pub(crate) fn after(&self, step: MapStep) -> Self {
        let mut steps = vec![step];
        for step in &self.steps {
            match (steps.last_mut(), step) {
                (Some(MapStep::Shift(by)), MapStep::Shift(further)) => *by += further,
                (Some(MapStep::Table(table)), step) => {
                    *table = table.iter().map(|&position| step.apply(position)).collect();
                }
                _ => steps.push(step.clone()),
            }
        }
        Self { steps }
    }

    /// Returns true for the identity map.
    pub(crate) fn is_identity(&self) -> bool {
        self.steps.is_empty()
    }

    /// Number of steps.
    pub(crate) fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The runs of an axis of an array, with that extent and block, that positions map to.
    pub(crate) fn runs(
        &self,
        positions: Range<usize>,
        extent: usize,
        block: Option<usize>,
    ) -> Vec<Run> {
        let mut ranges: Vec<Range<usize>> = std::iter::once(positions).collect();
        for step in &self.steps {
            ranges = ranges.into_iter().flat_map(|range| step.ranges(range)).collect();
        }
        let mut runs: Vec<Run> = Vec::new();
        let mut at = 0;
        for range in joined(ranges) {
            let mut start = range.start;
            while start < range.end {
                let number = start / block.unwrap_or(extent).max(1);
                let whole = block_range(extent, block, number);
                let end = range.end.min(whole.end).max(start + 1);
                let within = start - whole.start..end - whole.start;
                let length = within.len();
                runs.push(Run { at, block: number, within });
                at += length;
                start = end;
            }
        }
        debug_assert!(runs.iter().all(|run| run.block < block_count(extent, block)));
        runs
    }
}

impl MapStep {
    fn apply(&self, position: usize) -> usize {
        match self {
            Self::Shift(by) => position + by,
            Self::Modulo(by) => position % by,
            Self::Table(table) => table[position],
        }
    }

    /// Ranges that a range of positions maps to, in order.
    fn ranges(&self, range: Range<usize>) -> Vec<Range<usize>> {
        match self {
            Self::Shift(by) => std::iter::once(range.start + by..range.end + by).collect(),
            Self::Modulo(by) => repeats(range, *by),
            Self::Table(table) => {
                joined(table[range].iter().map(|&position| position..position + 1).collect())
            }
        }
    }
}

/// The remainders of a range, as ranges.
fn repeats(range: Range<usize>, by: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = range.start;
    while start < range.end {
        let first = start % by;
        let length = (by - first).min(range.end - start);
        ranges.push(first..first + length);
        start += length;
    }
    ranges
}

/// The same positions with contiguous ranges joined.
fn joined(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges.into_iter().filter(|range| !range.is_empty()) {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(
        along: &AxisMap,
        range: Range<usize>,
        extent: usize,
        block: Option<usize>,
    ) -> Vec<usize> {
        let runs = along.runs(range, extent, block);
        let of = |run: &Run| {
            let start = block_range(extent, block, run.block).start;
            (run.within.start + start..run.within.end + start).collect::<Vec<_>>()
        };
        runs.iter().flat_map(of).collect()
    }

    #[test]
    fn steps_apply_one_after_another() {
        // Every other position of a repetition, beginning with the second.
        let along = AxisMap::default().after(MapStep::Modulo(3)).after(MapStep::Shift(1));
        let along = along.after(MapStep::Table([0, 2, 4].into()));
        assert_eq!(along.steps(), 1);
        assert_eq!(positions(&along, 0..3, 3, Some(2)), [1, 0, 2]);
        assert_eq!(positions(&along, 1..2, 3, None), [0]);
    }

    #[test]
    fn runs_end_with_blocks() {
        let identity = AxisMap::default();
        let runs = identity.runs(2..7, 8, Some(3));
        let run = |at, block, within| Run { at, block, within };
        assert_eq!(runs, [run(0, 0, 2..3), run(1, 1, 0..3), run(4, 2, 0..1)]);
        assert_eq!(identity.runs(2..2, 8, Some(3)), []);
        assert_eq!(identity.runs(0..8, 8, None), [run(0, 0, 0..8)]);
    }

    #[test]
    fn repetition_wraps() {
        let along = AxisMap::default().after(MapStep::Modulo(3));
        assert_eq!(positions(&along, 2..8, 3, None), [2, 0, 1, 2, 0, 1]);
    }
}
