//! `ijk explain --machines`: simulation of block plans.

use crate::applied::Application;
use crate::args::Explain;
use crate::failure::Failure;
use crate::{json, output};
use ijk::blocks::{BigTensor, BlockPlan, Error, Machines, Outline, Simulated, Simulation, Spread};
use serde_json::{Value, json};

/// Prints what each result costs.
///
/// # Errors
/// If the program is wrong, does not fit the shapes, or cannot run in blocks.
pub fn explain(args: &Explain, machines: usize) -> Result<(), Failure> {
    let application = Application::new(&args.applied)?;
    let arguments = outlines(args, &application)?;
    let arguments: Vec<&BigTensor> = arguments.iter().collect();
    // Messages about shapes name the program as the rest of the command does.
    let fits = application.program.results(&application.borrowed());
    fits.map_err(|error| application.failure(error))?;
    let results = application.program.apply_blocks(&arguments);
    let results = results.map_err(|error| application.source.blocks_failure(error))?;
    let on = on(args, machines);
    let simulations: Result<Vec<Simulation>, Error> =
        results.iter().map(|result| BlockPlan::new(result).simulate(&on)).collect();
    let simulations = simulations.map_err(wrong)?;
    if args.applied.json {
        let results: Vec<Value> = simulations.iter().map(simulation).collect();
        return output::print(&json::text(&json!({
            "machines": on.machines,
            "workers": on.workers,
            "memory": on.memory,
            "operations_per_second": on.operations,
            "network_bytes_per_second": on.network,
            "disk_bytes_per_second": on.disk,
            "results": results,
        })));
    }
    let texts: Vec<String> = simulations.iter().map(|all| format!("{all}\n")).collect();
    output::print(&texts.join("\n"))
}

fn wrong(error: Error) -> Failure {
    Failure::wrong(error.to_string())
}

/// Arguments of the given shapes and blocks.
fn outlines(args: &Explain, application: &Application) -> Result<Vec<BigTensor>, Failure> {
    let (blocks, arguments) = (&args.simulate.block, &application.arguments);
    if blocks.is_empty() && !arguments.is_empty() {
        let message =
            "no --block is given: add one for each argument, or --block 4096 for all axes of all";
        return Err(Failure::wrong(message));
    }
    if blocks.len() > arguments.len() {
        let (given, taken) = (blocks.len(), arguments.len());
        return Err(Failure::wrong(format!(
            "--block is given {given} times for {taken} arguments"
        )));
    }
    let all = arguments.iter().enumerate().map(|(n, (dtype, shape))| {
        let block = &blocks[n.min(blocks.len() - 1)];
        let cut = block.of(shape.len());
        let cut = cut.map_err(|why| Failure::wrong(format!("argument {}: {why}", n + 1)))?;
        let outline = Outline::new(format!("argument {}", n + 1), &shape[..], cut, *dtype);
        BigTensor::from_source(outline).map_err(wrong)
    });
    all.collect()
}

fn on(args: &Explain, machines: usize) -> Machines {
    let (simulate, typical) = (&args.simulate, Machines::default());
    let giga = |rate: Option<f64>, typical: f64| rate.map_or(typical, |rate| rate * 1e9);
    Machines {
        machines,
        workers: simulate.workers.or(args.threads).unwrap_or(typical.workers),
        memory: args.memory,
        operations: giga(simulate.gflops, typical.operations),
        network: giga(simulate.bandwidth, typical.network),
        disk: giga(simulate.disk, typical.disk),
    }
}

fn simulation(of: &Simulation) -> Value {
    let stages: Vec<Value> = of.stages.iter().map(stage).collect();
    json!({ "seconds": of.seconds(), "memory": of.memory(), "stages": stages })
}

fn stage(of: &Simulated) -> Value {
    let spread = |of: Spread| json!({ "most": of.most, "mean": of.mean });
    let bound = of.bound.map(|bound| {
        json!({ "by_memory": bound.by_memory, "by_work": bound.by_work, "ratio": bound.ratio })
    });
    json!({
        "stage": of.stage,
        "grid": of.grid.map(|grid| json!({ "machines": grid.processes, "workers": grid.workers })),
        "rounds": of.rounds,
        "panels": of.panels,
        "moved": spread(of.moved),
        "exchanged": of.exchanged,
        "read": spread(of.read),
        "written": spread(of.written),
        "memory": spread(of.memory),
        "operations": of.operations,
        "compute_seconds": of.compute_seconds,
        "network_seconds": of.network_seconds,
        "disk_seconds": of.disk_seconds,
        "seconds": of.seconds,
        "bound": bound,
    })
}
