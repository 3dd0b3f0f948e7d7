//! `ijk explain`: plan and cost of a program, and the engine's choices for each step, without running it.

mod simulate;
mod steps;

use super::{is_et, tuples};
use crate::applied::{Application, refuse_given};
use crate::args::Explain;
use crate::engine::engine;
use crate::failure::Failure;
use crate::source::Source;
use crate::{json, output};
use ijk::Explanation;
use serde_json::json;
use std::path::Path;

/// Prints types, domains, plan and cost.
///
/// # Errors
/// If the program is wrong or does not fit the shapes.
pub fn explain(args: &Explain) -> Result<(), Failure> {
    if is_et(Path::new(&args.applied.program)) {
        return explain_tuples(args);
    }
    refuse_given(&args.given)?;
    if let Some(machines) = args.simulate.machines {
        return simulate::explain(args, machines as usize);
    }
    let application = Application::new(&args.applied)?;
    let arguments = application.borrowed();
    let engine = engine(args.threads, args.memory, args.strict)?;
    let explanation = engine.explain(&application.program, &arguments);
    let explanation = explanation.map_err(|error| application.failure(error))?;
    print(args, application.program.signature().to_string(), &explanation)
}

fn print(args: &Explain, signature: String, explanation: &Explanation) -> Result<(), Failure> {
    if !args.applied.json {
        return output::print(&format!("{}\n", explanation.to_string().trim_end()));
    }
    let cost = explanation.cost();
    let steps = explanation.steps().map_err(|error| Failure::wrong(error.to_string()))?;
    output::print(&json::text(&json!({
        "signature": signature,
        "operations": cost.operations,
        "bytes_read": cost.read,
        "bytes_written": cost.written,
        "bytes_of_temporaries": explanation.temporary_bytes(),
        "steps": steps.iter().map(steps::json).collect::<Vec<_>>(),
        "text": explanation.to_string(),
    })))
}

/// The same for a program in Einsum Tuple.
fn explain_tuples(args: &Explain) -> Result<(), Failure> {
    if args.simulate.machines.is_some() {
        let message = "--machines is for programs in i: a .et program runs in blocks with `ijk run` on Zarr arrays";
        return Err(Failure::wrong(message));
    }
    let source = Source::file(Path::new(&args.applied.program))?;
    let program = source.compile_et()?;
    let arrays = tuples::arrays((&source, &program), &args.given, None)?;
    let bindings = tuples::outlined(&program, &args.applied, &args.given, &arrays)?;
    let engine = engine(args.threads, args.memory, args.strict)?;
    let explained = program.explain(&engine, &bindings).map_err(|error| source.failure(error))?;
    let signature = program.signature().to_string().replace('\n', "; ");
    explained.iter().try_for_each(|explanation| print(args, signature.clone(), explanation))
}
