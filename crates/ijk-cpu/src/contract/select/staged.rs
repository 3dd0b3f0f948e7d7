//! Staged outputs: parts are computed as contiguous columns in scratch memory and then moved, if m is not contiguous in
//! the output.
//!
//! In this case lhs and output are contiguous along different axes of m. That of lhs becomes the innermost, that of the
//! output the next, and a part has enough values of both for whole cache lines of either tensor. If the axes are too
//! short for that, several of each form a [unit](super::rows) of rows, and tables say where its elements go.

use crate::Level;
use crate::contract::canonical::bundle::{BundleAxis, TensorId};
use crate::contract::canonical::problem::Problem;
use crate::contract::canonical::ranges::{blocks, even};
use crate::contract::select::rows::least_lines;
use crate::copy::{Places, ShortAxis};
use ijk_kernels::tuning::order::{LONG_RUN, STAGED_BYTES, STAGED_INNER};
use ijk_kernels::tuning::time::{STAGED_LEAST_BYTES, STAGED_PARTS_PER_THREAD};
use std::ops::Range;

/// Partition of rows into parts.
#[derive(Clone, Debug)]
pub(crate) struct StagedOutput {
    /// No part crosses a multiple of `period`.
    pub(crate) period: usize,
    /// Most rows of a part.
    pub(crate) most: usize,
    /// Parts begin at multiples of `unit` after the start of a period.
    pub(crate) unit: usize,
    /// Destinations of the elements of a unit, if they are in tables.
    pub(crate) places: Option<Places>,
}

impl StagedOutput {
    /// The parts of a problem's rows for those columns, if staging pays.
    pub(crate) fn of(
        problem: &Problem,
        columns: &Range<usize>,
        (threads, level): (usize, Level),
    ) -> Option<Self> {
        let (m, size) = (&problem.m, problem.algebra.size);
        let bytes = m.len().saturating_mul(columns.len()).saturating_mul(size);
        if m.run(TensorId::Out) >= LONG_RUN || bytes < STAGED_LEAST_BYTES {
            return None;
        }
        let (period, unit) = match (problem.unit, m.axes()) {
            (Some(unit), _) => (m.len(), unit),
            (None, [.., lines, inner]) if lines.strides[TensorId::Out as usize] == 1 => {
                let unit = least_lines(lines.extent, size) * inner.extent;
                (lines.extent * inner.extent, unit)
            }
            _ if problem.n.unit(TensorId::Out).is_some() => (m.len(), STAGED_INNER),
            _ => return None,
        };
        let room = STAGED_BYTES / (columns.len() * size);
        let share = m.len() / (STAGED_PARTS_PER_THREAD * threads);
        let most = even(period.min(m.len()), room.min(share).max(unit), unit);
        let whole = problem.unit.is_some() && columns.len() == problem.n.len();
        let places = if whole { unit_places(problem, unit, most, level) } else { None };
        (unit <= room).then_some(Self { period, unit, most, places })
    }

    /// One part of all rows, for parts that differ in columns.
    pub(crate) fn of_all_rows(problem: &Problem) -> Self {
        let rows = problem.m.len();
        Self { period: rows, most: rows, unit: rows, places: None }
    }

    /// The rows of each part.
    pub(crate) fn parts(&self, rows: usize) -> Vec<Range<usize>> {
        let periods = (0..rows / self.period).map(|n| n * self.period);
        periods.flat_map(|start| blocks(start..start + self.period, self.most, self.unit)).collect()
    }
}

/// Tables of the destinations of the elements of a unit of rows, from columns that are `height` elements apart.
pub(crate) fn unit_places(
    problem: &Problem,
    unit: usize,
    height: usize,
    level: Level,
) -> Option<Places> {
    let size = problem.algebra.size as isize;
    let within = |axes: &[BundleAxis], step: usize, most: usize| {
        let mut points = 1;
        let inside = |axis: &&BundleAxis| {
            let fits = points < most;
            points *= axis.extent;
            fits
        };
        let mut from = step as isize * size;
        let short = |axis: &BundleAxis| {
            let to = axis.strides[TensorId::Out as usize] * size;
            let axis = ShortAxis { extent: axis.extent, to, from };
            from *= axis.extent as isize;
            axis
        };
        axes.iter().rev().take_while(inside).map(short).collect::<Vec<_>>()
    };
    let rows = within(problem.m.axes(), 1, unit);
    let columns = within(problem.n.axes(), height, usize::MAX);
    Places::new(&[rows, columns].concat(), problem.algebra.size, level)
}
