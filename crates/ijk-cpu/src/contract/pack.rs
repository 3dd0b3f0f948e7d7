//! Packing: from a tensor, through offsets, to panels whose groups of rows are contiguous.
//!
//! A panel holds, for each step of k, `width` elements of the rows: `panel[k * width + row]`.

use super::bundle::{Bundle, Operand};
use crate::simd::{Float, Kernel, Level, Simd, Vector};
use std::ops::Range;

/// Elements of one size, moved without looking at them.
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

/// What is packed: the rows of a bundle that panels are cut from, at some steps of k.
pub(crate) struct Source<'a, W> {
    /// The element at the origin.
    pub(crate) base: *const W,
    /// Which tensor.
    pub(crate) operand: Operand,
    /// The bundle of the rows.
    pub(crate) bundle: &'a Bundle,
    /// For each step, its offset.
    pub(crate) steps: &'a [isize],
    /// Whether all steps are neighbours, one after another.
    pub(crate) unit_steps: bool,
}

impl<W: Word> Source<'_, W> {
    /// Packs the rows from `start` on whose offsets are `rows` to a panel of `width` rows; rows
    /// that are missing become 0.
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
        let run = self.bundle.run(self.operand);
        let job = Job { base: self.base, rows, steps: self.steps, panel, width };
        level.run(Pack { job, run, left_of_run: run - start % run, unit_steps: self.unit_steps });
    }
}

struct Job<'a, W> {
    base: *const W,
    rows: &'a [isize],
    steps: &'a [isize],
    panel: *mut W,
    width: usize,
}

struct Pack<'a, W> {
    job: Job<'a, W>,
    /// How many rows are neighbours.
    run: usize,
    /// How many of the first ones are.
    left_of_run: usize,
    unit_steps: bool,
}

/// Rows of fewer neighbours are not worth a copy of their own.
const SHORT_RUN: usize = 4;

impl<W: Word> Kernel for Pack<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let job = &self.job;
        // SAFETY: `Source::pack` is the one place that makes this; its caller promised what
        // these ask, and the runs were looked up.
        unsafe {
            if self.run >= SHORT_RUN.min(job.rows.len()) {
                job.copy_runs(self.run, self.left_of_run);
            } else if self.unit_steps {
                job.transpose(simd);
            } else {
                job.gather(0..job.steps.len());
            }
            job.clear_rest();
        }
    }
}

/// How many steps ahead of a copy its source is fetched.
const AHEAD: usize = 8;

