//! The core IR: checking, lowering, verification and dependencies.
//!
//! | step | entry | what it does |
//! |---|---|---|
//! | check and lower | [`compile()`], [`compile_source`] | a surface tree → [`core::Program`], with diagnostics |
//! | combine | [`compose`] | the language's combinators on programs, at run time |
//! | apply | [`instantiate()`] | a program and its arguments' types and shapes → [`core::Instance`] |
//! | inspect | [`Signature`], `Display` of [`core::Program`], [`dependencies`], [`reaches`] | |
//! | distrust | [`verify()`] | what every pass must leave true |
//!
//! An index expression becomes a program of one statement. Combinators are checked on signatures,
//! in which ranks and element types are unified (a binding's signature is found once and used anew
//! at each mention), and then expanded into one list of statements with an explicit stack. So a
//! program's depth costs no stack, and what it expands to is known before it is expanded
//! ([`limits`]).
//!
//! ```
//! use ijk_ir::{compile_source, instantiate};
//! use ijk_types::DType;
//!
//! let program = compile_source("(I & +i~.) . i/.~i").program.unwrap();
//! let instance = instantiate(&program, &[(DType::F64, &[5])]).unwrap();
//! assert_eq!(instance.shapes[program.outputs[0].0 as usize], [5]);
//!
//! let wrong = compile_source("ik*kj~ij");
//! assert_eq!(wrong.diagnostics[0].message, "`k` is dropped from the output, but no operator reduces it");
//! ```

mod affine;
pub mod codes;
#[deny(clippy::disallowed_methods)]
mod compile;
pub mod compose;
pub mod core;
mod deps;
pub mod display;
pub mod einsum;
pub mod et;
mod expand;
mod infer;
#[deny(clippy::disallowed_methods)]
mod instantiate;
pub mod interval;
#[deny(clippy::disallowed_methods)]
mod leaf;
pub mod limits;
mod names;
mod new_letters;
mod scheme;
#[deny(clippy::disallowed_methods)]
mod sig;
mod signature;
mod sink;
pub mod staged;
mod terms;
mod text;
mod verify;

pub use compile::{Compilation, compile, compile_source};
pub use deps::{Piece, PointSet, Range, dependencies, reaches, sources, targets};
pub use instantiate::instantiate;
pub use new_letters::new_letters;
pub use signature::{Port, Rank, Signature};
pub use verify::{VerifyError, verify};
