//! Why a plan cannot be compiled or run.

use crate::simd::LevelError;
use ijk_plan::plan::BufferId;
use ijk_types::DType;
use thiserror::Error;

/// Why a plan cannot run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The plan itself is wrong.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The environment asks the engine for SIMD instructions that the machine has not.
    #[error(transparent)]
    Level(#[from] LevelError),
    /// Not as many arrays as the plan has.
    #[error("the plan has {expected} {side}s, but {found} are given")]
    Count {
        /// Arguments or results.
        side: Side,
        /// How many the plan has.
        expected: usize,
        /// How many are given.
        found: usize,
    },
    /// An array of another element type than the plan was made for.
    #[error("{side} {position} has elements of type {found}, the plan was made for {expected}")]
    DType {
        /// Argument or result.
        side: Side,
        /// Which, from 0.
        position: usize,
        /// The plan's.
        expected: DType,
        /// The array's.
        found: DType,
    },
    /// An array of another shape or other strides than the plan was made for.
    #[error("{side} {position} has another shape or other strides than the plan was made for")]
    Layout {
        /// Argument or result.
        side: Side,
        /// Which, from 0.
        position: usize,
    },
    /// A plan that continues its results, run where they need not hold values.
    #[error("the plan continues its results: they are to be given as tensors")]
    Continues,
    /// Integer `/` or `@mod` by zero.
    #[error("integer division by zero")]
    DivisionByZero,
    /// `^` of integers with a negative right operand.
    #[error("an integer to a negative power")]
    NegativePower,
    /// Random numbers between bounds that have none between them.
    #[error("RANDOM needs finite bounds, the lower less than the upper")]
    EmptyRange,
    /// A computed index that is out of its array's bounds.
    #[error("a computed index is out of bounds")]
    OutOfBounds,
    /// Whoever was asked said that the run is to end.
    #[error("interrupted")]
    Interrupted,
    /// The allocator refused.
    #[error("not enough memory: {0} bytes for temporaries")]
    OutOfMemory(usize),
}

/// Which arrays of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What it reads.
    Argument,
    /// What it writes.
    Result,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Argument => "argument",
            Self::Result => "result",
        })
    }
}

/// Why a plan is no program: a mistake of whoever made it, found before anything runs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A buffer that contradicts itself or another.
    #[error("buffer {} of the plan: {fault}", buffer.0)]
    Buffer {
        /// Which.
        buffer: BufferId,
        /// What is wrong.
        fault: Fault,
    },
    /// A step that contradicts itself or its buffers.
    #[error("step {step} of the plan: {fault}")]
    Step {
        /// Which.
        step: usize,
        /// What is wrong.
        fault: Fault,
    },
}

/// What is wrong with a part of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// A shape and strides of different lengths, or strides of the wrong number of axes.
    #[error("a list has another length than there are axes")]
    Rank,
    /// More elements, bytes or points than an address space has.
    #[error("sizes overflow")]
    TooLarge,
    /// A temporary that is not aligned, or reaches beyond the arena.
    #[error("a temporary lies outside of the arena, or not at a multiple of 64 bytes")]
    Arena,
    /// A temporary that is not C-contiguous.
    #[error("a temporary is not C-contiguous")]
    Strides,
    /// Elements that interleave irregularly.
    #[error("the array's elements interleave irregularly; copy it first")]
    Interleaved,
    /// Two results in one place.
    #[error("two buffers are the same result")]
    SharedResult,
    /// A reference to what does not exist.
    #[error("a buffer, load or node is referred to that does not exist before")]
    Reference,
    /// A result's elements, or an argument, read or written where they may not be.
    #[error("an argument is written")]
    WritesArgument,
    /// An access beyond a buffer's elements.
    #[error("an access reaches beyond the elements of its buffer")]
    Bounds,
    /// Types that do not fit each other.
    #[error("element types do not fit")]
    Types,
    /// An array read and written in one step, other than element for element.
    #[error("the output overlaps what is read")]
    Overlap,
    /// Positions reduced along no axis, several, or an empty one; or combined with existing values.
    #[error("a position is taken along exactly one axis with elements, into a fresh array")]
    Position,
    /// A contraction that the engine has no kernel for.
    #[error("no kernel for this contraction")]
    Contraction,
}
