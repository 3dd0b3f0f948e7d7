//! Reductions split off scatters.
//!
//! If points that differ in kept axes write the same element (`~nf[2*h+r]`), a statement with reduced axes would
//! accumulate each of its points in memory. It is split into the reduction over those axes, which may be a
//! contraction, and the scatter of the result.

use crate::SMALL_DOMAIN;
use crate::graph::axes::restrict;
use crate::graph::{Expr, ExprNode, Graph, Guard, Stmt, coverage, index};
use ijk_ir::core::{IndexExpr, Init};
use ijk_types::{Monoid, Reducer};

/// Least number of reduced points per scattered one.
const MIN_POINTS_PER_SCATTERED: u64 = 2;

/// Runs the pass.
pub(crate) fn reduce_first(graph: &mut Graph) {
    if !graph.statements.iter().any(|stmt| wanted(graph, stmt)) {
        return;
    }
    for stmt in std::mem::take(&mut graph.statements) {
        match stmt.reduce {
            Some(Reducer::Monoid(monoid)) if wanted(graph, &stmt) => divide(graph, stmt, monoid),
            _ => graph.statements.push(stmt),
        }
    }
}

/// Tells whether a statement scatters, and reduces enough for the split to pay.
fn wanted(graph: &Graph, stmt: &Stmt) -> bool {
    if !matches!(stmt.reduce, Some(Reducer::Monoid(_))) || stmt.points() <= SMALL_DOMAIN {
        return false;
    }
    let kept = stmt.kept_axes();
    let determined = coverage::determined(&stmt.out_index, &stmt.extents());
    let collides = kept.iter().zip(determined).any(|(kept, determined)| *kept && !determined);
    let dropped = stmt.axes.iter().zip(&kept).filter(|(_, kept)| !**kept);
    let dropped = dropped.fold(1, |n: u64, (axis, _)| n.saturating_mul(axis.extent));
    collides && dropped >= MIN_POINTS_PER_SCATTERED && stmt.scan.is_none() && !graph.can_fail(stmt)
}

/// Adds the reduction and the scatter.
fn divide(graph: &mut Graph, stmt: Stmt, monoid: Monoid) {
    let kept = stmt.kept_axes();
    let members = order(&stmt, &kept);
    let index = index::of_axes(members.iter().copied());
    let shape = members.iter().map(|&a| stmt.axes[a].extent).collect();
    let array = graph.new_array(graph.array(stmt.out).dtype, shape);
    // Guards on the output's index alone are left to the scatter.
    let mut plain = true;
    stmt.for_each_index(|e| plain &= !index::reads(e));
    let read = |e: &IndexExpr| stmt.value.nodes.iter().any(|node| node.indices().contains(e));
    let of_output = |(e, _): &&Guard| plain && stmt.out_index.contains(e) && !read(e);
    let of_kept = |(e, _): &&Guard| {
        let mut all = true;
        index::for_each_axis(e, &mut |axis| all &= kept[axis.0 as usize]);
        all
    };
    let reduction = Stmt {
        out: array,
        out_index: index.clone(),
        init: Init::Identity(monoid),
        guards: stmt.guards.iter().filter(|guard| !of_output(guard)).cloned().collect(),
        ..stmt.clone()
    };
    let scatter = Stmt {
        value: Expr { nodes: vec![ExprNode::Access(array, index)] },
        guards: stmt.guards.iter().filter(of_kept).cloned().collect(),
        ..stmt.clone()
    };
    graph.statements.push(reduction);
    graph.statements.push(restrict(scatter, |axis| members.contains(&axis)));
}

/// Order of the axes of the scatter: the longest axis of each output dimension in the order of these, all others
/// before.
fn order(stmt: &Stmt, kept: &[bool]) -> Vec<usize> {
    let mut main: Vec<usize> = Vec::new();
    for place in &stmt.out_index {
        let mut longest: Option<usize> = None;
        index::for_each_axis(place, &mut |axis| {
            let axis = axis.0 as usize;
            let longer = |other: usize| stmt.axes[axis].extent > stmt.axes[other].extent;
            if !main.contains(&axis) && longest.is_none_or(longer) {
                longest = Some(axis);
            }
        });
        main.extend(longest);
    }
    let others = (0..kept.len()).filter(|&axis| kept[axis] && !main.contains(&axis));
    others.collect::<Vec<_>>().into_iter().chain(main.iter().copied()).collect()
}
