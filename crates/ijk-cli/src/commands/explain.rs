//! `ijk explain`: what would happen, and at what cost.

mod paper;

use crate::applied::Application;
use crate::args::Explain;
use crate::engine::engine;
use crate::failure::Failure;
use crate::{json, output};
use serde_json::json;

/// Prints types, domains, plan and cost.
///
/// # Errors
/// If the program is wrong or does not fit the shapes.
pub fn explain(args: &Explain) -> Result<(), Failure> {
    if let Some(machines) = args.paper.machines {
        return paper::explain(args, machines as usize);
    }
    let application = Application::new(&args.applied)?;
    let arguments = application.borrowed();
    let engine = engine(args.threads, args.memory)?;
    let explanation = engine.explain(&application.component, &arguments);
    let explanation = explanation.map_err(|error| application.failure(error))?;
    if !args.applied.json {
        return output::print(&format!("{}\n", explanation.to_string().trim_end()));
    }
    let cost = explanation.cost();
    output::print(&json::text(&json!({
        "signature": application.component.signature().to_string(),
        "operations": cost.operations,
        "bytes_read": cost.read,
        "bytes_written": cost.written,
        "bytes_of_temporaries": explanation.temporary_bytes(),
        "text": explanation.to_string(),
    })))
}
