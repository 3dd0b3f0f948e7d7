//! Packing from a tensor, through offsets, to panels whose rows are contiguous at each step.
//!
//! A panel has, for each step of k, `width` elements of the rows: `panel[k * width + row]`.

use super::bundle::{Bundle, Operand};
use super::steps::Segment;
use crate::lines::{copy, piece, prefetch, prefetch_all_far};
use crate::simd::{Float, Kernel, Level, Simd, Vector};
use crate::tuning::order::SHORT_RUN;
use crate::tuning::time::{PACK_PREFETCH_BLOCKS, PACK_PREFETCH_STEPS};
use std::ops::Range;

/// A word of the size of an element, moved without interpretation.
pub(crate) trait Word: Copy {
    /// All bits 0.
    const ZERO: Self;
}

impl Word for u8 {
    const ZERO: Self = 0;
}
impl Word for u32 {
    const ZERO: Self = 0;
}
impl Word for u64 {
    const ZERO: Self = 0;
}
impl Word for [u64; 2] {
    const ZERO: Self = [0; 2];
}

/// Source of packing: the rows of a bundle at some steps of k.
pub(crate) struct PackSource<'a, W> {
    /// The element at the origin.
    pub(crate) base: *const W,
    /// The packed tensor.
    pub(crate) operand: Operand,
    /// The bundle of the rows.
    pub(crate) bundle: &'a Bundle,
    /// Offset of each step.
    pub(crate) steps: &'a [isize],
    /// Contiguous steps.
    pub(crate) segments: &'a [Segment],
}

impl<W: Word> PackSource<'_, W> {
    /// Packs the rows from `start` on, with offsets `rows`, to a panel of `width` rows; missing rows are filled with 0.
    ///
    /// # Safety
    /// Every element of those rows and steps is readable; the panel has room for
    /// `steps.len() * width` elements; `rows.len() <= width`.
    pub(crate) unsafe fn pack(
        &self,
        level: Level,
        start: usize,
        rows: &[isize],
        panel: *mut W,
        width: usize,
    ) {
        if self.steps.is_empty() {
            return;
        }
        let run = RowRuns::at(self.bundle.run(self.operand), start);
        let (length, apart) = self.bundle.inner(self.operand);
        let inner = RowRuns::at(length, start);
        let job = PackJob { base: self.base, rows, steps: self.steps, panel, width };
        level.run(PackKernel { job, run, inner, apart, segments: self.segments });
    }
}

struct PackJob<'a, W> {
    base: *const W,
    rows: &'a [isize],
    steps: &'a [isize],
    panel: *mut W,
    width: usize,
}

struct PackKernel<'a, W> {
    job: PackJob<'a, W>,
    /// Contiguous rows.
    run: RowRuns,
    /// Rows that are `apart` elements apart.
    inner: RowRuns,
    apart: isize,
    segments: &'a [Segment],
}

impl<W> PackKernel<'_, W> {
    /// Number of steps between a row and the next, if rows are nested directly around contiguous steps.
    fn cells(&self) -> Option<usize> {
        let count = self.segments.first()?.count;
        let all = self.apart == count as isize && self.segments.iter().all(|s| s.count == count);
        (all && self.inner.length >= 2 * SHORT_RUN).then_some(count)
    }
}

/// Runs of rows with equal layout.
#[derive(Clone, Copy)]
struct RowRuns {
    length: usize,
    /// Length of the first run.
    first: usize,
}

impl RowRuns {
    /// Runs of `length` rows, from the row `start` on.
    fn at(length: usize, start: usize) -> Self {
        Self { length, first: length - start % length }
    }

    /// Ranges of the runs among `rows` rows. An iterator for loops, since a closure that is called may be compiled
    /// without the instructions of the level.
    #[inline(always)]
    fn ranges(self, rows: usize) -> impl Iterator<Item = Range<usize>> {
        let (mut start, mut end) = (0, self.first.min(rows));
        std::iter::from_fn(move || {
            let range = (start < end).then_some(start..end);
            (start, end) = (end, (end + self.length).min(rows));
            range
        })
    }
}

