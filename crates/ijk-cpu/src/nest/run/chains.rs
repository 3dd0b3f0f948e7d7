//! Execution of chains: strip by strip with other work in between, or a row or tile at once.

use super::Worker;
use crate::nest::kernel::{self, Destination, Link};
use crate::nest::program::{Chain, ChainLink, LONGEST, Over};
use smallvec::SmallVec;

impl Worker<'_> {
    /// Computes the value of a chain in strips of at most `most` elements: each is written to `place` of its first
    /// element; then `then` is called with that index and the length.
    ///
    /// # Safety
    /// As for [`steps`](Self::steps); the places have room for a strip.
    #[inline(always)]
    pub(super) unsafe fn links(
        &self,
        chain: &Chain,
        most: usize,
        place: impl Fn(usize) -> Destination,
        then: impl FnMut(usize, usize),
    ) {
        let length = if chain.is_by_row() { self.row() } else { self.points };
        // SAFETY: guaranteed by the caller.
        unsafe { self.links_of(chain, length, most, place, then) }
    }

    /// The same in strips that do not cross multiples of `length` elements, which is a row or all of them.
    ///
    /// # Safety
    /// As for [`links`](Self::links).
    #[inline(always)]
    pub(super) unsafe fn links_of(
        &self,
        chain: &Chain,
        length: usize,
        most: usize,
        place: impl Fn(usize) -> Destination,
        mut then: impl FnMut(usize, usize),
    ) {
        let mut links: SmallVec<[Link; LONGEST]> = SmallVec::new();
        for (row, start) in (0..self.points).step_by(length.max(1)).enumerate() {
            links.clear();
            for link in &chain.links {
                links.push(self.link(link, start, row));
            }
            for column in (0..length).step_by(most.min(length).max(1)) {
                let (first, count) = (start + column, most.min(length - column));
                // SAFETY: guaranteed by the caller; operands have a row's elements from its start on, or one.
                unsafe { kernel::chain(chain.level, chain.dtype, count, place(first), &links) };
                then(first, count);
                links.iter_mut().for_each(|link| link.advance(count));
            }
        }
    }

    /// A link with its operands at the start of a row.
    #[inline(always)]
    fn link(&self, link: &ChainLink, start: usize, row: usize) -> Link {
        let mut operands = [std::ptr::null(); 3];
        for (operand, source) in operands.iter_mut().zip(&link.sources).take(link.operands) {
            *operand = self.source(source, Over::Points, start, row).0;
        }
        Link { code: link.code, size: link.sources[0].size, operands }
    }
}
