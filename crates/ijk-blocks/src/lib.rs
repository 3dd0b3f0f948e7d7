//! Block tensors: tensors that may be larger than memory, cut into blocks, with types that say how.
//!
//! A [`BigTensor`] is a term. Terms are checked when they are built, against the type rules below, and nothing
//! is computed before a term is [collected](BigTensor::collect) or [written](BigTensor::write).
//!
//! ```
//! use ijk_blocks::BigTensor;
//! let u = BigTensor::lit((0..6).map(f64::from), [2, 3], [Some(1), Some(2)])?;
//! let v = BigTensor::lit((0..6).map(f64::from), [3, 2], [Some(2), None])?;
//! let w = u.matmul(&v)?;
//! assert_eq!(w.ty().to_string(), "([2, 2], [1, ⊥], f64)");
//! assert_eq!(w.collect()?.as_numbers().unwrap().as_slice::<f64>(), Some(&[10.0, 13.0, 28.0, 40.0][..]));
//!
//! let error = u.matmul(&v.reblock([Some(1), None])?).unwrap_err();
//! assert!(error.to_string().contains("hint: reblock(v, [2, ⊥]) has blocks that fit"));
//! # Ok::<(), ijk_blocks::Error>(())
//! ```
//!
//! # Terms
//!
//! A type is (dimensions d, blocks b, elements t); a block of ⊥ (`None`) is a dimension that is not cut. Blocks
//! are compatible where they are equal or one of them is ⊥.
//!
//! | term | rule |
//! |---|---|
//! | [`lit`](BigTensor::lit) | as many elements as the dimensions have |
//! | `u + v`, `-`, `*`, `/`, [`max`](BigTensor::max), [`min`](BigTensor::min) | the same d and t, compatible b |
//! | [`bc(u, d', b')`](BigTensor::bc) | right-aligned, each d'_i a whole multiple of d_i, compatible b |
//! | [`select(u, {e_i})`](BigTensor::select) | an ascending set of positions for each axis |
//! | [`map(f, u)`](BigTensor::map) | f takes t: see [`Function`] |
//! | [`contract(u, v, i, j, …)`](BigTensor::contract_by) | d_i = d'_j with compatible b: see [`Aggregation`] |
//! | [`u @ v`](BigTensor::matmul) | `contract(u, v, rank - 1, 0)` |
//! | [`reblock(u, b')`](BigTensor::reblock) | any b'; the only term that changes blocks |
//! | [`einsum("…", u, v, …)`](BigTensor::einsum), [programs in i](apply) | an index has compatible b wherever it is an axis |
//!
//! # Missing blocks
//!
//! A missing block of a [`Source`] equals a fill value everywhere, and results are those with the block stored.
//! Products skip it where the fill annihilates: 0 in a sum of products, -∞ in a maximum of sums. So the cost of a band
//! matrix is that of the blocks on the band. But 0 times NaN or an infinity is NaN, so the other operands of a missing
//! block are examined, each block once in a computation; [`Executor::assume_finite`] disables that. Only the sign of a
//! sum that is 0 may depend on the blocks that are stored.
//!
//! The blocks of a source are listed once ([`Source::present`]), before a stage that reads them begins: missing blocks
//! cost nothing, and blocks that another process adds meanwhile may be ignored.

mod aggregation;
mod annotations;
mod build;
pub mod cluster;
mod component;
mod domain;
mod error;
mod formula;
mod function;
mod plan;
mod progress;
mod rules;
mod run;
mod statement;
mod store;
mod term;
mod types;
mod value;
mod wire;

pub use aggregation::{Aggregation, IntoAggregation, Semiring};
pub use annotations::Annotations;
pub use build::Zip;
pub use error::{Error, Problem, Site, StoreError, TextError, TypeError};
pub use formula::{Formula, FormulaError};
pub use function::{Function, IntoFunction};
pub use plan::{BlockPlan, Bound, Grid, Machines, Simulated, Simulation, Spread};
pub use progress::{Counts, Progress};
pub use run::Executor;
pub use statement::{apply, apply_instance, apply_program};
#[cfg(feature = "zarr")]
pub use store::{Compression, Saved, StoreOptions, ZarrOptions, ZarrScratch, ZarrStore};
pub use store::{
    Incoming, MemoryStore, Outgoing, Outline, RecutCost, Scratch, Sink, Source, Store, url_scheme,
};
pub use term::{BigTensor, Positions};
pub use types::{ElementType, Type};
pub use value::{Block, List, Lists, Value};
