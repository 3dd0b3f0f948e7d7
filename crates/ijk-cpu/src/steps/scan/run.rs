//! Execution of scans.

use super::strand::{PACKED, StrandLayout};
use super::{ScanProgram, ScanRowAxis};
use crate::copy::CopySide;
use crate::error::RunError;
use crate::nest::ScanRows;
use crate::runtime::scratch::{Need, ScratchPool};
use crate::runtime::threads::Workers;
use ijk_kernels::tuning::order::SCAN_BLOCK;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// A scan with its buffers and execution environment.
struct ScanRun<'a> {
    scan: &'a ScanProgram,
    from: *const u8,
    to: *mut u8,
    scratch: &'a ScratchPool,
    workers: &'a Workers,
    /// True if an allocation failed.
    failed: AtomicBool,
}

// SAFETY: the pointers are dereferenced for strands or chunks of them only, each of which one task has.
unsafe impl Sync for ScanRun<'_> {}

/// Sums of all chunks, contiguous in memory.
#[derive(Clone, Copy)]
struct Sums(*mut u8, usize);

// SAFETY: each task dereferences the pointer to its own sums only.
unsafe impl Sync for Sums {}

impl Sums {
    fn of(&self, number: usize) -> *mut u8 {
        self.0.wrapping_add(number * self.1)
    }
}

impl ScanProgram {
    /// Executes the scan.
    ///
    /// # Safety
    /// `bases` are the buffers that the scan was checked against: all elements that it reads are initialised, and no
    /// other thread accesses the output.
    pub unsafe fn run(
        &self,
        bases: &[*mut u8],
        workers: &Workers,
        scratch: &ScratchPool,
    ) -> Result<(), RunError> {
        let from = self.from.origin.of(bases).cast_const();
        let to = self.to.origin.of(bases);
        let failed = AtomicBool::new(false);
        let job = ScanRun { scan: self, from, to, scratch, workers, failed };
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.chunks() {
                1 => job.strands(workers),
                chunks => job.chunks(chunks, workers)?,
            }
        }
        match job.failed.into_inner() {
            true => Err(RunError::OutOfMemory(self.scratch_bytes())),
            false => Ok(()),
        }
    }

    /// Upper bound of its scratch memory.
    pub fn need(&self) -> Need {
        let sums = match self.chunks() {
            1 => 0,
            chunks => (self.strands() as u64).saturating_mul((chunks * self.sums_bytes()) as u64),
        };
        Need { shared: sums, each: self.scratch_bytes() as u64 }
    }

    /// Bytes of scratch memory of a task: sums, and a block of them or packed values.
    fn scratch_bytes(&self) -> usize {
        match self.strand.way {
            StrandLayout::Up | StrandLayout::Down => 0,
            StrandLayout::Across => 2 * self.sums_bytes(),
            StrandLayout::Packed => PACKED * self.size,
        }
    }

    /// Bytes of the sums of a strand.
    fn sums_bytes(&self) -> usize {
        self.strand.width * self.size
    }

    /// Adjacent values of a strand.
    fn width(&self, strand: usize) -> usize {
        let first = strand % self.strand.pieces() * self.strand.width;
        self.strand.width.min(self.strand.extent - first)
    }

    /// Offsets in bytes of a strand's first value, in both arrays.
    fn place(&self, mut strand: usize) -> (isize, isize) {
        let pieces = self.strand.pieces();
        let across = (strand % pieces * self.strand.width * self.size) as isize;
        strand /= pieces;
        let (mut from, mut to) = (across, across);
        for row in self.rows.iter().rev() {
            let at = (strand % row.extent) as isize;
            strand /= row.extent;
            from += at * row.from;
            to += at * row.to;
        }
        (from, to)
    }
}

