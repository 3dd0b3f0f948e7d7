//! The tests of this crate, in one executable: each executable takes the time and the room of linking all kernels.

mod alternating;
mod book_et;
#[path = "../../../tests/suite/cases.rs"]
mod cases;
mod common;
mod counts;
mod einsum_macro;
mod einsum_random;
mod einsum_soup;
mod einsum_suite;
mod et;
mod et_library;
mod et_loops;
mod et_masks;
mod et_prefixes;
mod et_random;
mod et_row_loops;
mod et_suite;
mod examples;
mod i_loops;
mod large;
mod log_products;
mod macros;
mod narrow;
mod operations;
mod programs;
mod random_programs;
mod resolved;
mod rows;
mod seeds;
mod storage;
mod taken_apart;
