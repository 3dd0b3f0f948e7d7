//! Partial results of a reduction, combined in an order that is a function of extents.
//!
//! Sums use a binary counter: the first accumulator takes a fixed number of values sequentially; when it is full, it is
//! carried to the next one, combined with its contents if there are any, and so on. For n values and runs of B the
//! error is at most (B + log₂ n)·eps·Σ|x|. Results of chunks are combined pairwise.

use super::program::{ReduceKernels, ReduceSpec};
use ijk_kernels::tile::FoldKernels;

/// The accumulators of one block of outputs.
pub(super) struct Accumulators<'a> {
    spec: &'a ReduceSpec,
    /// Outputs of the block.
    outputs: usize,
    /// The first accumulator; level `l` is `l` strides after it, and one more is scratch.
    base: *mut u8,
    /// Number of values in the first level.
    taken: usize,
    /// Occupied further levels, as bits.
    occupied: u64,
}

impl ReduceSpec {
    /// The values of a finished accumulator that are written to the output, and their element size.
    pub fn values(&self, accumulator: *mut u8) -> (*mut u8, usize) {
        match self.reducer {
            ReduceKernels::Fold(_) | ReduceKernels::Count(..) => (accumulator, self.size),
            ReduceKernels::Arg(_) => (self.positions(accumulator).cast(), size_of::<i64>()),
        }
    }

    /// The positions of an accumulator, which follow its values.
    fn positions(&self, accumulator: *mut u8) -> *mut i64 {
        accumulator.wrapping_add(super::lower::aligned(self.outputs * self.size)).cast()
    }

    /// Resets an accumulator as a whole, so that outputs beyond a partial block are initialised, too.
    ///
    /// # Safety
    /// It has [`stride`](Self::stride) bytes, which no other thread accesses.
    unsafe fn reset(&self, accumulator: *mut u8) {
        let (outputs, start) = (self.outputs, self.start.as_ptr().cast());
        // SAFETY: guaranteed by the caller; the start is one element.
        unsafe {
            (self.splat)(outputs, accumulator, start, start, start);
            if let ReduceKernels::Arg(_) = self.reducer {
                std::slice::from_raw_parts_mut(self.positions(accumulator), outputs).fill(-1);
            }
        }
    }

    /// Combines the right result into the left.
    ///
    /// # Safety
    /// Both are accumulators of `outputs` outputs, and no other thread accesses the left one.
    pub unsafe fn join(&self, outputs: usize, left: *mut u8, right: *const u8) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match &self.reducer {
                ReduceKernels::Fold(fold) | ReduceKernels::Count(_, fold) => {
                    (fold.down)(1, outputs, left, right);
                }
                ReduceKernels::Arg(arg) => {
                    let right_at = self.positions(right.cast_mut()).cast_const();
                    (arg.join)(outputs, left, self.positions(left), right, right_at);
                }
            }
        }
    }
}

impl<'a> Accumulators<'a> {
    /// Empty accumulators.
    ///
    /// # Safety
    /// Until they are dropped, `base` has the spec's accumulators, which no other thread accesses; `outputs` is at most
    /// [`ReduceSpec::outputs`].
    pub unsafe fn new(spec: &'a ReduceSpec, outputs: usize, base: *mut u8) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe { spec.reset(base) };
        Self { spec, outputs, base, taken: 0, occupied: 0 }
    }

    /// Combines `rows` values of each output: one row for each output if `along`, else rows of all outputs. Their
    /// positions along a reduced axis start at `position`.
    ///
    /// # Safety
    /// `values` has `rows` values for each output.
    pub unsafe fn take(&mut self, rows: usize, values: *const u8, along: bool, position: i64) {
        let (n, acc) = (self.outputs, self.base);
        // SAFETY: guaranteed by the callers of this function and of `new`.
        unsafe {
            match &self.spec.reducer {
                ReduceKernels::Count(bools, _) if along => (bools.along)(n, rows, acc, values),
                ReduceKernels::Count(bools, _) => (bools.down)(rows, n, acc, values),
                ReduceKernels::Fold(fold) if along => (fold.along)(n, rows, acc, values),
                ReduceKernels::Fold(fold) => return self.take_down(fold, rows, values),
                ReduceKernels::Arg(arg) => {
                    let at = self.spec.positions(acc);
                    match along {
                        true => (arg.along)(n, rows, acc, at, values, position),
                        false => (arg.down)(rows, n, acc, at, values, position),
                    }
                }
            }
        }
        // SAFETY: guaranteed by the callers of this function and of `new`.
        unsafe { self.took(if along { 1 } else { rows }) };
    }

