//! Loops of surface trees: the component is applied once for each pass.

use super::combine::LoopCall;
use super::extents::Partial;
use super::point::Bounded;
use super::{Array, Names, SolvedCall, run_calls, signatures as signatures_of, solve_calls};
use crate::EvalError;
use crate::reference::surface::Cell;
use crate::reference::value::zero;
use ijk_syntax::ast::Extent;
use ijk_types::{DType, Scalar};

/// The extents in a pass, the number of passes, and the shapes of the results, as far as they are known.
pub(super) fn solve(
    own: &LoopCall<'_>,
    given: Vec<Partial>,
    names: &mut Names,
) -> Result<(SolvedCall, Vec<Partial>), EvalError> {
    let passes = passes(own, &given, names)?;
    let mut shapes = Vec::new();
    for (n, shape) in given.into_iter().enumerate() {
        let swept = n >= own.states && n < own.states + own.swept;
        shapes.push(if swept { row_of(&shape)? } else { shape });
    }
    let states: Vec<Partial> = shapes[..own.states].to_vec();
    let body = solve_calls(&own.body, &mut shapes, names)?;
    for (state, &next) in states.iter().zip(&own.body.outputs) {
        let next = &shapes[next];
        if state.len() != next.len() {
            return Err(EvalError::Rank { found: next.len(), expected: state.len() });
        }
        for pair in state.iter().zip(next) {
            if let (Some(first), Some(second)) = pair
                && first != second
            {
                return Err(EvalError::State(*first, *second));
            }
        }
    }
    if let Some(&condition) = own.body.outputs.get(own.states)
        && !shapes[condition].is_empty()
    {
        return Err(EvalError::Rank { found: shapes[condition].len(), expected: 0 });
    }
    let first = own.all.then_some(passes);
    let result = |state: Partial| first.into_iter().chain(state).collect();
    Ok((SolvedCall::Loop(body, passes), states.into_iter().map(result).collect()))
}

fn row_of(shape: &Partial) -> Result<Partial, EvalError> {
    let missing = EvalError::Rank { found: 0, expected: 1 };
    shape.get(1..).map(<[_]>::to_vec).ok_or(missing)
}

/// The number of passes, by the first axes of swept arrays and by braces, which must agree.
fn passes(
    own: &LoopCall<'_>,
    given: &[Partial],
    names: &mut Names,
) -> Result<Option<u64>, EvalError> {
    let swept = given[own.states..own.states + own.swept].iter();
    let mut known: Vec<u64> = swept.filter_map(|shape| *shape.first()?).collect();
    match own.passes {
        Some(Extent::Number(n, _)) => known.push(*n),
        Some(Extent::Name(name)) => match (names.get(&name.text), known.first()) {
            (Some(n), _) => known.push(*n),
            (None, Some(n)) => drop(names.insert(name.text.clone(), *n)),
            (None, None) => {}
        },
        None => {}
    }
    let Some(&first) = known.first() else { return Ok(None) };
    match known.iter().find(|n| **n != first) {
        Some(&second) => Err(EvalError::Passes(first, second)),
        None => Ok(Some(first)),
    }
}

/// Types and shapes of the results.
pub(super) fn signatures(
    own: &LoopCall<'_>,
    arguments: &[Array],
    body: &[SolvedCall],
    passes: Option<u64>,
) -> Result<Vec<Array>, EvalError> {
    let passes = count(passes)?;
    let mut inputs = arguments.to_vec();
    for (_, shape) in &mut inputs[own.states..own.states + own.swept] {
        shape.remove(0);
    }
    let next = signatures_of(&own.body, &inputs, body)?;
    for (state, next) in inputs.iter().zip(&next) {
        if state.0 != next.0 {
            return Err(EvalError::Mixed(state.0, next.0));
        }
    }
    if let Some((dtype, _)) = next.get(own.states)
        && *dtype != DType::Bool
    {
        return Err(EvalError::Mixed(DType::Bool, *dtype));
    }
    let first = own.all.then_some(passes);
    let result = |(dtype, shape): Array| (dtype, first.into_iter().chain(shape).collect());
    Ok(inputs.into_iter().take(own.states).map(result).collect())
}

