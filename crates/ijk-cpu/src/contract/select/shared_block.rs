//! Blocking of the operand that threads share.

use crate::contract::canonical::problem::Problem;
use crate::contract::select::blocking::Blocking;
use crate::contract::select::streamed::StreamedOutput;
use ijk_kernels::tuning::order::{BLOCK_BYTES, KC, ROUND_BYTES};

/// Blocking of the shared operand: the part of it that is packed at a time.
pub(crate) struct SharedBlock {
    pub(crate) streamed: Option<StreamedOutput>,
    /// Rows (or columns) come in multiples of `unit`,
    pub(crate) unit: usize,
    /// at most `widest` of them.
    pub(crate) widest: usize,
    /// Most steps of k.
    pub(crate) most: usize,
    /// Size of that part in bytes.
    pub(crate) bytes: usize,
}

impl SharedBlock {
    /// Blocking for `rows` rows (or columns) of the shared operand and `ks` steps.
    pub(crate) fn of(
        problem: &Problem,
        blocking: &Blocking,
        rows: usize,
        ks: usize,
        size: usize,
    ) -> Self {
        let steps = blocking.block(ks);
        let widest = (ROUND_BYTES / (KC * size)).min(BLOCK_BYTES / (steps * size).max(1)).max(1);
        let streamed = StreamedOutput::of(problem, blocking);
        let own = if blocking.shares_lhs { blocking.mr } else { blocking.nr };
        let unit = streamed.map_or(own, |output| output.columns);
        let widest = (widest * blocking.ranges).next_multiple_of(unit);
        let width = rows.min(widest).next_multiple_of(unit);
        // Whole cache lines along the other axis of k justify more scratch memory.
        let bytes = if problem.tile.is_some() { 2 * ROUND_BYTES } else { ROUND_BYTES };
        let most = (bytes / (width * size).max(1)).max(steps.max(KC));
        let bytes = width.saturating_mul(most.min(ks)).saturating_mul(size);
        Self { streamed, unit, widest, most, bytes }
    }
}
