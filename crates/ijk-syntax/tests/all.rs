//! The tests of this crate, in one executable: each executable takes the time and the room of linking all kernels.

#[path = "../../../tests/suite/cases.rs"]
mod cases;
mod et_limits;
mod et_programs;
mod et_soup;
mod et_suite;
mod limits;
mod soup;
mod suite;
mod support;
