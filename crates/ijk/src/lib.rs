//! The facade.

pub use ijk_tensor::{Tensor, TensorError, TensorView, TensorViewMut, file};
pub use ijk_types::{DType, Scalar};
pub use num_complex;
