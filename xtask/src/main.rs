//! Project chores: `cargo xtask tidy` checks the architecture, `cargo xtask mutants` the tests.

mod arrows;
mod documents;
mod frameworks;
mod levels;
mod mutants;
mod python;
mod release;
mod rooms;
mod signs;
mod sources;
mod tests_run;
mod venv;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => tidy(),
        Some("mutants") => mutants::run(&root(), &std::env::args().nth(2).unwrap_or_default()),
        Some("frameworks") => {
            frameworks::run(&root(), &std::env::args().nth(2).unwrap_or_default())
        }
        Some("python") => python::run(&root()),
        Some("levels") => levels::run(&root()),
        Some("release") => release::run(&root(), &std::env::args().skip(2).collect::<Vec<_>>()),
        _ => {
            eprintln!(
                "usage: cargo xtask tidy               check the arrows between crates, the sources and the documents\n       \
                 cargo xtask mutants [NAME]     plant bugs that the random programs must find\n       \
                 cargo xtask frameworks [NAME]  verify examples/et against TensorFlow, PyTorch, JAX\n       \
                 cargo xtask python             build the Python package, and run its tests\n       \
                 cargo xtask levels             look for kernels that call what lacks their instructions\n       \
                 cargo xtask release --dry-run  check and build all that a release publishes"
            );
            ExitCode::from(2)
        }
    }
}

/// The workspace.
fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs every check and prints all that they find.
fn tidy() -> ExitCode {
    let workspace = match workspace::Workspace::load() {
        Ok(workspace) => workspace,
        Err(problem) => {
            eprintln!("tidy: {problem}");
            return ExitCode::from(2);
        }
    };
    let checks = [
        arrows::check(&workspace),
        sources::check(&workspace),
        signs::check(&workspace),
        rooms::check(&workspace),
        tests_run::check(&workspace),
        documents::check(&workspace.root),
    ];
    let problems = checks.concat();
    for problem in &problems {
        eprintln!("tidy: {problem}");
    }
    if problems.is_empty() {
        println!("tidy: {} crates, no problem", workspace.crates.len());
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
