//! Loops: element types that all passes agree on, then one update for each statement, and one for several where these
//! can run together.
//!
//! Arrays that a loop assigns have all their elements before it: those of before, or the identity. Its passes change
//! windows of them.

mod body;
mod group;
mod kept;
mod messages;
mod order;
mod types;
mod view;

pub use kept::KeptPasses;

use super::known::Version;
use super::scope::Scope;
use super::stage::StageBuilder;
use super::statement::monoid;
use super::{Lowering, accesses, variables};
use crate::core::{
    Axis, IndexExpr, Init, LoopArray, LoopProgram, ScalarExpr, ScalarId, ScalarNode, Statement,
    TypeTerm,
};
use crate::et::lower::accesses::AccessUse;
use crate::sink::Sink;
use ijk_syntax::Diagnostic;
use ijk_types::{DType, Literal, Monoid, Reducer, UnaryOp};
use std::ops::Range;

/// A loop to be run on versions of a program's arrays, which it changes.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopStage {
    /// The loop.
    pub program: LoopProgram,
    /// For each array of the loop which array it is the current version of: a position in
    /// [`Checked::arrays`](crate::et::Checked::arrays); none for arrays of its own.
    pub arrays: Vec<Option<usize>>,
    /// Arrays of which only the last passes are kept: they are the loop's own.
    pub kept: Vec<KeptPasses>,
}

/// The arrays of a loop as they are found.
struct LoopArrays {
    arrays: Vec<LoopArray>,
    surface: Vec<Option<usize>>,
}

impl LoopArrays {
    /// The position of an array of the program.
    fn of(&mut self, array: usize, version: &Version) -> usize {
        if let Some(at) = self.surface.iter().position(|own| *own == Some(array)) {
            return at;
        }
        let dtype = version.dtype().unwrap_or(DType::F64);
        let shape = version.shape.clone().unwrap_or_default();
        self.surface.push(Some(array));
        self.arrays.push(LoopArray { dtype, shape, changes: false, local: false });
        self.arrays.len() - 1
    }

    /// A new array of one bool.
    fn flag(&mut self) -> usize {
        self.surface.push(None);
        let (dtype, shape) = (DType::Bool, Vec::new());
        self.arrays.push(LoopArray { dtype, shape, changes: true, local: true });
        self.arrays.len() - 1
    }
}

impl<'a> Lowering<'a> {
    /// Lowers the outermost loop that starts at the next statement.
    pub(super) fn lower_loop(&mut self, at: usize) -> Result<(), Vec<Diagnostic>> {
        let checked = self.known.checked;
        let body = checked.program.loops[at].body.clone();
        let assigned = self.assigned(&body);
        self.check_extents(&body, &assigned);
        let before: Vec<Option<Version>> =
            assigned.iter().map(|&array| self.known.versions[array].clone()).collect();
        self.settle_types(&body, &assigned, &before);
        if self.errors.errors() == 0 {
            for (&array, before) in assigned.iter().zip(before.clone()) {
                self.start(array, before, &body);
            }
        }
        let mut prologue = self.flush()?;
        let mut found = LoopArrays { arrays: Vec::new(), surface: Vec::new() };
        let root = self.looped(at, &mut found);
        let started = assigned.iter().zip(&before).filter(|(_, before)| before.is_none());
        let started: Vec<usize> = started.map(|(array, _)| *array).collect();
        if self.errors.errors() == 0 {
            self.judge_order(&body, &started);
        }
        if self.errors.errors() > 0 {
            return Err(std::mem::take(&mut self.errors).finish());
        }
        for array in assigned {
            let version = self.known.versions[array].clone().unwrap_or_default();
            let position = found.of(array, &version);
            found.arrays[position].changes = true;
            // Ranges of its elements are those of before.
            self.known.replace(array, version);
        }
        let source = checked.source.clone();
        let mut program = LoopProgram { source, arrays: found.arrays, root };
        let kept = self.keep_last(&mut program, &mut found.surface, &started, &body);
        if let Some(super::Step::Run(stage)) = &mut prologue {
            let is_kept = |array: &usize| kept.iter().any(|own| own.array == *array);
            without(stage, is_kept);
        }
        let empty = |step: &super::Step| matches!(step, super::Step::Run(stage) if stage.outputs.is_empty());
        self.ready.extend(prologue.filter(|step| !empty(step)));
        #[cfg(debug_assertions)]
        verify(&program);
        let stage = LoopStage { program, arrays: found.surface, kept };
        self.ready.push_back(super::Step::Loop(Box::new(stage)));
        Ok(())
    }

    /// Makes arrays that start in the loop, and that nothing reads behind it, the loop's own where few passes are needed.
    fn keep_last(
        &self,
        program: &mut LoopProgram,
        surface: &mut [Option<usize>],
        started: &[usize],
        body: &Range<usize>,
    ) -> Vec<KeptPasses> {
        let checked = self.known.checked;
        let live = self.live_from(body.end);
        let needed = |array: usize| live[array] || !started.contains(&array);
        let is_zero = |array: usize| {
            let mut own = checked.program.statements[body.clone()].iter();
            let first = own.find(|s| checked.array(&s.left.array.text) == Some(array));
            first.is_some_and(|s| matches!(monoid(s.assign.op), Monoid::Add | Monoid::Or))
        };
        kept::keep_last_passes(program, surface, needed, is_zero)
    }

