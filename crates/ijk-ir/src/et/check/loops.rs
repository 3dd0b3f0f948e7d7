//! Loops: each fixes an eintup of its own, and ends by a scalar.

use super::super::codes;
use super::super::walk::{self, Event, Standing};
use super::names::{Kind, Names};
use crate::sink::Sink;
use ijk_syntax::et::ast::{Loop, Program, Value};
use ijk_syntax::{Diagnostic, Span};

/// Reports loops over an eintup that a loop around them fixes already, and conditions that are no scalars of a pass.
pub fn judge(program: &Program, names: &Names, sink: &mut Sink) {
    for (n, inner) in program.loops.iter().enumerate() {
        let mut over = program.loops_over(n);
        let same = |outer: &&Loop| outer.tuple.text == inner.tuple.text;
        if let Some(outer) = over.find(same).filter(|outer| outer.span != inner.span) {
            sink.push(twice(inner, outer));
        }
    }
    for statement in 0..program.statements.len() {
        if let Some(around) = program.loops_around(statement).last() {
            along(&program.statements[statement].value, around, sink);
        }
        for (own, condition) in program.conditions_after(statement) {
            range(program, own, condition, names, sink);
            along(condition, &program.loops[own], sink);
            if let Some(span) = random(condition) {
                let message = "a condition of `UNTIL` draws random numbers";
                let error = codes::UNTIL_RANDOM.error(span, message);
                sink.push(error.with_hint(
                    "draw them in a statement of the loop: `u[] = RANDOM(0, 1, FLOAT)`",
                ));
            }
        }
    }
}

fn twice(inner: &Loop, outer: &Loop) -> Diagnostic {
    let name = &inner.tuple.text;
    let message = format!("a loop over `{name}` in a loop over `{name}`");
    let error = codes::LOOP_TWICE.error(inner.tuple.span, message);
    error
        .with_related(outer.tuple.span, "fixed by this loop")
        .with_hint("name one of them differently")
}

/// Reports eintups in a condition that no loop around it fixes.
fn range(program: &Program, own: usize, condition: &Value, names: &Names, sink: &mut Sink) {
    let mut free = Vec::new();
    walk::value(condition, &mut |event| {
        let name = match event {
            Event::Name(_, Standing::Fixed | Standing::Ranked) => return,
            Event::Name(name, _) => name,
            Event::Access(access, _) => &access.array,
        };
        let tuple = names.get(&name.text).is_some_and(|uses| uses.kind() == Kind::Tuple);
        let fixed = program.loops_over(own).any(|l| l.tuple.text == name.text);
        if tuple && !fixed {
            free.push(name);
        }
    });
    if let Some(name) = free.first() {
        let message =
            format!("a condition of `UNTIL` is a scalar, but this one ranges over `{}`", name.text);
        let error = codes::UNTIL_RANGE.error(name.span, message);
        let error = error.with_related(program.loops[own].span, "the loop that it ends");
        sink.push(
            error.with_hint(
                "combine the elements before: `most[] =max x[i]`, `UNTIL LT(most[], 1)`",
            ),
        );
    }
}

/// Reports what a loop can't take of all values along an eintup.
fn along(value: &Value, around: &Loop, sink: &mut Sink) {
    walk::value(value, &mut |event| {
        let Event::Name(name, Standing::Along) = event else { return };
        let message = format!("what depends on all values along `{}` stands in a loop", name.text);
        let error = codes::ALONG_IN_LOOP.error(name.span, message);
        let error = error.with_related(around.span, "the loop");
        sink.push(error.with_hint("a statement before or after the loop can have it"));
    });
}

/// The first `RANDOM` of a value.
fn random(value: &Value) -> Option<Span> {
    match value {
        Value::Number(..)
        | Value::Element(_)
        | Value::Tuple(_)
        | Value::Dims { .. }
        | Value::Rank(..) => None,
        Value::Random { span, .. } => Some(*span),
        Value::Call { args, .. } => args.iter().find_map(random),
        Value::Along(along) => random(&along.of),
        Value::Sum(terms, _) => terms.iter().find_map(|(_, term)| random(term)),
        Value::Product(first, rest, _) => {
            random(first).or_else(|| rest.iter().find_map(|(_, factor)| random(factor)))
        }
    }
}
