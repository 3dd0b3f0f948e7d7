//! Where a tile of the output is written.

use super::bundle::Operand;
use super::pack::Word;
use super::problem::{Problem, Tensors};
use super::side::MAX_ROWS;
use super::steps::offsets;
use super::tile::{Entry, Tile};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Bytes of the largest tile.
const TILE_BYTES: usize = 2048;

/// Columns of the widest tile.
const MAX_COLUMNS: usize = 16;

/// Some columns of the output.
pub(crate) struct Columns {
    first: usize,
    offsets: Vec<isize>,
}

impl Columns {
    pub(crate) fn new(problem: &Problem, range: &Range<usize>) -> Self {
        Self { first: range.start, offsets: offsets(&problem.n, Operand::Out, range) }
    }

    /// The offsets of `count` columns from `start` on.
    pub(crate) fn at(&self, start: usize, count: usize) -> &[isize] {
        &self.offsets[start - self.first..][..count]
    }
}

/// Computes a tile whose first row is row `start` of the output.
///
/// # Safety
/// As for the microkernel, but for `tile.out`; the output has these rows and columns.
pub(crate) unsafe fn write<W: Word>(
    problem: &Problem,
    tensors: Tensors,
    entry: Entry,
    mut tile: Tile,
    start: usize,
    columns: &[isize],
) {
    let (m, count) = (&problem.m, tile.rows);
    // SAFETY: the caller's promise.
    unsafe {
        if m.is_run(Operand::Out, start, count) {
            let first = m.offset(Operand::Out, start);
            tile.out = tensors.out.cast::<W>().wrapping_offset(first).cast();
            (entry.run)(&tile);
        } else {
            let mut rows = [0; MAX_ROWS];
            m.offsets(Operand::Out, start, &mut rows[..count]);
            tile.out = tensors.out;
            let run = m.run(Operand::Out);
            let rows = Rows { offsets: &rows[..count], first: run - start % run, run };
            scattered::<W>(entry, tile, rows, columns);
        }
    }
}

/// Rows of a tile in the output.
struct Rows<'a> {
    offsets: &'a [isize],
    /// How many of the first are neighbours.
    first: usize,
    /// And how many at a time after these.
    run: usize,
}

impl Rows<'_> {
    /// The runs of neighbours: their first row and its offset, and how many they are.
    fn runs(&self) -> impl Iterator<Item = (usize, isize, usize)> {
        let (mut start, mut end) = (0, self.first.min(self.offsets.len()));
        std::iter::from_fn(move || {
            let run = (start < end).then(|| (start, self.offsets[start], end - start))?;
            (start, end) = (end, (end + self.run).min(self.offsets.len()));
            Some(run)
        })
    }
}

/// Computes a tile whose rows are not all neighbours in the output, by way of one where they are.
///
/// # Safety
/// As for the microkernel, with rows of the output at `rows`.
unsafe fn scattered<W: Word>(entry: Entry, mut tile: Tile, rows: Rows, columns: &[isize]) {
    let mut dense = MaybeUninit::<Dense>::uninit();
    let dense = dense.as_mut_ptr().cast::<W>();
    let (out, height) = (tile.out.cast::<W>(), rows.offsets.len());
    let mut starts = [0; MAX_COLUMNS];
    for (n, start) in starts.iter_mut().enumerate().take(columns.len()) {
        *start = (n * height) as isize;
    }
    assert!(height * columns.len() * size_of::<W>() <= TILE_BYTES);
    // SAFETY: the dense tile has room; the output has these rows and columns.
    unsafe {
        if tile.accumulate {
            for (c, &column) in columns.iter().enumerate() {
                for (row, offset, count) in rows.runs() {
                    copy(out.offset(offset + column), dense.add(c * height + row), count);
                }
            }
        }
        (tile.out, tile.columns) = (dense.cast(), starts.as_ptr());
        (entry.run)(&tile);
        for (c, &column) in columns.iter().enumerate() {
            for (row, offset, count) in rows.runs() {
                copy(dense.add(c * height + row), out.offset(offset + column), count);
            }
        }
    }
}

/// Copies a few elements, by pieces that may overlap.
///
/// # Safety
/// `from` and `to` have so many elements, and do not overlap.
#[inline(always)]
unsafe fn copy<W: Word>(from: *const W, to: *mut W, count: usize) {
    // SAFETY: pieces begin and end within the elements.
    unsafe {
        match count {
            16.. => {
                (0..count - 16).step_by(16).for_each(|n| piece::<W, 16>(from.add(n), to.add(n)));
                piece::<W, 16>(from.add(count - 16), to.add(count - 16));
            }
            8.. => {
                piece::<W, 8>(from, to);
                piece::<W, 8>(from.add(count - 8), to.add(count - 8));
            }
            _ => (0..count).for_each(|n| to.add(n).write(from.add(n).read())),
        }
    }
}

/// # Safety
/// As for [`copy`], with `N` elements.
#[inline(always)]
unsafe fn piece<W: Word, const N: usize>(from: *const W, to: *mut W) {
    // SAFETY: the caller's promise.
    unsafe { to.cast::<[W; N]>().write_unaligned(from.cast::<[W; N]>().read_unaligned()) };
}

#[repr(align(64))]
struct Dense(#[allow(dead_code)] [u8; TILE_BYTES]);