    /// The arrays that statements assign, in the order of the first that does.
    fn assigned(&self, body: &Range<usize>) -> Vec<usize> {
        let checked = self.known.checked;
        let mut found = Vec::new();
        for statement in &checked.program.statements[body.clone()] {
            let array = checked.array(&statement.left.array.text);
            found.extend(array.filter(|array| !found.contains(array)));
        }
        found
    }

    /// Reports extents that elements decide which the loop assigns.
    fn check_extents(&mut self, body: &Range<usize>, assigned: &[usize]) {
        let checked = self.known.checked;
        for n in body.clone() {
            let statement = &checked.program.statements[n];
            let array = checked.array(&statement.left.array.text);
            let sizes = array.is_some_and(|array| self.known.versions[array].is_none());
            accesses::for_each(statement, sizes, &mut |access, at| {
                let array = checked.array(&access.array.text);
                if at == AccessUse::Extent && array.is_some_and(|array| assigned.contains(&array)) {
                    self.errors.push(messages::extent(access));
                }
            });
        }
    }

    /// Names of the loops around a statement, and then of its other variables.
    fn names(&self, n: usize) -> Vec<&'a str> {
        let checked = self.known.checked;
        let around = checked.program.loops_around(n).map(|l| &l.tuple.text[..]);
        let mut names: Vec<&'a str> = around.collect();
        for name in variables::variables(checked, &checked.program.statements[n]) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Gives an array of a loop its elements before the first pass, in the type of all passes.
    fn start(&mut self, array: usize, before: Option<Version>, body: &Range<usize>) {
        let settled = self.known.versions[array].clone().unwrap_or_default();
        let (Some(dtype), Some(shape)) = (settled.dtype(), settled.shape.clone()) else { return };
        match before {
            Some(before) if before.dtype() == Some(dtype) => return,
            Some(before) => {
                self.known.replace(array, before);
                let (stage, errors) = (&mut self.stage, &mut self.errors);
                let mut scope = Scope::new(&self.known, stage, errors, Vec::new());
                let converted = scope.former(array, dtype, &shape);
                self.stage.define(array, converted);
            }
            None => self.fill(array, dtype, &shape, body),
        }
        self.known.replace(array, settled);
    }

    /// Makes an array of the identity of the first statement that assigns it.
    fn fill(&mut self, array: usize, dtype: DType, shape: &[u64], body: &Range<usize>) {
        let checked = self.known.checked;
        let mut own = checked.program.statements[body.clone()].iter();
        let first = own.find(|s| checked.array(&s.left.array.text) == Some(array));
        let Some(first) = first else { return };
        let out = self.stage.array(dtype, shape.to_vec(), first.left.span.into());
        let reduce = monoid(first.assign.op);
        if !reduce.op().accepts().contains(dtype) {
            if matches!(reduce, Monoid::And | Monoid::Or) {
                self.errors.push(messages::changing_type(first, dtype, DType::Bool));
            }
            return;
        }
        let init = Init::Identity(reduce);
        let filled = nothing(out, init, Reducer::Monoid(reduce), (dtype, shape.len()), first.span);
        self.stage.push(filled, vec![0]);
        self.stage.define(array, out);
    }
}

/// Leaves results out of a stage.
fn without(stage: &mut super::Stage, is_left_out: impl Fn(&usize) -> bool) {
    let all = stage.outputs.iter().copied().zip(stage.program.outputs.iter().copied());
    let (arrays, results) = all.filter(|(array, _)| !is_left_out(array)).unzip();
    (stage.outputs, stage.program.outputs) = (arrays, results);
}

/// A statement without points: its array has the elements before any point.
fn nothing(
    out: crate::core::ArrayId,
    init: Init,
    reduce: Reducer,
    (dtype, rank): (DType, usize),
    span: ijk_syntax::Span,
) -> Statement {
    let none = Axis { name: "none".into(), dims: Vec::new(), pins: Vec::new() };
    let zero = ScalarNode::Const(Literal::Integer(0), TypeTerm::Fixed(DType::I64));
    let nodes = match dtype {
        DType::I64 => vec![zero],
        _ => vec![zero, ScalarNode::Unary(UnaryOp::Cast(dtype), ScalarId(0))],
    };
    Statement {
        out,
        domain: vec![none],
        out_index: vec![IndexExpr::constant(0); rank],
        init,
        reduce: Some(reduce),
        value: ScalarExpr { nodes },
        guards: Vec::new(),
        span: span.into(),
    }
}

/// A stage and errors that are dropped: to ask what a statement would be.
fn scratch(arrays: usize) -> (StageBuilder, Sink) {
    (StageBuilder::new("", arrays), Sink::default())
}

/// Checks the programs of a loop.
#[cfg(debug_assertions)]
fn verify(of: &LoopProgram) {
    let check = |program: &crate::core::Program| {
        if let Err(errors) = crate::verify(program) {
            panic!("lowering a loop broke a program: {errors:?}\n{program}");
        }
    };
    of.root.for_each_update(&mut |update| {
        check(&update.program);
        update.probe.iter().for_each(|probe| check(&probe.program));
    });
}
