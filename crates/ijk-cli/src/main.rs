//! The command line of ijk.

mod applied;
mod args;
mod commands;
mod engine;
mod failure;
mod files;
mod json;
mod layout;
mod memory;
mod names;
mod numbers;
mod output;
mod progress;
mod results;
mod signals;
mod size;
mod source;
mod standard;
mod table;

use args::{Cli, Command};
use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

/// An allocator with a reserve: without memory a command reports that, and the exit code is 2.
#[global_allocator]
static ALLOCATOR: ijk::WithReserve = ijk::WithReserve;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return output::usage(&error),
    };
    signals::install();
    let done = match &cli.command {
        Command::Run(args) => commands::run(args),
        Command::Eval(args) => commands::eval(args),
        Command::Einsum(args) => commands::einsum(args),
        Command::Check(args) => commands::check(args),
        Command::Explain(args) => commands::explain(args),
        Command::Deps(args) => commands::deps(args),
        Command::Bench(args) => commands::bench(args),
        Command::Verify(args) => commands::verify(args),
        Command::Completions(args) => commands::completions(args),
        Command::Man(args) => commands::man(args),
    };
    signals::end_if_received();
    match done {
        Ok(()) | Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(Failure::Wrong(message)) => end(&message, 1),
        Err(Failure::Environment(message)) => end(&message, 2),
    }
}

/// Prints the failure; rendered diagnostics have their own prefix.
fn end(message: &str, code: u8) -> ExitCode {
    // The parent process reports failures of its children.
    if ijk::blocks::cluster::Cluster::is_child() {
        return ExitCode::from(code);
    }
    let rendered = message.contains('\n');
    output::message(&if rendered { message.into() } else { format!("error: {message}") });
    ExitCode::from(code)
}
