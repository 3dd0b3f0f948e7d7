//! Programs in Einsum Tuple.

use super::{Memory, Subject, Work, arithmetic, measure};
use crate::args::Bench;
use crate::commands::tuples::{arrays, bindings, outputs};
use crate::failure::Failure;
use crate::source::Source;
use crate::{layout, memory};
use ijk::et::{Bindings, Program};
use ijk::{DType, Engine, Tensor};
use std::path::Path;

/// Measures a program in Einsum Tuple. Arguments that are not bound are drawn anew in every run.
///
/// # Errors
/// As for [`super::bench`].
pub fn bench(args: &Bench, engines: &[Engine]) -> Result<(), Failure> {
    if !args.applied.shape.is_empty() || args.applied.dtype.len() > 1 {
        let message = "a .et program takes --bind, --dims and --rank, no --shape and one --dtype";
        return Err(Failure::wrong(message));
    }
    let source = Source::file(Path::new(&args.applied.program))?;
    let program = source.compile_et()?;
    let outputs = outputs(&program, &args.out)?;
    super::check_places(&outputs)?;
    let arrays = arrays((&source, &program), &args.given, args.applied.dtype.first().copied())?;
    let bindings = bindings(&args.given, &arrays)?;
    let bindings = match memory::available() {
        Some(bytes) => bindings.memory(bytes),
        None => bindings,
    };
    let text = arrays
        .iter()
        .map(|(name, array)| format!("{name}: {} {}", array.dtype(), layout::shape(array.shape())));
    let arguments = text.collect::<Vec<_>>().join(", ");
    let mut subject =
        BoundTuples { source: &source, program: &program, bindings, arguments, work: NONE };
    let results = subject.results(&engines[0])?;
    let types = arrays.iter().map(|(_, array)| array).chain(&results).map(Tensor::dtype);
    subject.work = Work {
        dtype: arithmetic(types),
        operations: None,
        read: size(arrays.iter().map(|(_, array)| array)),
        written: size(results.iter()),
    };
    drop(results);
    measure(args, engines, &outputs, &mut subject)
}

const NONE: Work = Work { dtype: DType::Bool, operations: None, read: 0, written: 0 };

fn size<'a>(arrays: impl Iterator<Item = &'a Tensor>) -> u64 {
    arrays.map(|array| memory::bytes(array.dtype(), array.shape())).sum()
}

/// A program with the values that decide its extents.
struct BoundTuples<'a> {
    source: &'a Source,
    program: &'a Program,
    bindings: Bindings<'a>,
    arguments: String,
    work: Work,
}

impl Subject for BoundTuples<'_> {
    fn run(&mut self, engine: &Engine, _: Memory) -> Result<(), Failure> {
        let done = self.program.run_on(engine, &self.bindings).map(drop);
        done.map_err(|error| self.source.failure(error))
    }

    fn results(&mut self, engine: &Engine) -> Result<Vec<Tensor>, Failure> {
        let results = self.program.run_on(engine, &self.bindings);
        let results = results.map_err(|error| self.source.failure(error))?;
        Ok(results.into_iter().map(|(_, array)| array).collect())
    }

    fn reuses(&self) -> bool {
        false
    }

    fn arguments(&self) -> &str {
        &self.arguments
    }

    fn work(&self) -> Work {
        self.work
    }
}
