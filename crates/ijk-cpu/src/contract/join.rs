//! Parts of the output that are computed in scratch memory and written past the caches, where few steps make
//! a large output: rows that are neighbours there are not whole lines, but such runs of several columns lie
//! one after another, and are joined.

use super::bundle::Operand;
use super::problem::Problem;
use super::shape::Shape;
use super::stage::LONG_RUN;
use crate::Level;
use crate::copy::{Copier, Side};
use crate::lines::LINE;
use std::ops::Range;

/// Fewest bytes of an output that is larger than the caches; those of tests are not.
const LARGE_BYTES: usize = if cfg!(test) { 64 << 10 } else { 16 << 20 };

/// With more steps it does not matter how the output is written.
const FEW_STEPS: usize = 64;

/// Bytes that are joined at a time.
const JOINED_BYTES: Range<usize> = 8 * LINE..128 * LINE;

/// Longer runs are written where they belong.
const LONG_BYTES: usize = 8 * LINE;

/// Rows and columns of a part, about, and its most bytes: it stays in L1, or in L2 beside the panels.
const ROWS: usize = 240;
const COLUMNS: usize = 40;
const PART_BYTES: usize = 256 << 10;

/// The size of parts, and which runs are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Join {
    /// Rows of a run.
    run: usize,
    /// Columns whose runs are joined.
    pieces: usize,
    /// Rows of a part: whole runs.
    pub(crate) rows: usize,
    /// Columns of a part: whole panels of them, and all that are joined.
    pub(crate) columns: usize,
}

impl Join {
    /// The parts of a problem, if joining runs is of use; all columns are whole parts then.
    pub(crate) fn of(problem: &Problem, shape: &Shape) -> Option<Self> {
        let Problem { algebra, m, n, k, accumulate, .. } = problem;
        if problem.outputs().saturating_mul(algebra.size) < LARGE_BYTES {
            return None;
        }
        let run = m.run(Operand::Out);
        let (extent, distance) = n.inner(Operand::Out);
        let rows = run * (ROWS / run.max(1)).max(1);
        let (pieces, columns) = columns(extent, shape.columns);
        let simple = !(*accumulate || shape.direct || shape.resident || problem.tile.is_some());
        let few = (1..=FEW_STEPS).contains(&k.len());
        let short = run >= LONG_RUN && run * algebra.size <= LONG_BYTES;
        let next = distance == run as isize && n.len().is_multiple_of(columns);
        let fits = || {
            let part = rows.saturating_mul(columns).saturating_mul(algebra.size);
            JOINED_BYTES.contains(&(run * pieces * algebra.size)) && part <= PART_BYTES
        };
        let joins = simple && few && short && next && fits();
        joins.then_some(Self { run, pieces, rows, columns })
    }

    /// Bytes of a part.
    pub(crate) fn bytes(&self, size: usize) -> usize {
        self.rows * self.columns * size
    }

    /// Writes some rows and columns of the output at `out` from a part, whose columns are so many rows apart.
    /// [`fence`](crate::copy::fence) must follow before another thread may read.
    ///
    /// # Safety
    /// The output has these rows and columns, which are whole runs and all that are joined, and nobody else
    /// uses them; the part holds them.
    pub(crate) unsafe fn put(
        &self,
        (problem, level): (&Problem, Level),
        (rows, columns): (Range<usize>, Range<usize>),
        out: *mut u8,
        part: *const u8,
    ) {
        let size = problem.algebra.size as isize;
        let copier = Copier::streaming(problem.dtype, level);
        let (height, run) = (self.rows as isize, self.run as isize);
        let (to_strides, from_strides) = ([run * size, size], [height * size, size]);
        for column in columns.clone().step_by(self.pieces) {
            for row in rows.clone().step_by(self.run) {
                let to =
                    problem.m.offset(Operand::Out, row) + problem.n.offset(Operand::Out, column);
                let from = (row - rows.start) as isize + (column - columns.start) as isize * height;
                let to = Side { ptr: out.wrapping_offset(to * size), strides: &to_strides };
                let from = Side { ptr: part.wrapping_offset(from * size), strides: &from_strides };
                // SAFETY: the caller's promise.
                unsafe { copier.copy(&[self.pieces, self.run], to, from) };
            }
        }
    }
}

/// How many columns are joined of an axis that has so many, and how many a part has, which are whole panels.
fn columns(extent: usize, width: usize) -> (usize, usize) {
    let panels = (1..=COLUMNS / width.max(1)).rev().map(|panels| panels * width);
    match { panels }.find(|&columns| extent.is_multiple_of(columns)) {
        Some(columns) => (columns, columns),
        None => (extent, least_common_multiple(extent, width)),
    }
}

fn least_common_multiple(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a.max(1), b.max(1));
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b).max(1)
}
