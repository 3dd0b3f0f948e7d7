//! The tests of this crate, in one executable: each executable takes the time and the room of linking all kernels.

mod bench;
mod cli;
mod explain;
mod messages;
mod processes;
mod shells;
mod signals;
mod standard;
mod tuples;
mod verify;
mod zarr;
