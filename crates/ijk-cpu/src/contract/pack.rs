//! Packing: from a tensor, through offsets, to panels whose groups of rows are contiguous.
//!
//! A panel holds, for each step of k, `width` elements of the rows: `panel[k * width + row]`.

use super::bundle::{Bundle, Operand};
use crate::simd::{Kernel, Level, Simd};

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
        let unit_rows = self.bundle.is_run(self.operand, start, rows.len());
        let job = Job { base: self.base, rows, steps: self.steps, panel, width };
        level.run(Pack { job, unit_rows, unit_steps: self.unit_steps });
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
    unit_rows: bool,
    unit_steps: bool,
}

impl<W: Word> Kernel for Pack<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let job = &self.job;
        // SAFETY: `Source::pack` is the one place that makes this; its caller promised what
        // these ask, and the units were looked up.
        unsafe {
            match (self.unit_rows, self.unit_steps) {
                (true, _) => job.copy_rows(),
                (_, true) => job.transpose(),
                _ => job.gather(),
            }
            job.clear_rest();
        }
    }
}

/// How many steps ahead of a copy its source is fetched.
const AHEAD: usize = 8;

impl<W: Word> Job<'_, W> {
    /// Rows are neighbours: copy them step by step.
    #[inline(always)]
    unsafe fn copy_rows(&self) {
        macro_rules! sizes {
            ($($n:literal),*) => {
                match self.rows.len() {
                    // SAFETY: the arm's number is the number of rows.
                    $($n => unsafe { self.copy_runs::<$n>() },)*
                    // SAFETY: the caller's promise.
                    _ => unsafe { self.copy_any() },
                }
            };
        }
        sizes!(2, 4, 6, 8, 12, 16, 32, 64, 128);
    }

    #[inline(always)]
    unsafe fn copy_runs<const N: usize>(&self) {
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
        for (k, &step) in self.steps.iter().enumerate() {
            // SAFETY: the source of a step is readable; the panel has room for the step.
            unsafe {
                let from = self.base.wrapping_offset(self.rows.first().map_or(0, |r| r + step));
                std::ptr::copy_nonoverlapping(
                    from,
                    self.panel.add(k * self.width),
                    self.rows.len(),
                );
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

    /// Steps are neighbours: read along them, a few lines of the panel at a time.
    #[inline(always)]
    unsafe fn transpose(&self) {
        let first = self.steps[0];
        for start in (0..self.steps.len()).step_by(16) {
            let count = (self.steps.len() - start).min(16);
            for (r, &row) in self.rows.iter().enumerate() {
                // SAFETY: the row is readable at every step; the panel has room for them.
                unsafe {
                    let from = self.base.offset(row + first + start as isize);
                    let to = self.panel.add(start * self.width + r);
                    for k in 0..count {
                        to.add(k * self.width).write(from.add(k).read());
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
