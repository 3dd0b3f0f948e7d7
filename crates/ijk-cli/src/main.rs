//! The command line of ijk.

mod args;
mod failure;
mod files;
mod layout;
mod numbers;
mod output;

fn main() {}
