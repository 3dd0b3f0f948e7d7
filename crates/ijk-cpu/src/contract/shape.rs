//! How wide panels are, and which way a problem goes through the blocked loops.

use super::bundle::Operand;
use super::panel;
use super::problem::Problem;
use super::tile::smallest;

/// Bytes of left panels that stay in L2 while right panels pass.
pub(crate) const LEFT_BYTES: usize = 384 << 10;

/// Bytes of left that are read where they lie even for many columns.
const NEAR_BYTES: usize = 32 << 10;

/// The size of panels.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Rows of a left panel.
    pub(crate) rows: usize,
    /// Columns of a right panel.
    pub(crate) columns: usize,
    /// Whether left is read where it lies.
    pub(crate) direct: bool,
    /// Whether left is the side that threads share.
    pub(crate) resident: bool,
    /// Whether left is too large to stay near, so that later rows are worth fetching ahead.
    pub(crate) far: bool,
}

impl Shape {
    pub(crate) fn of(problem: &Problem) -> Self {
        let (algebra, n) = (&problem.algebra, problem.n.len());
        let wide = algebra.tiles.wide(n);
        let full = wide.unwrap_or(algebra.tiles.packed[0]);
        let rows = full.groups * algebra.lanes;
        let widths = algebra.tiles.direct.iter().map(|e| e.columns);
        let widest = widths.filter(|&columns| columns <= full.columns).max().unwrap_or(0);
        let long = problem.m.run(Operand::Left) >= 2 * algebra.lanes;
        let left_len = problem.m.len().saturating_mul(problem.k.len());
        let left_bytes = left_len.saturating_mul(algebra.size);
        let once = n <= widest || widest > 0 && left_bytes <= NEAR_BYTES;
        let direct = once && long && algebra.left == panel::Prepare::Keep;
        let columns = match direct {
            true => smallest(algebra.tiles.direct, 1, n.min(widest)).columns,
            false => smallest(algebra.tiles.packed, full.groups, n.min(full.columns)).columns,
        };
        let resident = !direct && problem.shares_left();
        Self { rows, columns, direct, resident, far: direct && left_bytes > LEFT_BYTES }
    }

    /// The same where panels of an operand are there already.
    pub(crate) fn with_panels(self, operand: Operand) -> Self {
        match operand {
            Operand::Left => Self { direct: false, resident: true, far: false, ..self },
            _ => Self { resident: false, ..self },
        }
    }
}

/// How wide the panels of an operand are that is packed for many problems.
pub(crate) fn width(problem: &Problem, operand: Operand) -> usize {
    let shape = Shape::of(problem).with_panels(operand);
    if operand == Operand::Left { shape.rows } else { shape.columns }
}
