//! Execution of chains: all rows of a tile at once, or strip by strip with other work in between.

use super::Worker;
use crate::nest::program::{Chain, ChainLink, LONGEST, Over};
use ijk_kernels::tile::{self, ChainFold, ChainRows, Destination, FoldTo, Link};
use smallvec::SmallVec;
use std::ops::Range;

/// Links of a chain; they are set in place, since a move would copy room for the longest chain.
type Links = SmallVec<[Link; LONGEST]>;

impl Worker<'_> {
    /// Computes the value of a chain in rows, or as one row if no operand is constant in a row: `step` bytes lie between
    /// the rows of the destination, none if its elements are contiguous.
    ///
    /// # Safety
    /// As for [`steps`](Self::steps); the destination has room for the tile.
    pub(super) unsafe fn chain(&self, chain: &Chain, to: Destination, step: Option<isize>) {
        let length = if step.is_none() { self.chain_row(chain) } else { self.row() };
        let count = self.points / length.max(1);
        // SAFETY: guaranteed by the caller.
        unsafe { self.chain_rows(&mut Links::new(), chain, to, (0..count, length, step)) };
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
        let length = self.chain_row(chain).max(1);
        let (count, together) = (self.points / length, (most / length).max(1));
        let mut links = Links::new();
        for row in (0..count).step_by(together) {
            let (start, rows) = (row * length, row..count.min(row + together));
            if length <= most {
                let all = rows.len() * length;
                // SAFETY: guaranteed by the caller.
                unsafe { self.chain_rows(&mut links, chain, place(start), (rows, length, None)) };
                then(start, all);
                continue;
            }
            self.set(&mut links, chain, (start, row));
            for column in (0..length).step_by(most) {
                let (first, count) = (start + column, most.min(length - column));
                let (strip, to) = (ChainRows::one(count), place(first));
                // SAFETY: guaranteed by the caller; operands have a row's elements from its start on, or one.
                unsafe { tile::chain(chain.level, chain.dtype, strip, to, &mut links) };
                then(first, count);
                links.iter_mut().for_each(|link| link.advance(count));
            }
        }
    }

    /// Elements of a row of a chain: all points, if no operand is constant in a row.
    fn chain_row(&self, chain: &Chain) -> usize {
        if chain.is_by_row() { self.row() } else { self.points }
    }

    /// Computes the value of a chain for rows of a length, `step` bytes apart in the destination or contiguous.
    ///
    /// # Safety
    /// As for [`steps`](Self::steps); the destination has room for the rows.
    unsafe fn chain_rows(
        &self,
        links: &mut Links,
        chain: &Chain,
        to: Destination,
        (rows, length, step): (Range<usize>, usize, Option<isize>),
    ) {
        let dense = (length * chain.dtype.size()) as isize;
        let of = ChainRows { count: rows.len(), length, step: step.unwrap_or(dense) };
        self.set(links, chain, (rows.start * length, rows.start));
        if of.count > 1 {
            for (link, own) in links.iter_mut().zip(&chain.links) {
                link.rows = own.sources.map(|source| source.row_step(length));
            }
        }
        // SAFETY: guaranteed by the caller; operands have the elements of each row, or one.
        unsafe { tile::chain(chain.level, chain.dtype, of, to, links) };
    }

    /// Folds rows of the value of a chain.
    ///
    /// # Safety
    /// As for [`steps`](Self::steps), for the instructions before the chain; `to` has room for what rows are folded to.
    pub(super) unsafe fn fold_rows(
        &self,
        chain: &Chain,
        rows: Range<usize>,
        to: (FoldTo, ChainFold),
    ) {
        let length = self.row();
        let mut links = Links::new();
        self.set(&mut links, chain, (rows.start * length, rows.start));
        for (link, own) in links.iter_mut().zip(&chain.links) {
            link.rows = own.sources.map(|source| source.row_step(length));
        }
        let of = ChainRows { count: rows.len(), length, step: 0 };
        // SAFETY: guaranteed by the caller; operands have the elements of each row, or one.
        unsafe { tile::fold_chain(chain.level, chain.dtype, of, to, &links) };
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
        link.at(operands, [0; 3])
    }
}
