//! Products of matrices of narrow elements: of bytes in `i32`, by instructions that add four products at once, and of
//! `bf16` in `f32`.
//!
//! Both operands are packed in panels in their narrow type ([`pack`]), and multiplied by microkernels ([`kernel`]).
//! Bytes are multiplied as unsigned by signed ones: 128 is added to signed elements on the left and subtracted from
//! unsigned ones on the right, which sums of rows and columns undo.

mod kernel;
mod pack;
mod run;
#[cfg(test)]
mod tests;

use crate::check::CheckedNest;
use crate::explain::KernelChoice;
use crate::origin::Origin;
use crate::runtime::scratch::Need;
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::time::{NARROW_COLUMNS, NARROW_POINT, NARROW_ROWS};
use ijk_plan::plan::{Load, NARROW_SIDE, Nest, Start, narrow_factors};
use ijk_types::DType;
use kernel::{Format, NarrowKernels};

/// A prepared product of narrow elements.
#[derive(Clone, Debug)]
pub(crate) struct NarrowProductProgram {
    origins: [Origin; 2],
    out: Origin,
    /// Bytes of elements.
    sizes: [usize; 2],
    signed: [bool; 2],
    /// Offsets in bytes of batches in left, right and output.
    batches: Vec<[isize; 3]>,
    /// Of rows in left and output.
    rows: Vec<[isize; 2]>,
    /// Of columns in right and output.
    columns: Vec<[isize; 2]>,
    /// Of steps in left and right.
    steps: Vec<[isize; 2]>,
    format: Format,
    kernels: NarrowKernels,
    /// True if full tiles have contiguous columns in the output.
    dense_columns: bool,
    cost: f64,
}

/// An axis, with strides in bytes of left, right and output.
#[derive(Clone, Copy)]
struct NarrowAxis {
    extent: usize,
    steps: [isize; 3],
}

impl NarrowProductProgram {
    /// The program of a checked nest, if it is such a product.
    pub(crate) fn new(nest: &Nest, checked: &CheckedNest, level: Level) -> Option<Self> {
        let loads = narrow_factors(nest)?;
        let kept = |a: &usize| !nest.axes[*a].reduced && checked.extents[*a] > 1;
        let plain = nest.start == Start::Covered
            && nest.store.offset.is_none()
            && !nest.sequential
            && !checked.in_place
            && !nest.axes.iter().any(|axis| axis.collides)
            && (0..nest.axes.len()).filter(kept).all(|a| checked.separable.contains(&a));
        if !plain || checked.extents.contains(&0) {
            return None;
        }
        let mut loads = loads.map(|load| &nest.loads[load]);
        let axis = |a: usize, loads: [&Load; 2]| {
            let bytes = |stride: isize, t: DType| stride * t.size() as isize;
            let [left, right] = loads.map(|load| bytes(load.strides[a], load.dtype));
            let out = bytes(nest.store.strides[a], nest.store.dtype);
            NarrowAxis { extent: checked.extents[a], steps: [left, right, out] }
        };
        // Columns are what is contiguous in the output.
        let inner =
            (0..nest.axes.len()).filter(kept).min_by_key(|&a| nest.store.strides[a].unsigned_abs());
        if inner.is_some_and(|a| loads[1].strides[a] == 0) {
            loads.swap(0, 1);
        }
        let all: Vec<(bool, NarrowAxis)> =
            (0..nest.axes.len()).map(|a| (nest.axes[a].reduced, axis(a, loads))).collect();
        let of = |wanted: Role| {
            let own = all.iter().filter(|(reduced, axis)| Role::of(*reduced, axis) == wanted);
            offsets(own.map(|(_, axis)| *axis))
        };
        let (batches, rows, columns, steps) =
            (of(Role::Batch), of(Role::Row), of(Role::Column), of(Role::Step));
        if rows.len().min(columns.len()) < NARROW_SIDE {
            return None;
        }
        let wanted = match (loads[0].dtype, loads[1].dtype) {
            (DType::BF16, DType::BF16) => Format::Halves,
            (DType::I8 | DType::U8, DType::I8 | DType::U8) => Format::Bytes,
            _ => Format::Words,
        };
        let (format, kernels) = kernel::kernels(wanted, level);
        let dense_columns = columns.windows(2).all(|pair| pair[1][2] - pair[0][2] == 4);
        let points = checked.extents.iter().fold(1.0, |n, &extent| n * extent as f64);
        Some(Self {
            origins: loads.map(|load| Origin::new(load.base, load.dtype.size())),
            out: Origin::new(nest.store.base, nest.store.dtype.size()),
            sizes: loads.map(|load| load.dtype.size()),
            signed: loads.map(|load| !load.dtype.is_unsigned()),
            batches,
            rows: rows.iter().map(|at| [at[0], at[2]]).collect(),
            columns: columns.iter().map(|at| [at[1], at[2]]).collect(),
            steps: steps.iter().map(|at| [at[0], at[1]]).collect(),
            format,
            kernels,
            dense_columns,
            cost: points * NARROW_POINT,
        })
    }

    /// Its algorithm and blocking, with reasons.
    pub(crate) fn explain(&self) -> KernelChoice {
        let algorithm = match self.format {
            Format::Bytes => "product of packed bytes, four steps at once",
            Format::Words => "product of packed 16-bit integers, two steps at once",
            Format::Halves => "product of packed bf16, two steps at once",
        };
        KernelChoice::new(algorithm)
            .extent("batch", self.batches.len())
            .extent("rows", self.rows.len())
            .extent("columns", self.columns.len())
            .extent("steps", self.steps.len())
            .block("rows", NARROW_ROWS.min(self.rows.len()), "rows")
            .block("columns", NARROW_COLUMNS.min(self.columns.len()), "columns")
            .block("steps", self.block_steps().min(self.steps.len()), "steps")
            .holding("packed panels", self.left_bytes() + self.right_bytes())
    }

    /// Estimated work, in nanoseconds on one thread.
    pub(crate) fn cost(&self) -> f64 {
        self.cost
    }

    /// Upper bound of its scratch memory.
    pub(crate) fn need(&self) -> Need {
        let (left, right) = (self.left_bytes() as u64, self.right_bytes() as u64);
        match self.shares() && self.batches.len() == 1 && self.columns.len() <= NARROW_COLUMNS {
            true => Need { shared: right, each: left },
            false => Need { shared: 0, each: left + right },
        }
    }
}

/// The part of an axis in a product.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Batch,
    Row,
    Column,
    Step,
}

impl Role {
    fn of(reduced: bool, axis: &NarrowAxis) -> Self {
        match (reduced, axis.steps[0] != 0, axis.steps[1] != 0) {
            (true, ..) => Self::Step,
            (_, true, true) => Self::Batch,
            (_, false, true) => Self::Column,
            _ => Self::Row,
        }
    }
}

/// Offsets of all points of some axes, the last one fastest.
fn offsets(axes: impl Iterator<Item = NarrowAxis>) -> Vec<[isize; 3]> {
    axes.fold(vec![[0; 3]], |points, axis| {
        let moved =
            |at: &[isize; 3], n: usize| std::array::from_fn(|t| at[t] + n as isize * axis.steps[t]);
        points.iter().flat_map(|at| (0..axis.extent).map(move |n| moved(at, n))).collect()
    })
}
