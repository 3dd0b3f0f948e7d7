//! The order in which the operands of an einsum are multiplied: how it is searched for, and what it costs.
//!
//! ```
//! use ijk::{Einsum, order::{Effort, Options}};
//! let chain = Einsum::new("ij,jk,kl,lm->im")?;
//! let quick = chain.with_options(Options { effort: Effort::Greedy, ..Options::default() });
//! let path = quick.path(&[&[2, 50], &[50, 50], &[50, 50], &[50, 3]])?;
//! assert_eq!(path.cost().multiplications, path.multiplications());
//! # Ok::<(), ijk::Error>(())
//! ```

pub use ijk_plan::order::{Effort, Measure, Options, OrderError, PathCost};
