//! Execution of nests over windows.

use super::WindowProgram;
use crate::runtime::threads::Workers;
use ijk_kernels::tuning::time::WINDOW_ROWS;
use ijk_kernels::window::WindowArgs;
use smallvec::SmallVec;
use std::ops::Range;

/// A program with the addresses of its origins.
pub(super) struct WindowRun<'a> {
    pub program: &'a WindowProgram,
    pub origins: [*mut u8; 3],
}

// SAFETY: the pointers are dereferenced for pieces of rows only, each of which one task has.
unsafe impl Sync for WindowRun<'_> {}

impl WindowProgram {
    /// Computes all rows.
    ///
    /// # Safety
    /// `bases` are the buffers that the nest was checked against: all elements that it reads are initialised, and no
    /// other thread accesses the output.
    pub unsafe fn run(&self, bases: &[*mut u8], workers: &Workers) {
        let origins = self.origins.map(|origin| origin.of(bases));
        let job = WindowRun { program: self, origins };
        workers.parallel_ranges(self.all_pieces(), self.cost(), |pieces| {
            // SAFETY: guaranteed by the caller; each piece is assigned to one task.
            unsafe { job.pieces(pieces) };
        });
    }
}

impl WindowProgram {
    /// Number of pieces of all rows.
    pub(super) fn all_pieces(&self) -> usize {
        self.blocks() * self.pieces()
    }

    /// Number of pieces of a block of rows.
    fn pieces(&self) -> usize {
        self.row.div_ceil(self.piece)
    }

    /// Number of blocks of rows.
    fn blocks(&self) -> usize {
        self.rows() / self.across.extent * self.across.extent.div_ceil(WINDOW_ROWS)
    }
}

impl WindowRun<'_> {
    /// Computes some pieces of rows.
    ///
    /// # Safety
    /// As for [`WindowProgram::run`]; no other task has these pieces.
    pub(super) unsafe fn pieces(&self, pieces: Range<usize>) {
        let program = self.program;
        let (each, blocks) = (program.pieces(), program.across.extent.div_ceil(WINDOW_ROWS));
        let (mut piece, block) = (pieces.start % each, pieces.start / each);
        let mut at = WindowPlace::new(program, block / blocks);
        let mut block = block % blocks;
        for _ in pieces {
            let (first, output) = (block * WINDOW_ROWS, piece * program.piece);
            let [a, b, out] = [0, 1, 2].map(|n| {
                let row = first as isize * program.across.steps[n];
                let offset = at.offset[n] + row + output as isize * program.steps[n];
                self.origins[n].wrapping_offset(offset)
            });
            let rows = WindowArgs {
                n: program.piece.min(program.row - output),
                count: WINDOW_ROWS.min(program.across.extent - first),
                steps: program.across.steps,
                a: a.cast_const(),
                b: b.cast_const(),
                out,
                taps: &program.taps,
                start: program.start.as_ptr().cast(),
                existing: program.existing,
            };
            // SAFETY: guaranteed by the caller; the check of the nest covers all points.
            unsafe { (program.kernel)(&rows) };
            piece += 1;
            if piece == each {
                (piece, block) = (0, block + 1);
            }
            if block == blocks {
                block = 0;
                at.advance(program);
            }
        }
    }
}

/// Rows, by their index along each outer axis.
struct WindowPlace {
    index: SmallVec<[usize; 6]>,
    /// Offset from the origins in bytes.
    offset: [isize; 3],
}

impl WindowPlace {
    fn new(program: &WindowProgram, mut rows: usize) -> Self {
        let mut place = Self { index: SmallVec::from_elem(0, program.outer.len()), offset: [0; 3] };
        for (index, axis) in place.index.iter_mut().zip(&program.outer).rev() {
            *index = rows % axis.extent;
            rows /= axis.extent;
            for (offset, step) in place.offset.iter_mut().zip(axis.steps) {
                *offset += *index as isize * step;
            }
        }
        place
    }

    /// Advances to the next rows.
    fn advance(&mut self, program: &WindowProgram) {
        for (index, axis) in self.index.iter_mut().zip(&program.outer).rev() {
            *index += 1;
            let back = if *index == axis.extent { std::mem::take(index) } else { 0 };
            for (offset, step) in self.offset.iter_mut().zip(axis.steps) {
                *offset += step * (1 - back as isize);
            }
            if back == 0 {
                return;
            }
        }
    }
}
