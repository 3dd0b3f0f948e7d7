//! Execution of reductions: tiles to accumulators, and accumulators to the output.

use super::super::program::*;
use super::super::reduce::Accumulators;
use super::{Axes, Worker};
use crate::copy::{Copier, CopySide, dense_strides};
use ijk_kernels::tile::{FoldKernels, any_of, fault};
use smallvec::smallvec;
use std::ops::Range;

impl Worker<'_> {
    /// Reduces one chunk of the reduced blocks of one block of outputs to `result`.
    ///
    /// # Safety
    /// As for [`new`](Self::new); `result` has [`ReduceSpec::stride`] bytes that only this worker accesses.
    pub unsafe fn run_chunk(&mut self, kept: usize, chunk: usize, result: *mut u8) {
        let Sink::Reduce(spec) = &self.nest.sink else { return };
        self.seek(&self.nest.geometry.kept, kept);
        let blocks: usize =
            self.nest.geometry.reduced.iter().map(|&a| self.nest.blocks[a]).product();
        let start = chunk * spec.chunk;
        // SAFETY: guaranteed by the caller; the chunk's blocks exist.
        unsafe { self.reduce_range(spec, start..blocks.min(start + spec.chunk), result) };
    }

    /// Writes the results of one block of outputs.
    ///
    /// # Safety
    /// As for [`run`](Self::run); `result` holds the block's reduced values.
    pub unsafe fn finish_block(&mut self, kept: usize, result: *mut u8) {
        let Sink::Reduce(spec) = &self.nest.sink else { return };
        self.seek(&self.nest.geometry.kept, kept);
        self.measure();
        // SAFETY: guaranteed by the caller.
        unsafe { self.finish(spec, result) };
    }

    /// Address of this worker's accumulators.
    pub(super) fn accumulators(&self, spec: &ReduceSpec) -> *mut u8 {
        self.scratch.wrapping_add(spec.accumulators)
    }

    /// Reduces a range of the reduced blocks into `result`.
    ///
    /// # Safety
    /// As for [`run`](Self::run); `result` has [`ReduceSpec::stride`] bytes that only this worker accesses, and may be
    /// the first accumulator.
    pub(super) unsafe fn reduce_range(
        &mut self,
        spec: &ReduceSpec,
        range: Range<usize>,
        result: *mut u8,
    ) {
        let loops = &self.nest.geometry.reduced;
        self.seek(loops, range.start);
        self.measure();
        let base = self.accumulators(spec);
        let outputs = self.outputs(spec);
        // SAFETY: the accumulators are in this worker's scratch memory.
        let mut sums = unsafe { Accumulators::new(spec, outputs, base) };
        let needed = spec.needed.as_ref();
        // SAFETY: the check of the nest ensures that the condition's elements exist for the whole domain.
        if needed.is_some_and(|place| unsafe { !self.is_needed(place) }) {
            // The accumulators hold the start.
        } else if let Some(rows) = self.nest.rows_in_place(spec) {
            // SAFETY: the present block is within the loops.
            unsafe { self.take_rows(&rows, range, &mut sums) };
        } else {
            // SAFETY: the present block is within the loops.
            unsafe { self.take_tiles(spec, range, &mut sums) };
        }
        // SAFETY: guaranteed by the caller.
        unsafe { sums.total(result) };
    }

    /// Returns true if a condition holds for an output of the present block.
    ///
    /// # Safety
    /// The condition's bools exist.
    unsafe fn is_needed(&self, condition: &Place) -> bool {
        let first = self.address(condition).cast_const();
        let strides = &condition.inner[self.kept.clone()];
        // SAFETY: guaranteed by the caller.
        unsafe { any_holds(first.cast(), self.kept_extents(), strides) }
    }

    /// Reduces a range of the reduced blocks tile by tile.
    ///
    /// # Safety
    /// As for [`reduce_range`](Self::reduce_range); the present block is the first of them.
    unsafe fn take_tiles(
        &mut self,
        spec: &ReduceSpec,
        range: Range<usize>,
        sums: &mut Accumulators<'_>,
    ) {
        let (loops, outputs) = (&self.nest.geometry.reduced, self.outputs(spec));
        for position in range {
            self.measure();
            let rows = self.points / outputs.max(1);
            // SAFETY: the present block is within the loops; the value has `rows` values for each output, in the order
            // of the geometry.
            unsafe {
                if !self.fold_tile(spec, rows, sums) {
                    self.compute();
                    let value = self.slots[self.nest.value as usize];
                    let (along, position) =
                        (self.nest.geometry.along, self.position(spec, position));
                    match &spec.rows {
                        Some(rows) => self.sum_rows(rows, sums),
                        None => sums.take(rows, value, along, position),
                    }
                }
            }
            if self.faults & fault::OFFSET != 0 || self.ends() {
                break;
            }
            self.advance(loops);
        }
    }

    /// Reduces a range of blocks that are rows in memory: as many at a time as fit the first accumulator.
    ///
    /// # Safety
    /// As for [`take_tiles`](Self::take_tiles).
    unsafe fn take_rows(
        &mut self,
        rows: &RowsInPlace<'_>,
        range: Range<usize>,
        sums: &mut Accumulators<'_>,
    ) {
        let loops = &self.nest.geometry.reduced;
        let mut left = range.len();
        while left > 0 {
            let count =
                left.min(sums.room()).min(self.nest.blocks[rows.along] - self.block[rows.along]);
            // SAFETY: these are rows of the loop, which the check of the nest covers.
            unsafe { sums.take_rows(&rows.fold, count, self.address(rows.place), rows.step) };
            self.block[rows.along] += count - 1;
            if self.pace.ends_after(count * self.points) {
                break;
            }
            self.advance(loops);
            left -= count;
        }
    }

    /// The first position of the present tile along the one reduced axis.
    fn position(&self, spec: &ReduceSpec, block: usize) -> i64 {
        match (&spec.reducer, &self.nest.geometry.reduced[..]) {
            (ReduceKernels::Arg(_), &[a]) => (block * self.nest.geometry.loops[a].tile) as i64,
            _ => 0,
        }
    }

    /// Outputs of the present tile.
    pub(super) fn outputs(&self, spec: &ReduceSpec) -> usize {
        self.kept_extents().iter().product::<usize>() * spec.row_outputs().unwrap_or(1)
    }

    /// Extents of these outputs: those of the kept axes, and of a row, if there are rows.
    fn output_extents(&self, spec: &ReduceSpec) -> Axes<usize> {
        let mut extents = Axes::from_slice(self.kept_extents());
        extents.extend(spec.row_outputs());
        extents
    }

    /// The extents of the present tile's kept axes.
    pub(super) fn kept_extents(&self) -> &[usize] {
        &self.extents[self.kept.clone()]
    }

    /// Writes reduced values to the output.
    ///
    /// # Safety
    /// As for [`run`](Self::run); `result` holds the present block's reduced values.
    pub(super) unsafe fn finish(&mut self, spec: &ReduceSpec, result: *mut u8) {
        if self.faults & fault::OFFSET != 0 {
            return;
        }
        let extents = self.output_extents(spec);
        let out = self.address(&self.nest.out);
        // SAFETY: only this worker accesses the block's elements of the output; `result` holds their values, and the
        // last accumulator is free.
        unsafe {
            let (values, size) = spec.values(result);
            if let Some(fold) = &spec.existing {
                let register = self.accumulators(spec).wrapping_add(spec.levels * spec.stride);
                combine(&spec.copier, fold, size, &extents, out, &spec.out, register, values);
                return;
            }
            let mut dense: Axes<isize> = smallvec![0; extents.len()];
            dense_strides(&extents, size, &mut dense);
            if dense[..] == spec.out[..] {
                let bytes = extents.iter().product::<usize>() * size;
                return std::ptr::copy_nonoverlapping(values.cast_const(), out, bytes);
            }
            let from = CopySide { ptr: values.cast_const(), strides: &dense };
            spec.copier.copy(&extents, CopySide { ptr: out, strides: &spec.out }, from);
        }
    }
}

