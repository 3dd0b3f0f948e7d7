//! `ijk check`: checks a program and prints its signature.

use crate::args::Check;
use crate::failure::Failure;
use crate::source::Source;
use crate::{json, names, output};
use ijk::{LoopSummary, Port, Rank, Signature};
use serde_json::{Value, json};
use std::fmt::Write;

/// Checks a program and prints its signature.
///
/// # Errors
/// If the program is wrong.
pub fn check(args: &Check) -> Result<(), Failure> {
    let source = Source::either(&args.program)?;
    let program = source.compile()?;
    let signature = program.signature();
    let loops = program.loops();
    output::print(&match args.json {
        true => as_json(signature, &loops),
        false => as_text(signature) + &loops_text(&loops),
    })
}

/// A line for each loop.
fn loops_text(loops: &[LoopSummary]) -> String {
    let mut text = String::new();
    for own in loops {
        let _ = writeln!(text, "{:1$}{own}", "", 2 * own.depth);
    }
    text
}

fn as_text(signature: &Signature) -> String {
    let mut text = String::new();
    let inputs = signature.inputs.iter().enumerate().map(|(n, port)| (names::input(n), port));
    let outputs = signature.outputs.iter().enumerate().map(|(n, port)| (names::output(n), port));
    for (name, port) in inputs.chain(outputs) {
        let _ = writeln!(text, "{name}: {}, {}", rank(port), port.dtype);
    }
    for (n, set) in signature.types.iter().enumerate() {
        let _ = writeln!(text, "{}: one of {set}", Signature::type_name(n as u32));
    }
    for &(a, b) in &signature.same_real {
        let (a, b) = (Signature::type_name(a), Signature::type_name(b));
        let _ = writeln!(text, "{a} and {b}: of one precision");
    }
    text
}

fn rank(port: &Port) -> String {
    match port.rank {
        Rank::Fixed(rank) => format!("rank {rank}"),
        Rank::Var(_) => "any rank".into(),
    }
}

fn as_json(signature: &Signature, loops: &[LoopSummary]) -> String {
    let ports = |ports: &[Port]| -> Value {
        let port = |port: &Port| {
            let rank = match port.rank {
                Rank::Fixed(rank) => Some(rank),
                Rank::Var(_) => None,
            };
            json!({ "rank": rank, "dtype": port.dtype.to_string() })
        };
        ports.iter().map(port).collect()
    };
    let types = signature.types.iter().enumerate().map(|(n, set)| {
        let names: Vec<_> = set.iter().map(|t| t.name()).collect();
        (Signature::type_name(n as u32), json!(names))
    });
    json::text(&json!({
        "inputs": ports(&signature.inputs),
        "outputs": ports(&signature.outputs),
        "types": types.collect::<serde_json::Map<_, _>>(),
        "loops": loops.iter().map(ToString::to_string).collect::<Vec<_>>(),
    }))
}
