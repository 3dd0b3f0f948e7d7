//! Initialisation of what a map of a box leaves of an array: the border of a stencil, say, and not its interior.

use super::buffers::Buffers;
use super::emit::box_axes;
use crate::domain::quotients::region;
use crate::graph::{Graph, Stmt};
use crate::plan::{Base, Nest, Node, Start, Step, Store};
use ijk_ir::core::Init;
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
    let range =
        |(first, last): (i128, i128)| Some(first.try_into().ok()?..(last + 1).try_into().ok()?);
    let inside: Vec<Range<usize>> = region(stmt)?.into_iter().map(range).collect::<Option<_>>()?;
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

/// A nest that fills a box.
fn fill(buffers: &Buffers, stmt: &Stmt, slab: &[Range<usize>], value: Scalar) -> Step {
    let buffer = buffers.of(stmt.out);
    let target = &buffers.all[buffer.0 as usize];
    let places = slab.iter().zip(&target.strides);
    let offset = places.map(|(range, stride)| range.start as isize * stride).sum();
    let strides = target.strides.clone();
    Step::Nest(Nest {
        axes: box_axes(slab.iter().map(ExactSizeIterator::len)),
        loads: Vec::new(),
        body: vec![Node::Const(value)],
        store: Store { base: Base { buffer, offset }, dtype: target.dtype, strides, offset: None },
        reduce: None,
        start: Start::Covered,
        sequential: false,
        span: stmt.span,
    })
}
