//! Texts at and beyond the limits answer quickly, with a result or an error, on a small stack.

use ijk_syntax::{Diagnostic, MAX_FUNCTIONS, MAX_NESTING, Severity, parse, render};
use std::time::{Duration, Instant};

/// Parses, prints and renders on a thread with a stack of 1 MiB.
fn parse_within(source: String, limit: Duration) -> Vec<Diagnostic> {
    let work = move || {
        let start = Instant::now();
        let (program, diagnostics) = parse(&source);
        let _ = program.to_string();
        let _ = render(&source, "origin", &diagnostics, true);
        let took = start.elapsed();
        assert!(took < limit, "took {took:?}");
        diagnostics
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(work).expect("a thread");
    thread.join().expect("no panic")
}

fn errors(diagnostics: &[Diagnostic]) -> usize {
    diagnostics.iter().filter(|d| d.severity == Severity::Error).count()
}

const SECONDS: Duration = Duration::from_secs(20);

#[test]
fn long_texts() {
    let megabytes = 2 << 20;
    for piece in [
        "a", "a~a;", ")", "(", "~", "i*", "[", "1", "#", "é", "\n", "a . ", "@x i~i;", "2i", "a,",
        "{", ". ", ": ",
    ] {
        let source = piece.repeat(megabytes / piece.len());
        parse_within(source, SECONDS);
    }
}

#[test]
fn ten_megabytes() {
    parse_within("a~a;".repeat(5 << 19), SECONDS);
}

#[test]
fn chain_of_a_million() {
    let source = vec!["+i~i"; 1_000_000].join(" . ");
    assert_eq!(errors(&parse_within(source, SECONDS)), 0);
}

#[test]
fn swaps_of_a_million() {
    let source = "~".repeat(1_000_000) + "f";
    assert_eq!(errors(&parse_within(source, SECONDS)), 0);
}

#[test]
fn ten_thousand_bindings() {
    let source: String = (0..10_000).map(|n| format!("b{n}: b{}\n", n + 1)).collect();
    assert_eq!(errors(&parse_within(source, SECONDS)), 0);
}

#[test]
fn nested_parentheses() {
    let nested = |n: usize| format!("{}f{}", "(".repeat(n), ")".repeat(n));
    assert_eq!(errors(&parse_within(nested(MAX_NESTING), SECONDS)), 0);
    assert_eq!(errors(&parse_within(nested(MAX_NESTING + 1), SECONDS)), 1);
    assert_eq!(errors(&parse_within(nested(1_000_000), SECONDS)), 1);
}

#[test]
fn nested_index_arithmetic() {
    let nested = |n: usize| format!("[{}i+1{}]~i", "2*(i+".repeat(n), ")".repeat(n));
    assert_eq!(errors(&parse_within(nested(MAX_NESTING - 1), SECONDS)), 0);
    assert_eq!(errors(&parse_within(nested(MAX_NESTING), SECONDS)), 1);
    assert_eq!(errors(&parse_within(nested(100_000), SECONDS)), 1);
}

#[test]
fn nested_scalar_expressions() {
    let nested = |n: usize| format!("({}i+1{})~i", "2*(i+".repeat(n), ")".repeat(n));
    assert_eq!(errors(&parse_within(nested(MAX_FUNCTIONS / 2 - 1), SECONDS)), 0);
    assert_eq!(errors(&parse_within(nested(MAX_FUNCTIONS / 2), SECONDS)), 1);
    assert_eq!(errors(&parse_within(nested(100_000), SECONDS)), 1);
    for operator in ["+i", "^i", "*-i", " @lt i", "*(@tanh i)"] {
        let flat = |n: usize| format!("+(i{})~.", operator.repeat(n));
        assert_eq!(errors(&parse_within(flat(100), SECONDS)), 0);
        assert_eq!(errors(&parse_within(flat(100_000), SECONDS)), 1);
    }
    for prefix in ["-", "@tanh ", "(", "-(", "@tanh(", "@where("] {
        parse_within(format!("(0*{}i", prefix.repeat(200_000)), SECONDS);
    }
}

#[test]
fn many_errors_are_counted() {
    let diagnostics = parse_within("i~;".repeat(1000), SECONDS);
    assert_eq!(diagnostics.len(), 101);
    assert_eq!(diagnostics[100].message, "and 900 more errors");
}

#[test]
fn an_error_after_many_warnings_is_kept() {
    let diagnostics = parse_within("a: a\n-i~i;".repeat(300) + "i~", SECONDS);
    assert!(errors(&diagnostics) > 0);
}
