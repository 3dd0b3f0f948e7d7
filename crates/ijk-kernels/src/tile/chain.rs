//! Chains of cheap functions: each element passes all of them in registers.
//!
//! Separate loops over a tile load and store L1 for each function, which takes longer than the arithmetic. Here several
//! vectors of a tile are processed by the whole chain, and each link is dispatched once for all of them.

mod fetch;
mod folded;
mod functions;
mod link;
mod spots;
#[cfg(test)]
mod tests;

use crate::lines::LINE;
use crate::simd::{Kernel, Level, Simd, Vector};
use fetch::Value;
use functions::linked;
use ijk_types::DType;
use spots::{InRow, RowsBlock, Spots};

pub use folded::{ChainFold, FoldTo, fold_chain, folded_length, folds_chain};
pub use link::{Compare, Link, LinkCode, LinkOp};

/// Vectors of a block of a long row, of which processors with half of the registers take half; and of a block of short
/// rows: of a row of as many at least, or of several rows,
const LONG_BLOCKS: usize = 16;
const SHORT_BLOCKS: usize = 8;

/// in each of which it has this number of vectors, or one.
const SHORT_ROW: usize = 4;

/// Returns true for element types with compiled chains.
pub fn chains(t: DType, level: Level) -> bool {
    // NEON's instruction differs in the sign of zeros; the portable level has too few registers.
    matches!(t, DType::F32 | DType::F64) && matches!(level.name(), "avx2" | "avx512")
}

/// Destination of the values of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Destination {
    pub first: *mut u8,
    /// Non-temporal stores, if the address is aligned to lines and the level [`streams`].
    pub stream: bool,
}

/// Returns true for levels whose chains support non-temporal stores.
pub fn streams(level: Level) -> bool {
    level.name() == "avx512"
}

/// Bytes of a vector of a level that has chains.
fn vector_bytes(level: Level) -> usize {
    if streams(level) { 64 } else { 32 }
}

/// Rows of values: their number, the elements of each, and the bytes from one to the next in the destination.
#[derive(Clone, Copy, Debug)]
pub struct ChainRows {
    pub count: usize,
    pub length: usize,
    pub step: isize,
}

impl ChainRows {
    /// A single row.
    pub fn one(length: usize) -> Self {
        Self { count: 1, length, step: 0 }
    }
}

/// Computes the chain `links` for rows of elements of type `t` into a destination. The operands of links may be
/// advanced to a later row.
///
/// # Safety
/// `to` has room for the rows, which overlap no operand; operands have as many rows, with a row's elements or one if
/// broadcast; those of stores may be written, and links read them only later; a start is the first link or follows a
/// store; [`chains`] holds for the type. Streaming stores need a
/// [`fence`](crate::lines::fence) before other threads read.
pub unsafe fn chain(level: Level, t: DType, rows: ChainRows, to: Destination, links: &mut [Link]) {
    let chain = AllRows { rows, to, links };
    let long = rows.length * t.size() >= LONG_BLOCKS * vector_bytes(level);
    match (t, long) {
        (DType::F64, true) => level.run(Double::<true>(chain)),
        (DType::F64, false) => level.run(Double::<false>(chain)),
        (_, true) => level.run(Single::<true>(chain)),
        (_, false) => level.run(Single::<false>(chain)),
    }
}

struct AllRows<'a> {
    rows: ChainRows,
    to: Destination,
    links: &'a mut [Link],
}

/// Rows of at least `LONG_BLOCKS` vectors if `LONG`: each length has a function of its own, which has all registers.
struct Single<'a, const LONG: bool>(AllRows<'a>);
struct Double<'a, const LONG: bool>(AllRows<'a>);

impl<const LONG: bool> Kernel for Single<'_, LONG> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // SAFETY: guaranteed by the caller of `chain`, which constructs it.
        unsafe { self.0.run_fused::<S, S::F32, LONG>(simd) }
    }
}

