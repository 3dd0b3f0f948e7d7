//! Functions of fewer axes than a statement has, evaluated before it.
//!
//! `x[b,t]*COS(k*t)` has a cosine for each k and t, and needs it for each b. Functions that take long are stored
//! for the axes that they depend on, and read like any array.

use crate::SMALL_DOMAIN;
use crate::axes::{Axes, of_indices, restrict, union};
use crate::bounds;
use crate::expr::{Builder, can_fail, extract};
use crate::graph::{Expr, Graph, Node, Stmt};
use crate::index;
use ijk_ir::core::{IndexExpr, Init};
use ijk_types::{BinaryOp, UnaryOp};

/// So many points must need each value.
const FEWER: u64 = 8;

/// So many evaluations of a function must be saved, in those of a division.
const LEAST: u64 = 1 << 16;

/// Runs the pass.
pub(crate) fn evaluate_before(graph: &mut Graph) {
    if graph.statements.iter().all(|stmt| stmt.points() < LEAST / SLOW) {
        return;
    }
    for stmt in std::mem::take(&mut graph.statements) {
        let stmt = hoisted(graph, stmt);
        graph.statements.push(stmt);
    }
}

/// The statement with such functions replaced by accesses to what new statements store.
fn hoisted(graph: &mut Graph, stmt: Stmt) -> Stmt {
    if stmt.points() <= SMALL_DOMAIN || stmt.points() < LEAST / SLOW || stmt.scan.is_some() {
        return stmt;
    }
    let found = functions(graph, &stmt);
    if found.is_empty() {
        return stmt;
    }
    let types = graph.node_types(&stmt.value);
    let mut builder = Builder::default();
    let mut places: Vec<u32> = Vec::with_capacity(stmt.value.nodes.len());
    for (at, node) in stmt.value.nodes.iter().enumerate() {
        let node = match found.iter().find(|(root, _)| *root == at) {
            None => node.map_children(|child| places[child as usize]),
            Some((root, axes)) => {
                let value = extract(&stmt.value.nodes, *root as u32);
                let shape = axes.iter().map(|&axis| stmt.axes[axis as usize].extent).collect();
                let array = graph.new_array(types[*root], shape);
                let index = index::of_axes(axes.iter().map(|&axis| axis as usize));
                let before = Stmt {
                    out: array,
                    out_index: index.clone(),
                    init: Init::Zero,
                    reduce: None,
                    value,
                    guards: Vec::new(),
                    ..stmt.clone()
                };
                graph.statements.push(restrict(before, |axis| axes.contains(&(axis as u32))));
                Node::Access(array, index)
            }
        };
        places.push(builder.push(node));
    }
    let value = builder.finish(places.last().copied().unwrap_or(0));
    Stmt { value, ..stmt }
}

/// The nodes to evaluate before, each with its axes: none inside another.
fn functions(graph: &Graph, stmt: &Stmt) -> Vec<(usize, Axes)> {
    let nodes = &stmt.value.nodes;
    let axes = axes_of(nodes);
    let weights = weights(nodes);
    let points = stmt.points();
    let of = |axes: &Axes| {
        axes.iter().fold(1, |n: u64, &axis| n.saturating_mul(stmt.axes[axis as usize].extent))
    };
    let mut covered = vec![false; nodes.len()];
    let mut found = Vec::new();
    for at in (0..nodes.len()).rev() {
        let wanted = !covered[at]
            && weights[at] > 0
            && of(&axes[at]).saturating_mul(FEWER) <= points
            && points.saturating_mul(weights[at]) >= LEAST
            && may_move(graph, stmt, at);
        if wanted {
            found.push((at, axes[at].clone()));
        }
        if wanted || covered[at] {
            nodes[at].children().for_each(|child| covered[child as usize] = true);
        }
    }
    found
}

/// For each node, the axes that it depends on.
fn axes_of(nodes: &[Node]) -> Vec<Axes> {
    let mut all: Vec<Axes> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let own = of_indices(node.indices());
        all.push(node.children().fold(own, |axes, child| union(&axes, &all[child as usize])));
    }
    all
}

/// How many divisions take as long as a function that is approximated.
const SLOW: u64 = 4;

/// For each node, how long its functions take, in divisions.
fn weights(nodes: &[Node]) -> Vec<u64> {
    let mut all: Vec<u64> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let own = match node {
            Node::Unary(op, _) => of_unary(*op),
            Node::Binary(op, ..) => of_binary(*op),
            _ => 0,
        };
        all.push(node.children().fold(own, |sum, child| sum.max(all[child as usize])));
    }
    all
}

fn of_unary(op: UnaryOp) -> u64 {
    match op {
        UnaryOp::Neg
        | UnaryOp::Abs
        | UnaryOp::Cast(_)
        | UnaryOp::Conj
        | UnaryOp::Re
        | UnaryOp::Im
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Round
        | UnaryOp::Sign
        | UnaryOp::Not => 0,
        UnaryOp::Sqrt | UnaryOp::Recip => 1,
        _ => SLOW,
    }
}

fn of_binary(op: BinaryOp) -> u64 {
    match op {
        BinaryOp::Div | BinaryOp::Mod | BinaryOp::FloorDiv => 1,
        BinaryOp::Pow | BinaryOp::Log | BinaryOp::Atan2 | BinaryOp::Hypot => SLOW,
        _ => 0,
    }
}

/// Whether a node can be evaluated wherever its axes lead, points that are skipped included.
fn may_move(graph: &Graph, stmt: &Stmt, root: usize) -> bool {
    let Expr { nodes } = extract(&stmt.value.nodes, root as u32);
    let extents = stmt.extents();
    let inside = |array, places: &[IndexExpr]| {
        let mut places = places.iter().zip(&graph.array(array).shape);
        places.all(|(e, &extent)| !index::reads(e) && bounds::holds(e, extent, &extents))
    };
    let types = graph.node_types(&Expr { nodes: nodes.clone() });
    nodes.iter().all(|node| match node {
        Node::Access(array, places) => inside(*array, places),
        Node::Index(e) => !index::reads(e),
        Node::Random { .. } => false,
        Node::Unary(op, x) => *op != UnaryOp::Recip || !types[*x as usize].is_integer(),
        Node::Binary(op, x, _) => !can_fail(*op, types[*x as usize], None),
        _ => true,
    })
}
