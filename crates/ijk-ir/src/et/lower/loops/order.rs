//! The order of passes: what a statement reads was assigned before.

use super::super::scope::Scope;
use super::super::stage::StageBuilder;
use super::super::value::ValueBuilder;
use super::{Lowering, messages};
use crate::core::{Access, Atom, AxisId, IndexExpr, ScalarExpr, ScalarNode};
use crate::interval::range_apart;
use ijk_syntax::Span;
use ijk_syntax::et::ast::{Statement, Value};
use std::ops::Range;

/// A statement, or a condition, lowered over all axes: what it reads and writes.
struct StatementAccesses {
    /// Position of the statement; for a condition, of the first behind its loop.
    place: usize,
    /// Positions of the loops around it, outermost first.
    loops: Vec<usize>,
    extents: Vec<u64>,
    reads: Vec<(usize, Access)>,
    /// The index on the left; empty for a condition.
    left: Vec<IndexExpr>,
}

/// Knowledge of the pass that assigns an element that is read.
enum Pass {
    Before,
    Same,
    Later,
    Unknown,
}

impl<'a> Lowering<'a> {
    /// Reports reads of elements that only later passes assign, of arrays that have no elements before the loop.
    pub(super) fn judge_order(&mut self, body: &Range<usize>, started: &[usize]) {
        if started.is_empty() {
            return;
        }
        let checked = self.known.checked;
        let mut lowered = Vec::new();
        for n in body.clone() {
            let statement = &checked.program.statements[n];
            let all = checked.program.loops.iter().enumerate();
            let loops = all.filter(|(_, l)| l.body.contains(&n)).map(|(at, _)| at).collect();
            let found = self.reads(self.names(n), n, Some(statement), &statement.value);
            lowered.extend(found.map(|found| StatementAccesses { loops, ..found }));
            for (at, condition) in checked.program.conditions_after(n) {
                let names = checked.program.loops_over(at).map(|l| &l.tuple.text[..]).collect();
                let body = &checked.program.loops[at].body;
                let around = |own: &usize| {
                    let own = &checked.program.loops[*own].body;
                    own.start <= body.start && body.end <= own.end
                };
                let loops = (0..=at).filter(around).collect();
                let found = self.reads(names, n + 1, None, condition);
                lowered.extend(found.map(|found| StatementAccesses { loops, ..found }));
            }
        }
        for &array in started {
            let name = &checked.arrays[array].name;
            let first = lowered.iter().find(|l| {
                let own = checked.program.statements.get(l.place);
                !l.left.is_empty() && own.is_some_and(|s| s.left.array.text == *name)
            });
            let Some(first) = first else { continue };
            for reader in &lowered {
                let own = reader.reads.iter().filter(|(read, _)| *read == array);
                for (_, access) in own {
                    self.judge_read(name, first, reader, access);
                }
            }
        }
    }

    fn judge_read(
        &mut self,
        name: &str,
        first: &StatementAccesses,
        reader: &StatementAccesses,
        access: &Access,
    ) {
        let checked = self.known.checked;
        let write = checked.program.statements[first.place].left.span;
        let (source, read) = (&checked.source, Span::from(access.span));
        let message = match self.pass(first, reader, access) {
            Pass::Before => return,
            Pass::Same if first.place < reader.place => return,
            Pass::Same => messages::same_pass(source, name, read, write),
            Pass::Later => messages::later_pass(source, name, read, write),
            Pass::Unknown => messages::unknown_pass(source, name, read, write),
        };
        self.errors.push(message);
    }

    /// The pass, among those of the loops around both, in which the element of an access is first assigned.
    fn pass(&self, first: &StatementAccesses, reader: &StatementAccesses, access: &Access) -> Pass {
        let program = &self.known.checked.program;
        let common = first.loops.iter().filter(|at| reader.loops.contains(at));
        let rank = |at: &usize| self.rank(&program.loops[*at].tuple.text);
        let shared: usize = common.clone().map(rank).sum();
        if is_same(first, access, shared) {
            return Pass::Same;
        }
        let mut axis = 0;
        for common in common.map(|&at| &program.loops[at]) {
            let rank = self.rank(&common.tuple.text);
            for own in (axis..axis + rank).map(|n| AxisId(n as u32)) {
                match distance(first, reader, access, own, common.descending) {
                    None => return Pass::Unknown,
                    Some((_, greatest)) if greatest < 0 => return Pass::Before,
                    Some((_, greatest)) if greatest > 0 => return Pass::Later,
                    Some(_) => {}
                }
            }
            axis += rank;
        }
        Pass::Same
    }

