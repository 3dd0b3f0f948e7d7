//! Random programs, terms and einsums, with arguments, as functions of a seed.

pub(crate) mod blocks;
pub(crate) mod data;
pub(crate) mod einsum;
pub mod et;
pub mod i;
mod rng;

pub use data::{Flavour, Input, Layout, Strided};
pub(crate) use data::{input as data_input, repeat};
pub use rng::Rng;
