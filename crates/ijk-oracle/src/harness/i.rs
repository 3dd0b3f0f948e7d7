//! Comparison of surface evaluator, core interpreter and engines on a case.

use super::stages;
use crate::generate::Input;
use crate::generate::i::Case;
use crate::{EvalError, Evaluation, Value, evaluate_bounded, interpret};
use ijk_ir::core::{Instance, Program, Statement};
use ijk_syntax::ast::{self, NodeKind};
use ijk_syntax::{Code, Diagnostic, Severity};
use ijk_types::{DType, Monoid, Reducer};
use std::collections::BTreeMap;
use thiserror::Error;

/// Largest domain whose statements combine values in lexicographic order.
pub(crate) const SMALL_DOMAIN: usize = 256;

/// An engine that runs lowered programs: returns the results, or an error message.
pub type Engine<'a> = dyn FnMut(&Lowered, &[Input]) -> Result<Vec<Value>, String> + 'a;

/// An engine under test.
pub struct Contender<'a> {
    /// Its name in messages.
    pub who: &'static str,
    /// Contenders of one group must agree bitwise: they use the same layouts of results and the same instructions.
    pub group: u64,
    /// True if it evaluates values as written.
    pub strict: bool,
    /// True if it runs programs with loops.
    pub loops: bool,
    /// The engine.
    pub run: Box<Engine<'a>>,
}

impl<'a> Contender<'a> {
    /// An engine of a group.
    pub fn new(
        who: &'static str,
        group: u64,
        run: impl FnMut(&Lowered, &[Input]) -> Result<Vec<Value>, String> + 'a,
    ) -> Self {
        Self { who, group, strict: false, loops: false, run: Box::new(run) }
    }

    /// The same engine, which evaluates values as written.
    #[must_use]
    pub fn strict(self) -> Self {
        Self { strict: true, ..self }
    }

    /// The same engine, which runs programs with loops, too.
    #[must_use]
    pub fn with_loops(self) -> Self {
        Self { loops: true, ..self }
    }

    fn takes(&self, lowered: &Lowered) -> bool {
        self.loops || lowered.program.loops.is_empty()
    }
}

/// A compiled program that matches its arguments.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The program.
    pub program: Program,
    /// Types and shapes of the arguments.
    pub instance: Instance,
    /// The source.
    pub source: String,
}

/// Disagreement between evaluations of a case.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Disagreement {
    /// The compiler rejects a program that has a value.
    #[error("the compiler refuses it: {0}")]
    Refused(String),
    /// The compiler accepts a program that has no value.
    #[error("the compiler takes it, but it means nothing: {0}")]
    Taken(EvalError),
    /// One evaluation fails.
    #[error("{who} says {found}, where {expected} is right")]
    Failure {
        /// The evaluation.
        who: &'static str,
        /// Its message.
        found: String,
        /// The surface evaluator's message.
        expected: String,
    },
    /// A result has the wrong type or shape.
    #[error("{who}: result {result} is {found}, and should be {expected}")]
    Shape {
        /// The evaluation.
        who: &'static str,
        /// The result, from 0.
        result: usize,
        /// Its type and shape.
        found: String,
        /// Expected type and shape.
        expected: String,
    },
    /// An element is wrong.
    #[error("{who}: element {at} of result {result} is {found}, and should be {expected}")]
    Element {
        /// The evaluation.
        who: &'static str,
        /// The result, from 0.
        result: usize,
        /// Position of the element in C order.
        at: usize,
        /// Actual value.
        found: String,
        /// Expected value.
        expected: String,
    },
}

/// Outcome of a case on which all evaluations agree.
#[derive(Clone, Debug)]
pub enum Agreement {
    /// The text has syntax errors.
    Syntax(Vec<Diagnostic>),
    /// The compiler rejects parts that the surface evaluator does not check: an unused binding, or a size beyond a
    /// limit.
    Beyond(Vec<Diagnostic>),
    /// It is undefined, and the compiler rejects it, too, with these diagnostics.
    IllFormed(EvalError, Vec<Diagnostic>),
    /// A scalar operation fails.
    NoValue(EvalError),
    /// It has a value.
    Value(Evaluation, Box<Lowered>),
}

fn errors(diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
    diagnostics.iter().filter(|d| d.severity == Severity::Error).cloned().collect()
}

fn messages(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|d| &d.message[..]).collect::<Vec<_>>().join("; ")
}

