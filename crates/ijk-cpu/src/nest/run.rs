//! Execution of a tile program: loops over blocks, and for each tile its loads, instructions and sink.

mod chains;
mod lookup;
mod reduce;
mod rows;
mod threshold;
mod tile;

use super::program::*;
use super::rows::List;
use crate::copy::{CopySide, dense_strides, fence};
use crate::runtime::pace::Pace;
use crate::threads::Workers;
use ijk_kernels::tile::fault;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// Extents or strides, one for each loop or axis of a tile.
pub(super) type Axes<T> = SmallVec<[T; 8]>;

/// State of one thread that executes a nest.
pub(super) struct Worker<'a> {
    nest: &'a TileNest,
    /// Address of the first element of each buffer.
    bases: SmallVec<[*mut u8; 16]>,
    /// This worker's scratch memory.
    scratch: *mut u8,
    /// Addresses of slots.
    slots: SmallVec<[*mut u8; 24]>,
    /// Present block of each loop.
    block: Axes<usize>,
    /// Number of points of the present tile along each of its axes.
    extents: Axes<usize>,
    /// Range of the kept axes of a tile, which are adjacent.
    kept: Range<usize>,
    /// Points of the present tile.
    points: usize,
    /// Extents of the tile for which loads that stay have been packed; none before the first, since a tile without axes
    /// has none to pack.
    packed: Axes<usize>,
    /// Loads that another worker packs: true for each by its number; those beyond the end are this one's.
    given: SmallVec<[bool; 8]>,
    /// True once values that are invariant in the innermost loop have been computed.
    stands: bool,
    /// Offsets of the output's elements that this worker may write by rows.
    pub own: Range<i64>,
    /// List of rows, if they are listed instead of being moved.
    pub list: Option<List>,
    /// Origin of the destinations of rows, if it is not the output's.
    pub out: Option<*mut u8>,
    /// Check for cancellation.
    pace: Pace<'a>,
    /// Faults so far.
    pub faults: u32,
}

impl<'a> Worker<'a> {
    /// A worker at the first block.
    ///
    /// # Safety
    /// Until the worker is dropped or [moved](Self::move_to): `bases` are the buffers that the nest was checked against;
    /// `scratch` has the nest's scratch bytes, aligned to 64, and only this worker accesses it.
    #[inline(always)]
    pub unsafe fn new(
        (nest, workers): (&'a TileNest, &'a Workers),
        bases: &[*mut u8],
        scratch: *mut u8,
    ) -> Self {
        let mut slots: SmallVec<[*mut u8; 24]> = smallvec![std::ptr::null_mut(); nest.slots];
        for (slot, constant) in &nest.constants {
            slots[*slot as usize] = constant.as_ptr().cast_mut().cast();
        }
        for &(slot, at) in &nest.registers {
            slots[slot as usize] = scratch.wrapping_add(at);
        }
        let loops = nest.blocks.len();
        let mut worker = Self {
            nest,
            bases: SmallVec::from_slice(bases),
            scratch,
            slots,
            block: smallvec![0; loops],
            extents: smallvec![0; nest.geometry.inner.len()],
            kept: nest.geometry.kept_inside(),
            points: 1,
            packed: Axes::new(),
            given: SmallVec::new(),
            stands: false,
            own: i64::MIN..i64::MAX,
            list: None,
            out: None,
            pace: Pace::new(workers),
            faults: 0,
        };
        if nest.fixed > 0 {
            // No tile is larger than the first one.
            worker.measure();
            // SAFETY: guaranteed by the caller; these instructions read constants only.
            unsafe { worker.steps(&nest.instructions[..nest.fixed]) };
        }
        worker
    }

    /// Address of a packed load.
    pub(super) fn packed_at(&self, slot: Slot) -> *mut u8 {
        self.slots[slot as usize]
    }

    /// Reads a load from now on where another worker packs it for each tile before this one computes it.
    pub(super) fn take_load(&mut self, load: usize, slot: Slot, at: *mut u8) {
        self.slots[slot as usize] = at;
        self.given.resize(self.given.len().max(load + 1), false);
        self.given[load] = true;
    }

    /// Sets the addresses of buffers.
    pub(super) fn move_to(&mut self, bases: &[*mut u8]) {
        self.packed.clear();
        if self.bases.len() == bases.len() {
            self.bases.copy_from_slice(bases);
        } else {
            self.bases = SmallVec::from_slice(bases);
        }
    }

    /// Sets the block of the given loops, counted in the order of their nesting.
    fn seek(&mut self, loops: &[usize], mut position: usize) {
        self.stands = false;
        if position == 0 {
            // Without divisions, which take a tenth of a short run.
            loops.iter().for_each(|&a| self.block[a] = 0);
            return;
        }
        for &a in loops.iter().rev() {
            let blocks = self.nest.blocks[a];
            self.block[a] = position % blocks;
            position /= blocks;
        }
    }

    /// Advances to the next block of the given loops.
    fn advance(&mut self, loops: &[usize]) {
        for &a in loops.iter().rev() {
            self.block[a] += 1;
            if self.block[a] < self.nest.blocks[a] {
                return;
            }
            self.block[a] = 0;
            self.stands = false;
        }
    }

    /// Executes blocks of the kept loops, each with all its reduced blocks.
    ///
    /// # Safety
    /// As for [`new`](Self::new); no other thread works on these blocks, or on others that write common elements of the
    /// output.
    pub unsafe fn run(&mut self, kept: Range<usize>) {
        let loops = &self.nest.geometry.kept;
        self.seek(loops, kept.start);
        for _ in kept {
            // SAFETY: the present block is within the loops, and the caller owns it.
            unsafe {
                match &self.nest.sink {
                    Sink::Reduce(spec) => {
                        self.reduce_range(spec, 0..spec.chunk, self.accumulators(spec));
                        self.finish(spec, self.accumulators(spec));
                    }
                    _ => self.map_tile(),
                }
            }
            if self.faults & fault::OFFSET != 0 || self.ends() {
                break;
            }
            self.advance(loops);
        }
        if let Sink::Stream(_) = self.nest.sink {
            fence();
        }
    }

