//! The literal evaluator of surface trees.

mod affine;
mod cell;
mod combine;
mod complex;
mod extents;
mod form;
mod loops;
mod point;
mod real;
pub(crate) mod reduce;
mod types;

pub use cell::Cell;
pub use point::Bounded;

pub(crate) use affine::Affine;
pub(crate) use cell::{Order, apply as apply_map, map_type};
pub(crate) use extents::Names;
pub(crate) use form::{Form, Leaf, Map, pointwise};
pub(crate) use point::{Signature, advance, first_signature, signature, size};

use crate::{EvalError, Value};
use combine::{CallKind, Calls, Checked};
use extents::{Extents, Partial};
use ijk_syntax::ast::Program;
use ijk_types::DType;
use std::cell::OnceCell;

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

    /// Its type and shape.
    fn array(&self) -> Array {
        (self.dtype, self.shape.clone())
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
    signatures(&calls, inputs, &extents)
}

/// The number of points of all domains, in all passes of loops; each pass counts as a few points.
pub(crate) fn points(program: &Program, inputs: &[Array]) -> Result<usize, EvalError> {
    let checked = Checked::of(program)?;
    let calls = checked.calls()?;
    let shapes: Vec<&[usize]> = inputs.iter().map(|input| &input.1[..]).collect();
    if inputs.len() != calls.inputs {
        let (found, expected) = (inputs.len(), calls.inputs);
        return Err(EvalError::Arity { what: "arguments", found, expected });
    }
    points_of_calls(&calls, &solve(&calls, &shapes)?)
}

fn points_of_calls(calls: &Calls, solved: &[SolvedCall]) -> Result<usize, EvalError> {
    let mut points: usize = 0;
    for (call, solved) in calls.calls.iter().zip(solved) {
        let more = match (&call.kind, solved) {
            (CallKind::Index(form), SolvedCall::Index(extents, _)) => {
                let domain = extents.domain(form)?;
                let empty = domain.contains(&0);
                if empty { 0 } else { domain.iter().fold(1, |n, &m| usize::saturating_mul(n, m)) }
            }
            (CallKind::Loop(own), SolvedCall::Loop(body, passes)) => {
                let passes = passes.unwrap_or(0).try_into().unwrap_or(usize::MAX);
                let pass = points_of_calls(&own.body, body)?.saturating_add(POINTS_OF_PASS);
                pass.saturating_mul(passes)
            }
            _ => unreachable!("calls are solved in order"),
        };
        points = points.saturating_add(more);
    }
    Ok(points)
}

/// Points that take as long as what a pass does besides its points.
const POINTS_OF_PASS: usize = 16;

/// Types and shapes of the outputs.
fn signatures(
    calls: &Calls,
    inputs: &[Array],
    solved: &[SolvedCall],
) -> Result<Vec<Array>, EvalError> {
    let mut arrays = inputs.to_vec();
    for (call, solved) in calls.calls.iter().zip(solved) {
        let arguments: Vec<Array> = call.arguments.iter().map(|&h| arrays[h].clone()).collect();
        match (&call.kind, solved) {
            (CallKind::Index(form), SolvedCall::Index(extents, _)) => {
                let Signature { dtype, shape, .. } = signature(form, &arguments, extents)?;
                arrays.push((dtype, shape));
            }
            (CallKind::Loop(own), SolvedCall::Loop(body, passes)) => {
                arrays.extend(loops::signatures(own, &arguments, body, *passes)?);
            }
            _ => unreachable!("calls are solved in order"),
        }
    }
    Ok(calls.outputs.iter().map(|&handle| arrays[handle].clone()).collect())
}

/// Extents of a call: those of its letters, or of a loop the extents of its body and the number of passes.
#[derive(Clone, Debug)]
enum SolvedCall {
    /// The signature is found once: the arguments of all passes of a loop have the same types and shapes.
    Index(Extents, OnceCell<Signature>),
    Loop(Vec<SolvedCall>, Option<u64>),
}

