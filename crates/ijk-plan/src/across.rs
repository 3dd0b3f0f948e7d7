//! Reductions that write across what they read.
//!
//! `y[t,b] = x[b,t+k]` goes along rows of `x`, and each of its neighbours belongs to another row of `y`. What is
//! reduced is stored as it is read, `s[b,t]`, and copied across, which has a kernel of its own that takes squares of both.

use crate::contraction;
use crate::graph::{Graph, Node, Stmt};
use crate::index;
use crate::{SMALL_DOMAIN, lines};
use ijk_ir::core::{Atom, IndexExpr, Init};
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
fn along(graph: &Graph, stmt: &Stmt) -> Option<Vec<usize>> {
    let Some(Reducer::Monoid(monoid)) = stmt.reduce else { return None };
    let whole = stmt.init == Init::Identity(monoid) && !graph.partial.contains(&stmt.out);
    if !whole || stmt.scan.is_some() || stmt.points() <= 8 * SMALL_DOMAIN {
        return None;
    }
    let out = index::plain_axes(&stmt.out_index)?;
    let covers = graph.array(stmt.out).shape.iter().eq(out.iter().map(|&a| &stmt.axes[a].extent));
    let reduces = out.len() < stmt.axes.len();
    let across = *out.last()?;
    let long = |axis: usize| stmt.axes[axis].extent >= lines::SHORT;
    if !covers || !reduces || !long(across) {
        return None;
    }
    let mut found = None;
    let mut windows = false;
    for node in &stmt.value.nodes {
        let Node::Access(_, places) = node else { continue };
        let (last, others) = places.split_last()?;
        if has(last, across) {
            return None;
        }
        windows |= last.terms.len() > 1;
        let neighbour = out.iter().find(|&&axis| has(last, axis) && long(axis));
        if let Some(&axis) = neighbour
            && others.iter().any(|e| has(e, across))
        {
            found = Some(axis);
        }
    }
    let axis = found?;
    // Contractions lay their results out as they are wanted, but for windows.
    if contraction::is_one(graph, stmt) && !windows {
        return None;
    }
    let others = out.iter().copied().filter(|&other| other != axis);
    Some(others.chain([axis]).collect())
}

/// Whether an index goes along an axis.
fn has(e: &IndexExpr, axis: usize) -> bool {
    e.terms.iter().any(|term| matches!(term, (1, Atom::Axis(a)) if a.0 as usize == axis))
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
    graph.statements.extend([along, copy]);
}
