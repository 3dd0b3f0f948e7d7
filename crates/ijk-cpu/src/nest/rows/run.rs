//! Execution of rows: stores them, or combines them with their destinations.

use super::RowSpec;
use super::program::Piece;
use ijk_kernels::lines::{LINE, prefetch, prefetch_all};
use ijk_kernels::tuning::time::{ROW_PREFETCH_DISTANCE, ROW_PREFETCH_LINES};
use smallvec::SmallVec;
use std::ops::Range;

/// Consecutive rows, as columns of offsets and scalars.
#[derive(Clone, Debug)]
pub(in super::super) struct Batch {
    pub count: usize,
    /// Mask of the rows, if any.
    pub mask: Option<*const bool>,
    /// Destinations, offsets in each source, and scalars.
    pub columns: SmallVec<[*const u8; 8]>,
}

/// Origins of row offsets.
#[derive(Clone, Debug)]
pub(in super::super) struct RowBases {
    pub sources: SmallVec<[*const u8; 4]>,
    pub out: *mut u8,
}

// SAFETY: these are only pointers; code that dereferences them guarantees access.
unsafe impl Sync for RowBases {}

impl Batch {
    /// `count` of its rows from `first` on.
    pub fn part(&self, rows: &RowSpec, first: usize, count: usize) -> Self {
        let columns = self.columns.iter().zip(rows.columns());
        Self {
            count,
            mask: self.mask.map(|mask| mask.wrapping_add(first)),
            columns: columns.map(|(column, size)| column.wrapping_add(first * size)).collect(),
        }
    }

    /// The offset of a row in a column.
    ///
    /// # Safety
    /// The column has offsets, one of the row.
    #[inline(always)]
    pub unsafe fn offset(&self, column: usize, row: usize) -> i64 {
        // SAFETY: guaranteed by the caller.
        unsafe { self.columns[column].cast::<i64>().add(row).read() }
    }

    /// Returns true if a row is unmasked.
    ///
    /// # Safety
    /// The batch has this row.
    #[inline(always)]
    pub(super) unsafe fn counts(&self, row: usize) -> bool {
        // SAFETY: guaranteed by the caller.
        self.mask.is_none_or(|mask| unsafe { mask.add(row).read() })
    }

    /// Number of unmasked rows from `row` on for which `goes_on` holds.
    ///
    /// # Safety
    /// The row is one of the batch.
    #[inline(always)]
    unsafe fn together(&self, row: usize, goes_on: impl Fn(usize) -> bool) -> usize {
        let mut end = row;
        // SAFETY: rows of the batch.
        while end < self.count && unsafe { self.counts(end) } && goes_on(end) {
            end += 1;
        }
        end - row
    }
}

/// The part of a row inside a range of elements that a thread owns.
pub(super) struct Own {
    /// Offset of its first element in the row.
    pub skipped: usize,
    pub length: usize,
    /// Address of its destination.
    pub out: *mut u8,
}