/// The extents of every call's letters. A later call may determine a name that an earlier one needs, so calls are
/// revisited until nothing changes.
fn solve(calls: &Calls, inputs: &[&[usize]]) -> Result<Vec<SolvedCall>, EvalError> {
    let mut names = Names::new();
    let mut shapes: Vec<Partial> =
        inputs.iter().map(|s| s.iter().map(|&n| Some(n as u64)).collect()).collect();
    loop {
        let known = (names.len(), shapes.clone());
        shapes.truncate(inputs.len());
        let solved = solve_calls(calls, &mut shapes, &mut names)?;
        if (names.len(), &shapes) == (known.0, &known.1) {
            return Ok(solved);
        }
    }
}

/// Solves calls in order; the shapes of their results follow those of the inputs.
fn solve_calls(
    calls: &Calls,
    shapes: &mut Vec<Partial>,
    names: &mut Names,
) -> Result<Vec<SolvedCall>, EvalError> {
    let mut all = Vec::new();
    for call in &calls.calls {
        let given: Vec<Partial> = call.arguments.iter().map(|&h| shapes[h].clone()).collect();
        match &call.kind {
            CallKind::Index(form) => {
                let (found, shape) = solve_call(form, given, names)?;
                all.push(SolvedCall::Index(found, OnceCell::new()));
                shapes.push(shape);
            }
            CallKind::Loop(own) => {
                let (solved, results) = loops::solve(own, given, names)?;
                all.push(solved);
                shapes.extend(results);
            }
        }
    }
    Ok(all)
}

fn solve_call(
    form: &Form,
    given: Vec<Partial>,
    names: &mut Names,
) -> Result<(Extents, Partial), EvalError> {
    let shapes = point::spread_over_operands(form, given.into_iter());
    check_ranks(form, &shapes)?;
    let extents = Extents::solve(form, &shapes.iter().collect::<Vec<_>>(), names)?;
    let output = extents.output(form)?;
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

fn run(calls: &Calls, inputs: &[Value], solved: &[SolvedCall]) -> Result<Evaluation, EvalError> {
    let mut domains = Vec::new();
    let inputs = inputs.iter().map(Bounded::exact).collect();
    let outputs = run_calls(calls, inputs, solved, &mut domains)?;
    let most_points = domains.iter().map(|domain| point::size(domain)).max().unwrap_or(0);
    Ok(Evaluation { outputs, most_points, domains })
}

/// The outputs of calls; the domains of index expressions are appended to `domains`.
fn run_calls(
    calls: &Calls,
    mut arrays: Vec<Bounded>,
    solved: &[SolvedCall],
    domains: &mut Vec<Vec<usize>>,
) -> Result<Vec<Bounded>, EvalError> {
    for (call, solved) in calls.calls.iter().zip(solved) {
        let arguments: Vec<&Bounded> =
            call.arguments.iter().map(|&handle| &arrays[handle]).collect();
        match (&call.kind, solved) {
            (CallKind::Index(form), SolvedCall::Index(extents, known)) => {
                let signature = match known.get() {
                    Some(signature) => signature,
                    None => {
                        let arguments: Vec<Array> = arguments.iter().map(|a| a.array()).collect();
                        let found = signature(form, &arguments, extents)?;
                        known.get_or_init(|| found)
                    }
                };
                let result = point::apply(form, &arguments, signature)?;
                domains.push(signature.domain.clone());
                arrays.push(result);
            }
            (CallKind::Loop(own), SolvedCall::Loop(body, passes)) => {
                let results = loops::run(own, &arguments, body, *passes, domains)?;
                arrays.extend(results);
            }
            _ => unreachable!("calls are solved in order"),
        }
    }
    Ok(calls.outputs.iter().map(|&handle| arrays[handle].clone()).collect())
}
