//! The innermost loops: tiles of the output of lhs panels by rhs panels.

use crate::contract::canonical::bundle::{Bundle, TensorId};
use crate::contract::canonical::columns::ColumnOffsets;
use crate::contract::canonical::problem::Problem;
use crate::contract::run::blocked::gemm::{Gemm, PanelGroup, PrefetchLines, TileOutput};
use crate::contract::run::operand::Panel;
use crate::contract::run::output::TileRows;
use crate::contract::select::k_blocks::KBlock;
use ijk_kernels::contraction::microkernel::{MicroTile, Microkernel, smallest};
use ijk_kernels::contraction::word::ElementWord;
use ijk_kernels::tuning::time::PREFETCHED_PANELS;
use std::ptr;

impl<'a> Gemm<'a> {
    /// Computes the tiles of one lhs panel by several rhs panels.
    ///
    /// # Safety
    /// As for [`round`](Self::round); the panels are packed.
    pub(crate) unsafe fn strip<W: ElementWord>(
        &self,
        steps: &KBlock,
        left: Panel,
        right: &[Panel],
        out: &TileOutput,
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.strips::<W>(steps, &[(left, PrefetchLines::nothing())], right, out) };
    }

    /// Computes the tiles of several lhs panels by several rhs panels, with prefetch. The lhs panels form the inner
    /// loop, since their tiles are adjacent in the output.
    ///
    /// # Safety
    /// As for [`round`](Self::round); the panels are packed.
    pub(crate) unsafe fn strips<W: ElementWord>(
        &self,
        steps: &KBlock,
        left: &[(Panel, PrefetchLines)],
        right: &[Panel],
        out: &TileOutput,
    ) {
        let each = steps.len().div_ceil(right.len().max(1));
        let mut tiles: PanelGroup<_> =
            left.iter().map(|left| self.tile(steps, left, out)).collect();
        let mut entries = PanelGroup::<Microkernel>::new();
        for (n, panel) in right.iter().enumerate() {
            // Selecting a microkernel takes longer than a few of its steps, so it is done once for panels of the same
            // kind.
            if n == 0 || !panel.is_like(&right[n - 1]) {
                entries = left.iter().map(|(left, _)| self.entry(left, panel)).collect();
            }
            for (((rows, ahead), (place, tile)), &entry) in
                left.iter().zip(&mut tiles).zip(&entries)
            {
                if self.is_mirrored(rows, panel) {
                    continue;
                }
                let all = if ahead.lines.is_empty() { 0 } else { steps.len() };
                tile.prefetch_start = (n * each).min(all);
                tile.prefetch_steps = ((n + 1) * each).min(all) - tile.prefetch_start;
                // SAFETY: guaranteed by the caller.
                unsafe { self.compute::<W>(entry, tile, panel, (*place, out.columns)) };
            }
        }
    }

    /// Returns true if the next lhs panel is prefetched during a tile: with several batches, if lhs is far larger than
    /// the output, if it is out of cache and k is short, if it is packed again for each range of columns, or if columns
    /// are closer to each other in the output than rows.
    pub(crate) fn prefetches_lhs(&self) -> bool {
        let distance = |bundle: &Bundle, n: usize| {
            let far = bundle.offset(TensorId::Out, n.min(bundle.len().saturating_sub(1)));
            far.unsigned_abs()
        };
        let Problem { m, n, k, .. } = self.problem;
        let batches = self.tensors.next.is_some();
        let soon = self.blocking.out_of_l2 && n.len() <= PREFETCHED_PANELS * self.blocking.nr;
        batches
            || soon
            || self.blocking.ranges > 1
            || k.len() / 2 >= n.len()
            || distance(n, self.blocking.nr) < distance(m, self.blocking.mr)
    }

    /// The microkernel for an lhs and an rhs panel.
    pub(crate) fn entry(&self, left: &Panel, right: &Panel) -> Microkernel {
        let algebra = &self.problem.algebra;
        // The microkernel must not write beyond panels that are filled up.
        let groups = left.count.div_ceil(algebra.lanes)..=self.blocking.mr / algebra.lanes;
        let columns = right.count..=self.blocking.nr;
        if right.in_place {
            let windows = self.blocking.unpacked_rhs.is_some_and(|rhs| rhs.windows);
            let entries = if windows { algebra.tiles.windows } else { algebra.tiles.rhs_in_place };
            return smallest(entries, groups, columns);
        }
        let fast = algebra.guarded && (algebra.nan_free)(left.flags, right.flags);
        let entries = if fast { algebra.fast.packed } else { algebra.tiles.packed };
        let first = entries[0];
        match left.count == first.groups * algebra.lanes && right.count == first.columns {
            true => first,
            false => smallest(entries, groups, columns),
        }
    }

    /// The arguments that all tiles of an lhs panel (packed, or rows in place) have in common, and their place in the
    /// output.
    pub(crate) fn tile<'o>(
        &self,
        steps: &KBlock,
        (left, ahead): &(Panel, PrefetchLines),
        out: &'o TileOutput,
    ) -> (TileRows<'o>, MicroTile) {
        let tile = MicroTile {
            k: steps.len(),
            left: left.data,
            left_step: match self.blocking.unpacked_lhs() {
                Some(lhs) if left.in_place => lhs.step,
                _ => self.blocking.mr,
            },
            left_offsets: steps.offsets(TensorId::Left).as_ptr(),
            prefetches_rows: self.blocking.out_of_l2,
            prefetch_start: 0,
            prefetch_steps: 0,
            prefetch_lines: (ahead.lines.as_ptr(), ahead.lines.len()),
            prefetch_base: ahead.from,
            right: ptr::null(),
            right_step: self.blocking.nr,
            column_stride: self.blocking.unpacked_rhs.map_or(1, |rhs| rhs.column_stride),
            right_offsets: steps.offsets(TensorId::Right).as_ptr(),
            out: self.tensors.out,
            columns: ptr::null(),
            width: 0,
            rows: left.count,
            accumulate: steps.accumulate,
            identity: self.problem.algebra.identity.0.as_ptr(),
        };
        (TileRows::new(out.rows, left.start, left.count), tile)
    }

    /// Computes the tile of an lhs panel by an rhs panel.
    ///
    /// # Safety
    /// As for [`gemm`](super::gemm()); the microkernel reads such panels.
    #[inline(always)]
    pub(crate) unsafe fn compute<W: ElementWord>(
        &self,
        entry: Microkernel,
        tile: &mut MicroTile,
        right: &Panel,
        (place, columns): (TileRows, &ColumnOffsets),
    ) {
        let columns = columns.at(right.start, right.count);
        tile.right = right.data;
        tile.right_step = if right.in_place { 1 } else { self.blocking.nr };
        (tile.columns, tile.width) = (columns.as_ptr(), columns.len());
        // SAFETY: the microkernel's level is the context's; the output has these rows and columns.
        unsafe { place.write::<W>(self.tensors, entry, tile, columns) };
    }
}
