//! Execution of each kind of step.

use super::{ExecutableStep, StepRun};
use crate::contract::{Context, ContractProgram};
use crate::error::RunError;
use crate::explain::KernelChoice;
use crate::folds::FoldsProgram;
use crate::nest::{Launch, TileNest};
use crate::runtime::scratch::Need;
use crate::steps::grouped::GroupedProgram;
use crate::steps::narrow_product::NarrowProductProgram;
use crate::steps::permute::PermuteProgram;
use crate::steps::scan::{RelativeProgram, ScanProgram};
use crate::steps::scatter::ScatterProgram;
use crate::steps::short_axes::ShortAxesProgram;
use crate::steps::sort::SortProgram;
use crate::steps::sweep::SweepProgram;
use crate::steps::window::{PackedWindowProgram, WindowProgram};
use ijk_plan::plan::Base;
use ijk_types::DType;
use std::sync::atomic::AtomicUsize;

impl ExecutableStep for TileNest {
    fn name(&self) -> &'static str {
        "nest"
    }

    fn cost(&self) -> f64 {
        self.cost()
    }

    fn explain(&self, _threads: usize) -> KernelChoice {
        self.explain()
    }

    fn need(&self) -> Need {
        self.need()
    }

    fn fetch_ahead(&mut self, buffer: usize, bytes: isize) -> bool {
        self.fetch_ahead(buffer, bytes)
    }

    unsafe fn run(&self, run: &StepRun<'_>) -> Result<u32, RunError> {
        let &StepRun { bases, workers, scratch, .. } = run;
        // SAFETY: guaranteed by the caller.
        unsafe { Launch { nest: self, bases, workers, scratch }.run() }
    }
}

impl ExecutableStep for ContractProgram {
    fn name(&self) -> &'static str {
        self.name()
    }

    fn cost(&self) -> f64 {
        self.cost()
    }

    fn explain(&self, threads: usize) -> KernelChoice {
        self.explain(threads)
    }

    fn need(&self) -> Need {
        self.need()
    }

    unsafe fn run(&self, run: &StepRun<'_>) -> Result<u32, RunError> {
        let (task, level) = (&self.task, self.level);
        let origin = |base| origin(base, task.dtype, run.bases);
        let refused = AtomicUsize::new(0);
        let context = Context::new(level, run.workers, run.scratch, &refused);
        let (a, b, c) = (origin(task.a), origin(task.b), origin(task.c));
        // SAFETY: guaranteed by the caller; accesses and the distinctness of outputs were checked.
        unsafe {
            let done = run.packed.is_some_and(|packed| packed.contract((a, b, c), &context));
            if !done {
                self.run(a, b, c, &context);
            }
        }
        context.settle().map(|()| 0)
    }
}

/// Address of a contraction's origin.
pub(crate) fn origin(base: Base, dtype: DType, bases: &[*mut u8]) -> *mut u8 {
    let bytes = base.offset * dtype.size() as isize;
    bases[base.buffer.0 as usize].wrapping_offset(bytes)
}

impl ExecutableStep for GroupedProgram {
    fn name(&self) -> &'static str {
        "grouped contraction"
    }

    fn cost(&self) -> f64 {
        self.cost()
    }

    fn explain(&self, threads: usize) -> KernelChoice {
        self.explain(threads)
    }

    fn need(&self) -> Need {
        self.need()
    }

    unsafe fn run(&self, run: &StepRun<'_>) -> Result<u32, RunError> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.run(run.bases, run.workers, run.scratch) }.map(|()| 0)
    }
}

impl ExecutableStep for SweepProgram {
    fn name(&self) -> &'static str {
        "sweep"
    }

    fn cost(&self) -> f64 {
        self.cost()
    }

    fn explain(&self, threads: usize) -> KernelChoice {
        self.explain(threads)
    }

    fn need(&self) -> Need {
        self.need()
    }

    unsafe fn run(&self, run: &StepRun<'_>) -> Result<u32, RunError> {
        // SAFETY: guaranteed by the caller; the windows of blocks were checked.
        unsafe { self.run(run.bases, run.workers, run.scratch, run.spare) }
    }
}

impl ExecutableStep for FoldsProgram {
    fn name(&self) -> &'static str {
        "row fold"
    }

    fn cost(&self) -> f64 {
        self.cost()
    }

    fn explain(&self, _threads: usize) -> KernelChoice {
        self.explain()
    }

    fn need(&self) -> Need {
        self.need()
    }

    fn fetch_ahead(&mut self, buffer: usize, bytes: isize) -> bool {
        self.fetch_ahead(buffer, bytes)
    }

    unsafe fn run(&self, run: &StepRun<'_>) -> Result<u32, RunError> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.run(run) }.map(|()| 0)
    }
}

/// Implements the trait for programs without scratch memory and without faults.
macro_rules! plain {
    ($($program:ty: $name:literal;)*) => {
        $(impl ExecutableStep for $program {
            fn name(&self) -> &'static str {
                $name
            }

            fn cost(&self) -> f64 {
                self.cost()
            }

            fn explain(&self, _threads: usize) -> KernelChoice {
                self.explain()
            }

            unsafe fn run(&self, run: &StepRun<'_>) -> Result<u32, RunError> {
                // SAFETY: guaranteed by the caller.
                unsafe { self.run(run.bases, run.workers) };
                Ok(0)
            }
        })*
    };
}

plain! {
    RelativeProgram: "relative scan";
    PermuteProgram: "permutation";
    WindowProgram: "windows";
    ScatterProgram: "scatter";
}

/// Implements the trait for programs that take scratch memory, and without faults.
macro_rules! with_scratch {
    ($($program:ty: $name:literal;)*) => {
        $(impl ExecutableStep for $program {
            fn name(&self) -> &'static str {
                $name
            }

            fn cost(&self) -> f64 {
                self.cost()
            }

            fn explain(&self, _threads: usize) -> KernelChoice {
                self.explain()
            }

            fn need(&self) -> Need {
                self.need()
            }

            unsafe fn run(&self, run: &StepRun<'_>) -> Result<u32, RunError> {
                // SAFETY: guaranteed by the caller.
                unsafe { self.run(run.bases, run.workers, run.scratch) }.map(|()| 0)
            }
        })*
    };
}

with_scratch! {
    ScanProgram: "scan";
    SortProgram: "sort";
    ShortAxesProgram: "short axes";
    NarrowProductProgram: "narrow product";
    PackedWindowProgram: "packed windows";
}
