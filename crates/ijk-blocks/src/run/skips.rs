//! Panels of a stage that add nothing because blocks of theirs are missing.
//!
//! A missing block is a fill value everywhere, and what it is combined with decides whether that annihilates:
//! 0 times NaN is NaN. So there are panels that are skipped whatever the other parts hold (of whole numbers),
//! panels that never are, and those for which the other parts have to be looked at.

use super::facts::Facts;
use super::part::Part;
use crate::aggregation::Kind;
use crate::formula::{Among, Fold, Formula};
use crate::plan::{Expr, Kernel, Stage};
use ijk_types::{DType, Literal, Reducer, Scalar};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Rule by which panels of a stage are skipped.
#[derive(Debug)]
pub(crate) struct Skips {
    goal: Goal,
    /// The types of the operands' elements, which are numbers, and what missing ones are.
    types: Vec<DType>,
    fills: Vec<Option<Scalar>>,
    /// Elements are assumed finite unless known otherwise.
    finite: bool,
    /// By which operands are there.
    verdicts: Mutex<HashMap<Vec<State>, Verdict>>,
}

/// Condition under which a panel is skipped.
#[derive(Debug)]
enum Goal {
    /// Missing.
    Missing,
    /// Nothing.
    Never,
    /// A formula that changes no fold.
    Fold(Arc<Formula>, Reducer, DType),
    /// A formula that is the fill of the output.
    Fill(Formula, Scalar),
}

/// State of an operand's part, known without its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum State {
    Missing,
    Present,
    /// It was computed of what is missing in part.
    Doubtful,
}

/// Decision about a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Always,
    Never,
    /// That depends on the elements.
    Depends,
}

impl Skips {
    pub(crate) fn new(stage: &Stage, finite: bool) -> Self {
        let exprs = || stage.operands.iter().map(|operand| &operand.expr);
        let types: Option<Vec<DType>> = exprs().map(|expr| expr.element().number()).collect();
        let fills = exprs().map(|expr| expr.fill()?.as_number()).collect();
        let goal = match (&stage.kernel, &types) {
            (Kernel::Copy, _) => Goal::Missing,
            (Kernel::Contract(by), Some(types)) => match &by.kind {
                Kind::Fold(Fold::Reduce(reducer), formula) => match formula.result(types) {
                    Ok(of) => Goal::Fold(Arc::clone(formula), *reducer, of),
                    Err(_) => Goal::Never,
                },
                _ => Goal::Never,
            },
            (Kernel::Map(formula), Some(_)) => {
                match stage.identity.as_ref().and_then(crate::Value::as_number) {
                    Some(fill) => Goal::Fill(formula.clone(), fill),
                    None => Goal::Never,
                }
            }
            (_, None) => Goal::Never,
        };
        let types = types.unwrap_or_default();
        Self { goal, types, fills, finite, verdicts: Mutex::default() }
    }

    /// Returns true if elements are assumed finite unless known otherwise.
    pub(crate) fn finite(&self) -> bool {
        self.finite
    }

    /// Returns true if a panel of these parts is skipped.
    pub(crate) fn skips(&self, parts: &[Option<Part>], facts: &Facts) -> bool {
        let state = |part: &Option<Part>| match part {
            None => State::Missing,
            Some(part) if part.is_doubtful() => State::Doubtful,
            Some(_) => State::Present,
        };
        let states: Vec<State> = parts.iter().map(state).collect();
        match self.verdict(&states) {
            Verdict::Always => true,
            Verdict::Never => false,
            Verdict::Depends => {
                let of = |(n, part): (usize, &Option<Part>)| match part {
                    None => self.missing(n),
                    Some(part) => facts.of(part),
                };
                self.holds(&parts.iter().enumerate().map(of).collect::<Vec<_>>())
            }
        }
    }