impl<W: Word> Kernel for PackKernel<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let job = &self.job;
        // SAFETY: only `PackSource::pack` constructs this, and its caller guarantees the contract; the runs are those of
        // the bundle.
        unsafe {
            let words = size_of::<W>() == 4;
            if self.run.length >= SHORT_RUN.min(job.rows.len()) {
                job.copy_runs(self.run);
            } else if let (true, Some(count @ (2 | 4 | 8))) = (words, self.cells()) {
                let zero = S::F32::splat(simd, 0.0);
                match count {
                    2 => job.copy_cells::<_, 2>(zero, self.inner, self.segments),
                    4 => job.copy_cells::<_, 4>(zero, self.inner, self.segments),
                    _ => job.copy_cells::<_, 8>(zero, self.inner, self.segments),
                }
            } else if words && self.apart == 2 && self.inner.length >= 2 * SHORT_RUN {
                job.copy_every_other::<S::F32>(self.inner);
            } else if self.segments.is_empty() {
                job.gather();
            } else {
                job.transpose(simd, self.segments);
            }
            job.clear_rest();
        }
    }
}

impl<W: Word> PackJob<'_, W> {
    /// Copies contiguous rows, run by run.
    #[inline(always)]
    unsafe fn copy_runs(&self, run: RowRuns) {
        for range in run.ranges(self.rows.len()) {
            let panel = self.panel.wrapping_add(range.start);
            let part = PackJob { rows: &self.rows[range], panel, ..*self };
            // SAFETY: these rows are contiguous.
            unsafe { part.copy_rows() };
        }
    }

    /// Packs rows of stride 2: reads all elements and keeps every other one.
    #[inline(always)]
    unsafe fn copy_every_other<V: Float>(&self, run: RowRuns) {
        for range in run.ranges(self.rows.len()) {
            for at in range.clone().step_by(V::LANES) {
                let count = (range.end - at).min(V::LANES);
                for (k, &step) in self.steps.iter().enumerate() {
                    // SAFETY: from the first of these rows to the last are elements; vectors of floats
                    // move words of their size as they are; the panel has room for the step.
                    unsafe {
                        let from = self.base.offset(self.rows[at] + step).cast();
                        self.put_rows(every_other::<V>(from, count), k, at, count);
                    }
                }
            }
        }
    }

    /// Writes a step of `count` rows from the row `at` on.
    #[inline(always)]
    unsafe fn put_rows<V: Float>(&self, rows: V, k: usize, at: usize, count: usize) {
        // SAFETY: the panel has room for the step.
        unsafe {
            let to = self.panel.add(k * self.width + at).cast();
            if count == V::LANES { rows.store(to) } else { rows.store_partial(to, count) }
        }
    }

    /// Packs rows whose stride is the `N` steps of each segment: reads all elements and deinterleaves them.
    #[inline(always)]
    unsafe fn copy_cells<V: Float, const N: usize>(
        &self,
        zero: V,
        run: RowRuns,
        segments: &[Segment],
    ) {
        for range in run.ranges(self.rows.len()) {
            for at in range.clone().step_by(V::LANES) {
                let count = (range.end - at).min(V::LANES);
                for segment in segments {
                    let from =
                        self.base.wrapping_offset(self.rows[at] + self.steps[segment.step(0)]);
                    // SAFETY: from the first step of the first of these rows on, the steps of all of them
                    // are contiguous; vectors of floats move words of their size as they are; the panel has
                    // room for the steps.
                    unsafe {
                        let columns = sorted(cells::<V, N>(zero, from.cast(), count));
                        for (n, column) in columns.into_iter().enumerate() {
                            self.put_rows(column, segment.step(n), at, count);
                        }
                    }
                }
            }
        }
    }

    /// Copies contiguous rows step by step.
    #[inline(always)]
    unsafe fn copy_rows(&self) {
        macro_rules! sizes {
            ($($n:literal),*) => {
                match self.rows.len() {
                    // SAFETY: the arm's number is the number of rows.
                    $($n => unsafe { self.copy_array::<$n>() },)*
                    // SAFETY: guaranteed by the caller.
                    _ => unsafe { self.copy_any() },
                }
            };
        }
        sizes!(2, 4, 6, 8, 12, 16, 32, 48, 64);
    }

    #[inline(always)]
    unsafe fn copy_array<const N: usize>(&self) {
        const { assert!(N <= 16 || N.is_multiple_of(16)) };
        for (k, &step) in self.steps.iter().enumerate() {
            // SAFETY: the source of a step is readable; the panel has room for the step.
            unsafe {
                let from = self.base.offset(self.rows[0] + step);
                let to = self.panel.add(k * self.width);
                // A copy of several lines at once would be compiled to a call of memcpy.
                match N {
                    ..=16 => piece::<W, N>(from, to),
                    _ => (0..N).step_by(16).for_each(|at| piece::<W, 16>(from.add(at), to.add(at))),
                }
            }
            self.prefetch(k + PACK_PREFETCH_STEPS, N);
        }
    }

    #[inline(always)]
    unsafe fn copy_any(&self) {
        let rows = self.rows.len();
        for (k, &step) in self.steps.iter().enumerate() {
            // SAFETY: the source of a step is readable; the panel has room for the step.
            unsafe {
                let from = self.base.offset(self.rows[0] + step);
                copy(from, self.panel.add(k * self.width), rows);
            }
            self.prefetch(k + PACK_PREFETCH_STEPS, rows);
        }
    }

    /// Prefetches the lines of a later step.
    #[inline(always)]
    fn prefetch(&self, step: usize, rows: usize) {
        if let Some(&step) = self.steps.get(step) {
            let from = self.base.wrapping_offset(self.rows[0] + step).cast::<u8>();
            prefetch_all_far(from, rows * size_of::<W>());
        }
    }

    /// Transposes contiguous steps, as many rows at a time as a vector has lanes.
    #[inline(always)]
    unsafe fn transpose<S: Simd>(&self, simd: S, segments: &[Segment]) {
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

    #[inline(always)]
    unsafe fn gather(&self) {
        for (k, &step) in self.steps.iter().enumerate() {
            for (r, &row) in self.rows.iter().enumerate() {
                // SAFETY: the element is readable; the panel has room for the step.
                unsafe {
                    let from = self.base.offset(row + step);
                    self.panel.add(k * self.width + r).write(from.read());
                }
            }
        }
    }

    /// Fills missing rows with 0.
    #[inline(always)]
    unsafe fn clear_rest(&self) {
        if self.rows.len() < self.width {
            for k in 0..self.steps.len() {
                for r in self.rows.len()..self.width {
                    // SAFETY: the panel has room for the step.
                    unsafe { self.panel.add(k * self.width + r).write(W::ZERO) };
                }
            }
        }
    }
}

