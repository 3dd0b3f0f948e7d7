//! Nests that are processed row by row: their operands are read at positions that are computed once for a whole row, as
//! in `table[idx[n], c] * w[n]`, `out[idx[n], c] += …`.
//!
//! The positions of rows, their masks and scalars depend on the outer axes only, so they are computed once for a row,
//! for many rows at a time, and rows are prefetched. The inner axes are one contiguous run in every operand that varies
//! along them.
//!
//! * [`pattern`] matches such nests,
//! * [`lower`] makes instructions of the values that are constant within a row, and a [`RowProgram`] of the others,
//! * [`run`] stores rows, or combines them with their destinations, [`many`] for the common case,
//! * [`table`] lists rows, to move them later in another order.

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

use super::program::{OffsetCheck, Slot};
use crate::copy::Copier;
use ijk_kernels::tile::{Ascends, CombineAt, FoldKernels, FoldRowsTo, TileKernel};
use ijk_kernels::tuning::time::CANCEL_ELEMENTS;
use smallvec::SmallVec;
use std::ops::Range;

/// Rows and their processing by a worker.
#[derive(Clone, Debug)]
pub(super) struct RowSpec {
    /// Masks: one bool for each row.
    pub mask: Option<Slot>,
    /// Destinations: offsets from the output's origin.
    pub to: Slot,
    /// Arrays that are read.
    pub sources: SmallVec<[RowSource; 4]>,
    /// Scalars of each row.
    pub scalars: SmallVec<[RowScalar; 4]>,
    /// The program of a row.
    pub program: RowProgram,
    /// Check of the destinations.
    pub writable: Option<OffsetCheck>,
    /// The kernel that tests if destinations are in ascending order.
    pub ascends: Ascends,
    /// Elements of a row.
    pub length: usize,
    /// Bytes of an element of the output.
    pub size: usize,
    /// The value that fills a row, with its kernel.
    pub fill: Option<([u64; 2], TileKernel)>,
    /// The kernels that combine rows; `None` stores them.
    pub fold: Option<FoldKernels>,
    /// The kernel that combines many rows at once, if nothing else is to be done.
    pub many: Option<ManyRows>,
    /// True if the elements of a row are combined with each other.
    pub along: bool,
    /// The kernel that combines the fill value with a row in one pass.
    pub fresh: Option<TileKernel>,
    /// Copies of the output in which parts of the rows are combined, if they pay.
    pub copies: Option<PrivateCopies>,
    /// The copy of rows with non-temporal stores, if they pay.
    pub stream: Option<Copier>,
    /// Offset of registers in a worker's scratch memory.
    pub registers: usize,
}

/// An array whose rows are read.
#[derive(Clone, Debug)]
pub(super) struct RowSource {
    /// Offsets from the origin, one for each row.
    pub from: Slot,
    /// The buffer, and bytes to the origin there.
    pub array: (usize, isize),
    /// Bytes of an element.
    pub size: usize,
    /// Check of offsets; `None` if they are affine, and checked before.
    pub readable: Option<OffsetCheck>,
}

/// A scalar for each row.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowScalar {
    /// Slot of the scalars.
    pub slot: Slot,
    /// Bytes of a scalar.
    pub size: usize,
}

/// Copies of an array in which parts of the rows are combined.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrivateCopies {
    /// The value that leaves all others as they are, and the kernel that fills memory with it.
    pub empty: ([u64; 2], TileKernel),
    /// Number of parts, the first of which is combined with the array itself, if results depend on it: sums are rounded.
    /// Otherwise, each thread has one.
    pub parts: Option<usize>,
}

/// Combination of many rows of one array, optionally scaled by one factor each, in one call; or of many rows of a
/// single element.
#[derive(Clone, Copy, Debug)]
pub(super) struct ManyRows {
    /// The kernel.
    pub kernel: ManyKernel,
    /// Index of its factor or value among the scalars.
    pub number: Option<usize>,
}

/// A kernel that combines rows or values.
#[derive(Clone, Copy, Debug)]
pub(super) enum ManyKernel {
    Rows(FoldRowsTo),
    Values(CombineAt),
}

impl RowSpec {
    /// Returns true if rows are combined with elements at computed destinations, and masked rows have no effect: then
    /// only the order of rows with a common destination matters.
    pub fn accumulates(&self) -> bool {
        let range = matches!(self.writable, Some(OffsetCheck::Range { .. }));
        range && self.fold.is_some() && self.fill.is_none()
    }

    /// Returns true if sums are rounded, and added up in parts for any number of threads.
    pub fn has_parts(&self) -> bool {
        self.accumulates() && self.copies.is_some_and(|copies| copies.parts.is_some())
    }

    /// Rows that are moved between two checks for cancellation.
    pub fn at_a_time(&self) -> usize {
        (CANCEL_ELEMENTS / self.length).max(1)
    }

    /// The slots that it reads.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        let sources = self.sources.iter().map(|source| source.from);
        let scalars = self.scalars.iter().map(|scalar| scalar.slot);
        self.mask.into_iter().chain([self.to]).chain(sources).chain(scalars)
    }

    /// Bytes of a row's entry in each [column](Batch::columns).
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        let offsets = self.sources.iter().map(|_| size_of::<i64>());
        [size_of::<i64>()].into_iter().chain(offsets).chain(self.scalars.iter().map(|s| s.size))
    }

    /// Elements of the output that rows may reach, as offsets; all if they are affine.
    pub fn reach(&self) -> Range<i64> {
        match &self.writable {
            Some(OffsetCheck::Range { least, greatest, .. }) => {
                *least..greatest.saturating_add(self.length as i64)
            }
            _ => i64::MIN..i64::MAX,
        }
    }
}
