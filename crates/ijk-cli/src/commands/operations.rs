//! `ijk deps --from --to`: dependencies between operations of a program.

use super::{draw, is_et, tuples};
use crate::applied::{Application, refuse_given};
use crate::args::Deps;
use crate::failure::Failure;
use crate::source::Source;
use crate::{json, output};
use ijk::{Operations, PointSet};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Greatest number of points that are listed.
const LISTED: u64 = 4096;

/// Prints the relation of operations.
///
/// # Errors
/// If the program is wrong or does not fit the shapes, or there is no such operation.
pub fn operations(args: &Deps) -> Result<(), Failure> {
    let (source, operations) = named(args)?;
    let told = match (&args.from, &args.to) {
        (Some(from), Some(to)) => relation(&operations, from, to),
        (Some(from), None) => {
            operations.reaches(from).and_then(|sets| all(&operations, from, "reaches", sets))
        }
        (None, to) => {
            let of = to.as_deref().unwrap_or_default();
            operations.dependencies(of).and_then(|sets| all(&operations, of, "depends on", sets))
        }
    };
    let (text, value) = told.map_err(|error| source.failure(error))?;
    output::print(&if args.applied.json { json::text(&value) } else { text })
}

/// Prints the dependencies of an element of a result of a `.et` program, or the elements that one of an input affects.
///
/// # Errors
/// As for [`operations`].
pub fn of_result(args: &Deps) -> Result<(), Failure> {
    let (source, operations) = named(args)?;
    let program = source.compile_et()?;
    let signature = program.signature();
    let first = || signature.outputs().next().unwrap_or_default().to_owned();
    let name = args.input.clone().or(args.output.clone()).unwrap_or_else(first);
    // The last of several statements of one array gives the result.
    let is_of = |own: &&str| own.split('#').next() == Some(&name);
    let last = operations.names().filter(is_of).last().unwrap_or(&name).to_owned();
    let at: Vec<String> = args.at.iter().flat_map(|at| &at.0).map(usize::to_string).collect();
    let element = format!("{last}[{}]", at.join(","));
    let told = match args.input {
        Some(_) => {
            operations.reaches(&element).and_then(|s| all(&operations, &element, "reaches", s))
        }
        None => {
            let sets = operations.dependencies(&element);
            sets.and_then(|sets| all(&operations, &element, "depends on", sets))
        }
    };
    let (text, value) = told.map_err(|error| source.failure(error))?;
    output::print(&if args.applied.json { json::text(&value) } else { text })
}

/// The operations of the program.
fn named(args: &Deps) -> Result<(Source, Operations), Failure> {
    if is_et(Path::new(&args.applied.program)) {
        let source = Source::file(Path::new(&args.applied.program))?;
        let program = source.compile_et()?;
        let arrays = tuples::arrays((&source, &program), &args.given, None)?;
        let bindings = tuples::outlined(&program, &args.applied, &args.given, &arrays)?;
        let operations = program.operations(&bindings).map_err(|error| source.failure(error))?;
        return Ok((source, operations));
    }
    refuse_given(&args.given)?;
    let application = Application::new(&args.applied)?;
    let operations = application.program.operations(&application.borrowed());
    let operations = operations.map_err(|error| application.failure(error))?;
    Ok((application.source, operations))
}

type TextAndJson = (String, Value);

fn relation(operations: &Operations, from: &str, to: &str) -> Result<TextAndJson, ijk::Error> {
    let relation = operations.relation(from, to)?;
    let (set, other) = (relation.set(), relation.other());
    let mut text = format!("{relation}\n");
    text += &drawn(operations, other, set)?;
    let value = json!({
        "from": from,
        "to": to,
        "text": relation.to_string(),
        "related": relation.is_related(),
        "of": other,
        "set": as_json(set),
    });
    Ok((text, value))
}

fn all(
    operations: &Operations,
    of: &str,
    verb: &str,
    sets: Vec<(String, PointSet)>,
) -> Result<TextAndJson, ijk::Error> {
    let nothing = if sets.is_empty() { " nothing" } else { "" };
    let mut text = format!("{of} {verb}{nothing}\n");
    let mut members = serde_json::Map::new();
    for (name, set) in sets {
        text += &drawn(operations, &name, &set)?;
        members.insert(name, as_json(&set));
    }
    Ok((text, json!({ "of": of, verb: members })))
}

/// `mm.m: {(2, k, 1) : k in 0..4}, 4 of 60 elements`, and a picture where it is small.
fn drawn(operations: &Operations, name: &str, set: &PointSet) -> Result<String, ijk::Error> {
    let shape = operations.shape(name)?;
    let mut text = String::new();
    let _ = writeln!(text, "{name}: {set}, {}", super::deps::counted(set, &shape));
    if draw::is_small(&shape) {
        let wide = |index: &[usize]| index.iter().map(|&x| x as u64).collect::<Vec<_>>();
        text += &draw::grid(&shape, |index| set.contains(&wide(index)));
    }
    Ok(text)
}

fn as_json(set: &PointSet) -> Value {
    json!({ "set": set.to_string(), "exact": set.is_exact(), "points": set.points(LISTED) })
}
