//! The core IR: checking, lowering, verification and dependencies.

mod affine;
mod compile;
pub mod compose;
pub mod core;
mod deps;
pub mod display;
mod expand;
mod infer;
mod instantiate;
pub mod interval;
mod leaf;
pub mod limits;
mod names;
mod scheme;
mod sig;
mod signature;
mod sink;
mod terms;
mod text;
mod verify;

pub use compile::{Compilation, compile, compile_source};
pub use deps::{Piece, PointSet, Range, dependencies, reaches};
pub use instantiate::instantiate;
pub use signature::{Port, Rank, Signature};
pub use verify::{VerifyError, verify};
