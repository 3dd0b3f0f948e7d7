//! Constants folded, views folded into the accesses of their consumers, dead statements
//! dropped.

use crate::coverage::{self, Digit};
use crate::expr::{Builder, same};
use crate::graph::{Graph, Node, Stmt};
use crate::index;
use crate::split;
use ijk_ir::core::{ArrayId, IndexExpr};

/// Values of more nodes are built anew without looking whether they change.
const FEW: usize = 8;

/// Runs the pass.
pub(crate) fn simplify(graph: &mut Graph) {
    let definitions = graph.definitions();
    for at in 0..graph.statements.len() {
        if is_folded(graph, &definitions, &graph.statements[at]) {
            continue;
        }
        let folded = fold_views(graph, &definitions, at);
        graph.statements[at] = folded;
    }
    graph.fallible = unneeded_fallible(graph);
    drop_dead(graph);
}

/// Arrays that no output needs, of statements that can fail.
fn unneeded_fallible(graph: &Graph) -> Vec<ArrayId> {
    let needed = needed(graph);
    let dead = graph.statements.iter().filter(|stmt| !needed[stmt.out.0 as usize]);
    dead.filter(|stmt| graph.can_fail(stmt)).map(|stmt| stmt.out).collect()
}

/// Whether a statement reads no view, and building its value anew would give the same: no node is a constant,
/// or the same as another, or for nothing, and no index is divided.
fn is_folded(graph: &Graph, definitions: &[Option<u32>], stmt: &Stmt) -> bool {
    let nodes = &stmt.value.nodes;
    let reads_view = |array: &ArrayId| {
        let producer = definitions[array.0 as usize].map(|at| &graph.statements[at as usize]);
        producer.is_some_and(|producer| producer.as_leaf().is_some())
    };
    let plain = |at: usize| {
        let node = &nodes[at];
        let kept = match node {
            Node::Access(array, _) => !reads_view(array),
            Node::Unary(..) | Node::Binary(..) => true,
            _ => false,
        };
        let used = || nodes[at + 1..].iter().any(|other| other.children().any(|c| c == at as u32));
        kept && !nodes[..at].iter().any(|other| same(other, node))
            && (at + 1 == nodes.len() || used())
    };
    nodes.len() <= FEW && (0..nodes.len()).all(plain) && split::divisions(stmt) == 0
}

/// The statement with constants folded and views that it reads replaced by what they read.
fn fold_views(graph: &Graph, definitions: &[Option<u32>], at: usize) -> Stmt {
    let stmt = &graph.statements[at];
    let view = |array: ArrayId| {
        let producer = &graph.statements[definitions[array.0 as usize]? as usize];
        producer.as_leaf()?;
        Some((producer, digits_of(graph, producer)?))
    };
    let all = inline(stmt, |array, _| view(array));
    let count = split::divisions(stmt);
    match all.map(split::split) {
        Some(all) if split::divisions(&all) <= count => all,
        _ => inline(stmt, |array, _| view(array).filter(|(_, d)| plain(d)))
            .unwrap_or_else(|| stmt.clone()),
    }
}

/// Whether no division is needed to get the axes back.
fn plain(digits: &[Option<Digit>]) -> bool {
    digits.iter().flatten().all(|d| d.divisor == 1 && d.modulus.is_none())
}

/// How to get a map's axes back from a position in its output, if it covers that.
pub(crate) fn digits_of(graph: &Graph, producer: &Stmt) -> Option<Vec<Option<Digit>>> {
    if producer.reduce.is_some() {
        return None;
    }
    let shape = &graph.array(producer.out).shape;
    coverage::digits(&producer.out_index, shape, &producer.extents())
}

/// The statement with accesses replaced by the values of the producers that `choose` gives for
/// them. `None` where indices overflow.
pub(crate) fn inline<'a>(
    stmt: &Stmt,
    mut choose: impl FnMut(ArrayId, &[IndexExpr]) -> Option<(&'a Stmt, Vec<Option<Digit>>)>,
) -> Option<Stmt> {
    let extents = stmt.extents();
    let mut builder = Builder::default();
    let root = builder.push_expr(&stmt.value, |builder, leaf| {
        if let Node::Access(array, index) = leaf
            && let Some((producer, digits)) = choose(*array, index)
        {
            return push_producer(builder, producer, &digits, index, &extents);
        }
        Some(builder.push(leaf.clone()))
    })?;
    Some(Stmt {
        out: stmt.out,
        axes: stmt.axes.clone(),
        out_index: stmt.out_index.clone(),
        init: stmt.init,
        reduce: stmt.reduce,
        value: builder.finish(root),
        guards: stmt.guards.clone(),
        scan: stmt.scan,
        span: stmt.span,
    })
}

/// The producer's value at the position `index`, over a domain of `extents`.
fn push_producer(
    builder: &mut Builder,
    producer: &Stmt,
    digits: &[Option<Digit>],
    index: &[IndexExpr],
    extents: &[u64],
) -> Option<u32> {
    let axis = |digit: &Option<Digit>| match digit {
        None => Some(IndexExpr::constant(0)),
        Some(Digit { dim, divisor, modulus }) => {
            let quotient = index::floor_div(&index[*dim], *divisor, extents)?;
            match modulus {
                None => Some(quotient),
                Some(m) => index::modulo(&quotient, *m, extents),
            }
        }
    };
    let map: Vec<IndexExpr> = digits.iter().map(axis).collect::<Option<_>>()?;
    let value = producer.value.map_indices(|e| index::substitute(e, &map, extents))?;
    Some(builder.push_all(&value))
}

/// For each array, whether an output or a statement that may fail needs it.
fn needed(graph: &Graph) -> Vec<bool> {
    let mut needed = vec![false; graph.arrays.len()];
    for root in graph.outputs.iter().chain(&graph.fallible) {
        needed[root.0 as usize] = true;
    }
    for stmt in graph.statements.iter().rev() {
        if needed[stmt.out.0 as usize] {
            stmt.for_each_read(|array| needed[array.0 as usize] = true);
        }
    }
    needed
}

/// Drops statements whose arrays nobody needs.
pub(crate) fn drop_dead(graph: &mut Graph) {
    let needed = needed(graph);
    graph.statements.retain(|stmt| needed[stmt.out.0 as usize]);
}
