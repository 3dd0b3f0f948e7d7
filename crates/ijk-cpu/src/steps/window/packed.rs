//! Windows whose rows are short, side by side along a long axis: products of many small matrices, say.
//!
//! The rows of a 3 by 3 matrix fill a part of a register. Here a block of the long axis is packed, so that each element
//! of a matrix is a row with an element for each point of that axis; the rows of the output combine their taps like any
//! others, and are unpacked. Taps are in the same order, so that bits are the same.

use super::pattern::WindowPattern;
use super::run::WindowRun;
use super::{WindowProgram, prepared};
use crate::check::CheckedNest;
use crate::copy::{Copier, CopySide};
use crate::error::RunError;
use crate::explain::{KernelChoice, Reason, Relation, limit};
use crate::origin::Origin;
use crate::runtime::scratch::{Need, ScratchPool};
use crate::runtime::threads::Workers;
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::time::{
    PACKED_WINDOW_BLOCK, PACKED_WINDOW_BYTE, PACKED_WINDOW_ELEMENTS, PACKED_WINDOW_ROW_BYTES,
};
use ijk_plan::plan::{Base, Nest, Start};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// An input or the output.
#[derive(Clone, Debug)]
struct PackedSide {
    origin: Origin,
    /// Stride in bytes along the long axis; 0 for an input that is the same everywhere, and read in place.
    step: isize,
    /// The other axes, innermost in memory last.
    axes: SmallVec<[PackedAxis; 4]>,
    /// Those of the copy: contiguous ones are merged.
    copied: SmallVec<[PackedAxis; 4]>,
    /// Packed elements for each point of the long axis; 0 in place.
    elements: usize,
}

/// An axis, with its strides in bytes in memory and in a packed block.
#[derive(Clone, Copy, Debug)]
struct PackedAxis {
    axis: usize,
    extent: usize,
    memory: isize,
    packed: isize,
}

impl PackedSide {
    /// A side with strides in elements of `size` bytes; `None` if it has too many elements to pack.
    fn new(
        (base, strides, size): (Base, &[isize], usize),
        along: usize,
        others: impl Iterator<Item = (usize, usize)>,
    ) -> Option<Self> {
        let bytes = |axis: usize| strides[axis].wrapping_mul(size as isize);
        let axis = |(axis, extent)| {
            let memory = bytes(axis);
            PackedAxis { axis, extent, memory, packed: memory }
        };
        let mut axes: SmallVec<[_; 4]> = others.map(axis).filter(|axis| axis.memory != 0).collect();
        axes.sort_by_key(|axis| std::cmp::Reverse(axis.memory.unsigned_abs()));
        let (origin, step) = (Origin::new(base, size), bytes(along));
        let mut elements = 0;
        if step != 0 {
            elements = 1;
            for axis in axes.iter_mut().rev() {
                axis.packed = (elements * PACKED_WINDOW_BLOCK * size) as isize;
                elements *= axis.extent;
                if elements > PACKED_WINDOW_ELEMENTS {
                    return None;
                }
            }
        }
        let mut copied: SmallVec<[PackedAxis; 4]> = SmallVec::new();
        for &axis in &axes {
            match copied.last_mut() {
                Some(outer) if outer.memory == axis.memory * axis.extent as isize => {
                    *outer = PackedAxis { extent: outer.extent * axis.extent, ..axis };
                }
                _ => copied.push(axis),
            }
        }
        Some(Self { origin, step, axes, copied, elements })
    }

    /// The stride of a packed block along an axis.
    fn stride(&self, axis: usize) -> isize {
        self.axes.iter().find(|own| own.axis == axis).map_or(0, |own| own.packed)
    }

    /// Copies `count` points of the long axis from memory to a packed block.
    ///
    /// # Safety
    /// All elements at these points are readable; the block has room for them, and no other thread accesses it.
    unsafe fn pack(
        &self,
        copier: &Copier,
        size: usize,
        count: usize,
        from: *const u8,
        to: *mut u8,
    ) {
        let list = |each: fn(&PackedAxis) -> isize, last: isize| {
            self.copied.iter().map(each).chain([last]).collect::<SmallVec<[isize; 8]>>()
        };
        let extents: SmallVec<[usize; 8]> =
            self.copied.iter().map(|axis| axis.extent).chain([count]).collect();
        let (packed, memory) =
            (list(|axis| axis.packed, size as isize), list(|axis| axis.memory, self.step));
        let (to, from) =
            (CopySide { ptr: to, strides: &packed }, CopySide { ptr: from, strides: &memory });
        // SAFETY: guaranteed by the caller; a block overlaps no array.
        unsafe { copier.copy(&extents, to, from) };
    }

