//! Cases of programs in files, and how they write down what is expected; the test of each stage
//! includes this.
//!
//! A case is a header `--- name ---`, a program, and what is expected of it as comments. `UPDATE=1`
//! rewrites what is expected.

use ijk_syntax::{Diagnostic, Span};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// How a line with an expectation starts.
const EXPECTATIONS: [&str; 5] = ["# =>", "# error ", "# warning ", "# note ", "# help: "];

struct Case {
    name: String,
    program: String,
    expected: String,
}

/// That `outcome` says of each program of a folder in `tests/suite` what is expected.
pub fn check(folder: &str, outcome: impl Fn(&str) -> String) {
    let mut failures = Vec::new();
    for path in files(folder) {
        let text = std::fs::read_to_string(&path).expect("the case file is readable");
        let mut updated: Vec<String> = Vec::new();
        for case in cases(&text) {
            let found = outcome(&case.program);
            updated.push(format!("--- {} ---\n{}{found}", case.name, case.program));
            if found != case.expected {
                let Case { name, expected, .. } = case;
                let path = path.display();
                failures.push(format!("{path}: {name}\n expected:\n{expected}\n found:\n{found}"));
            }
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, updated.join("\n")).expect("the case file is writable");
            failures.clear();
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/suite").join(folder);
    let entries = std::fs::read_dir(folder).expect("the folder of cases");
    let mut files: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("--- ").and_then(|l| l.strip_suffix(" ---")) {
            let (program, expected) = (String::new(), String::new());
            cases.push(Case { name: name.to_owned(), program, expected });
            continue;
        }
        let case = cases.last_mut().expect("a header before the first line");
        let expectation = EXPECTATIONS.iter().any(|e| line.starts_with(e));
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

/// Adds the lines that a case expects of a diagnostic.
pub fn describe(source: &str, diagnostic: &Diagnostic, lines: &mut String) {
    let place = |span| place(source, span);
    let Diagnostic { severity, message, label, .. } = diagnostic;
    let label = if label.is_empty() { String::new() } else { format!(" ({label})") };
    writeln!(lines, "# {severity} {}: {message}{label}", place(diagnostic.span)).expect("text");
    for (span, label) in &diagnostic.related {
        writeln!(lines, "# note {}: {label}", place(*span)).expect("text");
    }
    for hint in &diagnostic.hints {
        let fix = hint.replacement.as_ref().map(|(s, t)| format!(" [{} -> `{t}`]", place(*s)));
        writeln!(lines, "# help: {}{}", hint.message, fix.unwrap_or_default()).expect("text");
    }
}

/// `line:column-line:column`, counted from 1, columns in characters.
fn place(source: &str, span: Span) -> String {
    let at = |byte: u32| {
        let before = &source[..byte as usize];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        format!("{line}:{column}")
    };
    format!("{}-{}", at(span.start), at(span.end))
}
