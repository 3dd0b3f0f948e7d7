//! Products of an array with itself: tiles above the diagonal of the output are copies of those below.
//!
//! `ki·kj` and the distances of points from each other have the same value at `ij` and at `ji`, bit for bit: the two
//! are the same functions of the same elements in the same order. So half of the tiles suffice, as in the `syrk` of
//! BLAS.

use crate::contract::run::blocked::gemm::Gemm;
use crate::contract::run::operand::Panel;
use crate::contract::select::symmetric::SymmetricOutput;
use crate::copy::{Copier, CopySide};
use ijk_kernels::tuning::time::MIRRORED_SIDE;
use std::ops::Range;

impl Gemm<'_> {
    /// Returns true if a tile is above the diagonal of a symmetric output, and is copied in the end.
    pub(crate) fn is_mirrored(&self, rows: &Panel, columns: &Panel) -> bool {
        self.symmetric.is_some() && columns.start >= rows.start + rows.count
    }

    /// Copies what is below the diagonal of a symmetric output to what is above.
    ///
    /// # Safety
    /// As for [`gemm`](super::gemm()); all elements on and below the diagonal are computed.
    pub(crate) unsafe fn mirror(&self) {
        let Some(output) = self.symmetric.filter(|_| !self.context.have_ended()) else { return };
        let blocks = output.side.div_ceil(MIRRORED_SIDE);
        let copier = Copier::new(self.problem.dtype, self.context.level);
        let range = |n: usize| n * MIRRORED_SIDE..((n + 1) * MIRRORED_SIDE).min(output.side);
        self.context.parallel_for(blocks, |n| {
            for row in range(n) {
                // SAFETY: guaranteed by the caller; blocks differ in rows, and write only above the diagonal.
                unsafe { self.mirror_box(output, &copier, row..row + 1, row + 1..range(n).end) };
            }
            for m in n + 1..blocks {
                // SAFETY: likewise.
                unsafe { self.mirror_box(output, &copier, range(n), range(m)) };
            }
        });
    }

    /// Copies to some rows and columns what is in these columns and rows.
    ///
    /// # Safety
    /// As for [`mirror`](Self::mirror); the box is above the diagonal, and no other thread accesses it.
    unsafe fn mirror_box(
        &self,
        output: SymmetricOutput,
        copier: &Copier,
        rows: Range<usize>,
        columns: Range<usize>,
    ) {
        if columns.is_empty() {
            return;
        }
        let [down, across] = output.steps;
        let at = |row: usize, column: usize| {
            let offset = row as isize * down + column as isize * across;
            self.tensors.out.wrapping_offset(offset)
        };
        let to = at(rows.start, columns.start);
        let from = at(columns.start, rows.start).cast_const();
        // The inner axis is the one along which the copied box is contiguous, if it is along any.
        let (extents, to_steps, from_steps) = match down.abs() < across.abs() {
            true => ([columns.len(), rows.len()], [across, down], [down, across]),
            false => ([rows.len(), columns.len()], [down, across], [across, down]),
        };
        let to = CopySide { ptr: to, strides: &to_steps };
        let from = CopySide { ptr: from, strides: &from_steps };
        // SAFETY: guaranteed by the caller: both boxes are parts of the output, on either side of the diagonal.
        unsafe { copier.copy(&extents, to, from) };
    }
}
