//! Errors of compiling and running plans.

use ijk_kernels::simd::LevelError;
use ijk_plan::plan::BufferId;
use ijk_types::DType;
use thiserror::Error;

/// Error of running a plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The plan is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The environment requests SIMD instructions that the machine does not support.
    #[error(transparent)]
    Level(#[from] LevelError),
    /// The number of arrays differs from the plan's.
    #[error("the plan has {expected} {side}s, but {found} are given")]
    Count {
        /// Arguments or results.
        side: Side,
        /// Number in the plan.
        expected: usize,
        /// Number that was given.
        found: usize,
    },
    /// The element type of an array differs from the plan's.
    #[error("{side} {position} has elements of type {found}, the plan was made for {expected}")]
    DType {
        /// Argument or result.
        side: Side,
        /// Position, from 0.
        position: usize,
        /// Type in the plan.
        expected: DType,
        /// Type of the array.
        found: DType,
    },
    /// The shape or strides of an array differ from the plan's.
    #[error("{side} {position} has another shape or other strides than the plan was made for")]
    Layout {
        /// Argument or result.
        side: Side,
        /// Position, from 0.
        position: usize,
    },
    /// A plan that continues its results was run without initial values.
    #[error("the plan continues its results: they are to be given as tensors")]
    Continues,
    /// Integer `/` or `@mod` by zero.
    #[error("integer division by zero")]
    DivisionByZero,
    /// `^` of integers with a negative right operand.
    #[error("an integer to a negative power")]
    NegativePower,
    /// Bounds of random numbers that have no numbers between them.
    #[error("RANDOM needs finite bounds, the lower less than the upper")]
    EmptyRange,
    /// A computed index is out of bounds.
    #[error("a computed index is out of bounds")]
    OutOfBounds,
    /// The run was cancelled.
    #[error("interrupted")]
    Interrupted,
    /// Allocation failed.
    #[error("not enough memory: {0} bytes for temporaries")]
    OutOfMemory(usize),
}

/// Arguments or results of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Arrays that it reads.
    Argument,
    /// Arrays that it writes.
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

/// Error in a plan: a mistake of its creator, detected before anything runs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// An inconsistent buffer.
    #[error("buffer {} of the plan: {fault}", buffer.0)]
    Buffer {
        /// The buffer.
        buffer: BufferId,
        /// The fault.
        fault: Fault,
    },
    /// An inconsistent step.
    #[error("step {step} of the plan: {fault}")]
    Step {
        /// Index of the step.
        step: usize,
        /// The fault.
        fault: Fault,
    },
}

/// Fault of a part of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// A shape and strides of different lengths, or strides of the wrong number of axes.
    #[error("a list has another length than there are axes")]
    Rank,
    /// More elements, bytes or points than an address space has.
    #[error("sizes overflow")]
    TooLarge,
    /// A temporary that is not aligned, or exceeds the arena.
    #[error("a temporary lies outside of the arena, or not at a multiple of 64 bytes")]
    Arena,
    /// A temporary that is not C-contiguous.
    #[error("a temporary is not C-contiguous")]
    Strides,
    /// Elements that interleave irregularly.
    #[error("the array's elements interleave irregularly; copy it first")]
    Interleaved,
    /// Two buffers for the same result.
    #[error("two buffers are the same result")]
    SharedResult,
    /// A reference to a buffer, load or node that does not exist.
    #[error("a buffer, load or node is referred to that does not exist before")]
    Reference,
    /// Elements of a result or argument are read or written although they must not be.
    #[error("an argument is written")]
    WritesArgument,
    /// An access beyond a buffer's elements.
    #[error("an access reaches beyond the elements of its buffer")]
    Bounds,
    /// Types that do not match.
    #[error("element types do not fit")]
    Types,
    /// An array is read and written in one step, other than element for element.
    #[error("the output overlaps what is read")]
    Overlap,
    /// A positional reduction along no axis, several, or an empty one; or combined with existing values.
    #[error("a position is taken along exactly one axis with elements, into a fresh array")]
    Position,
    /// A contraction without a kernel.
    #[error("no kernel for this contraction")]
    Contraction,
}
