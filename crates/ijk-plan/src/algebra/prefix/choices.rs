//! Maxima of what conditions on positions choose, taken apart.
//!
//! `max (q <= p ? x[q] : 0)` is the maximum of a prefix, and of 0 wherever some q fails the condition. The first is a
//! scan; the second has one point for each output.

use super::masks;
use crate::domain::bounds::narrow;
use crate::domain::peel::chain;
use crate::graph::axes::{of_indices, restrict};
use crate::graph::expr::{Builder, extract};
use crate::graph::{Expr, ExprNode, Graph, Guard, Stmt, index};
use ijk_ir::core::{Atom, IndexExpr};
use ijk_types::{Monoid, Reducer, scalar};

/// Runs the pass.
pub(crate) fn take_apart(graph: &mut Graph) {
    if !graph.statements.iter().any(chooses) {
        return;
    }
    for stmt in std::mem::take(&mut graph.statements) {
        match parts(graph, &stmt) {
            Some(parts) => chain(graph, stmt, parts),
            None => graph.statements.push(stmt),
        }
    }
}

/// Tells whether a statement reduces what a condition chooses to a maximum or minimum.
fn chooses(stmt: &Stmt) -> bool {
    let extreme = matches!(stmt.reduce, Some(Reducer::Monoid(Monoid::Max | Monoid::Min)));
    let select = matches!(stmt.value.nodes.last(), Some(ExprNode::Select(..)));
    extreme && select && stmt.scan.is_none() && stmt.guards.is_empty() && masks::compares(stmt)
}

/// The prefix reduction of what is chosen where the condition holds, and the reduction of the other value.
fn parts(graph: &Graph, stmt: &Stmt) -> Option<Vec<Stmt>> {
    let Some(Reducer::Monoid(monoid)) = stmt.reduce.filter(|_| chooses(stmt)) else { return None };
    let &ExprNode::Select(condition, yes, no) = stmt.value.nodes.last()? else { return None };
    // Of joined conditions, each may fail.
    if !masks::is_comparison(&stmt.value.nodes[condition as usize]) {
        return None;
    }
    let other = extract(&stmt.value.nodes, no);
    let kept = stmt.kept_axes();
    let depends = of_indices(other.nodes.iter().flat_map(ExprNode::indices));
    let identity = scalar::identity(monoid, graph.array(stmt.out).dtype);
    let is_identity = matches!(other.nodes[..], [ExprNode::Const(value)] if value == identity);
    if is_identity || !depends.iter().all(|&axis| kept[axis as usize]) {
        return None;
    }
    let mut builder = Builder::default();
    let [condition, yes] =
        [condition, yes].map(|root| builder.push_all(&extract(&stmt.value.nodes, root)));
    let none = builder.push(ExprNode::Const(identity));
    let root = builder.push(ExprNode::Select(condition, yes, none));
    let prefix = masks::guarded(graph, &Stmt { value: builder.finish(root), ..stmt.clone() })?;
    let rest = failing(stmt, &kept, prefix.guards.last()?, other)?;
    Some(std::iter::once(prefix).chain(rest).collect())
}

/// The reduction of a value over the points at which a guard fails, one for each output; none if there are none.
/// The outer `None` if the guard depends on more than one reduced axis.
fn failing(stmt: &Stmt, kept: &[bool], guard: &Guard, value: Expr) -> Option<Option<Stmt>> {
    let mut fails = index::scale(&guard.0, -1)?;
    fails.constant = fails.constant.checked_sub(1)?;
    let mut map = index::of_axes(0..stmt.axes.len());
    let mut reduced = 0;
    for (step, atom) in &fails.terms {
        let Atom::Axis(axis) = atom else { return None };
        if !kept[axis.0 as usize] {
            let last = i64::try_from(stmt.axes[axis.0 as usize].extent).ok()? - 1;
            map[axis.0 as usize] = IndexExpr::constant(if *step > 0 { last } else { 0 });
            reduced += 1;
        }
    }
    let fails = index::substitute(&fails, &map, &stmt.extents()).filter(|_| reduced == 1)?;
    let (_, greatest) = index::range(&fails, &stmt.extents());
    if greatest < 0 {
        return Some(None);
    }
    let guards = vec![masks::from_zero(fails, &stmt.extents())?];
    let rest = Stmt { value, guards, ..stmt.clone() };
    Some(narrow(restrict(rest, |axis| kept[axis])))
}
