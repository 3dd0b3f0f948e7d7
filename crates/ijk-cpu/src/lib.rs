//! The CPU engine: runs [plans](ijk_plan::plan::Plan) on arrays, with SIMD chosen at run time and
//! threads of its own.
//!
//! [`Engine::compile`] checks a plan once, so that everything it accesses is known to be an element
//! of its buffers; [`Engine::execute`] runs it on views of that type and layout.
//!
//! # Order of combination
//!
//! Which values a reduction combines in which order depends on extents, strides, element types and
//! the SIMD level, never on threads or time. A sum of n numbers is off by at most
//! (B + log₂ n)·eps·Σ|x|, with B = 512.

#![allow(unsafe_code)]

#[doc(hidden)]
pub mod bench_api;
mod check;
mod compiled;
mod contract;
mod copy;
mod crew;
mod engine;
mod error;
mod finite;
mod folds;
mod fresh;
mod grouped;
mod lines;
mod nest;
mod origin;
mod pair;
mod permute;
pub mod probe;
mod scan;
mod scatter;
mod scratch;
mod simd;
mod sweep;
mod table;
mod threads;
mod watch;
mod window;

/// A list of what is few as a rule, axes above all: it needs no memory of its own then.
pub(crate) type Few<T> = smallvec::SmallVec<[T; 4]>;

pub use compiled::Compiled;
pub use engine::{Engine, EngineBuilder, Stoppable};
pub use error::{Fault, PlanError, RunError, Side};
pub use fresh::Results;
pub use scratch::ScratchPool;
pub use simd::{LEVEL_VARIABLE, Level, LevelError};
pub use threads::Workers;
