//! Folds of long rows: threads fold parts of them, and then the folds of these.

use super::kernel::{self, FoldFn, LEAST, RowLayout, Tensors};
use super::{FoldsProgram, Of, Strips, Term};
use crate::error::RunError;
use crate::runtime::scratch::Need;
use crate::steps::StepRun;
use crate::threads::cut;
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::order::{ROW_FOLD_LENGTH, ROW_FOLD_PART};
use ijk_types::{DType, Monoid};
use std::ops::Range;

/// Division of each row into parts.
#[derive(Clone, Debug)]
pub(super) struct LongRows {
    /// Number of parts; at least [`LEAST`], since their folds are a row for the kernel.
    pub(super) parts: usize,
    /// Parts of a strip; 1 if a part is some strips.
    of_strip: usize,
    /// Fold of the elements of a row.
    join: FoldFn,
    /// Bytes of an element.
    size: usize,
    /// True if the other operand has an element for each of a row.
    paired: bool,
}

impl LongRows {
    /// The division of rows of these strips, unless one thread folds a row.
    pub(super) fn new(
        (t, monoid): (DType, Monoid),
        (strips, of): (&Strips, Of),
        level: Level,
    ) -> Option<Self> {
        const { assert!(ROW_FOLD_LENGTH / ROW_FOLD_PART >= LEAST) };
        let length = strips.elements();
        if length <= ROW_FOLD_LENGTH {
            return None;
        }
        let of_strip = strips.length.div_ceil(ROW_FOLD_PART);
        let parts = match of_strip {
            1 => length.div_ceil(ROW_FOLD_PART).min(strips.count()),
            _ => of_strip * strips.count(),
        };
        Some(Self {
            parts,
            of_strip,
            join: kernel::find(t, (monoid, Term::Element, Of::One), level)?,
            size: t.size(),
            paired: matches!(of, Of::Pair | Of::Product),
        })
    }

    /// A part of a row: some strips, and which elements of each. All but the last of a strip are whole vectors.
    pub(super) fn part(&self, part: usize, strips: &Strips) -> (Range<usize>, Range<usize>) {
        if self.of_strip == 1 {
            let first = |n: usize| cut(strips.count(), n, self.parts);
            return (first(part)..first(part + 1), 0..strips.length);
        }
        let (strip, part) = (part / self.of_strip, part % self.of_strip);
        let start = |n: usize| match n == self.of_strip {
            true => strips.length,
            false => cut(strips.length / LEAST, n, self.of_strip) * LEAST,
        };
        (strip..strip + 1, start(part)..start(part + 1))
    }

    /// Bytes of the folds of the parts of a row.
    fn row_bytes(&self) -> usize {
        self.parts * self.size
    }
}

impl FoldsProgram {
    /// Returns true if threads share each row.
    pub(crate) fn are_long(&self) -> bool {
        self.long.is_some()
    }

    /// Memory for the folds of all parts.
    pub(crate) fn need(&self) -> Need {
        let of = |long: &LongRows| self.count().saturating_mul(long.row_bytes());
        let bytes = self.long.as_ref().map_or(0, of);
        Need { shared: bytes as u64, each: 0 }
    }

    /// Executes the folds of long rows.
    ///
    /// # Safety
    /// As for [`run`](Self::run); `tensors` are the addresses of the first row.
    pub(super) unsafe fn run_long(
        &self,
        long: &LongRows,
        tensors: &Tensors,
        run: &StepRun<'_>,
    ) -> Result<(), RunError> {
        let count = self.count();
        let bytes = usize::try_from(self.need().shared).unwrap_or(usize::MAX);
        let memory = run.scratch.try_take(bytes).ok_or(RunError::OutOfMemory(bytes))?;
        let folds = Tensors { x: memory.as_ptr(), other: memory.as_ptr(), out: memory.as_ptr() };
        let (folds, size) = (&folds, long.size as isize);
        let of_row = |row: usize| (row * long.row_bytes()) as isize;
        run.workers.parallel_ranges(count * long.parts, self.cost, |range| {
            for (row, part) in range.map(|n| (n / long.parts, n % long.parts)) {
                let (strips, elements) = long.part(part, &self.strips);
                let [x, other, _] = self.offsets(row);
                let start = elements.start as isize * size;
                let mut at = tensors.further([x + start, other, 0]);
                at.other = at.other.wrapping_offset(if long.paired { start } else { 0 });
                at.out = folds.out.wrapping_offset(of_row(row) + part as isize * size);
                // SAFETY: guaranteed by the caller; there is room for the fold of each part.
                unsafe {
                    let length = elements.len();
                    (self.kernel)(&RowLayout { length, strips, ..self.layout() }, 1, at);
                }
            }
        });
        if run.workers.have_ended() {
            return Ok(());
        }
        let joined = RowLayout { length: long.parts, strips: 0..1, axes: &[], ..self.layout() };
        for row in 0..count {
            let mut at = folds.further([of_row(row), 0, 0]);
            at.out = tensors.out.wrapping_offset(self.offsets(row)[2]);
            // SAFETY: the folds of all parts of the row are written; the rest is guaranteed by the caller.
            unsafe { (long.join)(&joined, 1, at) };
        }
        Ok(())
    }
}