    /// Combines rows of all outputs, and carries the first level wherever it is full, so that no run of sequential
    /// additions is longer than its capacity.
    ///
    /// # Safety
    /// `values` has `rows` values for each output.
    unsafe fn take_down(&mut self, fold: &FoldKernels, rows: usize, values: *const u8) {
        let row = self.outputs * self.spec.size;
        let mut done = 0;
        while done < rows {
            let piece = self.room().min(rows - done);
            // SAFETY: guaranteed by the callers of this function and of `new`; `done + piece` is at most `rows`.
            unsafe {
                (fold.down)(piece, self.outputs, self.base, values.add(done * row));
                self.took(piece);
            }
            done += piece;
        }
    }

    /// Number of values that fit the first level before it is carried.
    pub fn room(&self) -> usize {
        self.spec.capacity - self.taken
    }

    /// Combines rows of all outputs that are `step` bytes apart, at most [`room`](Self::room) of them.
    ///
    /// # Safety
    /// The rows exist and are aligned; `fold` has the kernels of the spec.
    pub unsafe fn take_rows(
        &mut self,
        fold: &FoldKernels,
        rows: usize,
        values: *const u8,
        step: isize,
    ) {
        // SAFETY: guaranteed by the callers of this function and of `new`.
        unsafe {
            (fold.rows)(rows, self.outputs, self.base, values, step);
            self.took(rows);
        }
    }

    /// Calls `take` to combine `values` values of each output with the first level, which has [`room`](Self::room) for
    /// them.
    ///
    /// # Safety
    /// `take` combines that many values with each of the accumulators at its argument.
    pub unsafe fn take_by(&mut self, values: usize, take: impl FnOnce(*mut u8)) {
        take(self.base);
        // SAFETY: guaranteed by the caller of `new`.
        unsafe { self.took(values) };
    }

    /// Counts values in the first level, and carries it if it is full.
    ///
    /// # Safety
    /// As for [`new`](Self::new).
    unsafe fn took(&mut self, values: usize) {
        self.taken = self.taken.saturating_add(values);
        if self.taken >= self.spec.capacity {
            // SAFETY: guaranteed by the caller.
            unsafe { self.carry() };
        }
    }

    /// Carries the first level to the next free one, combining the levels between them.
    ///
    /// # Safety
    /// As for [`new`](Self::new).
    unsafe fn carry(&mut self) {
        let free = (self.occupied.trailing_ones() as usize).min(self.spec.levels - 2);
        // SAFETY: levels `1..=free + 1` exist, `free + 1` being less than the number of levels.
        unsafe {
            for level in 1..=free {
                self.spec.join(self.outputs, self.level(level), self.level(level - 1));
            }
            let top = self.level(free + 1);
            if self.occupied >> free & 1 == 1 {
                self.spec.join(self.outputs, top, self.level(free));
            } else {
                std::ptr::copy_nonoverlapping(self.level(free), top, self.spec.stride);
            }
            self.spec.reset(self.base);
        }
        self.occupied = (self.occupied >> free | 1) << free;
        self.taken = 0;
    }

    /// The accumulator of a level.
    fn level(&self, level: usize) -> *mut u8 {
        self.base.wrapping_add(level * self.spec.stride)
    }

    /// Combines all levels, the oldest first, into `result`.
    ///
    /// # Safety
    /// `result` has [`ReduceSpec::stride`] bytes that no other thread accesses, or is the first accumulator.
    pub unsafe fn total(self, result: *mut u8) {
        // SAFETY: occupied levels exist and hold values; `result` is distinct from them.
        unsafe {
            let mut newest = self.level(0);
            for level in (1..self.spec.levels).filter(|l| self.occupied >> (l - 1) & 1 == 1) {
                self.spec.join(self.outputs, self.level(level), newest);
                newest = self.level(level);
            }
            if newest != result {
                std::ptr::copy_nonoverlapping(newest, result, self.spec.stride);
            }
        }
    }
}
