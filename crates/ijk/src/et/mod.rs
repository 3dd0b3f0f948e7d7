//! Einsum Tuple: programs of statements over named tuples of indices, for any rank.
//!
//! [`et()`](crate::et()) takes a program at run time, [`et!`](macro@crate::et) at compile time. Both
//! return a [`Program`]: [run](Program::run) on [`Bindings`] of arrays to names, it returns [`Outputs`] by
//! name; [`cases`](Program::cases) enumerates all combinations of ranks that its constraints allow.

mod bindings;
#[cfg(feature = "blocks")]
mod blocks;
mod cases;
mod drawn;
mod explain;
mod faults;
pub(crate) mod memory;
mod outputs;
mod program;
mod ranges;
mod ready;
pub(crate) mod run;
mod segments;
mod signature;
mod solve;

pub use bindings::Bindings;
#[cfg(feature = "blocks")]
pub use blocks::BlocksError;
pub use cases::{Case, Cases};
pub use outputs::Outputs;
pub use program::Program;
pub use signature::{ArraySignature, Signature, Source};
pub use solve::Shapes;