    fn rank(&self, tuple: &str) -> usize {
        self.known.tuple(tuple).map_or(0, <[u64]>::len)
    }

    /// Elements that a value reads, and a statement writes, over the axes of all names.
    fn reads(
        &self,
        names: Vec<&'a str>,
        place: usize,
        statement: Option<&Statement>,
        value: &Value,
    ) -> Option<StatementAccesses> {
        let mut scratch = StageBuilder::new("", self.known.versions.len());
        let mut errors = crate::sink::Sink::default();
        let scope = &mut Scope::new(&self.known, &mut scratch, &mut errors, names);
        let left = match statement {
            Some(s) => {
                let array = self.known.checked.array(&s.left.array.text)?;
                scope.indices(&s.left.indices, self.known.places(array))?
            }
            None => Vec::new(),
        };
        let mut builder = ValueBuilder::new(scope, self.seed, 0);
        builder.value(value)?;
        let value = builder.finish();
        let extents = std::mem::take(&mut scope.extents);
        let surface = scratch.sources();
        let mut reads = Vec::new();
        accesses(&value, &mut |access| {
            reads.extend(surface.get(access.array.0 as usize).map(|&at| (at, access.clone())));
        });
        left.iter().for_each(|e| {
            elements(e, &mut |access| {
                reads.extend(surface.get(access.array.0 as usize).map(|&at| (at, access.clone())));
            });
        });
        Some(StatementAccesses { place, loops: Vec::new(), extents, reads, left })
    }
}

/// Returns true if an access is at the positions at which a pass writes, of which others depend on what the loops around
/// both fix alone.
fn is_same(first: &StatementAccesses, access: &Access, shared: usize) -> bool {
    first.left.iter().zip(&access.index).all(|(e, read)| {
        let (mut fixed, mut other) = (false, false);
        e.for_each_axis(&mut |axis| match (axis.0 as usize) < shared {
            true => fixed = true,
            false => other = true,
        });
        !fixed || !other && e == read
    })
}

/// Least and greatest of the pass that assigns an element, relative to the pass that reads it, along one axis of a
/// loop; 0 where the array does not depend on it. None where that is not known.
fn distance(
    first: &StatementAccesses,
    reader: &StatementAccesses,
    access: &Access,
    axis: AxisId,
    descending: bool,
) -> Option<(i128, i128)> {
    if !first.left.iter().any(|e| e.mentions(axis)) {
        return Some((0, 0));
    }
    let steps = first.left.iter().zip(&access.index);
    let plain = steps.filter_map(|(e, read)| match &e.terms[..] {
        [(step, Atom::Axis(own))] if *own == axis => Some((*step, e.constant, read)),
        _ => None,
    });
    plain
        .filter_map(|(step, constant, read)| {
            let own = IndexExpr::axis(axis).times(step)?.plus(&IndexExpr::constant(constant))?;
            let apart = read.plus(&own.times(-1)?)?;
            let range = range_apart(&apart, &reader.extents);
            let flips = (step < 0) != descending;
            Some(if flips {
                (-range.greatest, -range.least)
            } else {
                (range.least, range.greatest)
            })
        })
        .next()
}

/// Calls `visit` with every access of a value.
fn accesses(value: &ScalarExpr, visit: &mut impl FnMut(&Access)) {
    for node in &value.nodes {
        match node {
            ScalarNode::Access(access) => {
                visit(access);
                access.index.iter().for_each(|e| elements(e, visit));
            }
            ScalarNode::Index(e) => elements(e, visit),
            _ => {}
        }
    }
}

/// Calls `visit` with every element in an index.
fn elements(e: &IndexExpr, visit: &mut impl FnMut(&Access)) {
    for (_, atom) in &e.terms {
        match atom {
            Atom::Axis(_) => {}
            Atom::FloorDiv(e, _) | Atom::Mod(e, _) | Atom::Abs(e) => elements(e, visit),
            Atom::Product(left, right) | Atom::Max(left, right) | Atom::Min(left, right) => {
                elements(left, visit);
                elements(right, visit);
            }
            Atom::Element(access) => {
                visit(access);
                access.index.iter().for_each(|e| elements(e, visit));
            }
        }
    }
}