/// Loads `count` > 0 elements of stride 2.
///
/// # Safety
/// All elements from the first to the last are readable.
#[inline(always)]
unsafe fn every_other<V: Float>(from: *const V::Element, count: usize) -> V {
    let all = 2 * count - 1;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let low = if all >= V::LANES { V::load(from) } else { V::load_partial(from, all) };
        let rest = all.saturating_sub(V::LANES);
        low.deinterleave(V::load_partial(from.wrapping_add(V::LANES), rest)).0
    }
}

/// Loads `N` elements of each of `count` contiguous rows.
///
/// # Safety
/// `N * count` elements are readable at `from`.
#[inline(always)]
unsafe fn cells<V: Float, const N: usize>(
    zero: V,
    from: *const V::Element,
    count: usize,
) -> [V; N] {
    let mut block = [zero; N];
    for (n, vector) in block.iter_mut().enumerate() {
        let at = from.wrapping_add(n * V::LANES);
        // SAFETY: guaranteed by the caller.
        *vector = unsafe {
            match count == V::LANES {
                true => V::load(at),
                false => {
                    V::load_partial(at, (count * N).saturating_sub(n * V::LANES).min(V::LANES))
                }
            }
        };
    }
    block
}

/// Deinterleaves rows of `N` elements into their `N` columns: each round sorts by one bit of the column.
#[inline(always)]
fn sorted<V: Float, const N: usize>(mut block: [V; N]) -> [V; N] {
    for _ in 0..N.ilog2() {
        let mut next = block;
        for n in 0..N / 2 {
            (next[n], next[n + N / 2]) = block[2 * n].deinterleave(block[2 * n + 1]);
        }
        block = next;
    }
    block
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
