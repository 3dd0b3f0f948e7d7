//! Reductions that write across what they read.
//!
//! `y[t,b] = x[b,t+k]` goes along rows of `x`, and each of its neighbours belongs to another row of `y`. What is
//! reduced is stored as it is read, `s[b,t]`, and copied across, which has a kernel of its own that takes squares of
//! both.

use crate::contraction;
use crate::graph::{Graph, Node, Stmt};
use crate::index;
use crate::{SMALL_DOMAIN, lines};
use ijk_ir::core::{IndexExpr, Init};
use ijk_types::Reducer;

/// Runs the pass.
pub(crate) fn store_along(graph: &mut Graph) {
    for stmt in std::mem::take(&mut graph.statements) {
        match along(graph, &stmt) {
            Some(axes) => divide(graph, stmt, axes),
            None => graph.statements.push(stmt),
        }
    }
}

/// The axes of a reduction's output in an order that goes along what it reads, if its own goes across that.
pub(crate) fn along(graph: &Graph, stmt: &Stmt) -> Option<Vec<usize>> {
    let Some(Reducer::Monoid(monoid)) = stmt.reduce else { return None };
    let whole = stmt.init == Init::Identity(monoid) && !graph.partial.contains(&stmt.out);
    if !whole || stmt.scan.is_some() || stmt.points() <= 8 * SMALL_DOMAIN {
        return None;
    }
    let out = index::plain_axes(&stmt.out_index)?;
    let covers = graph.array(stmt.out).shape.iter().eq(out.iter().map(|&a| &stmt.axes[a].extent));
    let reduces = out.len() < stmt.axes.len();
    let across = out[*graph.by_distance(stmt.out).last()?];
    let long = |axis: usize| stmt.axes[axis].extent >= lines::SHORT;
    if !covers || !reduces {
        return None;
    }
    let read = |node| read(graph, node);
    let reads: Vec<(&[IndexExpr], &IndexExpr)> = stmt.value.nodes.iter().filter_map(read).collect();
    if reads.iter().any(|(_, last)| index::goes_along(last, across)) {
        return None;
    }
    let of_rows =
        |(places, _): &&(&[IndexExpr], _)| places.iter().any(|e| index::depends(e, across));
    let neighbour = |(_, last): &(_, &IndexExpr)| {
        out.iter().copied().find(|&axis| index::goes_along(last, axis) && long(axis))
    };
    let axis = reads.iter().filter(of_rows).find_map(neighbour)?;
    let goes = |(_, last): &(_, &IndexExpr)| last.terms.len() > 1 && index::goes_along(last, axis);
    let is_window = reads.iter().any(goes);
    let shared = |axis: usize| {
        reads.iter().all(|(places, _)| places.iter().any(|e| index::goes_along(e, axis)))
    };
    // Contractions lay their results out as they are wanted, but for windows, and batches one by one.
    let suits = match contraction::is_one(graph, stmt) {
        true => is_window || long(across) && shared(across),
        false => long(across),
    };
    if !suits {
        return None;
    }
    let (rows, others): (Vec<usize>, Vec<usize>) =
        out.into_iter().filter(|&other| other != axis).partition(|&axis| shared(axis));
    Some(rows.into_iter().chain(others).chain([axis]).collect())
}

/// The index of a node that reads an array, and the place in it along which elements are neighbours.
fn read<'s>(graph: &Graph, node: &'s Node) -> Option<(&'s [IndexExpr], &'s IndexExpr)> {
    let Node::Access(array, places) = node else { return None };
    Some((places, &places[*graph.by_distance(*array).last()?]))
}

/// Adds the reduction with its axes in another order, and the copy.
fn divide(graph: &mut Graph, stmt: Stmt, axes: Vec<usize>) {
    let shape = axes.iter().map(|&axis| stmt.axes[axis].extent).collect();
    let array = graph.new_array(graph.array(stmt.out).dtype, shape);
    let out = stmt.kept_in_order();
    let place = |axis: &usize| out.iter().position(|other| other == axis).unwrap_or(0);
    let read = Node::Access(array, index::of_axes(axes.iter().map(place)));
    let own = out.iter().map(|&axis| stmt.axes[axis].clone()).collect();
    let copy = Stmt::map(stmt.out, own, vec![read], stmt.span);
    let along = Stmt { out: array, out_index: index::of_axes(axes), ..stmt };
    graph.statements.extend([along.in_order(), copy]);
}
