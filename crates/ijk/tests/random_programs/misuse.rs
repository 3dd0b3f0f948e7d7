//! Wrong programs and wrong calls fail with errors, and change no output.

use super::results;
use ijk::{Engine, Error, Program};
use ijk_oracle::harness::Lowered;
use ijk_oracle::random::{Case, Input, Placed, Rng, View, ViewMut};
use ijk_types::DType;

/// Kinds of errors of wrong programs, arguments, outputs and positions. [`Error::Tensor`] concerns
/// arrays before they are arguments; `ijk-tensor` tests it.
pub const KINDS: [&str; 6] = ["Program", "Plan", "Run", "OutputCount", "Output", "Position"];

pub fn kind(error: &Error) -> &'static str {
    match error {
        Error::Program(_) => "Program",
        Error::Plan(_) => "Plan",
        Error::Run(_) => "Run",
        Error::OutputCount { .. } => "OutputCount",
        Error::Output { .. } => "Output",
        Error::Position { .. } => "Position",
        _ => "another",
    }
}

fn apply(engine: &Engine, program: &Program, inputs: &[Input]) -> Result<(), Error> {
    let placed: Vec<Placed> = inputs.iter().map(Placed::input).collect();
    let views: Vec<View> = placed.iter().map(Placed::view).collect();
    let views: Vec<_> = views.iter().map(View::tensor).collect();
    engine.apply(program, &views).map(drop)
}

/// The engine's error for a case without a value.
pub fn refusal(engine: &Engine, case: &Case) -> Result<(), Error> {
    apply(engine, &ijk::i(&case.source)?, &case.inputs)
}

/// The error for a program that is used wrongly, in one of several ways.
pub fn wrong_use(rng: &mut Rng, lowered: &Lowered, inputs: &[Input]) -> Result<(), Error> {
    let program = ijk::i(&lowered.source)?;
    let signatures: Vec<(DType, &[usize])> =
        inputs.iter().map(|input| (input.value.dtype, &input.value.shape[..])).collect();
    match rng.below(5) {
        0 => apply(&Engine::builder().threads(1).memory_limit(0).build(), &program, inputs),
        1 => program.dependencies(&signatures, lowered.program.outputs.len(), &[]).map(drop),
        2 => program.reaches(&signatures, inputs.len(), &[]).map(drop),
        way => wrong_outputs(&program, lowered, inputs, way == 3),
    }
}

/// One output too few, or one of another shape.
fn wrong_outputs(
    program: &Program,
    lowered: &Lowered,
    inputs: &[Input],
    fewer: bool,
) -> Result<(), Error> {
    let placed: Vec<Placed> = inputs.iter().map(Placed::input).collect();
    let views: Vec<View> = placed.iter().map(Placed::view).collect();
    let views: Vec<_> = views.iter().map(View::tensor).collect();
    let mut outputs = results(lowered);
    let last = outputs.pop().expect("programs have results");
    if !fewer {
        let mut value = last.to_value();
        value.shape.push(1);
        let rank = value.shape.len();
        outputs.push(Placed::value(&value, &ijk_oracle::random::Layout::contiguous(rank)));
    }
    let before: Vec<_> = outputs.iter().map(Placed::all_memory).collect();
    let mut mutable: Vec<ViewMut> = outputs.iter_mut().map(Placed::view_mut).collect();
    let mut mutable: Vec<_> = mutable.iter_mut().map(ViewMut::tensor).collect();
    let run = Engine::builder().threads(1).build().apply_into(program, &views, &mut mutable);
    drop(mutable);
    let after: Vec<_> = outputs.iter().map(Placed::all_memory).collect();
    assert_eq!(before, after, "outputs that do not fit are left alone");
    run
}