/// Compares all evaluations of a case.
///
/// # Errors
/// If they disagree.
pub fn compare(case: &Case, engines: &mut [Contender]) -> Result<Agreement, Disagreement> {
    let (tree, diagnostics) = ijk_syntax::parse(&case.source);
    let syntax = errors(&diagnostics);
    if !syntax.is_empty() {
        return Ok(Agreement::Syntax(syntax));
    }
    let values = case.values();
    let lowered = match lower(&tree, case) {
        // The surface evaluator has limits of its own, and may take long to reach them.
        Err(diagnostics) if has_any(&diagnostics, ijk_ir::codes::LIMITS) => {
            return Ok(Agreement::Beyond(diagnostics));
        }
        lowered => lowered,
    };
    match (evaluate_bounded(&tree, &values), lowered) {
        (Ok(truth), Ok(lowered)) => {
            agree_on_values(case, &truth, &lowered, engines)?;
            Ok(Agreement::Value(truth, Box::new(lowered)))
        }
        (Err(error @ EvalError::Scalar(_)), Ok(lowered)) => {
            agree_on_failure(case, &error, &lowered, engines)?;
            Ok(Agreement::NoValue(error))
        }
        // Limits on sizes differ between evaluations.
        (Err(error @ EvalError::TooLarge), Ok(_)) => Ok(Agreement::IllFormed(error, Vec::new())),
        (Err(error), Ok(_)) => Err(Disagreement::Taken(error)),
        (Err(error), Err(diagnostics)) => Ok(Agreement::IllFormed(error, diagnostics)),
        // Unused bindings are checked, but never evaluated.
        (Ok(_), Err(diagnostics))
            if has_unused(&tree) || has_any(&diagnostics, ijk_ir::codes::SIZES) =>
        {
            Ok(Agreement::Beyond(diagnostics))
        }
        (Ok(_), Err(diagnostics)) => Err(Disagreement::Refused(messages(&diagnostics))),
    }
}

fn has_any(diagnostics: &[Diagnostic], codes: &[Code]) -> bool {
    diagnostics.iter().any(|d| d.code.is_some_and(|code| codes.contains(&code)))
}

fn lower(tree: &ast::Program, case: &Case) -> Result<Lowered, Vec<Diagnostic>> {
    let compiled = ijk_ir::compile(tree, &case.source);
    let program = compiled.program.ok_or_else(|| errors(&compiled.diagnostics))?;
    let shapes: Vec<(DType, Vec<u64>)> = case.inputs.iter().map(Input::signature).collect();
    let arguments: Vec<(DType, &[u64])> = shapes.iter().map(|(t, s)| (*t, &s[..])).collect();
    let instance = ijk_ir::instantiate(&program, &arguments)?;
    Ok(Lowered { program, instance, source: case.source.clone() })
}

fn has_unused(tree: &ast::Program) -> bool {
    let used = |name: &str| {
        tree.nodes.iter().any(|node| matches!(&node.kind, NodeKind::Name(other) if other == name))
    };
    let value = tree.value().map(|item| item.value);
    let names = tree.items.iter().filter(|item| Some(item.value) != value);
    names.filter_map(|item| item.name.as_ref()).any(|name| !used(&name.text))
}

fn agree_on_failure(
    case: &Case,
    error: &EvalError,
    lowered: &Lowered,
    engines: &mut [Contender],
) -> Result<(), Disagreement> {
    let expected = error.to_string();
    let failure = |who, found: &str| {
        let expected = expected.clone();
        Err(Disagreement::Failure { who, found: found.into(), expected })
    };
    if let Ok(_) | Err(EvalError::Core(_)) = interpreted(lowered, case) {
        return failure("the interpreter", "there is a value");
    }
    for engine in engines.iter_mut().filter(|engine| engine.takes(lowered)) {
        if (engine.run)(lowered, &case.inputs).is_ok() {
            return failure(engine.who, "there is a value");
        }
    }
    Ok(())
}

fn interpreted(lowered: &Lowered, case: &Case) -> Result<Vec<Value>, EvalError> {
    interpret(&lowered.program, &lowered.instance, &case.values())
}

