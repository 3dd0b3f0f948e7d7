//! Executable steps of a compiled plan.
//!
//! Every kind of step implements [`ExecutableStep`], and is a variant of [`Program`]; [`select`] has the ordered tables
//! of candidates that make a program of a step of a plan.

mod equivalent;
mod execute;
mod finite;
pub(crate) mod grouped;
mod narrow_product;
mod permute;
pub(crate) mod scan;
mod scatter;
pub(crate) mod select;
pub(crate) mod short_axes;
pub(crate) mod sort;
pub(crate) mod sweep;
mod window;

pub(crate) use equivalent::{
    combines_in_place, constant_nest, contraction_nest, starts_from, without_reduced,
};

use crate::contract::{Context, ContractProgram, PackedSharedOperand, SharedOperandPart};
use crate::error::RunError;
use crate::explain::KernelChoice;
use crate::folds::FoldsProgram;
use crate::nest::{BesideProgram, StandingNest, TileNest};
use crate::runtime::scratch::{Need, ScratchPool};
use crate::runtime::threads::Workers;
use crate::steps::grouped::GroupedProgram;
use crate::steps::narrow_product::NarrowProductProgram;
use crate::steps::permute::PermuteProgram;
use crate::steps::scan::{RelativeProgram, ScanProgram};
use crate::steps::scatter::ScatterProgram;
use crate::steps::short_axes::ShortAxesProgram;
use crate::steps::sort::SortProgram;
use crate::steps::sweep::SweepProgram;
use crate::steps::window::{PackedWindowProgram, WindowProgram};

/// A compiled step.
pub(crate) trait ExecutableStep {
    /// Name of its kernel.
    fn name(&self) -> &'static str;

    /// Estimated work, in nanoseconds on one thread.
    fn cost(&self) -> f64;

    /// Its algorithm and blocking, with reasons, for an engine with `threads` threads.
    fn explain(&self, threads: usize) -> KernelChoice;

    /// Upper bound of its scratch memory.
    fn need(&self) -> Need {
        Need::default()
    }

    /// Makes it prefetch a part of a buffer, `bytes` bytes ahead; returns false if it does not.
    fn fetch_ahead(&mut self, _buffer: usize, _bytes: isize) -> bool {
        false
    }

    /// Executes it; returns the faults that occurred.
    ///
    /// # Safety
    /// `run.bases` are the buffers that the step was checked against: all elements of theirs that it reads are
    /// initialised, and no other thread accesses those that it writes.
    unsafe fn run(&self, run: &StepRun<'_>) -> Result<u32, RunError>;
}

/// Buffers and execution environment of a step.
#[derive(Clone, Copy)]
pub(crate) struct StepRun<'a> {
    /// Address of the first element of each buffer.
    pub(crate) bases: &'a [*mut u8],
    pub(crate) workers: &'a Workers,
    pub(crate) scratch: &'a ScratchPool,
    /// Limit in bytes for a sweep, in addition to results and the arena.
    pub(crate) spare: Option<u64>,
    /// The operand of a contraction, if it is packed already.
    pub(crate) packed: Option<&'a PackedInput<'a>>,
}

/// An operand of a step's contraction, packed at several origins.
pub(crate) struct PackedInput<'a> {
    /// Index of the step.
    pub(crate) step: usize,
    pub(crate) panels: &'a PackedSharedOperand<'a>,
    /// Index of its origin.
    pub(crate) origin: usize,
    /// The part of the contraction for which the operand was packed, if it is not all of it.
    pub(crate) part: Option<&'a SharedOperandPart>,
}

impl PackedInput<'_> {
    /// Executes the contraction; returns false if it did not.
    ///
    /// # Safety
    /// As for [`contract`](crate::contract::contract).
    unsafe fn contract(
        &self,
        tensors: (*const u8, *const u8, *mut u8),
        context: &Context<'_>,
    ) -> bool {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.part {
                Some(part) => self.panels.contract_part(self.origin, part, tensors, context),
                None => {
                    self.panels.contract(self.origin, tensors, context);
                    true
                }
            }
        }
    }
}

