//! Nests that go row by row: what they compute with is read at places that are the same for a whole row, as
//! in `table[idx[n], c] * w[n]`, `out[idx[n], c] += …`.
//!
//! Where rows are, whether they count and what is one number for a row depends on the outer axes alone, so it is
//! computed once for a row, for many rows at a time, and asked for before it is needed. The inner axes are one
//! contiguous run in everything that varies along them.
//!
//! * [`pattern`] finds such nests,
//! * [`lower`] makes instructions of what is one for a row, and a [`RowProgram`] of the rest,
//! * [`run`] stores rows, or combines them with what is there, [`many`] the plain ones,
//! * [`table`] writes them down, where others than who finds them are to move them.

mod lower;
mod many;
mod pattern;
mod program;
mod run;
mod table;

pub(super) use pattern::RowPattern;
pub(super) use program::RowProgram;
pub(super) use run::{Batch, RowBases};
pub(super) use table::{List, Table};

use super::kernel::{Ascends, CombineAt, FoldKernels, FoldRowsTo, Kernel};
use super::program::{OffsetCheck, Slot};
use crate::copy::Copier;
use smallvec::SmallVec;
use std::ops::Range;

/// Runs shorter than this are not worth it.
const SHORT: usize = 8;

/// Rows ahead of the present one that are asked for: what the hardware cannot foresee.
const AHEAD: usize = 16;

/// Lines of a row that are asked for: the hardware goes on.
const LINES: usize = 8;

/// Elements that are moved between two questions whether the run is to end.
const MOST_MOVED: usize = 1 << 21;

/// Bytes of a row that streams, at least.
const LONG_ROW: usize = 256;

/// Rows, for a worker.
#[derive(Clone, Debug)]
pub(super) struct RowSpec {
    /// Bools, one a row.
    pub mask: Option<Slot>,
    /// Where they are written: offsets from the output's origin.
    pub to: Slot,
    /// What is read.
    pub sources: SmallVec<[RowSource; 4]>,
    /// What is one number for a row.
    pub scalars: SmallVec<[RowScalar; 4]>,
    /// What computes a row.
    pub program: RowProgram,
    /// Which may be written.
    pub writable: Option<OffsetCheck>,
    /// The kernel that tells whether places ascend.
    pub ascends: Ascends,
    /// Elements of a row.
    pub length: usize,
    /// Bytes of an element of the output.
    pub size: usize,
    /// What fills a row, with its kernel.
    pub fill: Option<([u64; 2], Kernel)>,
    /// What combines rows; `None` stores them.
    pub fold: Option<FoldKernels>,
    /// What combines many rows at once, where that is all there is to do.
    pub many: Option<ManyRows>,
    /// Whether the elements of a row combine with each other.
    pub along: bool,
    /// What combines the fill with a row, in one go.
    pub fresh: Option<Kernel>,
    /// The identity, where it does not show in which order values combine, and what fills memory with it.
    pub apart: Option<([u64; 2], Kernel)>,
    /// What copies rows past the caches, where that pays.
    pub stream: Option<Copier>,
    /// Where registers begin in a worker's scratch memory.
    pub registers: usize,
}

/// An array of which rows are read.
#[derive(Clone, Debug)]
pub(super) struct RowSource {
    /// Offsets from the origin, one a row.
    pub from: Slot,
    /// The buffer, and bytes to the origin there.
    pub array: (usize, isize),
    /// Bytes of an element.
    pub size: usize,
    /// Which offsets may be read; all, where they are affine.
    pub readable: Option<OffsetCheck>,
}

/// One number for each row.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowScalar {
    /// Where they are.
    pub slot: Slot,
    /// Bytes of one.
    pub size: usize,
}

/// Combines rows of one array, times one number each or as they are, in one go; or rows of a single element, which
/// is a number each.
#[derive(Clone, Copy, Debug)]
pub(super) struct ManyRows {
    /// The loop.
    pub kernel: ManyKernel,
    /// Which of the scalars it takes.
    pub number: Option<usize>,
}

/// A loop that combines rows or values.
#[derive(Clone, Copy, Debug)]
pub(super) enum ManyKernel {
    Rows(FoldRowsTo),
    Values(CombineAt),
}

impl RowSpec {
    /// Whether rows combine with what is at computed places, and those that do not count are left alone: so nothing
    /// shows but the order of those that fall together.
    pub fn accumulates(&self) -> bool {
        let range = matches!(self.writable, Some(OffsetCheck::Range { .. }));
        range && self.fold.is_some() && self.fill.is_none()
    }

    /// Rows that are moved between two questions whether the run is to end.
    pub fn at_a_time(&self) -> usize {
        (MOST_MOVED / self.length).max(1)
    }

    /// The slots that it reads.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        let sources = self.sources.iter().map(|source| source.from);
        let scalars = self.scalars.iter().map(|scalar| scalar.slot);
        self.mask.into_iter().chain([self.to]).chain(sources).chain(scalars)
    }

    /// Bytes of what there is of a row in each [column](Batch::columns).
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        let offsets = self.sources.iter().map(|_| size_of::<i64>());
        [size_of::<i64>()].into_iter().chain(offsets).chain(self.scalars.iter().map(|s| s.size))
    }

    /// Elements of the output that rows may reach, as offsets; all where they are affine.
    pub fn reach(&self) -> Range<i64> {
        match &self.writable {
            Some(OffsetCheck::Range { least, greatest, .. }) => {
                *least..greatest.saturating_add(self.length as i64)
            }
            _ => i64::MIN..i64::MAX,
        }
    }
}
