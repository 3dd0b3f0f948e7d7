//! Rows written down, to be moved later and in another order.

use super::{Batch, RowSpec};
use crate::nest::kernel::Ascends;
use smallvec::SmallVec;

/// Room for rows in memory: what there is of each, by columns as in a [`Batch`].
#[derive(Clone, Debug)]
pub(in super::super) struct Table {
    /// Where each begins, and bytes of one of its elements.
    columns: SmallVec<[(*mut u8, usize); 8]>,
}

// SAFETY: only pointers; whoever follows them answers for that.
unsafe impl Sync for Table {}
// SAFETY: as above.
unsafe impl Send for Table {}

impl Table {
    /// Bytes of a table for so many rows.
    pub fn bytes(rows: &RowSpec, count: usize) -> usize {
        rows.columns().map(|size| (size * count).next_multiple_of(64)).sum()
    }

    /// A table for so many rows, in memory of so many bytes.
    pub fn new(rows: &RowSpec, count: usize, memory: *mut u8) -> Self {
        let mut at = memory;
        let column = |size: usize| {
            let start = at;
            at = at.wrapping_add((size * count).next_multiple_of(64));
            (start, size)
        };
        Self { columns: rows.columns().map(column).collect() }
    }

    /// From a row on.
    pub fn from(&self, first: usize) -> Self {
        let later = |&(start, size): &(*mut u8, usize)| (start.wrapping_add(first * size), size);
        Self { columns: self.columns.iter().map(later).collect() }
    }

    /// So many of its rows, all of which count.
    pub fn batch(&self, count: usize) -> Batch {
        let columns = self.columns.iter().map(|(start, _)| start.cast_const()).collect();
        Batch { count, mask: None, columns }
    }

    /// Where so many rows go.
    ///
    /// # Safety
    /// There are so many, and nobody writes them meanwhile.
    pub unsafe fn places(&self, count: usize) -> &[i64] {
        // SAFETY: the caller's promise; the first column has these offsets, aligned as memory is.
        unsafe { std::slice::from_raw_parts(self.columns[0].0.cast(), count) }
    }

    /// Copies rows of another table, each to a place of its own.
    ///
    /// # Safety
    /// There are such rows, this table's nobody else's.
    pub unsafe fn bring(&self, places: &[u32], from: &Self, rows: &[u32]) {
        for (&(to, size), &(from, _)) in self.columns.iter().zip(&from.columns) {
            // SAFETY: the caller's promise.
            unsafe {
                match size {
                    1 => bring::<u8>(places, to, from, rows),
                    4 => bring::<u32>(places, to, from, rows),
                    8 => bring::<u64>(places, to, from, rows),
                    _ => bring::<[u64; 2]>(places, to, from, rows),
                }
            }
        }
    }
}

/// Copies the elements of a column that rows are the positions of, each to a place.
///
/// # Safety
/// There are such elements on both sides.
#[inline(always)]
unsafe fn bring<W: Copy>(places: &[u32], to: *mut u8, from: *const u8, rows: &[u32]) {
    for (&place, &row) in places.iter().zip(rows) {
        // SAFETY: the caller's promise.
        unsafe {
            to.cast::<W>().add(place as usize).write(from.cast::<W>().add(row as usize).read())
        };
    }
}

/// Copies an element of so many bytes.
///
/// # Safety
/// Both sides have it.
#[inline(always)]
unsafe fn copy_one(size: usize, from: *const u8, to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            1 => to.write(from.read()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            _ => std::ptr::copy_nonoverlapping(from, to, size),
        }
    }
}

/// Rows as a tile program lists them, instead of moving them.
#[derive(Debug)]
pub(in super::super) struct List {
    table: Table,
    len: usize,
    /// Where the last row goes, and whether all go to places in ascending order.
    last: i64,
    ascends: bool,
}

impl List {
    /// An empty list, in a table.
    pub fn new(table: Table) -> Self {
        Self { table, len: 0, last: i64::MIN, ascends: true }
    }

    /// How many rows there are, and whether they go to places in ascending order.
    pub fn finish(self) -> (usize, bool) {
        (self.len, self.ascends)
    }

    /// Adds those rows of a batch that count.
    ///
    /// # Safety
    /// There is room for them; the batch has its rows in all columns.
    pub unsafe fn add(&mut self, batch: &Batch, ascends: Ascends) {
        // SAFETY: the caller's promise, here and below.
        let mask = batch.mask.map(|mask| unsafe { std::slice::from_raw_parts(mask, batch.count) });
        let first = self.len;
        for (&(start, size), &from) in self.table.columns.iter().zip(&batch.columns) {
            let mut to = start.wrapping_add(self.len * size);
            match mask {
                // SAFETY: as above.
                None => unsafe { std::ptr::copy_nonoverlapping(from, to, batch.count * size) },
                Some(mask) => {
                    for (row, _) in mask.iter().enumerate().filter(|(_, counts)| **counts) {
                        // SAFETY: as above.
                        unsafe { copy_one(size, from.wrapping_add(row * size), to) };
                        to = to.wrapping_add(size);
                    }
                }
            }
        }
        let counts = |mask: &[bool]| mask.iter().filter(|counts| **counts).count();
        self.len += mask.map_or(batch.count, counts);
        // SAFETY: the rows that were added.
        unsafe { self.look(first, ascends) };
    }

    /// Sees whether rows from one on go to places that ascend.
    ///
    /// # Safety
    /// There are so many.
    unsafe fn look(&mut self, first: usize, ascends: Ascends) {
        // SAFETY: the caller's promise.
        let places = unsafe { &self.table.places(self.len)[first..] };
        if let (true, [next, .., last] | [next @ last]) = (self.ascends, places) {
            // SAFETY: these are as many offsets as there are.
            let alone = unsafe { ascends(places.len(), places.as_ptr()) };
            self.ascends = *next >= self.last && alone;
            self.last = *last;
        }
    }
}
