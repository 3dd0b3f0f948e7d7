//! `ijk deps`: elements that an element of a result depends on, or that one of an argument affects.

use super::{draw, is_et, operations};
use crate::applied::{Application, refuse_given};
use crate::args::Deps;
use crate::failure::Failure;
use crate::{json, layout, names, output};
use ijk::PointSet;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Greatest number of points that are listed.
const LISTED: u64 = 4096;

/// Prints and draws sets of elements.
///
/// # Errors
/// If the program is wrong or does not fit the shapes, or there is no such element.
pub fn deps(args: &Deps) -> Result<(), Failure> {
    let Some(at) = &args.at else { return operations::operations(args) };
    if is_et(Path::new(&args.applied.program)) {
        return operations::of_result(args);
    }
    refuse_given(&args.given)?;
    let application = Application::new(&args.applied)?;
    let arguments = application.borrowed();
    let fail = |error| application.failure(error);
    let results = application.program.results(&arguments).map_err(fail)?;
    let shapes = |arrays: &[(_, Vec<usize>)]| -> Vec<_> {
        arrays.iter().map(|(_, shape)| shape.clone()).collect()
    };
    let results = Side { kind: "output", name: names::output, shapes: shapes(&results) };
    let inputs = Side { kind: "input", name: names::input, shapes: shapes(&application.arguments) };
    let (at, program) = (&at.0, &application.program);
    let relation = match &args.input {
        Some(input) => {
            let input = number("--input", input)?;
            inputs.check(input, at)?;
            let sets = program.reaches(&arguments, input, at).map_err(fail)?;
            Relation { of: inputs, number: input, at, verb: "reaches", to: results, sets }
        }
        None => {
            let output = args.output.as_deref().map_or(Ok(0), |text| number("--output", text))?;
            results.check(output, at)?;
            let sets = program.dependencies(&arguments, output, at).map_err(fail)?;
            Relation { of: results, number: output, at, verb: "depends on", to: inputs, sets }
        }
    };
    output::print(&if args.applied.json { relation.as_json() } else { relation.as_text() })
}

/// The number of an input or output.
fn number(flag: &str, text: &str) -> Result<usize, Failure> {
    let wrong = || Failure::wrong(format!("{flag} {text}: inputs and outputs are named 0, 1, …"));
    text.parse().map_err(|_| wrong())
}

/// Arguments or results.
struct Side {
    /// `input` or `output`.
    kind: &'static str,
    /// Name of the array at a position.
    name: fn(usize) -> String,
    shapes: Vec<Vec<usize>>,
}

impl Side {
    /// Checks that the array and the element exist.
    fn check(&self, number: usize, at: &[usize]) -> Result<(), Failure> {
        let Some(shape) = self.shapes.get(number) else {
            let (kind, count) = (self.kind, self.shapes.len());
            let message =
                format!("there is no {kind} {number}: the program has {count}, counted from 0");
            return Err(Failure::wrong(message));
        };
        let name = (self.name)(number);
        if shape.len() != at.len() {
            let (rank, given) = (shape.len(), at.len());
            return Err(Failure::wrong(format!(
                "{name} has rank {rank} (shape {}), but --at has {given} {}",
                layout::shape(shape),
                if given == 1 { "index" } else { "indices" }
            )));
        }
        match at.iter().zip(shape).position(|(index, extent)| index >= extent) {
            None => Ok(()),
            Some(axis) => Err(Failure::wrong(format!(
                "--at is {} on axis {axis}, where {name} has extent {}",
                at[axis], shape[axis]
            ))),
        }
    }
}

/// An element, and the sets of others it is related to.
struct Relation<'a> {
    of: Side,
    number: usize,
    at: &'a [usize],
    verb: &'static str,
    to: Side,
    sets: Vec<PointSet>,
}

impl Relation<'_> {
    fn as_text(&self) -> String {
        let (name, at, verb) = ((self.of.name)(self.number), layout::shape(self.at), self.verb);
        let mut text = format!("{name} at {at} {verb}\n");
        for (n, (set, shape)) in self.sets.iter().zip(&self.to.shapes).enumerate() {
            let _ = writeln!(text, "{}: {set}, {}", (self.to.name)(n), counted(set, shape));
            if draw::is_small(shape) {
                let wide = |index: &[usize]| index.iter().map(|&x| x as u64).collect::<Vec<_>>();
                text += &draw::grid(shape, |index| set.contains(&wide(index)));
            }
        }
        text
    }

    fn as_json(&self) -> String {
        let set = |set: &PointSet| -> Value {
            json!({
                "set": set.to_string(),
                "exact": set.is_exact(),
                "points": set.points(LISTED),
            })
        };
        json::text(&json!({
            self.of.kind: self.number,
            "at": self.at,
            format!("{}s", self.to.kind): self.sets.iter().map(set).collect::<Value>(),
        }))
    }
}

/// `4 of 12 elements`.
pub(super) fn counted(set: &PointSet, shape: &[usize]) -> String {
    let all = shape.iter().fold(1u64, |n, &extent| n.saturating_mul(extent as u64));
    let count = match set.points(LISTED) {
        Some(points) => points.len().to_string(),
        None => format!("at most {}", set.count_upper_bound().min(all)),
    };
    let inexact = if set.is_exact() { "" } else { " (a superset)" };
    format!("{count} of {all} elements{inexact}")
}
