//! Reductions whose output is strided along the contiguous axis of their input.
//!
//! `y[t,b] = x[b,t+k]` reads rows of `x`, but adjacent elements of a row belong to different rows of `y`. The
//! reduction is stored in the order of its input, `s[b,t]`, and a transposing copy follows, which has a blocked kernel
//! of its own.

use crate::SMALL_DOMAIN;
use crate::graph::{ExprNode, Graph, Stmt, index};
use crate::layout::axis_order;
use crate::select::contraction;
use ijk_ir::core::{IndexExpr, Init};
use ijk_types::Reducer;

/// Runs the pass.
pub(crate) fn transpose_outputs(graph: &mut Graph) {
    for stmt in std::mem::take(&mut graph.statements) {
        match input_order(graph, &stmt) {
            Some(axes) => divide(graph, stmt, axes),
            None => graph.statements.push(stmt),
        }
    }
}

/// Axes of a reduction's output in an order whose last axis is contiguous in the input; `None` if the output is stored
/// so already, or if the copy would not pay.
pub(crate) fn input_order(graph: &Graph, stmt: &Stmt) -> Option<Vec<usize>> {
    let Some(Reducer::Monoid(monoid)) = stmt.reduce else { return None };
    let whole = stmt.init == Init::Identity(monoid) && !graph.partial.contains(&stmt.out);
    if !whole || stmt.scan.is_some() || stmt.points() <= 8 * SMALL_DOMAIN {
        return None;
    }
    let out = index::plain_axes(&stmt.out_index)?;
    let covers = graph.array(stmt.out).shape.iter().eq(out.iter().map(|&a| &stmt.axes[a].extent));
    let reduces = out.len() < stmt.axes.len();
    let across = out[*graph.axes_by_stride(stmt.out).last()?];
    let long = |axis: usize| stmt.axes[axis].extent >= axis_order::SHORT;
    if !covers || !reduces {
        return None;
    }
    let read = |node| read(graph, node);
    let reads: Vec<Read<'_>> = stmt.value.nodes.iter().filter_map(read).collect();
    if reads.iter().any(|read| index::steps_with(read.last, across)) {
        return None;
    }
    let of_rows = |read: &&Read<'_>| read.places.iter().any(|e| index::depends(e, across));
    let steps_with = |e: &IndexExpr| out.iter().copied().find(|&axis| index::steps_with(e, axis));
    // A short axis and the one around it are read in rows, too.
    let neighbours = |read: &Read<'_>| {
        let axis = steps_with(read.last)?;
        let around = read.around.and_then(steps_with).filter(|&around| around != axis);
        let rows = long(axis) || around.is_some_and(long);
        rows.then_some((axis, around.filter(|_| !long(axis))))
    };
    let (axis, around) = reads.iter().filter(of_rows).find_map(neighbours)?;
    let goes = |read: &Read<'_>| read.last.terms.len() > 1 && index::steps_with(read.last, axis);
    let is_window = reads.iter().any(goes);
    let shared = |axis: usize| {
        reads.iter().all(|read| read.places.iter().any(|e| index::steps_with(e, axis)))
    };
    // Contractions write any output layout at full speed, except for windows and for batches whose index is
    // contiguous.
    let batched = || shared(across) || shared(axis) && !contraction::multiplies(graph, stmt);
    let suits = match contraction::is_one(graph, stmt) {
        true => is_window || long(across) && batched(),
        false => long(across),
    };
    if !suits {
        return None;
    }
    let inner = |other: &usize| *other == axis || Some(*other) == around;
    let (rows, others): (Vec<usize>, Vec<usize>) =
        out.into_iter().filter(|other| !inner(other)).partition(|&axis| shared(axis));
    Some(rows.into_iter().chain(others).chain(around).chain([axis]).collect())
}

/// Index of an access.
struct Read<'s> {
    places: &'s [IndexExpr],
    /// Its component along the array's contiguous axis,
    last: &'s IndexExpr,
    /// and along the axis of the next larger stride.
    around: Option<&'s IndexExpr>,
}

fn read<'s>(graph: &Graph, node: &'s ExprNode) -> Option<Read<'s>> {
    let ExprNode::Access(array, places) = node else { return None };
    let by_stride = graph.axes_by_stride(*array);
    let (last, outer) = by_stride.split_last()?;
    let around = outer.last().map(|&axis| &places[axis]);
    Some(Read { places, last: &places[*last], around })
}

/// Adds the reduction with reordered output axes, and the copy.
fn divide(graph: &mut Graph, stmt: Stmt, axes: Vec<usize>) {
    let shape = axes.iter().map(|&axis| stmt.axes[axis].extent).collect();
    let array = graph.new_array(graph.array(stmt.out).dtype, shape);
    let out = stmt.kept_by_output();
    let place = |axis: &usize| out.iter().position(|other| other == axis).unwrap_or(0);
    let read = ExprNode::Access(array, index::of_axes(axes.iter().map(place)));
    let own = out.iter().map(|&axis| stmt.axes[axis].clone()).collect();
    let copy = Stmt::map(stmt.out, own, vec![read], stmt.span);
    let along = Stmt { out: array, out_index: index::of_axes(axes), ..stmt };
    graph.statements.extend([along.in_output_order(), copy]);
}