impl<const LONG: bool> Kernel for Double<'_, LONG> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // SAFETY: as in the kernel for `f32`.
        unsafe { self.0.run_fused::<S, S::F64, LONG>(simd) }
    }
}

impl AllRows<'_> {
    /// Executes at levels that [have chains](chains); the code of others is removed.
    ///
    /// # Safety
    /// As for [`chain`], for elements of the vector's type.
    #[inline(always)]
    unsafe fn run_fused<S: Simd, V: Value + Vector<Simd = S>, const LONG: bool>(self, simd: S) {
        if !S::FUSED {
            return;
        }
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.rows.length / V::LANES {
                _ if LONG => self.long::<V>(simd),
                0 => self.parts::<V>(simd),
                1..SHORT_ROW => self.short::<V, SHORT_BLOCKS, 1>(simd),
                // Others would repeat more vectors.
                n if n.is_multiple_of(SHORT_BLOCKS) => self.short::<V, 1, SHORT_BLOCKS>(simd),
                _ => self.short::<V, { SHORT_BLOCKS / SHORT_ROW }, SHORT_ROW>(simd),
            }
        }
    }

    /// Rows of at least `LONG_BLOCKS` vectors.
    ///
    /// # Safety
    /// As for [`chain`], for elements of the vector's type.
    #[inline(always)]
    unsafe fn long<V: Value>(self, simd: V::Simd) {
        let Self { rows, to, links } = self;
        let ahead = prefetches(links);
        for row in 0..rows.count {
            if row > 0 {
                for link in links.iter_mut() {
                    link.next_row();
                }
            }
            let dst = to.first.wrapping_offset(row as isize * rows.step);
            let stream = to.stream && dst.addr().is_multiple_of(LINE);
            // SAFETY: guaranteed by the caller; links are advanced to this row.
            unsafe { ChainRow { n: rows.length, dst, stream, links, ahead }.run::<V>(simd) };
        }
    }

    /// Rows of less than a vector.
    ///
    /// # Safety
    /// As for [`chain`], for elements of the vector's type.
    #[inline(always)]
    unsafe fn parts<V: Value>(self, simd: V::Simd) {
        let Self { rows, to, links } = self;
        let count = rows.length;
        for row in 0..rows.count {
            if row > 0 {
                for link in links.iter_mut() {
                    link.next_row();
                }
            }
            let mut values = [V::splat(simd, 0.into())];
            for link in &*links {
                // SAFETY: links are advanced to this row, which has these elements.
                values = unsafe {
                    linked::<V, _, 1, true>(simd, link, (InRow::<V>::from(0), count), values)
                };
            }
            let dst = to.first.wrapping_offset(row as isize * rows.step);
            // SAFETY: the destination has room for these elements.
            unsafe { values[0].store_partial(dst.cast(), count) };
        }
    }

    /// Rows of at least `C` vectors, in blocks of as many in each of `R` rows.
    ///
    /// # Safety
    /// As for [`chain`], for elements of the vector's type.
    #[inline(always)]
    unsafe fn short<V: Value, const R: usize, const C: usize>(self, simd: V::Simd) {
        let ChainRows { count, length, .. } = self.rows;
        let ahead = prefetches(self.links);
        for row in (0..count).step_by(R) {
            for column in (0..length.div_ceil(V::LANES)).step_by(C) {
                let block = RowsBlock::<R, C>::at((row, column), (count, length), V::LANES);
                if ahead {
                    prefetch_later::<V, _, SHORT_BLOCKS>(self.links, &block);
                }
                // SAFETY: guaranteed by the caller; the block's vectors are within the rows.
                unsafe { self.block::<V, _>(simd, &block) };
            }
        }
    }

    /// Vectors of several rows.
    ///
    /// # Safety
    /// As for [`chain`], for elements of the vector's type; the rows have these vectors.
    #[inline(always)]
    unsafe fn block<V: Value, S: Spots>(&self, simd: V::Simd, spots: S) {
        let mut values = [V::splat(simd, 0.into()); SHORT_BLOCKS];
        for link in &*self.links {
            // SAFETY: operands have these elements in each row, or one.
            values = unsafe {
                linked::<V, S, SHORT_BLOCKS, false>(simd, link, (spots, V::LANES), values)
            };
        }
        for (k, value) in values.into_iter().enumerate() {
            let dst = spots.place::<V::Element>(self.to.first, self.rows.step, k).cast_mut();
            // SAFETY: the destination has room for these elements.
            unsafe {
                match self.to.stream && dst.addr().is_multiple_of(LINE) {
                    true => value.stream(dst),
                    false => value.store(dst),
                }
            }
        }
    }
}

