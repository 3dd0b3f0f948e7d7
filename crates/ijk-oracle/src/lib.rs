//! Literal evaluators of the ijk languages, and random programs to compare against them.
//!
//! * [`evaluate`] runs surface trees of i literally: letters, domains, combinators. It shares nothing with the
//!   lowering, so a wrong lowering cannot agree with itself.
//! * [`et::evaluate_et`] runs surface trees of Einsum Tuple by the rules of its statements.
//! * [`blocks`] has terms of block tensors, their types and their values.
//! * [`interpret`] runs the core IR by the one sentence that defines it.
//! * [`random`] makes programs and data for property tests, from a seed.
//!
//! Clarity has priority over speed everywhere.

pub mod blocks;
mod core;
mod einsum;
mod error;
pub mod et;
pub mod harness;
pub mod random;
mod surface;
mod turns;
mod value;

pub use crate::core::interpret;
pub use einsum::evaluate_einsum;
pub use error::EvalError;
pub use surface::{Bounded, Cell, Evaluation, evaluate, evaluate_bounded};
pub use turns::turns;
pub use value::{Value, same_bits};