impl<W: Word> Job<'_, W> {
    /// Rows are neighbours, `run` at a time: copy them run by run.
    #[inline(always)]
    unsafe fn copy_runs(&self, run: usize, first: usize) {
        let (mut start, mut end) = (0, first.min(self.rows.len()));
        while start < end {
            let rows = &self.rows[start..end];
            let panel = self.panel.wrapping_add(start);
            let part = Job { base: self.base, rows, steps: self.steps, panel, width: self.width };
            // SAFETY: these rows are neighbours.
            unsafe { part.copy_rows() };
            (start, end) = (end, (end + run).min(self.rows.len()));
        }
    }

    /// Rows are neighbours: copy them step by step.
    #[inline(always)]
    unsafe fn copy_rows(&self) {
        macro_rules! sizes {
            ($($n:literal),*) => {
                match self.rows.len() {
                    // SAFETY: the arm's number is the number of rows.
                    $($n => unsafe { self.copy_array::<$n>() },)*
                    // SAFETY: the caller's promise.
                    _ => unsafe { self.copy_any() },
                }
            };
        }
        sizes!(2, 4, 6, 8, 12, 16, 32, 64, 128);
    }

    #[inline(always)]
    unsafe fn copy_array<const N: usize>(&self) {
        for (k, &step) in self.steps.iter().enumerate() {
            // SAFETY: the source of a step is readable; the panel has room for the step.
            unsafe {
                let from = self.base.offset(self.rows[0] + step).cast::<[W; N]>();
                let to = self.panel.add(k * self.width).cast::<[W; N]>();
                to.write_unaligned(from.read_unaligned());
            }
            self.prefetch(k + AHEAD, N);
        }
    }

    #[inline(always)]
    unsafe fn copy_any(&self) {
        let rows = self.rows.len();
        for (k, &step) in self.steps.iter().enumerate() {
            // SAFETY: the source of a step is readable; the panel has room for the step.
            unsafe {
                let from = self.base.offset(self.rows[0] + step);
                std::ptr::copy_nonoverlapping(from, self.panel.add(k * self.width), rows);
            }
        }
    }

    /// Asks for the lines of a later step.
    #[inline(always)]
    fn prefetch(&self, step: usize, rows: usize) {
        if let Some(&step) = self.steps.get(step) {
            let from = self.base.wrapping_offset(self.rows[0] + step).cast::<u8>();
            for line in 0..(rows * size_of::<W>()).div_ceil(64) {
                prefetch(from.wrapping_add(line * 64));
            }
        }
    }

    /// Steps are neighbours: read along them, a block of vectors at a time.
    #[inline(always)]
    unsafe fn transpose<S: Simd>(&self, simd: S) {
        // SAFETY: vectors of floats move words of their size as they are.
        let done = unsafe {
            match size_of::<W>() {
                4 => self.transpose_blocks(S::F32::splat(simd, 0.0)),
                8 => self.transpose_blocks(S::F64::splat(simd, 0.0)),
                _ => 0,
            }
        };
        for start in (done..self.steps.len()).step_by(16) {
            // SAFETY: the caller's promise.
            unsafe { self.copy_columns(start..(start + 16).min(self.steps.len())) };
        }
    }

    /// Transposes whole blocks of as many steps as a vector has lanes; gives how many steps that
    /// were.
    #[inline(always)]
    unsafe fn transpose_blocks<V: Float>(&self, zero: V) -> usize {
        let blocks = self.steps.len() / V::LANES;
        let base = self.base.cast::<V::Element>().wrapping_offset(self.steps[0]);
        let panel = self.panel.cast::<V::Element>();
        for start in (0..blocks).map(|n| n * V::LANES) {
            for (n, rows) in self.rows.chunks(V::LANES).enumerate() {
                let mut block = [zero; MAX_LANES];
                for (row, &offset) in block.iter_mut().zip(rows) {
                    // SAFETY: LANES steps of the row are readable.
                    *row = unsafe { V::load(base.offset(offset + start as isize)) };
                }
                let block = transposed(block);
                for (k, &column) in block.iter().enumerate().take(V::LANES) {
                    let at = (start + k) * self.width + n * V::LANES;
                    // A whole vector may run over into the next step, if that is written later.
                    let last = at + V::LANES > self.steps.len() * self.width;
                    // SAFETY: the panel has room for the step.
                    unsafe {
                        match rows.len() == V::LANES || n == 0 && !last {
                            true => column.store(panel.add(at)),
                            false => column.store_partial(panel.add(at), rows.len()),
                        }
                    }
                }
            }
        }
        blocks * V::LANES
    }

    /// Some neighbouring steps, row by row.
    #[inline(always)]
    unsafe fn copy_columns(&self, steps: Range<usize>) {
        let first = self.steps[steps.start];
        for (r, &row) in self.rows.iter().enumerate() {
            // SAFETY: the row is readable at every step; the panel has room for them.
            unsafe {
                let from = self.base.offset(row + first);
                let to = self.panel.add(steps.start * self.width + r);
                for k in 0..steps.len() {
                    to.add(k * self.width).write(from.add(k).read());
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn gather(&self, steps: Range<usize>) {
        for k in steps {
            for (r, &row) in self.rows.iter().enumerate() {
                // SAFETY: the element is readable; the panel has room for the step.
                unsafe {
                    let from = self.base.offset(row + self.steps[k]);
                    self.panel.add(k * self.width + r).write(from.read());
                }
            }
        }
    }

    /// Sets rows that are missing to 0.
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

/// Lanes of the longest vector of floats.
const MAX_LANES: usize = 16;

/// The transpose of the square block in the first `LANES` vectors: each round moves the halves
/// of the block one bit closer.
#[inline(always)]
fn transposed<V: Float>(mut block: [V; MAX_LANES]) -> [V; MAX_LANES] {
    let half = V::LANES / 2;
    for _ in 0..V::LANES.ilog2() {
        let mut next = block;
        for n in 0..half {
            (next[2 * n], next[2 * n + 1]) = block[n].interleave(block[n + half]);
        }
        block = next;
    }
    block
}

/// Brings a line near, if it can be.
#[inline(always)]
pub(crate) fn prefetch(line: *const u8) {
    // SAFETY: a prefetch of any address is harmless.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.cast())
    };
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
