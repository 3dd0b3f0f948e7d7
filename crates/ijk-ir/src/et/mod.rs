//! Einsum Tuple: from surface trees to core programs.
//!
//! | step | what it does |
//! |---|---|
//! | check | names, signatures, which ranks are equal, constraints → [`Checked`] |
//! | solve | ranks and extents of every eintup that the constraints and the bound arrays allow → [`Solution`] |
//! | lower | one [`core::Program`](crate::core::Program) and its instance for a solution |
//!
//! An eintup of rank r becomes r axes of a statement's domain; extents are numbers by then.

mod arith;
#[deny(clippy::disallowed_methods)]
mod check;
mod checked;
pub mod codes;
mod expr;
#[deny(clippy::disallowed_methods)]
pub mod extent;
pub mod lower;
mod ranks;
#[deny(clippy::disallowed_methods)]
mod report;
mod system;
mod walk;

pub use check::check;
pub use checked::{ArrayInfo, Checked, Origin, ShapeId, Solution, Tuple};
pub use extent::Extents;
pub use lower::{Lowering, Stage, Step, Wanted};
pub use ranks::{MAX_RANK, RankCombinations, Ranks, rank_combinations};
pub use system::System;
