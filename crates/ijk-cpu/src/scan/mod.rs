//! Scans: each value of a row combined with all before it.
//!
//! A *strand* is what is scanned at a time: one row, or rows side by side where these are neighbours
//! in memory and the values of one row are not. Strands are shared among threads. Where they are few
//! and long they are cut into chunks: the chunks' values are combined first, then what comes before
//! each, and last they are scanned. All cuts follow from extents and strides alone.

mod relative;
mod run;
mod strand;

pub(crate) use relative::RelativeProgram;

use crate::copy::Copier;
use crate::error::Fault;
use crate::nest::{FoldKernels, Kernel, ScanKernels, fold, moves, scalar_bits, scan};
use crate::origin::Origin;
use crate::simd::Level;
use ijk_plan::plan::Scan;
use ijk_types::scalar;
use smallvec::SmallVec;
use strand::{Strand, Way};

/// A scan made ready to run.
#[derive(Clone, Debug)]
pub(crate) struct ScanProgram {
    /// Bytes of an element.
    size: usize,
    /// Values of a row.
    length: usize,
    from: Place,
    to: Place,
    /// The axes that strands are counted along, outermost first.
    rows: SmallVec<[Row; 4]>,
    strand: Strand,
    /// Values of a row in a chunk; all of a row that is not cut.
    chunk: usize,
    kernels: ScanKernels,
    /// Combines the values of a chunk.
    fold: FoldKernels,
    /// The identity.
    start: [u64; 2],
    /// Fills sums with it.
    splat: Kernel,
    /// Moves values that are not neighbours.
    copier: Copier,
}

/// Where a scan's first value is, and how far apart in bytes values of a row are.
#[derive(Clone, Copy, Debug)]
struct Place {
    origin: Origin,
    step: isize,
}

/// An axis with its steps in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    extent: usize,
    from: isize,
    to: isize,
}

/// With so many strands none is cut,
const MANY_STRANDS: usize = 16;
/// nor a scan of so few points.
const LARGE: usize = 1 << 17;

/// Nanoseconds for a value, roughly.
const VALUE: f64 = 0.5;

impl ScanProgram {
    /// A scan that was checked, with points.
    pub fn new(task: &Scan, level: Level) -> Result<Self, Fault> {
        let t = task.dtype;
        let size = t.size();
        let bytes = |n: isize| n.wrapping_mul(size as isize);
        let place =
            |base, step: isize| Place { origin: Origin::new(base, size), step: bytes(step) };
        let axes = task.rows.iter().filter(|axis| axis.extent > 1);
        let axes = axes.map(|a| Row { extent: a.extent, from: bytes(a.from), to: bytes(a.to) });
        let mut rows = merged(axes.collect());
        let (from, to) = (place(task.from, task.along.from), place(task.to, task.along.to));
        let length = task.along.extent;
        let strand = Strand::choose(&mut rows, (from.step, to.step), size);
        let count: usize = rows.iter().map(|row| row.extent).product::<usize>() * strand.pieces();
        let cut = count < MANY_STRANDS && length.saturating_mul(strand.width) >= LARGE;
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

    /// Estimated work, in nanoseconds on one thread.
    pub fn cost(&self) -> f64 {
        let points = self.points() as f64 * VALUE;
        if matches!(self.strand.way, Way::Packed) { 3.0 * points } else { points }
    }

    fn points(&self) -> usize {
        self.rows.iter().map(|row| row.extent).product::<usize>() * self.strand.extent * self.length
    }

    /// Strands, counted along all axes.
    fn strands(&self) -> usize {
        self.rows.iter().map(|row| row.extent).product::<usize>() * self.strand.pieces()
    }

    /// Chunks of a strand.
    fn chunks(&self) -> usize {
        self.length.div_ceil(self.chunk)
    }
}

/// Joins axes that are one in both arrays.
fn merged(rows: SmallVec<[Row; 4]>) -> SmallVec<[Row; 4]> {
    let mut all: SmallVec<[Row; 4]> = SmallVec::new();
    for row in rows {
        let n = row.extent as isize;
        match all.last_mut() {
            Some(outer)
                if outer.from == row.from.wrapping_mul(n) && outer.to == row.to.wrapping_mul(n) =>
            {
                *outer = Row { extent: outer.extent * row.extent, ..row };
            }
            _ => all.push(row),
        }
    }
    all
}
