//! Problems that are one block of k and stay in cache: the state that all batches share, prepared once for every run of
//! the same contraction.

use crate::Level;
use crate::contract::canonical::columns::ColumnOffsets;
use crate::contract::canonical::problem::Problem;
use crate::contract::select::blocking::Blocking;
use crate::contract::select::k_blocks::{Round, one_round};
use crate::contract::select::staged::StagedOutput;
use crate::contract::select::streamed::StreamedOutput;
use ijk_kernels::tuning::time::PREPARED_BLOCK_BYTES;

/// Loop structure of such a problem for one thread, independent of the addresses of its tensors.
#[derive(Clone, Debug)]
pub(crate) struct PreparedBlock {
    /// Blocking.
    pub(crate) blocking: Blocking,
    /// The one round, which has all of k.
    pub(crate) round: Round,
    /// All columns of the output.
    pub(crate) columns: ColumnOffsets,
}

impl PreparedBlock {
    /// The block of a problem of blocked loops, unless it has several blocks of k.
    pub(crate) fn of(problem: &Problem, level: Level) -> Option<Self> {
        let Problem { algebra, m, n, k, tile, .. } = problem;
        let near = [(m, k), (k, n), (m, n)].iter().all(|(a, b)| {
            a.len().saturating_mul(b.len()).saturating_mul(algebra.size) <= PREPARED_BLOCK_BYTES
        });
        let empty = [m, n, k].iter().any(|bundle| bundle.len() == 0);
        if empty || !near || tile.is_some() {
            return None;
        }
        let blocking = Blocking::of(problem, 1);
        let columns = 0..n.len();
        let moves = StagedOutput::of(problem, &columns, (1, level)).is_some();
        if blocking.is_direct()
            || blocking.shares_lhs
            || moves
            || StreamedOutput::of(problem, &blocking).is_some()
        {
            return None;
        }
        let round = one_round(problem, blocking).filter(|round| round.blocks.len() == 1)?;
        Some(Self { blocking, round, columns: ColumnOffsets::new(problem, &columns) })
    }
}