    /// Decision about a panel from the states of its parts.
    pub(crate) fn verdict(&self, states: &[State]) -> Verdict {
        if states.iter().all(|state| *state == State::Present) {
            return Verdict::Never;
        }
        match &self.goal {
            Goal::Never => return Verdict::Never,
            Goal::Missing => {
                let missing = states.iter().all(|state| *state == State::Missing);
                return if missing { Verdict::Always } else { Verdict::Never };
            }
            Goal::Fold(..) | Goal::Fill(..) => {}
        }
        let mut known = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&verdict) = known.get(states) {
            return verdict;
        }
        let verdict = self.judged(states);
        known.insert(states.to_vec(), verdict);
        verdict
    }

    fn judged(&self, states: &[State]) -> Verdict {
        let among = |of: &dyn Fn(usize, State) -> Among| -> Vec<Among> {
            let of = |(n, &state): (usize, &State)| match state {
                State::Missing => self.missing(n),
                state => of(n, state),
            };
            states.iter().enumerate().map(of).collect()
        };
        if self.holds(&among(&|n, _| Among::unknown(self.types[n]))) {
            return Verdict::Always;
        }
        // Where the most harmless elements there could be are not skipped, none are.
        let harmless = among(&|n, state| harmless(self.types[n], state));
        if self.holds(&harmless) { Verdict::Depends } else { Verdict::Never }
    }

    /// Value set of an operand's elements where it is missing.
    pub(crate) fn missing(&self, operand: usize) -> Among {
        match self.fills[operand] {
            Some(fill) => Among::Is(fill),
            None => Among::unknown(self.types[operand]),
        }
    }

    /// Returns true if a panel is skipped whose parts have these value sets.
    pub(crate) fn holds(&self, operands: &[Among]) -> bool {
        match &self.goal {
            Goal::Missing | Goal::Never => false,
            Goal::Fold(formula, reducer, of) => {
                formula.among(&self.types, operands, self.finite).adds_nothing(*reducer, *of)
            }
            Goal::Fill(formula, fill) => {
                is_fill(formula, &self.types, operands, *fill, self.finite)
            }
        }
    }
}

/// Elements that annihilation does not depend on.
fn harmless(dtype: DType, state: State) -> Among {
    let number = if state == State::Doubtful { 0 } else { 1 };
    match dtype {
        DType::F32 | DType::F64 | DType::C64 | DType::C128 => {
            Literal::Integer(number).to_scalar(dtype).map_or(Among::Any, Among::Is)
        }
        _ => Among::Any,
    }
}

/// Returns true if a formula of such operands equals a value everywhere.
fn is_fill(
    formula: &Formula,
    types: &[DType],
    operands: &[Among],
    fill: Scalar,
    finite: bool,
) -> bool {
    let found = formula.among(types, operands, finite);
    // Unless elements are finite, the sign of 0 matters, since quotients by 0 are infinities of either sign.
    let zero = Reducer::Monoid(ijk_types::Monoid::Add);
    let is_zero = || fill == Scalar::zero(fill.dtype()) && found.adds_nothing(zero, fill.dtype());
    found.is(fill) || finite && is_zero()
}

/// Returns true if a formula of expressions, some of them missing, equals the fill of the expression everywhere.
pub(crate) fn is_expression_fill(
    expr: &Expr,
    (formula, operands, types): (&Formula, &[Expr], &[DType]),
    parts: &[Option<Part>],
    (facts, finite): (&Facts, bool),
) -> bool {
    if parts.iter().all(|part| part.as_ref().is_some_and(|part| !part.is_doubtful())) {
        return false;
    }
    let Some(crate::Value::Number(fill)) = expr.fill() else { return false };
    if parts.iter().all(Option::is_none) {
        return true;
    }
    let among = |of: &dyn Fn(usize, &Part) -> Among| -> Vec<Among> {
        let operand = |(n, part): (usize, &Option<Part>)| match part {
            Some(part) => of(n, part),
            None => match operands[n].fill().and_then(|fill| fill.as_number()) {
                Some(fill) => Among::Is(fill),
                None => Among::unknown(types[n]),
            },
        };
        parts.iter().enumerate().map(operand).collect()
    };
    let holds = |operands: &[Among]| is_fill(formula, types, operands, fill, finite);
    let state = |part: &Part| if part.is_doubtful() { State::Doubtful } else { State::Present };
    holds(&among(&|n, _| Among::unknown(types[n])))
        || holds(&among(&|n, part| harmless(types[n], state(part))))
            && holds(&among(&|_, part| facts.of(part)))
}
