//! Runs the cases of `tests/suite/check`.
//!
//! A case is a header `--- name ---`, a program, perhaps a line `# given f32[2,3] f32[3]` with the
//! types and shapes of arguments, and what is expected as comments: the program's signature and
//! the types and shapes of its results, or each diagnostic with its place. `UPDATE=1` rewrites
//! what is expected.

#[path = "../../../tests/suite/describe.rs"]
mod describe;

use describe::describe;
use ijk_ir::{Signature, compile_source, instantiate};
use ijk_types::DType;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// How a line with an expectation starts.
const EXPECTATIONS: [&str; 5] = ["# =>", "# error ", "# warning ", "# note ", "# help: "];

struct Case {
    name: String,
    program: String,
    expected: String,
}

#[test]
fn check_cases() {
    let mut failures = Vec::new();
    for path in files() {
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

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/suite/check");
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

/// What there is to say of a program and its arguments.
fn outcome(source: &str) -> String {
    let compiled = compile_source(source);
    let mut lines = String::new();
    if let Some(program) = &compiled.program {
        writeln!(lines, "# => {}", Signature::of(program)).expect("text");
        for given in source.lines().filter_map(|l| l.strip_prefix("# given")) {
            let arguments: Vec<(DType, Vec<u64>)> =
                given.replace(", ", ",").split_whitespace().map(argument).collect();
            let slices: Vec<(DType, &[u64])> =
                arguments.iter().map(|(t, s)| (*t, &s[..])).collect();
            match instantiate(program, &slices) {
                Ok(instance) => {
                    let of = |id: &ijk_ir::core::ArrayId| {
                        let n = id.0 as usize;
                        format!("{}{:?}", instance.dtypes[n], instance.shapes[n])
                    };
                    let results: Vec<String> = program.outputs.iter().map(of).collect();
                    writeln!(lines, "# => {}", results.join(", ")).expect("text");
                }
                Err(errors) => errors.iter().for_each(|e| describe(source, e, &mut lines)),
            }
        }
    }
    compiled.diagnostics.iter().for_each(|d| describe(source, d, &mut lines));
    lines
}

/// `f32[2,3]`.
fn argument(text: &str) -> (DType, Vec<u64>) {
    let (dtype, shape) = text.split_once('[').expect("a type and a shape");
    let extents = shape.trim_end_matches(']').split(',').filter(|n| !n.is_empty());
    let shape = extents.map(|n| n.parse().expect("an extent")).collect();
    (DType::from_name(dtype).expect("an element type"), shape)
}