impl ScanRun<'_> {
    /// Scans all strands without cutting them.
    ///
    /// # Safety
    /// As for [`ScanProgram::run`].
    unsafe fn strands(&self, workers: &Workers) {
        let strands = self.scan.strands();
        workers.parallel_ranges(strands, self.scan.cost(), |range| {
            self.with_memory(|memory| {
                let mut strand = range.start;
                while strand < range.end {
                    let mut start = self.scan.start;
                    let (sums, free) = match self.scan.strand.way {
                        StrandLayout::Across => {
                            (memory, memory.wrapping_add(self.scan.sums_bytes()))
                        }
                        _ => (start.as_mut_ptr().cast(), memory),
                    };
                    // SAFETY: guaranteed by the caller; each strand is assigned to one task, which has sums for it and
                    // the memory after these.
                    unsafe {
                        self.reset(strand, sums);
                        strand += match self.scan.strand.way {
                            StrandLayout::Up => {
                                self.rows(self.scan.kernels.up, strand..range.end, sums)
                            }
                            StrandLayout::Down => {
                                self.rows(self.scan.kernels.down, strand..range.end, sums)
                            }
                            _ => {
                                self.scan_range(strand, 0..self.scan.length, sums, free);
                                1
                            }
                        };
                    }
                }
            });
        });
    }

    /// Scans consecutive rows along the innermost axis, among strands that are rows; returns their number.
    ///
    /// # Safety
    /// As for [`ScanProgram::run`]; no other task has these strands; `sum` is the identity.
    unsafe fn rows(&self, kernel: ScanRows, strands: Range<usize>, sum: *mut u8) -> usize {
        let row =
            self.scan.rows.last().copied().unwrap_or(ScanRowAxis { extent: 1, from: 0, to: 0 });
        let count = strands.len().min(row.extent - strands.start % row.extent);
        let (from, to) = self.scan.place(strands.start);
        let (from, to) = (self.from.wrapping_offset(from), self.to.wrapping_offset(to));
        // SAFETY: guaranteed by the caller: the rows' values are elements.
        unsafe { kernel([count, self.scan.length], sum, from, to, [row.from, row.to]) };
        count
    }

    /// Calls `work` with the scratch memory of a task, unless allocation fails.
    fn with_memory(&self, work: impl FnOnce(*mut u8)) {
        match self.scan.scratch_bytes() {
            0 => work(std::ptr::null_mut()),
            bytes => match self.scratch.try_take(bytes) {
                Some(memory) => work(memory.as_ptr()),
                None => self.failed.store(true, Ordering::Relaxed),
            },
        }
    }

    /// Scans strands chunk by chunk.
    ///
    /// # Safety
    /// As for [`ScanProgram::run`].
    unsafe fn chunks(&self, chunks: usize, workers: &Workers) -> Result<(), RunError> {
        let scan = self.scan;
        let stride = scan.sums_bytes();
        let bytes = scan.strands() * chunks * stride;
        let memory = self.scratch.try_take(bytes).ok_or(RunError::OutOfMemory(bytes))?;
        let sums = Sums(memory.as_ptr(), stride);
        let each = |body: &(dyn Fn(usize, Range<usize>, *mut u8, *mut u8) + Sync)| {
            workers.parallel_for(scan.strands() * chunks, |task| {
                let (strand, first) = (task / chunks, task % chunks * scan.chunk);
                let range = first..scan.length.min(first + scan.chunk);
                self.with_memory(|memory| body(strand, range, sums.of(task), memory));
            });
        };
        // SAFETY: guaranteed by the caller; each task has its own sums and memory.
        each(&|strand, range, sums, free| unsafe { self.total(strand, range, sums, free) });
        if self.failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        for strand in 0..scan.strands() {
            // SAFETY: all totals are computed; no other task accesses them now.
            unsafe { self.carry(strand, sums.of(strand * chunks), chunks) };
        }
        // SAFETY: guaranteed by the caller; chunks of a strand have different elements of the output.
        each(&|strand, range, sums, free| unsafe { self.scan_range(strand, range, sums, free) });
        Ok(())
    }

    /// Sets the sums of a strand to the identity.
    ///
    /// # Safety
    /// `sums` has them.
    unsafe fn reset(&self, strand: usize, sums: *mut u8) {
        let start = self.scan.start.as_ptr().cast();
        // SAFETY: guaranteed by the caller; the start is one element.
        unsafe { (self.scan.splat)(self.scan.width(strand), sums, start, start, start) };
    }

    /// Combines the values of a range.
    ///
    /// # Safety
    /// As for [`ScanProgram::run`]; `sums` has the strand's sums and `free` the scan's scratch bytes, which no other
    /// task accesses.
    unsafe fn total(&self, strand: usize, range: Range<usize>, sums: *mut u8, free: *mut u8) {
        let scan = self.scan;
        let (from, _) = scan.place(strand);
        let at = |n: usize| self.from.wrapping_offset(from + n as isize * scan.from.step);
        // SAFETY: guaranteed by the caller: the strand's values in the range are elements.
        unsafe {
            self.reset(strand, sums);
            match scan.strand.way {
                StrandLayout::Up => (scan.fold.along)(1, range.len(), sums, at(range.start)),
                StrandLayout::Down => (scan.fold.along)(1, range.len(), sums, at(range.end - 1)),
                StrandLayout::Across => {
                    let width = scan.width(strand);
                    range.for_each(|n| (scan.fold.down)(1, width, sums, at(n)));
                }
                StrandLayout::Packed => {
                    let starts = range.clone().step_by(PACKED);
                    for first in starts.take_while(|_| !self.workers.have_ended()) {
                        let length = PACKED.min(range.end - first);
                        self.pack(length, free, at(first));
                        (scan.fold.along)(1, length, sums, free);
                    }
                }
            }
        }
    }

    /// Replaces the totals of a strand's chunks by the totals before each.
    ///
    /// # Safety
    /// `totals` has those of `chunks` chunks, which no other task accesses.
    unsafe fn carry(&self, strand: usize, totals: *mut u8, chunks: usize) {
        let (width, stride) = (self.scan.width(strand), self.scan.sums_bytes());
        let of = |chunk: usize| totals.wrapping_add(chunk * stride);
        // SAFETY: guaranteed by the caller. Every monoid is commutative, so that each total may be combined with the
        // one before it, which then is the total of all chunks up to it.
        unsafe {
            (1..chunks).for_each(|chunk| (self.scan.fold.down)(1, width, of(chunk), of(chunk - 1)));
            for chunk in (1..chunks).rev() {
                std::ptr::copy_nonoverlapping(of(chunk - 1), of(chunk), width * self.scan.size);
            }
            self.reset(strand, totals);
        }
    }

    /// Copies values to contiguous memory.
    ///
    /// # Safety
    /// They are elements, and `packed` has room.
    unsafe fn pack(&self, length: usize, packed: *mut u8, from: *const u8) {
        let scan = self.scan;
        let to = CopySide { ptr: packed, strides: &[scan.size as isize] };
        // SAFETY: guaranteed by the caller.
        unsafe {
            scan.copier.copy(&[length], to, CopySide { ptr: from, strides: &[scan.from.step] });
        }
    }

    /// Scans a range of a strand, after `sums`.
    ///
    /// # Safety
    /// As for [`total`](Self::total); no other task accesses these elements of the output.
    unsafe fn scan_range(&self, strand: usize, range: Range<usize>, sums: *mut u8, free: *mut u8) {
        let scan = self.scan;
        let (from, to) = scan.place(strand);
        let source = |n: usize| self.from.wrapping_offset(from + n as isize * scan.from.step);
        let target = |n: usize| self.to.wrapping_offset(to + n as isize * scan.to.step);
        let (first, length) = (range.start, range.len());
        // SAFETY: guaranteed by the caller: the strand's values in the range are elements.
        unsafe {
            match scan.strand.way {
                StrandLayout::Up => {
                    (scan.kernels.up)([1, length], sums, source(first), target(first), [0; 2])
                }
                StrandLayout::Down => {
                    (scan.kernels.down)([1, length], sums, source(first), target(first), [0; 2])
                }
                StrandLayout::Across => {
                    let width = scan.width(strand);
                    for n in range.clone() {
                        let starts = (n - first).is_multiple_of(SCAN_BLOCK);
                        if starts && self.workers.have_ended() {
                            return;
                        }
                        if starts && n > first {
                            (scan.fold.down)(1, width, sums, free);
                        }
                        (scan.kernels.across)(starts, width, sums, free, source(n), target(n));
                    }
                }
                StrandLayout::Packed => {
                    for first in range.clone().step_by(PACKED) {
                        let length = PACKED.min(range.end - first);
                        self.pack(length, free, source(first));
                        (scan.kernels.up)([1, length], sums, free, free, [0; 2]);
                        let packed =
                            CopySide { ptr: free.cast_const(), strides: &[scan.size as isize] };
                        let to = CopySide { ptr: target(first), strides: &[scan.to.step] };
                        scan.copier.copy(&[length], to, packed);
                    }
                }
            }
        }
    }
}
