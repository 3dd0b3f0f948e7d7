//! Combination of many rows of one array, or many single values, with their destinations.

use super::run::{Batch, RowBases};
use super::{ManyKernel, ManyRows, RowSpec};
use crate::nest::program::OffsetCheck;
use ijk_kernels::lines::LINE;
use ijk_kernels::tile::RowsTo;
use ijk_kernels::tuning::time::PICKED_ROWS;
use std::ops::Range;

/// Offsets and scalars of consecutive rows.
#[derive(Clone, Copy, Debug)]
struct Lists {
    to: *const i64,
    from: *const i64,
    /// Factors or values.
    numbers: *const u8,
}

impl Lists {
    /// The lists of a batch, from a row on.
    fn of(rows: &RowSpec, many: &ManyRows, batch: &Batch, first: usize) -> Self {
        let offsets = |column: usize| batch.columns[column].cast::<i64>().wrapping_add(first);
        let number = |n: usize| {
            let column = batch.columns[1 + rows.sources.len() + n];
            column.wrapping_add(first * rows.scalars[n].size)
        };
        let from = if rows.sources.is_empty() { std::ptr::null() } else { offsets(1) };
        Self { to: offsets(0), from, numbers: many.number.map_or(std::ptr::null(), number) }
    }

    /// The lists from a later row on, with scalars of `size` bytes.
    fn from(self, first: usize, size: usize) -> Self {
        Self {
            to: self.to.wrapping_add(first),
            from: self.from.wrapping_add(first),
            numbers: self.numbers.wrapping_add(first * size),
        }
    }
}

/// Selected rows, with their offsets and scalars.
struct Picked {
    rows: [u32; PICKED_ROWS],
    to: [i64; PICKED_ROWS],
    from: [i64; PICKED_ROWS],
    numbers: [u128; PICKED_ROWS],
    count: usize,
}

impl Picked {
    fn new() -> Self {
        let (rows, to, from) = ([0; PICKED_ROWS], [0; PICKED_ROWS], [0; PICKED_ROWS]);
        Self { rows, to, from, numbers: [0; PICKED_ROWS], count: 0 }
    }

    /// Selects, of at most a chunk of rows, those for which `counts` holds; scalars have `size` bytes.
    ///
    /// # Safety
    /// The lists have `count` rows.
    #[inline(always)]
    unsafe fn pick(
        &mut self,
        count: usize,
        lists: Lists,
        size: usize,
        counts: impl Fn(usize) -> bool,
    ) {
        let mut picked = 0;
        // Branch-free, since the owners of rows are unpredictable.
        for row in 0..count.min(PICKED_ROWS) {
            self.rows[picked] = row as u32;
            picked += usize::from(counts(row));
        }
        self.count = picked;
        let rows = &self.rows[..self.count];
        // SAFETY: guaranteed by the caller, here and below.
        unsafe {
            pick(rows, lists.to, self.to.as_mut_ptr());
            if !lists.from.is_null() {
                pick(rows, lists.from, self.from.as_mut_ptr());
            }
            let numbers = self.numbers.as_mut_ptr();
            match size {
                _ if lists.numbers.is_null() => {}
                1 => pick::<u8>(rows, lists.numbers, numbers.cast()),
                4 => pick::<u32>(rows, lists.numbers.cast(), numbers.cast()),
                8 => pick::<u64>(rows, lists.numbers.cast(), numbers.cast()),
                _ => pick::<[u64; 2]>(rows, lists.numbers.cast(), numbers.cast()),
            }
        }
    }

    fn lists(&self, lists: Lists) -> Lists {
        let from = if lists.from.is_null() { lists.from } else { self.from.as_ptr() };
        let none = lists.numbers.is_null();
        let numbers = if none { lists.numbers } else { self.numbers.as_ptr().cast() };
        Lists { to: self.to.as_ptr(), from, numbers }
    }
}

/// Copies the elements of a list at the positions `rows`.
///
/// # Safety
/// The list has them; `to` has room for one for each of `rows`.
#[inline(always)]
unsafe fn pick<W: Copy>(rows: &[u32], list: *const W, to: *mut W) {
    for (n, &row) in rows.iter().enumerate() {
        // SAFETY: guaranteed by the caller.
        unsafe { to.add(n).write(list.add(row as usize).read()) };
    }
}

