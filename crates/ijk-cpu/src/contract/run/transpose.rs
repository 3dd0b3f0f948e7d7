//! Packing of rows whose steps are contiguous: blocks of both are transposed in registers.

use crate::contract::run::pack_job::PackJob;
use crate::contract::select::k_blocks::Segment;
use ijk_kernels::contraction::word::ElementWord;
use ijk_kernels::lines::prefetch;
use ijk_kernels::simd::Vector;
use ijk_kernels::simd::{Float, Simd};
use ijk_kernels::tuning::time::PACK_PREFETCH_BLOCKS;
use std::ops::Range;

impl<W: ElementWord> PackJob<'_, W> {
    /// Transposes contiguous steps, as many rows at a time as a vector has lanes.
    #[inline(always)]
    pub(crate) unsafe fn transpose<S: Simd>(&self, simd: S, segments: &[Segment]) {
        // SAFETY: vectors of floats move words of their size as they are; the caller guarantees the rest.
        unsafe {
            match size_of::<W>() {
                4 => self.transpose_groups(S::F32::splat(simd, 0.0), segments),
                8 => self.transpose_groups(S::F64::splat(simd, 0.0), segments),
                _ => segments.iter().for_each(|segment| self.copy_segment(segment)),
            }
        }
    }

    #[inline(always)]
    unsafe fn transpose_groups<V: Float>(&self, zero: V, segments: &[Segment]) {
        for group in self.rows.chunks(V::LANES).zip(0..) {
            for (n, segment) in segments.iter().enumerate() {
                let later = segments.get(n + PACK_PREFETCH_BLOCKS).map(|s| self.steps[s.step(0)]);
                // SAFETY: guaranteed by the caller.
                unsafe {
                    match 2 * self.width == V::LANES {
                        true => self.transpose_segment::<V, true>(zero, group, segment, later),
                        false => self.transpose_segment::<V, false>(zero, group, segment, later),
                    }
                }
            }
        }
    }

    /// Transposes blocks of one vector of steps, and prefetches the same rows at the step `later`. With `PAIRS`, a
    /// panel is half a vector wide.
    #[inline(always)]
    unsafe fn transpose_segment<V: Float, const PAIRS: bool>(
        &self,
        zero: V,
        (rows, group): (&[isize], usize),
        segment: &Segment,
        later: Option<isize>,
    ) {
        let height = if PAIRS { V::LANES / 2 } else { V::LANES };
        for start in (0..segment.count).step_by(V::LANES) {
            let steps = start..(start + V::LANES).min(segment.count);
            let here = self.base.wrapping_offset(self.steps[segment.step(start)]);
            let next = match later {
                Some(step) if segment.count <= 2 * V::LANES => {
                    self.base.wrapping_offset(step + start as isize)
                }
                _ => here.wrapping_add(PACK_PREFETCH_BLOCKS * V::LANES),
            };
            rows.iter().for_each(|&offset| prefetch(next.wrapping_offset(offset).cast()));
            // SAFETY: these steps of the rows are readable; the panel has room for them.
            unsafe {
                let whole = rows.len() == height && steps.len() == V::LANES;
                if PAIRS && whole && segment.distance == 1 {
                    let to = self.panel.wrapping_add(segment.step(start) * self.width);
                    self.pairs(zero, here, rows, to.cast());
                    continue;
                }
                let block = self.block(zero, here, rows, steps.len(), height);
                if PAIRS {
                    self.put_pairs(&transposed(block, height), segment, steps);
                } else {
                    for (step, column) in steps.zip(transposed(block, height)) {
                        self.put(column, segment, step, group, rows.len());
                    }
                }
            }
        }
    }

    /// Transposes a whole block of half as many rows as a vector has lanes, in registers only.
    ///
    /// # Safety
    /// `rows` has half as many rows as lanes, each readable for one vector of steps from `here` on; `to` has room for
    /// all.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "the length must be known")]
    unsafe fn pairs<V: Float>(&self, zero: V, here: *const W, rows: &[isize], to: *mut V::Element) {
        let half = V::LANES / 2;
        let mut block = [zero; MAX_LANES];
        // SAFETY: guaranteed by the caller.
        unsafe {
            for n in 0..MAX_LANES {
                if n < half {
                    block[n] = V::load(here.wrapping_offset(*rows.get_unchecked(n)).cast());
                }
            }
            let block = transposed(block, half);
            for n in 0..MAX_LANES {
                if n < half {
                    block[n].store(to.add(n * V::LANES));
                }
            }
        }
    }

    /// Loads the first `count` elements of each of at most `height` rows; missing elements are 0.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "the length must be known")]
    unsafe fn block<V: Float>(
        &self,
        zero: V,
        here: *const W,
        rows: &[isize],
        count: usize,
        height: usize,
    ) -> [V; MAX_LANES] {
        let from = |offset: isize| here.wrapping_offset(offset).cast::<V::Element>();
        let mut block = [zero; MAX_LANES];
        // Whole blocks are loops of constant length, which the compiler keeps in registers.
        if rows.len() == height && count == V::LANES {
            for n in 0..MAX_LANES {
                if n < height {
                    // SAFETY: guaranteed by the caller.
                    block[n] = unsafe { V::load(from(rows[n])) };
                }
            }
            return block;
        }
        for (row, &offset) in block.iter_mut().zip(rows) {
            // SAFETY: guaranteed by the caller.
            *row = unsafe { V::load_partial(from(offset), count) };
        }
        block
    }

    /// Writes steps of a segment, two in each vector.
    #[inline(always)]
    unsafe fn put_pairs<V: Float>(&self, pairs: &[V], segment: &Segment, steps: Range<usize>) {
        let place =
            |step| self.panel.cast::<V::Element>().wrapping_add(segment.step(step) * self.width);
        for (step, &pair) in steps.clone().step_by(2).zip(pairs) {
            let both = step + 1 < steps.end;
            // SAFETY: the panel has room for the steps.
            unsafe {
                if both && segment.distance == 1 {
                    pair.store(place(step));
                    continue;
                }
                pair.store_partial(place(step), self.width);
                if both {
                    let mut lanes = std::mem::MaybeUninit::<[V::Element; MAX_LANES]>::uninit();
                    let lanes = lanes.as_mut_ptr().cast::<V::Element>();
                    pair.store(lanes);
                    let second = V::load_partial(lanes.add(self.width), self.width);
                    second.store_partial(place(step + 1), self.width);
                }
            }
        }
    }

    /// Writes `rows` elements of a step to group `n` of its rows.
    #[inline(always)]
    unsafe fn put<V: Float>(&self, column: V, segment: &Segment, k: usize, n: usize, rows: usize) {
        let at = segment.step(k) * self.width + n * V::LANES;
        // A whole vector may overwrite the next step if that is written later.
        let last = at + V::LANES > self.steps.len() * self.width;
        let over = n == 0 && !last && segment.distance == 1;
        let to = self.panel.cast::<V::Element>().wrapping_add(at);
        // SAFETY: the panel has room for the step.
        unsafe {
            match rows == V::LANES || over {
                true => column.store(to),
                false => column.store_partial(to, rows),
            }
        }
    }

    /// Copies the steps of a segment, a few at a time for each row.
    #[inline(always)]
    unsafe fn copy_segment(&self, segment: &Segment) {
        for start in (0..segment.count).step_by(16) {
            let first = self.steps[segment.step(start)];
            for (r, &row) in self.rows.iter().enumerate() {
                for k in 0..(segment.count - start).min(16) {
                    // SAFETY: the row is readable at every step; the panel has room for them.
                    unsafe {
                        let to = self.panel.add(segment.step(start + k) * self.width + r);
                        to.write(self.base.offset(row + first).add(k).read());
                    }
                }
            }
        }
    }
}

/// Lanes of the longest vector of floats.
const MAX_LANES: usize = 16;

/// Transposes the block in the first `rows` vectors, a power of two: each round interleaves its halves. With fewer rows
/// than lanes, a vector holds several columns, one after another.
#[inline(always)]
fn transposed<V: Float>(mut block: [V; MAX_LANES], rows: usize) -> [V; MAX_LANES] {
    let half = rows / 2;
    for _ in 0..rows.ilog2() {
        let mut next = block;
        for n in 0..half {
            (next[2 * n], next[2 * n + 1]) = block[n].interleave(block[n + half]);
        }
        block = next;
    }
    block
}
