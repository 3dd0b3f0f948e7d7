//! Comparison of evaluator, lowering and engines on a program.

use crate::generate::et::EtCase;
use crate::harness::i::SMALL_DOMAIN;
use crate::harness::shifts::fits_shifts;
use crate::reference::et::accesses::accesses;
use crate::reference::et::{EtError, EtEvaluation, Shapes, broken, evaluate_et};
use crate::reference::value::integer;
use crate::{Bounded, EvalError, Value, interpret, interpret_loop, same_bits};
use ijk_ir::et::lower::{Lowering, Stage, Step, Wanted};
use ijk_ir::et::{Checked, Origin, Overrides, Solution, infer, random};
use ijk_syntax::et::ast::{Access, Index, Program};
use ijk_syntax::{Diagnostic, Severity};
use ijk_types::DType;
use std::collections::BTreeMap;
use thiserror::Error;

/// Arrays by name.
pub type Arrays = BTreeMap<String, Value>;

/// An engine that runs programs: returns the results, or an error message.
pub type Run<'a> = dyn FnMut(&EtCase) -> Result<Arrays, String> + 'a;

/// A solver of ranks and extents for a program and its arrays.
pub type Solve<'a> = dyn FnMut(&EtCase, &Checked) -> Result<Solution, Vec<Diagnostic>> + 'a;

/// An engine under test.
pub struct EtContender<'a> {
    /// Its name in messages.
    pub who: &'static str,
    /// Engines of one group must agree bitwise: they run the same instructions.
    pub group: u64,
    /// The engine.
    pub run: Box<Run<'a>>,
}

impl<'a> EtContender<'a> {
    /// An engine of a group.
    pub fn new(
        who: &'static str,
        group: u64,
        run: impl FnMut(&EtCase) -> Result<Arrays, String> + 'a,
    ) -> Self {
        Self { who, group, run: Box::new(run) }
    }
}

/// Disagreement between evaluations of a case.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{who}: {what}")]
pub struct EtDisagreement {
    /// The evaluation that is wrong.
    pub who: &'static str,
    /// The difference.
    pub what: String,
}

fn disagree<T>(who: &'static str, what: impl Into<String>) -> Result<T, EtDisagreement> {
    Err(EtDisagreement { who, what: what.into() })
}

/// A program with ranks, extents and its lowered form.
#[derive(Clone, Debug)]
pub struct Solved {
    /// The program.
    pub checked: Checked,
    /// Its ranks and extents.
    pub shapes: Shapes,
    /// Its lowered form.
    pub stages: Vec<Stage>,
    /// Warnings of the checker.
    pub warnings: Vec<Diagnostic>,
}

/// Outcome of a case on which all evaluations agree.
#[derive(Clone, Debug)]
pub enum EtAgreement {
    /// The text has syntax errors.
    Syntax(Vec<Diagnostic>),
    /// The checker reports errors.
    IllFormed(Vec<Diagnostic>),
    /// There are no ranks and extents, or too many.
    Unsolved(Vec<Diagnostic>),
    /// It is undefined for these types and sizes, and the lowering refuses it, too.
    Refused(EtError, Vec<Diagnostic>),
    /// A scalar operation fails.
    NoValue(EtError, Box<Solved>),
    /// It has a value.
    Value(EtEvaluation, Box<Solved>),
}

fn errors(diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
    diagnostics.iter().filter(|d| d.severity == Severity::Error).cloned().collect()
}

fn messages(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|d| &d.message[..]).collect::<Vec<_>>().join("; ")
}

