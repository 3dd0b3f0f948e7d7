//! Monotone functions of what is the greatest or least of its kind.
//!
//! `=max x*2` is twice the greatest `x`, and `=max -x` the opposite of the least, to the bit: multiplying and dividing
//! by a number, adding one, taking the opposite, rounding to whole numbers or another type, and the greater or less of
//! a value and a number are monotone, also where they round, overflow or underflow, so the function of the greatest
//! value is the greatest of the function's values; each of them gives NaN for NaN. Of zeros of both signs, either may
//! be the greatest as before. An infinity among the values is one among the functions' where these add or multiply by
//! finite numbers. So the function is applied once for each element instead of once for each point, and what is left
//! has fast kernels.

use crate::SMALL_DOMAIN;
use crate::axes::restrict;
use crate::coverage;
use crate::expr::{Builder, extract};
use crate::fuse::fuse;
use crate::graph::{Expr, Graph, Node, Stmt};
use crate::index;
use ijk_ir::core::Init;
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, UnaryOp};

/// So many points must be reduced to one for a step that applies the function behind.
const FEWER: u64 = 4;

/// Runs the pass.
pub(crate) fn take_out(graph: &mut Graph) {
    if graph.strict || !graph.statements.iter().any(|stmt| extreme(stmt).is_some()) {
        return;
    }
    let mut found = false;
    for stmt in std::mem::take(&mut graph.statements) {
        match Layers::of(graph, &stmt) {
            Some(layers) => layers.lower(graph, stmt),
            None => {
                graph.statements.push(stmt);
                continue;
            }
        }
        found = true;
    }
    if found {
        fuse(graph);
    }
}

/// Tells whether a statement gives the greatest or least of several values.
fn extreme(stmt: &Stmt) -> Option<Monoid> {
    let several = stmt.points() > SMALL_DOMAIN && stmt.scan.is_none();
    match stmt.reduce {
        Some(Reducer::Monoid(monoid @ (Monoid::Max | Monoid::Min))) if several => Some(monoid),
        _ => None,
    }
}

/// A value as functions of each other, the outermost first, and of what is reduced.
struct Layers {
    /// Nodes of the value; each computes with one that follows, and with numbers.
    functions: Vec<u32>,
    /// The node that is reduced, by which monoid, and of which type.
    root: u32,
    monoid: Monoid,
    dtype: DType,
    /// Axes of the output, as it has them.
    kept: Vec<usize>,
}

/// A monotone function.
struct Monotone {
    /// The node it is a function of.
    of: u32,
    /// Tells whether greater values become less.
    falls: bool,
    /// Tells whether an infinity stays one: then elements without points come out as they should.
    keeps_infinities: bool,
}

impl Layers {
    fn of(graph: &Graph, stmt: &Stmt) -> Option<Self> {
        let mut monoid = extreme(stmt)?;
        let nodes = &stmt.value.nodes;
        let types = graph.node_types(&stmt.value);
        let mut root = nodes.len() as u32 - 1;
        let mut functions = Vec::new();
        while types[root as usize].is_float()
            && let Some(function) = monotone(nodes, &types, root)
        {
            if !stmt.guards.is_empty() && !function.keeps_infinities {
                break;
            }
            functions.push(root);
            root = function.of;
            if function.falls {
                monoid = if monoid == Monoid::Max { Monoid::Min } else { Monoid::Max };
            }
        }
        // Terms are taken out of sums by those who take out other ones than numbers, too.
        while is_sum(&nodes[root as usize])
            && let Some(&last) = functions.last()
            && is_sum(&nodes[last as usize])
            && !monotone(nodes, &types, last)?.falls
        {
            root = last;
            functions.pop();
        }
        let dtype = types[root as usize];
        let kept = kept_axes(stmt)?;
        let elements = kept.iter().map(|&axis| stmt.axes[axis].extent);
        let elements = elements.fold(1, |n: u64, extent| n.saturating_mul(extent));
        let pays = !functions.is_empty() && elements.saturating_mul(FEWER) <= stmt.points();
        (pays && dtype.is_float()).then_some(Self { functions, root, monoid, dtype, kept })
    }

