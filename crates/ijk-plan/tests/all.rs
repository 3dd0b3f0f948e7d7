//! The tests of this crate, in one executable: each executable takes the time and the room of linking all kernels.

mod clamps;
mod facts;
mod gathers;
mod language;
mod masks;
mod order;
mod passes;
mod pieces;
mod positions;
mod prefixes;
mod products;
mod quotients;
mod random;
mod random_programs;
mod signs;
mod skipping;
mod sorts;
mod storage;
mod support;
mod sweep;
mod windows;
