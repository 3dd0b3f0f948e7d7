//! The core IR: checking, lowering, verification and dependencies.

mod affine;
mod compile;
pub mod core;
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

pub use compile::{Compilation, compile, compile_source};
pub use instantiate::instantiate;
pub use signature::{Port, Rank, Signature};
