//! `cargo xtask release --dry-run`: everything that a release publishes, built and checked, and nothing published.
//!
//! The steps go from cheap to dear. Names behind `--dry-run` pick some of them.

mod binary;
mod crates;
mod manifests;
mod packages;
mod pythons;
mod wheel;

use crate::workspace::text;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A step: an error says what is wrong.
type Check = fn(&Release) -> Result<(), String>;

/// The steps by name, in the order in which they run.
const STEPS: [(&str, Check); 4] = [
    ("manifests", manifests::check),
    ("crates", crates::check),
    ("binary", binary::check),
    ("wheel", wheel::check),
];

/// The packages of a release, and the folder they are built in.
struct Release {
    /// The repository.
    root: PathBuf,
    /// The version of all packages.
    version: String,
    /// The crates that are published.
    packages: Vec<Value>,
    /// Uncommitted changes are packaged, too.
    allow_dirty: bool,
}

/// Runs the steps that are named, or all.
pub fn run(root: &Path, arguments: &[String]) -> ExitCode {
    let (options, steps): (Vec<&str>, Vec<&str>) =
        arguments.iter().map(String::as_str).partition(|argument| argument.starts_with('-'));
    let unknown = options.iter().find(|&&o| o != "--dry-run" && o != "--allow-dirty");
    let unknown = unknown.or(steps.iter().find(|step| STEPS.iter().all(|(name, _)| name != *step)));
    if !options.contains(&"--dry-run") || unknown.is_some() {
        let names: Vec<_> = STEPS.iter().map(|(name, _)| *name).collect();
        eprintln!(
            "usage: cargo xtask release --dry-run [--allow-dirty] [{}]\n\
             Nothing is published by this command: docs/RELEASE.md says what follows it.",
            names.join("] [")
        );
        return ExitCode::from(2);
    }
    let release = Release::load(root, options.contains(&"--allow-dirty"));
    let done = release.and_then(|release| {
        STEPS
            .iter()
            .filter(|(name, _)| steps.is_empty() || steps.contains(name))
            .try_for_each(|(name, check)| check(&release).map_err(|why| format!("{name}: {why}")))
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("release: {problem}");
            ExitCode::FAILURE
        }
    }
}

impl Release {
    fn load(root: &Path, allow_dirty: bool) -> Result<Self, String> {
        let root = root.canonicalize().map_err(|error| error.to_string())?;
        let metadata = crate::workspace::metadata()?;
        let packages = packages::published(&metadata);
        let facade = packages.iter().find(|package| package["name"] == "ijk");
        let version = text(&facade.ok_or("there is no crate ijk")?["version"]);
        Ok(Self { root, version, packages, allow_dirty })
    }

    /// A folder for what a step makes.
    fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.root.join("target/release-check").join(name);
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(folder)
    }
}

/// Prints a check that has passed.
fn passed(what: &str) {
    println!("release: {what}");
}
