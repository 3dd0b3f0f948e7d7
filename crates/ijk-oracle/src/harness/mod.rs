//! Comparison of several evaluations of a program.

pub mod et;
pub(crate) mod i;
pub(crate) mod memory;
mod shifts;
mod stages;
mod turns;

pub use i::{Agreement, Contender, Disagreement, Lowered, compare};
pub use turns::turns;
