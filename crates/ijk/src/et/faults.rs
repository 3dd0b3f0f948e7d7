//! Places in a program where a computation may have failed.

use crate::Error;
use ijk_cpu::RunError;
use ijk_ir::core::{LoopProgram, Program};
use ijk_ir::et::{Checked, Stage};
use ijk_syntax::ast::Number;
use ijk_syntax::et::ast::{Value, ValueOp};
use ijk_syntax::{Diagnostic, Function, Span};

/// The error of a stage, quoting every operation that may have caused it.
#[cold]
pub(super) fn located(checked: &Checked, stage: &Stage, error: Error) -> Error {
    located_in(checked, &spans(&stage.program), error)
}

/// The same for a loop.
#[cold]
pub(super) fn located_in_loop(checked: &Checked, program: &LoopProgram, error: Error) -> Error {
    let mut ran = Vec::new();
    program.root.for_each_update(&mut |update| ran.extend(spans(&update.program)));
    located_in(checked, &ran, error)
}

fn spans(program: &Program) -> Vec<Span> {
    program.statements.iter().map(|s| s.span.into()).collect()
}

fn located_in(checked: &Checked, ran: &[Span], error: Error) -> Error {
    let Error::Run(fault) = &error else { return error };
    let ran = |span: Span| ran.contains(&span);
    let mut spans = Vec::new();
    for statement in checked.program.statements.iter().filter(|s| ran(s.span)) {
        find(&statement.value, fault, &mut spans);
    }
    let Some((first, others)) = spans.split_first() else { return error };
    let mut diagnostic = Diagnostic::error(*first, fault.to_string());
    for span in others {
        diagnostic = diagnostic.with_related(*span, "or here");
    }
    Error::program(&checked.source, vec![diagnostic])
}

/// Collects the places of operations that may cause a fault.
fn find(value: &Value, fault: &RunError, spans: &mut Vec<Span>) {
    if may_fail(value, fault) {
        spans.push(value.span());
    }
    match value {
        Value::Number(..)
        | Value::Element(_)
        | Value::Tuple(_)
        | Value::Dims { .. }
        | Value::Rank(..) => {}
        Value::Random { lo, hi, .. } => [lo, hi].into_iter().for_each(|v| find(v, fault, spans)),
        Value::Call { args, .. } => args.iter().for_each(|v| find(v, fault, spans)),
        Value::Along(along) => find(&along.of, fault, spans),
        Value::Sum(terms, _) => terms.iter().for_each(|(_, v)| find(v, fault, spans)),
        Value::Product(first, rest, _) => {
            find(first, fault, spans);
            rest.iter().for_each(|(_, v)| find(v, fault, spans));
        }
    }
}

fn may_fail(value: &Value, fault: &RunError) -> bool {
    match (fault, value) {
        (RunError::EmptyRange, Value::Random { lo, hi, .. }) => number(lo)
            .zip(number(hi))
            .is_none_or(|(lo, hi)| lo.partial_cmp(&hi).is_none_or(|o| o.is_ge())),
        (RunError::DivisionByZero, Value::Product(_, rest, _)) => rest
            .iter()
            .any(|(op, by)| *op == ValueOp::FloorDiv && number(by).is_none_or(|n| n == 0.0)),
        (RunError::DivisionByZero, Value::Call { function, args, .. }) => {
            function.0 == Function::Mod && args.last().and_then(number).is_none_or(|n| n == 0.0)
        }
        (RunError::NegativePower, Value::Call { function, args, .. }) => {
            function.0 == Function::Pow && args.last().and_then(number).is_none_or(|n| n < 0.0)
        }
        _ => false,
    }
}

/// The value of a literal.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(Number::Integer(n), _) => Some(*n as f64),
        Value::Number(Number::Float(x), _) => Some(*x),
        _ => None,
    }
}
