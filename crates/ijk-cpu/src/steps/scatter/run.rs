//! Execution of scatters.

use super::{ScatterAxis, ScatterProgram};
use crate::runtime::pace::Pace;
use crate::runtime::threads::Workers;
use std::ops::Range;

/// A program with the addresses of its origins.
struct ScatterRun<'a> {
    program: &'a ScatterProgram,
    from: *const u8,
    to: *mut u8,
}

// SAFETY: the pointers are dereferenced for values of axes along which outputs differ, each of which one task has.
unsafe impl Sync for ScatterRun<'_> {}

impl ScatterProgram {
    /// Combines all elements.
    ///
    /// # Safety
    /// `bases` are the buffers that the nest was checked against: all elements that it reads, and its output, are
    /// initialised, and no other thread accesses the output.
    pub unsafe fn run(&self, bases: &[*mut u8], workers: &Workers) {
        let from = self.from.of(bases).cast_const();
        let to = self.to.of(bases);
        let job = ScatterRun { program: self, from, to };
        let apart: usize = self.apart.iter().map(|axis| axis.extent).product();
        workers.parallel_ranges(apart, self.cost(), |range| {
            // SAFETY: guaranteed by the caller; each value of these axes is assigned to one task.
            unsafe { job.range(range, &mut Pace::new(workers)) };
        });
    }
}

impl ScatterRun<'_> {
    /// Combines the elements at some values of the axes along which outputs differ.
    ///
    /// # Safety
    /// As for [`ScatterProgram::run`]; no other task has these values.
    unsafe fn range(&self, range: Range<usize>, pace: &mut Pace<'_>) {
        let program = self.program;
        for number in range {
            let (from, to) = place(&program.apart, number);
            for first in (0..program.row.extent).step_by(program.piece) {
                let n = program.piece.min(program.row.extent - first);
                let at = |start: isize, step: isize| start + first as isize * step;
                let (from, to) = (at(from, program.row.from), at(to, program.row.to));
                // SAFETY: guaranteed by the caller.
                let ended = unsafe { self.planes(&program.others, n, (from, to), pace) };
                if ended {
                    return;
                }
            }
        }
    }

    /// Combines `n` elements of each row of planes, for all values of some axes; returns true if the run is cancelled.
    ///
    /// # Safety
    /// As for [`range`](Self::range): `from` and `to` are offsets in bytes of elements of the nest, the first along
    /// these axes.
    unsafe fn planes(
        &self,
        axes: &[ScatterAxis],
        n: usize,
        (from, to): (isize, isize),
        pace: &mut Pace<'_>,
    ) -> bool {
        let (source, out) = (self.from.wrapping_offset(from), self.to.wrapping_offset(to));
        let ScatterProgram { row, rows, kernel, .. } = self.program;
        match axes {
            // SAFETY: the check of the nest covers all points; input and output do not overlap.
            [] => unsafe {
                kernel([rows.extent, n], out, [rows.to, row.to], source, [rows.from, row.from]);
                pace.ends_after(rows.extent.saturating_mul(n))
            },
            [axis, rest @ ..] => (0..axis.extent as isize).any(|i| {
                let places = (from + i * axis.from, to + i * axis.to);
                // SAFETY: guaranteed by the caller.
                unsafe { self.planes(rest, n, places, pace) }
            }),
        }
    }
}

/// Offsets in bytes of the first elements at the values of index `number`.
fn place(axes: &[ScatterAxis], mut number: usize) -> (isize, isize) {
    let (mut from, mut to) = (0, 0);
    for axis in axes.iter().rev() {
        let at = (number % axis.extent) as isize;
        number /= axis.extent;
        from += at * axis.from;
        to += at * axis.to;
    }
    (from, to)
}
