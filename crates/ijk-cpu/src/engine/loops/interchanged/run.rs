//! Running blocks of rows.

use super::{Interchanged, Pack, PackReads, PassOperand};
use crate::copy::CopySide;
use crate::engine::loops::compile::PassProgram;
use crate::engine::loops::run::LoopRun;
use crate::error::RunError;
use crate::runtime::scratch::ScratchPool;
use crate::runtime::threads::Workers;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Fewer passes run one after another.
const FEWEST_PASSES: i64 = 4;

/// A loop with the addresses of its streams in the first pass.
struct InterchangedRun<'r> {
    program: &'r Interchanged,
    workers: &'r Workers,
    scratch: &'r ScratchPool,
    /// For each stream its first element, and the bytes from pass to pass.
    streams: SmallVec<[(*mut u8, isize); 8]>,
    passes: usize,
    /// Coordinates of the first pass, and by how much its own changes.
    coordinates: SmallVec<[i64; 8]>,
    by: i64,
    faults: AtomicU32,
    failed: AtomicBool,
}

// SAFETY: the pointers are dereferenced for rows of a block only, which one task has.
unsafe impl Sync for InterchangedRun<'_> {}

/// Pointers of a block: those of streams, then those of values.
type Pointers = SmallVec<[*mut u8; 24]>;

impl LoopRun<'_> {
    /// Runs a range of passes of a loop; false if nothing was run: there are few, or an update is left out in one.
    ///
    /// # Safety
    /// As for [`LoopRun::passes`]; the program was compiled for the loop.
    pub(in crate::engine::loops) unsafe fn interchanged(
        &mut self,
        program: &Interchanged,
        looped: &PassProgram,
        range: &Range<i64>,
    ) -> Result<bool, RunError> {
        if range.end - range.start < FEWEST_PASSES {
            return Ok(false);
        }
        let mut coordinates = self.coordinates.clone();
        coordinates.truncate(program.coordinate);
        coordinates.push(looped.coordinate(range.start));
        let mut next = coordinates.clone();
        next[program.coordinate] = looped.coordinate(range.start + 1);
        let mut streams = SmallVec::new();
        for stream in &program.streams {
            let array = self.arrays[stream.window.array];
            let Some(first) = stream.window.offset(&coordinates) else { return Ok(false) };
            let second = stream.window.offset(&next);
            let step = second.map_or(0, |second| second.wrapping_sub(first));
            streams.push((array.wrapping_offset(first).wrapping_offset(stream.offset), step));
        }
        let run = InterchangedRun {
            program,
            workers: self.workers,
            scratch: self.scratch(),
            streams,
            passes: (range.end - range.start) as usize,
            by: next[program.coordinate] - coordinates[program.coordinate],
            coordinates,
            faults: AtomicU32::new(0),
            failed: AtomicBool::new(false),
        };
        // SAFETY: guaranteed by the caller: in each of the passes all windows are in bounds, and compilation has
        // checked that the updates access elements of them.
        unsafe { run.blocks() };
        if run.failed.into_inner() {
            return Err(RunError::OutOfMemory(program.scratch));
        }
        if self.workers.have_ended() {
            return Err(RunError::Interrupted);
        }
        crate::engine::fault_error(run.faults.into_inner()).map(|()| true)
    }
}

