//! From a solved program to core programs.
//!
//! Statements are lowered in order into one core program, a *stage*. Where a statement needs to know
//! how large the elements of an array are (`out[idx[a,:]] = …` sizes `out` by them), the stage ends
//! before it and is to be run first; then the answer continues the lowering. Most programs are one
//! stage.

mod accesses;
mod along;
mod call;
pub mod codes;
mod index;
mod kind;
mod known;
mod loops;
mod messages;
mod scope;
mod stage;
mod statement;
mod value;
mod variables;

use super::check::declared_type;
use crate::core::{Instance, Program};
use crate::et::{Checked, Origin, Solution};
use crate::interval::Interval;
use crate::sink::Sink;
use accesses::AccessUse;
pub use accesses::for_each_access;
use ijk_syntax::Diagnostic;
use ijk_types::DType;
use kind::Kind;
use known::{ArrayState, NO_VALUE, Version};
pub use loops::{KeptPasses, LoopStage};
use stage::StageBuilder;
use std::collections::{HashMap, VecDeque};

/// A core program for some statements of a program, to be run on versions of its arrays.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The statements.
    pub program: Program,
    /// Their extents and element types.
    pub instance: Instance,
    /// For each input of the program which array it is the current version of: a position in
    /// [`Checked::arrays`].
    pub inputs: Vec<usize>,
    /// For each output of the program the array that it is the new version of.
    pub outputs: Vec<usize>,
}

/// Next step of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Run this; its results are new versions of arrays.
    Run(Box<Stage>),
    /// Run this loop, which changes arrays in place.
    Loop(Box<LoopStage>),
    /// Report the least and greatest elements of the current version of an array: [`Lowering::tell`].
    Tell(Wanted),
}

/// Request for the range of the elements of an array's current version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// A position in [`Checked::arrays`].
    pub array: usize,
    /// The axis of the array for each position of which a range is wanted; none where one range is
    /// wanted for all elements.
    pub axis: Option<u32>,
}

/// Lowers a program step by step.
pub struct Lowering<'a> {
    known: ArrayState<'a>,
    stage: StageBuilder,
    seed: u64,
    /// The next statement.
    next: usize,
    /// For each statement the ordinal of its first `RANDOM`.
    sites: Vec<u64>,
    /// Statements that are skipped, since their arrays are bound.
    replaced: Vec<bool>,
    /// Arrays that are results besides the program's.
    kept: Vec<usize>,
    /// Steps that are lowered and not handed out.
    ready: VecDeque<Step>,
    errors: Sink,
}

impl<'a> Lowering<'a> {
    /// Of a program whose arrays are bound to those of these types and shapes, in the order of
    /// [`Checked::arrays`]. Random numbers come from `seed`.
    ///
    /// # Errors
    /// Where a bound array has another rank than in the solution.
    pub fn new(
        checked: &'a Checked,
        solution: &'a Solution,
        bound: &[Option<(DType, Vec<u64>)>],
        seed: u64,
    ) -> Result<Self, Vec<Diagnostic>> {
        let statements = &checked.program.statements;
        let mut versions = vec![None; checked.arrays.len()];
        let mut replaced = vec![false; statements.len()];
        let mut errors = Sink::default();
        for (n, (array, bound)) in checked.arrays.iter().zip(bound).enumerate() {
            let Some((dtype, shape)) = bound else { continue };
            let places = solution.places.get(n).map_or(&[][..], |places| places);
            if places.iter().sum::<u32>() as usize != shape.len() {
                errors.push(messages::binding_shape(&array.name, array.span, shape, places));
            }
            versions[n] = Some(Version::known(Kind::Of(*dtype), shape.clone()));
            if let Origin::Random { statement } = array.origin {
                replaced[statement] = true;
                let declared = declared_type(&statements[statement]);
                if let Some(wanted) = declared.filter(|wanted| wanted != dtype) {
                    errors.push(messages::declared_type(&statements[statement], *dtype, wanted));
                }
            }
        }
        if errors.errors() > 0 {
            return Err(errors.finish());
        }
        for statement in statements.iter().zip(&replaced).filter(|(_, replaced)| !**replaced) {
            if statement.0.declared.is_some() {
                errors.push(messages::unbound(statement.0));
            }
        }
        if errors.errors() > 0 {
            return Err(errors.finish());
        }
        let mut site = 0;
        let sites = statements.iter().map(|statement| {
            let first = site;
            site += variables::sites(&statement.value);
            first
        });
        let sites = sites.collect();
        let stage = StageBuilder::new(&checked.source, checked.arrays.len());
        let ranges = HashMap::new();
        let known = ArrayState { checked, solution, versions, ranges };
        let (kept, ready) = (Vec::new(), VecDeque::new());
        Ok(Self { known, stage, seed, next: 0, sites, replaced, kept, ready, errors })
    }

