//! Common parts of the tests: random numbers, arrays of any layout, and an interpreter of nests.

#![allow(dead_code)]

pub mod array;
pub mod interpret;
pub mod random;
