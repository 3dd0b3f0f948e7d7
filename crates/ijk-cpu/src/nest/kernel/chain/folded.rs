//! Values of chains folded into accumulators: rows of a tile pass a block of accumulators in registers.

use super::fetch::Value;
use super::functions::linked;
use super::spots::RowsBlock;
use super::{ChainRows, Link, SHORT_BLOCKS, chains, prefetch_later, prefetches, streams};
use crate::simd::{Kernel, Level, Simd, Vector};
use ijk_types::{DType, Monoid};

/// Combination of accumulators with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainFold {
    Add,
    Max,
    Min,
}

impl ChainFold {
    /// That of a monoid, if chains support it.
    pub fn of(monoid: Monoid) -> Option<Self> {
        Some(match monoid {
            Monoid::Add => Self::Add,
            Monoid::Max => Self::Max,
            Monoid::Min => Self::Min,
            _ => return None,
        })
    }
}

/// Returns true if chains of elements of type `t` are folded into rows of `length` accumulators.
pub(crate) fn folds_chain(level: Level, t: DType, length: usize) -> bool {
    let vector = if streams(level) { 64 } else { 32 };
    chains(t, level) && length * t.size() >= SHORT_BLOCKS * vector
}

/// Folds rows of the values of a chain: `acc[k] = acc[k] op value[r][k]` for each row `r` in turn.
///
/// # Safety
/// As for [`chain`](super::chain), with accumulators of one row as destination; [`folds_chain`] holds for the rows.
pub(crate) unsafe fn fold_chain(
    level: Level,
    t: DType,
    rows: ChainRows,
    (acc, fold): (*mut u8, ChainFold),
    links: &[Link],
) {
    let folding = Folding { rows, acc, fold, links };
    match t {
        DType::F64 => level.run(Double(folding)),
        _ => level.run(Single(folding)),
    }
}

struct Folding<'a> {
    rows: ChainRows,
    acc: *mut u8,
    fold: ChainFold,
    links: &'a [Link],
}

struct Single<'a>(Folding<'a>);
struct Double<'a>(Folding<'a>);

impl Kernel for Single<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // SAFETY: guaranteed by the caller of `fold_chain`, which constructs it.
        unsafe { self.0.run::<S, S::F32>(simd) }
    }
}

impl Kernel for Double<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // SAFETY: as in the kernel for `f32`.
        unsafe { self.0.run::<S, S::F64>(simd) }
    }
}

/// Most elements of a block.
const MOST: usize = SHORT_BLOCKS * 16;

impl Folding<'_> {
    /// Folds block by block. The last one overlaps its predecessor to be full: of its results, only the new ones are
    /// stored.
    ///
    /// # Safety
    /// As for [`fold_chain`], for elements of the vector's type.
    #[inline(always)]
    unsafe fn run<S: Simd, V: Value + Vector<Simd = S>>(self, simd: S) {
        if !S::FUSED {
            return;
        }
        let (n, block) = (self.rows.length, SHORT_BLOCKS * V::LANES);
        let acc = self.acc.cast::<V::Element>();
        let mut at = 0;
        // SAFETY: guaranteed by the caller; each block has its accumulators within the row.
        unsafe {
            while at + block <= n {
                self.block::<V>(simd, at, acc.add(at));
                at += block;
            }
            if at < n {
                const { assert!(SHORT_BLOCKS * V::LANES <= MOST) };
                let mut last = [V::Element::from(0); MOST];
                let start = n - block;
                std::ptr::copy_nonoverlapping(acc.add(start), last.as_mut_ptr(), block);
                self.block::<V>(simd, at, last.as_mut_ptr());
                std::ptr::copy_nonoverlapping(last.as_ptr().add(at - start), acc.add(at), n - at);
            }
        }
    }

    /// Folds all rows of a block, from element `at` on or from where it is the last one.
    ///
    /// # Safety
    /// As for [`run`](Self::run); `acc` has the block's accumulators.
    #[inline(always)]
    unsafe fn block<V: Value>(&self, simd: V::Simd, at: usize, acc: *mut V::Element) {
        let ChainRows { count, length, .. } = self.rows;
        let ahead = prefetches(self.links);
        let mut sums = [V::splat(simd, 0.into()); SHORT_BLOCKS];
        for k in 0..SHORT_BLOCKS {
            // SAFETY: guaranteed by the caller.
            sums[k] = unsafe { V::load(acc.add(k * V::LANES)) };
        }
        for row in 0..count {
            let spots =
                RowsBlock::<1, SHORT_BLOCKS>::at((row, at / V::LANES), (count, length), V::LANES);
            if ahead {
                prefetch_later::<V, _, SHORT_BLOCKS>(self.links, &spots);
            }
            let mut values = [V::splat(simd, 0.into()); SHORT_BLOCKS];
            for link in self.links {
                // SAFETY: operands have these elements in each row, or one.
                values = unsafe {
                    linked::<V, _, SHORT_BLOCKS, false>(simd, link, (&spots, V::LANES), values)
                };
            }
            for k in 0..SHORT_BLOCKS {
                sums[k] = match self.fold {
                    ChainFold::Add => sums[k].add(values[k]),
                    ChainFold::Max => sums[k].max_nan(values[k]),
                    ChainFold::Min => sums[k].min_nan(values[k]),
                };
            }
        }
        for k in 0..SHORT_BLOCKS {
            // SAFETY: guaranteed by the caller.
            unsafe { sums[k].store(acc.add(k * V::LANES)) };
        }
    }
}
