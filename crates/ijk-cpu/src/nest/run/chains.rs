//! Execution of chains: all rows of a tile at once, or strip by strip with other work in between.

use super::Worker;
use crate::nest::kernel::{self, ChainRows, Destination, Link};
use crate::nest::program::{Chain, ChainLink, LONGEST, Over};
use smallvec::SmallVec;

/// Links of a chain; they are set in place, since a move would copy room for the longest chain.
type Links = SmallVec<[Link; LONGEST]>;

impl Worker<'_> {
    /// Computes the value of a chain in rows, or as one row if no operand is constant in a row: `step` bytes lie between
    /// the rows of the destination, none if its elements are contiguous.
    ///
    /// # Safety
    /// As for [`steps`](Self::steps); the destination has room for the tile.
    pub(super) unsafe fn chain(&self, chain: &Chain, to: Destination, step: Option<isize>) {
        let rows = match step {
            None if !chain.is_by_row() => ChainRows::one(self.points),
            _ => {
                let length = self.row();
                let dense = (length * chain.dtype.size()) as isize;
                ChainRows { count: self.points / length, length, step: step.unwrap_or(dense) }
            }
        };
        let mut links = Links::new();
        self.set(&mut links, chain, (0, 0));
        if rows.count > 1 {
            for (link, of) in links.iter_mut().zip(&chain.links) {
                link.rows = of.sources.map(|source| source.row_step(rows.length));
            }
        }
        // SAFETY: guaranteed by the caller; operands have the elements of each row, or one.
        unsafe { kernel::chain(chain.level, chain.dtype, rows, to, &mut links) };
    }

    /// Computes the value of a chain in strips of at most `most` elements: each is written to `place` of its first
    /// element; then `then` is called with that index and the length.
    ///
    /// # Safety
    /// As for [`steps`](Self::steps); the places have room for a strip.
    #[inline(always)]
    pub(super) unsafe fn chain_strips(
        &self,
        chain: &Chain,
        most: usize,
        place: impl Fn(usize) -> Destination,
        mut then: impl FnMut(usize, usize),
    ) {
        let length = if chain.is_by_row() { self.row() } else { self.points };
        let mut links = Links::new();
        for (row, start) in (0..self.points).step_by(length.max(1)).enumerate() {
            self.set(&mut links, chain, (start, row));
            for column in (0..length).step_by(most.min(length).max(1)) {
                let (first, count) = (start + column, most.min(length - column));
                let (strip, to) = (ChainRows::one(count), place(first));
                // SAFETY: guaranteed by the caller; operands have a row's elements from its start on, or one.
                unsafe { kernel::chain(chain.level, chain.dtype, strip, to, &mut links) };
                then(first, count);
                links.iter_mut().for_each(|link| link.advance(count));
            }
        }
    }

    /// Sets the links, with their operands at the start of a row.
    #[inline(always)]
    fn set(&self, links: &mut Links, chain: &Chain, (start, row): (usize, usize)) {
        links.clear();
        for link in &chain.links {
            links.push(self.link(link, start, row));
        }
    }

    /// A link with its operands at the start of a row.
    #[inline(always)]
    fn link(&self, link: &ChainLink, start: usize, row: usize) -> Link {
        let mut operands = [std::ptr::null(); 3];
        for (operand, source) in operands.iter_mut().zip(&link.sources).take(link.operands) {
            *operand = self.source(source, Over::Points, start, row).0;
        }
        let size = link.sources[0].size;
        Link { code: link.code, size, operands, rows: [0; 3], ahead: link.ahead }
    }
}
