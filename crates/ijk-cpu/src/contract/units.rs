//! Units of rows whose axes are short: several axes along which left has neighbours, and several along which
//! the output has, so that a unit has whole lines of both.

use super::bundle::{Axis, Bundle, Operand};
use super::problem::Problem;
use super::stage::{LEAST_INNER, LONG_RUN, PART_BYTES};
use crate::Level;
use crate::copy::{Places, ShortAxis, part};
use crate::lines::LINE;

/// Most rows of a unit.
const MOST_UNIT: usize = 2048;

/// Rows of short axes in the order for a stage, and how many of them are a unit: along the innermost axes of
/// left innermost, along those of the output around them, as many of each as make lines, and parts of axes that
/// are longer. `None` where rows are neighbours in both, or a unit would be too large.
pub(crate) fn order(m: &Bundle, n: &Bundle, size: usize) -> Option<(Bundle, usize)> {
    let mut m = m.clone();
    m.follow(Operand::Left);
    if m.run(Operand::Out) >= LONG_RUN || m.len() == 0 || n.len() == 0 {
        return None;
    }
    let mut rows: Rows = m.axes().iter().map(|&axis| (Place::Outer, axis)).collect();
    let inner = lines_of_left(&mut rows)?;
    let unit = inner.saturating_mul(lines_of_output(&mut rows, (&m, n), LINE / size)?);
    rows.sort_by_key(|&(place, _)| place);
    let m = Bundle::apart(rows.into_iter().map(|(_, axis)| axis));
    let room = PART_BYTES / n.len().saturating_mul(size).max(1);
    (unit <= MOST_UNIT.min(room) && unit < m.len()).then_some((m, unit))
}

/// Axes of rows, outermost first, and where they will be.
type Rows = Vec<(Place, Axis)>;

/// Chooses the axes that are innermost in left, whose order rows have; tells how many values they have.
fn lines_of_left(rows: &mut Rows) -> Option<usize> {
    let (mut at, mut values) = (rows.len(), 1);
    while values < LEAST_INNER {
        at = at.checked_sub(1)?;
        values *= take(rows, at, Place::Inner, LEAST_INNER.div_ceil(values));
    }
    Some(values)
}

/// Chooses, of the axes of the output from the innermost on, those of rows until a line is full, which columns
/// and rows that are chosen fill as well; tells how many values they have.
fn lines_of_output(rows: &mut Rows, (m, n): (&Bundle, &Bundle), full: usize) -> Option<usize> {
    let near = |axis: &Axis| axis.strides[Operand::Out as usize].unsigned_abs();
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
        let inner = rows.iter().find(|(place, a)| *place == Place::Inner && near(a) == near(&axis));
        if let Some((_, inner)) = inner {
            line = line.saturating_mul(inner.extent);
            continue;
        }
        let at = rows.iter().position(|(_, a)| *a == axis)?;
        let taken = take(rows, at, Place::Lines, full.div_ceil(line));
        (line, values) = (line.saturating_mul(taken), values.saturating_mul(taken));
    }
    Some(values)
}

/// Where an axis of rows is in the order for a stage, outermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// Around units.
    Outer,
    /// Of a unit, for lines of the output.
    Lines,
    /// Of a unit, for lines of left.
    Inner,
}

/// Gives an axis its place, or a part of it that has at least so many values; tells how many that has.
fn take(rows: &mut Rows, at: usize, place: Place, least: usize) -> usize {
    let (_, axis) = rows[at];
    let part = part(axis.extent, least);
    let (outer, inner) = axis.split(part);
    rows[at] = (place, inner);
    if outer.extent > 1 {
        rows.insert(at, (Place::Outer, outer));
    }
    part
}

/// Where the elements of a unit of rows go, from columns so many elements apart.
pub(crate) fn places(
    problem: &Problem,
    unit: usize,
    height: usize,
    level: Level,
) -> Option<Places> {
    let size = problem.algebra.size as isize;
    let within = |axes: &[Axis], step: usize, most: usize| {
        let mut points = 1;
        let inside = |axis: &&Axis| {
            let fits = points < most;
            points *= axis.extent;
            fits
        };
        let mut from = step as isize * size;
        let short = |axis: &Axis| {
            let to = axis.strides[Operand::Out as usize] * size;
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