/// Returns true if a bool at the strides is true.
///
/// # Safety
/// `first` is the first of these bools, all of which are initialised.
unsafe fn any_holds(first: *const bool, extents: &[usize], strides: &[isize]) -> bool {
    match (extents, strides) {
        // SAFETY: guaranteed by the caller.
        ([], _) | (_, []) => unsafe { first.read() },
        // SAFETY: guaranteed by the caller: they are contiguous.
        (&[extent], [1]) => unsafe { any_of(first, extent) },
        (&[extent, ref extents @ ..], &[stride, ref strides @ ..]) => {
            (0..extent as isize).any(|n| {
                // SAFETY: guaranteed by the caller.
                unsafe { any_holds(first.wrapping_offset(n * stride), extents, strides) }
            })
        }
    }
}

/// Combines values with the elements of the output, through a register.
///
/// # Safety
/// `out` has distinct elements at the strides, which no other thread accesses; `register` and `values` have one element
/// of `size` bytes for each.
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn combine(
    copier: &Copier,
    fold: &FoldKernels,
    size: usize,
    extents: &[usize],
    out: *mut u8,
    strides: &[isize],
    register: *mut u8,
    values: *const u8,
) {
    let mut dense: Axes<isize> = smallvec![0; extents.len()];
    dense_strides(extents, size, &mut dense);
    let n = extents.iter().product();
    // SAFETY: guaranteed by the caller.
    unsafe {
        if dense[..] == *strides {
            return (fold.down)(1, n, out, values);
        }
        let from = CopySide { ptr: out.cast_const(), strides };
        copier.copy(extents, CopySide { ptr: register, strides: &dense }, from);
        (fold.down)(1, n, register, values);
        let from = CopySide { ptr: register.cast_const(), strides: &dense };
        copier.copy(extents, CopySide { ptr: out, strides }, from);
    }
}
