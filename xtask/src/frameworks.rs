//! `cargo xtask frameworks`: the library of operations against TensorFlow, PyTorch and JAX.

use crate::venv::{self, succeed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// A folder of `examples/et`, and the packages that its programs call.
const FRAMEWORKS: [(&str, &[&str]); 3] =
    [("tensorflow", &[TENSORFLOW]), ("pytorch", &["torch"]), ("jax", &["jax"])];

/// The build without support for graphics cards, where there is one.
const TENSORFLOW: &str = if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
    "tensorflow-cpu"
} else {
    "tensorflow"
};

/// Makes a virtual environment with the frameworks, prints their versions, and verifies every
/// program of their folders; with a name, those of one folder.
pub fn run(root: &Path, only: &str) -> ExitCode {
    match verify(root, only) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failed) => {
            eprintln!("frameworks: {failed} programs failed");
            ExitCode::FAILURE
        }
        Err(problem) => {
            eprintln!("frameworks: {problem}");
            ExitCode::from(2)
        }
    }
}

fn verify(root: &Path, only: &str) -> Result<usize, String> {
    let chosen: Vec<_> = FRAMEWORKS.into_iter().filter(|f| f.0.contains(only)).collect();
    if chosen.is_empty() {
        return Err(format!("there is no framework `{only}`"));
    }
    let python = environment(root, &chosen)?;
    let ijk = build(root, TESTED, &[])?;
    let mut failed = 0;
    for (folder, packages) in chosen {
        println!("\n{folder}: {}", versions(&python, packages)?);
        for program in programs(&root.join("examples/et").join(folder))? {
            failed += usize::from(!verify_one(&ijk, &python, &program)?);
        }
    }
    Ok(failed)
}

/// The interpreter of an environment with the packages.
fn environment(root: &Path, chosen: &[(&str, &[&str])]) -> Result<PathBuf, String> {
    let packages = chosen.iter().flat_map(|(_, packages)| packages.iter().copied());
    venv::environment(
        &root.join("target/frameworks"),
        ["numpy", "scipy"].into_iter().chain(packages),
    )
}

/// The command `ijk`, built by a profile, whose folder it is in, with some features.
pub fn build(
    root: &Path,
    (profile, folder): (&str, &str),
    features: &[&str],
) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let target = root.join("target");
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "-p", "ijk-cli", "--profile", profile]);
    build.arg("--features").arg(features.join(","));
    build.arg("--target-dir").arg(&target);
    succeed(build.current_dir(root))?;
    let name = if cfg!(windows) { "ijk.exe" } else { "ijk" };
    Ok(target.join(folder).join(name))
}

/// The profile and the folder of what is tested.
pub const TESTED: (&str, &str) = ("dev", "debug");

fn versions(python: &Path, packages: &[&str]) -> Result<String, String> {
    let code = "import sys; from importlib.metadata import version\n\
                print(', '.join(f'{name} {version(name)}' for name in sys.argv[1:]))";
    let mut command = Command::new(python);
    command.args(["-c", code]).args(packages).arg("numpy");
    let output = command.output().map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}

/// The programs of a folder, by name.
fn programs(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found: Vec<_> = paths.filter(|p| p.extension().is_some_and(|e| e == "et")).collect();
    found.sort();
    Ok(found)
}

/// Verifies a program and prints one line of it, and all there is to say where it fails.
fn verify_one(ijk: &Path, python: &Path, program: &Path) -> Result<bool, String> {
    let output = Command::new(ijk)
        .arg("verify")
        .arg(program)
        .args(["--reps", "3", "--points", "200000", "--python"])
        .arg(python)
        .output()
        .map_err(|error| error.to_string())?;
    let table = String::from_utf8_lossy(&output.stdout);
    let name = program.file_stem().unwrap_or_default().to_string_lossy();
    println!("  {name:34} {}", table.lines().last().unwrap_or("no case"));
    if !output.status.success() {
        println!("{table}{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.status.success())
}
