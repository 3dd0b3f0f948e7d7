//! `ijk completions`: scripts by which shells complete the command line.

use crate::args::{Cli, Completions};
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory;

/// Prints the script of a shell.
///
/// # Errors
/// If that fails.
pub fn completions(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ijk", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
