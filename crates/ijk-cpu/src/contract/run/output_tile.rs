//! Staged outputs: a part is computed as contiguous columns in scratch memory and then moved.

use crate::contract::canonical::bundle::{Bundle, BundleAxis, TensorId};
use crate::contract::canonical::problem::Problem;
use crate::contract::canonical::ranges::cut_at;
use crate::contract::run::context::Context;
use crate::contract::select::staged::StagedOutput;
use crate::copy::{Copier, CopySide};
use crate::runtime::scratch::Scratch;
use ijk_kernels::tuning::time::STAGED_CHUNK;
use std::ops::Range;

/// One part: rows and columns of a problem's output, with scratch memory for them.
pub(crate) struct OutputTile<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) stage: &'a StagedOutput,
    pub(crate) out: *mut u8,
    pub(crate) rows: Range<usize>,
    pub(crate) columns: Range<usize>,
    pub(crate) memory: Scratch<'a>,
    pub(crate) copier: Copier,
}

impl<'a> OutputTile<'a> {
    /// The part of the output at `out`; `None` if allocation fails.
    pub(crate) fn new(
        (problem, stage): (&'a Problem, &'a StagedOutput),
        out: *mut u8,
        (rows, columns): (Range<usize>, Range<usize>),
        context: &Context<'a>,
    ) -> Option<Self> {
        let memory = context.take(stage.most * columns.len() * problem.algebra.size)?;
        let copier = Copier::new(problem.dtype, context.level);
        Some(Self { problem, stage, out, rows, columns, memory, copier })
    }

    /// The problem with the part as its output.
    pub(crate) fn dense(&self) -> Problem {
        self.problem.dense(self.stage.most)
    }

    /// Address of the origin of that output.
    pub(crate) fn origin(&self) -> *mut u8 {
        let before = self.rows.start + self.columns.start * self.stage.most;
        self.memory.as_ptr().wrapping_sub(before * self.problem.algebra.size)
    }

    /// Reads the part from the output.
    ///
    /// # Safety
    /// The output has these rows and columns, which no other thread writes.
    pub(crate) unsafe fn get(&self) {
        // SAFETY: guaranteed by the caller; the memory has room for all boxes.
        self.boxes(|extents, out, strides, dense, within| unsafe {
            let [strides, within] = [strides, within].map(flip);
            let from = CopySide { ptr: out.cast_const(), strides: &strides };
            self.copier.copy(&flip(extents), CopySide { ptr: dense, strides: &within }, from);
        });
    }

    /// Writes the part to the output.
    ///
    /// # Safety
    /// The output has these rows and columns, which no other thread accesses; all of the part is computed.
    pub(crate) unsafe fn put(&self) {
        if let Some(places) = &self.stage.places {
            let size = self.problem.algebra.size as isize;
            for row in self.rows.clone().step_by(self.stage.unit) {
                let to = self.problem.m.offset(TensorId::Out, row) * size;
                let from = (row - self.rows.start) as isize * size;
                let to = self.out.wrapping_offset(to);
                let from = self.memory.as_ptr().wrapping_offset(from);
                // SAFETY: guaranteed by the caller; parts have whole units, and these rows and all columns are what the
                // tables are of.
                unsafe { places.copy(0..places.blocks(), to, from.cast_const()) };
            }
            return;
        }
        // SAFETY: guaranteed by the caller.
        self.boxes(|extents, out, strides, dense, within| unsafe {
            let from = CopySide { ptr: dense.cast_const(), strides: &within };
            self.copier.copy(&extents, CopySide { ptr: out, strides: &strides }, from);
        });
    }

    /// Calls `each` with the boxes of the part: extents, address and strides in bytes in the output, and in scratch
    /// memory. The output is contiguous along the last axis if it is along any, the scratch memory along the one
    /// before.
    pub(crate) fn boxes(
        &self,
        each: impl Fn([usize; 3], *mut u8, [isize; 3], *mut u8, [isize; 3]),
    ) {
        let (m, n, size) = (&self.problem.m, &self.problem.n, self.problem.algebra.size as isize);
        let out = |axis: Option<&BundleAxis>| axis.map_or(0, |a| a.strides[TensorId::Out as usize]);
        let height = self.stage.most as isize;
        let axes = m.axes();
        let (inner, line) = (axes.last(), axes.len().checked_sub(2).map(|at| &axes[at]));
        // Columns of equal stride are one axis of a box, if they are the only axis of n, or are contiguous.
        let (run, stride) = match n.inner(TensorId::Out) {
            (_, stride) if n.axes().len() == 1 => (usize::MAX, stride),
            (run, 1) => (run, 1),
            _ => (1, 0),
        };
        let columns: Vec<_> = cut_at(&self.columns, run).collect();
        for (start, lines, len) in boxes(m, &self.rows) {
            let row = (start - self.rows.start) as isize;
            for columns in &columns {
                let axes = arranged([
                    (columns.len(), stride, height),
                    (lines, out(line), inner.map_or(1, |a| a.extent as isize)),
                    (len, out(inner), 1),
                ]);
                let extents = axes.map(|a| a.0);
                let (strides, within) = (axes.map(|a| a.1 * size), axes.map(|a| a.2 * size));
                let offset = n.offset(TensorId::Out, columns.start);
                let to = m.offset(TensorId::Out, start) + offset;
                let from = row + (columns.start - self.columns.start) as isize * height;
                let to = self.out.wrapping_offset(to * size);
                let from = self.memory.as_ptr().wrapping_offset(from * size);
                // A few rows at a time, so that cache lines are filled while they are in L1; a single plane fills each
                // line at once.
                let chunk = if extents[0] == 1 { extents[1].max(1) } else { STAGED_CHUNK };
                for at in (0..extents[1]).step_by(chunk) {
                    let [first, second, last] = extents;
                    let extents = [first, chunk.min(second - at), last];
                    let moved = |p: *mut u8, by: isize| p.wrapping_offset(at as isize * by);
                    let (to, from) = (moved(to, strides[1]), moved(from, within[1]));
                    each(extents, to, strides, from, within);
                }
            }
        }
    }
}

/// Axes of a box as extent, stride in the output and stride in scratch memory: the smallest stride in the output last,
/// the axis that is contiguous in scratch memory before it.
fn arranged(mut axes: [(usize, isize, isize); 3]) -> [(usize, isize, isize); 3] {
    axes.sort_by_key(|&(extent, out, _)| match extent {
        1 => (0, 0),
        _ => (1, usize::MAX - out.unsigned_abs()),
    });
    if axes[0].2 == 1 {
        axes.swap(0, 1);
    }
    axes
}

/// Exchanges the last two.
fn flip<T>([first, second, third]: [T; 3]) -> [T; 3] {
    [first, third, second]
}

/// Cuts rows into boxes of whole values of the innermost axis, and of parts of one: first row, number of values of the
/// next axis, and extent of the innermost.
fn boxes(m: &Bundle, rows: &Range<usize>) -> Vec<(usize, usize, usize)> {
    let extent = |back: usize| {
        let axis = m.axes().len().checked_sub(back).map(|at| &m.axes()[at]);
        axis.map_or(1, |a| a.extent)
    };
    let (inner, lines) = (extent(1), extent(2));
    let (mut at, mut all) = (rows.start, Vec::new());
    while at < rows.end {
        let (left, into) = (rows.end - at, at % inner);
        let (count, len) = match into > 0 || left < inner {
            true => (1, left.min(inner - into)),
            false => ((left / inner).min(lines - at / inner % lines), inner),
        };
        all.push((at, count, len));
        at += count * len;
    }
    all
}
