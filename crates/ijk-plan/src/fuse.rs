//! Elementwise producers fused into their consumers where each element is evaluated once.

use crate::coverage;
use crate::graph::{Graph, Node, Stmt};
use crate::simplify::{digits_of, drop_copies, drop_dead, inline};
use crate::split;
use ijk_ir::core::{ArrayId, IndexExpr};

/// A fused expression has at most this many nodes,
const MOST_NODES: usize = 64;
/// of which at most this many read arrays.
const MOST_LOADS: usize = 16;

/// Runs the pass.
pub(crate) fn fuse(graph: &mut Graph) {
    let definitions = graph.definitions();
    let mut uses = graph.uses();
    for at in 0..graph.statements.len() {
        while let Some(fused) = fuse_one(graph, &definitions, &uses, at) {
            count_reads(&graph.statements[at], &mut uses, -1);
            count_reads(&fused, &mut uses, 1);
            graph.statements[at] = fused;
        }
    }
    drop_dead(graph);
    drop_copies(graph);
}

fn count_reads(stmt: &Stmt, uses: &mut [u32], change: i32) {
    stmt.for_each_read(|array| {
        let count = &mut uses[array.0 as usize];
        *count = count.saturating_add_signed(change);
    });
}

/// The statement with the first producer fused that may be.
fn fuse_one(graph: &Graph, definitions: &[Option<u32>], uses: &[u32], at: usize) -> Option<Stmt> {
    let stmt = &graph.statements[at];
    stmt.value.nodes.iter().find_map(|node| {
        let Node::Access(array, index) = node else { return None };
        let producer = &graph.statements[definitions[array.0 as usize]? as usize];
        let fusable = uses[array.0 as usize] == 1
            && fits(stmt, producer)
            && evaluated_once(stmt, index)
            && keeps_errors(graph, stmt, producer);
        if !fusable {
            return None;
        }
        try_fuse(graph, stmt, producer, *array)
    })
}

/// Whether the joint expression stays small.
pub(crate) fn fits(stmt: &Stmt, producer: &Stmt) -> bool {
    let loads = |s: &Stmt| s.value.nodes.iter().filter(|n| matches!(n, Node::Access(..))).count();
    stmt.value.nodes.len() + producer.value.nodes.len() <= MOST_NODES
        && loads(stmt) + loads(producer) <= MOST_LOADS
}

/// Whether no two points of the domain read the same element.
pub(crate) fn evaluated_once(stmt: &Stmt, index: &[IndexExpr]) -> bool {
    coverage::determined(index, &stmt.extents()).into_iter().all(|d| d)
}

/// Whether an operation that fails does so however few elements the consumer reads.
fn keeps_errors(graph: &Graph, stmt: &Stmt, producer: &Stmt) -> bool {
    let all = stmt.guards.is_empty() && stmt.points() == producer.points();
    all || !graph.can_fail(producer)
}

fn try_fuse(graph: &Graph, stmt: &Stmt, producer: &Stmt, array: ArrayId) -> Option<Stmt> {
    let digits = digits_of(graph, producer)?;
    let fused = inline(stmt, |a, _| (a == array).then(|| (producer, digits.clone())))?;
    let fused = split::split(fused);
    let allowed = split::divisions(stmt) + split::divisions(producer);
    (split::divisions(&fused) <= allowed).then_some(fused)
}
