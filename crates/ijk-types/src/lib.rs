//! Element types, scalar operators and functions with their exact semantics, monoids.
//!
//! Everything that gives a scalar operation its meaning is here, once: the oracle, the in-line
//! loops that `i!` writes and the kernels of the engine all agree with [`scalar`].

mod dtype;
mod literal;
mod ops;
pub mod random;
mod with;

pub use dtype::{DType, TypeSet};
pub use literal::{Literal, LiteralError};
pub use ops::{BinaryOp, Monoid, Order, Reducer, ResultType, Then, UnaryOp};

mod element;
pub mod math;
pub mod scalar;

pub use ::half::{bf16, f16};
pub use element::{Element, Inexact, Number, Ordered, OrderedNumber, Real};
pub use num_complex::{Complex32 as C64, Complex64 as C128};
pub use scalar::{Scalar, ScalarError};
