//! Literal evaluators: the specification, executable. Clarity has priority over speed.

pub mod blocks;
mod core;
mod einsum;
mod error;
pub mod et;
mod loops;
mod order;
pub(crate) mod surface;
pub(crate) mod value;

pub use self::core::interpret;
pub use einsum::evaluate_einsum;
pub use error::EvalError;
pub use loops::interpret_loop;
pub use surface::{Bounded, Cell, Evaluation, evaluate, evaluate_bounded};
pub use value::{Value, same_bits};
