//! Execution of sums of products.

use super::ShortAxesProgram;
use super::tables::{CopyMethod, OperandCopy};
use crate::copy::CopySide;
use crate::error::RunError;
use crate::runtime::scratch::{Need, Scratch, ScratchPool};
use crate::runtime::threads::Workers;
use ijk_kernels::short_axes::ShortAxesArgs;
use ijk_kernels::tuning::time::{SHORT_AXES_COPY, STACK_BYTES};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Memory on the stack for copies.
#[repr(align(64))]
struct Near(MaybeUninit<[u8; STACK_BYTES]>);

impl ShortAxesProgram {
    /// Executes the sums.
    ///
    /// # Errors
    /// If memory for copies cannot be allocated.
    ///
    /// # Safety
    /// `bases` are the buffers that the nest was checked against: all elements that it reads are initialised, and no
    /// other thread accesses the output.
    pub unsafe fn run(
        &self,
        bases: &[*mut u8],
        workers: &Workers,
        scratch: &ScratchPool,
    ) -> Result<(), RunError> {
        let operand = |n: usize| match self.origins[n] {
            Some(origin) => origin.of(bases).cast_const(),
            None => self.one.as_ptr().cast(),
        };
        let [left, right] = [0, 1].map(operand);
        let out = self.out.of(bases);
        let mut job = ShortAxesArgs { tables: &self.tables, left, right, out };
        let bytes = self.packs.each_ref().map(|pack| self.bytes(pack));
        let mut near = Near(MaybeUninit::uninit());
        let mut far: Option<Scratch<'_>> = None;
        let copies = match bytes[0] + bytes[1] {
            0 => std::ptr::null_mut(),
            bytes if bytes <= STACK_BYTES => near.0.as_mut_ptr().cast::<u8>(),
            bytes => {
                let memory = scratch.try_take(bytes).ok_or(RunError::OutOfMemory(bytes))?;
                far.insert(memory).as_ptr()
            }
        };
        // SAFETY: guaranteed by the caller; each copy has its own part of the memory, which is large enough.
        unsafe {
            if let Some(pack) = &self.packs[0] {
                self.copy(pack, left, copies, workers);
                job.left = copies.cast_const();
            }
            if let Some(pack) = &self.packs[1] {
                let to = copies.add(bytes[0]);
                self.copy(pack, right, to, workers);
                job.right = to.cast_const();
            }
        }
        let pieces = self.tables.run.div_ceil(self.tables.piece);
        let count = self.tables.outer.len() * self.tables.inner.len() * pieces;
        let rows = |range: Range<usize>| {
            let job = &job;
            // SAFETY: the check of the nest covers all its points, which are those of the tables, and ensures that rows
            // differ in elements of the output; each range has its own rows.
            unsafe { (self.kernel)(job, range) };
        };
        workers.parallel_ranges(count, self.cost, rows);
        Ok(())
    }

    /// Upper bound of its scratch memory.
    pub fn need(&self) -> Need {
        let bytes = self.packs.iter().map(|pack| self.bytes(pack) as u64).sum();
        Need { shared: bytes, each: 0 }
    }

    /// Bytes of a copy, rounded up to cache lines.
    fn bytes(&self, pack: &Option<OperandCopy>) -> usize {
        pack.as_ref().map_or(0, |pack| (pack.elements * self.size).next_multiple_of(64))
    }

    /// Copies an operand.
    ///
    /// # Safety
    /// It is readable at all points of the nest, and `to` has room for the copy.
    unsafe fn copy(&self, pack: &OperandCopy, from: *const u8, to: *mut u8, workers: &Workers) {
        let (sides, cost) = (&CopyBuffers { from, to }, pack.elements as f64 * SHORT_AXES_COPY);
        match &pack.way {
            CopyMethod::Places(places) => {
                // SAFETY: guaranteed by the caller; blocks are disjoint.
                let part = |blocks: Range<usize>| unsafe {
                    places.copy(blocks, sides.to, sides.from);
                };
                workers.parallel_ranges(places.blocks(), cost, part);
            }
            CopyMethod::Box { extents, to: steps, from: from_steps } => {
                let (n, step) = (extents[0], steps[0]);
                let from_step = from_steps[0];
                let part = |range: Range<usize>| {
                    let mut extents: smallvec::SmallVec<[usize; 16]> = extents[..].into();
                    extents[0] = range.len();
                    let first = range.start as isize;
                    // SAFETY: guaranteed by the caller; parts of the copy are disjoint.
                    unsafe {
                        let to = CopySide { ptr: sides.to.offset(first * step), strides: steps };
                        let from = sides.from.offset(first * from_step);
                        self.copier.copy(&extents, to, CopySide { ptr: from, strides: from_steps });
                    }
                };
                workers.parallel_ranges(n, cost, part);
            }
        }
    }
}

/// Both sides of a copy.
struct CopyBuffers {
    from: *const u8,
    to: *mut u8,
}

// SAFETY: these are only pointers; code that dereferences them guarantees access.
unsafe impl Sync for CopyBuffers {}
