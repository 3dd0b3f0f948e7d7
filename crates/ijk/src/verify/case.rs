//! One case: results of the program, results of the reference, and their difference.

use super::call::{self, CallError};
use super::child::{Child, Reply};
use super::{Difference, Verifier, VerifyError, compare, kinds, oracle, rounding};
use crate::et::{Bindings, Case, Outputs, Program};
use crate::{Engine, Error};
use ijk_ir::et::{Checked, Extents, Solution};
use ijk_syntax::et::ast::{Index, Statement};
use ijk_syntax::{Diagnostic, et::ast::Call};
use ijk_tensor::{Tensor, TensorView};

/// A row of the table of a verification.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The extents of every eintup, in the order of the program.
    pub dims: Vec<(String, Vec<u64>)>,
    /// The outcome.
    pub outcome: Outcome,
}

/// Outcome of a case.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// All results agree.
    Passed {
        /// The greatest error relative to its bound: 0 to 1.
        error: f64,
    },
    /// A result differs.
    Differs {
        /// Name of the result.
        output: String,
        /// The difference.
        difference: Difference,
    },
    /// The call raised an exception: its last line.
    Raised(String),
    /// The program has no result for these extents and data.
    Refused(Error),
}

impl Outcome {
    /// True if all results agree.
    pub fn passed(&self) -> bool {
        matches!(self, Self::Passed { .. })
    }
}

pub(super) fn verify(
    verifier: &mut Verifier,
    case: Result<Case, Error>,
) -> Result<Row, VerifyError> {
    let case = match case {
        Ok(case) => case,
        Err(error) => return Ok(Row { dims: Vec::new(), outcome: Outcome::Refused(error) }),
    };
    let Verifier { program, engine, child, memory } = verifier;
    let subject = Subject { program, engine, case: &case, memory: *memory };
    let outcome = match (&program.checked().program.call, child) {
        (Some(call), Some(child)) => subject.against(call, child)?,
        _ => subject.against_oracle(),
    };
    let dims = case.shapes().iter().map(|(name, dims)| (name.into(), dims.to_vec())).collect();
    Ok(Row { dims, outcome })
}

/// A program with ranks, extents and seed.
struct Subject<'a> {
    program: &'a Program,
    engine: &'a Engine,
    case: &'a Case,
    memory: Option<u64>,
}

impl Subject<'_> {
    /// Compares the program with a call.
    fn against(&self, call: &Call, child: &mut Child) -> Result<Outcome, VerifyError> {
        let taken = call::arrays(call);
        let ours = match self.run(&taken) {
            Ok(ours) => ours,
            Err(error) => return Ok(Outcome::Refused(error)),
        };
        let request = match self.request(call, &taken, &ours) {
            Ok(request) => request,
            Err(error) => return Ok(Outcome::Refused(error)),
        };
        let theirs = match child.call(request, self.outputs().len())? {
            Reply::Results(theirs) => theirs,
            Reply::Failed(message) => return Ok(Outcome::Raised(message)),
        };
        Ok(self.compare(&ours, &theirs).unwrap_or_else(Outcome::Refused))
    }

    /// Compares the program with the oracle.
    fn against_oracle(&self) -> Outcome {
        let result = self
            .run(&[])
            .and_then(|ours| oracle::compare(self.program, self.case, &self.outputs(), &ours));
        result.unwrap_or_else(Outcome::Refused)
    }

    /// Runs the program and keeps some arrays besides its results.
    fn run(&self, keep: &[&str]) -> Result<Outputs, Error> {
        let bindings = keep.iter().fold(self.bindings(), |bindings, name| bindings.keep(*name));
        self.case.run_on(self.engine, bindings)
    }

    /// Bindings of every run of the case: the memory limit.
    fn bindings(&self) -> Bindings<'static> {
        self.memory.map_or(Bindings::new(), |bytes| Bindings::new().memory(bytes))
    }

    fn request(
        &self,
        call: &Call,
        taken: &[&str],
        ours: &Outputs,
    ) -> Result<super::frame::Message, Error> {
        let views: Vec<(&str, TensorView<'_>)> =
            taken.iter().filter_map(|name| Some((*name, ours.get(name)?.view()))).collect();
        let extents =
            Dims { checked: self.program.checked(), solution: self.case.shapes().solution() };
        call::request(call, self.outputs().len(), &views, &extents).map_err(|error| match error {
            CallError::Argument(span, message) => self.wrong(Diagnostic::error(span, message)),
            CallError::Diagnostic(diagnostic) => self.wrong(*diagnostic),
            CallError::Array(problem) => {
                self.wrong(Diagnostic::error(call.span, problem.to_string()))
            }
        })
    }

    #[cold]
    fn wrong(&self, diagnostic: Diagnostic) -> Error {
        Error::program(self.program.source(), vec![diagnostic])
    }

    /// The names of the results.
    fn outputs(&self) -> Vec<&str> {
        let checked = self.program.checked();
        checked.outputs.iter().map(|&n| &checked.arrays[n].name[..]).collect()
    }

    fn compare(&self, ours: &Outputs, theirs: &[Tensor]) -> Result<Outcome, Error> {
        let names = self.outputs();
        let bounds = self.bounds(&names)?;
        let single = kinds::has_f32(&self.program.checked().program);
        let epsilon = if single { f32::EPSILON.into() } else { 0.0 };
        let mut greatest: f64 = 0.0;
        for ((name, theirs), bound) in names.iter().zip(theirs).zip(&bounds) {
            let ours = &ours[*name];
            match compare::compare(ours, theirs, bound.as_ref(), epsilon)? {
                Ok(error) => greatest = greatest.max(error),
                Err(difference) => {
                    return Ok(Outcome::Differs { output: name.to_string(), difference });
                }
            }
        }
        Ok(Outcome::Passed { error: greatest })
    }

    /// For every output the bounds of its rounding errors, in units of the machine epsilon.
    fn bounds(&self, outputs: &[&str]) -> Result<Vec<Option<Tensor>>, Error> {
        if !self.program.checked().program.loops.is_empty() {
            return oracle::bounds(self.program, self.case, outputs);
        }
        let shapes = self.case.shapes();
        let extents =
            |name: &str| Some(shapes.dims(name)?.iter().map(|&n| n as f64).product::<f64>());
        let terms = |statement: &Statement| rounding::terms(statement, &extents);
        let program = &self.program.checked().program;
        let (bounded, names) = rounding::bounded(program, outputs, &terms);
        if names.iter().all(Option::is_none) {
            return Ok(names.iter().map(|_| None).collect());
        }
        let mut bindings = self.bindings().seed(self.case.seed()).points(u64::MAX);
        for (name, dims) in shapes.iter() {
            bindings = bindings.dims(name, dims);
        }
        let bounded = Program::parse(&bounded.to_string())?;
        let mut bounds = bounded.run_on(self.engine, bindings)?;
        Ok(names.iter().map(|name| name.as_ref().and_then(|name| bounds.take(name))).collect())
    }
}

/// The extents of index expressions in a case.
struct Dims<'a> {
    checked: &'a Checked,
    solution: &'a Solution,
}

impl call::Extents for Dims<'_> {
    fn dims(&self, of: &[Index]) -> Result<Vec<i64>, CallError> {
        let dims = Extents::new(self.checked, self.solution).all_dims(of);
        let dims = dims.map_err(|diagnostic| CallError::Diagnostic(Box::new(diagnostic)))?;
        Ok(dims.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect())
    }

    fn rank(&self, of: &[Index]) -> i64 {
        Extents::new(self.checked, self.solution).total_rank(of).into()
    }
}
