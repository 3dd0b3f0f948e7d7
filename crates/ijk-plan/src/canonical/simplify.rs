//! Folds constants, inlines views and negated views into their consumers, drops dead statements.

use crate::domain::split;
use crate::graph::coverage::{self, Digit, Digits};
use crate::graph::expr::{Builder, is_zero, same};
use crate::graph::{ExprNode, Few, Graph, Stmt, index};
use ijk_ir::core::{ArrayId, IndexExpr};
use ijk_types::{BinaryOp, UnaryOp};

/// Values of more nodes are rebuilt without a test whether they change.
const MAX_TESTED_NODES: usize = 8;

/// Runs the pass.
pub(crate) fn simplify(graph: &mut Graph) {
    fold(graph);
    graph.fallible = unneeded_fallible(graph);
    drop_dead(graph);
}

/// Folds constants and views in all statements.
pub(crate) fn fold(graph: &mut Graph) {
    let definitions = graph.definitions();
    for at in 0..graph.statements.len() {
        if is_folded(graph, &definitions, &graph.statements[at]) {
            continue;
        }
        let folded = fold_views(graph, &definitions, at);
        graph.statements[at] = folded;
    }
}

/// Arrays of dead statements that can fail.
fn unneeded_fallible(graph: &Graph) -> Vec<ArrayId> {
    let needed = needed(graph);
    let dead = graph.statements.iter().filter(|stmt| !needed[stmt.out.0 as usize]);
    dead.filter(|stmt| graph.can_fail(stmt)).map(|stmt| stmt.out).collect()
}

/// Tells whether rebuilding a statement would not change it: it reads no view, and no node is a constant, a duplicate,
/// unused or the operand of a negation, and no index is divided.
fn is_folded(graph: &Graph, definitions: &[Option<u32>], stmt: &Stmt) -> bool {
    let nodes = &stmt.value.nodes;
    let reads_view = |array: &ArrayId| {
        let producer = definitions[array.0 as usize].map(|at| &graph.statements[at as usize]);
        producer.is_some_and(is_view)
    };
    let plain = |at: usize| {
        let node = &nodes[at];
        let kept = match node {
            ExprNode::Access(array, _) => !reads_view(array),
            ExprNode::Unary(..) | ExprNode::Binary(..) => !node
                .children()
                .any(|c| matches!(nodes[c as usize], ExprNode::Unary(UnaryOp::Neg, _))),
            _ => false,
        };
        let used = || nodes[at + 1..].iter().any(|other| other.children().any(|c| c == at as u32));
        kept && !nodes[..at].iter().any(|other| same(other, node))
            && (at + 1 == nodes.len() || used())
    };
    nodes.len() <= MAX_TESTED_NODES && (0..nodes.len()).all(plain) && split::divisions(stmt) == 0
}

/// Tells whether a statement is a view: its operand, the negated operand, or the operand plus 0. A sign is cheaper
/// where it is used than in an array of its own, and is most often absorbed by an operator there.
pub(crate) fn is_view(stmt: &Stmt) -> bool {
    let zero = |node: &ExprNode| matches!(node, ExprNode::Const(value) if is_zero(*value));
    let signed = match &stmt.value.nodes[..] {
        [ExprNode::Access(..), ExprNode::Unary(UnaryOp::Neg, 0)] => true,
        [x, y, ExprNode::Binary(BinaryOp::Add, ..)] => {
            let one = |x: &ExprNode, y: &ExprNode| matches!(x, ExprNode::Access(..)) && zero(y);
            one(x, y) || one(y, x)
        }
        _ => false,
    };
    signed || stmt.as_leaf().is_some()
}

