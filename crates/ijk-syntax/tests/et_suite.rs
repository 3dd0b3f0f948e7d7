//! Runs the cases of `tests/suite/et/parse`: expected are the tree printed back, and each
//! diagnostic with its place. Every diagnostic has a case.

use crate::cases::describe;
use ijk_syntax::Code;
use ijk_syntax::et::{codes, parse};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::Write;

#[test]
fn parse_cases() {
    let seen = RefCell::new(HashSet::new());
    crate::cases::check("et/parse", |source| outcome(source, &mut seen.borrow_mut()));
    let unseen: Vec<&Code> = codes::ALL.iter().filter(|c| !seen.borrow().contains(*c)).collect();
    assert!(unseen.is_empty(), "no case for {unseen:?}");
}

/// Diagnostics of a program, rendered.
fn outcome(source: &str, seen: &mut HashSet<Code>) -> String {
    let (program, diagnostics) = parse(source);
    let mut lines = String::new();
    if diagnostics.is_empty() {
        for line in program.to_string().lines() {
            writeln!(lines, "{}", format!("# => {line}").trim_end()).expect("text");
        }
    }
    for diagnostic in &diagnostics {
        seen.extend(diagnostic.code);
        describe(source, diagnostic, &mut lines);
    }
    lines
}
