//! Runs the cases of `tests/suite/parse`. Expected are the tree printed back, and each diagnostic
//! with its place.

use crate::cases::describe;
use ijk_syntax::{Severity, parse};
use std::fmt::Write;

#[test]
fn parse_cases() {
    crate::cases::check("parse", outcome);
}

/// Diagnostics of a program, rendered.
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
