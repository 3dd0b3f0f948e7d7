//! Boxes that write disjoint parts of an array.

use crate::domain::bounds::{Interval, one_each, stored};
use crate::graph::{Graph, Stmt, coverage};
use ijk_ir::core::{Atom, IndexExpr, Init};
use ijk_types::Reducer;

/// First and last position along each axis of an array.
pub(crate) type OutputBox = Vec<Interval>;

/// The boxes of a statement as statements that define their elements, if they partition the output and start from
/// identities.
pub(super) fn as_definitions(graph: &Graph, stmt: &Stmt, boxes: &[Stmt]) -> Option<Vec<Stmt>> {
    let own_start = match stmt.reduce {
        Some(Reducer::Monoid(monoid)) => stmt.init == Init::Identity(monoid),
        _ => true,
    };
    let shape = &graph.array(stmt.out).shape;
    if boxes.len() < 2 || !own_start || boxes.iter().any(|piece| !piece.guards.is_empty()) {
        return None;
    }
    let regions: Vec<OutputBox> = boxes.iter().map(region).collect::<Option<_>>()?;
    let elements = |region: &OutputBox| {
        region.iter().fold(1, |n: i128, (from, to)| n.saturating_mul(to - from + 1))
    };
    let reached = regions.iter().map(elements).fold(0, i128::saturating_add);
    let all = shape.iter().fold(1, |n: i128, &extent| n.saturating_mul(extent.into()));
    let apart = (0..regions.len()).all(|a| (0..a).all(|b| disjoint(&regions[a], &regions[b])));
    (reached == all && apart).then(|| boxes.iter().map(|piece| plain(graph, piece)).collect())
}

/// The positions that a statement writes, if they are a box, each written by points that differ in reduced axes only.
pub(crate) fn region(stmt: &Stmt) -> Option<OutputBox> {
    let extents = stmt.extents();
    let kept = stmt.kept_axes();
    let determined = coverage::determined(&stmt.out_index, &extents);
    if !kept.iter().zip(determined).all(|(kept, determined)| determined || !kept) {
        return None;
    }
    let mut seen = vec![false; extents.len()];
    let mut along = |e: &IndexExpr| {
        let mut steps = Vec::with_capacity(e.terms.len());
        for (step, atom) in &e.terms {
            let Atom::Axis(axis) = atom else { return None };
            let axis = axis.0 as usize;
            if extents[axis] > 1 {
                (!std::mem::replace(&mut seen[axis], true)).then_some(())?;
                steps.push((u128::from(step.unsigned_abs()), u128::from(extents[axis])));
            }
        }
        steps.sort_unstable();
        let mut next = 1u128;
        for (step, extent) in steps {
            (step == next).then_some(())?;
            next = next.checked_mul(extent)?;
        }
        Some(crate::graph::index::range(e, &extents))
    };
    stmt.out_index.iter().map(&mut along).collect()
}

fn disjoint(a: &OutputBox, b: &OutputBox) -> bool {
    a.iter().zip(b).any(|((a0, a1), (b0, b1))| a1 < b0 || b1 < a0)
}

/// The piece as a map, if it combines one value with each identity.
fn plain(graph: &Graph, piece: &Stmt) -> Stmt {
    match piece.reduce {
        Some(Reducer::Monoid(monoid)) if one_each(piece) => stored(graph, piece.clone(), monoid),
        _ => piece.clone(),
    }
}
