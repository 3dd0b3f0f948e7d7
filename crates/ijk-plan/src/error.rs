//! Why a program can't be planned.

use ijk_types::{DType, LiteralError};
use thiserror::Error;

/// Why a program can't be planned for certain shapes.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PlanError {
    /// The results and temporaries do not fit in the memory that was allowed.
    #[error(
        "the program needs {needed} bytes ({results} for results, {temporaries} for temporaries) \
         but the memory limit is {limit} bytes"
    )]
    MemoryLimit {
        /// All of it.
        needed: u64,
        /// Bytes of the results.
        results: u64,
        /// Bytes of the arena of temporaries, and of what kernels take besides.
        temporaries: u64,
        /// What was allowed.
        limit: u64,
    },
    /// An array has more bytes than the address space.
    #[error("an array of shape {shape:?} and element type {dtype} is too large to exist")]
    TooLarge {
        /// Its shape.
        shape: Vec<u64>,
        /// Its element type.
        dtype: DType,
    },
    /// The strides do not belong to the program's inputs and outputs.
    #[error("the layout has {found} strides where an array has {expected} axes")]
    Layout {
        /// Axes of the array, or arrays.
        expected: usize,
        /// Strides that were given.
        found: usize,
    },
    /// A number has no value of its element type.
    #[error(transparent)]
    Literal(#[from] LiteralError),
}
