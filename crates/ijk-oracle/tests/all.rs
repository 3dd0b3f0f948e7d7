//! The tests of this crate, in one executable: each executable takes the time and the room of linking all kernels.

mod book;
mod et;
mod et_loops;
mod et_lowering;
mod examples;
mod generator;
mod guards;
mod lowering;
