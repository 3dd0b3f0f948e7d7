//! Rows (or columns) of a task: packed panels, or lhs in place, by a range of shared panels.

use crate::contract::canonical::bundle::TensorId;
use crate::contract::canonical::columns::ColumnOffsets;
use crate::contract::run::blocked::gemm::{Gemm, PanelGroup, PrefetchLines, TileOutput};
use crate::contract::run::operand::{PackedOperand, Panel};
use crate::contract::run::output::OutputRows;
use crate::contract::run::panels::SharedPanels;
use crate::contract::select::blocking::Blocking;
use crate::contract::select::k_blocks::KBlock;
use ijk_kernels::contraction::microkernel::Microkernel;
use ijk_kernels::contraction::panel::Flags;
use ijk_kernels::contraction::word::ElementWord;
use std::ops::Range;

impl<'a> Gemm<'a> {
    /// Computes some rows for a range of shared panels.
    ///
    /// # Safety
    /// As for [`round`](Self::round).
    pub(crate) unsafe fn rows<W: ElementWord>(
        &self,
        shared: &SharedPanels,
        rows: Range<usize>,
        part: Range<usize>,
        columns: &ColumnOffsets,
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.blocking.is_direct() {
                true => self.direct_rows::<W>(shared, rows, part, columns),
                false => self.packed::<W>(shared, (self.left, rows), part, columns),
            }
        }
    }

    /// Packs the panels of the other operand for some rows (or columns), and multiplies them by a range of shared
    /// panels, block of k by block of k.
    ///
    /// # Safety
    /// As for [`round`](Self::round).
    pub(crate) unsafe fn packed<W: ElementWord>(
        &self,
        shared: &SharedPanels,
        (other, rows): (PackedOperand, Range<usize>),
        part: Range<usize>,
        columns: &ColumnOffsets,
    ) {
        let out = match self.blocking.shares_lhs {
            true => OutputRows::new(self.problem, &shared.range),
            false => OutputRows::new(self.problem, &rows),
        };
        let out = TileOutput { rows: &out, columns };
        let panels = rows.len().div_ceil(other.width);
        let Blocking { shares_lhs, group, .. } = self.blocking;
        let (room, prefetches) =
            if shares_lhs { (panels, false) } else { (group, self.prefetches_lhs()) };
        let elements = room * shared.longest() * other.width;
        let Some(memory) = self.context.take(elements * size_of::<W>()) else { return };
        let memory = memory.as_ptr().cast::<W>();
        let blocks = &shared.round.blocks;
        // A single thread has all panels, so the operands of the next batch are known.
        let next = self.tensors.next.filter(|_| self.context.threads() == 1 && blocks.len() == 1);
        for (block, steps) in blocks.iter().enumerate() {
            let pack = |panel: usize| {
                let to = memory.wrapping_add(panel % room * steps.len() * other.width);
                // SAFETY: the scratch has room for the panels; the caller guarantees the rest.
                unsafe { other.pack(self.context, steps, other.rows(&rows, panel), to) }
            };
            let common = shared.some::<W>(block, &part);
            if shares_lhs {
                let own: Vec<Panel> = (0..panels).map(pack).collect();
                for &left in common.iter().take_while(|_| !self.context.have_ended()) {
                    // SAFETY: the panels are packed; the caller guarantees the rest.
                    unsafe { self.strip::<W>(steps, left, &own, &out) };
                }
                continue;
            }
            let ahead = |panel: usize| match next {
                _ if panel + room < panels && prefetches => {
                    PrefetchLines::of(other, other.rows(&rows, panel + room), self.tensors.left)
                }
                Some([next, _]) if rows.end == other.len() && panel + 1 == panels => {
                    PrefetchLines::of(other, other.rows(&(0..other.len()), 0), next)
                }
                _ => PrefetchLines::nothing(),
            };
            for start in (0..panels).step_by(room) {
                if self.context.have_ended() {
                    return;
                }
                let group = start..(start + room).min(panels);
                let lefts: PanelGroup<_> = group.map(|panel| (pack(panel), ahead(panel))).collect();
                // SAFETY: the panels are packed; the caller guarantees the rest.
                unsafe { self.strips::<W>(steps, &lefts, &common, &out) };
            }
        }
    }

    /// Computes some rows from an unpacked lhs, one contiguous run at a time.
    ///
    /// # Safety
    /// As for [`round`](Self::round).
    pub(crate) unsafe fn direct_rows<W: ElementWord>(
        &self,
        shared: &SharedPanels,
        rows: Range<usize>,
        part: Range<usize>,
        columns: &ColumnOffsets,
    ) {
        let out = TileOutput { rows: &OutputRows::few(self.problem), columns };
        let m = &self.problem.m;
        let run = m.run(TensorId::Left);
        for (block, steps) in shared.round.blocks.iter().enumerate() {
            let right = shared.some::<W>(block, &part);
            let mut start = rows.start;
            while start < rows.end && !self.context.have_ended() {
                let end = (start + run - start % run).min(rows.end);
                // SAFETY: the rows are in the tensor.
                unsafe {
                    let first = m.offset(TensorId::Left, start);
                    let first = self.tensors.left.cast::<W>().offset(first);
                    self.direct_run::<W>(steps, &right, start..end, first, &out);
                }
                start = end;
            }
        }
    }

    /// Computes contiguous rows of an unpacked lhs, the first of which is at `left`.
    ///
    /// # Safety
    /// As for [`round`](Self::round).
    pub(crate) unsafe fn direct_run<W: ElementWord>(
        &self,
        steps: &KBlock,
        right: &[Panel],
        rows: Range<usize>,
        left: *const W,
        out: &TileOutput,
    ) {
        let algebra = &self.problem.algebra;
        let of_width = |e: &&Microkernel| e.columns == self.blocking.nr;
        let mut start = rows.start;
        while start < rows.end {
            let groups = (rows.end - start) / algebra.lanes;
            let entries = algebra.tiles.direct.iter().filter(of_width);
            let entry = entries.filter(|e| e.groups <= groups).max_by_key(|e| e.groups);
            let Some(&entry) = entry else { break };
            let count = entry.groups * algebra.lanes;
            // SAFETY: `count` rows remain.
            let data = unsafe { left.add(start - rows.start) };
            let flags = Flags::NONE;
            let left = Panel { data: data.cast(), start, count, flags, in_place: false };
            let (place, mut tile) = self.tile(steps, &(left, PrefetchLines::nothing()), out);
            for right in right.iter().filter(|right| !self.is_mirrored(&left, right)) {
                // SAFETY: the rows are there; the panel is packed.
                unsafe { self.compute::<W>(entry, &mut tile, right, (place, out.columns)) };
            }
            start += count;
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.direct_tail::<W>(steps, right, start..rows.end, out) };
    }

    /// Computes the remaining rows, fewer than a group of lanes, from a packed panel.
    ///
    /// # Safety
    /// As for [`round`](Self::round).
    pub(crate) unsafe fn direct_tail<W: ElementWord>(
        &self,
        steps: &KBlock,
        right: &[Panel],
        rows: Range<usize>,
        out: &TileOutput,
    ) {
        if rows.is_empty() {
            return;
        }
        let bytes = steps.len() * self.left.width * size_of::<W>();
        let Some(panel) = self.context.take(bytes) else { return };
        // SAFETY: the scratch holds a panel; the caller guarantees the rest.
        unsafe {
            let to = panel.as_ptr().cast::<W>();
            let left = self.left.pack(self.context, steps, rows, to);
            self.strip::<W>(steps, left, right, out);
        }
    }
}
