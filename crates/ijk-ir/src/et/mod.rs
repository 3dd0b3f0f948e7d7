//! Einsum Tuple: from surface trees to core programs.
//!
//! | step | what it does |
//! |---|---|
//! | check | names, signatures, which ranks are equal, constraints → [`Checked`] |
//! | solve | ranks ([`rank_combinations`]) and extents of every eintup that the constraints allow, random ([`draw()`]), the [`first()`], or those that fit bound arrays ([`infer()`]) → [`Solution`] |
//! | lower | one [`core::Program`](crate::core::Program) and its instance for a solution |
//!
//! An eintup of rank r becomes r axes of a statement's domain; extents are numbers by then.

mod arith;
#[deny(clippy::disallowed_methods)]
mod check;
mod checked;
pub mod codes;
mod describe;
mod describe_loops;
#[deny(clippy::disallowed_methods)]
mod draw;
mod expr;
#[deny(clippy::disallowed_methods)]
pub mod extent;
mod first;
#[deny(clippy::disallowed_methods)]
mod infer;
#[deny(clippy::disallowed_methods)]
mod judge;
pub mod lower;
#[deny(clippy::disallowed_methods)]
mod names_given;
#[deny(clippy::disallowed_methods)]
mod overrides;
mod points;
mod ranks;
#[deny(clippy::disallowed_methods)]
mod report;
#[deny(clippy::disallowed_methods)]
mod space;
mod system;
#[deny(clippy::disallowed_methods)]
mod unreached;
mod walk;

pub use check::{check, declared_type};
pub use checked::{ArrayInfo, Checked, Origin, ShapeId, Solution, Tuple};
pub use draw::{MAX_TRIES, draw};
pub use extent::Extents;
pub use first::{first, random};
pub use infer::{Bound, infer};
pub use lower::{KeptPasses, LoopStage, Lowering, Stage, Step, Wanted};
pub use names_given::{given_as_array, reads_component};
pub use overrides::Overrides;
pub use ranks::{MAX_RANK, RankCombinations, Ranks, rank_combinations};
pub use system::System;
pub use unreached::unreached;
