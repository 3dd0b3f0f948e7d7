//! The literal evaluator of surface trees.

mod affine;
mod cell;
mod combine;
mod complex;
mod extents;
mod form;
mod point;
mod real;
pub(crate) mod reduce;
mod types;

pub use cell::Cell;
pub use point::Bounded;

pub(crate) use affine::Affine;
pub(crate) use cell::{apply as apply_map, map_type};
pub(crate) use extents::Names;
pub(crate) use form::{Form, Leaf, Map, pointwise};
pub(crate) use point::{Signature, advance, first_signature, signature, size};

use crate::{EvalError, Value};
use combine::{Call, Calls, Checked};
use extents::{Extents, Partial};
use ijk_syntax::ast::Program;
use ijk_types::DType;

/// Type and shape of an array.
pub(crate) type Array = (DType, Vec<usize>);

/// The results of a program for some arguments.
///
/// # Errors
/// If the program is undefined for these arguments.
///
/// ```
/// # use ijk_oracle::{Value, evaluate};
/// # use ijk_types::{DType, Scalar};
/// let program = ijk_syntax::ast::Program::default();
/// assert!(evaluate(&program, &[Value::full(DType::I32, &[2], Scalar::I32(1))]).is_err());
/// ```
pub fn evaluate(program: &Program, inputs: &[Value]) -> Result<Vec<Value>, EvalError> {
    Ok(evaluate_bounded(program, inputs)?.outputs.iter().map(Bounded::value).collect())
}

/// The results of a program, with the range of results that satisfy the error bounds.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The results.
    pub outputs: Vec<Bounded>,
    /// The most points of any index expression's domain.
    pub most_points: usize,
    /// Extents of the domain of each applied index expression.
    pub domains: Vec<Vec<usize>>,
}

impl Bounded {
    fn exact(value: &Value) -> Self {
        let cells = value.data.iter().copied().map(Cell::exact).collect();
        Self { dtype: value.dtype, shape: value.shape.clone(), cells }
    }

    /// The values in the specified order.
    pub fn value(&self) -> Value {
        let data = self.cells.iter().map(|cell| cell.value).collect();
        Value { dtype: self.dtype, shape: self.shape.clone(), data }
    }

    /// Position in C order of the first result outside of the error bounds, if any.
    pub fn first_outside(&self, result: &Value) -> Option<usize> {
        let pairs = self.cells.iter().zip(&result.data);
        pairs.into_iter().position(|(cell, &x)| !cell.admits(x))
    }
}

/// [`evaluate`] with error bounds for every element.
///
/// # Errors
/// As for [`evaluate`].
pub fn evaluate_bounded(program: &Program, inputs: &[Value]) -> Result<Evaluation, EvalError> {
    let checked = Checked::of(program)?;
    let calls = checked.calls()?;
    if inputs.len() != calls.inputs {
        let (found, expected) = (inputs.len(), calls.inputs);
        return Err(EvalError::Arity { what: "arguments", found, expected });
    }
    let shapes: Vec<&[usize]> = inputs.iter().map(|value| &value.shape[..]).collect();
    let extents = solve(&calls, &shapes)?;
    run(&calls, inputs, &extents)
}

/// The types and shapes of a program's results, without their values: detects every error except those of values, and
/// of points with a common element.
pub(crate) fn shapes(program: &Program, inputs: &[Array]) -> Result<Vec<Array>, EvalError> {
    let checked = Checked::of(program)?;
    let calls = checked.calls()?;
    if inputs.len() != calls.inputs {
        let (found, expected) = (inputs.len(), calls.inputs);
        return Err(EvalError::Arity { what: "arguments", found, expected });
    }
    let shapes: Vec<&[usize]> = inputs.iter().map(|input| &input.1[..]).collect();
    let extents = solve(&calls, &shapes)?;
    let mut arrays = inputs.to_vec();
    for (call, extents) in calls.calls.iter().zip(&extents) {
        let arguments: Vec<Array> = call.arguments.iter().map(|&h| arrays[h].clone()).collect();
        let Signature { dtype, shape, .. } = signature(call.form, &arguments, extents)?;
        arrays.push((dtype, shape));
    }
    Ok(calls.outputs.iter().map(|&handle| arrays[handle].clone()).collect())
}

/// The extents of every call's letters. A later call may determine a name that an earlier one needs, so calls are
/// revisited until nothing changes.
fn solve(calls: &Calls, inputs: &[&[usize]]) -> Result<Vec<Extents>, EvalError> {
    let mut names = Names::new();
    let mut shapes: Vec<Partial> =
        inputs.iter().map(|s| s.iter().map(|&n| Some(n as u64)).collect()).collect();
    loop {
        let known = (names.len(), shapes.clone());
        shapes.truncate(inputs.len());
        let mut extents = Vec::new();
        for call in &calls.calls {
            let (found, shape) = solve_call(call, &shapes, &mut names)?;
            extents.push(found);
            shapes.push(shape);
        }
        if (names.len(), &shapes) == (known.0, &known.1) {
            return Ok(extents);
        }
    }
}

fn solve_call(
    call: &Call,
    shapes: &[Partial],
    names: &mut Names,
) -> Result<(Extents, Partial), EvalError> {
    let given = call.arguments.iter().map(|&handle| shapes[handle].clone());
    let shapes = point::spread_over_operands(call.form, given);
    check_ranks(call.form, &shapes)?;
    let extents = Extents::solve(call.form, &shapes.iter().collect::<Vec<_>>(), names)?;
    let output = extents.output(call.form)?;
    Ok((extents, output))
}

fn check_ranks(form: &Form, shapes: &[Partial]) -> Result<(), EvalError> {
    for (leaf, shape) in form.operands.iter().zip(shapes) {
        match leaf {
            form::Leaf::Index(index) if index.len() != shape.len() => {
                return Err(EvalError::Rank { found: shape.len(), expected: index.len() });
            }
            _ => {}
        }
    }
    Ok(())
}

fn run(calls: &Calls, inputs: &[Value], extents: &[Extents]) -> Result<Evaluation, EvalError> {
    let mut arrays: Vec<Bounded> = inputs.iter().map(Bounded::exact).collect();
    let mut domains = Vec::new();
    for (call, extents) in calls.calls.iter().zip(extents) {
        let arguments: Vec<&Bounded> =
            call.arguments.iter().map(|&handle| &arrays[handle]).collect();
        let result = point::apply(call.form, &arguments, extents)?;
        debug_assert_eq!(call.result, arrays.len());
        domains.push(extents.domain(call.form)?);
        arrays.push(result);
    }
    let most_points = domains.iter().map(|domain| point::size(domain)).max().unwrap_or(0);
    let outputs = calls.outputs.iter().map(|&handle| arrays[handle].clone()).collect();
    Ok(Evaluation { outputs, most_points, domains })
}
