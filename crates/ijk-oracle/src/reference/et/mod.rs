//! The literal evaluator of Einsum Tuple: rules 0 to 6 of a statement (docs/language/einsum-tuple.md 2.2), point by
//! point.
//!
//! Of the other crates it uses the surface trees, the meaning of scalar operations and the ranks and extents of eintups
//! in a run ([`Shapes`]); it determines array shapes, element types and skipped points independently.

pub(crate) mod accesses;
pub(crate) mod along;
mod error;
mod index;
mod loops;
mod range;
mod resolve;
mod satisfy;
mod statement;
pub(crate) mod terms;
pub(crate) mod types;
pub(crate) mod variables;

pub use error::EtError;
pub use satisfy::broken;

use crate::{Bounded, Cell, Value};
use ijk_syntax::Function;
use ijk_syntax::et::ast::{AssignOp, Program, Statement, Value as AstValue, ValueFunction};
use ijk_types::DType;
use std::collections::BTreeMap;
use types::WeakArrays;

/// The ranks and extents of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shapes {
    /// The extents of each eintup.
    pub tuples: BTreeMap<String, Vec<u64>>,
    /// Ranks of the places of each array.
    pub places: BTreeMap<String, Vec<usize>>,
}

impl Shapes {
    /// The ranks and extents of a solution, by name.
    pub fn of(checked: &ijk_ir::et::Checked, solution: &ijk_ir::et::Solution) -> Self {
        let tuples = checked.tuples.iter().map(|t| (t.name.clone(), solution.of(t).to_vec()));
        let ranks = |places: &Vec<u32>| places.iter().map(|&rank| rank as usize).collect();
        let places = checked.arrays.iter().zip(&solution.places);
        let places = places.map(|(array, places)| (array.name.clone(), ranks(places)));
        Self { tuples: tuples.collect(), places: places.collect() }
    }
}

/// Results of a program, with the range of results that satisfy the error bounds.
#[derive(Clone, Debug, Default)]
pub struct EtEvaluation {
    /// The last version of every array, inputs included.
    pub arrays: BTreeMap<String, Bounded>,
    /// Names of the results, in their order.
    pub outputs: Vec<String>,
    /// Points of each statement that ran.
    pub points: Vec<PointCount>,
    /// True if some values are f16 or bf16, or a log-add-exp reduces: engines round what reduces these otherwise.
    pub halves: bool,
}

/// Number of points of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PointCount {
    /// All of them.
    pub points: usize,
    /// Points skipped by rule 3.
    pub skipped: usize,
    /// Most points with a common element.
    pub meet: usize,
}

impl EtEvaluation {
    /// The most points of a statement.
    pub fn most_points(&self) -> usize {
        self.points.iter().map(|p| p.points).max().unwrap_or(0)
    }

    /// Notes the element types of the present versions.
    fn note_halves(&mut self) {
        let half = |array: &Bounded| matches!(array.dtype, DType::F16 | DType::BF16);
        self.halves |= self.arrays.values().any(half);
    }

    /// The results, in their order.
    pub fn results(&self) -> impl Iterator<Item = (&String, &Bounded)> {
        self.outputs.iter().map(|name| (name, &self.arrays[name]))
    }
}

/// The arrays that a program computes from the bound ones.
///
/// # Errors
/// If the program is undefined for these shapes and arrays, or a scalar operation fails.
///
/// ```
/// use ijk_oracle::et::{Shapes, evaluate_et};
/// let program = ijk_syntax::et::ast::Program::default();
/// assert!(evaluate_et(&program, &Shapes::default(), &Default::default(), 0).unwrap().outputs.is_empty());
/// ```
pub fn evaluate_et(
    program: &Program,
    shapes: &Shapes,
    bound: &BTreeMap<String, Value>,
    seed: u64,
) -> Result<EtEvaluation, EtError> {
    let rounds = |s: &Statement| s.assign.op == AssignOp::LogAddExp || s.value.any(&is_half_cast);
    let halves = program.statements.iter().any(rounds);
    let mut run = EtEvaluation { halves, ..EtEvaluation::default() };
    let mut weak = WeakArrays::default();
    run.arrays.extend(bound.iter().map(|(name, value)| (name.clone(), exactly(value))));
    run.note_halves();
    let mut assigned: Vec<&str> = Vec::new();
    let mut n = 0;
    while let Some(statement) = program.statements.get(n) {
        let name = &statement.left.array.text[..];
        let first = !assigned.contains(&name);
        if let Some(at) = program.loops.iter().position(|l| l.body.start == n) {
            let body = program.loops[at].body.clone();
            for statement in &program.statements[body.clone()] {
                let name = &statement.left.array.text[..];
                if !assigned.contains(&name) {
                    assigned.push(name);
                }
            }
            let points = loops::run(program, at, shapes, (&mut run.arrays, &mut weak), seed)?;
            run.points.extend(points);
            run.note_halves();
            n = body.end;
            continue;
        }
        if first {
            assigned.push(name);
        }
        let given = first && bound.contains_key(name);
        if statement.declared.is_some() {
            check_declared(statement, bound.get(name).filter(|_| given))?;
        }
        if !given {
            let site = site_of(program, n);
            let known = (&run.arrays, &weak);
            let (array, t, points) = statement::run(statement, shapes, known, seed, site)?;
            run.points.push(points);
            weak.note(name, t);
            run.arrays.insert(name.into(), array);
            run.note_halves();
        }
        n += 1;
    }
    run.outputs = outputs(program);
    match run.outputs.iter().find(|&name| !run.arrays.contains_key(name)) {
        Some(unknown) => Err(EtError::Unknown(unknown.clone())),
        None => Ok(run),
    }
}

/// Returns true for a cast to f16 or bf16.
fn is_half_cast(value: &AstValue) -> bool {
    let half = |f: &ValueFunction| matches!(f.0, Function::CastF16 | Function::CastBf16);
    matches!(value, AstValue::Call { function, .. } if half(function))
}

/// The number of `RANDOM`s in the statements before one.
fn site_of(program: &Program, statement: usize) -> u64 {
    program.statements[..statement].iter().map(|s| terms::sites(&s.value)).sum()
}

/// Checks that a declared array is bound, to elements of its type.
fn check_declared(statement: &Statement, given: Option<&Value>) -> Result<(), EtError> {
    let name = &statement.left.array.text;
    let given = given.ok_or_else(|| EtError::Unknown(name.clone()))?;
    let element = statement.declared.as_ref().and_then(|declared| declared.element.as_ref());
    match element {
        Some(element) if element.text != given.dtype.name().to_uppercase() => {
            Err(EtError::Type(given.dtype))
        }
        _ => Ok(()),
    }
}

/// The listed outputs; without a list, what statements assign.
fn outputs(program: &Program) -> Vec<String> {
    if program.outputs.is_empty() {
        let mut names: Vec<String> = Vec::new();
        for statement in program.statements.iter().filter(|s| s.declared.is_none()) {
            if !names.contains(&statement.left.array.text) {
                names.push(statement.left.array.text.clone());
            }
        }
        return names;
    }
    program.outputs.iter().map(|name| name.text.clone()).collect()
}

fn exactly(value: &Value) -> Bounded {
    let cells = value.data.iter().copied().map(Cell::exact).collect();
    Bounded { dtype: value.dtype, shape: value.shape.clone(), cells }
}