    /// Makes bound arrays of rank 0 weak: they hold plain numbers, and take types as arrays of numbers alone do.
    pub fn weaken(&mut self, arrays: &[usize]) {
        for &array in arrays {
            let version = self.known.versions.get_mut(array).and_then(Option::as_mut);
            let Some(kind) = version.and_then(|version| version.kind.as_mut()) else { continue };
            *kind = match *kind {
                Kind::Of(DType::I64) => Kind::Integers,
                Kind::Of(DType::F64) => Kind::Float,
                other => other,
            };
        }
    }

    /// Makes the last versions of these arrays results, too.
    pub fn keep(&mut self, arrays: &[usize]) {
        self.kept.extend(arrays);
    }

    /// Next step; none when the program has run.
    ///
    /// # Errors
    /// Everything that is wrong with element types and sizes of the statements up to here.
    pub fn step(&mut self) -> Result<Option<Step>, Vec<Diagnostic>> {
        while self.ready.is_empty() && self.next < self.known.checked.program.statements.len() {
            let block = self.block();
            if let Some(wanted) = block.clone().find_map(|n| self.wanted(n)) {
                let step = match self.stage.defines(wanted.array) {
                    true => self.flush()?,
                    false => Some(Step::Tell(wanted)),
                };
                return self.answer(step);
            }
            match self.loop_here() {
                Some(at) => self.lower_loop(at)?,
                None if self.replaced[self.next] => {}
                None => {
                    let checked = self.known.checked;
                    self.lower(&checked.program.statements[self.next]);
                }
            }
            self.next = block.end;
        }
        let step = match self.ready.pop_front() {
            Some(step) => Some(step),
            None => self.flush()?,
        };
        self.answer(step)
    }

    /// The outermost loop that starts at the next statement.
    fn loop_here(&self) -> Option<usize> {
        self.known.checked.program.loops.iter().position(|l| l.body.start == self.next)
    }

    /// The next statements that are lowered together: one, or those of a loop.
    fn block(&self) -> std::ops::Range<usize> {
        let checked = self.known.checked;
        self.loop_here()
            .map_or(self.next..self.next + 1, |at| checked.program.loops[at].body.clone())
    }

    /// The step, unless something is wrong.
    fn answer(&mut self, step: Option<Step>) -> Result<Option<Step>, Vec<Diagnostic>> {
        match self.errors.errors() {
            0 => Ok(step),
            _ => Err(std::mem::take(&mut self.errors).finish()),
        }
    }

    /// Answers [`Step::Tell`]: the least and greatest elements, none of an empty array; one range for each position of
    /// the wanted axis, or a single one if no axis is wanted.
    pub fn tell(&mut self, wanted: Wanted, ranges: &[Option<(i64, i64)>]) {
        let range = |range: &Option<(i64, i64)>| match range {
            Some((least, greatest)) => {
                Interval { least: (*least).into(), greatest: (*greatest).into() }
            }
            None => NO_VALUE,
        };
        self.known.ranges.insert(wanted, ranges.iter().map(range).collect());
    }

    /// Elements that must be known before the statement of that number can be lowered.
    fn wanted(&self, n: usize) -> Option<Wanted> {
        let statement = &self.known.checked.program.statements[n];
        if self.replaced[n] {
            return None;
        }
        let left = self.known.checked.array(&statement.left.array.text)?;
        let sizes = self.known.versions[left].is_none();
        let mut found = None;
        accesses::for_each(statement, sizes, &mut |access, at| {
            let wanted = self.known.wanted(access).filter(|_| at == AccessUse::Extent);
            found = found.or(wanted.filter(|wanted| {
                let version = self.known.versions[wanted.array].as_ref();
                let integers = version.is_some_and(|v| v.dtype().is_some_and(DType::is_integer));
                integers && !self.known.ranges.contains_key(wanted)
            }));
        });
        found
    }

    /// The stage so far, with the results that the rest of the program and its caller need.
    fn flush(&mut self) -> Result<Option<Step>, Vec<Diagnostic>> {
        if self.errors.errors() > 0 {
            return Err(std::mem::take(&mut self.errors).finish());
        }
        let live = self.live_from(self.next);
        let stage = self.stage.finish(|array| live[array]);
        Ok(stage.map(|stage| Step::Run(Box::new(stage))))
    }

    /// The arrays whose current elements the program from a statement on or its caller needs.
    fn live_from(&self, next: usize) -> Vec<bool> {
        let checked = self.known.checked;
        let mut live = vec![false; checked.arrays.len()];
        checked.outputs.iter().chain(&self.kept).for_each(|&array| live[array] = true);
        for (n, statement) in checked.program.statements.iter().enumerate().skip(next) {
            if self.replaced[n] {
                continue;
            }
            let mut mark = |name: &str| {
                if let Some(array) = checked.array(name) {
                    live[array] = true;
                }
            };
            if statement.assign.accumulate || checked.program.loops_around(n).next().is_some() {
                mark(&statement.left.array.text);
            }
            accesses::for_each(statement, false, &mut |access, _| mark(&access.array.text));
            for (_, condition) in checked.program.conditions_after(n) {
                accesses::value(condition, &mut |access, _| mark(&access.array.text));
            }
        }
        live
    }
}

#[cfg(test)]
mod tests;
