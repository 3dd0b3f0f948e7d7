//! Rhs read in place: microkernels read the columns of a tile from the tensor, without packing them.

use super::algebra::Algebra;
use super::bundle::{Bundle, Operand};
use super::panel::Prepare;
use super::problem::{Problem, shares};
use super::side::InPlace;
use super::tile::Microkernel;
use crate::tuning::order::{KC, LONG_RUN, WINDOW_LHS_BYTES};

/// Layout of the columns of an unpacked rhs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnpackedRhs {
    /// Stride from one column to the next, in elements.
    pub(crate) apart: isize,
    /// Number of consecutive columns with that stride; a panel that exceeds such a run is packed.
    pub(crate) run: usize,
    /// True for the windows of a convolution (implicit im2col): columns share elements, and k is addressed by a table
    /// of offsets. Otherwise k is contiguous.
    pub(crate) windows: bool,
}

impl UnpackedRhs {
    /// The layout for panels of `columns` columns; `None` if rhs has to be packed.
    pub(crate) fn of(problem: &Problem, columns: usize) -> Option<Self> {
        let Problem { algebra, m, n, k, .. } = problem;
        if algebra.right != Prepare::Keep || algebra.guarded {
            return None;
        }
        let (inner, apart) = n.inner(Operand::Right);
        let run = if n.axes().len() <= 1 { n.len() } else { inner };
        let even = n.axes().len() <= 1 || inner.is_multiple_of(columns);
        let has = |entries: &[Microkernel]| entries.iter().any(|e| e.columns == columns);
        if has(algebra.tiles.rhs_in_place) && even && k.step(Operand::Right) == Some(1) {
            return Some(Self { apart, run, windows: false });
        }
        let windows = has(algebra.tiles.windows)
            && are_windows([m, n, k], Operand::Right, (columns, algebra));
        windows.then_some(Self { apart, run, windows })
    }

    /// Columns of a panel. It exceeds `columns` if m fits one group of lanes and all panels are windows read in place:
    /// a wider tile then amortises the loads of lhs.
    pub(crate) fn columns(&self, problem: &Problem, columns: usize) -> usize {
        let Problem { algebra, m, .. } = problem;
        let one = self.windows && m.len() <= algebra.lanes;
        let fits = |e: &&Microkernel| one && e.groups == 1 && self.run.is_multiple_of(e.columns);
        let fitting = algebra.tiles.windows.iter().filter(fits);
        fitting.map(|e| e.columns).max().unwrap_or(columns).max(columns)
    }

    /// The layout of panels of `columns` columns.
    pub(crate) fn in_place(&self, columns: usize) -> InPlace {
        let Self { run, windows, .. } = *self;
        InPlace { unit: columns, run, by_offsets: windows }
    }
}

/// Returns true if the columns of an operand are overlapping windows whose contiguous runs fill panels of `columns`
/// columns, and m is so small that lhs panels are shared by threads and stay in L2.
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
    let beside = m.len().saturating_mul(KC * algebra.size) <= WINDOW_LHS_BYTES;
    let (run, apart) = n.inner(operand);
    overlap && beside && shares(m, n, algebra) && apart != 0 && run >= LONG_RUN.max(columns)
}
