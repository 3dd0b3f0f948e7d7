//! Right where it lies: microkernels read as many of its columns side by side as a panel has.

use super::KC;
use super::algebra::Algebra;
use super::bundle::{Bundle, Operand};
use super::panel::Prepare;
use super::problem::{Problem, shares};
use super::side::Lies;
use super::stage::LONG_RUN;
use super::tile::Entry;

/// How columns of right are read where they lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Across {
    /// Elements from a column to the next.
    pub(crate) apart: isize,
    /// Columns that follow each other so; a panel that goes on after them is packed.
    pub(crate) run: usize,
    /// Whether they are windows: elements belong to several columns, and offsets lead from step to step. Else steps
    /// are neighbours.
    pub(crate) windows: bool,
}

impl Across {
    /// Of a problem whose panels have so many columns, if whole panels of right can be read so.
    pub(crate) fn of(problem: &Problem, columns: usize) -> Option<Self> {
        let Problem { algebra, m, n, k, .. } = problem;
        if algebra.right != Prepare::Keep || algebra.guarded {
            return None;
        }
        let (inner, apart) = n.inner(Operand::Right);
        let run = if n.axes().len() <= 1 { n.len() } else { inner };
        let even = n.axes().len() <= 1 || inner.is_multiple_of(columns);
        let has = |entries: &[Entry]| entries.iter().any(|e| e.columns == columns);
        if has(algebra.tiles.across) && even && k.step(Operand::Right) == Some(1) {
            return Some(Self { apart, run, windows: false });
        }
        let windows = has(algebra.tiles.windows)
            && are_windows([m, n, k], Operand::Right, (columns, algebra));
        windows.then_some(Self { apart, run, windows })
    }

    /// Columns of a panel: more than `columns` where there is one group of rows, and all panels are windows that are
    /// read where they lie.
    pub(crate) fn columns(&self, problem: &Problem, columns: usize) -> usize {
        let Problem { algebra, m, .. } = problem;
        let one = self.windows && m.len() <= algebra.lanes;
        let fits = |e: &&Entry| one && e.groups == 1 && self.run.is_multiple_of(e.columns);
        let fitting = algebra.tiles.windows.iter().filter(fits);
        fitting.map(|e| e.columns).max().unwrap_or(columns).max(columns)
    }

    /// For panels of so many columns.
    pub(crate) fn lies(&self, columns: usize) -> Lies {
        let Self { run, windows, .. } = *self;
        Lies { unit: columns, run, by_offsets: windows }
    }
}

/// Bytes of left's panels for a block of k that stay in L2 beside windows and the part of the output that is computed
/// from them.
const BESIDE_BYTES: usize = 128 << 10;

/// Whether the columns of an operand are windows of it, which overlap, and follow each other long enough to be read
/// where they lie so many at a time, while few enough rows, which threads share, pass them.
pub(crate) fn are_windows(
    [m, n, k]: [&Bundle; 3],
    operand: Operand,
    (columns, algebra): (usize, &Algebra),
) -> bool {
    let axes = n.axes().iter().chain(k.axes());
    let span = axes.fold(1_usize, |span, axis| {
        let steps = axis.extent.saturating_sub(1);
        span.saturating_add(axis.strides[operand as usize].unsigned_abs().saturating_mul(steps))
    });
    let overlap = n.len().saturating_mul(k.len()) / 2 >= span;
    let beside = m.len().saturating_mul(KC * algebra.size) <= BESIDE_BYTES;
    let (run, apart) = n.inner(operand);
    overlap && beside && shares(m, n, algebra) && apart != 0 && run >= LONG_RUN.max(columns)
}
