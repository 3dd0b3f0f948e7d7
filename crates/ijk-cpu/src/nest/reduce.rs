//! Partial results of a reduction, joined in an order that extents alone decide.
//!
//! Sums go through a binary counter: the first accumulator takes a fixed number of values one
//! after another; when it is full it is carried into the next, joined with what is there if
//! there is something, and so on. For n values and runs of B the error is at most
//! (B + log₂ n)·eps·Σ|x|. Results of chunks are joined pairwise.

use super::kernel::FoldKernels;
use super::program::{ReduceKernels, ReduceSpec};

/// The accumulators of one block of outputs.
pub(super) struct Accumulators<'a> {
    spec: &'a ReduceSpec,
    /// Outputs of the block.
    outputs: usize,
    /// The first accumulator; level `l` is `l` strides on, and one more is free.
    base: *mut u8,
    /// Values that the first level has taken.
    taken: usize,
    /// Which further levels hold something, as bits.
    occupied: u64,
}

impl ReduceSpec {
    /// What a finished accumulator gives to the output, and the size of an element.
    pub fn values(&self, accumulator: *mut u8) -> (*mut u8, usize) {
        match self.reducer {
            ReduceKernels::Fold(_) => (accumulator, self.size),
            ReduceKernels::Arg(_) => (self.positions(accumulator).cast(), size_of::<i64>()),
        }
    }

    /// The positions of an accumulator, which lie after its values.
    fn positions(&self, accumulator: *mut u8) -> *mut i64 {
        accumulator.wrapping_add(super::lower::aligned(self.outputs * self.size)).cast()
    }

    /// Empties an accumulator, all of it, so that one of a cut block is initialised too.
    ///
    /// # Safety
    /// It has [`stride`](Self::stride) bytes, nobody else's.
    unsafe fn reset(&self, accumulator: *mut u8) {
        let (outputs, start) = (self.outputs, self.start.as_ptr().cast());
        // SAFETY: the caller's promise; the start is one element.
        unsafe {
            (self.splat)(outputs, accumulator, start, start, start);
            if let ReduceKernels::Arg(_) = self.reducer {
                std::slice::from_raw_parts_mut(self.positions(accumulator), outputs).fill(-1);
            }
        }
    }

    /// Joins the right result into the left.
    ///
    /// # Safety
    /// Both are accumulators of `outputs` outputs, the left nobody else's.
    pub unsafe fn join(&self, outputs: usize, left: *mut u8, right: *const u8) {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.reducer {
                ReduceKernels::Fold(fold) => (fold.down)(1, outputs, left, right),
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
    /// Until they are dropped, `base` has the spec's accumulators, nobody else's; `outputs` is at
    /// most [`ReduceSpec::outputs`].
    pub unsafe fn new(spec: &'a ReduceSpec, outputs: usize, base: *mut u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe { spec.reset(base) };
        Self { spec, outputs, base, taken: 0, occupied: 0 }
    }

    /// Takes `rows` values of each output: one row for each output if `along`, else rows of all
    /// outputs. They are at `position` and the following ones along a reduced axis.
    ///
    /// # Safety
    /// `values` has `rows` values for each output.
    pub unsafe fn take(&mut self, rows: usize, values: *const u8, along: bool, position: i64) {
        let (n, acc) = (self.outputs, self.base);
        // SAFETY: the caller's promise, and that of `new`.
        unsafe {
            match &self.spec.reducer {
                ReduceKernels::Fold(fold) if along => (fold.along)(n, rows, acc, values),
                ReduceKernels::Fold(fold) => (fold.down)(rows, n, acc, values),
                ReduceKernels::Arg(arg) => {
                    let at = self.spec.positions(acc);
                    match along {
                        true => (arg.along)(n, rows, acc, at, values, position),
                        false => (arg.down)(rows, n, acc, at, values, position),
                    }
                }
            }
        }
        // SAFETY: as above.
        unsafe { self.took(if along { 1 } else { rows }) };
    }

    /// How many values the first level takes before it is full.
    pub fn room(&self) -> usize {
        self.spec.capacity - self.taken
    }

    /// Takes rows of all outputs that lie some bytes apart, no more than there is [room](Self::room) for.
    ///
    /// # Safety
    /// They are there, aligned; `fold` has the kernels of the spec.
    pub unsafe fn take_rows(
        &mut self,
        fold: &FoldKernels,
        rows: usize,
        values: *const u8,
        step: isize,
    ) {
        // SAFETY: the caller's promise, and that of `new`.
        unsafe {
            (fold.rows)(rows, self.outputs, self.base, values, step);
            self.took(rows);
        }
    }

    /// Has something take so many values of each output into the first level, which has [room](Self::room) for
    /// them.
    ///
    /// # Safety
    /// `take` combines so many values with each of the accumulators it is given.
    pub unsafe fn take_by(&mut self, values: usize, take: impl FnOnce(*mut u8)) {
        take(self.base);
        // SAFETY: that of `new`.
        unsafe { self.took(values) };
    }

    /// Notes that the first level has taken so many values, and carries it if it is full.
    ///
    /// # Safety
    /// That of [`new`](Self::new).
    unsafe fn took(&mut self, values: usize) {
        self.taken = self.taken.saturating_add(values);
        if self.taken >= self.spec.capacity {
            // SAFETY: the caller's promise.
            unsafe { self.carry() };
        }
    }

    /// Carries the first level into the next free one, joining what is on the way.
    ///
    /// # Safety
    /// That of [`new`](Self::new).
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

    /// Joins all levels, the oldest first, into `result`.
    ///
    /// # Safety
    /// `result` has [`ReduceSpec::stride`] bytes, nobody else's, or is the first accumulator.
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