fn count(passes: Option<u64>) -> Result<usize, EvalError> {
    let passes = passes.ok_or(EvalError::Undetermined("the number of passes".into()))?;
    usize::try_from(passes).map_err(|_| EvalError::TooLarge)
}

/// The results.
pub(super) fn run(
    own: &LoopCall<'_>,
    arguments: &[&Bounded],
    body: &[SolvedCall],
    passes: Option<u64>,
    domains: &mut Vec<Vec<usize>>,
) -> Result<Vec<Bounded>, EvalError> {
    let shapes: Vec<Array> = arguments.iter().map(|a| a.array()).collect();
    signatures(own, &shapes, body, passes)?;
    let passes = count(passes)?;
    if passes > MOST_PASSES {
        return Err(EvalError::TooLarge);
    }
    let mut states: Vec<Bounded> = arguments[..own.states].iter().map(|a| (*a).clone()).collect();
    let kept = if own.all { passes } else { 0 };
    let mut all: Vec<Vec<Vec<Cell>>> = vec![vec![Vec::new(); kept]; own.states];
    let mut is_open = false;
    for number in 0..passes {
        let pass = if own.back { passes - 1 - number } else { number };
        let mut inputs = states;
        for (n, array) in arguments.iter().enumerate().skip(own.states) {
            let swept = n < own.states + own.swept;
            inputs.push(if swept { row(array, pass) } else { (*array).clone() });
        }
        let mut own_domains = Vec::new();
        states = run_calls(&own.body, inputs, body, &mut own_domains)?;
        let condition = condition(own, &mut states);
        if number == 0 {
            domains.append(&mut own_domains);
        }
        for (all, state) in all.iter_mut().zip(&states).filter(|_| own.all) {
            all[pass].extend_from_slice(&state.cells);
        }
        let Some(condition) = condition else { continue };
        is_open |= condition.is_open();
        if condition.value == Scalar::Bool(true) {
            break;
        }
    }
    if is_open {
        // The number of passes may be another one.
        let cells = states.iter_mut().flat_map(|state| &mut state.cells);
        cells.for_each(|cell| *cell = cell.open());
    }
    if passes == 0 {
        check_unrun(own, arguments, body)?;
    }
    if own.all {
        for (state, cells) in states.iter_mut().zip(all) {
            state.shape.insert(0, passes);
            state.cells = cells.concat();
        }
    }
    Ok(states)
}

/// The condition that ends a loop after a pass, which follows its states.
fn condition(own: &LoopCall<'_>, results: &mut Vec<Bounded>) -> Option<Cell> {
    let condition = if own.has_condition() { results.pop() } else { None };
    condition?.cells.first().copied()
}

/// Passes that are evaluated.
const MOST_PASSES: usize = 1 << 16;

/// A row of an array.
fn row(array: &Bounded, at: usize) -> Bounded {
    let shape = array.shape[1..].to_vec();
    let size: usize = shape.iter().product();
    let cells = array.cells[at * size..(at + 1) * size].to_vec();
    Bounded { dtype: array.dtype, shape, cells }
}

/// Errors of a body that no pass runs: all but those of values.
fn check_unrun(
    own: &LoopCall<'_>,
    arguments: &[&Bounded],
    body: &[SolvedCall],
) -> Result<(), EvalError> {
    let zeros = |(n, array): (usize, &&Bounded)| {
        let swept = n >= own.states && n < own.states + own.swept;
        let shape = array.shape[usize::from(swept)..].to_vec();
        let cells = vec![Cell::exact(zero(array.dtype)); shape.iter().product()];
        Bounded { dtype: array.dtype, shape, cells }
    };
    let inputs = arguments.iter().enumerate().map(zeros).collect();
    match run_calls(&own.body, inputs, body, &mut Vec::new()) {
        Err(EvalError::Scalar(_)) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}
