//! Inclusive scans along rows.
//!
//! A *strand* is the unit of a scan: one row, or adjacent rows if these are contiguous in memory and the values of one
//! row are not. Strands are divided among threads. If they are few and long, they are cut into chunks: first the totals
//! of chunks are computed, then the totals before each, and last the chunks are scanned. All cuts are functions of
//! extents and strides.

mod relative;
mod run;
mod strand;

use ijk_kernels::tuning::order::{SCAN_CUT_POINTS, SCAN_STRANDS};
use ijk_kernels::tuning::time::SCAN_VALUE;
pub(crate) use relative::RelativeProgram;

use crate::copy::Copier;
use crate::error::Fault;
use crate::explain::{KernelChoice, Reason, Relation, limit};
use crate::nest::{FoldKernels, ScanKernels, TileKernel, fold, moves, scalar_bits, scan};
use crate::origin::Origin;
use ijk_kernels::simd::Level;
use ijk_plan::plan::Scan;
use ijk_types::scalar;
use smallvec::SmallVec;
use strand::{Strand, StrandLayout};

/// A prepared scan.
#[derive(Clone, Debug)]
pub(crate) struct ScanProgram {
    /// Bytes of an element.
    size: usize,
    /// Values of a row.
    length: usize,
    from: ScanOrigin,
    to: ScanOrigin,
    /// Axes along which strands are counted, outermost first.
    rows: SmallVec<[ScanRowAxis; 4]>,
    strand: Strand,
    /// Values of a row in a chunk; all of them if the row is not cut.
    chunk: usize,
    kernels: ScanKernels,
    /// Kernels that combine the values of a chunk.
    fold: FoldKernels,
    /// The identity.
    start: [u64; 2],
    /// Kernel that fills sums with the identity.
    splat: TileKernel,
    /// Copy of values that are not contiguous.
    copier: Copier,
}

/// Origin of a scan, and stride in bytes of the values of a row.
#[derive(Clone, Copy, Debug)]
struct ScanOrigin {
    origin: Origin,
    step: isize,
}

/// An axis with its strides in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ScanRowAxis {
    extent: usize,
    from: isize,
    to: isize,
}

impl ScanProgram {
    /// A checked scan, whose domain is not empty.
    pub fn new(task: &Scan, level: Level) -> Result<Self, Fault> {
        let t = task.dtype;
        let size = t.size();
        let bytes = |n: isize| n.wrapping_mul(size as isize);
        let place =
            |base, step: isize| ScanOrigin { origin: Origin::new(base, size), step: bytes(step) };
        let axes = task.rows.iter().filter(|axis| axis.extent > 1);
        let axes =
            axes.map(|a| ScanRowAxis { extent: a.extent, from: bytes(a.from), to: bytes(a.to) });
        let mut rows = merged(axes.collect());
        let (from, to) = (place(task.from, task.along.from), place(task.to, task.along.to));
        let length = task.along.extent;
        let strand = Strand::choose(&mut rows, (from.step, to.step), size);
        let count: usize = rows.iter().map(|row| row.extent).product::<usize>() * strand.pieces();
        let cut = count < SCAN_STRANDS && length.saturating_mul(strand.width) >= SCAN_CUT_POINTS;
        Ok(Self {
            size,
            length,
            from,
            to,
            rows,
            strand,
            chunk: if cut { strand.chunk(size) } else { length },
            kernels: scan(task.reduce, t, level).ok_or(Fault::Types)?,
            fold: fold(task.reduce, t, level).ok_or(Fault::Types)?,
            start: scalar_bits(scalar::identity(task.reduce, t)),
            splat: moves(t, level).splat,
            copier: Copier::new(t, level),
        })
    }

    /// Its algorithm and blocking, with reasons.
    pub(crate) fn explain(&self) -> KernelChoice {
        let algorithm = match self.strand.way {
            StrandLayout::Up | StrandLayout::Down => "row by row, in blocks of lanes",
            StrandLayout::Across => "adjacent rows together",
            StrandLayout::Packed => "row by row, values packed",
        };
        let strands = self.strands();
        let choice = KernelChoice::new(algorithm)
            .extent("strands", strands)
            .extent("length", self.length)
            .block("strand", self.strand.width, "rows")
            .block("chunk", self.chunk, "values")
            .holding("values of a chunk", self.chunk * self.strand.width * self.size);
        choice.because(self.chunk_reason(strands))
    }

    /// The reason for rows that are cut into chunks, or not.
    fn chunk_reason(&self, strands: usize) -> Reason {
        if strands >= SCAN_STRANDS {
            let then = "whole rows are divided among threads";
            let limit = limit!(SCAN_STRANDS);
            return Reason::compared(("strands", strands), Relation::AtLeast, limit, then);
        }
        let points = self.length.saturating_mul(self.strand.width);
        let (relation, then) = match points >= SCAN_CUT_POINTS {
            true => (Relation::AtLeast, "rows are cut into chunks, whose totals are added first"),
            false => (Relation::Below, "rows are not cut into chunks"),
        };
        Reason::compared(("values of a strand", points), relation, limit!(SCAN_CUT_POINTS), then)
    }

    /// Estimated work, in nanoseconds on one thread.
    pub fn cost(&self) -> f64 {
        let points = self.points() as f64 * SCAN_VALUE;
        if matches!(self.strand.way, StrandLayout::Packed) { 3.0 * points } else { points }
    }

    fn points(&self) -> usize {
        self.rows.iter().map(|row| row.extent).product::<usize>() * self.strand.extent * self.length
    }

    /// Number of strands along all axes.
    fn strands(&self) -> usize {
        self.rows.iter().map(|row| row.extent).product::<usize>() * self.strand.pieces()
    }

    /// Number of chunks of a strand.
    fn chunks(&self) -> usize {
        self.length.div_ceil(self.chunk)
    }
}

/// Merges axes that are nested contiguously in both arrays.
fn merged(rows: SmallVec<[ScanRowAxis; 4]>) -> SmallVec<[ScanRowAxis; 4]> {
    let mut all: SmallVec<[ScanRowAxis; 4]> = SmallVec::new();
    for row in rows {
        let n = row.extent as isize;
        match all.last_mut() {
            Some(outer)
                if outer.from == row.from.wrapping_mul(n) && outer.to == row.to.wrapping_mul(n) =>
            {
                *outer = ScanRowAxis { extent: outer.extent * row.extent, ..row };
            }
            _ => all.push(row),
        }
    }
    all
}