impl RowSpec {
    /// Combines rows with their destinations in turn.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    pub(super) unsafe fn run_many(
        &self,
        many: &ManyRows,
        batch: &Batch,
        bases: &RowBases,
        own: &Range<i64>,
    ) {
        let mut picked = None;
        for first in (0..batch.count).step_by(PICKED_ROWS) {
            let count = PICKED_ROWS.min(batch.count - first);
            let lists = Lists::of(self, many, batch, first);
            // SAFETY: these are rows of the batch; the caller guarantees the rest.
            unsafe {
                let to = std::slice::from_raw_parts(lists.to, count);
                if batch.mask.is_none() && self.are_whole(to, own) {
                    let later = batch.count - first - count;
                    self.combine(many, [count, later], lists, bases);
                    continue;
                }
                let picked = picked.get_or_insert_with(Picked::new);
                let before = own.start.saturating_sub(self.length as i64);
                picked.pick(count, lists, self.number_size(many), |row| {
                    batch.counts(first + row) & (to[row] > before) & (to[row] < own.end)
                });
                let (count, lists) = (picked.count, picked.lists(lists));
                self.run_own(many, count, lists, bases, own);
            }
        }
    }

    /// Combines the elements `columns` of all rows.
    ///
    /// # Safety
    /// As for [`run`](Self::run), for these elements; a kernel of many rows exists.
    pub unsafe fn run_columns(&self, batch: &Batch, bases: &RowBases, columns: Range<usize>) {
        if let Some(many) = &self.many {
            let (lists, at) = (Lists::of(self, many, batch, 0), columns.start * self.size);
            let place = (columns.len(), bases.out.wrapping_add(at));
            let base = self.base(bases).wrapping_add(at);
            // SAFETY: guaranteed by the caller.
            unsafe { self.call(many, place, base, [batch.count, 0], (lists, &[])) }
        }
    }

    /// Number of elements of each part if rows, the first of which is at `first`, are split into `parts` parts of whole
    /// cache lines, which no two threads share.
    pub fn columns_of(&self, first: *const u8, parts: usize) -> Option<usize> {
        let rows = matches!(self.many, Some(ManyRows { kernel: ManyKernel::Rows(_), .. }));
        let lines = self.length * self.size;
        let whole = lines.is_multiple_of(parts * LINE) && (first as usize).is_multiple_of(LINE);
        (rows && whole).then_some(self.length / parts)
    }

    /// Combines rows that overlap the elements `own`, possibly only in part.
    ///
    /// # Safety
    /// As for [`run`](Self::run), for these rows.
    unsafe fn run_own(
        &self,
        many: &ManyRows,
        count: usize,
        lists: Lists,
        bases: &RowBases,
        own: &Range<i64>,
    ) {
        let size = self.number_size(many);
        // SAFETY: guaranteed by the caller.
        unsafe {
            let to = std::slice::from_raw_parts(lists.to, count);
            if self.are_whole(to, own) {
                return self.combine(many, [count, 0], lists, bases);
            }
            let mut start = 0;
            for row in 0..=count {
                if row < count && self.are_whole(&to[row..=row], own) {
                    continue;
                }
                self.combine(many, [row - start, 0], lists.from(start, size), bases);
                if row < count
                    && let Some(part) = self.own(to[row], bases, own)
                {
                    let base = self.base(bases).wrapping_add(part.skipped * self.size);
                    let lists = lists.from(row, size);
                    self.call(many, (part.length, part.out), base, [1, 0], (lists, &[0]));
                }
                start = row + 1;
            }
        }
    }

    /// Combines whole rows; the lists have further ones after them, to prefetch.
    ///
    /// # Safety
    /// As for [`run`](Self::run), for these rows, which are all unmasked and inside `own`.
    unsafe fn combine(&self, many: &ManyRows, counts: [usize; 2], lists: Lists, bases: &RowBases) {
        if counts[0] > 0 {
            let place = (self.length, bases.out);
            // SAFETY: guaranteed by the caller.
            unsafe { self.call(many, place, self.base(bases), counts, (lists, &[])) }
        }
    }

    /// Combines rows of a batch, all unmasked, into the one at `sum`.
    ///
    /// # Safety
    /// As for [`sum`](Self::sum).
    pub(super) unsafe fn many(
        &self,
        many: &ManyRows,
        (batch, rows): (&Batch, Range<usize>),
        bases: &RowBases,
        sum: *mut u8,
    ) {
        let lists = Lists::of(self, many, batch, rows.start);
        let counts = [rows.len(), batch.count - rows.end];
        // SAFETY: guaranteed by the caller.
        unsafe { self.call(many, (self.length, sum), self.base(bases), counts, (lists, &[0])) }
    }

    /// Calls the kernel for rows with a destination each, or with a single one.
    ///
    /// # Safety
    /// As for the kernels: [`FoldRowsTo`](super::super::kernel::FoldRowsTo) and
    /// [`CombineAt`](super::super::kernel::CombineAt).
    #[inline(always)]
    unsafe fn call(
        &self,
        many: &ManyRows,
        (length, out): (usize, *mut u8),
        base: *const u8,
        counts: [usize; 2],
        (lists, only): (Lists, &[i64]),
    ) {
        let one_place = !only.is_empty();
        let to = if one_place { only.as_ptr() } else { lists.to };
        let (from, scales) = (lists.from, lists.numbers);
        // SAFETY: guaranteed by the caller; a single value has a single place.
        unsafe {
            match many.kernel {
                ManyKernel::Rows(kernel) => {
                    kernel(&RowsTo { counts, length, out, to, one_place, base, from, scales });
                }
                ManyKernel::Values(kernel) => kernel(counts[0], out, to, scales),
            }
        }
    }

    /// Returns true if rows at these destinations are inside the elements `own`.
    #[inline(always)]
    fn are_whole(&self, to: &[i64], own: &Range<i64>) -> bool {
        let (least, greatest) = (own.start, own.end.saturating_sub(self.length as i64));
        match &self.writable {
            _ if *own == (i64::MIN..i64::MAX) => true,
            // SAFETY: `to` has `to.len()` offsets.
            Some(OffsetCheck::Range { check, .. }) => unsafe {
                check(to.len(), to.as_ptr(), least, greatest) == 0
            },
            _ => to.iter().all(|to| (least..=greatest).contains(to)),
        }
    }

    /// The origin of rows; null for values.
    fn base(&self, bases: &RowBases) -> *const u8 {
        bases.sources.first().copied().unwrap_or(std::ptr::null())
    }

    /// Bytes of a factor or value.
    fn number_size(&self, many: &ManyRows) -> usize {
        many.number.map_or(0, |n| self.scalars[n].size)
    }
}
