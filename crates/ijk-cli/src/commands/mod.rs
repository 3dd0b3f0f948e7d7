//! One module for each command.

mod apply;
mod bench;
mod blocks;
mod check;
mod completions;
mod deps;
mod draw;
mod einsum;
mod explain;
mod man;
mod operations;
mod tuples;
mod verify;

pub use apply::eval;
pub use bench::bench;
pub use completions::completions;
pub use deps::deps;
pub use einsum::einsum;
pub use explain::explain;
pub use man::man;
pub use verify::verify;

use crate::args::{Check, Run};
use crate::failure::Failure;
use std::path::Path;

/// Returns true if the file name is that of an Einsum Tuple program.
fn is_et(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("et"))
}

/// Runs a program of the language of its file's name.
///
/// # Errors
/// As for either.
pub fn run(args: &Run) -> Result<(), Failure> {
    if is_et(&args.file) { tuples::run(args) } else { apply::run(args) }
}

/// Checks a program of the language of its file's name.
///
/// # Errors
/// As for either.
pub fn check(args: &Check) -> Result<(), Failure> {
    if is_et(args.program.as_ref()) { tuples::check(args) } else { check::check(args) }
}
