//! Windows whose rows are short, side by side along a long axis: products of many small matrices, say.
//!
//! The rows of a 3 by 3 matrix fill a part of a register. Here a block of the long axis is packed, so that each element
//! of a matrix is a row with an element for each point of that axis; the rows of the output combine their taps like any
//! others, and are unpacked. Taps are in the same order, so that bits are the same.

use super::pattern::WindowPattern;
use super::run::WindowRun;
use super::{WindowProgram, prepared};
use crate::check::CheckedNest;
use crate::copy::{Copier, CopySide, ShortAxis, merged};
use crate::error::RunError;
use crate::explain::{KernelChoice, Reason, Relation, limit};
use crate::origin::Origin;
use crate::runtime::scratch::{Need, ScratchPool};
use crate::runtime::threads::Workers;
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::time::{
    PACKED_WINDOW_BLOCK, PACKED_WINDOW_BYTE, PACKED_WINDOW_ELEMENTS, PACKED_WINDOW_ROW_BYTES,
};
use ijk_plan::plan::{Nest, Start};
use smallvec::SmallVec;

/// A prepared nest over packed windows.
#[derive(Clone, Debug)]
pub(crate) struct PackedWindowProgram {
    /// Both inputs and the output.
    sides: [PackedSide; 3],
    /// Extent of the long axis.
    along: usize,
    /// The program of a block, whose rows are along that axis, and that of the last block if it is shorter.
    block: WindowProgram,
    rest: Option<WindowProgram>,
    copier: Copier,
    size: usize,
    /// Elements of a row before it is packed.
    row: usize,
}

/// An input or the output, with the copy of a block of it.
#[derive(Clone, Debug)]
struct PackedSide {
    origin: Origin,
    /// Stride in bytes along the long axis; 0 for an input that is the same everywhere, and read in place.
    step: isize,
    /// Packed elements for each point of the long axis; 0 in place.
    elements: usize,
    /// The axes of the copy, and the long one's number among them.
    extents: SmallVec<[usize; 4]>,
    to: SmallVec<[isize; 4]>,
    from: SmallVec<[isize; 4]>,
    along: usize,
}

/// The axes of a side other than the long one, by their numbers: extents, and strides in bytes in memory and packed.
struct PackedAxes {
    axes: Vec<(usize, usize, [isize; 2])>,
    elements: usize,
}

impl PackedAxes {
    /// The axes of a side with the stride `step` along the long axis, of which those that it varies along count;
    /// `None` if it has too many elements to pack.
    fn of(
        step: isize,
        size: usize,
        others: impl Iterator<Item = (usize, usize, isize)>,
    ) -> Option<Self> {
        let axis = |(axis, extent, memory)| (axis, extent, [memory; 2]);
        let mut axes: Vec<_> = others.filter(|&(_, _, memory)| memory != 0).map(axis).collect();
        if step == 0 {
            return Some(Self { axes, elements: 0 });
        }
        axes.sort_by_key(|(_, _, [memory, _])| std::cmp::Reverse(memory.unsigned_abs()));
        let mut elements = 1;
        for (_, extent, [_, packed]) in axes.iter_mut().rev() {
            *packed = (elements * PACKED_WINDOW_BLOCK * size) as isize;
            elements *= *extent;
            if elements > PACKED_WINDOW_ELEMENTS {
                return None;
            }
        }
        Some(Self { axes, elements })
    }

    /// The stride of a packed block along an axis.
    fn packed(&self, wanted: usize) -> isize {
        let own = self.axes.iter().find(|(axis, ..)| *axis == wanted);
        own.map_or(0, |(_, _, [_, packed])| *packed)
    }
}

impl PackedSide {
    /// A side of elements of `size` bytes: the output if it `is_out`, which is copied to memory.
    fn new((origin, step): (Origin, isize), size: usize, axes: &PackedAxes, is_out: bool) -> Self {
        let axis = |extent, [memory, packed]: [isize; 2]| match is_out {
            true => ShortAxis { extent, to: memory, from: packed },
            false => ShortAxis { extent, to: packed, from: memory },
        };
        let others = axes.axes.iter().map(|&(_, extent, strides)| axis(extent, strides));
        let mut copied = merged(others.collect());
        // The innermost loop is along the axis that is contiguous in the destination.
        let along = if is_out { copied.len().saturating_sub(1) } else { copied.len() };
        copied.insert(along, axis(PACKED_WINDOW_BLOCK, [step, size as isize]));
        Self {
            origin,
            step,
            elements: axes.elements,
            extents: copied.iter().map(|axis| axis.extent).collect(),
            to: copied.iter().map(|axis| axis.to).collect(),
            from: copied.iter().map(|axis| axis.from).collect(),
            along,
        }
    }

    /// Copies `count` points of the long axis, at most those of a block.
    ///
    /// # Safety
    /// As for [`Copier::copy`]: the array has these elements, and the block room for as many.
    unsafe fn copy(&self, copier: &Copier, count: usize, from: *const u8, to: *mut u8) {
        let mut extents = self.extents.clone();
        extents[self.along] = count;
        let to = CopySide { ptr: to, strides: &self.to };
        let from = CopySide { ptr: from, strides: &self.from };
        // SAFETY: guaranteed by the caller.
        unsafe { copier.copy(&extents, to, from) };
    }
}

