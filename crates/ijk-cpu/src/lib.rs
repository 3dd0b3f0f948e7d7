//! The CPU engine: executes [plans](ijk_plan::plan::Plan) on arrays, with SIMD selected at run time and its own
//! threads.
//!
//! [`Engine::compile`] checks a plan once, so that all accesses are known to be within its buffers; [`Engine::execute`]
//! runs it on views of that type and layout.
//!
//! # Order of combination
//!
//! The order in which a reduction combines values is a function of extents, strides, element types and the SIMD level,
//! never of threads or time. The error of a sum of n numbers is at most (B + log₂ n)·eps·Σ|x|, with B = 512.

#![allow(unsafe_code)]

#[doc(hidden)]
pub mod bench_api;
mod check;
mod contract;
mod copy;
mod engine;
mod error;
pub mod explain;
mod folds;
mod nest;
mod origin;
pub mod probe;
mod runtime;
mod steps;
mod table;

// Paths that `nest` and `folds` use.
use runtime::{scratch, threads};

/// A short list, usually of axes, that needs no allocation.
pub(crate) type Few<T> = smallvec::SmallVec<[T; 4]>;

pub use engine::{
    Compiled, CompiledLoop, Engine, EngineBuilder, LoopArgument, PassOrder, Results, Stoppable,
};
pub use error::{Fault, PlanError, RunError, Side};
pub use ijk_kernels::simd::{LEVEL_VARIABLE, Level, LevelError};
pub use runtime::scratch::ScratchPool;
pub use runtime::threads::Workers;