    /// Returns true if the run is cancelled after the present tile.
    #[inline]
    fn ends(&mut self) -> bool {
        let each = self.nest.sink.rows().map_or(1, |rows| rows.length);
        self.pace.ends_after(self.points.saturating_mul(self.nest.instructions.len() + each))
    }

    /// Computes the extents of the present tile.
    fn measure(&mut self) {
        self.points = 1;
        for (extent, &a) in self.extents.iter_mut().zip(&self.nest.geometry.inner) {
            let each = &self.nest.geometry.loops[a];
            *extent = each.tile.min(each.axis.extent - self.block[a] * each.tile);
            self.points *= *extent;
        }
    }

    /// Address of an access at the origin of the present tile: the only pointer arithmetic on buffers.
    fn address(&self, place: &Place) -> *mut u8 {
        let mut offset = place.offset;
        for (a, &stride) in place.strides.iter().enumerate() {
            let origin = self.block[a] * self.nest.geometry.loops[a].tile;
            offset = offset.wrapping_add((origin as isize).wrapping_mul(stride));
        }
        // The check of the nest against its buffers ensures that this stays within them.
        self.bases[place.buffer].wrapping_offset(offset)
    }

    /// Offset of the origin of the present tile from that of an access, in elements of a size.
    fn shift(&self, place: &Place, size: usize) -> i64 {
        let of = |(a, &stride): (usize, &isize)| {
            let origin = self.block[a] * self.nest.geometry.loops[a].tile;
            (origin as i64).wrapping_mul(stride as i64 / size.max(1) as i64)
        };
        place.strides.iter().enumerate().map(of).fold(0, i64::wrapping_add)
    }

    /// Computes the present tile's value and passes it to the sink.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn map_tile(&mut self) {
        self.measure();
        let out = self.address(&self.nest.out);
        // SAFETY: guaranteed by the caller.
        unsafe {
            match &self.nest.sink {
                Sink::Direct => {
                    self.slots[OUT as usize] = out;
                    self.compute();
                }
                Sink::Store { copier, moved: true } => {
                    let load = &self.nest.loads[0].place;
                    let from =
                        CopySide { ptr: self.address(load).cast_const(), strides: &load.inner };
                    let to = CopySide { ptr: out, strides: &self.nest.out.inner };
                    copier.copy(&self.extents, to, from);
                }
                Sink::Store { copier, moved: false } => {
                    self.compute();
                    let size = self.nest.size;
                    let dense = self.dense(size);
                    let value = self.slots[self.nest.value as usize].cast_const();
                    let to = CopySide { ptr: out, strides: &self.nest.out.inner };
                    copier.copy(&self.extents, to, CopySide { ptr: value, strides: &dense });
                }
                Sink::StoreRows => self.store_rows(out),
                Sink::Stream(stream) => self.stream(stream, out),
                Sink::Combine { copier, fold, size, register } => {
                    self.compute();
                    let value = self.slots[self.nest.value as usize];
                    let register = self.scratch.wrapping_add(*register);
                    let (extents, strides) = (&self.extents, &self.nest.out.inner);
                    reduce::combine(copier, fold, *size, extents, out, strides, register, value);
                }
                Sink::Scatter { offsets, checked, range, fold, moves } => {
                    self.compute();
                    let slot = |slot: Slot| self.slots[slot as usize].cast_const().cast::<i64>();
                    let (offsets, checked) = (slot(*offsets), slot(*checked));
                    let value = self.slots[self.nest.value as usize].cast_const();
                    let base =
                        self.bases[self.nest.out.buffer].wrapping_offset(self.nest.out.offset);
                    let bad =
                        range.as_ref().map_or(0, |r| check_offsets(r, self.points, checked, 0));
                    self.faults |= bad;
                    match fold {
                        _ if self.faults & fault::OFFSET != 0 => {}
                        Some(fold) => (fold.at)(self.points, base, offsets, value),
                        None => (moves.scatter)(self.points, base, offsets, value),
                    }
                }
                Sink::Rows(rows) => {
                    self.compute();
                    self.move_rows(rows);
                }
                Sink::Reduce(_) => {}
            }
        }
    }

    /// The strides of a register with elements of `size` bytes.
    fn dense(&self, size: usize) -> Axes<isize> {
        let mut strides = smallvec![0; self.extents.len()];
        dense_strides(&self.extents, size, &mut strides);
        strides
    }
}

/// Fault bit if an offset, `shift` elements further on, is outside the array.
///
/// # Safety
/// `offsets` has `n` elements.
unsafe fn check_offsets(range: &OffsetCheck, n: usize, offsets: *const i64, shift: i64) -> u32 {
    match range {
        OffsetCheck::Range { least, greatest, check } => {
            let (least, greatest) = (least.saturating_sub(shift), greatest.saturating_sub(shift));
            // SAFETY: guaranteed by the caller.
            unsafe { check(n, offsets, least, greatest) }
        }
        OffsetCheck::Sparse { footprint, origin, run } => {
            // SAFETY: guaranteed by the caller.
            let offsets = unsafe { std::slice::from_raw_parts(offsets, n) };
            let all = origin
                .checked_add(shift)
                .is_some_and(|origin| footprint.contains_runs(offsets, origin, *run));
            if all { 0 } else { fault::OFFSET }
        }
    }
}
