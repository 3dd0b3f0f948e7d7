//! The tests of this crate, in one executable: each executable takes the time and the room of linking all kernels.

mod archives;
#[cfg(feature = "object-store")]
mod bucket;
mod common;
mod cutting;
mod environment;
mod lists;
mod loops;
mod missing;
mod random_terms;
mod resume;
mod rules;
mod statements;
mod stores;
mod tuples;
mod within;
mod workers;
mod zarr;
