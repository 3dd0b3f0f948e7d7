//! Integration tests: every file is a module of the crate's one test executable, or an executable of its own.

use crate::workspace::Workspace;
use std::fs;
use std::path::Path;

/// The executable's root in a crate's `tests`.
const ALL: &str = "all";

/// A sentence for every finding.
pub fn check(workspace: &Workspace) -> Vec<String> {
    let crates = workspace.crates.iter().filter(|krate| krate.folder.join("tests").is_dir());
    crates.flat_map(|krate| check_crate(&krate.folder)).collect()
}

fn check_crate(folder: &Path) -> Vec<String> {
    let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
    let (all, manifest) = (read("tests/all.rs"), read("Cargo.toml"));
    let files = fs::read_dir(folder.join("tests")).into_iter().flatten().flatten();
    let files =
        files.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "rs"));
    let names = files.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    let forgotten = names.filter(|name| name != ALL && !runs(name, &all, &manifest));
    forgotten
        .map(|name| {
            format!("{}/tests/{name}.rs is no module of all.rs, so it never runs", folder.display())
        })
        .collect()
}

/// Returns true if a file of tests is a module of the common executable or one of its own.
fn runs(name: &str, all: &str, manifest: &str) -> bool {
    all.lines().any(|line| line == format!("mod {name};"))
        || manifest.contains(&format!("path = \"tests/{name}.rs\""))
}

#[cfg(test)]
mod tests {
    use super::runs;

    #[test]
    fn files_that_run() {
        let manifest = "[[test]]\nname = \"own\"\npath = \"tests/own.rs\"\n";
        assert!(runs("one", "mod one;\nmod two;\n", manifest));
        assert!(runs("own", "mod one;\n", manifest));
        assert!(!runs("on", "mod one;\n", manifest));
    }
}
