//! Arrays in files: `.npy`, `.npz`, and outputs that appear whole or not at all.

mod dtype;
mod error;
mod header;
mod literal;
pub mod npy;
#[cfg(feature = "npz")]
pub mod npz;
mod staged;

pub use error::{FileError, Problem};
pub use staged::Staged;
