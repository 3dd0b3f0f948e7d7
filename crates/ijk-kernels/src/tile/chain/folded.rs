//! Values of chains folded into accumulators: rows of a tile pass a block of accumulators in registers.

use super::fetch::Value;
use super::functions::linked;
use super::spots::RowsBlock;
use super::{ChainRows, Link, SHORT_BLOCKS, chains, prefetch_later, prefetches, vector_bytes};
use crate::simd::{Kernel, Level, Simd, Vector};
use crate::tuning::order::FOLD_STRIP_BYTES;
use ijk_types::{DType, Monoid};

/// Combination of accumulators with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainFold {
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

/// Destination of the values of a chain that are folded.
#[derive(Clone, Copy, Debug)]
pub enum FoldTo {
    /// One row of accumulators: `acc[k] = acc[k] op value[r][k]` for each row `r` in turn.
    Down(*mut u8),
    /// For each row, [`folded_length`] elements, whose fold along the row is that of the row's values: lanes that combine
    /// those of whole strips, and the values after them.
    Along(*mut u8),
}

/// Returns true if chains of elements of type `t` are folded in rows of `length` elements.
pub fn folds_chain(level: Level, t: DType, length: usize) -> bool {
    chains(t, level) && length >= block_length(level, t)
}

/// Elements that a row of `length` values is folded to along it.
pub fn folded_length(level: Level, t: DType, length: usize) -> usize {
    FOLD_STRIP_BYTES / t.size() + length % block_length(level, t)
}

/// Elements of a block of vectors.
fn block_length(level: Level, t: DType) -> usize {
    SHORT_BLOCKS * vector_bytes(level) / t.size()
}

/// Folds rows of the values of a chain.
///
/// # Safety
/// As for [`chain`](super::chain), with the elements of [`FoldTo`] as destination; [`folds_chain`] holds for the rows.
pub unsafe fn fold_chain(
    level: Level,
    t: DType,
    rows: ChainRows,
    (to, fold): (FoldTo, ChainFold),
    links: &[Link],
) {
    let folding = Folding { rows, to, fold, links };
    match t {
        DType::F64 => level.run(DoubleFold(folding)),
        _ => level.run(SingleFold(folding)),
    }
}

struct Folding<'a> {
    rows: ChainRows,
    to: FoldTo,
    fold: ChainFold,
    links: &'a [Link],
}

struct SingleFold<'a>(Folding<'a>);
struct DoubleFold<'a>(Folding<'a>);

impl Kernel for SingleFold<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // SAFETY: guaranteed by the caller of `fold_chain`, which constructs it.
        unsafe { self.0.run::<S, S::F32>(simd) }
    }
}

