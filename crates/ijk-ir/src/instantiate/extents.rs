//! Extents of all letters and shapes of all arrays, from the arguments' shapes.
//!
//! Statements are solved in order. One that waits for a name in braces, or for an axis of one that
//! waits, is put aside and looked at again when what it waits for is known. What is known of its
//! output's axes until then may be what determines the name.

use super::{bounds, messages};
use crate::core::{
    ArrayId, Atom, AxisId, Dim, IndexExpr, Init, Pin, Program, ProgramItem, ScalarNode, Statement,
};
use crate::interval::{Interval, div_up, range_without};
use ijk_syntax::Diagnostic;
use ijk_types::DType;
use std::collections::{HashMap, VecDeque};

/// Stands for an extent that is not known yet; no extent is so large.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// Where a letter's extent comes from.
#[derive(Clone, Copy, Debug)]
pub enum ExtentOrigin {
    /// An axis of an array.
    Dim(Dim),
    /// Braces.
    Pin(Pin),
}

/// The extent of a name and the letter that fixed it.
#[derive(Clone, Copy, Debug)]
pub struct NamedExtent {
    /// The extent.
    pub extent: u64,
    /// The braces of the letter that fixed it.
    pub place: crate::core::Span,
}

/// An unknown that something waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Resource {
    Name(u32),
    Array(ArrayId),
}

/// Outcome of an attempt to solve a statement, or an end of a loop.
pub(super) enum Attempt {
    Solved,
    Failed,
    /// For any of these.
    Waits(Vec<Resource>),
}

/// For each array its shape, for each statement the extents of its domain, for each loop its passes.
pub type Solved = (Vec<Vec<u64>>, Vec<Vec<u64>>, Vec<u64>);

/// Finds extents and shapes.
pub struct Solver<'a> {
    pub(super) program: &'a Program,
    pub(super) dtypes: &'a [DType],
    pub(super) shapes: Vec<Option<Vec<u64>>>,
    extents: Vec<Vec<u64>>,
    pub(super) passes: Vec<u64>,
    pub(super) names: Vec<Option<NamedExtent>>,
    /// Statements, and parts of loops: positions in `items`.
    waiting: HashMap<Resource, Vec<usize>>,
    ready: VecDeque<usize>,
    items: Vec<ProgramItem>,
    finished: Vec<bool>,
    pub(super) errors: Vec<Diagnostic>,
}

