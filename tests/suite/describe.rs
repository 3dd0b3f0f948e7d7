//! How cases of programs write down a diagnostic; the runners of each stage include it.

use ijk_syntax::{Diagnostic, Span};
use std::fmt::Write;

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