/// Declares the enum of all programs, and calls of their methods by a match: a step of a small plan takes a tenth of a
/// microsecond, and arms of a match can be inlined where virtual calls cannot.
macro_rules! programs {
    ($($(#[$doc:meta])* $variant:ident($program:ty),)*) => {
        /// Program of a step.
        #[derive(Clone, Debug)]
        pub(crate) enum Program {
            $($(#[$doc])* $variant(Box<$program>),)*
        }

        impl ExecutableStep for Program {
            fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(program) => ExecutableStep::name(&**program),)*
                }
            }

            fn cost(&self) -> f64 {
                match self {
                    $(Self::$variant(program) => ExecutableStep::cost(&**program),)*
                }
            }

            fn explain(&self, threads: usize) -> KernelChoice {
                match self {
                    $(Self::$variant(program) => ExecutableStep::explain(&**program, threads),)*
                }
            }

            fn need(&self) -> Need {
                match self {
                    $(Self::$variant(program) => ExecutableStep::need(&**program),)*
                }
            }

            fn fetch_ahead(&mut self, buffer: usize, bytes: isize) -> bool {
                match self {
                    $(Self::$variant(program) => {
                        ExecutableStep::fetch_ahead(&mut **program, buffer, bytes)
                    })*
                }
            }

            #[inline]
            unsafe fn run(&self, run: &StepRun<'_>) -> Result<u32, RunError> {
                // SAFETY: guaranteed by the caller.
                unsafe {
                    match self {
                        $(Self::$variant(program) => ExecutableStep::run(&**program, run),)*
                    }
                }
            }
        }

        $(impl From<$program> for Program {
            fn from(program: $program) -> Self {
                Self::$variant(Box::new(program))
            }
        })*
    };
}

/// A program with what its runs on different buffers share.
pub(crate) enum StandingStep<'p> {
    /// A short nest on one thread.
    Nest(StandingNest<'p>),
    /// Any other, which shares nothing.
    Other(&'p Program),
}

impl<'p> StandingStep<'p> {
    /// For runs in this environment.
    pub(crate) fn new(
        program: &'p Program,
        workers: &'p Workers,
        scratch: &'p ScratchPool,
    ) -> Self {
        let nest = match program {
            Program::Nest(nest) => StandingNest::new(nest, workers, scratch),
            _ => None,
        };
        nest.map_or(Self::Other(program), Self::Nest)
    }

    /// Executes it; returns the faults that occurred.
    ///
    /// # Safety
    /// As for [`ExecutableStep::run`].
    #[inline]
    pub(crate) unsafe fn run(&mut self, run: &StepRun<'_>) -> Result<u32, RunError> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self {
                Self::Nest(nest) => Ok(nest.run(run.bases)),
                Self::Other(program) => program.run(run),
            }
        }
    }
}

programs! {
    /// A fused loop nest, or a fill.
    Nest(TileNest),
    /// Nests that take turns.
    Beside(BesideProgram),
    /// A contraction.
    Contract(ContractProgram),
    /// A grouped contraction.
    Grouped(GroupedProgram),
    /// A scan.
    Scan(ScanProgram),
    /// A scan relative to levels.
    Relative(RelativeProgram),
    /// An order.
    Sort(SortProgram),
    /// A product of matrices of narrow elements.
    Narrow(NarrowProductProgram),
    /// A sum of products with many short axes.
    Pair(ShortAxesProgram),
    /// A permutation of axes.
    Permute(PermuteProgram),
    /// A fold along rows.
    Folds(FoldsProgram),
    /// A reduction over windows.
    Window(WindowProgram),
    /// The same, of many windows with short rows.
    Packed(PackedWindowProgram),
    /// A combination of elements with existing ones.
    Scatter(ScatterProgram),
    /// Steps fused by blocks of rows.
    Sweep(SweepProgram),
}