impl<'a> Solver<'a> {
    /// For arguments of these shapes, one for each input.
    pub fn new<'s>(
        program: &'a Program,
        dtypes: &'a [DType],
        arguments: impl Iterator<Item = &'s [u64]>,
    ) -> Self {
        let mut shapes = vec![None; program.arrays.len()];
        for (id, shape) in program.inputs.iter().zip(arguments) {
            shapes[id.0 as usize] = Some(shape.to_vec());
        }
        let items = program.items();
        Self {
            program,
            dtypes,
            shapes,
            extents: vec![Vec::new(); program.statements.len()],
            passes: vec![0; program.loops.len()],
            names: vec![None; program.extent_names.len()],
            waiting: HashMap::new(),
            ready: VecDeque::new(),
            finished: vec![false; items.len()],
            items,
            errors: Vec::new(),
        }
    }

    /// Everything, or every error.
    pub fn solve(mut self) -> Result<Solved, Vec<Diagnostic>> {
        for n in 0..self.items.len() {
            self.step(n);
        }
        while let Some(n) = self.ready.pop_front() {
            if !self.finished[n] {
                self.step(n);
            }
        }
        self.report_unsolved_names();
        if !self.errors.is_empty() {
            let mut told = std::collections::HashSet::new();
            self.errors.retain(|e| told.insert((e.span, e.message.clone())));
            return Err(self.errors);
        }
        let shapes = self.shapes.into_iter().map(Option::unwrap_or_default).collect();
        Ok((shapes, self.extents, self.passes))
    }

    fn step(&mut self, n: usize) {
        let attempt = match self.items[n] {
            ProgramItem::Statement(at) => {
                let statement = &self.program.statements[at];
                let mut extents = std::mem::take(&mut self.extents[at]);
                let attempt = self.statement(statement, &mut extents);
                self.extents[at] = extents;
                if matches!(attempt, Attempt::Solved) {
                    self.wake(Resource::Array(statement.out));
                }
                attempt
            }
            ProgramItem::Begin(at) => self.begin_loop(&self.program.loops[at]),
            ProgramItem::End(at) => self.end_loop(at, &self.program.loops[at]),
        };
        match attempt {
            Attempt::Solved | Attempt::Failed => self.finished[n] = true,
            Attempt::Waits(resources) => {
                for resource in resources {
                    self.waiting.entry(resource).or_default().push(n);
                }
            }
        }
    }

    pub(super) fn wake(&mut self, resource: Resource) {
        if !self.waiting.is_empty()
            && let Some(statements) = self.waiting.remove(&resource)
        {
            self.ready.extend(statements);
        }
    }

    fn statement(&mut self, statement: &Statement, extents: &mut Vec<u64>) -> Attempt {
        let errors = self.errors.len();
        let mut waits = self.letters(statement, extents);
        // A letter may have waited for a name that a later one of the same statement determines.
        while waits.iter().any(|resource| self.is_known_name(*resource)) {
            waits = self.letters(statement, extents);
        }
        if self.errors.len() > errors {
            return Attempt::Failed;
        }
        let unknown = |id: &ArrayId| self.shape(*id).is_none_or(|s| s.contains(&UNKNOWN));
        waits.extend(reads(statement).filter(unknown).map(Resource::Array));
        if !waits.is_empty() {
            self.note_known_axes(statement, extents);
            return Attempt::Waits(waits);
        }
        if !self.infer_brackets(statement, extents) {
            return Attempt::Failed;
        }
        let context = bounds::Context {
            program: self.program,
            statement,
            extents,
            shapes: &self.shapes,
            dtypes: self.dtypes,
        };
        match context.output_shape(&mut self.errors) {
            Some(shape) => {
                self.shapes[statement.out.0 as usize] = Some(shape);
                Attempt::Solved
            }
            None => Attempt::Failed,
        }
    }

    /// The extents of the domain as far as they are known, and what the others wait for.
    fn letters(&mut self, statement: &Statement, extents: &mut Vec<u64>) -> Vec<Resource> {
        let mut waits = Vec::new();
        extents.clear();
        for n in 0..statement.domain.len() {
            extents.push(self.letter(statement, n, &mut waits));
        }
        waits
    }

    fn is_known_name(&self, resource: Resource) -> bool {
        matches!(resource, Resource::Name(name) if self.names[name as usize].is_some())
    }

    pub(super) fn shape(&self, id: ArrayId) -> Option<&[u64]> {
        self.shapes[id.0 as usize].as_deref()
    }

    /// Keeps the extents of a waiting statement's output that are known already.
    fn note_known_axes(&mut self, statement: &Statement, extents: &[u64]) {
        let extent = |e| bounds::known_output_extent(e, extents, UNKNOWN);
        let shape: Vec<u64> = statement.out_index.iter().map(extent).collect();
        let known = &mut self.shapes[statement.out.0 as usize];
        if known.as_ref() != Some(&shape) {
            *known = Some(shape);
            self.wake(Resource::Array(statement.out));
        }
    }

    /// The extent of a letter by its plain occurrences and braces; adds what it waits for.
    fn letter(&mut self, statement: &Statement, n: usize, waits: &mut Vec<Resource>) -> u64 {
        let axis = &statement.domain[n];
        let mut known: Option<(u64, ExtentOrigin)> = None;
        for dim in &axis.dims {
            match self.shape(dim.array) {
                Some(shape) if shape[dim.axis as usize] != UNKNOWN => {
                    let extent = shape[dim.axis as usize];
                    self.agree(statement, n, &mut known, extent, ExtentOrigin::Dim(*dim));
                }
                _ => waits.push(Resource::Array(dim.array)),
            }
        }
        for pin in &axis.pins {
            let extent = match pin {
                Pin::Number(extent, _) => Some(*extent),
                Pin::Name(name, _) => self.names[*name as usize].map(|named| named.extent),
            };
            if let Some(extent) = extent {
                self.agree(statement, n, &mut known, extent, ExtentOrigin::Pin(*pin));
            }
        }
        for pin in &axis.pins {
            let Pin::Name(name, place) = pin else { continue };
            match (known, self.names[*name as usize]) {
                (Some((extent, _)), None) => {
                    self.names[*name as usize] = Some(NamedExtent { extent, place: *place });
                    self.wake(Resource::Name(*name));
                }
                (None, None) => waits.push(Resource::Name(*name)),
                _ => {}
            }
        }
        known.map_or(UNKNOWN, |(extent, _)| extent)
    }

    fn agree(
        &mut self,
        statement: &Statement,
        n: usize,
        known: &mut Option<(u64, ExtentOrigin)>,
        extent: u64,
        origin: ExtentOrigin,
    ) {
        match *known {
            None => *known = Some((extent, origin)),
            Some((other, _)) if other == extent => {}
            Some(first) => {
                let letter = &statement.domain[n].name;
                let second = (extent, origin);
                let conflict = messages::Conflict { letter, first, second, names: &self.names };
                self.errors.push(conflict.diagnostic(self.program));
            }
        }
    }

    /// Extents of letters that occur only inside brackets of operands, in rounds; of letters that
    /// occur in no operand, 1.
    fn infer_brackets(&mut self, statement: &Statement, extents: &mut [u64]) -> bool {
        if !extents.contains(&UNKNOWN) {
            return true;
        }
        let brackets = self.brackets(statement);
        let mut inner = vec![false; extents.len()];
        for (e, _) in &brackets {
            e.for_each_axis(&mut |axis| inner[axis.0 as usize] = true);
        }
        for (extent, inner) in extents.iter_mut().zip(&inner) {
            if *extent == UNKNOWN && !inner {
                *extent = 1;
            }
        }
        while infer_round(&brackets, extents) {}
        let undetermined = extents.iter().position(|extent| *extent == UNKNOWN);
        if let Some(n) = undetermined {
            self.errors.push(messages::undetermined(statement, n));
        }
        undetermined.is_none()
    }

    /// Indices of the operands with the extents of the axes they index.
    fn brackets<'s>(&self, statement: &'s Statement) -> Vec<(&'s IndexExpr, u64)> {
        let accesses = statement.value.nodes.iter().filter_map(|node| match node {
            ScalarNode::Access(access) => Some(access),
            _ => None,
        });
        let pairs = accesses.filter_map(|a| Some(a.index.iter().zip(self.shape(a.array)?)));
        pairs.flatten().map(|(e, n)| (e, *n)).collect()
    }

    fn report_unsolved_names(&mut self) {
        if !self.errors.is_empty() {
            return;
        }
        let mut names: Vec<u32> = (self.waiting.keys())
            .filter_map(|resource| match resource {
                Resource::Name(name) if self.names[*name as usize].is_none() => Some(*name),
                _ => None,
            })
            .collect();
        names.sort_unstable();
        for name in names {
            self.errors.push(messages::unsolved_name(self.program, name));
        }
        if let Some(n) = self.finished.iter().position(|finished| !finished)
            && self.errors.is_empty()
        {
            let span = match self.items[n] {
                ProgramItem::Statement(at) => self.program.statements[at].span,
                ProgramItem::Begin(at) | ProgramItem::End(at) => self.program.loops[at].span,
            };
            self.errors.push(messages::unsolved(span));
        }
    }
}

