//! Arrays whose element type is known at run time: borrowed strided views, owned tensors, and the
//! `.npy` and `.npz` files they are read from and written to.
//!
//! ```
//! use ijk_tensor::{Tensor, TensorView};
//! use ijk_types::Scalar;
//!
//! let array = ndarray::array![[1.0f32, 2.0], [3.0, 4.0]];
//! let transposed = array.t();
//! let view = TensorView::from_array(&transposed);
//! assert_eq!(view.get(&[0, 1]), Scalar::F32(3.0));
//!
//! let tensor: Tensor = view.to_tensor()?;
//! let back: ndarray::Array2<f32> = tensor.into_array()?; // moves, does not copy
//! assert_eq!(back, transposed);
//! # Ok::<(), ijk_tensor::TensorError>(())
//! ```
#![allow(unsafe_code)]

mod buffer;
mod cast;
mod copy;
pub mod counting;
mod counts;
mod element;
mod error;
pub mod file;
pub mod foreign;
pub mod fork;
mod interop;
mod iter;
#[cfg(any(feature = "faer", feature = "nalgebra"))]
mod matrices;
mod overlap;
mod pages;
mod pool;
pub mod reserve;
mod shape;
mod tensor;
mod uninit;
mod view;
mod view_mut;

pub use element::dtype_of;
pub use error::TensorError;
pub use iter::Scalars;
pub use overlap::{Footprint, Overlap};
pub use pages::{advise_huge_pages, memory_of_machine};
pub use pool::TensorPool;
pub use shape::{Shape, Strides, c_strides, element_count, is_c_contiguous};
pub use tensor::Tensor;
pub use uninit::UninitTensor;
pub use view::TensorView;
pub use view_mut::TensorViewMut;
