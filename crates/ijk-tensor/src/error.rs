//! Why an array cannot be made or converted.

use ijk_types::DType;
use thiserror::Error;

/// Why an array cannot be made or converted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TensorError {
    /// More elements or bytes than an address space holds.
    #[error("an array of shape {} is too large: its size in bytes overflows", shape_text(.0))]
    TooLarge(Box<[usize]>),
    /// The allocator refused.
    #[error("not enough memory for an array of shape {} ({bytes} bytes)", shape_text(shape))]
    OutOfMemory {
        /// The requested shape.
        shape: Box<[usize]>,
        /// Its size.
        bytes: usize,
    },
    /// Elements of another type than the caller named.
    #[error("the elements are {found}, not {expected}")]
    DType {
        /// Element type that the caller named.
        expected: DType,
        /// Element type of the array.
        found: DType,
    },
    /// Another rank than the caller named.
    #[error("the array has rank {found}, not {expected}")]
    Rank {
        /// Rank that the caller named.
        expected: usize,
        /// Rank of the array.
        found: usize,
    },
    /// A reversed axis, where the view that is asked for has none.
    #[error("the stride of axis {axis} is {stride}, but such views have none below 0")]
    Stride {
        /// Position of the axis.
        axis: usize,
        /// Distance of neighbours in elements.
        stride: isize,
    },
    /// A number of elements that the shape does not have.
    #[error("shape {} has {expected} elements, but {found} are given", shape_text(shape))]
    Length {
        /// The shape.
        shape: Box<[usize]>,
        /// Number of elements of the shape.
        expected: usize,
        /// Number of elements given; at least that many, where they come from an iterator.
        found: usize,
    },
}

/// `(2, 3)`, as NumPy writes a shape: `(3,)` and `()` included.
pub(crate) fn shape_text(shape: &[usize]) -> String {
    match shape {
        [only] => format!("({only},)"),
        _ => {
            let parts: Vec<_> = shape.iter().map(usize::to_string).collect();
            format!("({})", parts.join(", "))
        }
    }
}
