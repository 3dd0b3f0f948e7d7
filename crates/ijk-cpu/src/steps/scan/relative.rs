//! Sums relative to levels, row by row.

use crate::error::Fault;
use crate::explain::{KernelChoice, Reason};
use crate::nest::{RelativeScan, relative};
use crate::origin::Origin;
use crate::runtime::threads::Workers;
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::time::RELATIVE_SCAN_VALUE;
use ijk_plan::plan::{Levels, Scan};
use smallvec::SmallVec;

/// A prepared scan relative to levels.
#[derive(Clone, Debug)]
pub(crate) struct RelativeProgram {
    /// The first value, level and result.
    origins: [Origin; 3],
    /// Strides in bytes within a row.
    steps: [isize; 3],
    /// Values of a row.
    length: usize,
    /// Extents of the axes along which rows are counted, outermost first, with their strides in bytes.
    rows: SmallVec<[(usize, [isize; 3]); 4]>,
    kernel: RelativeScan,
}

/// Base addresses, from which a task accesses rows of its own.
struct Bases([*mut u8; 3]);

// SAFETY: the pointers are dereferenced for rows only, each of which one task has.
unsafe impl Sync for Bases {}

impl Bases {
    fn all(&self) -> [*mut u8; 3] {
        self.0
    }
}

impl RelativeProgram {
    /// A checked scan, whose domain is not empty.
    pub fn new(task: &Scan, levels: &Levels, level: Level) -> Result<Self, Fault> {
        let size = task.dtype.size();
        let bytes = |steps: [isize; 3]| steps.map(|n| n.wrapping_mul(size as isize));
        let rows = task.rows.iter().zip(&levels.rows).filter(|(axis, _)| axis.extent > 1);
        Ok(Self {
            origins: [task.from, levels.base, task.to].map(|base| Origin::new(base, size)),
            steps: bytes([task.along.from, levels.along, task.along.to]),
            length: task.along.extent,
            rows: rows.map(|(a, &level)| (a.extent, bytes([a.from, level, a.to]))).collect(),
            kernel: relative(task.dtype, level).ok_or(Fault::Types)?,
        })
    }

    /// Its algorithm, with reasons.
    pub(crate) fn explain(&self) -> KernelChoice {
        let text =
            "each sum is rescaled when the level of its row changes, so that it cannot overflow";
        KernelChoice::new("row by row, relative to levels")
            .extent("rows", self.count())
            .extent("length", self.length)
            .because(Reason::plain(text))
    }

    /// Estimated work, in nanoseconds on one thread.
    pub fn cost(&self) -> f64 {
        self.count() as f64 * self.length as f64 * RELATIVE_SCAN_VALUE
    }

    /// Number of rows.
    fn count(&self) -> usize {
        self.rows.iter().map(|row| row.0).product()
    }

    /// Executes the scan.
    ///
    /// # Safety
    /// `bases` are the buffers that the scan was checked against: all elements that it reads are initialised, and no
    /// other thread accesses the output.
    pub unsafe fn run(&self, bases: &[*mut u8], workers: &Workers) {
        let first = Bases(self.origins.map(|origin| origin.of(bases)));
        workers.parallel_ranges(self.count(), self.cost(), |range| {
            for row in range.take_while(|_| !workers.have_ended()) {
                let [from, level, to] = self.place(row, first.all());
                // SAFETY: guaranteed by the caller; each row is assigned to one task, and has elements of the output of
                // its own.
                unsafe { (self.kernel)(self.length, from, level, to, self.steps) };
            }
        });
    }

    /// Addresses of the first value, level and result of a row.
    fn place(&self, mut row: usize, mut at: [*mut u8; 3]) -> [*mut u8; 3] {
        for (extent, steps) in self.rows.iter().rev() {
            let n = (row % extent) as isize;
            row /= extent;
            for (at, step) in at.iter_mut().zip(steps) {
                *at = at.wrapping_offset(n * step);
            }
        }
        at
    }
}
