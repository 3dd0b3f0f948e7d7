//! Programs on Zarr arrays: they run block by block, and the memory depends on the blocks, not on the arrays.

mod bar;
mod inputs;
mod machines;
mod outputs;
mod recut;

use crate::args::RunOptions;
use crate::failure::{Failure, of_blocks};
use crate::files::Place;
use crate::results::Results;
use crate::{output, signals};
use ijk::BigTensor;
use ijk::blocks::{Executor, Progress};
use std::sync::Arc;
use std::time::Instant;

pub use inputs::{numbered, shapes};

/// Returns true if an argument or a result is a Zarr array.
///
/// # Errors
/// If none is, but options for them are given; if the command was built without Zarr.
pub fn are_needed(
    inputs: &[Place],
    outputs: &[(usize, Place)],
    options: &RunOptions,
) -> Result<bool, Failure> {
    let places = inputs.iter().chain(outputs.iter().map(|(_, place)| place));
    let zarr = places.into_iter().find(|place| place.is_zarr());
    match (zarr, options.zarr.given()) {
        (Some(place), _) if cfg!(not(feature = "zarr")) => Err(Failure::Environment(format!(
            "{}: this `ijk` was built without Zarr",
            place.path.display()
        ))),
        (None, Some(option)) => Err(Failure::wrong(format!(
            "{option} is for Zarr arrays, but no argument or result is one, such as a.zarr"
        ))),
        (zarr, _) => Ok(zarr.is_some()),
    }
}

/// A result with its name.
pub type Named = (String, BigTensor);

/// Results that are named by numbers.
pub fn in_order(results: Vec<BigTensor>) -> Vec<Named> {
    results.into_iter().enumerate().map(|(n, result)| (n.to_string(), result)).collect()
}

/// Computes the results of arguments, which come with their names in messages; prints them, or writes them to their
/// places.
///
/// # Errors
/// If the program, the arguments, or the places of results are wrong. Nothing is written before all checks that can be
/// made.
pub fn run(
    inputs: &[(String, Place)],
    results: impl FnOnce(&[&BigTensor]) -> Result<Vec<Named>, Failure>,
    outputs: &[(usize, Place)],
    options: &RunOptions,
) -> Result<(), Failure> {
    let is_shared = options.zarr.processes.processes.is_some();
    if let Some((name, _)) = inputs.iter().find(|(_, place)| is_shared && place.is_stdin()) {
        return Err(Failure::wrong(format!(
            "{name} is read from the standard input (`-`), which --processes cannot share: give a file"
        )));
    }
    let progress = Arc::new(Progress::default());
    let cluster = machines::cluster(&options.zarr.processes)?;
    let prepared = prepare(inputs, results, outputs, options);
    let (executor, results) = machines::all_prepared(cluster.as_ref(), prepared)?;
    let (names, results): (Vec<String>, Vec<BigTensor>) = results.into_iter().unzip();
    let executor = executor.observed(Arc::clone(&progress));
    let executor = match &cluster {
        Some(cluster) => executor.cluster(Arc::clone(cluster)),
        None => executor,
    };
    let outputs::SplitOutputs { collected, stored } = outputs::split_outputs(&results, outputs)?;
    if cluster.as_ref().is_none_or(|cluster| cluster.process() == 0) {
        recut::print(&results);
    }
    let arrays = stored.iter().map(|(_, place)| place.path.clone()).collect();
    let executor = executor.stop(signals::run_begins(arrays, &progress));
    let start = Instant::now();
    let mut summary = outputs::Summary::new(&progress);
    let bar = bar::bar(&progress);
    let arrays = outputs::collect(&executor, &collected, &mut summary)?;
    let executor = executor.beside(outputs::total(&collected));
    for (tensor, place) in &stored {
        outputs::save(&executor, tensor, place, options, &mut summary)?;
    }
    drop(bar);
    if cluster.is_some_and(|cluster| cluster.process() > 0) {
        // Process 0 prints the summary.
        return Ok(());
    }
    outputs::write(&arrays, &collected)?;
    let seconds = start.elapsed().as_secs_f64();
    output::message(&summary.summary(seconds));
    let outcomes = outputs::outcomes(&results, &arrays, &collected);
    let printed = Results { names: &names, outcomes: &outcomes, outputs, seconds };
    printed.print(options.json, executor.threads())
}

/// Executor and results to compute, with all that can be checked before the run.
fn prepare(
    inputs: &[(String, Place)],
    results: impl FnOnce(&[&BigTensor]) -> Result<Vec<Named>, Failure>,
    outputs: &[(usize, Place)],
    options: &RunOptions,
) -> Result<(Executor, Vec<Named>), Failure> {
    let executor = executor(options)?;
    let arguments = inputs::open(inputs, options)?;
    let results = results(&arguments.iter().collect::<Vec<_>>())?;
    let tensors: Vec<BigTensor> = results.iter().map(|(_, result)| result.clone()).collect();
    outputs::split_outputs(&tensors, outputs)?.check(&executor, options)?;
    Ok((executor, results))
}

fn executor(options: &RunOptions) -> Result<Executor, Failure> {
    // Processes of one machine share its threads.
    let shared = options.zarr.processes.processes.map(|processes| {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        (all / processes).max(1)
    });
    let threads = options.threads.or(shared).unwrap_or(0);
    let executor = Executor::with_threads(threads).map_err(of_blocks)?;
    let executor = executor.assume_finite(options.zarr.assume_finite).strict(options.strict);
    let executor = match options.memory {
        Some(bytes) => executor.memory_limit(bytes),
        None => executor,
    };
    Ok(match options.zarr.workers {
        Some(workers) => executor.workers(workers),
        None => executor,
    })
}