/// The arrays whose elements a statement reads.
fn reads(statement: &Statement) -> impl Iterator<Item = ArrayId> {
    let accesses = statement.value.nodes.iter().filter_map(|node| match node {
        ScalarNode::Access(access) => Some(access.array),
        _ => None,
    });
    let from = match statement.init {
        Init::From(id) => Some(id),
        _ => None,
    };
    accesses.chain(from)
}

fn infer_round(brackets: &[(&IndexExpr, u64)], extents: &mut [u64]) -> bool {
    let mut found: Vec<(AxisId, u64)> = Vec::new();
    for (e, n) in brackets {
        if let Some(axis) = only_unknown(e, extents)
            && let Some(extent) = greatest_extent(e, *n, axis, extents)
        {
            found.push((axis, extent));
        }
    }
    let any = !found.is_empty();
    for (axis, extent) in found {
        let known = &mut extents[axis.0 as usize];
        *known = (*known).min(extent);
    }
    any
}

/// The one axis of unknown extent, if it occurs once.
fn only_unknown(e: &IndexExpr, extents: &[u64]) -> Option<AxisId> {
    let mut unknown = None;
    let mut several = false;
    e.for_each_axis(&mut |axis| {
        if extents[axis.0 as usize] == UNKNOWN {
            several |= unknown.replace(axis).is_some();
        }
    });
    unknown.filter(|_| !several)
}

/// A bound of an expression.
#[derive(Clone, Copy)]
enum ExtentBound {
    AtMost(i128),
    AtLeast(i128),
}

/// The greatest extent of `axis` for which `e` stays within `0..n`, as far as growing the letter can violate it; `None`
/// where that cannot be decided.
fn greatest_extent(e: &IndexExpr, n: u64, axis: AxisId, extents: &[u64]) -> Option<u64> {
    let upper = limit(e, ExtentBound::AtMost(i128::from(n) - 1), axis, extents);
    let limit = upper.or_else(|| limit(e, ExtentBound::AtLeast(0), axis, extents))?;
    let extent = limit.saturating_add(1).max(0);
    Some(u64::try_from(extent).unwrap_or(i64::MAX as u64).min(i64::MAX as u64))
}

