//! Coverage of random programs in i.

mod expected;
mod operators;
mod productions;
mod rules;

pub use expected::{expected, expected_of_mistakes};

use super::Coverage;
use crate::EvalError;
use crate::generate::i::Case;
use crate::generate::{Input, Layout};
use crate::harness::i::Agreement;
use ijk_syntax::{Code, Diagnostic};
use ijk_types::{DType, Monoid, Scalar, scalar};
use std::collections::BTreeSet;

impl Coverage {
    /// Counts the features of a case on which all evaluations agree.
    pub fn note(&mut self, case: &Case, agreement: &Agreement) {
        for code in codes(case) {
            self.count(format!("diagnostic: {code}"));
        }
        match agreement {
            Agreement::Syntax(_) => self.count("outcome: syntax error"),
            Agreement::Beyond(_) => self.count("outcome: beyond a limit, or unused"),
            Agreement::IllFormed(error, _) => {
                self.count("outcome: ill-formed");
                self.count(format!("error: {}", kind(error)));
            }
            Agreement::NoValue(error) => self.count(format!("outcome: {error}")),
            Agreement::Value(evaluation, lowered) => {
                self.count("outcome: value");
                self.size(evaluation.most_points);
                self.program(&case.source);
                self.combinations(&case.source);
                self.lowered(lowered);
                case.inputs.iter().for_each(|input| self.input(input));
                let ranks = evaluation.outputs.iter().map(|o| o.shape.len().min(5));
                ranks.for_each(|rank| self.count(format!("result of rank {rank}")));
                self.count(format!("results: {}", evaluation.outputs.len().min(4)));
            }
        }
    }

    fn input(&mut self, input: &Input) {
        self.layout(&input.layout);
        let found: BTreeSet<&str> = input.value.data.iter().filter_map(|&x| special(x)).collect();
        found.into_iter().for_each(|name| self.count(format!("data: {name}")));
    }

    fn size(&mut self, points: usize) {
        self.count(match points {
            0 => "points: none",
            1..=256 => "points: at most 256",
            257..=10_000 => "points: at most 10000",
            _ => "points: more than 10000",
        });
    }

    fn layout(&mut self, layout: &Layout) {
        let ascending = layout.order.is_sorted();
        let feature = match layout.order.len() {
            0 | 1 => "one axis",
            _ if ascending => "C order",
            _ if layout.order.iter().rev().is_sorted() => "Fortran order",
            _ => "axes permuted",
        };
        self.count(format!("layout: {feature}"));
        for (name, has) in [
            ("gaps", layout.steps.iter().any(|s| s.abs() > 1)),
            ("reversed", layout.steps.iter().any(|s| *s < 0)),
            ("broadcast", layout.steps.contains(&0)),
        ] {
            if has {
                self.count(format!("layout: {name}"));
            }
        }
    }
}

/// Kind of a special number.
fn special(x: Scalar) -> Option<&'static str> {
    let dtype = x.dtype();
    let is = |monoid| x == scalar::identity(monoid, dtype);
    if dtype.is_integer() {
        let least = is(Monoid::Max).then_some("the least integer");
        return least.or(is(Monoid::Min).then_some("the greatest integer"));
    }
    if dtype == DType::Bool {
        return None;
    }
    match x.as_f64() {
        x if x.is_nan() => Some("NaN"),
        f64::INFINITY => Some("infinity"),
        f64::NEG_INFINITY => Some("-infinity"),
        x if x == 0.0 && x.is_sign_negative() => Some("-0.0"),
        _ => None,
    }
}

/// The codes of all diagnostics of a case, without duplicates.
///
/// # Panics
/// If a diagnostic has no code, so that tests could not check it.
pub(crate) fn codes(case: &Case) -> BTreeSet<Code> {
    let compiled = ijk_ir::compile_source(&case.source);
    let mut all = compiled.diagnostics;
    if let Some(program) = &compiled.program {
        let shapes: Vec<(DType, Vec<u64>)> = case.inputs.iter().map(Input::signature).collect();
        let arguments: Vec<(DType, &[u64])> = shapes.iter().map(|(t, s)| (*t, &s[..])).collect();
        all.extend(ijk_ir::instantiate(program, &arguments).err().unwrap_or_default());
    }
    let code = |d: &Diagnostic| d.code.unwrap_or_else(|| panic!("no code: {}", d.message));
    all.iter().map(code).collect()
}

macro_rules! kinds {
    ($($reached:ident)* ; $($never:ident)*) => {
        /// Kinds of errors that cases without syntax errors can have.
        const KINDS: &[&str] = &[$(stringify!($reached)),*];

        fn kind(error: &EvalError) -> &'static str {
            match error {
                $(EvalError::$reached { .. } => stringify!($reached),)*
                $(EvalError::$never { .. } => stringify!($never),)*
            }
        }
    };
}

// Of the others, the grammar excludes all but the last two; those are no fault of a program, or an outcome.
kinds! {
    Unbound Cycle Arity Rank Type Mixed Misplaced NotAffine Dropped Extents State Passes Undetermined
    Bounds NegativeOutput Collision EmptyArg TooLarge Literal;
    Syntax Empty Duplicate NoIndex Core Scalar
}
