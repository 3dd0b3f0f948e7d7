//! Initialisation of what a map of a box leaves of an array: the border of a stencil, say, and not its interior.

use super::buffers::Buffers;
use crate::graph::{Graph, Stmt};
use crate::plan::{Base, Nest, NestAxis, Node, Start, Step, Store};
use ijk_ir::core::{Atom, IndexExpr, Init};
use ijk_types::Scalar;
use std::ops::Range;

/// Fewest elements of an array of which only a border is filled: it takes up to two steps for each dimension.
const MIN_ELEMENTS: u64 = 1 << 16;

/// The steps that fill an array around the box that a statement defines; `None` if it defines no box, or little of the
/// array.
pub(super) fn fills(graph: &Graph, buffers: &Buffers, stmt: &Stmt) -> Option<Vec<Step>> {
    let shape = &graph.array(stmt.out).shape;
    let elements = shape.iter().fold(1u64, |n, extent| n.saturating_mul(*extent));
    let maps = stmt.reduce.is_none() && stmt.scan.is_none() && stmt.guards.is_empty();
    let large = elements >= MIN_ELEMENTS && stmt.points() >= elements / 2;
    if !(maps && large) || matches!(stmt.init, Init::From(_)) {
        return None;
    }
    let inside = defined(stmt)?;
    let value = graph.initial_value(stmt.out, stmt.init, stmt.reduce);
    let whole = |dim: usize| 0..shape[dim] as usize;
    let mut steps = Vec::new();
    for (dim, own) in inside.iter().enumerate() {
        for part in [0..own.start, own.end..whole(dim).end] {
            // Dimensions before this one are filled outside of the box already.
            let others = (dim + 1..shape.len()).map(whole);
            let slab: Vec<Range<usize>> =
                inside[..dim].iter().cloned().chain([part]).chain(others).collect();
            if slab.iter().all(|range| !range.is_empty()) {
                steps.push(fill(buffers, stmt, &slab, value));
            }
        }
    }
    Some(steps)
}

/// The box of elements that a statement defines, if each dimension has an axis of its own, or a single place.
fn defined(stmt: &Stmt) -> Option<Vec<Range<usize>>> {
    let mut used = vec![false; stmt.axes.len()];
    let mut range = |IndexExpr { constant, terms }: &IndexExpr| {
        let start = usize::try_from(*constant).ok()?;
        let extent = match terms[..] {
            [] => 1,
            [(1, Atom::Axis(axis))] if !std::mem::replace(&mut used[axis.0 as usize], true) => {
                usize::try_from(stmt.axes[axis.0 as usize].extent).ok()?
            }
            _ => return None,
        };
        Some(start..start.checked_add(extent)?)
    };
    stmt.out_index.iter().map(&mut range).collect()
}

/// A nest that fills a box.
fn fill(buffers: &Buffers, stmt: &Stmt, slab: &[Range<usize>], value: Scalar) -> Step {
    let buffer = buffers.of(stmt.out);
    let target = &buffers.all[buffer.0 as usize];
    let axis = |(n, range): (usize, &Range<usize>)| NestAxis {
        name: format!("i{n}"),
        extent: range.len(),
        reduced: false,
        collides: false,
    };
    let places = slab.iter().zip(&target.strides);
    let offset = places.map(|(range, stride)| range.start as isize * stride).sum();
    let strides = target.strides.clone();
    Step::Nest(Nest {
        axes: slab.iter().enumerate().map(axis).collect(),
        loads: Vec::new(),
        body: vec![Node::Const(value)],
        store: Store { base: Base { buffer, offset }, dtype: target.dtype, strides, offset: None },
        reduce: None,
        start: Start::Covered,
        sequential: false,
        span: stmt.span,
    })
}
