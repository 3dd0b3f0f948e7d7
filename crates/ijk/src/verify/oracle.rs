//! Comparison of results with those of the oracle.

use super::{Difference, Outcome};
use crate::Error;
use crate::et::{Case, Outputs, Program};
use ijk_oracle::et::{EtEvaluation, Shapes, evaluate_et};
use ijk_oracle::{Bounded, Cell};
use ijk_syntax::{Diagnostic, Span};
use ijk_tensor::Tensor;
use ijk_types::{DType, Scalar};

/// Compares results with the oracle's, within the bounds that the engine promises.
pub(super) fn compare(
    program: &Program,
    case: &Case,
    outputs: &[&str],
    ours: &Outputs,
) -> Result<Outcome, Error> {
    let run = evaluated(program, case)?;
    let mut greatest: f64 = 0.0;
    for name in outputs {
        match beside(&ours[*name], &run.arrays[*name]) {
            Ok(error) => greatest = greatest.max(error),
            Err(difference) => {
                return Ok(Outcome::Differs { output: name.to_string(), difference });
            }
        }
    }
    Ok(Outcome::Passed { error: greatest })
}

fn evaluated(program: &Program, case: &Case) -> Result<EtEvaluation, Error> {
    let checked = program.checked();
    let shapes = Shapes::of(checked, case.shapes().solution());
    evaluate_et(&checked.program, &shapes, &Default::default(), case.seed()).map_err(|error| {
        let message = format!("the oracle has no result: {error}");
        Error::program(program.source(), vec![Diagnostic::error(Span::default(), message)])
    })
}

/// Rounding errors of two evaluations, relative to that of the oracle's.
const BOTH: f64 = 4.0;

/// For every output the bounds of its rounding errors, in units of the machine epsilon: the oracle's, for programs with
/// loops, in which errors grow from pass to pass.
pub(super) fn bounds(
    program: &Program,
    case: &Case,
    outputs: &[&str],
) -> Result<Vec<Option<Tensor>>, Error> {
    let run = evaluated(program, case)?;
    let bound = |name: &&str| {
        let array = &run.arrays[*name];
        let epsilon = match array.dtype {
            DType::F32 => f64::from(f32::EPSILON),
            DType::F64 => f64::EPSILON,
            _ => return Ok(None),
        };
        let errors = array.cells.iter().map(|cell| BOTH * cell.error / epsilon).collect();
        Ok(Some(Tensor::from_vec::<f64>(errors, &array.shape)?))
    };
    outputs.iter().map(bound).collect()
}

/// The greatest error relative to its bound.
fn beside(ours: &Tensor, theirs: &Bounded) -> Result<f64, Difference> {
    if ours.shape() != theirs.shape {
        return Err(Difference::Shape {
            ours: ours.shape().to_vec(),
            theirs: theirs.shape.clone(),
        });
    }
    if ours.dtype() != theirs.dtype {
        return Err(Difference::DType { ours: ours.dtype(), theirs: theirs.dtype });
    }
    let view = ours.view();
    let pairs = || view.iter_scalars().zip(&theirs.cells);
    let mut differing = pairs().enumerate().filter(|(_, (x, cell))| !cell.admits(*x));
    if let Some((n, (x, cell))) = differing.next() {
        let count = 1 + differing.count();
        let index = super::compare::index(ours.shape(), n);
        let (ours, theirs) = (x.to_string(), cell.wide.to_string());
        return Err(Difference::Elements { count, index, ours, theirs, bound: cell.error });
    }
    Ok(pairs().map(|(x, cell)| share(x, cell)).fold(0.0, f64::max))
}

/// The error of an element relative to its bound; 0 for exact types and complex numbers.
fn share(x: Scalar, cell: &Cell) -> f64 {
    let x = match x {
        Scalar::F32(x) => f64::from(x),
        Scalar::F64(x) => x,
        _ => return 0.0,
    };
    match cell.wide {
        Scalar::F64(wide) if x != wide && x.is_finite() && cell.error.is_finite() => {
            (x - wide).abs() / cell.error
        }
        _ => 0.0,
    }
}
