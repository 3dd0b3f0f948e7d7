//! `ijk run` and `ijk eval`: programs on files.

use super::blocks;
use crate::args::{Eval, Run, RunOptions};
use crate::engine::engine;
use crate::failure::Failure;
use crate::files::{self, Place};
use crate::progress::Progress;
use crate::results::{Outcome, Results};
use crate::source::Source;
use crate::{memory, names, standard};
use ijk::{BigTensor, DType, Engine, Program, Tensor, TensorView};
use std::time::Instant;

/// Runs the program of a file.
///
/// # Errors
/// If the program, its arguments or the places of its results are wrong.
pub fn run(args: &Run) -> Result<(), Failure> {
    let source = Source::file(&args.file)?;
    let program = source.compile()?;
    let inputs = names::inputs(&args.given.bind, program.arity())?;
    let outputs = names::outputs(&args.out, program.signature().outputs.len())?;
    apply(&source, &program, &inputs, &outputs, &args.options)
}

/// Evaluates an expression.
///
/// # Errors
/// As for [`run`].
pub fn eval(args: &Eval) -> Result<(), Failure> {
    let source = Source::expression(&args.expression);
    let program = source.compile()?;
    source.warn(&program.new_letters());
    let (arity, results) = (program.arity(), program.signature().outputs.len());
    check_count("arguments", arity, "files", args.inputs.len(), arity == args.inputs.len())?;
    check_count("results", results, "-o", args.out.len(), results >= args.out.len())?;
    let (inputs, outputs) = (files::places(&args.inputs)?, files::numbered(&args.out)?);
    apply(&source, &program, &inputs, &outputs, &args.options)
}

fn check_count(
    what: &str,
    expected: usize,
    given: &str,
    found: usize,
    fits: bool,
) -> Result<(), Failure> {
    if fits {
        return Ok(());
    }
    let what = if expected == 1 { what.trim_end_matches('s') } else { what };
    let given = if found == 1 { given.trim_end_matches('s') } else { given };
    let message = format!("the expression has {expected} {what}, but {found} {given} are given");
    Err(Failure::wrong(message.replace(
        &format!("{found} {given} are"),
        &match found {
            0 => format!("no {given} are"),
            1 => format!("1 {given} is"),
            n => format!("{n} {given} are"),
        },
    )))
}

fn apply(
    source: &Source,
    program: &Program,
    inputs: &[Place],
    outputs: &[(usize, Place)],
    options: &RunOptions,
) -> Result<(), Failure> {
    files::check_places(outputs)?;
    let results = program.signature().outputs.len();
    standard::check_output(outputs, standard::printed(outputs, results, options.json))?;
    if blocks::are_needed(inputs, outputs, options)? {
        let results = |arguments: &[&BigTensor]| {
            let results = program.apply_blocks(arguments);
            Ok(blocks::in_order(results.map_err(|error| source.blocks_failure(error))?))
        };
        return blocks::run(&blocks::numbered(inputs), results, outputs, options);
    }
    let engine = engine(options.threads, options.memory, options.strict)?;
    let arguments =
        inputs.iter().map(|place| load(place, options.dtype)).collect::<Result<Vec<_>, _>>()?;
    let views: Vec<TensorView<'_>> = arguments.iter().map(Tensor::view).collect();
    let typed: Vec<_> = views.iter().map(|view| (view.dtype(), view.shape())).collect();
    memory::check(&engine, program, &typed, |error| source.failure(error))?;
    let compute = || engine.apply(program, &views).map_err(|error| source.failure(error));
    let names: Vec<_> = (0..program.signature().outputs.len()).map(|n| n.to_string()).collect();
    deliver(compute, &names, outputs, &engine, options.json)
}

/// Computes results, writes those with a place, and prints the others.
pub(super) fn deliver(
    compute: impl FnOnce() -> Result<Vec<Tensor>, Failure>,
    names: &[String],
    outputs: &[(usize, Place)],
    engine: &Engine,
    json: bool,
) -> Result<(), Failure> {
    let progress = Progress::steps("computing", None);
    let start = Instant::now();
    let arrays = compute()?;
    let seconds = start.elapsed().as_secs_f64();
    drop(progress);
    files::write_all(&arrays, outputs)?;
    let outcomes: Vec<Outcome> = arrays.iter().map(Outcome::Array).collect();
    let results = Results { names, outcomes: &outcomes, outputs, seconds };
    results.print(json, engine.threads())
}

/// Reads an argument, with the requested element type.
pub(super) fn load(place: &Place, dtype: Option<DType>) -> Result<Tensor, Failure> {
    let tensor = files::read(place)?;
    match dtype {
        Some(dtype) if dtype != tensor.dtype() => tensor.cast(dtype).map_err(|error| {
            Failure::wrong(format!("{}: cannot convert: {error}", place.path.display()))
        }),
        _ => Ok(tensor),
    }
}