impl InterchangedRun<'_> {
    /// Runs all blocks.
    ///
    /// # Safety
    /// Streams have elements for all rows and passes, which no other thread accesses; inputs are initialised.
    unsafe fn blocks(&self) {
        let program = self.program;
        let pieces = program.rows.div_ceil(program.width);
        let blocks = pieces * program.outer.iter().product::<usize>();
        let rows = program.rows * program.outer.iter().product::<usize>();
        let cost = program.cost * rows as f64 * self.passes as f64;
        self.workers.parallel_ranges(blocks, cost, |range| {
            let Some(memory) = self.scratch.try_take(program.scratch.max(1)) else {
                return self.failed.store(true, Ordering::Relaxed);
            };
            for block in range {
                let first = block % pieces * program.width;
                let rows = program.width.min(program.rows - first);
                // SAFETY: guaranteed by the caller; one task has the rows of a block, and the memory has its values and
                // packs.
                unsafe { self.block(block / pieces, first..first + rows, memory.as_ptr()) };
                if self.workers.have_ended() {
                    return;
                }
            }
        });
    }

    /// Runs all passes of a block: its rows on the innermost axis, at one point of the others.
    ///
    /// # Safety
    /// As for [`Self::blocks`]; `memory` has the program's scratch bytes, which no other thread accesses.
    unsafe fn block(&self, outer: usize, rows: Range<usize>, memory: *mut u8) {
        let program = self.program;
        let mut firsts: SmallVec<[*mut u8; 16]> = SmallVec::new();
        for (stream, (first, _)) in program.streams.iter().zip(&self.streams) {
            let offset = program.offset(&stream.outer, outer) + rows.start as isize * stream.along;
            firsts.push(first.wrapping_offset(offset));
        }
        let values = program.values.iter().map(|at| memory.wrapping_add(*at));
        let values: SmallVec<[*mut u8; 16]> = values.collect();
        for (value, bits) in &program.constants {
            // SAFETY: the value has 64 bytes of the memory.
            unsafe { values[*value].cast::<[u64; 2]>().write(*bits) };
        }
        let mut faults = 0;
        for first in (0..self.passes).step_by(program.depth) {
            if self.workers.have_ended() {
                break;
            }
            let depth = program.depth.min(self.passes - first);
            // SAFETY: guaranteed by the caller, for these passes.
            unsafe {
                self.packs(&firsts, first, (depth, rows.len()), memory, true);
                faults |= self.range((&firsts, &values), first..first + depth, rows.len(), memory);
                self.packs(&firsts, first, (depth, rows.len()), memory, false);
            }
        }
        self.faults.fetch_or(faults, Ordering::Relaxed);
    }

    /// Runs a range of passes whose elements are packed.
    ///
    /// # Safety
    /// As for [`Self::block`].
    unsafe fn range(
        &self,
        (firsts, values): (&[*mut u8], &[*mut u8]),
        passes: Range<usize>,
        rows: usize,
        memory: *mut u8,
    ) -> u32 {
        let program = self.program;
        let (mut pointers, mut steps) = (Pointers::new(), SmallVec::<[isize; 16]>::new());
        for ((stream, first), (_, step)) in program.streams.iter().zip(firsts).zip(&self.streams) {
            let (pointer, step) = match stream.packed {
                Some((pack, behind)) => {
                    let pack = &program.packs[pack];
                    let step = if pack.moves { pack.step } else { 0 };
                    (memory.wrapping_add(pack.at + behind * step), step as isize)
                }
                None => (first.wrapping_offset(passes.start as isize * step), *step),
            };
            pointers.push(pointer);
            steps.push(step);
        }
        pointers.extend_from_slice(values);
        let mut coordinate = self.coordinates[program.coordinate] + passes.start as i64 * self.by;
        for (n, value) in &program.cells {
            // SAFETY: the value has 64 bytes of the memory.
            unsafe { values[*value].cast::<i64>().write(self.coordinates[*n]) };
        }
        let own = program.cells.iter().find(|(n, _)| *n == program.coordinate);
        let own = own.map(|(_, value)| values[*value].cast::<i64>());
        let place = |operand: PassOperand| match operand {
            PassOperand::Stream(n) => n,
            PassOperand::Value(n) => firsts.len() + n,
        };
        let calls = program.calls.iter();
        let calls: SmallVec<[_; 8]> =
            calls.map(|call| (call.kernel, place(call.to), call.from.map(place))).collect();
        let mut faults = 0;
        for _ in passes {
            if let Some(cell) = own {
                // SAFETY: as above.
                unsafe { cell.write(coordinate) };
            }
            for &(kernel, to, [a, b, c]) in &calls {
                // SAFETY: guaranteed by the caller: operands have elements of these rows in this pass, earlier calls
                // wrote values, and what a call writes is none of its operands.
                faults |=
                    unsafe { kernel(rows, pointers[to], pointers[a], pointers[b], pointers[c]) };
            }
            for (pointer, step) in pointers.iter_mut().zip(&steps) {
                *pointer = pointer.wrapping_offset(*step);
            }
            coordinate += self.by;
        }
        faults
    }

    /// Copies elements of the passes from `first` on to packs, or back from them.
    ///
    /// # Safety
    /// As for [`Self::block`].
    unsafe fn packs(
        &self,
        firsts: &[*mut u8],
        first: usize,
        (depth, rows): (usize, usize),
        memory: *mut u8,
        fill: bool,
    ) {
        for pack in &self.program.packs {
            let step = self.streams[pack.first].1;
            let range = match (fill, pack.reads, pack.writes) {
                (true, PackReads::All, _) => 0..pack.passes(depth),
                (true, PackReads::First(count), _) => 0..count,
                (false, _, Some(written)) => written..written + depth,
                (false, _, None) => continue,
            };
            let at = (first + range.start) as isize * step;
            let array = firsts[pack.first].wrapping_offset(at);
            let packed = memory.wrapping_add(pack.at + range.start * pack.step);
            let along = self.program.streams[pack.first].along;
            let outside = [step, along];
            // SAFETY: guaranteed by the caller: these are elements of some stream in some pass of the range.
            unsafe { pack.copy([range.len(), rows], (array, &outside), packed, fill) };
        }
    }
}

impl Pack {
    /// Copies elements of passes and rows to the pack, or back.
    ///
    /// # Safety
    /// Both have the elements, initialised where they are read.
    unsafe fn copy(
        &self,
        extents: [usize; 2],
        (array, strides): (*mut u8, &[isize; 2]),
        packed: *mut u8,
        fill: bool,
    ) {
        let own = [self.step as isize, self.size as isize];
        let (array, packed) = ((array, &strides[..]), (packed, &own[..]));
        let ((to, to_strides), (from, from_strides)) =
            if fill { (packed, array) } else { (array, packed) };
        let to = CopySide { ptr: to, strides: to_strides };
        let from = CopySide { ptr: from.cast_const(), strides: from_strides };
        // SAFETY: guaranteed by the caller.
        unsafe { self.copier.copy(&extents, to, from) };
    }
}

impl Interchanged {
    /// Offset in bytes of a point of the outer axes of rows.
    fn offset(&self, strides: &[isize], mut point: usize) -> isize {
        let mut offset = 0;
        for (extent, stride) in self.outer.iter().zip(strides).rev() {
            offset += (point % extent) as isize * stride;
            point /= extent;
        }
        offset
    }
}
