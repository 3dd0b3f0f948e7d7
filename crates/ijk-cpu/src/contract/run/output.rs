//! Addresses of a tile of the output.

use crate::contract::canonical::bundle::{Bundle, TensorId};
use crate::contract::canonical::columns::point_offsets;
use crate::contract::canonical::problem::{Problem, TensorPointers};
use ijk_kernels::contraction::microkernel::{MicroTile, Microkernel};
use ijk_kernels::contraction::word::ElementWord;
use ijk_kernels::lines::{copy, prefetch_all};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Bytes of the largest tile.
const TILE_BYTES: usize = 2048;

/// Columns of the widest tile.
const MAX_COLUMNS: usize = 16;

/// Some rows of the output.
pub(crate) struct OutputRows<'a> {
    m: &'a Bundle,
    /// Length of contiguous runs of rows in the output.
    run: usize,
    first: usize,
    offsets: Vec<isize>,
}

impl<'a> OutputRows<'a> {
    /// Rows whose offsets are computed on demand.
    pub(crate) fn few(problem: &'a Problem) -> Self {
        let m = &problem.m;
        Self { m, run: m.run(TensorId::Out), first: 0, offsets: Vec::new() }
    }

    /// Rows whose offsets are used repeatedly; those of a single axis are cheap to compute.
    pub(crate) fn new(problem: &'a Problem, range: &Range<usize>) -> Self {
        if problem.m.axes().len() <= 1 {
            return Self::few(problem);
        }
        let offsets = point_offsets(&problem.m, TensorId::Out, range);
        Self { first: range.start, offsets, ..Self::few(problem) }
    }

    fn offset(&self, row: usize) -> isize {
        let known = self.offsets.get(row.wrapping_sub(self.first));
        known.copied().unwrap_or_else(|| self.m.offset(TensorId::Out, row))
    }

    /// Contiguous runs among `count` rows: position of the first, its offset, and length.
    fn runs(&self, start: usize, count: usize) -> impl Iterator<Item = (usize, isize, usize)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let row = start + at;
            let length = (self.run - row % self.run).min(count - at);
            let run = (length > 0).then(|| (at, self.offset(row), length));
            at += length;
            run
        })
    }
}

/// The rows of a panel in the output.
#[derive(Clone, Copy)]
pub(crate) struct TileRows<'a> {
    rows: &'a OutputRows<'a>,
    start: usize,
    /// Offset of the first row, if all rows are contiguous.
    whole: Option<isize>,
}

impl<'a> TileRows<'a> {
    /// The place of `count` rows from `start` on.
    pub(crate) fn new(rows: &'a OutputRows<'a>, start: usize, count: usize) -> Self {
        let whole = rows.run - start % rows.run >= count;
        Self { rows, start, whole: whole.then(|| rows.offset(start)) }
    }

    /// Computes a tile of those rows and of `columns`.
    ///
    /// # Safety
    /// As for [`TileFn`](ijk_kernels::contraction::microkernel::TileFn), except `tile.out`; the output has these rows and columns.
    #[inline]
    pub(crate) unsafe fn write<W: ElementWord>(
        &self,
        tensors: TensorPointers,
        entry: Microkernel,
        tile: &mut MicroTile,
        columns: &[isize],
    ) {
        let out = tensors.out.cast::<W>();
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.whole {
                Some(offset) => {
                    tile.out = out.wrapping_offset(offset).cast();
                    (entry.run)(tile);
                }
                None => scattered(out, entry, &*tile, (self.rows, self.start), columns),
            }
        }
    }
}

/// Computes a tile whose rows are not all contiguous in the output, by way of a contiguous one in scratch memory.
///
/// # Safety
/// As for [`TileFn`](ijk_kernels::contraction::microkernel::TileFn), with an output that has these rows and columns.
#[inline(never)]
unsafe fn scattered<W: ElementWord>(
    out: *mut W,
    entry: Microkernel,
    tile: &MicroTile,
    (rows, start): (&OutputRows, usize),
    columns: &[isize],
) {
    let mut dense = MaybeUninit::<ScratchTile>::uninit();
    let dense = dense.as_mut_ptr().cast::<W>();
    let height = tile.rows;
    let mut starts = [0; MAX_COLUMNS];
    for (n, start) in starts.iter_mut().enumerate().take(columns.len()) {
        *start = (n * height) as isize;
    }
    assert!(height * columns.len() * size_of::<W>() <= TILE_BYTES);
    // Prefetch the output, so that it is in cache when the sums are computed.
    for (_, offset, count) in rows.runs(start, height) {
        let first = |column: &isize| out.wrapping_offset(offset + column).cast_const().cast();
        columns.iter().for_each(|column| prefetch_all(first(column), count * size_of::<W>()));
    }
    // SAFETY: the dense tile has room; the output has these rows and columns.
    unsafe {
        if tile.accumulate {
            for (row, offset, count) in rows.runs(start, height) {
                for (c, column) in columns.iter().enumerate() {
                    copy(out.offset(offset + column), dense.add(c * height + row), count);
                }
            }
        }
        (entry.run)(&MicroTile { out: dense.cast(), columns: starts.as_ptr(), ..*tile });
        for (row, offset, count) in rows.runs(start, height) {
            for (c, column) in columns.iter().enumerate() {
                copy(dense.add(c * height + row), out.offset(offset + column), count);
            }
        }
    }
}

#[repr(align(64))]
struct ScratchTile(#[allow(dead_code)] [u8; TILE_BYTES]);
