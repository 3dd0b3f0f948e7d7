//! Errors of planning.

use ijk_types::{DType, LiteralError};
use thiserror::Error;

/// Reason for which a program can't be planned for given shapes.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PlanError {
    /// Results and temporaries exceed the memory limit.
    #[error(
        "the program needs {needed} bytes ({results} for results, {temporaries} for temporaries) \
         but the memory limit is {limit} bytes"
    )]
    MemoryLimit {
        /// Bytes of results and temporaries.
        needed: u64,
        /// Bytes of the results.
        results: u64,
        /// Bytes of the arena of temporaries, and of scratch memory of kernels.
        temporaries: u64,
        /// The limit.
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
