//! Panels of a stage that add nothing because blocks of theirs are missing.
//!
//! A missing block equals its fill value everywhere, and the other operands decide if that annihilates: 0 times NaN is
//! NaN. So some panels are skipped whatever the other parts hold (integers), some never are, and for the rest the other
//! parts have to be examined.

use super::facts::Facts;
use super::part::Part;
use crate::aggregation::Kind;
use crate::formula::{Fold, Formula, ValueSet};
use crate::plan::{Expr, Kernel, Stage};
use ijk_types::{DType, Literal, Reducer, Scalar};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Rule by which panels of a stage are skipped.
#[derive(Debug)]
pub(crate) struct Skips {
    rule: SkipRule,
    /// The types of the operands' elements, which are numbers, and the elements of missing ones.
    types: Vec<DType>,
    fills: Vec<Option<Scalar>>,
    /// Elements are assumed finite unless known otherwise.
    finite: bool,
    /// Decisions by the states of the operands.
    verdicts: Mutex<HashMap<Vec<PartState>, Verdict>>,
}

/// Condition under which a panel is skipped.
#[derive(Debug)]
enum SkipRule {
    /// Missing.
    Missing,
    /// Never.
    Never,
    /// A formula that changes no fold.
    Fold(Arc<Formula>, Reducer, DType),
    /// A formula that is the fill of the output.
    Fill(Formula, Scalar),
}

/// State of an operand's part, known without its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PartState {
    Missing,
    Present,
    /// It was computed from operands some of which are missing.
    Doubtful,
}

/// Decision about a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Always,
    Never,
    /// The decision depends on the elements.
    Depends,
}

impl Skips {
    pub(crate) fn new(stage: &Stage, finite: bool) -> Self {
        let exprs = || stage.operands.iter().map(|operand| &operand.expr);
        let types: Option<Vec<DType>> = exprs().map(|expr| expr.element().number()).collect();
        let fills = exprs().map(|expr| expr.fill()?.as_number()).collect();
        let rule = match (&stage.kernel, &types) {
            (Kernel::Copy, _) => SkipRule::Missing,
            (Kernel::Contract(by), Some(types)) => match &by.kind {
                Kind::Fold(Fold::Reduce(reducer), formula) => match formula.result(types) {
                    Ok(of) => SkipRule::Fold(Arc::clone(formula), *reducer, of),
                    Err(_) => SkipRule::Never,
                },
                _ => SkipRule::Never,
            },
            (Kernel::Map(formula), Some(_)) => {
                match stage.identity.as_ref().and_then(crate::Value::as_number) {
                    Some(fill) => SkipRule::Fill(formula.clone(), fill),
                    None => SkipRule::Never,
                }
            }
            (_, None) => SkipRule::Never,
        };
        let types = types.unwrap_or_default();
        Self { rule, types, fills, finite, verdicts: Mutex::default() }
    }

    /// Returns true if elements are assumed finite unless known otherwise.
    pub(crate) fn finite(&self) -> bool {
        self.finite
    }

    /// Returns true if a panel of these parts is skipped.
    pub(crate) fn skips(&self, parts: &[Option<Part>], facts: &Facts) -> bool {
        let state = |part: &Option<Part>| match part {
            None => PartState::Missing,
            Some(part) if part.is_doubtful() => PartState::Doubtful,
            Some(_) => PartState::Present,
        };
        let states: Vec<PartState> = parts.iter().map(state).collect();
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
    pub(crate) fn verdict(&self, states: &[PartState]) -> Verdict {
        if states.iter().all(|state| *state == PartState::Present) {
            return Verdict::Never;
        }
        match &self.rule {
            SkipRule::Never => return Verdict::Never,
            SkipRule::Missing => {
                let missing = states.iter().all(|state| *state == PartState::Missing);
                return if missing { Verdict::Always } else { Verdict::Never };
            }
            SkipRule::Fold(..) | SkipRule::Fill(..) => {}
        }
        let mut known = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&verdict) = known.get(states) {
            return verdict;
        }
        let verdict = self.judged(states);
        known.insert(states.to_vec(), verdict);
        verdict
    }

