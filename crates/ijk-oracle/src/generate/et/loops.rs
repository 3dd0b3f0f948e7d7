//! Random loops: around some statements of a program, with a recurrence or an end by a condition.

use super::build::{SPAN, integer, name};
use super::build::{access, call, sum, whole};
use super::world::World;
use crate::reference::et::accesses::accesses;
use ijk_syntax::Function;
use ijk_syntax::et::ast::{Assign, Index, Loop, Program, Statement, Value};
use std::ops::Range;

impl World<'_> {
    /// Puts some statements in a loop, perhaps in two.
    pub fn loops(&mut self) {
        let count = self.program.statements.len();
        let start = self.rng.below(count);
        let body = start..self.rng.between(start + 1, count);
        let bound = |s: &Statement| self.bound.contains_key(&s.left.array.text);
        if self.program.statements[body.clone()].iter().any(bound) {
            return;
        }
        // All values along an eintup are ordered outside of loops only.
        let along = |s: &Statement| s.value.any(&|value| matches!(value, Value::Along(_)));
        if self.program.statements[body.clone()].iter().any(along) {
            return;
        }
        let Some(outer) = self.fixed(&body, &[]) else { return };
        let body = if self.rng.chance(0.75) { self.begun(body) } else { body };
        let descending = self.rng.chance(0.3);
        let body = self.recurrence((outer, descending), body);
        let mut fixed = vec![outer];
        if self.rng.chance(0.3) {
            fixed.extend(self.fixed(&body, &fixed));
        }
        for at in fixed {
            let descending = if at == outer { descending } else { self.rng.chance(0.3) };
            let tuple = name(&self.tuples[at].name);
            let until = self.condition(at);
            let body = body.clone();
            self.program.loops.push(Loop { tuple, descending, body, until, span: SPAN });
        }
    }

    /// Gives the arrays that a loop assigns first, and reads, their elements before it: by the statement that assigns
    /// them, which also stands before the loop. Few passes read only what passes before have assigned.
    fn begun(&mut self, body: Range<usize>) -> Range<usize> {
        let statements = &self.program.statements;
        let mut known: Vec<&str> = Vec::new();
        known.extend(statements[..body.start].iter().map(|s| &s.left.array.text[..]));
        let mut firsts: Vec<Statement> = Vec::new();
        for statement in &statements[body.clone()] {
            let name = &statement.left.array.text[..];
            if !known.contains(&name) {
                known.push(name);
                firsts.push(statement.clone());
            }
        }
        let is_first = |name: &str| firsts.iter().any(|s| s.left.array.text == name);
        let reads = |s: &Statement| accesses(s)[1..].iter().any(|read| is_first(&read.array.text));
        if !statements[body.clone()].iter().any(reads) {
            return body;
        }
        let added = firsts.len();
        self.program.statements.splice(body.start..body.start, firsts);
        body.start + added..body.end + added
    }

    /// An eintup that stands by itself on the left of a statement, mostly.
    fn fixed(&mut self, body: &Range<usize>, taken: &[usize]) -> Option<usize> {
        let mut standing: Vec<usize> = Vec::new();
        for statement in &self.program.statements[body.clone()] {
            for index in &statement.left.indices {
                let Index::Tuple(own) = index else { continue };
                let at = self.tuples.iter().position(|t| t.name == own.text);
                standing.extend(at.filter(|at| !taken.contains(at) && !standing.contains(at)));
            }
        }
        if standing.is_empty() { None } else { Some(*self.rng.pick(&standing)) }
    }

    /// Appends a statement that reads what a pass before wrote to those of a loop, sometimes.
    fn recurrence(
        &mut self,
        (fixed, descending): (usize, bool),
        body: Range<usize>,
    ) -> Range<usize> {
        if body.end != self.program.statements.len() || self.rng.chance(0.4) {
            return body;
        }
        let own = self.tuples[fixed].name.clone();
        let is_fixed = |e: &Index| matches!(e, Index::Tuple(name) if name.text == own);
        let last = self.program.statements[body.end - 1].clone();
        if !last.left.indices.iter().any(is_fixed) {
            return body;
        }
        let minus = self.rng.chance(0.9) != descending;
        let before = |e: &Index| match is_fixed(e) {
            true => sum(e.clone(), minus, integer(1)),
            false => e.clone(),
        };
        let indices = last.left.indices.iter().map(before).collect();
        let read = Value::Element(access(&last.left.array.text, indices));
        let assign = Assign { accumulate: true, ..last.assign };
        self.push(Statement { value: read, assign, ..last });
        body.start..body.end + 1
    }

    /// A condition that ends a loop, sometimes.
    fn condition(&mut self, fixed: usize) -> Option<Value> {
        let own = &self.tuples[fixed];
        if own.rank != 1 || !self.rng.chance(0.25) {
            return None;
        }
        let pass = Value::Tuple(name(&own.name));
        let last = self.rng.below(4) as i64;
        Some(call(Function::Ge, vec![pass, whole(last)]))
    }
}

/// The program without the statement of a position, and without loops of which nothing is left.
pub(crate) fn without(program: &Program, at: usize) -> Program {
    let mut fewer = program.clone();
    fewer.statements.remove(at);
    let before = |end: usize| if end > at { end - 1 } else { end };
    for own in &mut fewer.loops {
        own.body = before(own.body.start)..before(own.body.end);
    }
    fewer.loops.retain(|own| !own.body.is_empty());
    fewer
}
