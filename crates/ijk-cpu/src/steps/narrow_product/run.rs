//! Execution of products of narrow elements.

use super::NarrowProductProgram;
use super::kernel::{COLUMNS, Format, ROWS, Tile};
use super::pack::{PanelSource, pitch};
use crate::error::RunError;
use crate::runtime::scratch::ScratchPool;
use crate::runtime::threads::Workers;
use crate::tuning::order::NARROW_STEPS;
use crate::tuning::time::{NARROW_COLUMNS, NARROW_ROWS};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Addresses of the origins.
#[derive(Clone, Copy)]
struct NarrowTensors {
    left: *const u8,
    right: *const u8,
    out: *mut u8,
}

// SAFETY: these are only pointers; each task writes its own part of the output.
unsafe impl Sync for NarrowTensors {}

/// Memory of a task.
struct Panels {
    left: *mut u32,
    right: *mut u32,
}

impl NarrowProductProgram {
    /// Computes the product.
    ///
    /// # Errors
    /// If memory for panels cannot be allocated.
    ///
    /// # Safety
    /// `bases` are the buffers that the nest was checked against: all elements that it reads are initialised, and no
    /// other thread accesses the output.
    pub(in crate::steps) unsafe fn run(
        &self,
        bases: &[*mut u8],
        workers: &Workers,
        scratch: &ScratchPool,
    ) -> Result<(), RunError> {
        let tensors = NarrowTensors {
            left: self.origins[0].of(bases),
            right: self.origins[1].of(bases),
            out: self.out.of(bases),
        };
        let columns = self.columns.len().div_ceil(NARROW_COLUMNS);
        let each = self.block_rows(workers.threads().div_ceil(self.batches.len() * columns));
        let rows = self.rows.len().div_ceil(each);
        let refused = AtomicUsize::new(0);
        let task = |n: usize| {
            let tensors = &tensors;
            let (batch, place) = (n / (rows * columns), n % (rows * columns));
            let Some(memory) = scratch.try_take(self.bytes()) else {
                return refused.store(self.bytes(), Ordering::Relaxed);
            };
            let left = memory.as_ptr().cast::<u32>();
            let panels = Panels { left, right: left.wrapping_add(self.left_groups()) };
            let offsets = self.batches[batch];
            let part = NarrowTensors {
                left: tensors.left.wrapping_offset(offsets[0]),
                right: tensors.right.wrapping_offset(offsets[1]),
                out: tensors.out.wrapping_offset(offsets[2]),
            };
            let columns = block(&self.columns, place / rows, NARROW_COLUMNS);
            let rows = block(&self.rows, place % rows, each);
            // SAFETY: guaranteed by the caller; the memory has room for the panels of a block.
            unsafe { self.block(part, rows, columns, &panels) };
        };
        match workers.are_worth(self.cost) {
            true => workers.parallel_for(self.batches.len() * rows * columns, task),
            false => workers.at_most(1).parallel_for(self.batches.len() * rows * columns, task),
        }
        match refused.into_inner() {
            0 => Ok(()),
            bytes => Err(RunError::OutOfMemory(bytes)),
        }
    }

    /// Computes a block of the output.
    ///
    /// # Safety
    /// As for [`multiply`](Self::multiply); no other task writes the block.
    unsafe fn block(
        &self,
        tensors: NarrowTensors,
        rows: &[[isize; 2]],
        columns: &[[isize; 2]],
        panels: &Panels,
    ) {
        let of = |all: &[[isize; 2]], n: usize| all.iter().map(|each| each[n]).collect::<Vec<_>>();
        let (lefts, rights) = (of(rows, 0), of(columns, 0));
        let mut tile: Tile = [[0; COLUMNS]; ROWS];
        for (number, steps) in self.steps.chunks(NARROW_STEPS).enumerate() {
            let (own, others) = (of(steps, 0), of(steps, 1));
            let left = self.source(0, tensors.left, &lefts, &own);
            let right = self.source(1, tensors.right, &rights, &others);
            let groups = steps.len().div_ceil(self.format.steps());
            // SAFETY: guaranteed by the caller.
            unsafe {
                (self.kernels.pack_rows)(self.format, &left, panels.left);
                (self.kernels.pack_columns)(self.format, &right, panels.right);
                let shifts =
                    self.shifts(panels, [rows.len(), columns.len()], [groups, steps.len()]);
                for (n, columns) in columns.chunks(COLUMNS).enumerate() {
                    let right = panels.right.add(n * pitch(groups) * COLUMNS).cast_const();
                    for (m, rows) in rows.chunks(ROWS).enumerate() {
                        let left = panels.left.add(m * pitch(groups) * ROWS).cast_const();
                        (self.kernels.multiply)(groups, left, right, &mut tile);
                        if let Some([of_rows, of_columns]) = &shifts {
                            let (own, others) = (&of_rows[m * ROWS..], &of_columns[n * COLUMNS..]);
                            (self.kernels.shift)(&mut tile, own, others);
                        }
                        self.store(&tile, tensors.out, rows, columns, number > 0);
                    }
                }
            }
        }
    }

