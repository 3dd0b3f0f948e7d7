//! `cargo xtask python`: the Python package, built and installed as its users do it, and its tests.

use crate::venv::{base_python, environment, succeed};
use std::path::Path;
use std::process::{Command, ExitCode};

/// Tests that are programs: other libraries' own, on ijk.
const CONFORMANCE: [&str; 2] = ["numpys_own.py", "opt_einsums_own.py"];

/// Makes a virtual environment with the package and what its tests need, and runs them. Without a
/// Python it says so, and passes.
pub fn run(root: &Path) -> ExitCode {
    if !has_python() {
        println!("python: skipped: `{}` with `venv` is not there", base_python());
        return ExitCode::SUCCESS;
    }
    match test(root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("python: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn has_python() -> bool {
    let mut python = Command::new(base_python());
    let usable = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";
    python.args(["-c", usable]).output().is_ok_and(|output| output.status.success())
}

fn test(root: &Path) -> Result<(), String> {
    let package = format!("{}[test]", root.display());
    let python = environment(&root.join("target/python"), [&package[..]].into_iter())?;
    let tests = root.join("python/tests");
    let ijk = crate::frameworks::build(root, crate::frameworks::TESTED, &[])?;
    let run = |arguments: &[&Path]| succeed(Command::new(&python).env("IJK", &ijk).args(arguments));
    run(&[Path::new("-m"), Path::new("pytest"), Path::new("-q"), &tests])?;
    CONFORMANCE.iter().try_for_each(|name| run(&[&tests.join(name)]))
}
