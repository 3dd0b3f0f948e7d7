//! Folds of f16 and bf16 in f32: panels add to sums that are rounded once, as in one block.

use super::{Kernel, Stage};
use crate::aggregation::Kind;
use crate::formula::Fold;
use crate::{Aggregation, Formula, Value};
use ijk_types::{DType, Monoid, Reducer, UnaryOp, scalar};

/// The stage with its fold in f32, and the type to which elements are rounded behind it; none where nothing would be
/// rounded more than once.
pub(super) fn widened(stage: &Stage) -> Option<(Stage, DType)> {
    let narrow = stage.out.element.number().filter(|t| matches!(t, DType::F16 | DType::BF16))?;
    let Kernel::Contract(by) = &stage.kernel else { return None };
    let Kind::Fold(Fold::Reduce(reducer), formula) = &by.kind else { return None };
    let Reducer::Monoid(monoid) = reducer else { return None };
    let rounds = matches!(monoid, Monoid::Add | Monoid::Mul | Monoid::LogAddExp);
    if !rounds || stage.panels() <= 1 {
        return None;
    }
    let types = stage.operands.iter().map(|operand| operand.expr.element().number());
    let types: Vec<DType> = types.collect::<Option<_>>()?;
    let formula = in_f32(formula, &types)?;
    let identity = match &stage.identity {
        Some(Value::Number(x)) => {
            Some(Value::Number(scalar::unary(UnaryOp::Cast(DType::F32), *x).ok()?))
        }
        other => other.clone(),
    };
    let mut wide = stage.clone();
    wide.kernel = Kernel::Contract(Aggregation::of(Fold::Reduce(*reducer), formula));
    wide.out.element = DType::F32.into();
    wide.identity = identity;
    Some((wide, narrow))
}

/// A formula of narrow floats in f32: of its operands if they are all that is narrow, of its value otherwise.
fn in_f32(formula: &Formula, types: &[DType]) -> Option<Formula> {
    let operand = |(n, t): (usize, &DType)| match t {
        DType::F16 | DType::BF16 => cast(DType::F32, Formula::variable(n)),
        _ => Formula::variable(n),
    };
    let operands: Vec<Formula> = types.iter().enumerate().map(operand).collect();
    let wide = formula.with(&operands);
    let is_wide = |formula: &Formula| formula.result(types).is_ok_and(|t| t == DType::F32);
    let found = if is_wide(&wide) { wide } else { cast(DType::F32, formula.clone()) };
    is_wide(&found).then_some(found)
}

/// A formula whose value is converted.
pub(super) fn cast(to: DType, formula: Formula) -> Formula {
    Formula::unary(UnaryOp::Cast(to), formula)
}