/// The statement with constants folded and views inlined.
fn fold_views(graph: &Graph, definitions: &[Option<u32>], at: usize) -> Stmt {
    let stmt = &graph.statements[at];
    let view = |array: ArrayId| {
        let producer = &graph.statements[definitions[array.0 as usize]? as usize];
        if !is_view(producer) {
            return None;
        }
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

/// Tells whether axes are recovered from positions without divisions.
fn plain(digits: &[Option<Digit>]) -> bool {
    digits.iter().flatten().all(|d| d.divisor == 1 && d.modulus.is_none())
}

/// Digits of a map's axes, if it covers its output.
pub(crate) fn digits_of(graph: &Graph, producer: &Stmt) -> Option<Digits> {
    if producer.reduce.is_some() {
        return None;
    }
    let shape = &graph.array(producer.out).shape;
    coverage::digits(&producer.out_index, shape, &producer.extents())
}

/// Replaces accesses by the values of the producers that `choose` returns. `None` on overflow of an index.
pub(crate) fn inline<'a>(
    stmt: &Stmt,
    mut choose: impl FnMut(ArrayId, &[IndexExpr]) -> Option<(&'a Stmt, Digits)>,
) -> Option<Stmt> {
    let extents = stmt.extents();
    let mut builder = Builder::default();
    let root = builder.push_expr(&stmt.value, |builder, leaf| {
        if let ExprNode::Access(array, index) = leaf
            && let Some((producer, digits)) = choose(*array, index)
        {
            return push_producer(builder, producer, &digits, index, &extents);
        }
        Some(builder.push(leaf.clone()))
    })?;
    Some(Stmt { value: builder.finish(root), ..stmt.clone() })
}

/// Adds the producer's value at the position `index`, over a domain of `extents`.
fn push_producer(
    builder: &mut Builder,
    producer: &Stmt,
    digits: &[Option<Digit>],
    index: &[IndexExpr],
    extents: &[u64],
) -> Option<u32> {
    let map = axes_at(digits, index, extents)?;
    let value = producer.value.map_indices(|e| index::substitute(e, &map, extents))?;
    Some(builder.push_all(&value))
}

/// Axes of a map at the position `index` of its output, over a domain of `extents`.
pub(crate) fn axes_at(
    digits: &[Option<Digit>],
    index: &[IndexExpr],
    extents: &[u64],
) -> Option<Vec<IndexExpr>> {
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
    digits.iter().map(axis).collect()
}

/// For each array, true if an output or a fallible statement needs it.
fn needed(graph: &Graph) -> Few<bool> {
    let mut needed = Few::from_elem(false, graph.arrays.len());
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

/// Removes copies of arrays without other uses: the producer stores into the copy.
pub(crate) fn drop_copies(graph: &mut Graph) {
    let (definitions, uses) = (graph.definitions(), graph.uses());
    for at in (0..graph.statements.len()).rev() {
        let stmt = &graph.statements[at];
        let Some(source) = copied(graph, stmt).filter(|array| uses[array.0 as usize] == 1) else {
            continue;
        };
        let Some(producer) = definitions[source.0 as usize] else { continue };
        let special = |array| graph.partial.contains(array) || graph.fallible.contains(array);
        if ![source, stmt.out].iter().any(special)
            && graph.statements[producer as usize].out == source
        {
            graph.statements[producer as usize].out = stmt.out;
            graph.statements.remove(at);
        }
    }
}

/// The source of an elementwise copy.
fn copied(graph: &Graph, stmt: &Stmt) -> Option<ArrayId> {
    let Some(ExprNode::Access(array, index)) = stmt.as_leaf() else { return None };
    let (from, to) = (graph.array(*array), graph.array(stmt.out));
    let plain = stmt.reduce.is_none() && stmt.scan.is_none() && stmt.guards.is_empty();
    let own = index::of_axes(0..from.shape.len());
    let whole =
        stmt.extents()[..] == from.shape && from.shape == to.shape && from.dtype == to.dtype;
    (plain && whole && *index == own && stmt.out_index == own).then_some(*array)
}

/// Drops dead statements.
pub(crate) fn drop_dead(graph: &mut Graph) {
    let needed = needed(graph);
    graph.statements.retain(|stmt| needed[stmt.out.0 as usize]);
}
