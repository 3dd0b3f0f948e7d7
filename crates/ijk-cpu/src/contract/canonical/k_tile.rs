//! The innermost axes of k, if the operands are contiguous along different ones.

use crate::contract::canonical::bundle::Bundle;
use crate::contract::canonical::ranges::{cut_at, pieces};
use ijk_kernels::tuning::order::{K_TILE_LEAST_LINES, K_TILE_LINES};
use std::ops::Range;

/// The innermost two axes of k, if each operand is contiguous along one of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KTile {
    inner: usize,
    outer: usize,
}

impl KTile {
    /// The last two axes of `k`.
    pub(crate) fn of(k: &Bundle) -> Option<Self> {
        let [.., outer, inner] = k.axes() else { return None };
        Some(Self { inner: inner.extent, outer: outer.extent })
    }

    /// Ranges of k begin at multiples of it to have whole lines.
    pub(crate) fn unit(&self) -> usize {
        self.inner.saturating_mul(K_TILE_LINES)
    }

    /// Ranges of at most `most` steps, as long as possible, with whole values of the outer axis; `None` if those are
    /// too few.
    pub(crate) fn rounds(&self, ks: &Range<usize>, most: usize) -> Option<Vec<Range<usize>>> {
        let (inner, period) = (self.inner.max(1), self.inner.saturating_mul(self.outer).max(1));
        if !(ks.start.is_multiple_of(inner) && ks.len().is_multiple_of(inner)) {
            return None;
        }
        if period <= most && ks.start.is_multiple_of(period) {
            return Some(pieces(ks.clone(), most / period * period).collect());
        }
        let lines = most / inner;
        let lines = if lines >= K_TILE_LINES { lines - lines % K_TILE_LINES } else { lines };
        let rounds = cut_at(ks, period).flat_map(|period| pieces(period, lines * inner));
        (lines >= K_TILE_LEAST_LINES).then(|| rounds.collect())
    }
}