/// Ranks and extents as the facade finds them; drawn extents give a statement at most `points` points.
///
/// # Errors
/// Errors of the solver.
pub fn solve(case: &EtCase, checked: &Checked, points: u64) -> Result<Solution, Vec<Diagnostic>> {
    let shape = |name: &str| {
        let input = case.bound.get(name)?;
        Some(input.value.shape.iter().map(|&n| n as u64).collect())
    };
    let arrays = checked.arrays.iter().enumerate();
    let bound: Vec<(usize, Vec<u64>)> =
        arrays.filter_map(|(at, array)| Some((at, shape(&array.name)?))).collect();
    let overrides = Overrides { dims: case.dims.clone(), ranks: case.ranks.clone() };
    match bound.is_empty() {
        true => random(checked, &overrides, case.seed, points),
        false => infer(checked, &bound, &overrides),
    }
}

/// Compares all evaluations of a case.
///
/// # Errors
/// If they disagree.
pub fn compare(
    case: &EtCase,
    solve: &mut Solve<'_>,
    engines: &mut [EtContender<'_>],
) -> Result<EtAgreement, EtDisagreement> {
    let (tree, diagnostics) = ijk_syntax::et::parse(&case.source);
    let syntax = errors(&diagnostics);
    if !syntax.is_empty() {
        fail_all(case, engines, "the text does not parse")?;
        return Ok(EtAgreement::Syntax(syntax));
    }
    let (checked, mut diagnostics) = ijk_ir::et::check(&case.source, tree);
    let Some(checked) = checked.filter(|_| errors(&diagnostics).is_empty()) else {
        fail_all(case, engines, "it is ill-formed")?;
        return match errors(&diagnostics).is_empty() {
            true => disagree("checking", "nothing is wrong, but there is no program"),
            false => Ok(EtAgreement::IllFormed(diagnostics)),
        };
    };
    let bindable = |name: &String| {
        let array = checked.arrays.iter().find(|array| array.name == *name);
        array.is_some_and(|array| array.origin != Origin::Computed)
    };
    if let Some(name) = case.bound.keys().find(|name| !bindable(name)) {
        fail_all(case, engines, "an array is bound to a name that takes none")?;
        return Ok(EtAgreement::Refused(EtError::Unknown(name.clone()), Vec::new()));
    }
    let solution = match solve(case, &checked) {
        Ok(solution) => solution,
        Err(more) => {
            fail_all(case, engines, "there is no solution")?;
            diagnostics.extend(more);
            return Ok(EtAgreement::Unsolved(diagnostics));
        }
    };
    let shapes = Shapes::of(&checked, &solution);
    check_solution(case, &checked, &shapes)?;
    let truth = evaluate_et(&checked.program, &shapes, &case.values(), case.seed);
    // Limits on sizes differ between evaluations: a program that is too large here is not run elsewhere.
    if let Err(error @ EtError::TooLarge) = truth {
        diagnostics.extend(refusal(&checked, &solution, &case.values(), case.seed));
        return Ok(EtAgreement::Refused(error, diagnostics));
    }
    let lowered = run_lowered(&checked, &solution, &case.values(), case.seed);
    let found = Solved { checked, shapes, stages: Vec::new(), warnings: diagnostics };
    agree(case, truth, lowered, found, engines)
}

fn agree(
    case: &EtCase,
    truth: Result<EtEvaluation, EtError>,
    lowered: Result<(Arrays, Vec<Stage>), Failure>,
    found: Solved,
    engines: &mut [EtContender<'_>],
) -> Result<EtAgreement, EtDisagreement> {
    let warnings = found.warnings.clone();
    let solved = |stages| Box::new(Solved { stages, ..found });
    let refused = |error, said: Vec<Diagnostic>| {
        EtAgreement::Refused(error, [warnings.clone(), said].concat())
    };
    match (truth, lowered) {
        (Ok(truth), Ok((arrays, stages))) => {
            same_results("the interpreter", &truth, &arrays, true)?;
            agree_on_values(case, &truth, engines)?;
            Ok(EtAgreement::Value(truth, solved(stages)))
        }
        (
            Err(error @ EtError::Value(EvalError::Scalar(_))),
            Err(Failure::NoValue(EvalError::Scalar(_), stages)),
        ) => {
            fail_all(case, engines, &error.to_string())?;
            Ok(EtAgreement::NoValue(error, solved(stages)))
        }
        (Err(error), Err(Failure::Refused(diagnostics))) => {
            fail_all(case, engines, &error.to_string())?;
            Ok(refused(error, diagnostics))
        }
        (Ok(_), Err(Failure::Refused(diagnostics))) if in_wrong_order(&diagnostics) => {
            fail_all(case, engines, "it reads what a later pass assigns")?;
            Ok(refused(EtError::Order, diagnostics))
        }
        (Ok(_), Err(Failure::Refused(diagnostics))) if beyond_limits(case, &diagnostics) => {
            Ok(refused(EtError::TooLarge, diagnostics))
        }
        (Ok(_), Err(failure)) => {
            disagree("the lowering", format!("says {failure}, but it has a value"))
        }
        (Err(error), Ok(_)) => disagree("the lowering", format!("takes it, but {error}")),
        (Err(error), Err(failure)) => {
            disagree("the lowering", format!("says {failure}, where {error} is right"))
        }
    }
}

/// Returns true if an error is of reads of elements that no pass before has assigned, where the evaluator finds the
/// identity, or of extents that change in a loop, where it takes those of the pass. Others may follow from that.
fn in_wrong_order(diagnostics: &[Diagnostic]) -> bool {
    let late = |d: &Diagnostic| {
        d.code.is_some_and(|code| ["later-pass", "loop-extent"].contains(&code.name()))
    };
    errors(diagnostics).iter().any(late)
}

/// Returns true if a limit is reported that the evaluator does not have. Only programs that are long or contain huge
/// numbers may exceed those of index expressions.
fn beyond_limits(case: &EtCase, diagnostics: &[Diagnostic]) -> bool {
    let digits = case.source.split(|c: char| !c.is_ascii_digit()).map(str::len).max();
    let huge = case.source.len() > 1000 || digits > Some(9);
    diagnostics.iter().filter_map(|d| d.code).any(|code| match code.name() {
        "index-nested" | "index-overflow" => huge,
        name => name.contains("too-"),
    })
}

fn fail_all(
    case: &EtCase,
    engines: &mut [EtContender<'_>],
    why: &str,
) -> Result<(), EtDisagreement> {
    for EtContender { who, run, .. } in engines {
        if run(case).is_ok() {
            return disagree(who, format!("gives a value, but {why}"));
        }
    }
    Ok(())
}

/// Checks that ranks and extents satisfy the constraints and match the ranks of the bound arrays.
fn check_solution(case: &EtCase, checked: &Checked, shapes: &Shapes) -> Result<(), EtDisagreement> {
    if let Some(constraint) = broken(&checked.program.constraints, shapes, !case.bound.is_empty()) {
        let text = &case.source[constraint.span.start as usize..constraint.span.end as usize];
        return disagree("the solver", format!("`{text}` does not hold with {:?}", shapes.tuples));
    }
    for (name, input) in &case.bound {
        let rank = shapes.places.get(name).map(|places| places.iter().sum());
        if rank.is_some_and(|rank: usize| rank != input.value.shape.len()) {
            return disagree(
                "the solver",
                format!("`{name}` has places {:?}", shapes.places[name]),
            );
        }
        check_extents(case, (name, &input.value.shape), checked, shapes)?;
    }
    Ok(())
}

/// Checks that the extents of a bound array are those of the eintup that sizes a place; for an input, of the first that
/// is a whole index there.
fn check_extents(
    case: &EtCase,
    (name, shape): (&str, &[usize]),
    checked: &Checked,
    shapes: &Shapes,
) -> Result<(), EtDisagreement> {
    let mut axis = 0;
    for (place, &rank) in shapes.places.get(name).into_iter().flatten().enumerate() {
        let here = &shape[axis..axis + rank];
        axis += rank;
        let Some(tuple) = standing(&checked.program, name, place) else { continue };
        let extents = &shapes.tuples[tuple];
        let same = extents.iter().copied().eq(here.iter().map(|&n| n as u64));
        if !same && !fits_shifts(case, (checked, shapes), (name, place, here), tuple) {
            return disagree("the solver", format!("`{name}` has {here:?}, `{tuple}` {extents:?}"));
        }
    }
    Ok(())
}

/// The first eintup that is a whole index at a place of an array: for a drawn one, in the statement that sizes it; for
/// an input, anywhere.
pub(crate) fn standing<'p>(program: &'p Program, name: &'p str, place: usize) -> Option<&'p str> {
    let first = program.statements.iter().find(|s| s.left.array.text == name);
    let accesses: Vec<&Access> = match first {
        Some(statement) => vec![&statement.left],
        None => program.statements.iter().flat_map(accesses).collect(),
    };
    let mut own = accesses.into_iter().filter(|access| access.array.text == name);
    let plain = |access: &'p Access| match access.indices.get(place) {
        Some(Index::Tuple(tuple)) => Some(&tuple.text[..]),
        _ => None,
    };
    own.find_map(plain)
}

fn agree_on_values(
    case: &EtCase,
    truth: &EtEvaluation,
    engines: &mut [EtContender<'_>],
) -> Result<(), EtDisagreement> {
    // Engines round what reduces narrow floating-point numbers once.
    let small = truth.most_points() <= SMALL_DOMAIN && !truth.halves;
    let mut firsts: BTreeMap<u64, Arrays> = BTreeMap::new();
    for EtContender { who, group, run } in engines {
        let found = match run(case) {
            Ok(found) => found,
            Err(error) => return disagree(who, format!("says {error}, but there is a value")),
        };
        same_results(who, truth, &found, small)?;
        match firsts.get(group) {
            Some(first) => same_as_first(who, first, &found)?,
            None => drop(firsts.insert(*group, found)),
        }
    }
    Ok(())
}

fn same_results(
    who: &'static str,
    truth: &EtEvaluation,
    found: &Arrays,
    bits: bool,
) -> Result<(), EtDisagreement> {
    for (name, truth) in truth.results() {
        let Some(found) = found.get(name) else { return disagree(who, format!("no `{name}`")) };
        same_array(who, name, truth, found, bits)?;
    }
    Ok(())
}

fn same_array(
    who: &'static str,
    name: &str,
    truth: &Bounded,
    found: &Value,
    bits: bool,
) -> Result<(), EtDisagreement> {
    let describe = |dtype: DType, shape: &[usize]| format!("{dtype}{shape:?}");
    let expected = describe(truth.dtype, &truth.shape);
    let described = describe(found.dtype, &found.shape);
    if expected != described || found.data.len() != truth.cells.len() {
        return disagree(who, format!("`{name}` is {described}, and should be {expected}"));
    }
    let right = |at: usize| match bits {
        true => same_bits(truth.cells[at].value, found.data[at]),
        false => truth.cells[at].admits(found.data[at]),
    };
    match (0..found.data.len()).find(|&at| !right(at)) {
        None => Ok(()),
        Some(at) => {
            let (is, cell) = (found.data[at], truth.cells[at]);
            disagree(who, format!("element {at} of `{name}` is {is:?}, and should be {cell:?}"))
        }
    }
}

fn same_as_first(who: &'static str, first: &Arrays, found: &Arrays) -> Result<(), EtDisagreement> {
    for (name, first) in first {
        let same = found.get(name).is_some_and(|found| found.same(first));
        if !same {
            return disagree(
                who,
                format!("`{name}` differs from that of the first engine of its level"),
            );
        }
    }
    Ok(())
}

/// Error of running a lowered program.
#[derive(Clone, Debug, Error)]
pub enum Failure {
    /// The lowering reports errors.
    #[error("{}", messages(.0))]
    Refused(Vec<Diagnostic>),
    /// A scalar operation fails.
    #[error("{0}")]
    NoValue(EvalError, Vec<Stage>),
}

/// Errors that the lowering reports before anything runs.
fn refusal(checked: &Checked, solution: &Solution, bound: &Arrays, seed: u64) -> Vec<Diagnostic> {
    let lowering = Lowering::new(checked, solution, &described(checked, bound), seed);
    lowering.and_then(|mut lowering| lowering.step()).err().unwrap_or_default()
}

/// The types and shapes of the arrays that are bound.
fn described(checked: &Checked, bound: &Arrays) -> Vec<Option<(DType, Vec<u64>)>> {
    let shape = |value: &Value| value.shape.iter().map(|&n| n as u64).collect();
    let described = |name| bound.get(name).map(|value| (value.dtype, shape(value)));
    checked.arrays.iter().map(|array| described(&array.name)).collect()
}

/// Lowers a program and interprets the lowered form.
///
/// # Errors
/// [`Failure`].
pub fn run_lowered(
    checked: &Checked,
    solution: &Solution,
    bound: &Arrays,
    seed: u64,
) -> Result<(Arrays, Vec<Stage>), Failure> {
    let mut versions: Vec<Option<Value>> =
        checked.arrays.iter().map(|array| bound.get(&array.name).cloned()).collect();
    let mut lowering = Lowering::new(checked, solution, &described(checked, bound), seed)
        .map_err(Failure::Refused)?;
    let mut stages = Vec::new();
    while let Some(step) = lowering.step().map_err(Failure::Refused)? {
        match step {
            Step::Run(stage) => {
                let inputs: Vec<Value> = stage
                    .inputs
                    .iter()
                    .map(|&at| versions[at].clone().expect("a version that is read"))
                    .collect();
                let results = interpret(&stage.program, &stage.instance, &inputs);
                let outputs = stage.outputs.clone();
                stages.push(*stage);
                match results {
                    Ok(results) => outputs.iter().zip(results).for_each(|(&at, result)| {
                        versions[at] = Some(result);
                    }),
                    Err(error) => return Err(Failure::NoValue(error, stages)),
                }
            }
            Step::Loop(stage) => {
                let own = stage.arrays.iter().flatten();
                let mut arrays: Vec<Value> = own
                    .clone()
                    .map(|&at| versions[at].clone().expect("a version that is read"))
                    .collect();
                if let Err(error) = interpret_loop(&stage.program, &mut arrays) {
                    return Err(Failure::NoValue(error, stages));
                }
                own.zip(arrays).for_each(|(&at, array)| versions[at] = Some(array));
            }
            Step::Tell(wanted) => {
                let array = versions[wanted.array].as_ref().expect("a version that is asked for");
                lowering.tell(wanted, &ranges(array, wanted));
            }
        }
    }
    let named = checked.arrays.iter().zip(versions);
    let named = named.filter_map(|(array, version)| Some((array.name.clone(), version?)));
    Ok((named.collect(), stages))
}

/// Minimum and maximum of an array of integers, for each index of an axis or in total.
fn ranges(array: &Value, wanted: Wanted) -> Vec<Option<(i64, i64)>> {
    let axis = wanted.axis.map(|axis| axis as usize);
    let count = axis.map_or(1, |axis| array.shape[axis]);
    let mut ranges: Vec<Option<(i64, i64)>> = vec![None; count];
    let inner: usize = axis.map_or(1, |axis| array.shape[axis + 1..].iter().product());
    for (at, element) in array.data.iter().enumerate() {
        let part = axis.map_or(0, |_| at / inner % count);
        let Some(x) = integer(*element) else { continue };
        let (least, greatest) = ranges[part].unwrap_or((x, x));
        ranges[part] = Some((least.min(x), greatest.max(x)));
    }
    ranges
}