impl RowSpec {
    /// Stores the rows of a batch in turn, or combines them with their destinations; only the part inside the elements
    /// `own`.
    ///
    /// # Safety
    /// The batch has its rows in all columns; offsets are checked: rows of [`length`](Self::length) elements at these
    /// offsets are elements of the sources and the output, and no other thread accesses those of the output inside
    /// `own`; `registers` has the program's bytes, which no other thread accesses.
    pub unsafe fn run(
        &self,
        batch: &Batch,
        bases: &RowBases,
        own: &Range<i64>,
        registers: *mut u8,
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match &self.many {
                Some(many) => self.run_many(many, batch, bases, own),
                None => self.run_each(batch, bases, own, registers),
            }
        }
    }

    /// Executes several rows at a time.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn run_each(
        &self,
        batch: &Batch,
        bases: &RowBases,
        own: &Range<i64>,
        registers: *mut u8,
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.repeat(batch, bases, registers) };
        let most = self.program.rows(self.length);
        let (mut row, mut asked) = (0, 0);
        while row < batch.count {
            // SAFETY: these are rows of the batch; the caller guarantees the rest.
            unsafe {
                let rows = self.whole(batch, row, own, most);
                while asked < row + rows.max(1) {
                    self.fetch(batch, asked, bases, Some(own));
                    asked += 1;
                }
                match self.own(batch.offset(0, row), bases, own) {
                    Some(own) if rows > 1 => {
                        let (first, count) = (0, self.length);
                        let piece = Piece { batch, bases, registers, row, rows, first, count };
                        self.take(&piece, own.out);
                    }
                    Some(own) if batch.counts(row) => {
                        let take =
                            |piece: &Piece<'_>, at| self.take(piece, own.out.wrapping_add(at));
                        self.pieces((batch, row), bases, &own, registers, take);
                    }
                    Some(own) => self.fill(own.length, own.out),
                    None => {}
                }
                row += rows.max(1);
            }
        }
    }

    /// Number of unmasked rows from `row` on, at most `most`, that are inside `own` and contiguous in the output.
    ///
    /// # Safety
    /// The row is one of the batch.
    #[inline(always)]
    unsafe fn whole(&self, batch: &Batch, row: usize, own: &Range<i64>, most: usize) -> usize {
        if most < 2 {
            return 1;
        }
        // SAFETY: rows of the batch.
        unsafe {
            let start = batch.offset(0, row);
            batch.together(row, |next| {
                let (to, step) = (batch.offset(0, next), (next - row) * self.length);
                let follows = self.fold.is_some() || to == start.wrapping_add(step as i64);
                let inside = to >= own.start && to.saturating_add(self.length as i64) <= own.end;
                next - row < most && follows && inside
            })
        }
    }

    /// Calls `take` with pieces of the part of a row, and the offset of each in bytes.
    ///
    /// # Safety
    /// The row is one of the batch.
    #[inline(always)]
    unsafe fn pieces(
        &self,
        (batch, row): (&Batch, usize),
        bases: &RowBases,
        own: &Own,
        registers: *mut u8,
        take: impl Fn(&Piece<'_>, usize),
    ) {
        let most = self.program.piece();
        for start in (0..own.length).step_by(most) {
            let (first, count) = (own.skipped + start, most.min(own.length - start));
            let piece = Piece { batch, bases, registers, row, rows: 1, first, count };
            take(&piece, start * self.size);
        }
    }

    /// Stores a piece, or combines it with its destination.
    ///
    /// # Safety
    /// As for [`Piece::compute`]; `out` is the destination of the first row. The others follow it or, if they are
    /// combined, have their own destinations; no other thread accesses these.
    #[inline(always)]
    unsafe fn take(&self, piece: &Piece<'_>, out: *mut u8) {
        let direct = self.fold.is_none() && self.stream.is_none();
        let dst = if direct { out } else { self.program.spare(piece.registers) };
        let all = piece.rows * piece.count;
        // SAFETY: guaranteed by the caller; a register is as long as a piece.
        unsafe {
            let value = piece.compute(self, dst);
            match (&self.fold, self.fresh, &self.fill) {
                (_, Some(fresh), Some((fill, _))) => {
                    fresh(piece.count, out, fill.as_ptr().cast(), value, value);
                }
                (Some(fold), ..) => {
                    let start = piece.batch.offset(0, piece.row);
                    for row in 0..piece.rows {
                        let step = piece.batch.offset(0, piece.row + row).wrapping_sub(start);
                        let to =
                            out.wrapping_offset((step as isize).wrapping_mul(self.size as isize));
                        (fold.down)(1, piece.count, to, value.add(row * piece.count * self.size));
                    }
                }
                _ if value != out.cast_const() => self.copy_row(all, value, out),
                _ => {}
            }
        }
    }

    /// Combines the unmasked rows of a range of a batch into one row in turn, or into one scalar.
    ///
    /// # Safety
    /// As for [`run`](Self::run), except the output: `sum` has it, and no other thread accesses it.
    pub unsafe fn sum(
        &self,
        (batch, range): (&Batch, Range<usize>),
        bases: &RowBases,
        sum: *mut u8,
        registers: *mut u8,
    ) {
        if let (Some(many), None) = (&self.many, batch.mask) {
            // SAFETY: guaranteed by the caller.
            return unsafe { self.many(many, (batch, range), bases, sum) };
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.repeat(batch, bases, registers) };
        let most = if self.many.is_some() { batch.count } else { self.program.rows(self.length) };
        let whole = || Own { skipped: 0, length: self.length, out: sum };
        let (mut row, mut asked) = (range.start, range.start);
        while row < range.end {
            // SAFETY: these are rows of the batch; the caller guarantees the rest.
            unsafe {
                let rows = batch.together(row, |next| next - row < most && next < range.end);
                match &self.many {
                    Some(many) if rows > 0 => {
                        self.many(many, (batch, row..row + rows), bases, sum);
                    }
                    None if rows > 0 => {
                        while asked < row + rows {
                            self.fetch(batch, asked, bases, None);
                            asked += 1;
                        }
                        self.add((batch, row..row + rows), bases, whole(), registers);
                    }
                    _ => {}
                }
                row += rows.max(1);
            }
        }
    }

    /// Combines several rows, at most those that registers hold, into one.
    ///
    /// # Safety
    /// As for [`sum`](Self::sum), for these rows, which are all unmasked.
    unsafe fn add(
        &self,
        (batch, rows): (&Batch, Range<usize>),
        bases: &RowBases,
        own: Own,
        registers: *mut u8,
    ) {
        let Some(fold) = &self.fold else { return };
        let spare = self.program.spare(registers);
        // SAFETY: guaranteed by the caller.
        let add = |piece: &Piece<'_>, at: usize| unsafe {
            let (value, sum) = (piece.compute(self, spare), own.out.wrapping_add(at));
            match self.along {
                false => (fold.down)(piece.rows, piece.count, sum, value),
                true => {
                    for row in 0..piece.rows {
                        let row = value.add(row * piece.count * self.size);
                        (fold.along)(1, piece.count, own.out, row);
                    }
                }
            }
        };
        if rows.len() > 1 {
            let (row, rows, first, count) = (rows.start, rows.len(), 0, self.length);
            return add(&Piece { batch, bases, registers, row, rows, first, count }, 0);
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.pieces((batch, rows.start), bases, &own, registers, add) };
    }

    /// Combines the elements of each unmasked row of a batch into a scalar of its own.
    ///
    /// # Safety
    /// As for [`run`](Self::run), except the output: `sums` has these scalars, and no other thread accesses them.
    pub unsafe fn sum_each(
        &self,
        batch: &Batch,
        bases: &RowBases,
        sums: *mut u8,
        registers: *mut u8,
    ) {
        let Some(fold) = &self.fold else { return };
        // SAFETY: guaranteed by the caller.
        unsafe { self.repeat(batch, bases, registers) };
        let most = self.program.rows(self.length);
        let (mut row, mut asked) = (0, 0);
        while row < batch.count {
            // SAFETY: these are rows of the batch; the caller guarantees the rest.
            unsafe {
                let rows = batch.together(row, |next| next - row < most);
                while asked < row + rows {
                    self.fetch(batch, asked, bases, None);
                    asked += 1;
                }
                let sum = sums.wrapping_add(row * self.size);
                if rows > 1 {
                    let (first, count) = (0, self.length);
                    let piece = Piece { batch, bases, registers, row, rows, first, count };
                    let value = piece.compute(self, self.program.spare(registers));
                    (fold.along)(rows, count, sum, value);
                } else if rows == 1 {
                    let own = Own { skipped: 0, length: self.length, out: sum };
                    self.add((batch, row..row + 1), bases, own, registers);
                }
                row += rows.max(1);
            }
        }
    }

    /// The part of a row with destination `to` that is inside the elements `own`, if any.
    #[inline(always)]
    pub(super) fn own(&self, to: i64, bases: &RowBases, own: &Range<i64>) -> Option<Own> {
        let first = to.max(own.start);
        let length = (to.saturating_add(self.length as i64)).min(own.end).saturating_sub(first);
        if length <= 0 {
            return None;
        }
        let out = bases.out.wrapping_offset((first as isize).wrapping_mul(self.size as isize));
        Some(Own { skipped: (first - to) as usize, length: length as usize, out })
    }

    /// Fills the part of a masked row, if there is a fill value.
    ///
    /// # Safety
    /// `out` has `length` elements, which no other thread accesses.
    unsafe fn fill(&self, length: usize, out: *mut u8) {
        if let Some((value, splat)) = &self.fill {
            let value = value.as_ptr().cast();
            // SAFETY: guaranteed by the caller.
            unsafe { splat(length, out, value, value, value) };
        }
    }

    /// Copies a row.
    ///
    /// # Safety
    /// Both sides have `length` elements, which do not overlap.
    unsafe fn copy_row(&self, length: usize, from: *const u8, to: *mut u8) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match &self.stream {
                Some(copier) => copier.row(length, to, from),
                None => std::ptr::copy_nonoverlapping(from, to, length * self.size),
            }
        }
    }

    /// Prefetches the sources of the row [`ROW_PREFETCH_DISTANCE`] rows after `row`, and its destination if it is
    /// combined and inside `own`.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    #[inline(always)]
    unsafe fn fetch(&self, batch: &Batch, row: usize, bases: &RowBases, own: Option<&Range<i64>>) {
        let row = row + ROW_PREFETCH_DISTANCE;
        if row >= batch.count {
            return;
        }
        // SAFETY: this is a row of the batch.
        unsafe {
            if let Some(own) = own {
                let to = batch.offset(0, row);
                if to >= own.end || to.saturating_add(self.length as i64) <= own.start {
                    return;
                }
                if self.fold.is_some() && self.fresh.is_none() {
                    self.fetch_row((to, self.size), bases.out);
                }
            }
            for (n, source) in self.sources.iter().enumerate() {
                self.fetch_row((batch.offset(1 + n, row), source.size), bases.sources[n]);
            }
        }
    }

    /// Prefetches a row of elements of some size.
    #[inline(always)]
    fn fetch_row(&self, (offset, size): (i64, usize), base: *const u8) {
        let row = base.wrapping_offset((offset as isize).wrapping_mul(size as isize));
        let bytes = (self.length * size).min(ROW_PREFETCH_LINES * LINE);
        prefetch_all(row, bytes);
        // It may be unaligned to cache lines.
        prefetch(row.wrapping_add(bytes - 1));
    }
}
