//! The tests of this crate, in one executable: each executable takes the time and the room of linking all kernels.

#[path = "../../../tests/suite/cases.rs"]
mod cases;
mod check;
mod deps;
mod et_check;
mod et_examples;
mod et_mutants;
mod et_solve;
mod et_solve_stars;
mod limits;
mod suite;
mod verify;