impl PackedWindowProgram {
    /// The program of a pattern with short rows and a long axis.
    pub(super) fn of(
        pattern: &WindowPattern,
        nest: &Nest,
        checked: &CheckedNest,
        level: Level,
    ) -> Option<Self> {
        let (extents, size) = (&checked.extents, nest.store.dtype.size());
        let row = extents[pattern.row];
        let at = (0..pattern.outer.len()).max_by_key(|&n| extents[pattern.outer[n]])?;
        let long = extents[pattern.outer[at]] >= PACKED_WINDOW_BLOCK;
        if !long || row * size > PACKED_WINDOW_ROW_BYTES || nest.start != Start::Covered {
            return None;
        }
        let pattern = pattern.along(at, nest);
        let (along, steps) = (pattern.row, pattern.strides(nest, pattern.row));
        let axes = |n: usize| {
            let others = pattern.outer.iter().chain(&pattern.taps);
            let others = others.map(|&a| (a, extents[a], pattern.strides(nest, a)[n]));
            PackedAxes::of(steps[n], size, others)
        };
        let axes = [axes(0)?, axes(1)?, axes(2)?];
        if steps[0] == 0 || steps[2] == 0 {
            return None;
        }
        let strides = |axis: usize| match axis == along {
            true => steps.map(|step| if step == 0 { 0 } else { size as isize }),
            false => axes.each_ref().map(|axes| axes.packed(axis)),
        };
        let block = prepared(&pattern, nest, (PACKED_WINDOW_BLOCK, extents), strides, level)?;
        let side = |n: usize| PackedSide::new((block.origins[n], steps[n]), size, &axes[n], n == 2);
        let sides = [side(0), side(1), side(2)];
        let rest = extents[along] % PACKED_WINDOW_BLOCK;
        let rest = (rest > 0).then(|| WindowProgram { row: rest, piece: rest, ..block.clone() });
        let copier = Copier::new(nest.store.dtype, level);
        Some(Self { sides, along: extents[along], block, rest, copier, size, row })
    }

    /// Its algorithm and blocking, with reasons.
    pub(crate) fn explain(&self) -> KernelChoice {
        let row = ("bytes of a row", self.row * self.size);
        let then = "registers are filled along the longest axis instead, by a copy";
        KernelChoice::new("taps combined in registers, across packed windows")
            .extent("windows", self.along)
            .extent("taps", self.block.taps.len())
            .block("block", PACKED_WINDOW_BLOCK, "windows")
            .holding("packed block", self.bytes())
            .because(Reason::compared(row, Relation::AtMost, limit!(PACKED_WINDOW_ROW_BYTES), then))
    }

    /// Estimated work, in nanoseconds on one thread.
    pub(crate) fn cost(&self) -> f64 {
        let blocks = self.along as f64 / PACKED_WINDOW_BLOCK as f64;
        blocks * (self.block.cost() + self.bytes() as f64 * PACKED_WINDOW_BYTE)
    }

    /// Upper bound of its scratch memory.
    pub(crate) fn need(&self) -> Need {
        Need { shared: 0, each: self.bytes() as u64 }
    }

    /// Bytes of the packed blocks of a thread.
    fn bytes(&self) -> usize {
        let elements: usize = self.sides.iter().map(|side| side.elements).sum();
        elements * PACKED_WINDOW_BLOCK * self.size
    }

    /// Computes all windows.
    ///
    /// # Errors
    /// If memory for packed blocks cannot be allocated.
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
        let origins = self.sides.each_ref().map(|side| side.origin.of(bases));
        let whole = WindowRun { program: &self.block, origins };
        let work = (self.along.div_ceil(PACKED_WINDOW_BLOCK), self.cost());
        scratch.parallel_ranges(workers, work, self.bytes(), |blocks, memory| {
            for block in blocks {
                // SAFETY: guaranteed by the caller; each block is assigned to one task, which has its own memory.
                unsafe { self.one(&whole, block, memory) };
            }
        })
    }

    /// Computes the windows of a block.
    ///
    /// # Safety
    /// As for [`run`](Self::run); no other task has this block, or accesses the memory, which has room for packed
    /// blocks.
    unsafe fn one(&self, whole: &WindowRun<'_>, block: usize, memory: *mut u8) {
        let first = block * PACKED_WINDOW_BLOCK;
        let count = PACKED_WINDOW_BLOCK.min(self.along - first);
        let place =
            |n: usize| whole.origins[n].wrapping_offset(first as isize * self.sides[n].step);
        let (mut origins, mut free) = (whole.origins, memory);
        for (n, side) in self.sides.iter().enumerate().filter(|(_, side)| side.elements > 0) {
            origins[n] = free;
            free = free.wrapping_add(side.elements * PACKED_WINDOW_BLOCK * self.size);
            if n < 2 {
                // SAFETY: guaranteed by the caller; the check of the nest covers all points.
                unsafe { side.copy(&self.copier, count, place(n), origins[n]) };
            }
        }
        let program = self.rest.as_ref().filter(|rest| rest.row == count).unwrap_or(&self.block);
        let run = WindowRun { program, origins };
        // SAFETY: the inputs are packed, or in place; the last side has room for all outputs.
        unsafe {
            run.pieces(0..program.all_pieces());
            self.sides[2].copy(&self.copier, count, origins[2], place(2));
        }
    }
}
