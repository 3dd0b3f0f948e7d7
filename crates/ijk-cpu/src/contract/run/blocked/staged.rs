//! Parts of the output that are computed in scratch memory, and moved or streamed.

use crate::contract::canonical::columns::ColumnOffsets;
use crate::contract::canonical::problem::TensorPointers;
use crate::contract::canonical::ranges::blocks;
use crate::contract::run::blocked::gemm::{Gemm, TileOutput};
use crate::contract::run::operand::Panel;
use crate::contract::run::output::OutputRows;
use crate::contract::run::output_tile::OutputTile;
use crate::contract::run::panels::SharedPanels;
use crate::contract::select::staged::StagedOutput;
use crate::contract::select::streamed::StreamedOutput;
use crate::copy::fence;
use ijk_kernels::contraction::word::ElementWord;
use std::ops::Range;

impl<'a> Gemm<'a> {
    /// The staging of rows in scratch memory, if the output is faster to write from there.
    pub(crate) fn stage(&self, shared: &SharedPanels) -> Option<StagedOutput> {
        let (threads, level) = (self.context.threads(), self.context.level);
        let rows = !self.blocking.shares_lhs;
        rows.then(|| StagedOutput::of(self.problem, &shared.range, (threads, level))).flatten()
    }

    /// Computes some rows in scratch memory, `most` panels at a time, and moves them to the output.
    ///
    /// # Safety
    /// As for [`round`](Self::round).
    pub(crate) unsafe fn staged<W: ElementWord>(
        &self,
        shared: &SharedPanels,
        (stage, rows): (&StagedOutput, Range<usize>),
        most: usize,
    ) {
        // SAFETY: guaranteed by the caller; the part has room for the rows.
        unsafe {
            self.by_part(shared, stage, (rows.clone(), shared.range.clone()), |gemm, columns| {
                for rows in blocks(rows, most.max(1) * gemm.left.width, gemm.left.width) {
                    gemm.rows::<W>(shared, rows, 0..shared.panels(), columns);
                }
            });
        }
    }

    /// Computes some columns for a range of shared panels. Windows are computed in scratch memory, since the rows are
    /// not contiguous in an output whose columns are.
    ///
    /// # Safety
    /// As for [`round`](Self::round).
    pub(crate) unsafe fn columns<W: ElementWord>(
        &self,
        shared: &SharedPanels,
        columns: Range<usize>,
        part: Range<usize>,
    ) {
        // SAFETY: guaranteed by the caller; the part has room for the columns.
        unsafe {
            if self.blocking.unpacked_rhs.is_some_and(|rhs| rhs.windows) {
                let stage = StagedOutput::of_all_rows(self.problem);
                let ranges = (shared.rows_of(part.clone()), columns.clone());
                self.by_part(shared, &stage, ranges, |gemm, all| {
                    gemm.packed::<W>(shared, (gemm.right, columns), part, all);
                });
            } else {
                let all = ColumnOffsets::new(self.problem, &columns);
                self.packed::<W>(shared, (self.right, columns), part, &all);
            }
        }
    }

    /// Computes some rows and columns in scratch memory, and moves them to the output.
    ///
    /// # Safety
    /// As for [`round`](Self::round); `compute` computes all of them.
    pub(crate) unsafe fn by_part(
        &self,
        shared: &SharedPanels,
        stage: &StagedOutput,
        (rows, columns): (Range<usize>, Range<usize>),
        compute: impl FnOnce(&Gemm, &ColumnOffsets),
    ) {
        let ranges = (rows, columns.clone());
        let part = OutputTile::new((self.problem, stage), self.tensors.out, ranges, self.context);
        let Some(part) = part else { return };
        let dense = part.dense();
        let tensors = TensorPointers { out: part.origin(), ..self.tensors };
        let gemm = Gemm::new(&dense, tensors, self.context, self.blocking);
        let columns = ColumnOffsets::new(&dense, &columns);
        // SAFETY: guaranteed by the caller.
        unsafe {
            if shared.round.blocks.first().is_some_and(|steps| steps.accumulate) {
                part.get();
            }
            compute(&gemm, &columns);
            part.put();
        }
    }

    /// Computes the products of a block of columns by parts whose runs are joined and streamed to the output.
    ///
    /// # Safety
    /// As for [`round`](Self::round); the round is one block of k.
    pub(crate) unsafe fn streamed<W: ElementWord>(
        &self,
        shared: &SharedPanels,
        output: &StreamedOutput,
    ) {
        let Self { problem, context, left, .. } = *self;
        let Some(steps) = shared.round.blocks.first() else { return };
        let dense = problem.dense(output.rows);
        let out = OutputRows::few(&dense);
        let parts = left.len().div_ceil(output.rows);
        context.parallel_in_order(parts, |part| {
            let all = self.tensors;
            let rows = part * output.rows..((part + 1) * output.rows).min(left.len());
            let room = output.rows.next_multiple_of(left.width) * steps.len();
            let memory = context.take(output.bytes(size_of::<W>()));
            let panels = context.take(room * size_of::<W>());
            let (Some(memory), Some(panels)) = (memory, panels) else { return };
            let pack = |panel: usize| {
                let to = panels.as_ptr().cast::<W>();
                let to = to.wrapping_add(panel * steps.len() * left.width);
                // SAFETY: the scratch has room for the panels; the caller guarantees the rest.
                unsafe { left.pack(context, steps, left.rows(&rows, panel), to) }
            };
            let own: Vec<Panel> = (0..rows.len().div_ceil(left.width)).map(pack).collect();
            for start in shared.range.clone().step_by(output.columns) {
                if context.have_ended() {
                    break;
                }
                let columns = start..start + output.columns;
                let before = (rows.start + columns.start * output.rows) * size_of::<W>();
                let tensors = TensorPointers { out: memory.as_ptr().wrapping_sub(before), ..all };
                let gemm = Gemm::new(&dense, tensors, context, self.blocking);
                let out = TileOutput { rows: &out, columns: &ColumnOffsets::new(&dense, &columns) };
                let first = (start - shared.range.start) / shared.side.width;
                let some = first..first + output.columns / shared.side.width;
                let common = shared.some::<W>(0, &some);
                // SAFETY: guaranteed by the caller; parts differ in rows of the output, and the memory has room for
                // one.
                unsafe {
                    own.iter().for_each(|&l| gemm.strip::<W>(steps, l, &common, &out));
                    let from = memory.as_ptr().cast_const();
                    let ranges = (rows.clone(), columns);
                    output.put((problem, context.level), ranges, all.out, from);
                }
            }
            fence();
        });
    }
}
