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
            tile.out = tensors.out.cast::<W>().offset(first).cast();
            (entry.run)(&tile);
        } else {
            let mut rows = [0; MAX_ROWS];
            m.offsets(Operand::Out, start, &mut rows[..count]);
            tile.out = tensors.out;
            scattered::<W>(entry, tile, &rows[..count], columns);
        }
    }
}

/// Computes a tile whose rows are not neighbours in the output, by way of one where they are.
///
/// # Safety
/// As for the microkernel, with rows of the output at `rows`.
unsafe fn scattered<W: Word>(entry: Entry, mut tile: Tile, rows: &[isize], columns: &[isize]) {
    let mut dense = MaybeUninit::<Dense>::uninit();
    let dense = dense.as_mut_ptr().cast::<W>();
    let out = tile.out.cast::<W>();
    let mut starts = [0; MAX_COLUMNS];
    for (n, start) in starts.iter_mut().enumerate().take(columns.len()) {
        *start = (n * rows.len()) as isize;
    }
    assert!(rows.len() * columns.len() * size_of::<W>() <= TILE_BYTES);
    let at = |r: usize, c: usize| rows[r] + columns[c];
    // SAFETY: the dense tile has room; the output has these rows and columns.
    unsafe {
        if tile.accumulate {
            for c in 0..columns.len() {
                for r in 0..rows.len() {
                    dense.add(c * rows.len() + r).write(out.offset(at(r, c)).read());
                }
            }
        }
        (tile.out, tile.columns) = (dense.cast(), starts.as_ptr());
        (entry.run)(&tile);
        for c in 0..columns.len() {
            for r in 0..rows.len() {
                out.offset(at(r, c)).write(dense.add(c * rows.len() + r).read());
            }
        }
    }
}

#[repr(align(64))]
struct Dense(#[allow(dead_code)] [u8; TILE_BYTES]);
