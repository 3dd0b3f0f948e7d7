//! What no source file may contain, and where `unsafe` may stand.

use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The crates whose hand-written code may say `unsafe`.
const UNSAFE_CRATES: &[&str] = &["ijk-tensor", "ijk-cpu"];

/// Words that make a crate's state global and mutable.
const GLOBAL_STATE: &[&str] = &["static mut ", "thread_local!"];

/// A sentence for every finding.
pub fn check(workspace: &Workspace) -> Vec<String> {
    let mut problems = Vec::new();
    for krate in &workspace.crates {
        let may_be_unsafe = UNSAFE_CRATES.contains(&krate.name.as_str());
        let mut files = Vec::new();
        if let Err(error) = rust_files(&krate.folder.join("src"), &mut files) {
            problems.push(format!("{}: {error}", krate.folder.display()));
        }
        for file in files {
            let shown = file.strip_prefix(&workspace.root).unwrap_or(&file).to_path_buf();
            match fs::read_to_string(&file) {
                Ok(text) if krate.name == "xtask" => drop(text),
                Ok(text) => check_file(&shown, &text, may_be_unsafe, &mut problems),
                Err(error) => problems.push(format!("{}: {error}", shown.display())),
            }
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
            report("`unsafe` stands in ijk-tensor and ijk-cpu only");
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

/// Whether `unsafe` is a word of the code (not part of a lint's name).
fn says_unsafe(code: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.split(|c| !is_word(c)).any(|word| word == "unsafe")
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
