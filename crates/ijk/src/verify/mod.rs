//! Einsum Tuple programs beside the framework function they claim to equal.

#![allow(dead_code)]

mod call;
mod child;
mod compare;
mod error;
mod frame;
mod kinds;
mod rounding;

pub use compare::Difference;
pub use error::ChildError;
