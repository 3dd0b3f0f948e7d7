//! Streaming stores of large outputs with a short k. Contiguous rows in the output are shorter than a cache line, but
//! the runs of several columns are adjacent. A part is computed in scratch memory, its runs are joined, and whole lines
//! are written with non-temporal stores.

use crate::contract::canonical::bundle::TensorId;
use crate::contract::canonical::problem::Problem;
use crate::contract::select::blocking::Blocking;
use ijk_kernels::tuning::order::LONG_RUN;
use ijk_kernels::tuning::time::{
    STREAMED_COLUMNS, STREAMED_LONG_BYTES, STREAMED_OUTPUT_BYTES, STREAMED_PART_BYTES,
    STREAMED_ROWS, STREAMED_RUN_BYTES, STREAMED_STEPS,
};

/// Extents of a part and of the runs that are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamedOutput {
    /// Rows of a contiguous run.
    pub(crate) run: usize,
    /// Columns whose runs are joined.
    pub(crate) pieces: usize,
    /// Rows of a part, a multiple of `run`.
    pub(crate) rows: usize,
    /// Columns of a part, a multiple of `pieces` and of the panel width.
    pub(crate) columns: usize,
}

impl StreamedOutput {
    /// The parts of a problem for which joining pays; n is a multiple of their columns.
    pub(crate) fn of(problem: &Problem, blocking: &Blocking) -> Option<Self> {
        let Problem { algebra, m, n, k, accumulate, .. } = problem;
        if problem.outputs().saturating_mul(algebra.size) < STREAMED_OUTPUT_BYTES {
            return None;
        }
        let run = m.run(TensorId::Out);
        let (extent, distance) = n.inner(TensorId::Out);
        let rows = run * (STREAMED_ROWS / run.max(1)).max(1);
        let (pieces, columns) = columns(extent, blocking.nr);
        let simple =
            !(*accumulate || blocking.is_direct() || blocking.shares_lhs || problem.tile.is_some());
        let few = (1..=STREAMED_STEPS).contains(&k.len());
        let short = run >= LONG_RUN && run * algebra.size <= STREAMED_LONG_BYTES;
        let next = distance == run as isize && n.len().is_multiple_of(columns);
        let fits = || {
            let part = rows.saturating_mul(columns).saturating_mul(algebra.size);
            STREAMED_RUN_BYTES.contains(&(run * pieces * algebra.size))
                && part <= STREAMED_PART_BYTES
        };
        let suits = simple && few && short && next && fits();
        suits.then_some(Self { run, pieces, rows, columns })
    }

    /// Size of a part in bytes.
    pub(crate) fn bytes(&self, size: usize) -> usize {
        self.rows * self.columns * size
    }
}

/// Number of columns to join along an axis of `extent` columns, and number of columns of a part, a multiple of the
/// panel width.
fn columns(extent: usize, width: usize) -> (usize, usize) {
    let panels = (1..=STREAMED_COLUMNS / width.max(1)).rev().map(|panels| panels * width);
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