    fn source<'a>(
        &self,
        n: usize,
        ptr: *const u8,
        rows: &'a [isize],
        steps: &'a [isize],
    ) -> PanelSource<'a> {
        let (size, signed) = (self.sizes[n], self.signed[n]);
        let flips = self.format == Format::Bytes && signed == (n == 0);
        PanelSource { ptr, rows, steps, size, signed, flip: if flips { 0x80 } else { 0 } }
    }

    /// Values added to each row and to each column of the output to undo what was added to bytes: the left operand is
    /// `x + 128` if it is signed, the right `y - 128` if it is not. `None` if nothing was.
    ///
    /// # Safety
    /// The panels of these rows and columns are packed, with that many groups.
    unsafe fn shifts(
        &self,
        panels: &Panels,
        [rows, columns]: [usize; 2],
        [groups, steps]: [usize; 2],
    ) -> Option<[Vec<i32>; 2]> {
        let (less, more) = (self.signed[0], !self.signed[1]);
        if self.format != Format::Bytes || !(less || more) {
            return None;
        }
        let both = if less && more { (steps as i32).wrapping_mul(128 * 128) } else { 0 };
        let mut of_rows = vec![0; rows.next_multiple_of(ROWS)];
        let mut of_columns = vec![0; columns.next_multiple_of(COLUMNS)];
        for (n, part) in of_rows.chunks_mut(ROWS).enumerate().filter(|_| more) {
            // SAFETY: guaranteed by the caller.
            unsafe {
                (self.kernels.sums_of_rows)(panels.left.add(n * pitch(groups) * ROWS), groups, part)
            };
            part.iter_mut().for_each(|sum| *sum = sum.wrapping_mul(128).wrapping_sub(both));
        }
        for (n, part) in of_columns.chunks_mut(COLUMNS).enumerate().filter(|_| less) {
            // SAFETY: guaranteed by the caller.
            unsafe {
                (self.kernels.sums_of_columns)(
                    panels.right.add(n * pitch(groups) * COLUMNS),
                    groups,
                    part,
                )
            };
            part.iter_mut().for_each(|sum| *sum = sum.wrapping_mul(-128));
        }
        Some([of_rows, of_columns])
    }

    /// Writes a tile, or adds it to the output.
    ///
    /// # Safety
    /// As for [`block`](Self::block).
    unsafe fn store(
        &self,
        tile: &Tile,
        out: *mut u8,
        rows: &[[isize; 2]],
        columns: &[[isize; 2]],
        adds: bool,
    ) {
        if columns.len() == COLUMNS && self.dense_columns {
            for (sums, row) in tile.iter().zip(rows) {
                let at = out.wrapping_offset(row[1] + columns[0][1]);
                // SAFETY: contiguous elements of a row of the output.
                unsafe { (self.kernels.store_row)(sums, at.cast(), adds, self.format) };
            }
            return;
        }
        for (sums, row) in tile.iter().zip(rows) {
            for (&sum, column) in sums.iter().zip(columns) {
                let at = out.wrapping_offset(row[1] + column[1]).cast::<u32>();
                // SAFETY: an element of the output.
                unsafe { at.write(if adds { self.format.sum(at.read(), sum) } else { sum }) };
            }
        }
    }

    /// Rows of a block: all blocks have about as many, and there are at least `parts` of them.
    fn block_rows(&self, parts: usize) -> usize {
        let parts = parts.max(self.rows.len().div_ceil(NARROW_ROWS));
        self.rows.len().div_ceil(parts).next_multiple_of(ROWS)
    }

    /// Groups of the left operand's panels.
    fn left_groups(&self) -> usize {
        let rows = self.rows.len().min(NARROW_ROWS).next_multiple_of(ROWS);
        rows * self.pitch()
    }

    /// Groups from one panel to the next, at most.
    fn pitch(&self) -> usize {
        pitch(self.steps.len().min(NARROW_STEPS).div_ceil(self.format.steps()))
    }

    /// Bytes of the panels of a task.
    pub(super) fn bytes(&self) -> usize {
        let columns = self.columns.len().min(NARROW_COLUMNS).next_multiple_of(COLUMNS);
        4 * (self.left_groups() + columns * self.pitch())
    }
}

/// The part of index `n` of a list in parts of `size`.
fn block(all: &[[isize; 2]], n: usize, size: usize) -> &[[isize; 2]] {
    &all[n * size..all.len().min((n + 1) * size)]
}
