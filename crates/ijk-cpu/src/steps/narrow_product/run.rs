//! Execution of products of narrow elements.

use super::NarrowProductProgram;
use super::kernel::{COLUMNS, Format, ROWS, Tile, TileStart};
use super::pack::{PanelSource, pitch};
use crate::error::RunError;
use crate::runtime::scratch::ScratchPool;
use crate::runtime::threads::{Workers, cut};
use ijk_kernels::lines::prefetch_all_far;
use ijk_kernels::tuning::order::NARROW_GROUPS;
use ijk_kernels::tuning::time::{
    NARROW_COLUMNS, NARROW_GROUP, NARROW_ROWS, NARROW_SHARED_BYTES, PACKED_PANELS, UNITS_PER_THREAD,
};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Addresses of the origins, of a batch.
#[derive(Clone, Copy)]
struct NarrowTensors {
    left: *const u8,
    right: *const u8,
    out: *mut u8,
}

// SAFETY: these are only pointers; each task writes its own part of the output.
unsafe impl Sync for NarrowTensors {}

/// Columns of the output and the steps that are added to them.
#[derive(Clone, Copy)]
struct NarrowBlock<'a> {
    tensors: NarrowTensors,
    columns: &'a [[isize; 2]],
    steps: &'a [[isize; 2]],
    /// True if former steps are in the output.
    adds: bool,
    /// Packed panels of the right operand, and the numbers added to their columns.
    right: *mut u32,
    of_columns: *mut i32,
}

// SAFETY: each task packs its own panels; they are read only when all are packed.
unsafe impl Sync for NarrowBlock<'_> {}

