//! Outputs and the framework call, and what nothing uses.

use super::super::Origin;
use super::super::codes;
use super::super::walk::{self, Event, Standing};
use super::Symbols;
use super::names::{Kind, Names};
use crate::sink::Sink;
use ijk_syntax::et::ast::{Name, Program};

/// The positions of the outputs; all assigned arrays where none are listed.
pub fn outputs(program: &Program, names: &Names, found: &Symbols, sink: &mut Sink) -> Vec<usize> {
    if program.outputs.is_empty() {
        return assigned(program, found);
    }
    let mut outputs: Vec<usize> = Vec::new();
    for name in &program.outputs {
        let text = &name.text;
        match found.arrays.get(text) {
            None => unknown(name, names, sink),
            Some(n) if found.arrays.infos[n].origin == Origin::Input => {
                let message = format!("no statement assigns the output `{text}`");
                let error = codes::OUTPUT_NOT_ASSIGNED
                    .error(name.span, message)
                    .with_related(found.arrays.infos[n].span, "only read");
                sink.push(error);
            }
            Some(n) if outputs.contains(&n) => {
                let message = format!("the output `{text}` is listed twice");
                sink.push(codes::OUTPUT_TWICE.warning(name.span, message));
            }
            Some(n) => outputs.push(n),
        }
    }
    outputs
}

fn assigned(program: &Program, found: &Symbols) -> Vec<usize> {
    let mut seen = vec![false; found.arrays.infos.len()];
    let assigning = program.statements.iter().filter(|s| s.declared.is_none());
    let lefts = assigning.filter_map(|s| found.arrays.get(&s.left.array.text));
    lefts.filter(|n| !std::mem::replace(&mut seen[*n], true)).collect()
}

fn unknown(name: &Name, names: &Names, sink: &mut Sink) {
    let text = &name.text;
    let message = match names.get(text) {
        Some(_) => format!("`{text}` is an eintup, not an array"),
        None => format!("unknown array `{text}`"),
    };
    let error = codes::UNKNOWN_ARRAY.error(name.span, message);
    sink.push(names.offer(Kind::Array, text, name.span, error));
}

/// Checks the names in the framework call.
pub fn call(program: &Program, names: &Names, found: &Symbols, sink: &mut Sink) {
    let Some(call) = &program.call else { return };
    walk::call(call, &mut |event| {
        let Event::Name(name, Standing::Value) = event else { return };
        if found.arrays.get(&name.text).is_none() {
            unknown(name, names, sink);
        }
    });
}

/// Warns of what nothing uses.
pub fn judge(
    program: &Program,
    names: &Names,
    found: &Symbols,
    outputs: &[usize],
    sink: &mut Sink,
) {
    let mut read = found.arrays.read.clone();
    outputs.iter().for_each(|n| read[*n] = true);
    if let Some(call) = &program.call {
        walk::call(call, &mut |event| {
            if let Event::Name(name, Standing::Value) = event
                && let Some(n) = found.arrays.get(&name.text)
            {
                read[n] = true;
            }
        });
    }
    for (info, _) in found.arrays.infos.iter().zip(&read).filter(|(_, read)| !**read) {
        let message = format!("nothing uses the array `{}`, which is no output", info.name);
        sink.push(codes::UNUSED_ARRAY.warning(info.span, message));
    }
    for uses in names.uses.iter().filter(|u| u.kind() == Kind::Tuple) {
        let unused = !uses.in_statements() && uses.bounds.is_none();
        if let (true, Some(span)) = (unused, uses.constrained) {
            let message = format!("a constraint is on `{}`, which nothing uses", uses.name);
            let warning = codes::UNUSED_TUPLE.warning(span, message);
            sink.push(names.offer(Kind::Tuple, &uses.name, span, warning));
        }
    }
    warn_of_parameters(program, names, found, sink);
}

/// Warns of eintups that stand in `DIMS` or `RANK` alone and that nothing constrains.
fn warn_of_parameters(program: &Program, names: &Names, found: &Symbols, sink: &mut Sink) {
    let mut variable = vec![false; found.shapes.tuples.len()];
    let mut mark = |name: &String| {
        if let Some(n) = found.shapes.by_name.get(name) {
            variable[*n] = true;
        }
    };
    program.loops.iter().for_each(|l| mark(&l.tuple.text));
    walk::program(program, &mut |_, event| match event {
        Event::Name(_, Standing::Fixed | Standing::Ranked) => {}
        Event::Name(name, _) => mark(&name.text),
        Event::Access(access, _) => mark(&access.array.text),
    });
    for (tuple, variable) in found.shapes.tuples.iter().zip(variable) {
        let uses = names.get(&tuple.name);
        let Some(uses) = uses.filter(|u| !variable && u.constrained.is_none()) else { continue };
        if let Some(span) = uses.index {
            let name = &tuple.name;
            let message = format!(
                "nothing but `DIMS` or `RANK` mentions `{name}`, and no constraint is on it"
            );
            let warning = codes::UNCONSTRAINED.warning(span, message);
            sink.push(names.offer(Kind::Tuple, name, span, warning));
        }
    }
}
