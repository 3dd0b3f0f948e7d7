//! Equal statements: a temporary that another statement defines alike is computed once.
//!
//! Passes that store intermediates make such statements, each for its own consumer: in `(x[b,d] - m[d]) * (x[b,e] -
//! m[e])`, the two factors are one array, and their product is that of an array with itself.

use crate::graph::expr::same_expr;
use crate::graph::{ExprNode, Graph, Stmt, index};
use ijk_ir::core::{ArrayId, Init};
use std::collections::BTreeSet;

/// Runs the pass.
pub(crate) fn share(graph: &mut Graph) {
    let shown = [&graph.inputs, &graph.outputs, &graph.fallible].into_iter().flatten();
    let shown: BTreeSet<ArrayId> =
        shown.chain(&graph.partial).chain(&graph.numbers).copied().collect();
    let mut at = 0;
    while at < graph.statements.len() {
        let stmt = &graph.statements[at];
        let hidden = |stmt: &&Stmt| !shown.contains(&stmt.out);
        let earlier = graph.statements[..at].iter().filter(hidden);
        let equal = { earlier }.find(|other| hidden(&stmt) && is_equal(graph, other, stmt));
        match equal.map(|other| (stmt.out, other.out)) {
            Some((from, to)) => {
                graph.statements.remove(at);
                graph.statements[at..].iter_mut().for_each(|stmt| read_instead(stmt, from, to));
            }
            None => at += 1,
        }
    }
}

/// Returns true if two statements define their arrays alike, but for the names of axes.
fn is_equal(graph: &Graph, a: &Stmt, b: &Stmt) -> bool {
    let (one, other) = (graph.array(a.out), graph.array(b.out));
    one.dtype == other.dtype
        && one.shape == other.shape
        && (a.reduce, a.init, a.single, a.scan) == (b.reduce, b.init, b.single, b.scan)
        && a.extents() == b.extents()
        && a.out_index == b.out_index
        && a.guards == b.guards
        && same_expr(&a.value, &b.value)
}

/// Replaces all reads of an array.
fn read_instead(stmt: &mut Stmt, from: ArrayId, to: ArrayId) {
    let replace = |array: &mut ArrayId| {
        if *array == from {
            *array = to;
        }
    };
    if let Init::From(array) = &mut stmt.init {
        replace(array);
    }
    for node in &mut stmt.value.nodes {
        if let ExprNode::Access(array, _) = node {
            replace(array);
        }
    }
    stmt.for_each_index_mut(|e| {
        index::for_each_element_mut(e, &mut |access| replace(&mut access.array));
    });
}
