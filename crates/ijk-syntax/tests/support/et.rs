//! Properties of every text of Einsum Tuple. Shared with `fuzz/`.

use crate::support::{check_span, check_spans, without_span_texts};
use ijk_syntax::et::ast::{CallArg, Program, Relation};
use ijk_syntax::et::parse;
use ijk_syntax::{Diagnostic, render};

/// Panics unless the parser keeps its promises for `source`.
pub fn check_text(source: &str) -> Vec<Diagnostic> {
    let (program, diagnostics) = parse(source);
    diagnostics.iter().for_each(|d| check_spans(source, d));
    assert!(diagnostics.len() <= 101, "{} diagnostics", diagnostics.len());
    assert!(diagnostics.iter().all(|d| d.code.is_some()));
    let rendered = render(source, "origin", &diagnostics, false);
    assert_eq!(rendered.is_empty(), diagnostics.is_empty());
    check_program_spans(source, &program);
    if diagnostics.is_empty() {
        check_round_trip(&program);
    }
    diagnostics
}

/// The printed program parses to the same tree.
fn check_round_trip(program: &Program) {
    let printed = program.to_string();
    let (again, diagnostics) = parse(&printed);
    assert!(diagnostics.is_empty(), "{program:?}\n{printed}\n{diagnostics:?}");
    let trees = [program, &again].map(|p| without_span_texts(&format!("{p:?}")));
    assert_eq!(trees[0], trees[1], "{printed}");
}

fn check_program_spans(source: &str, program: &Program) {
    let check = |span| check_span(source, span);
    for statement in &program.statements {
        check(statement.span);
        check(statement.symbol);
        check(statement.left.span);
        statement.left.indices.iter().for_each(|i| check(i.span()));
        check(statement.value.span());
    }
    program.outputs.iter().for_each(|o| check(o.span));
    for constraint in &program.constraints {
        check(constraint.span);
        if let Relation::Equals(bound) = &constraint.relation {
            check(bound.span());
        }
    }
    program.call.iter().for_each(|call| {
        check(call.span);
        call.args.iter().map(|(_, arg)| CallArg::span(arg)).for_each(check);
    });
}
