//! Programs in i.

use super::{Memory, Subject, Work, arithmetic, measure};
use crate::applied::{Application, check_types};
use crate::args::Bench;
use crate::commands::apply::load;
use crate::failure::Failure;
use crate::source::Source;
use crate::{layout, memory, names};
use ijk::{DType, Engine, Tensor, TensorError, TensorView, TensorViewMut};

/// Measures a program in i.
///
/// # Errors
/// As for [`super::bench`].
pub fn bench(args: &Bench, engines: &[Engine]) -> Result<(), Failure> {
    let (application, inputs) = application(args)?;
    let outputs = names::outputs(&args.out, application.program.signature().outputs.len())?;
    super::check_places(&outputs)?;
    let arguments = application.borrowed();
    let fail = |error| application.failure(error);
    let results = application.program.results(&arguments).map_err(fail)?;
    memory::check(&engines[0], &application.program, &arguments, fail)?;
    let explanation = engines[0].explain(&application.program, &arguments).map_err(fail)?;
    let inputs = inputs.map_or_else(|| samples(&arguments), Ok)?;
    let memory: Result<Vec<_>, _> =
        results.iter().map(|(dtype, shape)| Tensor::zeros(*dtype, shape)).collect();
    let mut memory = memory?;
    let size = |arrays: &[Tensor]| arrays.iter().map(|a| memory::bytes(a.dtype(), a.shape())).sum();
    let types = arguments.iter().map(|a| a.0).chain(results.iter().map(|r| r.0));
    let work = Work {
        dtype: arithmetic(types),
        operations: Some(explanation.cost().operations),
        read: size(&inputs),
        written: size(&memory),
    };
    let text = arguments.iter().map(|(t, s)| format!("{t} {}", layout::shape(s)));
    let mut subject = BoundProgram {
        application: &application,
        inputs: inputs.iter().map(Tensor::view).collect(),
        outputs: memory.iter_mut().map(Tensor::view_mut).collect(),
        work,
        arguments: text.collect::<Vec<_>>().join(", "),
    };
    measure(args, engines, &outputs, &mut subject)
}

/// The program with the types and shapes of its arguments; the arguments, too, if they are bound.
fn application(args: &Bench) -> Result<(Application, Option<Vec<Tensor>>), Failure> {
    let given = &args.given;
    if !given.rank.is_empty() || !given.dims.is_empty() || given.seed.is_some() {
        let message = "--rank, --dims and --seed are for .et programs; this one takes --shape";
        return Err(Failure::wrong(message));
    }
    if given.bind.is_empty() {
        return Ok((Application::new(&args.applied)?, None));
    }
    if !args.applied.shape.is_empty() {
        return Err(Failure::wrong("arguments are given by --shape or by --bind, not by both"));
    }
    let source = Source::either(&args.applied.program)?;
    let program = source.compile()?;
    let places = names::inputs(&given.bind, program.arity())?;
    let types = &args.applied.dtype;
    check_types(program.arity(), types)?;
    let dtype = |n: usize| types.get(n).or(types.last()).copied();
    let inputs = places.iter().enumerate().map(|(n, place)| load(place, dtype(n)));
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let arguments = inputs.iter().map(|array| (array.dtype(), array.shape().to_vec())).collect();
    Ok((Application { source, program, arguments }, Some(inputs)))
}

/// A program with arrays to read and to write.
struct BoundProgram<'a> {
    application: &'a Application,
    inputs: Vec<TensorView<'a>>,
    outputs: Vec<TensorViewMut<'a>>,
    work: Work,
    arguments: String,
}

impl Subject for BoundProgram<'_> {
    fn run(&mut self, engine: &Engine, memory: Memory) -> Result<(), Failure> {
        let program = &self.application.program;
        let done = match memory {
            Memory::Reused => engine.apply_into(program, &self.inputs, &mut self.outputs),
            Memory::Fresh => engine.apply(program, &self.inputs).map(drop),
        };
        done.map_err(|error| self.application.failure(error))
    }

    fn results(&mut self, engine: &Engine) -> Result<Vec<Tensor>, Failure> {
        let results = engine.apply(&self.application.program, &self.inputs);
        results.map_err(|error| self.application.failure(error))
    }

    fn reuses(&self) -> bool {
        true
    }

    fn arguments(&self) -> &str {
        &self.arguments
    }

    fn work(&self) -> Work {
        self.work
    }
}

/// Arguments of these types and shapes.
fn samples(arguments: &[(DType, &[usize])]) -> Result<Vec<Tensor>, Failure> {
    // The numbers are made as f64 and then converted.
    let made = arguments.iter().map(|(dtype, shape)| {
        memory::bytes(*dtype, shape).saturating_add(memory::bytes(DType::F64, shape))
    });
    memory::fits(made.fold(0, u64::saturating_add))?;
    let samples: Result<Vec<_>, _> =
        arguments.iter().map(|(dtype, shape)| sample(*dtype, shape)).collect();
    Ok(samples?)
}

/// An array of random numbers from 1/2 to 1 (integers: from 1 to 8; never 0, so that they can be divisors).
fn sample(dtype: DType, shape: &[usize]) -> Result<Tensor, TensorError> {
    let mut reals = Tensor::zeros(DType::F64, shape)?;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let (from, scale) = if dtype.is_integer() { (1.0, 8.0) } else { (0.5, 0.5) };
    for x in reals.as_mut_slice::<f64>().unwrap_or_default() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *x = from + scale * (state >> 40) as f64 / f64::from(1 << 24);
    }
    if dtype == DType::F64 { Ok(reals) } else { reals.cast(dtype) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_in_range() {
        let reals = sample(DType::F32, &[1000]).unwrap();
        assert!(reals.as_slice::<f32>().unwrap().iter().all(|x| (0.5..=1.0).contains(x)));
        let integers = sample(DType::I64, &[1000]).unwrap();
        assert!(integers.as_slice::<i64>().unwrap().iter().all(|x| (1..=8).contains(x)));
    }
}
