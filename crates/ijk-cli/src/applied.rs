//! A program with the types and shapes of its arguments, as `explain`, `deps` and `bench` take it.

use crate::args::{Applied, Given};
use crate::failure::Failure;
use crate::source::Source;
use ijk::{DType, Error, Program, Signature};

/// A checked program and its arguments.
pub struct Application {
    /// For messages.
    pub source: Source,
    /// The program.
    pub program: Program,
    /// Element types and shapes of the arguments.
    pub arguments: Vec<(DType, Vec<usize>)>,
}

impl Application {
    /// From the command line.
    ///
    /// # Errors
    /// If the program is wrong, or shapes or types are given for another number of arguments.
    pub fn new(args: &Applied) -> Result<Self, Failure> {
        let source = Source::either(&args.program)?;
        let program = source.compile()?;
        check_types(program.arity(), &args.dtype)?;
        let (arity, shapes) = (program.arity(), args.shape.len());
        if arity != shapes {
            let arguments = if arity == 1 { "argument" } else { "arguments" };
            let given = match shapes {
                0 => "no --shape is given: add one for each, such as --shape 8x8".into(),
                1 => "--shape is given 1 time".into(),
                _ => format!("--shape is given {shapes} times"),
            };
            let message = format!("the program has {arity} {arguments}, but {given}");
            return Err(Failure::wrong(message));
        }
        let shapes: Vec<_> = args.shape.iter().map(|shape| shape.0.clone()).collect();
        let types = match &args.dtype[..] {
            [] => default_types(program.signature()),
            [first @ .., last] => {
                first.iter().copied().chain(std::iter::repeat(*last)).take(arity).collect()
            }
        };
        let arguments = types.into_iter().zip(shapes).collect();
        Ok(Self { source, program, arguments })
    }

    /// Report of an error in the program or its application. Suggests another `--dtype` where the program accepts the
    /// shapes but not the types.
    pub fn failure(&self, error: Error) -> Failure {
        let types = default_types(self.program.signature());
        let shapes = self.arguments.iter().map(|(_, shape)| &shape[..]);
        let fitting: Vec<_> = types.into_iter().zip(shapes).collect();
        let unfit = matches!(error, Error::Program(_)) && self.program.results(&fitting).is_ok();
        let mut failure = self.source.failure(error);
        if let (true, Failure::Wrong(message)) = (unfit, &mut failure) {
            let flags: Vec<_> = fitting.iter().map(|(t, _)| format!("--dtype {t}")).collect();
            *message = format!(
                "{}\n  = help: --dtype gives the element types of the arguments in order: `{}` would fit",
                message.trim_end(),
                flags.join(" ")
            );
        }
        failure
    }

    /// Element types and shapes, borrowed.
    pub fn borrowed(&self) -> Vec<(DType, &[usize])> {
        self.arguments.iter().map(|(dtype, shape)| (*dtype, &shape[..])).collect()
    }
}

/// Refuses options of `.et` programs for another one.
///
/// # Errors
/// If one is given.
pub fn refuse_given(given: &Given) -> Result<(), Failure> {
    let Given { bind, rank, dims, seed } = given;
    match bind.is_empty() && rank.is_empty() && dims.is_empty() && seed.is_none() {
        true => Ok(()),
        false => {
            let message =
                "--bind, --rank, --dims and --seed are for .et programs; this one takes --shape";
            Err(Failure::wrong(message))
        }
    }
}

/// Refuses more `--dtype` options than there are arguments.
///
/// # Errors
/// If there are more.
pub fn check_types(arity: usize, types: &[DType]) -> Result<(), Failure> {
    match types.len() {
        n if n > arity.max(1) => {
            Err(Failure::wrong(format!("--dtype is given {n} times for {arity} arguments")))
        }
        _ => Ok(()),
    }
}

/// Element type of each argument: double precision where the program accepts it.
fn default_types(signature: &Signature) -> Vec<DType> {
    use DType::{Bool, C64, C128, F32, F64, I32, I64};
    let choose = |types: &ijk::TypeSet| {
        let first = [F64, C128, I64, Bool, F32, C64, I32].into_iter().find(|&t| types.contains(t));
        first.or(types.iter().next())
    };
    let variables: Vec<_> =
        signature.types.iter().map(|types| choose(types).unwrap_or(F64)).collect();
    signature.inputs.iter().map(|port| port.dtype.resolve(&variables)).collect()
}