    /// Adds the statement of what is reduced, and the one that applies the functions.
    fn lower(&self, graph: &mut Graph, stmt: Stmt) {
        let shape = self.kept.iter().map(|&axis| stmt.axes[axis].extent).collect();
        let array = graph.new_array(self.dtype, shape);
        let index = index::of_axes(self.kept.iter().copied());
        let core = Stmt {
            out: array,
            out_index: index.clone(),
            init: Init::Identity(self.monoid),
            reduce: Some(Reducer::Monoid(self.monoid)),
            value: extract(&stmt.value.nodes, self.root),
            ..stmt.clone()
        };
        let fresh = matches!((stmt.init, stmt.reduce),
            (Init::Identity(m), Some(Reducer::Monoid(n))) if m == n);
        let behind = Stmt {
            value: self.behind(&stmt.value, Node::Access(array, index)),
            reduce: stmt.reduce.filter(|_| !fresh),
            guards: Vec::new(),
            ..stmt
        };
        graph.statements.push(core);
        graph.statements.push(restrict(behind, |axis| self.kept.contains(&axis)));
    }

    /// The functions of what was reduced.
    fn behind(&self, value: &Expr, reduced: Node) -> Expr {
        let mut builder = Builder::default();
        let (mut of, mut at) = (self.root, builder.push(reduced));
        for &function in self.functions.iter().rev() {
            let node = value.nodes[function as usize].map_children(|child| match child {
                child if child == of => at,
                number => builder.push(value.nodes[number as usize].clone()),
            });
            (of, at) = (function, builder.push(node));
        }
        builder.finish(at)
    }
}

/// The axes of a statement's output, each once, if they tell its elements apart.
fn kept_axes(stmt: &Stmt) -> Option<Vec<usize>> {
    if stmt.out_index.iter().any(index::reads) {
        return None;
    }
    let kept = stmt.kept_in_order();
    let determined = coverage::determined(&stmt.out_index, &stmt.extents());
    kept.iter().all(|&axis| determined[axis]).then_some(kept)
}

/// The function that a node is of one other node, if it is a monotone one.
fn monotone(nodes: &[Node], types: &[DType], at: u32) -> Option<Monotone> {
    use BinaryOp::{Add, Div, Max, Min, Mul, Sub};
    let number = |at: u32| finite(&nodes[at as usize]);
    let moved = |of: u32, falls: bool| Some(Monotone { of, falls, keeps_infinities: true });
    let bounded = |of: u32| Some(Monotone { of, falls: false, keeps_infinities: false });
    match nodes[at as usize] {
        Node::Unary(UnaryOp::Neg, x) => moved(x, true),
        Node::Unary(UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round, x) => moved(x, false),
        Node::Unary(UnaryOp::Cast(_), x) if types[x as usize].is_float() => moved(x, false),
        Node::Binary(op, x, y) => match (op, number(x), number(y)) {
            (Mul | Div, None, Some(c)) if c != 0.0 => moved(x, c < 0.0),
            (Mul, Some(c), None) if c != 0.0 => moved(y, c < 0.0),
            (Add | Sub, None, Some(_)) => moved(x, false),
            (Add, Some(_), None) => moved(y, false),
            (Sub, Some(_), None) => moved(y, true),
            (Max | Min, None, Some(_)) => bounded(x),
            (Max | Min, Some(_), None) => bounded(y),
            _ => None,
        },
        _ => None,
    }
}

fn is_sum(node: &Node) -> bool {
    matches!(node, Node::Binary(BinaryOp::Add | BinaryOp::Sub, ..))
}

/// The finite number that a node is.
fn finite(node: &Node) -> Option<f64> {
    let number = match *node {
        Node::Const(Scalar::F32(x)) => x.into(),
        Node::Const(Scalar::F64(x)) => x,
        _ => return None,
    };
    number.is_finite().then_some(number)
}
