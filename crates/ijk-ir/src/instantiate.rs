//! Element types and extents of one application of a program.

pub(crate) mod bounds;
mod extents;
mod injective;
mod loops;
mod messages;
mod types;

use crate::codes;
use crate::core::{Instance, Program};
use crate::text::count;
use extents::Solver;
use ijk_syntax::{Diagnostic, Span};
use ijk_types::DType;

pub use messages::undetermined_name;

/// Checks a program against the element types and shapes of its arguments, and finds those of
/// everything else.
///
/// # Errors
/// Everything that does not fit: number, ranks and types of the arguments, letters with two extents, accesses out of
/// bounds, several stores to one element, positions along empty axes, sizes beyond any memory. Messages count arguments
/// from 1 and axes from 0; spans point into [`Program::source`].
pub fn instantiate(
    program: &Program,
    arguments: &[(DType, &[u64])],
) -> Result<Instance, Vec<Diagnostic>> {
    let mut errors = check_arguments(program, arguments);
    if arguments.len() != program.inputs.len() {
        return Err(errors);
    }
    let given: Vec<DType> = arguments.iter().map(|(dtype, _)| *dtype).collect();
    let dtypes = types::resolve(program, &given, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let shapes = arguments.iter().map(|(_, shape)| *shape);
    Solver::new(program, &dtypes, shapes).solve().map(|(shapes, extents, passes)| Instance {
        dtypes,
        shapes,
        extents,
        passes,
    })
}

fn check_arguments(program: &Program, arguments: &[(DType, &[u64])]) -> Vec<Diagnostic> {
    let takes = program.inputs.len();
    if arguments.len() != takes {
        let takes = count(takes, "argument");
        let message = format!("the program takes {takes}, but {} given", given(arguments.len()));
        return vec![codes::ARGUMENT_COUNT.error(whole(program), message)];
    }
    let mut errors = Vec::new();
    for (n, ((dtype, shape), id)) in arguments.iter().zip(&program.inputs).enumerate() {
        let array = &program.arrays[id.0 as usize];
        if let Some(rank) = array.rank
            && rank as usize != shape.len()
        {
            errors.push(messages::rank(program, n, rank, shape));
        }
        if bounds::bytes(*dtype, shape).is_none() {
            errors.push(messages::too_large(program, *id, shape));
        }
    }
    errors
}

fn given(n: usize) -> String {
    format!("{n} {}", if n == 1 { "is" } else { "are" })
}

fn whole(program: &Program) -> Span {
    Span::new(0, program.source.len().min(u32::MAX as usize) as u32)
}
