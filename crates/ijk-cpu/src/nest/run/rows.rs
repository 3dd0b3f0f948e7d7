//! Execution of the rows of a tile.

use super::super::program::{OffsetCheck, Slot};
use super::super::reduce::Accumulators;
use super::super::rows::{Batch, RowBases, RowSpec};
use super::{Worker, check_offsets};
use ijk_kernels::tile::{all_hold, fault};

impl Worker<'_> {
    /// The rows of the present tile and their origins, if all offsets are in bounds; otherwise a fault is recorded.
    /// Affine offsets are checked with the nest.
    ///
    /// # Safety
    /// As for [`run`](Self::run); the tile's instructions have run.
    unsafe fn batch(&mut self, rows: &RowSpec) -> Option<(Batch, RowBases)> {
        let slot = |slot: Slot| self.slots[slot as usize].cast_const();
        let check = |range: &Option<OffsetCheck>, offsets: Slot| {
            let offsets = slot(offsets).cast::<i64>();
            // SAFETY: offsets are computed, one for each point.
            range.as_ref().map_or(0, |r| unsafe { check_offsets(r, self.points, offsets, 0) })
        };
        let read = rows.sources.iter().map(|source| check(&source.readable, source.from));
        let faults = read.fold(check(&rows.writable, rows.to), |all, fault| all | fault);
        let columns = rows.slots().skip(usize::from(rows.mask.is_some())).map(slot).collect();
        let mask = rows.mask.map(|mask| slot(mask).cast());
        // SAFETY: the mask is computed, a bool for each point.
        let mask = mask.filter(|&mask| !unsafe { all_hold(mask, self.points) });
        self.faults |= faults;
        let batch = Batch { count: self.points, mask, columns };
        let mut bases = self.nest.row_bases(rows, &self.bases);
        bases.out = self.out.unwrap_or(bases.out);
        (self.faults & fault::OFFSET == 0).then_some((batch, bases))
    }

    /// Stores or combines the rows of the present tile, or lists them.
    ///
    /// # Safety
    /// As for [`run`](Self::run); the tile's instructions have run.
    pub(super) unsafe fn move_rows(&mut self, rows: &RowSpec) {
        // SAFETY: guaranteed by the caller. Rows of different workers are disjoint.
        unsafe {
            let Some((batch, bases)) = self.batch(rows) else { return };
            if let Some(list) = &mut self.list {
                return list.add(&batch, rows.ascends);
            }
            let (each, registers) = (rows.at_a_time(), self.scratch.wrapping_add(rows.registers));
            for first in (0..batch.count).step_by(each) {
                let count = each.min(batch.count - first);
                rows.run(&batch.part(rows, first, count), &bases, &self.own, registers);
                if count < batch.count && self.pace.ends_after(count * rows.length) {
                    return;
                }
            }
        }
    }

    /// Combines the rows of the present tile, those of each output in turn.
    ///
    /// # Safety
    /// As for [`reduce_range`](Self::reduce_range); the tile's instructions have run.
    pub(super) unsafe fn sum_rows(&mut self, rows: &RowSpec, sums: &mut Accumulators<'_>) {
        let outputs: usize = self.kept_extents().iter().product();
        let each = self.points / outputs.max(1);
        let registers = self.scratch.wrapping_add(rows.registers);
        // SAFETY: guaranteed by the caller; accumulators have a row for each output.
        unsafe {
            let Some((batch, bases)) = self.batch(rows) else { return };
            if rows.along && each == 1 {
                sums.take_by(1, |acc| rows.sum_each(&batch, &bases, acc, registers));
                return;
            }
            let step = if rows.along { rows.size } else { rows.length * rows.size };
            let mut first = 0;
            while first < each {
                let count = sums.room().min(each - first);
                sums.take_by(count, |acc| {
                    for output in 0..outputs {
                        let start = output * each + first;
                        let sum = acc.wrapping_add(output * step);
                        rows.sum((&batch, start..start + count), &bases, sum, registers);
                    }
                });
                first += count;
            }
        }
    }
}