    fn judged(&self, states: &[PartState]) -> Verdict {
        let values = |of: &dyn Fn(usize, PartState) -> ValueSet| -> Vec<ValueSet> {
            let of = |(n, &state): (usize, &PartState)| match state {
                PartState::Missing => self.missing(n),
                state => of(n, state),
            };
            states.iter().enumerate().map(of).collect()
        };
        if self.holds(&values(&|n, _| ValueSet::unknown(self.types[n]))) {
            return Verdict::Always;
        }
        // If elements chosen in favour of skipping are not skipped, none are.
        let harmless = values(&|n, state| harmless(self.types[n], state));
        if self.holds(&harmless) { Verdict::Depends } else { Verdict::Never }
    }

    /// Value set of an operand's elements where it is missing.
    pub(crate) fn missing(&self, operand: usize) -> ValueSet {
        match self.fills[operand] {
            Some(fill) => ValueSet::Is(fill),
            None => ValueSet::unknown(self.types[operand]),
        }
    }

    /// Returns true if a panel is skipped whose parts have these value sets.
    pub(crate) fn holds(&self, operands: &[ValueSet]) -> bool {
        match &self.rule {
            SkipRule::Missing | SkipRule::Never => false,
            SkipRule::Fold(formula, reducer, of) => {
                formula.value_set(&self.types, operands, self.finite).adds_nothing(*reducer, *of)
            }
            SkipRule::Fill(formula, fill) => {
                is_fill(formula, &self.types, operands, *fill, self.finite)
            }
        }
    }
}

/// Elements that annihilation does not depend on.
fn harmless(dtype: DType, state: PartState) -> ValueSet {
    let number = if state == PartState::Doubtful { 0 } else { 1 };
    match dtype {
        _ if dtype.is_float() || dtype.is_complex() => {
            Literal::Integer(number).to_scalar(dtype).map_or(ValueSet::Any, ValueSet::Is)
        }
        _ => ValueSet::Any,
    }
}

/// Returns true if a formula of such operands equals a value everywhere.
fn is_fill(
    formula: &Formula,
    types: &[DType],
    operands: &[ValueSet],
    fill: Scalar,
    finite: bool,
) -> bool {
    let found = formula.value_set(types, operands, finite);
    // Unless elements are finite, the sign of 0 matters, since quotients by 0 are infinities of either sign.
    let zero = Reducer::Monoid(ijk_types::Monoid::Add);
    let is_zero = || fill == Scalar::zero(fill.dtype()) && found.adds_nothing(zero, fill.dtype());
    found.is(fill) || finite && is_zero()
}

/// Returns true if a formula, some operands of which are missing, equals the fill of the expression everywhere.
pub(crate) fn is_expression_fill(
    expr: &Expr,
    parts: &[Option<Part>],
    facts: &Facts,
    finite: bool,
) -> bool {
    let Expr::Formula { formula, operands, types, .. } = expr else { return false };
    if parts.iter().all(|part| part.as_ref().is_some_and(|part| !part.is_doubtful())) {
        return false;
    }
    let Some(crate::Value::Number(fill)) = expr.fill() else { return false };
    if parts.iter().all(Option::is_none) {
        return true;
    }
    let values = |of: &dyn Fn(usize, &Part) -> ValueSet| -> Vec<ValueSet> {
        let operand = |(n, part): (usize, &Option<Part>)| match part {
            Some(part) => of(n, part),
            None => match operands[n].fill().and_then(|fill| fill.as_number()) {
                Some(fill) => ValueSet::Is(fill),
                None => ValueSet::unknown(types[n]),
            },
        };
        parts.iter().enumerate().map(operand).collect()
    };
    let holds = |operands: &[ValueSet]| is_fill(formula, types, operands, fill, finite);
    let state =
        |part: &Part| if part.is_doubtful() { PartState::Doubtful } else { PartState::Present };
    holds(&values(&|n, _| ValueSet::unknown(types[n])))
        || holds(&values(&|n, part| harmless(types[n], state(part))))
            && holds(&values(&|_, part| facts.of(part)))
}