fn agree_on_values(
    case: &Case,
    truth: &Evaluation,
    lowered: &Lowered,
    engines: &mut [Contender],
) -> Result<(), Disagreement> {
    let failure =
        |who, found: String| Disagreement::Failure { who, found, expected: "a value".into() };
    let literal = interpreted(lowered, case)
        .map_err(|error| failure("the interpreter", error.to_string()))?;
    same_results("the interpreter", truth, &literal, Requirement::Bits)?;
    agree_on_loops(case, truth, lowered)?;
    // Engines round what reduces narrow floating-point numbers once, and take log-sum-exps relative to the greatest.
    let half = |t: &DType| matches!(t, DType::F16 | DType::BF16);
    let log_sum = |s: &Statement| s.reduce == Some(Reducer::Monoid(Monoid::LogAddExp));
    let otherwise =
        lowered.instance.dtypes.iter().any(half) || lowered.program.statements.iter().any(log_sum);
    let small = truth.most_points <= SMALL_DOMAIN && !otherwise;
    let mut firsts: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    for contender in engines.iter_mut().filter(|engine| engine.takes(lowered)) {
        let Contender { who, group, strict, run, .. } = contender;
        let found = run(lowered, &case.inputs).map_err(|found| failure(who, found))?;
        let precision = match (small, strict) {
            (true, _) => Requirement::Bits,
            (_, true) => Requirement::AsWritten,
            _ => Requirement::Bounds,
        };
        same_results(who, truth, &found, precision)?;
        match firsts.get(group) {
            Some(first) => same_as_first(who, first, &found)?,
            None => drop(firsts.insert(*group, found)),
        }
    }
    Ok(())
}

/// Compares the stages of a program with loops, and its passes written out.
fn agree_on_loops(case: &Case, truth: &Evaluation, lowered: &Lowered) -> Result<(), Disagreement> {
    let Lowered { program, instance, .. } = lowered;
    if program.loops.is_empty() {
        return Ok(());
    }
    let values = case.values();
    let staged = Some(stages::by_stages(program, instance, &values));
    let written = stages::written_out(program, instance, &values);
    for (who, found) in [("the stages", staged), ("the passes written out", written)] {
        let Some(found) = found else { continue };
        let expected = "a value".to_owned();
        let found = found.map_err(|error| {
            let found = error.to_string();
            Disagreement::Failure { who, found, expected }
        })?;
        same_results(who, truth, &found, Requirement::Bits)?;
    }
    Ok(())
}

/// Required precision of results.
#[derive(Clone, Copy, PartialEq)]
enum Requirement {
    /// Bitwise equality with the value in the specified order.
    Bits,
    /// Within the stated error bounds.
    AsWritten,
    /// Within the stated error bounds, with factors of a reduction in any order.
    Bounds,
}

fn same_results(
    who: &'static str,
    truth: &Evaluation,
    found: &[Value],
    precision: Requirement,
) -> Result<(), Disagreement> {
    if truth.outputs.len() != found.len() {
        let (found, expected) = (found.len().to_string(), truth.outputs.len().to_string());
        return Err(Disagreement::Failure { who, found, expected });
    }
    for (result, (truth, found)) in truth.outputs.iter().zip(found).enumerate() {
        let describe = |dtype: DType, shape: &[usize]| format!("{dtype}{shape:?}");
        let expected = describe(truth.dtype, &truth.shape);
        let described = describe(found.dtype, &found.shape);
        if expected != described || found.data.len() != truth.cells.len() {
            return Err(Disagreement::Shape { who, result, found: described, expected });
        }
        let right = |at: usize| match precision {
            Requirement::Bits => crate::same_bits(truth.cells[at].value, found.data[at]),
            Requirement::AsWritten => truth.cells[at].admits_as_written(found.data[at]),
            Requirement::Bounds => truth.cells[at].admits(found.data[at]),
        };
        if let Some(at) = (0..found.data.len()).find(|&at| !right(at)) {
            let expected = match precision {
                Requirement::Bits => format!("{:?}", truth.cells[at].value),
                Requirement::AsWritten | Requirement::Bounds => format!("{:?}", truth.cells[at]),
            };
            let found = format!("{:?}", found.data[at]);
            return Err(Disagreement::Element { who, result, at, found, expected });
        }
    }
    Ok(())
}

fn same_as_first(who: &'static str, first: &[Value], found: &[Value]) -> Result<(), Disagreement> {
    for (result, (first, found)) in first.iter().zip(found).enumerate() {
        let differs = |&at: &usize| !crate::same_bits(first.data[at], found.data[at]);
        if let Some(at) = (0..found.data.len()).find(differs) {
            let expected = format!("{:?} as otherwise", first.data[at]);
            let found = format!("{:?}", found.data[at]);
            return Err(Disagreement::Element { who, result, at, found, expected });
        }
    }
    Ok(())
}
