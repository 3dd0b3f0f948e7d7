//! Packing from a tensor, through offsets, to panels whose rows are contiguous at each step.
//!
//! A panel has, for each step of k, `width` elements of the rows: `panel[k * width + row]`.

use crate::Level;
use crate::contract::canonical::bundle::{Bundle, TensorId};
use crate::contract::run::pack_job::PackJob;
use crate::contract::select::k_blocks::Segment;
use ijk_kernels::contraction::word::ElementWord;
use ijk_kernels::lines::{copy, piece, prefetch_all_far};
use ijk_kernels::simd::Vector;
use ijk_kernels::simd::{Float, Kernel, Simd};
use ijk_kernels::tuning::order::SHORT_RUN;
use ijk_kernels::tuning::time::PACK_PREFETCH_STEPS;
use std::ops::Range;

/// Source of packing: the rows of a bundle at some steps of k.
pub(crate) struct PackSource<'a, W> {
    /// The element at the origin.
    pub(crate) base: *const W,
    /// The packed tensor.
    pub(crate) operand: TensorId,
    /// The bundle of the rows.
    pub(crate) bundle: &'a Bundle,
    /// Offset of each step.
    pub(crate) steps: &'a [isize],
    /// Contiguous steps.
    pub(crate) segments: &'a [Segment],
}

impl<W: ElementWord> PackSource<'_, W> {
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
        let (length, row_stride) = self.bundle.inner(self.operand);
        let inner = RowRuns::at(length, start);
        let job = PackJob { base: self.base, rows, steps: self.steps, panel, width };
        level.run(PackKernel { job, run, inner, row_stride, segments: self.segments });
    }
}

struct PackKernel<'a, W> {
    job: PackJob<'a, W>,
    /// Contiguous rows.
    run: RowRuns,
    /// Rows that are `row_stride` elements row_stride.
    inner: RowRuns,
    row_stride: isize,
    segments: &'a [Segment],
}

impl<W> PackKernel<'_, W> {
    /// Number of steps between a row and the next, if rows are nested directly around contiguous steps.
    fn cells(&self) -> Option<usize> {
        let count = self.segments.first()?.count;
        let all =
            self.row_stride == count as isize && self.segments.iter().all(|s| s.count == count);
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

impl<W: ElementWord> Kernel for PackKernel<'_, W> {
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
            } else if words && self.row_stride == 2 && self.inner.length >= 2 * SHORT_RUN {
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

impl<W: ElementWord> PackJob<'_, W> {
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
