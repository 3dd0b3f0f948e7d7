//! The tests of this crate, in one executable: each executable takes the time and the room of linking all kernels.

#![allow(unsafe_code)]

mod common;
mod nests;
mod permutations;
mod plans;
mod programs;
mod random_programs;
mod scans;
mod skipping;
mod sorts;
mod sums;
mod windows;