/// The greatest value of `axis` that a bound of `e` allows, where it limits it from above.
fn limit(e: &IndexExpr, bound: ExtentBound, axis: AxisId, extents: &[u64]) -> Option<i128> {
    let at = e.terms.iter().position(|(_, atom)| atom.mentions(axis))?;
    let (coefficient, atom) = &e.terms[at];
    let rest = range_without(e, at, &|a: AxisId| Interval::of_extent(extents[a.0 as usize]));
    let c = i128::from(*coefficient);
    let bound = match (bound, c > 0) {
        (ExtentBound::AtMost(u), true) => {
            ExtentBound::AtMost((u.saturating_sub(rest.greatest)).div_euclid(c))
        }
        (ExtentBound::AtMost(u), false) => {
            ExtentBound::AtLeast(div_up(rest.greatest.saturating_sub(u), -c))
        }
        (ExtentBound::AtLeast(l), true) => {
            ExtentBound::AtLeast(div_up(l.saturating_sub(rest.least), c))
        }
        (ExtentBound::AtLeast(l), false) => {
            ExtentBound::AtMost((rest.least.saturating_sub(l)).div_euclid(-c))
        }
    };
    match (atom, bound) {
        (Atom::Axis(_), ExtentBound::AtMost(limit)) => Some(limit),
        (Atom::Axis(_), ExtentBound::AtLeast(_))
        | (Atom::Mod(..) | Atom::Product(..) | Atom::Element(_), _)
        | (Atom::Abs(_) | Atom::Max(..) | Atom::Min(..), _) => None,
        (Atom::FloorDiv(inner, d), ExtentBound::AtMost(u)) => {
            let d = i128::from(*d);
            let u = u.saturating_mul(d).saturating_add(d - 1);
            limit(inner, ExtentBound::AtMost(u), axis, extents)
        }
        (Atom::FloorDiv(inner, d), ExtentBound::AtLeast(l)) => {
            limit(inner, ExtentBound::AtLeast(l.saturating_mul(i128::from(*d))), axis, extents)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::range_over;

    fn axis(n: u32) -> IndexExpr {
        IndexExpr::axis(AxisId(n))
    }

    /// The greatest extent by trying: the first value at which a bound fails ends it.
    fn by_trying(e: &IndexExpr, n: u64, other: u64, grows: bool) -> u64 {
        let fits = |x: u64| {
            let at =
                e.substitute(&|a| if a.0 == 0 { IndexExpr::constant(x as i64) } else { axis(1) });
            let range = range_over(&at.unwrap(), &[1, other]);
            if grows { range.greatest < i128::from(n) } else { range.least >= 0 }
        };
        (0..500).find(|x| !fits(*x)).unwrap()
    }

    #[test]
    fn inferred_extents_are_the_greatest_that_fit() {
        for (a, b, c) in [(1, 1, 0), (2, 1, -3), (3, -2, 4), (-1, 1, 9), (-2, -1, 30), (5, 0, 2)] {
            let inner = axis(0).times(a).unwrap().plus(&axis(1).times(b).unwrap()).unwrap();
            let inner = inner.plus(&IndexExpr::constant(c)).unwrap();
            let divided = inner.clone().floor_div(3);
            let shifted = divided.clone().plus(&axis(1)).unwrap();
            for e in [inner, divided, shifted] {
                for (n, other) in [(0, 1), (1, 1), (7, 1), (7, 3), (20, 2), (5, 0)] {
                    let found = greatest_extent(&e, n, AxisId(0), &[UNKNOWN, other]);
                    let wanted = by_trying(&e, n, other, a > 0);
                    assert_eq!(found, Some(wanted), "{e:?} n {n} other {other}");
                }
            }
        }
    }

    #[test]
    fn huge_factors_do_not_overflow() {
        let e = axis(0).times(i64::MAX).unwrap().plus(&IndexExpr::constant(i64::MIN)).unwrap();
        assert_eq!(greatest_extent(&e, u64::MAX >> 1, AxisId(0), &[UNKNOWN]), Some(3));
        let e = axis(0).times(i64::MIN).unwrap().floor_div(i64::MAX);
        assert_eq!(greatest_extent(&e, 4, AxisId(0), &[UNKNOWN]), Some(1));
    }
}
