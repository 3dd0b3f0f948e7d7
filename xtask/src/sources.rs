//! Forbidden words of source files, and the crates that may use `unsafe`.

use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The crates whose hand-written code may say `unsafe`.
const UNSAFE_CRATES: &[&str] = &["ijk-tensor", "ijk-kernels", "ijk-cpu"];

/// Words that make a crate's state global and mutable.
const GLOBAL_STATE: &[&str] = &["static mut ", "thread_local!"];

/// A sentence for every finding.
pub fn check(workspace: &Workspace) -> Vec<String> {
    let mut problems = Vec::new();
    for krate in &workspace.crates {
        let may_be_unsafe = UNSAFE_CRATES.contains(&krate.name.as_str());
        let files = match texts(&workspace.root, &krate.folder.join("src")) {
            Ok(files) => files,
            Err(error) => {
                problems.push(format!("{}: {error}", krate.folder.display()));
                continue;
            }
        };
        for (path, text) in files.iter().filter(|_| krate.name != "xtask") {
            check_file(path, text, may_be_unsafe, &mut problems);
        }
    }
    problems
}

fn check_file(file: &Path, text: &str, may_be_unsafe: bool, problems: &mut Vec<String>) {
    for (number, line) in text.lines().enumerate() {
        let code = code_of(line);
        let mut report = |what: &str| {
            problems.push(format!("{}:{}: {what}", file.display(), number + 1));
        };
        if !may_be_unsafe && says_unsafe(code) {
            report("`unsafe` stands in ijk-tensor, ijk-kernels and ijk-cpu only");
        }
        if GLOBAL_STATE.iter().any(|words| code.contains(words)) {
            report("no crate has global mutable state: put it in an `Engine`");
        }
    }
}

/// The line without its comment and without what it quotes.
fn code_of(line: &str) -> &str {
    let code = line.split("//").next().unwrap_or_default();
    if code.contains('"') { "" } else { code }
}

/// Returns true if `unsafe` is a word of the code (not part of a lint's name).
fn says_unsafe(code: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.split(|c| !is_word(c)).any(|word| word == "unsafe")
}

/// The Rust files below a folder, with their paths from the root.
pub fn texts(root: &Path, folder: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    rust_files(folder, &mut files)?;
    files.sort();
    let read = |file: PathBuf| {
        let text = fs::read_to_string(&file)?;
        Ok((file.strip_prefix(root).unwrap_or(&file).to_path_buf(), text))
    };
    files.into_iter().map(read).collect()
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
