//! Random programs parse, print back to themselves, and nearly all have a value.

use ijk_oracle::random::{Case, print};
use ijk_oracle::{EvalError, evaluate_bounded};
use ijk_syntax::{Severity, ast::Program, parse};

fn parsed(source: &str) -> Program {
    let (program, diagnostics) = parse(source);
    let errors: Vec<_> = diagnostics.iter().filter(|d| d.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{source}\n{errors:?}");
    program
}

#[test]
fn programs_parse_and_print() {
    for seed in 0..500 {
        let source = Case::random(seed).source;
        let program = parsed(&source);
        let again = parsed(&print(&program, None));
        assert_eq!(print(&program, None), print(&again, None), "{source}");
        assert_eq!(program.to_string(), parsed(&program.to_string()).to_string(), "{source}");
    }
}

#[test]
fn programs_have_values() {
    let mut failures = 0;
    let cases = 500;
    for seed in 0..cases {
        let case = Case::random(seed);
        match evaluate_bounded(&parsed(&case.source), &case.values()) {
            Ok(_) => {}
            Err(EvalError::Scalar(_)) => {}
            Err(error) => {
                failures += 1;
                println!("{seed}: {error}\n{}", case.source);
            }
        }
    }
    assert!(failures * 20 < cases, "{failures}");
}
