//! Folds of long rows: threads fold parts of them, and then the folds of these.

use super::kernel::{self, FoldFn, LEAST, RowLayout, Tensors};
use super::{FoldsProgram, Of, Term};
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
    /// Fold of the elements of a row.
    join: FoldFn,
    /// Bytes of an element.
    size: usize,
    /// True if the other operand has an element for each of a row.
    paired: bool,
}

impl LongRows {
    /// The division of rows of `length` elements, unless one thread folds a row.
    pub(super) fn new(
        (t, monoid): (DType, Monoid),
        (length, of): (usize, Of),
        level: Level,
    ) -> Option<Self> {
        const { assert!(ROW_FOLD_LENGTH / ROW_FOLD_PART >= LEAST) };
        if length <= ROW_FOLD_LENGTH {
            return None;
        }
        Some(Self {
            parts: length.div_ceil(ROW_FOLD_PART),
            join: kernel::find(t, (monoid, Term::Element, Of::One), level)?,
            size: t.size(),
            paired: matches!(of, Of::Pair | Of::Product),
        })
    }

    /// Elements of a part of a row: all but the last are whole vectors.
    pub(super) fn part(&self, part: usize, length: usize) -> Range<usize> {
        let start = |n: usize| match n == self.parts {
            true => length,
            false => cut(length / LEAST, n, self.parts) * LEAST,
        };
        start(part)..start(part + 1)
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
        let layout =
            |length| RowLayout { length, ahead: 0, steps: [0; 3], identity: self.identity };
        run.workers.parallel_ranges(count * long.parts, self.cost, |range| {
            for (row, part) in range.map(|n| (n / long.parts, n % long.parts)) {
                let elements = long.part(part, self.length);
                let [x, other, _] = self.offsets(row);
                let start = elements.start as isize * size;
                let mut at = tensors.further([x + start, other, 0]);
                at.other = at.other.wrapping_offset(if long.paired { start } else { 0 });
                at.out = folds.out.wrapping_offset(of_row(row) + part as isize * size);
                // SAFETY: guaranteed by the caller; there is room for the fold of each part.
                unsafe { (self.kernel)(&layout(elements.len()), 1, at) };
            }
        });
        if run.workers.have_ended() {
            return Ok(());
        }
        for row in 0..count {
            let mut at = folds.further([of_row(row), 0, 0]);
            at.out = tensors.out.wrapping_offset(self.offsets(row)[2]);
            // SAFETY: the folds of all parts of the row are written; the rest is guaranteed by the caller.
            unsafe { (long.join)(&layout(long.parts), 1, at) };
        }
        Ok(())
    }
}