impl Kernel for DoubleFold<'_> {
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
    /// Folds block by block: down a block of accumulators all rows, or along a row all blocks. The last block overlaps
    /// its predecessor to be full, and only its new values count.
    ///
    /// # Safety
    /// As for [`fold_chain`], for elements of the vector's type.
    #[inline(always)]
    unsafe fn run<S: Simd, V: Value + Vector<Simd = S>>(self, simd: S) {
        const { assert!(SHORT_BLOCKS * V::LANES <= MOST) };
        if !S::FUSED {
            return;
        }
        let ChainRows { count, length: n, .. } = self.rows;
        let block = SHORT_BLOCKS * V::LANES;
        let (blocks, ahead) = (n.div_ceil(block), prefetches(self.links));
        let (along, first) = match self.to {
            FoldTo::Down(first) => (false, first.cast::<V::Element>()),
            FoldTo::Along(first) => (true, first.cast::<V::Element>()),
        };
        let strip = FOLD_STRIP_BYTES / size_of::<V::Element>();
        let (outer, inner) = if along { (count, blocks) } else { (blocks, count) };
        let zero = V::splat(simd, 0.into());
        for group in 0..outer {
            let mut sums = [zero; SHORT_BLOCKS];
            let at = (group * block).min(n - block);
            let folded = first.wrapping_add(group * (strip + n % block));
            if !along {
                // SAFETY: guaranteed by the caller: a block of accumulators.
                sums = unsafe { loaded(first.wrapping_add(at), sums) };
            }
            for step in 0..inner {
                let place = if along { (group, step) } else { (step, group) };
                // SAFETY: guaranteed by the caller.
                let values = unsafe { self.values::<V>(simd, place, ahead) };
                match along {
                    false => sums = self.down(sums, values),
                    true if (step + 1) * block <= n => sums = self.along(step == 0, sums, values),
                    // SAFETY: guaranteed by the caller: there is room after the strip for new values.
                    true => unsafe { store_last(values, n % block, folded.wrapping_add(strip)) },
                }
            }
            // SAFETY: guaranteed by the caller: these are accumulators, or a strip.
            unsafe {
                match along {
                    true => {
                        for (k, lanes) in sums.iter().enumerate().take(strip / V::LANES) {
                            lanes.store(folded.add(k * V::LANES));
                        }
                    }
                    false if (group + 1) * block <= n => stored(sums, first.add(at)),
                    false => store_last(sums, n % block, first.add(group * block)),
                }
            }
        }
    }

    /// The values of a block of a row.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    #[inline(always)]
    unsafe fn values<V: Value>(
        &self,
        simd: V::Simd,
        (row, block): (usize, usize),
        ahead: bool,
    ) -> [V; SHORT_BLOCKS] {
        let ChainRows { count, length, .. } = self.rows;
        let place = (row, block * SHORT_BLOCKS);
        let spots = RowsBlock::<1, SHORT_BLOCKS>::at(place, (count, length), V::LANES);
        if ahead {
            prefetch_later::<V, _, SHORT_BLOCKS>(self.links, &spots);
        }
        let mut values = [V::splat(simd, 0.into()); SHORT_BLOCKS];
        for link in self.links {
            // SAFETY: guaranteed by the caller: operands have these elements in each row, or one.
            values = unsafe {
                linked::<V, _, SHORT_BLOCKS, false>(simd, link, (&spots, V::LANES), values)
            };
        }
        values
    }

    #[inline(always)]
    fn down<V: Value>(
        &self,
        mut sums: [V; SHORT_BLOCKS],
        values: [V; SHORT_BLOCKS],
    ) -> [V; SHORT_BLOCKS] {
        for (sum, &value) in sums.iter_mut().zip(&values) {
            *sum = self.both(*sum, value);
        }
        sums
    }

    /// Lanes of a strip combined with the values of a block, or those of the first strip themselves if `first`.
    #[inline(always)]
    fn along<V: Value>(
        &self,
        first: bool,
        mut sums: [V; SHORT_BLOCKS],
        values: [V; SHORT_BLOCKS],
    ) -> [V; SHORT_BLOCKS] {
        let vectors = FOLD_STRIP_BYTES / (V::LANES * size_of::<V::Element>());
        for (k, &value) in values.iter().enumerate() {
            let lane = k % vectors;
            sums[lane] = match first && k < vectors {
                true => value,
                false => self.both(sums[lane], value),
            };
        }
        sums
    }

    #[inline(always)]
    fn both<V: Value>(&self, sum: V, value: V) -> V {
        match self.fold {
            ChainFold::Add => sum.add(value),
            ChainFold::Max => sum.max_nan(value),
            ChainFold::Min => sum.min_nan(value),
        }
    }
}

/// Loads a block.
///
/// # Safety
/// `from` has its elements.
#[inline(always)]
unsafe fn loaded<V: Value>(
    from: *const V::Element,
    mut block: [V; SHORT_BLOCKS],
) -> [V; SHORT_BLOCKS] {
    for (k, vector) in block.iter_mut().enumerate() {
        // SAFETY: guaranteed by the caller.
        *vector = unsafe { V::load(from.add(k * V::LANES)) };
    }
    block
}

/// Stores a block.
///
/// # Safety
/// `to` has room for its elements.
#[inline(always)]
unsafe fn stored<V: Value>(block: [V; SHORT_BLOCKS], to: *mut V::Element) {
    for (k, vector) in block.iter().enumerate() {
        // SAFETY: guaranteed by the caller.
        unsafe { vector.store(to.add(k * V::LANES)) };
    }
}

/// Stores the last `count` elements of a block.
///
/// # Safety
/// `to` has room for them, of which a block has as many.
#[inline(always)]
unsafe fn store_last<V: Value>(block: [V; SHORT_BLOCKS], count: usize, to: *mut V::Element) {
    let mut all = [V::Element::from(0); MOST];
    // SAFETY: the array has room for a block; the caller guarantees the rest.
    unsafe {
        stored(block, all.as_mut_ptr());
        let from = all.as_ptr().add(SHORT_BLOCKS * V::LANES - count);
        std::ptr::copy_nonoverlapping(from, to, count);
    }
}
