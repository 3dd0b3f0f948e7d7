//! Programs on Zarr arrays: they run block by block, in as much memory as some blocks take.

mod bar;
mod inputs;
mod machines;
mod outputs;
mod recut;

use crate::args::How;
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
/// If none is, but options for them are given; if this command was built without them.
pub fn are_asked_for(
    inputs: &[Place],
    outputs: &[(usize, Place)],
    how: &How,
) -> Result<bool, Failure> {
    let places = inputs.iter().chain(outputs.iter().map(|(_, place)| place));
    let zarr = places.into_iter().find(|place| place.is_zarr());
    match (zarr, how.zarr.given()) {
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

/// Results that have numbers for names.
pub fn in_order(results: Vec<BigTensor>) -> Vec<Named> {
    results.into_iter().enumerate().map(|(n, result)| (n.to_string(), result)).collect()
}

/// Computes the results of arguments, which come with what messages call them; prints them, or writes them to
/// where they go.
///
/// # Errors
/// If anything is wrong with the program, the arguments, or where results are to go. Before everything that can
/// be checked is, nothing is written.
pub fn run(
    inputs: &[(String, Place)],
    results: impl FnOnce(&[&BigTensor]) -> Result<Vec<Named>, Failure>,
    outputs: &[(usize, Place)],
    how: &How,
) -> Result<(), Failure> {
    let progress = Arc::new(Progress::default());
    let cluster = machines::cluster(&how.zarr.processes)?;
    let prepared = prepare(inputs, results, outputs, how);
    let (executor, results) = machines::agree(cluster.as_ref(), prepared)?;
    let (names, results): (Vec<String>, Vec<BigTensor>) = results.into_iter().unzip();
    let executor = executor.observed(Arc::clone(&progress));
    let executor = match &cluster {
        Some(cluster) => executor.cluster(Arc::clone(cluster)),
        None => executor,
    };
    let outputs::Parted { collected, stored } = outputs::parted(&results, outputs)?;
    if cluster.as_ref().is_none_or(|cluster| cluster.process() == 0) {
        recut::tell(&results);
    }
    let arrays = stored.iter().map(|(_, place)| place.path.clone()).collect();
    let executor = executor.stop(signals::run_begins(arrays, &progress));
    let start = Instant::now();
    let mut told = outputs::Told::new(&progress);
    let bar = bar::bar(&progress);
    let arrays = outputs::collect(&executor, &collected, &mut told)?;
    let executor = executor.beside(outputs::total(&collected));
    for (tensor, place) in &stored {
        outputs::save(&executor, (tensor, place), how, &mut told)?;
    }
    drop(bar);
    if cluster.is_some_and(|cluster| cluster.process() > 0) {
        // The first process says what there is to say.
        return Ok(());
    }
    outputs::write(&arrays, &collected)?;
    let seconds = start.elapsed().as_secs_f64();
    output::complain(&told.summary(seconds));
    let outcomes = outputs::outcomes(&results, &arrays, &collected);
    let printed = Results { names: &names, outcomes: &outcomes, outputs, seconds };
    let threads = executor.threads();
    output::print(&if how.json { printed.as_json(threads) } else { printed.as_text() })
}

/// Executor and results to compute, with all that can be checked before the run.
fn prepare(
    inputs: &[(String, Place)],
    results: impl FnOnce(&[&BigTensor]) -> Result<Vec<Named>, Failure>,
    outputs: &[(usize, Place)],
    how: &How,
) -> Result<(Executor, Vec<Named>), Failure> {
    let executor = executor(how)?;
    let arguments = inputs::open(inputs, how)?;
    let results = results(&arguments.iter().collect::<Vec<_>>())?;
    let tensors: Vec<BigTensor> = results.iter().map(|(_, result)| result.clone()).collect();
    outputs::parted(&tensors, outputs)?.check(&executor, how)?;
    Ok((executor, results))
}

fn executor(how: &How) -> Result<Executor, Failure> {
    // Processes of one machine share its threads.
    let shared = how.zarr.processes.processes.map(|processes| {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        (all / processes).max(1)
    });
    let threads = how.threads.or(shared).unwrap_or(0);
    let executor = Executor::with_threads(threads).map_err(of_blocks)?;
    let executor = executor.assume_finite(how.zarr.assume_finite).strict(how.strict);
    let executor = match how.memory {
        Some(bytes) => executor.memory_limit(bytes),
        None => executor,
    };
    Ok(match how.zarr.workers {
        Some(workers) => executor.workers(workers),
        None => executor,
    })
}