impl NarrowBlock<'_> {
    /// The panel of the right operand of an index.
    fn panel(&self, groups: usize, n: usize) -> *mut u32 {
        self.right.wrapping_add(n * pitch(groups) * COLUMNS)
    }
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
        let threads = if workers.are_worth(self.cost) { workers.threads() } else { 1 };
        let blocks = self.columns.len().div_ceil(NARROW_COLUMNS);
        let units = self.batches.len() * blocks;
        let few = units < threads * UNITS_PER_THREAD;
        let panels = self.rows.len().div_ceil(ROWS);
        // Threads pack what is small rather than wait for each other.
        let parts = if few && !self.shares() { panels.min(threads.div_ceil(units)) } else { 1 };
        let refused = AtomicUsize::new(0);
        let unit = |n: usize, workers: &Workers| {
            let tensors = &tensors;
            let (part, n) = (n % parts, n / parts);
            let offsets = self.batches[n / blocks];
            let of_batch = NarrowTensors {
                left: tensors.left.wrapping_offset(offsets[0]),
                right: tensors.right.wrapping_offset(offsets[1]),
                out: tensors.out.wrapping_offset(offsets[2]),
            };
            let first = n % blocks * NARROW_COLUMNS;
            let columns = &self.columns[first..self.columns.len().min(first + NARROW_COLUMNS)];
            let rows = &self.rows[panels_of(self.rows.len(), part, parts)];
            // SAFETY: guaranteed by the caller; other units have other rows or columns.
            let done = unsafe { self.unit(of_batch, [rows, columns], workers, scratch) };
            if let Err(bytes) = done {
                refused.store(bytes, Ordering::Relaxed);
            }
        };
        match few && self.shares() {
            // All threads share what is packed of the right operand.
            true => (0..units).for_each(|n| unit(n, &workers.at_most(threads))),
            false => {
                let one = workers.at_most(1);
                workers.at_most(threads).parallel_for(units * parts, |n| unit(n, &one));
            }
        }
        match refused.into_inner() {
            0 => Ok(()),
            bytes => Err(RunError::OutOfMemory(bytes)),
        }
    }

    /// Computes some rows and columns of a batch of the output. The right operand is packed once for all rows.
    ///
    /// # Errors
    /// If memory for panels cannot be allocated: the number of bytes.
    ///
    /// # Safety
    /// As for [`run`](Self::run); no other task writes these rows and columns.
    unsafe fn unit(
        &self,
        tensors: NarrowTensors,
        [rows, columns]: [&[[isize; 2]]; 2],
        workers: &Workers,
        scratch: &ScratchPool,
    ) -> Result<(), usize> {
        let memory = scratch.try_take(self.right_bytes()).ok_or(self.right_bytes())?;
        let of_columns = memory.as_ptr().cast::<i32>();
        let right = memory.as_ptr().cast::<u32>().wrapping_add(self.padded_columns());
        let panels = columns.len().div_ceil(COLUMNS);
        let parts = rows.len().div_ceil(NARROW_ROWS).next_multiple_of(workers.threads());
        let parts = parts.min(rows.len().div_ceil(ROWS));
        let refused = AtomicUsize::new(0);
        for (number, steps) in self.steps.chunks(self.block_steps()).enumerate() {
            let adds = number > 0;
            let block = NarrowBlock { tensors, columns, steps, adds, right, of_columns };
            let packing = (panels * COLUMNS * self.groups(steps.len())) as f64 * NARROW_GROUP;
            workers.parallel_ranges(panels.div_ceil(PACKED_PANELS), packing, |part| {
                let panels = part.start * PACKED_PANELS..panels.min(part.end * PACKED_PANELS);
                // SAFETY: guaranteed by the caller; each task packs other panels.
                unsafe { self.pack_right(&block, panels) }
            });
            workers.parallel_for(parts, |n| {
                let Some(memory) = scratch.try_take(self.left_bytes()) else {
                    return refused.store(self.left_bytes(), Ordering::Relaxed);
                };
                let rows = &rows[panels_of(rows.len(), n, parts)];
                // SAFETY: guaranteed by the caller; all panels are packed, and the memory has room for those of the
                // rows, which no other task computes.
                unsafe { self.multiply(&block, rows, memory.as_ptr().cast()) };
            });
        }
        match refused.into_inner() {
            0 => Ok(()),
            bytes => Err(bytes),
        }
    }

    /// Packs panels of the right operand.
    ///
    /// # Safety
    /// As for [`unit`](Self::unit); no other task accesses these panels.
    unsafe fn pack_right(&self, block: &NarrowBlock<'_>, panels: Range<usize>) {
        let groups = self.groups(block.steps.len());
        let end = block.columns.len().min(panels.end * COLUMNS);
        let columns = of(&block.columns[panels.start * COLUMNS..end], 0);
        let steps = of(block.steps, 1);
        let source = self.source(1, block.tensors.right, &columns, &steps);
        // SAFETY: guaranteed by the caller.
        unsafe {
            (self.kernels.pack_columns)(self.format, &source, block.panel(groups, panels.start));
            if self.is_shifted(0) {
                for n in panels {
                    let sums = block.of_columns.wrapping_add(n * COLUMNS);
                    let sums = std::slice::from_raw_parts_mut(sums, COLUMNS);
                    (self.kernels.sums_of_columns)(block.panel(groups, n), groups, sums);
                    sums.iter_mut().for_each(|sum| *sum = sum.wrapping_mul(-128));
                }
            }
        }
    }

    /// Multiplies rows by packed columns.
    ///
    /// # Safety
    /// As for [`unit`](Self::unit); the columns are packed, `left` has room for panels of the rows, and no other task
    /// writes these rows.
    unsafe fn multiply(&self, block: &NarrowBlock<'_>, rows: &[[isize; 2]], left: *mut u32) {
        let groups = self.groups(block.steps.len());
        let (lefts, steps) = (of(rows, 0), of(block.steps, 0));
        let source = self.source(0, block.tensors.left, &lefts, &steps);
        let panel = |m: usize| left.wrapping_add(m * pitch(groups) * ROWS);
        let mut tile: Tile = [[0; COLUMNS]; ROWS];
        // SAFETY: guaranteed by the caller.
        unsafe {
            (self.kernels.pack_rows)(self.format, &source, left);
            let of_rows = self.sums_of_rows(panel, rows.len(), groups, block.steps.len());
            for (n, columns) in block.columns.chunks(COLUMNS).enumerate() {
                let right = block.panel(groups, n);
                let of_columns = match self.is_shifted(0) {
                    true => &*block.of_columns.wrapping_add(n * COLUMNS).cast::<[i32; COLUMNS]>(),
                    false => &[0; COLUMNS],
                };
                for (m, rows) in rows.chunks(ROWS).enumerate() {
                    self.ask_for(block, rows, columns);
                    let start = TileStart { rows: &of_rows[m], columns: of_columns };
                    (self.kernels.multiply)(groups, panel(m), right, start, &mut tile);
                    self.store(&tile, block.tensors.out, rows, columns, block.adds);
                }
            }
        }
    }

    /// Prefetches the place of a tile, which is written only when its sums are complete.
    fn ask_for(&self, block: &NarrowBlock<'_>, rows: &[[isize; 2]], columns: &[[isize; 2]]) {
        if self.dense_columns {
            for row in rows {
                let at = block.tensors.out.wrapping_offset(row[1] + columns[0][1]);
                prefetch_all_far(at, columns.len() * size_of::<u32>());
            }
        }
    }

    /// Returns true if an operand's bytes are packed with the other sign: the left one's if they are signed, the right
    /// one's if they are not.
    fn is_shifted(&self, n: usize) -> bool {
        self.format == Format::Bytes && self.signed[n] == (n == 0)
    }

    fn source<'a>(
        &self,
        n: usize,
        ptr: *const u8,
        rows: &'a [isize],
        steps: &'a [isize],
    ) -> PanelSource<'a> {
        let (size, signed) = (self.sizes[n], self.signed[n]);
        PanelSource {
            ptr,
            rows,
            steps,
            size,
            signed,
            flip: if self.is_shifted(n) { 0x80 } else { 0 },
        }
    }

    /// Numbers added to each row of the output to undo what was added to bytes: the left operand is `x + 128` if it is
    /// signed, the right `y - 128` if it is not. Columns have their part in [`pack_right`](Self::pack_right).
    ///
    /// # Safety
    /// The panels of these rows are packed, with that many groups.
    unsafe fn sums_of_rows(
        &self,
        panel: impl Fn(usize) -> *mut u32,
        rows: usize,
        groups: usize,
        steps: usize,
    ) -> Vec<[i32; ROWS]> {
        let mut sums = vec![[0; ROWS]; rows.div_ceil(ROWS)];
        if self.is_shifted(1) {
            let both = if self.is_shifted(0) { (steps as i32).wrapping_mul(128 * 128) } else { 0 };
            for (n, part) in sums.iter_mut().enumerate() {
                // SAFETY: guaranteed by the caller.
                unsafe { (self.kernels.sums_of_rows)(panel(n), groups, part) };
                part.iter_mut().for_each(|sum| *sum = sum.wrapping_mul(128).wrapping_sub(both));
            }
        }
        sums
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
            let at = out.wrapping_offset(columns[0][1]);
            // SAFETY: contiguous elements of each row of the output.
            unsafe { (self.kernels.store_tile)(tile, at, rows, adds, self.format) };
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

    /// Returns true if threads share the packed right operand.
    pub(super) fn shares(&self) -> bool {
        self.right_bytes() > NARROW_SHARED_BYTES
    }

    /// Groups of a number of steps.
    fn groups(&self, steps: usize) -> usize {
        steps.div_ceil(self.format.steps())
    }

    /// Steps of a block.
    pub(super) fn block_steps(&self) -> usize {
        NARROW_GROUPS * self.format.steps()
    }

    /// Groups from one panel to the next, at most.
    fn pitch(&self) -> usize {
        pitch(self.groups(self.steps.len().min(self.block_steps())))
    }

    /// Bytes of the panels of the left operand of a task.
    pub(super) fn left_bytes(&self) -> usize {
        let rows = self.rows.len().min(NARROW_ROWS).next_multiple_of(ROWS);
        size_of::<u32>() * rows * self.pitch()
    }

    /// Columns of the panels of the right operand.
    fn padded_columns(&self) -> usize {
        self.columns.len().min(NARROW_COLUMNS).next_multiple_of(COLUMNS)
    }

    /// Bytes of the panels of the right operand, and of what belongs to their columns.
    pub(super) fn right_bytes(&self) -> usize {
        size_of::<u32>() * self.padded_columns() * (1 + self.pitch())
    }
}

/// The part of an index of rows in parts of about as many panels.
fn panels_of(rows: usize, part: usize, parts: usize) -> Range<usize> {
    let at = |part: usize| rows.min(cut(rows.div_ceil(ROWS), part, parts) * ROWS);
    at(part)..at(part + 1)
}

/// The offsets of a list in one operand.
fn of(all: &[[isize; 2]], n: usize) -> Vec<isize> {
    all.iter().map(|each| each[n]).collect()
}
