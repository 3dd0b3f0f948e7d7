//! Maps that accumulate in overlapping boxes of an array, fused.
//!
//! `y[i] = b[i]*v[i]`, `y[i] += a[i]*v[i-1]`, `y[i] += c[i]*v[i+1]` are three passes over `y`. In its interior all three
//! apply, and each border lacks one: each box in which the same statements apply is one map, which adds their values in
//! the same order.

use super::regions::{over_output, ranges};
use crate::SMALL_DOMAIN;
use crate::domain::bounds::{Interval, one_each, stored, within};
use crate::domain::quotients::add_boxes;
use crate::graph::expr::Builder;
use crate::graph::{Expr, ExprNode, Graph, Stmt};
use ijk_ir::core::{ArrayId, Atom, AxisId, Init};
use ijk_types::{BinaryOp, Monoid, Reducer};

/// Greatest number of boxes.
const MAX_BOXES: u64 = 32;
/// Least number of elements for each box, which is a step of its own.
const ELEMENTS_PER_BOX: u64 = 16 * SMALL_DOMAIN;
/// Greatest number of nodes of all values.
const MAX_NODES: usize = 64;

/// Runs the pass.
pub(crate) fn fuse(graph: &mut Graph) {
    if !graph.statements.iter().any(|stmt| accumulates_to(stmt).is_some()) {
        return;
    }
    let uses = graph.uses();
    let mut rest = std::mem::take(&mut graph.statements).into_iter().peekable();
    while let Some(stmt) = rest.next() {
        let mut chain = vec![stmt];
        let mut last = chain[0].out;
        while let Some(next) =
            rest.next_if(|next| uses[last.0 as usize] == 1 && accumulates_to(next) == Some(last))
        {
            last = next.out;
            chain.push(next);
        }
        match boxes(graph, &chain) {
            Some((whole, boxes)) => add_boxes(graph, whole, boxes),
            None => graph.statements.extend(chain),
        }
    }
}

/// The array to which a statement adds a value for each point, or of which it replaces elements.
fn accumulates_to(stmt: &Stmt) -> Option<ArrayId> {
    let adds = matches!(stmt.reduce, None | Some(Reducer::Monoid(Monoid::Add)));
    match stmt.init {
        Init::From(array) if adds && is_box(stmt) => Some(array),
        _ => None,
    }
}

/// Tells whether a statement has a point for each element of a box.
fn is_box(stmt: &Stmt) -> bool {
    stmt.scan.is_none() && stmt.guards.is_empty() && one_each(stmt)
}

/// The statement whose output all boxes define, and the boxes; `None` if they do not pay.
fn boxes(graph: &Graph, chain: &[Stmt]) -> Option<(Stmt, Vec<Stmt>)> {
    let (first, last) = (chain.first()?, chain.last()?);
    let shape = &graph.array(last.out).shape;
    let elements = shape.iter().fold(1u64, |n, extent| n.saturating_mul(*extent));
    let nodes: usize = chain.iter().map(|stmt| stmt.value.nodes.len()).sum();
    let starts = is_box(first) && !matches!(first.init, Init::From(_));
    let cut = chain.iter().any(|stmt| graph.partial.contains(&stmt.out));
    if chain.len() < 2 || cut || !starts || nodes > MAX_NODES || elements < ELEMENTS_PER_BOX {
        return None;
    }
    let parts: Vec<BoxPart> =
        chain.iter().map(|stmt| BoxPart::of(graph, stmt)).collect::<Option<_>>()?;
    let cells = cells(shape, &parts);
    let count = cells.iter().fold(1u64, |n, ranges| n.saturating_mul(ranges.len() as u64));
    if count > MAX_BOXES.min(elements / ELEMENTS_PER_BOX) {
        return None;
    }
    let whole = Stmt { out: last.out, init: first.init, ..over_output(graph, first)? };
    let mut whole = Stmt { reduce: None, single: false, ..whole };
    for (axis, own) in whole.axes.iter_mut().zip(&first.out_index) {
        if let Some(AxisId(letter)) = own.terms.first().and_then(|(_, atom)| axis_of(atom)) {
            axis.name.clone_from(&first.axes[letter as usize].name);
        }
    }
    let start = ExprNode::Const(graph.initial_value(first.out, first.init, first.reduce));
    let mut all = vec![Vec::new()];
    for ranges in &cells {
        let next = |bounds: &Vec<Interval>| {
            let bounds = bounds.clone();
            ranges.iter().map(move |&range| bounds.iter().copied().chain([range]).collect())
        };
        all = all.iter().flat_map(next).collect();
    }
    let cell = |bounds: &Vec<Interval>| {
        let stmt = Stmt { value: value(start.clone(), &parts, bounds), ..whole.clone() };
        within(&stmt, bounds).unwrap_or(stmt)
    };
    let boxes = all.iter().map(cell).collect();
    Some((whole, boxes))
}

fn axis_of(atom: &Atom) -> Option<AxisId> {
    match atom {
        Atom::Axis(axis) => Some(*axis),
        _ => None,
    }
}

/// A statement as it changes the elements of a box.
struct BoxPart {
    ranges: Vec<Interval>,
    /// Its value in terms of the axes of the output.
    value: Expr,
    adds: bool,
}

impl BoxPart {
    fn of(graph: &Graph, stmt: &Stmt) -> Option<Self> {
        let ranges = ranges(stmt);
        let adds = matches!(stmt.init, Init::From(_)) && stmt.reduce.is_some();
        let mut stmt = over_output(graph, stmt)?;
        // The first may combine each value with an identity.
        if let Some(Reducer::Monoid(monoid)) = stmt.reduce.filter(|_| !adds) {
            stmt = stored(graph, stmt, monoid);
        }
        Some(Self { ranges, value: stmt.value, adds })
    }

    fn contains(&self, bounds: &[Interval]) -> bool {
        let inside = |(own, other): (&Interval, &Interval)| own.0 <= other.0 && other.1 <= own.1;
        self.ranges.iter().zip(bounds).all(inside)
    }
}

/// For each dimension, the ranges in which no part begins or ends.
fn cells(shape: &[u64], parts: &[BoxPart]) -> Vec<Vec<Interval>> {
    let along = |(dim, &extent): (usize, &u64)| {
        let mut starts: Vec<i128> = vec![0];
        for part in parts {
            let (first, last) = part.ranges[dim];
            starts.extend([first, last + 1]);
        }
        starts.sort_unstable();
        starts.dedup();
        starts.retain(|&start| start < i128::from(extent));
        let ends = starts.iter().skip(1).copied().chain([i128::from(extent)]);
        starts.iter().zip(ends).map(|(&start, end)| (start, end - 1)).collect()
    };
    shape.iter().enumerate().map(along).collect()
}

/// The value of the elements of a cell, after all parts that have it.
fn value(start: ExprNode, parts: &[BoxPart], bounds: &[Interval]) -> Expr {
    let mut builder = Builder::default();
    let mut root = None;
    for part in parts.iter().filter(|part| part.contains(bounds)) {
        let next = builder.push_all(&part.value);
        root = Some(match part.adds {
            true => {
                let before = root.unwrap_or_else(|| builder.push(start.clone()));
                builder.push(ExprNode::Binary(BinaryOp::Add, before, next))
            }
            false => next,
        });
    }
    let root = root.unwrap_or_else(|| builder.push(start));
    builder.finish(root)
}
