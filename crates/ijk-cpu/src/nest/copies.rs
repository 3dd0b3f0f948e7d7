//! Privatised accumulation: values are combined at computed places in copies of a small array.
//!
//! If the result is independent of the order of combination, as for integers or maxima, each thread combines its part
//! of the values in its own copy of the array, and the copies are combined at the end. Neither lists nor sorting are
//! needed then. Sums that are rounded have as many parts for any number of threads, unless destinations are in ascending
//! order: those are as fast without copies.

use super::launch::Launch;
use super::rows::{PrivateCopies, RowSpec};
use super::sorted;
use crate::error::RunError;
use crate::threads::cut;
use ijk_kernels::tile::TileKernel;
use ijk_kernels::tuning::time::{PRIVATE_COPY_BYTES, PRIVATE_COPY_VALUES};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// An array that is copied for each part of the values except one.
pub(super) struct Copies<'a> {
    rows: &'a RowSpec,
    /// Offset of the first element, and number of elements.
    first: i64,
    elements: usize,
    /// The value that leaves others as they are, and the kernel that fills memory with it.
    empty: ([u64; 2], TileKernel),
    parts: usize,
}

/// Memory that is divided among tasks.
#[derive(Clone, Copy)]
struct TaskMemory(*mut u8);

// SAFETY: each task dereferences pointers to its own part only.
unsafe impl Sync for TaskMemory {}

impl TaskMemory {
    /// The address `bytes` bytes further on.
    fn at(self, bytes: usize) -> *mut u8 {
        self.0.wrapping_add(bytes)
    }
}

impl Launch<'_> {
    /// The copies for these rows, if privatisation pays.
    pub(super) fn copies<'r>(&self, rows: &'r RowSpec) -> Option<Copies<'r>> {
        let PrivateCopies { empty, parts } = rows.copies?;
        let reach = rows.reach();
        let elements = usize::try_from(reach.end.checked_sub(reach.start)?).ok()?;
        let bytes = elements.checked_mul(rows.size)?;
        let others = parts.unwrap_or(self.workers.threads()) - 1;
        let all = elements.saturating_mul(others + 1).saturating_mul(PRIVATE_COPY_VALUES);
        let few = parts.is_some()
            || bytes <= PRIVATE_COPY_BYTES && all <= self.points().saturating_mul(rows.length);
        // The estimate of scratch memory counts lists, so copies must not exceed them.
        let room = bytes.saturating_mul(others) <= sorted::bytes(rows, self.points());
        let copies = Copies { rows, first: reach.start, elements, empty, parts: others + 1 };
        (few && room).then_some(copies)
    }

    /// Executes some blocks of a nest whose rows are combined with the output, each part in its own copy.
    ///
    /// # Safety
    /// As for [`run`](Self::run); the nest moves rows as `copies` says.
    pub(super) unsafe fn run_copies(
        &self,
        copies: &Copies<'_>,
        blocks: Range<usize>,
    ) -> Result<u32, RunError> {
        let Copies { rows, first, elements, empty: (identity, splat), parts } = *copies;
        let parts = parts.min(blocks.len());
        let bytes = (elements * rows.size).next_multiple_of(64);
        let room = bytes * (parts - 1);
        let taken = self.scratch.try_take(room).ok_or(RunError::OutOfMemory(room))?;
        let memory = TaskMemory(taken.as_ptr());
        let faults = AtomicU32::new(0);
        let before = (first as isize).wrapping_mul(rows.size as isize);
        self.each(parts, |part| {
            let bound = |part: usize| blocks.start + cut(blocks.len(), part, parts);
            let own = bound(part)..bound(part + 1);
            // SAFETY: guaranteed by the caller; the first part has the output to itself, and every other one its copy.
            unsafe {
                self.work(&faults, |worker| {
                    if part > 0 {
                        let copy = memory.at((part - 1) * bytes);
                        let value = identity.as_ptr().cast();
                        splat(elements, copy, value, value, value);
                        worker.out = Some(copy.wrapping_offset(before.wrapping_neg()));
                    }
                    worker.run(own);
                });
            }
        });
        if faults.load(Ordering::Relaxed) != 0 || self.workers.have_ended() {
            return self.settle(faults);
        }
        let out = self.nest.row_bases(rows, self.bases).out.wrapping_offset(before);
        for part in 1..parts {
            if let Some(fold) = &rows.fold {
                // SAFETY: all parts are done; `out` and each copy have the elements that rows may reach.
                unsafe { (fold.down)(1, elements, out, memory.at((part - 1) * bytes)) };
            }
        }
        self.settle(faults)
    }
}
