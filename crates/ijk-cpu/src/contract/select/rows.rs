//! Order of rows for outputs that are staged in scratch memory, where lhs and output are contiguous along different axes.
//!
//! Units of rows whose axes are short have several axes that are contiguous in lhs, and several that are contiguous in
//! the output, so that a unit has whole cache lines of both.

use crate::contract::canonical::bundle::{Bundle, BundleAxis, TensorId};
use crate::contract::canonical::problem::Problem;
use crate::copy::part;
use ijk_kernels::lines::LINE;
use ijk_kernels::tuning::order::{LONG_RUN, SHORT_AXIS, STAGED_BYTES, STAGED_INNER, UNIT_ROWS};

/// Rows in the order for a stage: the contiguous axis of lhs innermost, that of the output around it; `None` if they
/// are the same axis, or no part is small enough.
pub(crate) fn staged_order(m: &Bundle, columns: usize, size: usize) -> Option<Bundle> {
    let mut m = m.clone();
    m.follow(TensorId::Left);
    let (last, out) = (m.axes().len().checked_sub(1)?, m.unit(TensorId::Out)?);
    if out == last || m.unit(TensorId::Left) != Some(last) {
        return None;
    }
    let (lines, inner) = (m.axes()[out].extent, m.axes()[last].extent);
    let most = STAGED_BYTES / (least_lines(lines, size) * columns * size).max(1);
    let chunk = (1..=most.min(inner)).rev().find(|chunk| inner.is_multiple_of(*chunk))?;
    if chunk < inner.min(STAGED_INNER) {
        return None;
    }
    m.split_last(chunk);
    m.around_last(out);
    Some(m)
}

/// Fewest values in a part of the axis that is contiguous in the output: a cache line.
pub(crate) fn least_lines(extent: usize, size: usize) -> usize {
    extent.min((LINE / size).max(1))
}

/// The same problem with rows in the order for a stage by units, if their axes are short.
pub(crate) fn in_units(mut problem: Problem) -> Problem {
    let short = problem.m.axes().last().is_some_and(|axis| axis.extent < SHORT_AXIS);
    let units = short.then(|| short_axes_order(&problem.m, &problem.n, problem.algebra.size));
    if let Some((m, unit)) = units.flatten() {
        (problem.m, problem.unit) = (m, Some(unit));
    }
    problem
}

/// Rows of short axes in the order for a stage, and the number of rows of a unit. The innermost axes of lhs are
/// innermost, those of the output around them, as many of each as fill cache lines; longer axes are split. `None` if
/// rows are contiguous in both, or a unit would be too large.
pub(crate) fn short_axes_order(m: &Bundle, n: &Bundle, size: usize) -> Option<(Bundle, usize)> {
    let mut m = m.clone();
    m.follow(TensorId::Left);
    if m.run(TensorId::Out) >= LONG_RUN || m.len() == 0 || n.len() == 0 {
        return None;
    }
    let mut rows: PlacedAxes = m.axes().iter().map(|&axis| (UnitPlace::Outer, axis)).collect();
    let inner = lines_of_left(&mut rows)?;
    let unit = inner.saturating_mul(lines_of_output(&mut rows, (&m, n), LINE / size)?);
    rows.sort_by_key(|&(place, _)| place);
    let m = Bundle::apart(rows.into_iter().map(|(_, axis)| axis));
    let room = STAGED_BYTES / n.len().saturating_mul(size).max(1);
    (unit <= UNIT_ROWS.min(room) && unit < m.len()).then_some((m, unit))
}

/// Axes of rows, outermost first, with their new positions.
type PlacedAxes = Vec<(UnitPlace, BundleAxis)>;

/// Selects the innermost axes of lhs, whose order `rows` has; returns the number of their values.
fn lines_of_left(rows: &mut PlacedAxes) -> Option<usize> {
    let (mut at, mut values) = (rows.len(), 1);
    while values < STAGED_INNER {
        at = at.checked_sub(1)?;
        values *= take(rows, at, UnitPlace::Inner, STAGED_INNER.div_ceil(values));
    }
    Some(values)
}

/// Selects axes of rows from the innermost of the output on until a cache line is full; columns and rows selected
/// before fill it, too. Returns the number of their values.
fn lines_of_output(
    rows: &mut PlacedAxes,
    (m, n): (&Bundle, &Bundle),
    full: usize,
) -> Option<usize> {
    let near = |axis: &BundleAxis| axis.strides[TensorId::Out as usize].unsigned_abs();
    let sorted = |bundle: &Bundle| {
        let mut axes = bundle.axes().to_vec();
        axes.sort_by_key(near);
        axes
    };
    let (mut line, mut values) = (1usize, 1usize);
    let columns = sorted(n);
    let mut columns = columns.iter().peekable();
    for axis in sorted(m) {
        while line < full
            && let Some(column) = columns.next_if(|c| near(c) < near(&axis))
        {
            line = line.saturating_mul(column.extent);
        }
        if line >= full {
            break;
        }
        let inner =
            rows.iter().find(|(place, a)| *place == UnitPlace::Inner && near(a) == near(&axis));
        if let Some((_, inner)) = inner {
            line = line.saturating_mul(inner.extent);
            continue;
        }
        let at = rows.iter().position(|(_, a)| *a == axis)?;
        let taken = take(rows, at, UnitPlace::Lines, full.div_ceil(line));
        (line, values) = (line.saturating_mul(taken), values.saturating_mul(taken));
    }
    Some(values)
}

/// Position of an axis of rows in the order for a stage, outermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum UnitPlace {
    /// Around units.
    Outer,
    /// In a unit, for cache lines of the output.
    Lines,
    /// In a unit, for cache lines of lhs.
    Inner,
}

/// Assigns a position to an axis, or to a part of it with at least `least` values; returns the number of its values.
fn take(rows: &mut PlacedAxes, at: usize, place: UnitPlace, least: usize) -> usize {
    let (_, axis) = rows[at];
    let part = part(axis.extent, least);
    let (outer, inner) = axis.split(part);
    rows[at] = (place, inner);
    if outer.extent > 1 {
        rows.insert(at, (UnitPlace::Outer, outer));
    }
    part
}
