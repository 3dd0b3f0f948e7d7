//! `ijk run` and `ijk check` of Einsum Tuple programs.

use super::apply::load;
use super::blocks;
use crate::applied::check_types;
use crate::args::{Applied, Check, Given, Run};
use crate::engine::engine;
use crate::failure::Failure;
use crate::files::{self, Place};
use crate::progress::Progress;
use crate::results::{Outcome, Results};
use crate::source::Source;
use crate::{json, memory, names, output, standard};
use ijk::et::{Bindings, BlocksError, Program, Source as Origin};
use ijk::{BigTensor, DType, Tensor};
use serde_json::json;
use std::time::Instant;

/// Runs the program of a file.
///
/// # Errors
/// If the program, the arrays bound to it, or the places of its results are wrong.
pub fn run(args: &Run) -> Result<(), Failure> {
    let source = Source::file(&args.file)?;
    let program = source.compile_et()?;
    let outputs = outputs(&program, &args.out)?;
    files::check_places(&outputs)?;
    let results = program.signature().outputs().count();
    standard::check_output(&outputs, standard::printed(&outputs, results, args.options.json))?;
    let inputs = places((&source, &program), &args.given)?;
    let of: Vec<Place> = inputs.iter().map(|(_, place)| place.clone()).collect();
    if blocks::are_needed(&of, &outputs, &args.options)? {
        return run_in_blocks(&source, &program, &inputs, &outputs, args);
    }
    let engine = engine(args.options.threads, args.options.memory, args.options.strict)?;
    let arrays = arrays((&source, &program), &args.given, args.options.dtype)?;
    let bindings = bindings(&args.given, &arrays)?;
    let bindings = match memory::available() {
        Some(bytes) => bindings.memory(bytes),
        None => bindings,
    };
    let progress = Progress::steps("computing", None);
    let start = Instant::now();
    let results = program.run_on(&engine, bindings).map_err(|error| source.failure(error))?;
    let seconds = start.elapsed().as_secs_f64();
    drop(progress);
    source.warn(results.warnings());
    let (names, arrays): (Vec<_>, Vec<_>) = results.into_iter().unzip();
    files::write_all(&arrays, &outputs)?;
    let outcomes: Vec<Outcome> = arrays.iter().map(Outcome::Array).collect();
    let results = Results { names: &names, outcomes: &outcomes, outputs: &outputs, seconds };
    results.print(args.options.json, engine.threads())
}

/// Runs a program with arguments or results that are Zarr arrays.
fn run_in_blocks(
    source: &Source,
    program: &Program,
    inputs: &[(String, Place)],
    outputs: &[(usize, Place)],
    args: &Run,
) -> Result<(), Failure> {
    let choices = bindings(&args.given, &[])?;
    let results = |arguments: &[&BigTensor]| {
        let names = inputs.iter().map(|(name, _)| &name[..]);
        let named: Vec<(&str, &BigTensor)> = names.zip(arguments.iter().copied()).collect();
        program.apply_blocks(&named, &choices).map_err(|error| match error {
            BlocksError::Program(error) => source.failure(error),
            BlocksError::Blocks(error) => source.blocks_failure(error),
        })
    };
    let shown = inputs.iter().map(|(name, place)| (format!("input `{name}`"), place.clone()));
    blocks::run(&shown.collect::<Vec<_>>(), results, outputs, &args.options)
}

/// Prints the inputs and outputs of a program, its equal ranks, and the derivation of extents.
///
/// # Errors
/// If the program is wrong.
pub fn check(args: &Check) -> Result<(), Failure> {
    let source = Source::file(args.program.as_ref())?;
    let program = source.compile_et()?;
    output::print(&if args.json { as_json(&program) } else { program.checked().to_string() })
}

/// Places of results: a member of an archive has the result's name.
pub(super) fn outputs(
    program: &Program,
    options: &[String],
) -> Result<Vec<(usize, Place)>, Failure> {
    let known: Vec<_> = program.signature().outputs().map(str::to_string).collect();
    let mut outputs = names::named(options, "--out", "output", &known)?;
    for (n, place) in &mut outputs {
        if place.is_archive() {
            place.member.get_or_insert_with(|| known[*n].clone());
        }
    }
    Ok(outputs)
}

/// The arrays of `--bind` options with their names.
pub(super) fn arrays(
    program: (&Source, &Program),
    given: &Given,
    dtype: Option<DType>,
) -> Result<Vec<(String, Tensor)>, Failure> {
    let places = places(program, given)?.into_iter();
    places.map(|(name, place)| Ok((name, load(&place, dtype)?))).collect()
}

