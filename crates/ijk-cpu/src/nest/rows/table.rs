//! Lists of rows, to move them later in another order.

use super::{Batch, RowSpec};
use ijk_kernels::tile::Ascends;
use smallvec::SmallVec;

/// Memory for rows, by columns as in a [`Batch`].
#[derive(Clone, Debug)]
pub(in super::super) struct Table {
    /// Address of each column, and bytes of its elements.
    columns: SmallVec<[(*mut u8, usize); 8]>,
}

// SAFETY: these are only pointers; code that dereferences them guarantees access.
unsafe impl Sync for Table {}
// SAFETY: as for `Sync`.
unsafe impl Send for Table {}

impl Table {
    /// Bytes of a table for `count` rows.
    pub fn bytes(rows: &RowSpec, count: usize) -> usize {
        rows.columns().map(|size| (size * count).next_multiple_of(64)).sum()
    }

    /// A table for `count` rows, in memory of [`bytes`](Self::bytes).
    pub fn new(rows: &RowSpec, count: usize, memory: *mut u8) -> Self {
        let mut at = memory;
        let column = |size: usize| {
            let start = at;
            at = at.wrapping_add((size * count).next_multiple_of(64));
            (start, size)
        };
        Self { columns: rows.columns().map(column).collect() }
    }

    /// The table from a row on.
    pub fn from(&self, first: usize) -> Self {
        let later = |&(start, size): &(*mut u8, usize)| (start.wrapping_add(first * size), size);
        Self { columns: self.columns.iter().map(later).collect() }
    }

    /// The first `count` rows, all unmasked.
    pub fn batch(&self, count: usize) -> Batch {
        let columns = self.columns.iter().map(|(start, _)| start.cast_const()).collect();
        Batch { count, mask: None, columns }
    }

    /// Destinations of the first `count` rows.
    ///
    /// # Safety
    /// The table has these rows, and no thread writes them meanwhile.
    pub unsafe fn places(&self, count: usize) -> &[i64] {
        // SAFETY: guaranteed by the caller; the first column has these offsets, aligned as memory is.
        unsafe { std::slice::from_raw_parts(self.columns[0].0.cast(), count) }
    }

    /// Copies rows of another table to `places`.
    ///
    /// # Safety
    /// Both tables have these rows, and no other thread accesses this one's.
    pub unsafe fn bring(&self, places: &[u32], from: &Self, rows: &[u32]) {
        for (&(to, size), &(from, _)) in self.columns.iter().zip(&from.columns) {
            // SAFETY: guaranteed by the caller.
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

/// Copies the elements of a column at the positions `rows` to `places`.
///
/// # Safety
/// Both sides have these elements.
#[inline(always)]
unsafe fn bring<W: Copy>(places: &[u32], to: *mut u8, from: *const u8, rows: &[u32]) {
    for (&place, &row) in places.iter().zip(rows) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            to.cast::<W>().add(place as usize).write(from.cast::<W>().add(row as usize).read())
        };
    }
}

/// Copies an element of `size` bytes.
///
/// # Safety
/// Both sides have the element.
#[inline(always)]
unsafe fn copy_one(size: usize, from: *const u8, to: *mut u8) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match size {
            1 => to.write(from.read()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            _ => std::ptr::copy_nonoverlapping(from, to, size),
        }
    }
}

/// Rows that a tile program lists instead of moving them.
#[derive(Debug)]
pub(in super::super) struct List {
    table: Table,
    len: usize,
    /// Destination of the last row, and true if all destinations are in ascending order.
    last: i64,
    ascends: bool,
}

impl List {
    /// An empty list, in a table.
    pub fn new(table: Table) -> Self {
        Self { table, len: 0, last: i64::MIN, ascends: true }
    }

    /// Number of rows, and true if their destinations are in ascending order.
    pub fn finish(self) -> (usize, bool) {
        (self.len, self.ascends)
    }

    /// Adds the unmasked rows of a batch.
    ///
    /// # Safety
    /// The table has room for them; the batch has its rows in all columns.
    pub unsafe fn add(&mut self, batch: &Batch, ascends: Ascends) {
        // SAFETY: guaranteed by the caller, here and below.
        let mask = batch.mask.map(|mask| unsafe { std::slice::from_raw_parts(mask, batch.count) });
        let first = self.len;
        for (&(start, size), &from) in self.table.columns.iter().zip(&batch.columns) {
            let mut to = start.wrapping_add(self.len * size);
            match mask {
                // SAFETY: the table has room for the rows of the batch.
                None => unsafe { std::ptr::copy_nonoverlapping(from, to, batch.count * size) },
                Some(mask) => {
                    for (row, _) in mask.iter().enumerate().filter(|(_, counts)| **counts) {
                        // SAFETY: the table has room for the unmasked rows of the batch.
                        unsafe { copy_one(size, from.wrapping_add(row * size), to) };
                        to = to.wrapping_add(size);
                    }
                }
            }
        }
        let counts = |mask: &[bool]| mask.iter().filter(|counts| **counts).count();
        self.len += mask.map_or(batch.count, counts);
        // SAFETY: these rows were added above.
        unsafe { self.look(first, ascends) };
    }

    /// Updates the order of destinations by the rows from `first` on.
    ///
    /// # Safety
    /// The list has `len` rows.
    unsafe fn look(&mut self, first: usize, ascends: Ascends) {
        // SAFETY: guaranteed by the caller.
        let places = unsafe { &self.table.places(self.len)[first..] };
        if let (true, [next, .., last] | [next @ last]) = (self.ascends, places) {
            // SAFETY: `places` has `places.len()` offsets.
            let alone = unsafe { ascends(places.len(), places.as_ptr()) };
            self.ascends = *next >= self.last && alone;
            self.last = *last;
        }
    }
}
