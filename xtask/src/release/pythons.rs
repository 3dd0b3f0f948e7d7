//! The Pythons of this machine.

use super::binary::printed;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The oldest minor version of Python 3 that the package runs on.
const OLDEST: u32 = 11;

/// Minor versions to look for; a new one is found before this list names it, as `python3`.
const NEWEST: u32 = 20;

/// One interpreter for each minor version from the oldest on: those on the `PATH` and in `IJK_PYTHONS`, a list of the same
/// form, and those of pyenv.
pub fn all() -> BTreeMap<u32, PathBuf> {
    let mut found = BTreeMap::new();
    for candidate in candidates() {
        if let Some(minor) = minor(&candidate).filter(|&minor| minor >= OLDEST) {
            found.entry(minor).or_insert(candidate);
        }
    }
    found
}

fn candidates() -> Vec<PathBuf> {
    let names = (OLDEST..=NEWEST).map(|minor| format!("python3.{minor}"));
    let named = ["python3".into()].into_iter().chain(names).map(PathBuf::from);
    let listed = std::env::var_os("IJK_PYTHONS").unwrap_or_default();
    let listed = std::env::split_paths(&listed).collect::<Vec<_>>();
    listed.into_iter().chain(of_pyenv()).chain(named).collect()
}

/// Interpreters that pyenv has built, which its names on the `PATH` run only where it is told to.
fn of_pyenv() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv"));
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from).or(home).unwrap_or_default();
    let versions = std::fs::read_dir(root.join("versions")).into_iter().flatten();
    versions.filter_map(|version| Some(version.ok()?.path().join("bin/python3"))).collect()
}

/// The minor version of an interpreter that can make environments.
fn minor(python: &Path) -> Option<u32> {
    let ask = "import sys, venv, ensurepip; print(*sys.version_info[:2], sys.implementation.name)";
    let told = printed(python, &["-c", ask]).ok()?;
    match &told.split_whitespace().collect::<Vec<_>>()[..] {
        ["3", minor, "cpython"] => minor.parse().ok(),
        _ => None,
    }
}