    /// Copies `count` points of the long axis from a packed block to memory.
    ///
    /// # Safety
    /// As for [`pack`](Self::pack), with both sides exchanged.
    unsafe fn unpack(
        &self,
        copier: &Copier,
        size: usize,
        count: usize,
        from: *const u8,
        to: *mut u8,
    ) {
        // The innermost loop is along the axis that is contiguous in memory.
        let (outer, inner) = self.copied.split_at(self.copied.len().saturating_sub(1));
        let along = PackedAxis { axis: 0, extent: count, memory: self.step, packed: size as isize };
        let axes: SmallVec<[PackedAxis; 8]> =
            outer.iter().copied().chain([along]).chain(inner.iter().copied()).collect();
        let extents: SmallVec<[usize; 8]> = axes.iter().map(|axis| axis.extent).collect();
        let packed: SmallVec<[isize; 8]> = axes.iter().map(|axis| axis.packed).collect();
        let memory: SmallVec<[isize; 8]> = axes.iter().map(|axis| axis.memory).collect();
        let (to, from) =
            (CopySide { ptr: to, strides: &memory }, CopySide { ptr: from, strides: &packed });
        // SAFETY: guaranteed by the caller; a block overlaps no array.
        unsafe { copier.copy(&extents, to, from) };
    }
}

impl PackedWindowProgram {
    /// The program of a checked nest, if it is over windows with short rows, and has a long axis.
    pub(crate) fn new(nest: &Nest, checked: &CheckedNest, level: Level) -> Option<Self> {
        let mut pattern = WindowPattern::of(nest, checked)?;
        let (extents, size) = (&checked.extents, nest.store.dtype.size());
        let row = extents[pattern.row];
        let at = (0..pattern.outer.len()).max_by_key(|&n| extents[pattern.outer[n]])?;
        let along = pattern.outer.remove(at);
        let short = row * size <= PACKED_WINDOW_ROW_BYTES && extents[along] >= PACKED_WINDOW_BLOCK;
        if !short || nest.start != Start::Covered {
            return None;
        }
        pattern.outer.push(std::mem::replace(&mut pattern.row, along));
        let others = |axes: &[usize]| axes.iter().map(|&a| (a, extents[a])).collect::<Vec<_>>();
        let (kept, taps) = (others(&pattern.outer), others(&pattern.taps));
        let all = || kept.iter().chain(&taps).copied();
        if nest.loads[pattern.loads[0]].strides[along] == 0 {
            // The map is commutative: the operand that varies along rows comes first.
            pattern.loads.swap(0, 1);
        }
        let none = vec![0; extents.len()];
        let input = |n: usize| {
            let load = &nest.loads[pattern.loads[n]];
            let strides = if n == 1 && pattern.map.is_none() { &none } else { &load.strides };
            PackedSide::new((load.base, strides, size), along, all())
        };
        let out = (nest.store.base, &nest.store.strides[..], size);
        let sides = [input(0)?, input(1)?, PackedSide::new(out, along, kept.iter().copied())?];
        if sides[0].elements == 0 || sides[2].elements == 0 {
            return None;
        }
        let strides = |axis: usize| match axis == along {
            true => sides.each_ref().map(|side| if side.step == 0 { 0 } else { size as isize }),
            false => sides.each_ref().map(|side| side.stride(axis)),
        };
        let block = prepared(&pattern, nest, (PACKED_WINDOW_BLOCK, extents), strides, level)?;
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
        let origins = Origins(self.sides.each_ref().map(|side| side.origin.of(bases)));
        let refused = AtomicUsize::new(0);
        workers.parallel_ranges(self.along.div_ceil(PACKED_WINDOW_BLOCK), self.cost(), |blocks| {
            let Some(memory) = scratch.try_take(self.bytes()) else {
                return refused.store(self.bytes(), Ordering::Relaxed);
            };
            for block in blocks {
                // SAFETY: guaranteed by the caller; each block is assigned to one task, which has its own memory.
                unsafe { self.one(&origins, block, memory.as_ptr()) };
            }
        });
        match refused.into_inner() {
            0 => Ok(()),
            bytes => Err(RunError::OutOfMemory(bytes)),
        }
    }

    /// Computes the windows of a block.
    ///
    /// # Safety
    /// As for [`run`](Self::run); no other task has this block, or accesses the memory, which has room for packed
    /// blocks.
    unsafe fn one(&self, Origins(origins): &Origins, block: usize, memory: *mut u8) {
        let first = block * PACKED_WINDOW_BLOCK;
        let count = PACKED_WINDOW_BLOCK.min(self.along - first);
        let mut packed = *origins;
        let mut free = memory;
        let place = |n: usize| origins[n].wrapping_offset(first as isize * self.sides[n].step);
        for (n, side) in self.sides.iter().enumerate().filter(|(_, side)| side.elements > 0) {
            packed[n] = free;
            free = free.wrapping_add(side.elements * PACKED_WINDOW_BLOCK * self.size);
            if n < 2 {
                // SAFETY: guaranteed by the caller; the check of the nest covers all points.
                unsafe { side.pack(&self.copier, self.size, count, place(n), packed[n]) };
            }
        }
        let program = self.rest.as_ref().filter(|rest| rest.row == count).unwrap_or(&self.block);
        let run = WindowRun { program, origins: packed };
        // SAFETY: the inputs are packed, or in place; the last side has room for all outputs.
        unsafe {
            run.pieces(0..program.blocks() * program.pieces());
            self.sides[2].unpack(&self.copier, self.size, count, packed[2], place(2));
        }
    }
}

/// Addresses of both inputs and of the output.
struct Origins([*mut u8; 3]);

// SAFETY: these are only pointers; each task writes its own part of the output.
unsafe impl Sync for Origins {}
