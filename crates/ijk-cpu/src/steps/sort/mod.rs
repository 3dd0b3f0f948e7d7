//! Orders along an axis: stable sorts, positions of sorted values, and the first places of either.
//!
//! Values are sorted by *keys*, unsigned integers in their order, byte by byte; equal keys keep their order. Of few places
//! only candidates are kept. Rows are divided among threads; the result of each is the only one there is, so nothing
//! depends on how.

mod items;
mod kernel;
mod key;

use crate::error::{Fault, RunError};
use crate::explain::KernelChoice;
use crate::origin::Origin;
use crate::runtime::scratch::{Need, ScratchPool};
use crate::runtime::threads::Workers;
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::time::{SORT_BYTE, SORT_CANDIDATE};
use ijk_plan::plan::Sort;
use ijk_types::DType;
use kernel::{SortKernels, SortRow, Wanted, kernels};
use key::{Half, Keyed, Wide};
use smallvec::SmallVec;
use std::ops::Range;

/// A prepared order.
#[derive(Clone, Debug)]
pub(crate) struct SortProgram {
    from: Origin,
    to: Origin,
    /// Values and places of a row, with their strides in bytes.
    values: (usize, isize),
    places: (usize, isize),
    /// Axes along which rows are counted, outermost first.
    rows: SmallVec<[SortAxis; 4]>,
    kernels: SortKernels,
    level: Level,
}

/// An axis with its strides in bytes.
#[derive(Clone, Copy, Debug)]
struct SortAxis {
    extent: usize,
    from: isize,
    to: isize,
}

/// An order with its buffers.
struct SortRun<'a> {
    program: &'a SortProgram,
    from: *const u8,
    to: *mut u8,
}

// SAFETY: the pointers are dereferenced for rows only, each of which one task has.
unsafe impl Sync for SortRun<'_> {}

impl SortProgram {
    /// A checked order.
    pub(crate) fn new(task: &Sort, level: Level) -> Result<Self, Fault> {
        let size = task.dtype.size();
        let of = if task.order.positions { DType::I64.size() } else { size };
        let bytes = |n: isize, size: usize| n.wrapping_mul(size as isize);
        let rows = task.rows.iter().filter(|axis| axis.extent != 1).map(|axis| SortAxis {
            extent: axis.extent,
            from: bytes(axis.from, size),
            to: bytes(axis.to, of),
        });
        let (values, places) = (task.values.extent, task.places.extent);
        Ok(Self {
            from: Origin::new(task.from, size),
            to: Origin::new(task.to, of),
            values: (values, bytes(task.values.from, size)),
            places: (places, bytes(task.places.to, of)),
            rows: rows.collect(),
            kernels: selected(task)?,
            level,
        })
    }

    /// Its algorithm, with the size of a row.
    pub(crate) fn explain(&self) -> KernelChoice {
        KernelChoice::new(self.kernels.algorithm)
            .extent("rows", self.count())
            .extent("values", self.values.0)
            .extent("places", self.places.0)
            .holding("a row", self.scratch_bytes())
    }

    /// Estimated work, in nanoseconds on one thread.
    pub(crate) fn cost(&self) -> f64 {
        let values = (self.count() as f64) * (self.values.0 as f64);
        match self.kernels.items < self.values.0 {
            true => values * SORT_CANDIDATE,
            false => values * f64::from(self.kernels.bytes + 1) * SORT_BYTE,
        }
    }

    /// Upper bound of its scratch memory.
    pub(crate) fn need(&self) -> Need {
        Need { shared: 0, each: self.scratch_bytes() as u64 }
    }

    fn scratch_bytes(&self) -> usize {
        self.kernels.items.saturating_mul(self.kernels.item)
    }

    fn count(&self) -> usize {
        self.rows.iter().map(|row| row.extent).product()
    }

    /// Orders all rows.
    ///
    /// # Safety
    /// `bases` are the buffers that the order was checked against: all elements that it reads are initialised, and no
    /// other thread accesses the output.
    pub(crate) unsafe fn run(
        &self,
        bases: &[*mut u8],
        workers: &Workers,
        scratch: &ScratchPool,
    ) -> Result<(), RunError> {
        let (from, to) = (self.from.of(bases).cast_const(), self.to.of(bases));
        let job = SortRun { program: self, from, to };
        let work = (self.count(), self.cost());
        scratch.parallel_ranges(workers, work, self.scratch_bytes(), |rows, memory| {
            // SAFETY: guaranteed by the caller; each row is assigned to one task, which has the scratch memory.
            unsafe { job.rows(rows, memory, workers) }
        })
    }
}

impl SortRun<'_> {
    /// Orders some rows.
    ///
    /// # Safety
    /// As for [`SortProgram::run`]; no other task has these rows or the scratch memory.
    unsafe fn rows(&self, rows: Range<usize>, scratch: *mut u8, workers: &Workers) {
        let program = self.program;
        let ended = || workers.have_ended();
        for row in rows.take_while(|_| !ended()) {
            let (from, to) = program.place(row);
            let row = SortRow {
                from: self.from.wrapping_offset(from),
                step: program.values.1,
                values: program.values.0,
                to: self.to.wrapping_offset(to),
                to_step: program.places.1,
                places: program.places.0,
            };
            // SAFETY: guaranteed by the caller: values and places of the row are elements.
            unsafe { (program.kernels.row)(row, scratch, program.level, &ended) };
        }
    }
}

impl SortProgram {
    /// Offsets in bytes of a row's first value and place.
    fn place(&self, mut row: usize) -> (isize, isize) {
        let (mut from, mut to) = (0, 0);
        for axis in self.rows.iter().rev() {
            let at = (row % axis.extent) as isize;
            row /= axis.extent;
            from += at * axis.from;
            to += at * axis.to;
        }
        (from, to)
    }
}

/// Kernels for the elements of an order.
fn selected(task: &Sort) -> Result<SortKernels, Fault> {
    fn of<T: Keyed>(task: &Sort) -> SortKernels {
        let wanted = if task.order.positions { Wanted::Positions } else { Wanted::Values };
        kernels::<T>((task.values.extent, task.places.extent), task.order.descending, wanted)
    }
    fn narrow<T: Keyed<Key = u32>>(task: &Sort) -> SortKernels {
        match u32::try_from(task.values.extent) {
            Ok(_) => of::<T>(task),
            Err(_) => of::<Wide<T>>(task),
        }
    }
    Ok(match task.dtype {
        DType::Bool | DType::U8 => narrow::<u8>(task),
        DType::U16 => narrow::<u16>(task),
        DType::U32 => narrow::<u32>(task),
        DType::U64 => of::<u64>(task),
        DType::I8 => narrow::<i8>(task),
        DType::I16 => narrow::<i16>(task),
        DType::I32 => narrow::<i32>(task),
        DType::I64 => of::<i64>(task),
        DType::F16 => narrow::<Half<0x7C00>>(task),
        DType::BF16 => narrow::<Half<0x7F80>>(task),
        DType::F32 => narrow::<f32>(task),
        DType::F64 => of::<f64>(task),
        DType::C64 | DType::C128 => return Err(Fault::Types),
    })
}
