//! Operands read in place: microkernels read the rows or columns of a tile from the tensor, without packing them.

use crate::contract::canonical::bundle::{Bundle, TensorId};
use crate::contract::canonical::problem::Problem;
use crate::contract::select::sharing::shares;
use ijk_kernels::contraction::algebra::Algebra;
use ijk_kernels::contraction::microkernel::Microkernel;
use ijk_kernels::contraction::panel::{Prepare, Split};
use ijk_kernels::tuning::order::{KC, LONG_RUN, WINDOW_LHS_BYTES};
use ijk_kernels::tuning::time::{SET_STRIDE_BYTES, UNPACKED_LHS_COLUMNS};

/// Layout of panels of an operand that are read in place.
#[derive(Clone, Copy)]
pub(crate) struct InPlace {
    /// Rows of a panel read in place come in multiples of `unit`.
    pub(crate) unit: usize,
    /// Rows of equal stride; panels do not cross a multiple of `run`.
    pub(crate) run: usize,
    /// True if k is addressed by a table of offsets.
    pub(crate) by_offsets: bool,
}

/// Layout of the columns of an unpacked rhs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnpackedRhs {
    /// Stride from one column to the next, in elements.
    pub(crate) column_stride: isize,
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
        let (inner, column_stride) = n.inner(TensorId::Right);
        let run = if n.axes().len() <= 1 { n.len() } else { inner };
        let even = n.axes().len() <= 1 || inner.is_multiple_of(columns);
        let has = |entries: &[Microkernel]| entries.iter().any(|e| e.columns == columns);
        if has(algebra.tiles.rhs_in_place) && even && k.step(TensorId::Right) == Some(1) {
            return Some(Self { column_stride, run, windows: false });
        }
        let windows = has(algebra.tiles.windows)
            && are_windows([m, n, k], TensorId::Right, (columns, algebra));
        windows.then_some(Self { column_stride, run, windows })
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
    operand: TensorId,
    (columns, algebra): (usize, &Algebra),
) -> bool {
    let axes = n.axes().iter().chain(k.axes());
    let span = axes.fold(1_usize, |span, axis| {
        let steps = axis.extent.saturating_sub(1);
        span.saturating_add(axis.strides[operand as usize].unsigned_abs().saturating_mul(steps))
    });
    let overlap = n.len().saturating_mul(k.len()) / 2 >= span;
    let beside = m.len().saturating_mul(KC * algebra.size) <= WINDOW_LHS_BYTES;
    let (run, column_stride) = n.inner(operand);
    overlap && beside && shares(m, n, algebra) && column_stride != 0 && run >= LONG_RUN.max(columns)
}

/// An lhs whose rows are read in place by the microkernels for packed panels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnpackedLhs {
    /// Stride from step to step, in elements.
    pub(crate) step: usize,
    /// Rows that are read in place come in multiples of `unit`.
    pub(crate) unit: usize,
}

impl UnpackedLhs {
    /// The layout of a problem's lhs, if all rows are contiguous and steps have a uniform stride that does not map to
    /// few sets of L2.
    pub(crate) fn of(problem: &Problem, rows: usize, columns: usize) -> Option<Self> {
        let Problem { algebra, m, n, k, .. } = problem;
        let keeps =
            algebra.left == Prepare::Keep && algebra.split == Split::None && !algebra.guarded;
        let step = usize::try_from(k.step(TensorId::Left)?).ok()?;
        let near = !(step * algebra.size).is_multiple_of(SET_STRIDE_BYTES)
            && n.len() <= UNPACKED_LHS_COLUMNS;
        // Rows beyond a partial panel are not zeros in place.
        let fits = |groups| {
            let exact = |e: &Microkernel| e.groups == groups && e.columns == columns;
            algebra.tiles.packed.iter().any(exact)
        };
        let exact = n.len().is_multiple_of(columns) && (1..=rows / algebra.lanes).all(fits);
        let unit = if exact { algebra.lanes } else { rows };
        let suits = keeps && near && m.run(TensorId::Left) == m.len();
        suits.then_some(Self { step, unit })
    }

    /// The layout for panels of any of these rows, which are all contiguous.
    pub(crate) fn in_place(&self) -> InPlace {
        InPlace { unit: self.unit, run: usize::MAX, by_offsets: false }
    }
}
