//! Programs with loops as stages: statements that are planned together, and loops over arrays that change in place.
//!
//! Loops become those of Einsum Tuple ([`LoopProgram`](crate::core::LoopProgram)), so they are planned, run, bounded and
//! interrupted alike.

mod loops;
mod part;
mod unroll;

pub use unroll::{Unrolled, unrolled};

use crate::core::{ArrayId, Axis, IndexExpr, Init, Instance, Program, ProgramItem, Statement};
use crate::core::{ScalarExpr, ScalarNode, TypeTerm};
use crate::et::{LoopStage, Stage};
use ijk_types::{DType, Literal};
use loops::LoopBuilder;
use part::PartBuilder;

/// A step of an application. Arrays are numbered as in the program.
#[derive(Clone, Debug, PartialEq)]
pub struct StagedStep {
    /// Work of the step.
    pub work: StagedWork,
    /// Arrays that nothing reads after it.
    pub dead: Vec<usize>,
}

/// Work of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum StagedWork {
    /// Run this; its results are arrays.
    Run(Box<Stage>),
    /// An array has the elements of another: pairs of a source and a target.
    Pass(Vec<(usize, usize)>),
    /// Run this loop, which changes arrays in place.
    Loop(Box<LoopStage>),
}

/// Position of the end of a loop among items.
fn end_of(items: &[ProgramItem], of: usize) -> usize {
    items.iter().position(|item| *item == ProgramItem::End(of)).unwrap_or(items.len())
}

/// The steps of a program with loops for some types and shapes.
pub fn stages(program: &Program, instance: &Instance) -> Vec<StagedStep> {
    let mut stages = Stages { program, instance, steps: Vec::new() };
    let mut run: Vec<usize> = Vec::new();
    let items = program.items();
    let mut at = 0;
    while let Some(item) = items.get(at) {
        match *item {
            ProgramItem::Statement(n) => run.push(n),
            ProgramItem::Begin(own) => {
                let end = end_of(&items, own);
                stages.run(std::mem::take(&mut run), own);
                stages.looped(own, &items[at + 1..end]);
                at = end;
            }
            ProgramItem::End(_) => {}
        }
        at += 1;
    }
    stages.finish(run)
}

struct Stages<'a> {
    program: &'a Program,
    instance: &'a Instance,
    steps: Vec<(StagedWork, Vec<usize>)>,
}

impl Stages<'_> {
    /// Statements before a loop, and the arrays that it fills pass by pass.
    fn run(&mut self, statements: Vec<usize>, before: usize) {
        let own = &self.program.loops[before];
        let filled: Vec<ArrayId> =
            own.states.iter().filter(|_| own.all).map(|state| state.result).collect();
        self.push_run(&statements, &filled);
    }

    fn push_run(&mut self, statements: &[usize], filled: &[ArrayId]) {
        if statements.is_empty() && filled.is_empty() {
            return;
        }
        let mut outputs: Vec<ArrayId> =
            statements.iter().map(|&n| self.program.statements[n].out).collect();
        let mut part = PartBuilder::of(self.program, self.instance, statements);
        for id in filled {
            let shape = &self.instance.shapes[id.0 as usize];
            part.add(*id, zeros(*id, shape.len(), self.instance.dtypes[id.0 as usize]));
            outputs.push(*id);
        }
        let stage = part.finish(&outputs);
        self.steps.push((StagedWork::Run(Box::new(stage)), outputs.iter().map(at).collect()));
    }

    fn looped(&mut self, own: usize, body: &[ProgramItem]) {
        let mut builder = LoopBuilder::new(self.program, self.instance);
        let root = builder.outermost(own, body);
        let [begins, ends] = builder.handed_over(own);
        if !begins.is_empty() {
            let defined = begins.iter().map(|(_, to)| *to).collect();
            self.steps.push((StagedWork::Pass(begins), defined));
        }
        let stage = builder.finish(root);
        let changed = stage.program.arrays.iter().zip(&stage.arrays);
        let changed = changed.filter(|(array, _)| array.changes).filter_map(|(_, at)| *at);
        let changed = changed.collect();
        self.steps.push((StagedWork::Loop(Box::new(stage)), changed));
        if !ends.is_empty() {
            let defined = ends.iter().map(|(_, to)| *to).collect();
            self.steps.push((StagedWork::Pass(ends), defined));
        }
    }

    /// All steps, with results that nothing reads left out.
    fn finish(mut self, rest: Vec<usize>) -> Vec<StagedStep> {
        self.push_run(&rest, &[]);
        let mut live = vec![false; self.program.arrays.len()];
        self.program.outputs.iter().for_each(|id| live[id.0 as usize] = true);
        let mut done = Vec::new();
        for (mut work, defined) in self.steps.into_iter().rev() {
            let before = live.clone();
            if let StagedWork::Run(stage) = &mut work {
                keep(stage, &live);
            }
            defined.iter().for_each(|&array| live[array] = false);
            reads(&work).for_each(|array| live[array] = true);
            let used = reads(&work).chain(defined.iter().copied());
            let mut dead: Vec<usize> = used.filter(|&array| !before[array]).collect();
            dead.sort_unstable();
            dead.dedup();
            done.push(StagedStep { work, dead });
        }
        done.reverse();
        done
    }
}

fn at(id: &ArrayId) -> usize {
    id.0 as usize
}

/// Leaves out the results that are not live.
fn keep(stage: &mut Stage, live: &[bool]) {
    let all = stage.outputs.iter().copied().zip(stage.program.outputs.iter().copied());
    let kept: Vec<(usize, ArrayId)> = all.filter(|(array, _)| live[*array]).collect();
    stage.outputs = kept.iter().map(|(array, _)| *array).collect();
    stage.program.outputs = kept.into_iter().map(|(_, id)| id).collect();
}

/// The arrays that a step reads, or goes on with.
fn reads(work: &StagedWork) -> Box<dyn Iterator<Item = usize> + '_> {
    match work {
        StagedWork::Run(stage) => Box::new(stage.inputs.iter().copied()),
        StagedWork::Pass(pairs) => Box::new(pairs.iter().map(|(from, _)| *from)),
        StagedWork::Loop(stage) => Box::new(stage.arrays.iter().copied().flatten()),
    }
}

/// A statement without points, whose array is 0.
fn zeros(out: ArrayId, rank: usize, dtype: DType) -> Statement {
    let none = Axis { name: "none".into(), dims: Vec::new(), pins: Vec::new() };
    let zero = match dtype {
        DType::Bool => ScalarNode::Unary(ijk_types::UnaryOp::Cast(dtype), crate::core::ScalarId(0)),
        _ => ScalarNode::Const(Literal::Integer(0), TypeTerm::Fixed(dtype)),
    };
    let nodes = match dtype {
        DType::Bool => {
            vec![ScalarNode::Const(Literal::Integer(0), TypeTerm::Fixed(DType::I64)), zero]
        }
        _ => vec![zero],
    };
    Statement {
        out,
        domain: vec![none],
        out_index: vec![IndexExpr::constant(0); rank],
        init: Init::Zero,
        reduce: Some(ijk_types::Reducer::Monoid(ijk_types::Monoid::Add)),
        value: ScalarExpr { nodes },
        guards: Vec::new(),
        span: Default::default(),
    }
}
