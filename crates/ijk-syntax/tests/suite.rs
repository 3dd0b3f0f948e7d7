//! Runs the cases of `tests/suite/parse`.
//!
//! A case is a header `--- name ---`, a program, and what is expected of it as comments: the tree
//! printed back, and each diagnostic with its place. `UPDATE=1` rewrites what is expected.

#[path = "../../../tests/suite/describe.rs"]
mod describe;

use describe::describe;
use ijk_syntax::{Severity, parse};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// How a line with an expectation starts.
const EXPECTATIONS: [&str; 5] = ["# => ", "# error ", "# warning ", "# note ", "# help: "];

struct Case {
    name: String,
    program: String,
    expected: String,
}

#[test]
fn parse_cases() {
    let mut failures = Vec::new();
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("the case file is readable");
        let mut updated = String::new();
        for case in cases(&text) {
            let found = outcome(&case.program);
            writeln!(updated, "--- {} ---\n{}{found}", case.name, case.program).expect("text");
            if found != case.expected {
                failures.push(format!(
                    "{}: {}\n expected:\n{}\n found:\n{found}",
                    path.display(),
                    case.name,
                    case.expected
                ));
            }
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, updated).expect("the case file is writable");
            failures.clear();
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/suite/parse");
    let entries = std::fs::read_dir(folder).expect("the folder of cases");
    let mut files: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        let header = line.strip_prefix("--- ").and_then(|l| l.strip_suffix(" ---"));
        if let Some(name) = header {
            let (program, expected) = (String::new(), String::new());
            cases.push(Case { name: name.to_owned(), program, expected });
            continue;
        }
        let case = cases.last_mut().expect("a header before the first line");
        let expectation = EXPECTATIONS.iter().any(|e| line.starts_with(e.trim_end()));
        let part = if expectation { &mut case.expected } else { &mut case.program };
        part.push_str(line);
        part.push('\n');
    }
    for case in &mut cases {
        case.program.truncate(case.program.trim_end().len());
        case.program.push('\n');
    }
    cases
}

/// What there is to say of a program.
fn outcome(source: &str) -> String {
    let (program, diagnostics) = parse(source);
    let mut lines = String::new();
    if diagnostics.iter().all(|d| d.severity == Severity::Warning) {
        for line in program.to_string().lines() {
            writeln!(lines, "# => {line}").expect("text");
        }
    }
    for diagnostic in &diagnostics {
        describe(source, diagnostic, &mut lines);
    }
    lines
}
