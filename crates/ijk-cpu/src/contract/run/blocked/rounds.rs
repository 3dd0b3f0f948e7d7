//! The outer loops: blocks of the shared operand, rounds of blocks of k, and tasks.

use crate::contract::canonical::columns::ColumnOffsets;
use crate::contract::canonical::ranges::blocks;
use crate::contract::run::blocked::gemm::Gemm;
use crate::contract::run::operand::rows_of;
use crate::contract::run::panels::SharedPanels;
use crate::contract::run::tasks::TaskPartition;
use crate::contract::select::blocking::Blocking;
use crate::contract::select::k_blocks::rounds;
use crate::contract::select::shared_block::SharedBlock;
use crate::contract::select::streamed::StreamedOutput;
use ijk_kernels::contraction::word::ElementWord;
use ijk_kernels::tuning::time::{SEPARATE_PANELS, SEPARATE_POINTS};
use std::ops::Range;

impl<'a> Gemm<'a> {
    /// Number of parts into which columns are cut for threads that share no panels. For small problems, packing lhs in
    /// each thread takes less time than moving a shared panel between cores.
    pub(crate) fn parts(&self) -> usize {
        let (direct, shares_lhs) = (self.blocking.is_direct(), self.blocking.shares_lhs);
        let threads = self.context.threads();
        // The rounds of a k-tile depend on the number of columns, and so would the order of summation; streamed columns
        // are not cut either, and those of half an output have different numbers of tiles.
        let streams = StreamedOutput::of(self.problem, &self.blocking).is_some();
        let whole = self.problem.tile.is_some() || streams || self.symmetric.is_some();
        let any = !(direct || shares_lhs || whole);
        let few = self.problem.points() <= SEPARATE_POINTS;
        let wide = self.right.len() >= SEPARATE_PANELS * threads * self.right.width;
        if any && few && wide { threads } else { 1 }
    }

    /// Computes the products of a range of the shared operand.
    ///
    /// # Safety
    /// As for [`gemm`](super::gemm()).
    pub(crate) unsafe fn part<W: ElementWord>(&self, range: Range<usize>, ks: Range<usize>) {
        let Self { problem, context, blocking, .. } = *self;
        let side = self.shared();
        let room = SharedBlock::of(problem, &blocking, range.len(), ks.len(), size_of::<W>());
        let SharedBlock { streamed, unit, widest, most, bytes } = room;
        let Some(memory) = context.take(bytes) else { return };
        for range in blocks(range, widest, unit) {
            for round in rounds(problem, blocking, ks.clone(), most) {
                if context.have_ended() {
                    return;
                }
                let flags = SharedPanels::flags(side, &range, &round);
                let memory = memory.as_ptr().cast();
                let range = range.clone();
                let (round, flags) = (&round, &flags[..]);
                let shared = SharedPanels { side, range, round, memory, flags, within: None };
                // SAFETY: the scratch has room for the largest block and round; the caller guarantees the rest.
                unsafe {
                    shared.pack::<W>(context);
                    match streamed {
                        Some(output) => self.streamed::<W>(&shared, &output),
                        None => self.round::<W>(&shared),
                    }
                }
            }
        }
    }

    /// Computes the products of a packed block of the shared operand.
    ///
    /// # Safety
    /// As for [`gemm`](super::gemm()); the shared panels are packed.
    pub(crate) unsafe fn round<W: ElementWord>(&self, shared: &SharedPanels) {
        let Blocking { shares_lhs, ranges, .. } = self.blocking;
        let other = if shares_lhs { self.right } else { self.left };
        let (rows, steps) = (shared.range.len(), shared.longest());
        let most = self.blocking.task_panels(other.width, rows, steps, size_of::<W>());
        let threads = self.context.threads();
        if let Some(stage) = self.stage(shared) {
            let parts = stage.parts(other.len());
            return self.context.parallel_for(parts.len(), |n| {
                // SAFETY: guaranteed by the caller; parts differ in rows of the output.
                unsafe { self.staged::<W>(shared, (&stage, parts[n].clone()), most) };
            });
        }
        let panels = other.len().div_ceil(other.width);
        let cut = match ranges {
            1 => TaskPartition::new(panels, most, shared.panels(), threads),
            _ => TaskPartition::by_ranges(panels, most, shared.panels(), ranges),
        };
        let columns = (!shares_lhs).then(|| ColumnOffsets::new(self.problem, &shared.range));
        cut.run(self.context, |panels, part| {
            let rows = rows_of(&(0..other.len()), other.width, panels);
            // SAFETY: guaranteed by the caller; tasks differ in rows or columns of the output.
            unsafe {
                match &columns {
                    Some(columns) => self.rows::<W>(shared, rows, part, columns),
                    None => self.columns::<W>(shared, rows, part),
                }
            }
        });
    }
}
