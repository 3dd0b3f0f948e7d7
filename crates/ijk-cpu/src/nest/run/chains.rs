//! Runs chains: strip by strip where something else is to be done in between, else a row or a tile at once.

use super::Worker;
use crate::nest::kernel::{self, Link, Operand};
use crate::nest::program::{Chain, ChainLink, Over};
use smallvec::SmallVec;

impl Worker<'_> {
    /// Computes the value of a chain in such strips: each where `place` says, given its first element; `then` is told
    /// that, and how many it has.
    ///
    /// # Safety
    /// That of [`steps`](Self::steps); the places have room for a strip.
    #[inline(always)]
    pub(super) unsafe fn links(
        &self,
        chain: &Chain,
        most: usize,
        place: impl Fn(usize) -> *mut u8,
        mut then: impl FnMut(usize, usize),
    ) {
        let length = if chain.is_by_row() { self.row() } else { self.points };
        let mut links: SmallVec<[Link; 8]> = SmallVec::new();
        for (row, start) in (0..self.points).step_by(length.max(1)).enumerate() {
            links.clear();
            for &ChainLink { op, product, sources } in &chain.links {
                let operands = sources.each_ref().map(|source| {
                    let (first, step) = self.source(source, Over::Points, start, row);
                    Operand { first, one: step == 0 }
                });
                links.push(Link::new(op, product, operands));
            }
            for column in (0..length).step_by(most.min(length).max(1)) {
                let (first, count) = (start + column, most.min(length - column));
                // SAFETY: the caller's promise; operands have a row's elements from its start on, or one.
                unsafe { kernel::chain(chain.level, chain.dtype, count, place(first), &links) };
                then(first, count);
                links.iter_mut().for_each(|link| link.advance(count * chain.dtype.size()));
            }
        }
    }
}