/// Values of the command line, with the shapes of `--shape` for the inputs that `--bind` leaves, in order.
///
/// # Errors
/// If there are more or fewer shapes.
pub(super) fn outlined<'a>(
    program: &Program,
    applied: &Applied,
    given: &Given,
    arrays: &'a [(String, Tensor)],
) -> Result<Bindings<'a>, Failure> {
    let signature = program.signature();
    let is_bound = |name: &str| arrays.iter().any(|(bound, _)| bound == name);
    let open = signature.arrays.iter().filter(|a| a.source == Origin::Input && !is_bound(&a.name));
    let open: Vec<&str> = open.map(|array| &array.name[..]).collect();
    let (inputs, shapes) = (open.len(), applied.shape.len());
    if inputs != shapes {
        let names = if open.is_empty() { "none".into() } else { open.join(", ") };
        let message = format!(
            "--shape is given {shapes} times, but {inputs} inputs have no shape yet: {names}"
        );
        return Err(Failure::wrong(message));
    }
    check_types(inputs, &applied.dtype)?;
    let mut bindings = bindings(given, arrays)?;
    for (n, (name, shape)) in open.into_iter().zip(&applied.shape).enumerate() {
        let dtype = applied.dtype.get(n).or(applied.dtype.last()).copied().unwrap_or(DType::F64);
        let mut sizes = shape.0.iter().filter(|&&extent| extent > 0);
        if sizes
            .try_fold(16usize, |n, &extent| n.checked_mul(extent))
            .is_none_or(|n| n > isize::MAX as usize)
        {
            return Err(Failure::wrong(format!(
                "input `{name}` has more elements than can be counted"
            )));
        }
        bindings = bindings.outline(name, dtype, &shape.0);
    }
    Ok(bindings)
}

/// The files of `--bind` options with the names that they are bound to.
fn places(
    (source, program): (&Source, &Program),
    given: &Given,
) -> Result<Vec<(String, Place)>, Failure> {
    let names = given.bind.iter().filter_map(|option| Some(option.split_once('=')?.0));
    for tuple in names.filter(|name| program.checked().tuple(name).is_some()) {
        program.check_input(tuple).map_err(|error| source.failure(error))?;
    }
    let known: Vec<_> = program.signature().bindable().map(str::to_string).collect();
    let mut places: Vec<(String, Place)> = Vec::new();
    for (n, place) in names::named(&given.bind, "--bind", "input", &known)? {
        if places.iter().any(|(name, _)| *name == known[n]) {
            return Err(Failure::wrong(format!("input `{}` is bound twice", known[n])));
        }
        places.push((known[n].clone(), place));
    }
    standard::check_inputs(places.iter().map(|(_, place)| place))?;
    Ok(places)
}

/// Values of the command line.
pub(super) fn bindings<'a>(
    given: &Given,
    arrays: &'a [(String, Tensor)],
) -> Result<Bindings<'a>, Failure> {
    let mut bindings = given.seed.map_or(Bindings::new(), |seed| Bindings::new().seed(seed));
    for (name, array) in arrays {
        bindings = bindings.bind(name, array.view());
    }
    let mut decided = Vec::new();
    for option in &given.rank {
        let (tuple, rank) = decision("--rank", option, "ipos=2", &mut decided)?;
        let rank = rank.trim().parse().map_err(|_| misread("--rank", option, "ipos=2"))?;
        bindings = bindings.rank(tuple, rank);
    }
    decided.clear();
    for option in &given.dims {
        let (tuple, dims) = decision("--dims", option, "stride=2,2", &mut decided)?;
        let dims = extents(dims).ok_or_else(|| misread("--dims", option, "stride=2,2"))?;
        bindings = bindings.dims(tuple, dims);
    }
    Ok(bindings)
}

/// Splits `NAME=VALUE`; refuses names that were given before.
fn decision<'a>(
    flag: &str,
    option: &'a str,
    example: &str,
    decided: &mut Vec<&'a str>,
) -> Result<(&'a str, &'a str), Failure> {
    let parts = option.split_once('=').ok_or_else(|| misread(flag, option, example))?;
    if decided.contains(&parts.0) {
        return Err(Failure::wrong(format!("{flag} {option}: {flag} decides `{}` twice", parts.0)));
    }
    decided.push(parts.0);
    Ok(parts)
}

#[cold]
fn misread(flag: &str, option: &str, example: &str) -> Failure {
    Failure::wrong(format!("{flag} {option}: expected an eintup and numbers, such as {example}"))
}

/// `2,3`; nothing or `.` where the rank is 0.
fn extents(text: &str) -> Option<Vec<u64>> {
    match text.trim() {
        "" | "." => Some(Vec::new()),
        text => text.split(',').map(|n| n.trim().parse().ok()).collect(),
    }
}

fn as_json(program: &Program) -> String {
    let signature = program.signature();
    let outputs: Vec<_> = signature.outputs().collect();
    let bindable: Vec<_> = signature.bindable().collect();
    let arrays = signature.arrays.iter().map(|array| {
        json!({
            "name": array.name,
            "places": array.places,
            "bindable": bindable.contains(&&array.name[..]),
        })
    });
    let arrays: Vec<_> = arrays.collect();
    json::text(&json!({ "arrays": arrays, "outputs": outputs }))
}
