//! Index expressions for Rust: arrays defined by what happens at every point of a domain of
//! indices.
//!
//! ```
//! use ijk::ndarray::{Array2, array};
//!
//! let product = ijk::i("ik*kj~ijk . +ijk~ij")?;
//! let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[0.0, 1.0], [1.0, 0.0]]);
//! let c: Array2<f64> = product.apply_one((&a, &b))?;
//! assert_eq!(c, array![[2.0, 1.0], [4.0, 3.0]]);
//! # Ok::<(), ijk::Error>(())
//! ```
//!
//! [`i()`] takes programs as text at run time and gives a [`Component`]; the macro `i!` takes them
//! at compile time and gives a function of ndarray's types.

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod arguments;
mod cache;
mod combine;
mod component;
mod depend;
mod engine;
mod error;
mod explain;
mod operators;
mod prepared;

pub use arguments::{Arguments, Views};
pub use component::Component;
pub use engine::{Engine, EngineBuilder};
pub use error::{Error, Report};
pub use explain::Explanation;

pub use ijk_cpu::RunError;
pub use ijk_ir::{Piece, PointSet, Port, Range, Rank, Signature};
pub use ijk_macros::{i, into_i, try_i};
pub use ijk_plan as plan;
pub use ijk_syntax::{Diagnostic, Hint, Severity, Span, render};
pub use ijk_tensor::{Tensor, TensorError, TensorView, TensorViewMut, file};
pub use ijk_types::{
    DType, Element, Inexact, Number, Ordered, OrderedNumber, Real, Scalar, TypeSet,
};
pub use ndarray;
pub use num_complex;

/// A program in i, as a component.
///
/// # Errors
/// [`Error::Program`] with everything that is wrong with the program, each with its place.
///
/// ```
/// let softmax = ijk::i(
///     "m: >ij~i
///      e: (I & m) . ij-i~ij . ^ij~ij
///      e . (I & +ij~i) . ij/i~ij",
/// )?;
/// assert_eq!(softmax.shapes(&[&[3, 4]])?, [[3, 4]]);
///
/// let error = ijk::i("ik*kj~ij").unwrap_err();
/// assert!(error.to_string().contains("+(ik*kj)~ij"));
/// # Ok::<(), ijk::Error>(())
/// ```
pub fn i(source: &str) -> Result<Component, Error> {
    Component::parse(source)
}

/// The Rust of the book and the README, as tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../book/src/afternoon.md")]
    mod afternoon {}
    #[doc = include_str!("../../../README.md")]
    mod readme {}
}
