//! Matrices of libraries of linear algebra, whose shapes are checked where their types promise less than views need.

#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "nalgebra")]
mod nalgebra;

use crate::{TensorError, TensorView};
use ijk_types::Element;

/// Checks the shape of a matrix, which may be larger than memory where its strides are 0.
///
/// # Panics
/// If the product of the extents other than 0 exceeds `isize::MAX`.
fn check_shape(shape: &[usize]) {
    let count = shape.iter().try_fold(1usize, |count, &n| count.checked_mul(n.max(1)));
    let fits = count.is_some_and(|count| isize::try_from(count).is_ok());
    assert!(fits, "a matrix of {shape:?} has more elements than an address space");
}

/// Checks that a view is a matrix of elements of type `T`.
fn check_matrix<T: Element>(view: &TensorView<'_>) -> Result<[usize; 2], TensorError> {
    crate::interop::expect_dtype::<T>(view.dtype())?;
    match view.shape() {
        &[rows, columns] => Ok([rows, columns]),
        shape => Err(TensorError::Rank { expected: 2, found: shape.len() }),
    }
}
