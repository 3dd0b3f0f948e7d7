//! Streaming stores of a part of the output.

use crate::Level;
use crate::contract::canonical::bundle::TensorId;
use crate::contract::canonical::problem::Problem;
use crate::contract::select::streamed::StreamedOutput;
use crate::copy::{Copier, CopySide};
use std::ops::Range;

impl StreamedOutput {
    /// Writes some rows and columns of the output at `out` from a part whose columns are `self.rows` rows apart.
    /// [`fence`](crate::copy::fence) must follow before another thread reads them.
    ///
    /// # Safety
    /// The output has these rows and columns, which are multiples of the joined runs, and no other thread accesses
    /// them; the part holds them.
    pub(crate) unsafe fn put(
        &self,
        (problem, level): (&Problem, Level),
        (rows, columns): (Range<usize>, Range<usize>),
        out: *mut u8,
        part: *const u8,
    ) {
        let size = problem.algebra.size as isize;
        let copier = Copier::streaming(problem.dtype, level);
        let (height, run) = (self.rows as isize, self.run as isize);
        let (to_strides, from_strides) = ([run * size, size], [height * size, size]);
        for column in columns.clone().step_by(self.pieces) {
            for row in rows.clone().step_by(self.run) {
                let to =
                    problem.m.offset(TensorId::Out, row) + problem.n.offset(TensorId::Out, column);
                let from = (row - rows.start) as isize + (column - columns.start) as isize * height;
                let to = CopySide { ptr: out.wrapping_offset(to * size), strides: &to_strides };
                let from =
                    CopySide { ptr: part.wrapping_offset(from * size), strides: &from_strides };
                // SAFETY: guaranteed by the caller.
                unsafe { copier.copy(&[self.pieces, self.run], to, from) };
            }
        }
    }
}
