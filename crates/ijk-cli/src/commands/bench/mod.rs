//! `ijk bench`: measures the speed of a program.

mod i;
mod measure;
mod paced;
mod report;
mod tuples;

use crate::args::Bench;
use crate::engine::engine;
use crate::failure::Failure;
use crate::files::{self, Place};
use crate::progress::Progress;
use crate::standard::{self, Printed};
use crate::{memory, output};
use ijk::probe::{Cache, Probed};
use ijk::{DType, Engine, Tensor};
use report::{Report, Setting};
use std::path::Path;

/// Memory of a run's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    /// The memory of the previous run's results.
    Reused,
    /// New arrays.
    Fresh,
}

impl Memory {
    fn name(self) -> &'static str {
        match self {
            Memory::Reused => "reused",
            Memory::Fresh => "fresh",
        }
    }
}

/// Operations and bytes moved of a run, at least.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Work {
    /// The type of its numbers.
    dtype: DType,
    /// Scalar operations, where they are known.
    operations: Option<u64>,
    /// Bytes of the arguments.
    read: u64,
    /// Bytes of the results.
    written: u64,
}

/// A program with its arguments.
trait Subject {
    /// Runs it; results are dropped.
    fn run(&mut self, engine: &Engine, memory: Memory) -> Result<(), Failure>;
    /// Runs it for its results.
    fn results(&mut self, engine: &Engine) -> Result<Vec<Tensor>, Failure>;
    /// Returns true if runs can reuse the results' memory.
    fn reuses(&self) -> bool;
    /// Arguments as text.
    fn arguments(&self) -> &str;
    /// See [`Work`].
    fn work(&self) -> Work;
}

/// Runs a program on made-up or given arguments and prints times and rates.
///
/// # Errors
/// If the program is wrong, does not fit its arguments, or fails.
pub fn bench(args: &Bench) -> Result<(), Failure> {
    let engines = engines(&args.threads, args.memory)?;
    match super::is_et(Path::new(&args.applied.program)) {
        true => tuples::bench(args, &engines),
        false => i::bench(args, &engines),
    }
}

/// One engine for each number of threads; one with all threads, if none is given.
fn engines(threads: &[usize], memory: Option<u64>) -> Result<Vec<Engine>, Failure> {
    match threads {
        [] => Ok(vec![engine(None, memory, false)?]),
        _ => threads.iter().map(|&threads| engine(Some(threads), memory, false)).collect(),
    }
}

/// Bytes of the arrays by which the machine is measured, with a margin.
const ROOM: u64 = 1 << 30;

/// Rates of the machine: read from the cache, or measured now.
fn probed(args: &Bench, engine: &Engine) -> Probed {
    let cache = Cache::of_user();
    match memory::fits(ROOM) {
        Err(_) => cache.known(engine),
        Ok(()) if args.probe => cache.measure(engine),
        Ok(()) => cache.probe(engine),
    }
}

/// Type of the arithmetic: that of the first array of numbers.
fn arithmetic(types: impl IntoIterator<Item = DType>) -> DType {
    types.into_iter().find(|&dtype| dtype != DType::Bool).unwrap_or(DType::Bool)
}

/// Checks the places of results, beside which measurements are printed.
fn check_places(outputs: &[(usize, Place)]) -> Result<(), Failure> {
    files::check_places(outputs)?;
    let printed = Printed { what: "the measurements".into(), remedy: "name a file" };
    standard::check_output(outputs, Some(printed))
}

/// Measures a subject by the options of the command line.
fn measure(
    args: &Bench,
    engines: &[Engine],
    outputs: &[(usize, Place)],
    subject: &mut dyn Subject,
) -> Result<(), Failure> {
    if !outputs.is_empty() {
        files::write_all(&subject.results(&engines[0])?, outputs)?;
    }
    let probed = probed(args, &engines[0]);
    if args.paced {
        return paced::serve(&engines[0], &probed, subject);
    }
    let memory = match args.fresh || !subject.reuses() {
        true => Memory::Fresh,
        false => Memory::Reused,
    };
    let progress = Progress::steps("measuring", args.reps.map(|reps| reps as u64));
    let times = measure::in_turn(engines.len(), args.reps, &progress, |n| {
        subject.run(&engines[n], memory)
    })?;
    drop(progress);
    for (engine, times) in engines.iter().zip(times) {
        let setting = Setting { engine, work: subject.work(), probed: &probed };
        let report = Report { setting, memory, times };
        output::print(&match args.applied.json {
            true => report.as_json(),
            false => report.as_text(subject.arguments()),
        })?;
    }
    Ok(())
}
