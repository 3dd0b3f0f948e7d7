//! Constants folded, views and opposites of them folded into what their consumers read, dead
//! statements dropped.

use crate::coverage::{self, Digit, Digits};
use crate::expr::{Builder, is_zero, same};
use crate::graph::{Few, Graph, Node, Stmt};
use crate::index;
use crate::split;
use ijk_ir::core::{ArrayId, IndexExpr};
use ijk_types::{BinaryOp, UnaryOp};

/// Values of more nodes are built anew without looking whether they change.
const FEW: usize = 8;

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

/// Arrays that no output needs, of statements that can fail.
fn unneeded_fallible(graph: &Graph) -> Vec<ArrayId> {
    let needed = needed(graph);
    let dead = graph.statements.iter().filter(|stmt| !needed[stmt.out.0 as usize]);
    dead.filter(|stmt| graph.can_fail(stmt)).map(|stmt| stmt.out).collect()
}

/// Whether a statement reads no view, and building its value anew would give the same: no node is a constant,
/// or the same as another, or for nothing, nor takes the opposite of one, and no index is divided.
fn is_folded(graph: &Graph, definitions: &[Option<u32>], stmt: &Stmt) -> bool {
    let nodes = &stmt.value.nodes;
    let reads_view = |array: &ArrayId| {
        let producer = definitions[array.0 as usize].map(|at| &graph.statements[at as usize]);
        producer.is_some_and(is_view)
    };
    let plain = |at: usize| {
        let node = &nodes[at];
        let kept = match node {
            Node::Access(array, _) => !reads_view(array),
            Node::Unary(..) | Node::Binary(..) => {
                !node.children().any(|c| matches!(nodes[c as usize], Node::Unary(UnaryOp::Neg, _)))
            }
            _ => false,
        };
        let used = || nodes[at + 1..].iter().any(|other| other.children().any(|c| c == at as u32));
        kept && !nodes[..at].iter().any(|other| same(other, node))
            && (at + 1 == nodes.len() || used())
    };
    nodes.len() <= FEW && (0..nodes.len()).all(plain) && split::divisions(stmt) == 0
}

/// Tells whether a statement gives what it reads, or its opposite, or that with zeros that lost their sign: a sign
/// costs less where it is needed than in an array of its own, and most often goes into an operator there.
pub(crate) fn is_view(stmt: &Stmt) -> bool {
    let zero = |node: &Node| matches!(node, Node::Const(value) if is_zero(*value));
    let signed = match &stmt.value.nodes[..] {
        [Node::Access(..), Node::Unary(UnaryOp::Neg, 0)] => true,
        [x, y, Node::Binary(BinaryOp::Add, ..)] => {
            let one = |x: &Node, y: &Node| matches!(x, Node::Access(..)) && zero(y);
            one(x, y) || one(y, x)
        }
        _ => false,
    };
    signed || stmt.as_leaf().is_some()
}

/// The statement with constants folded and views that it reads replaced by what they read.
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

/// Whether no division is needed to get the axes back.
fn plain(digits: &[Option<Digit>]) -> bool {
    digits.iter().flatten().all(|d| d.divisor == 1 && d.modulus.is_none())
}

/// How to get a map's axes back from a position in its output, if it covers that.
pub(crate) fn digits_of(graph: &Graph, producer: &Stmt) -> Option<Digits> {
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
    mut choose: impl FnMut(ArrayId, &[IndexExpr]) -> Option<(&'a Stmt, Digits)>,
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
    let map = axes_at(digits, index, extents)?;
    let value = producer.value.map_indices(|e| index::substitute(e, &map, extents))?;
    Some(builder.push_all(&value))
}

/// The axes of a map at the position `index` of its output, over a domain of `extents`.
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

/// For each array, whether an output or a statement that may fail needs it.
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

/// Lets what a statement only copies be computed where the copy is, if nobody else reads it.
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

/// The array of which a statement is a copy, element for element.
fn copied(graph: &Graph, stmt: &Stmt) -> Option<ArrayId> {
    let Some(Node::Access(array, index)) = stmt.as_leaf() else { return None };
    let (from, to) = (graph.array(*array), graph.array(stmt.out));
    let plain = stmt.reduce.is_none() && stmt.scan.is_none() && stmt.guards.is_empty();
    let own = index::of_axes(0..from.shape.len());
    let whole =
        stmt.extents()[..] == from.shape && from.shape == to.shape && from.dtype == to.dtype;
    (plain && whole && *index == own && stmt.out_index == own).then_some(*array)
}

/// Drops statements whose arrays nobody needs.
pub(crate) fn drop_dead(graph: &mut Graph) {
    let needed = needed(graph);
    graph.statements.retain(|stmt| needed[stmt.out.0 as usize]);
}
