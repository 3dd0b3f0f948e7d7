//! Rows written down, to be moved later and in another order.

use super::{Batch, RowSpec};
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

    /// Copies a row of another table.
    ///
    /// # Safety
    /// There are such rows, this table's nobody else's.
    #[inline(always)]
    pub unsafe fn copy(&self, to: usize, from: &Self, row: usize) {
        for (&(to_start, size), &(from_start, _)) in self.columns.iter().zip(&from.columns) {
            let (dst, src) =
                (to_start.wrapping_add(to * size), from_start.wrapping_add(row * size));
            // SAFETY: the caller's promise.
            unsafe { copy_one(size, src, dst) };
        }
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
    pub table: Table,
    pub len: usize,
}

impl List {
    /// Adds those rows of a batch that count.
    ///
    /// # Safety
    /// There is room for them; the batch has its rows in all columns.
    pub unsafe fn add(&mut self, batch: &Batch) {
        // SAFETY: the caller's promise, here and below.
        let mask = batch.mask.map(|mask| unsafe { std::slice::from_raw_parts(mask, batch.count) });
        let mask = mask.filter(|mask| mask.contains(&false));
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
    }
}