/// Returns true if operands are prefetched.
fn prefetches(links: &[Link]) -> bool {
    links.iter().any(|link| link.ahead > 0)
}

/// Prefetches what follows the vectors of operands: before all links, since a check in each takes as long as its
/// function.
#[inline(always)]
fn prefetch_later<V: Value, S: Spots, const K: usize>(links: &[Link], spots: S) {
    for link in links.iter().filter(|link| link.ahead > 0) {
        let operands = link.operands.into_iter().zip(link.rows).zip(link.code.ones);
        for (n, ((operand, step), one)) in operands.enumerate() {
            if !one && !operand.is_null() && !link.code.is_condition(n) {
                spots.prefetch::<V, K>(operand, step, link.ahead);
            }
        }
    }
}

/// A row of values.
#[derive(Clone, Copy)]
struct ChainRow<'a> {
    n: usize,
    dst: *mut u8,
    stream: bool,
    links: &'a [Link],
    /// True if operands are prefetched.
    ahead: bool,
}

impl ChainRow<'_> {
    /// # Safety
    /// As for [`chain`], for elements of the vector's type.
    #[inline(always)]
    unsafe fn run<V: Value>(self, simd: V::Simd) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            // Values take half of the registers; operands need a few.
            match V::Simd::REGISTERS {
                32.. => self.blocks::<V, LONG_BLOCKS>(simd),
                _ => self.blocks::<V, { LONG_BLOCKS / 2 }>(simd),
            }
        }
    }

    /// Processes blocks of `K` vectors. The last block overlaps its predecessor to be full: single vectors would
    /// dispatch each link once more.
    ///
    /// # Safety
    /// As for [`run`](Self::run); the row has a block's elements.
    #[inline(always)]
    unsafe fn blocks<V: Value, const K: usize>(self, simd: V::Simd) {
        let block = K * V::LANES;
        // SAFETY: each block has its elements within `n`.
        unsafe {
            let mut at = 0;
            while at + block <= self.n {
                self.vectors::<V, K>(simd, at);
                at += block;
            }
            if at < self.n {
                let last = Self { stream: false, ..self };
                last.vectors::<V, K>(simd, self.n - block);
            }
        }
    }

    /// Processes `K` vectors from an element on.
    ///
    /// # Safety
    /// As for [`run`](Self::run); these elements are within `n`.
    #[inline(always)]
    unsafe fn vectors<V: Value, const K: usize>(self, simd: V::Simd, at: usize) {
        let spots = InRow::<V>::from(at);
        if self.ahead {
            prefetch_later::<V, _, K>(self.links, spots);
        }
        let mut values = [V::splat(simd, 0.into()); K];
        for link in self.links {
            // SAFETY: operands have these elements, or one.
            values = unsafe { linked::<V, _, K, false>(simd, link, (spots, V::LANES), values) };
        }
        let dst = self.dst.cast::<V::Element>();
        for (k, value) in values.into_iter().enumerate() {
            // SAFETY: the destination has room for these elements.
            unsafe {
                match self.stream {
                    true => value.stream(dst.add(at + k * V::LANES)),
                    false => value.store(dst.add(at + k * V::LANES)),
                }
            }
        }
    }
}
