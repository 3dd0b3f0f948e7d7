//! Demanded signs: removal of sign operations that no consumer distinguishes.
//!
//! Magnitudes and squares of `a - b`, `b - a` and `-(a - b)` are equal, and a sum that starts from 0 has the same bits
//! whether a term is 0 or -0: so `0 - x` is `-x` there, and `x + 0` is `x`. As with demanded bits, consumers propagate
//! how much of a value's sign they distinguish to its operands, across statements, and values are rebuilt with no more
//! than that. No bit of a result changes, so strict plans are rewritten as well. Complex values are left alone.

use crate::canonical::simplify::{drop_dead, fold, is_view};
use crate::graph::expr::{self, Builder, same};
use crate::graph::index;
use crate::graph::{Expr, Graph, Node, Stmt};
use ijk_ir::core::{ArrayId, Init};
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, UnaryOp};

/// Demand of consumers for the sign of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    /// None: a value and its opposite are equivalent.
    Magnitude,
    /// All but the sign of a zero.
    Value,
    /// All of it.
    Bits,
}

/// Runs the pass.
pub(crate) fn drop_signs(graph: &mut Graph) {
    let mut seen = vec![Seen::Magnitude; graph.arrays.len()];
    let shown = [&graph.outputs, &graph.fallible].into_iter().flatten().chain(&graph.partial);
    shown.for_each(|array| seen[array.0 as usize] = Seen::Bits);
    let mut views = false;
    for at in (0..graph.statements.len()).rev() {
        let stmt = &graph.statements[at];
        let own = seen[stmt.out.0 as usize];
        if let Some(value) = without(graph, stmt, own) {
            let was_view = is_view(stmt);
            graph.statements[at].value = value;
            views |= !was_view && is_view(&graph.statements[at]);
        }
        show(graph, &graph.statements[at], own, &mut seen);
    }
    if views {
        fold(graph);
        drop_dead(graph);
    }
}

/// Propagates the demand `own` for a statement's output to the arrays that it reads.
fn show(graph: &Graph, stmt: &Stmt, own: Seen, seen: &mut [Seen]) {
    let mut all = |array: ArrayId, of: Seen| {
        let array = &mut seen[array.0 as usize];
        *array = of.max(*array);
    };
    if let Init::From(array) = stmt.init {
        all(array, Seen::Bits);
    }
    stmt.for_each_index(|e| {
        index::for_each_element(e, &mut |access| all(access.array, Seen::Bits))
    });
    let types = graph.node_types(&stmt.value);
    let complex = types.iter().any(|t| t.is_complex()) || stmt.scan.is_some();
    let of = signs(stmt, own, |at| types[at as usize].is_float());
    for (node, of) in stmt.value.nodes.iter().zip(of) {
        if let Node::Access(array, _) = node {
            all(*array, if complex { Seen::Bits } else { of });
        }
    }
}

/// The value rebuilt without signs that are not demanded; `None` if there is nothing to rebuild.
fn without(graph: &Graph, stmt: &Stmt, own: Seen) -> Option<Expr> {
    let nodes = &stmt.value.nodes;
    if stmt.scan.is_some() || !nodes.iter().any(|node| may_be_for_nothing(node, nodes)) {
        return None;
    }
    let types = graph.node_types(&stmt.value);
    if types.iter().any(|t| t.is_complex()) {
        return None;
    }
    let seen = signs(stmt, own, |at| types[at as usize].is_float());
    let mut builder = Builder::default();
    let mut places: Vec<u32> = Vec::with_capacity(nodes.len());
    for ((node, seen), &dtype) in nodes.iter().zip(seen).zip(&types) {
        let node = node.map_children(|child| places[child as usize]);
        places.push(match node {
            // A factor can be moved out of a reduction.
            Node::Binary(BinaryOp::Add, x, y) if x == y && dtype.is_float() => {
                let two = builder.push(Node::Const(two(dtype)));
                builder.push(Node::Binary(BinaryOp::Mul, x, two))
            }
            node => push(&mut builder, node, seen),
        });
    }
    Some(builder.finish(*places.last()?))
}

fn two(dtype: DType) -> Scalar {
    if dtype == DType::F32 { Scalar::F32(2.0) } else { Scalar::F64(2.0) }
}

/// Tells whether a node may be removable: a cheap test that rejects most statements.
fn may_be_for_nothing(node: &Node, nodes: &[Node]) -> bool {
    match node {
        Node::Unary(UnaryOp::Neg, _) => true,
        Node::Binary(BinaryOp::Add, x, y) if x == y => true,
        Node::Binary(BinaryOp::Add | BinaryOp::Sub, x, y) => {
            [x, y].into_iter().any(|at| is_zero(&nodes[*at as usize]))
        }
        Node::Binary(BinaryOp::Max | BinaryOp::Min, x, y) => {
            let differs = |at: &u32| matches!(nodes[*at as usize], Node::Binary(BinaryOp::Sub, ..));
            differs(x) && differs(y)
        }
        _ => false,
    }
}

/// Demand for the sign of each node of a statement's value, given that for its output.
fn signs(stmt: &Stmt, own: Seen, is_float: impl Fn(u32) -> bool) -> Vec<Seen> {
    let nodes = &stmt.value.nodes;
    let mut seen = vec![Seen::Magnitude; nodes.len()];
    let root = match (stmt.reduce, stmt.init) {
        (None, _) => own,
        // A sum that starts from 0 is never -0.
        (Some(Reducer::Monoid(Monoid::Add)), Init::Identity(Monoid::Add)) => Seen::Value,
        (Some(Reducer::Monoid(Monoid::Add | Monoid::Max | Monoid::Min)), _) => {
            if own == Seen::Bits { Seen::Bits } else { Seen::Value }
        }
        _ => Seen::Bits,
    };
    if let Some(last) = seen.last_mut() {
        *last = root;
    }
    for at in (0..nodes.len()).rev() {
        let own = seen[at];
        for (child, of) in of_operands(&nodes[at], own, nodes, &is_float).into_iter().flatten() {
            let child = &mut seen[child as usize];
            *child = of.max(*child);
        }
    }
    seen
}

/// Demand of a node for the signs of its operands, given that for its own.
fn of_operands(
    node: &Node,
    own: Seen,
    nodes: &[Node],
    is_float: impl Fn(u32) -> bool,
) -> [Option<(u32, Seen)>; 3] {
    use BinaryOp::{Add, Div, Eq, Ge, Gt, Le, Lt, Max, Min, Mul, Ne, Sub};
    use Seen::{Bits, Magnitude, Value};
    let zeros_too = if own == Bits { Bits } else { Value };
    let of = |x: u32, of| Some((x, of));
    match *node {
        Node::Unary(UnaryOp::Abs, x) => [of(x, Magnitude), None, None],
        Node::Unary(UnaryOp::Neg, x) => [of(x, own), None, None],
        Node::Unary(UnaryOp::Exp | UnaryOp::Sigmoid, x) => [of(x, Value), None, None],
        Node::Binary(Mul, x, y) if x == y => [of(x, Magnitude), None, None],
        Node::Binary(Mul, x, y) => [of(x, own), of(y, own), None],
        Node::Binary(Div, x, y) if is_float(x) => {
            // The sign of a zero divisor becomes that of an infinity.
            let divisor = if own == Magnitude { Magnitude } else { Bits };
            [of(x, own), of(y, divisor), None]
        }
        Node::Binary(Add | Sub, x, y) => {
            let settled = [x, y].into_iter().any(|at| is_nonzero(&nodes[at as usize]));
            let operands = if settled { Value } else { zeros_too };
            [of(x, operands), of(y, operands), None]
        }
        Node::Binary(Max | Min, x, y) => [of(x, zeros_too), of(y, zeros_too), None],
        Node::Binary(Eq | Ne | Lt | Le | Gt | Ge, x, y) => [of(x, Value), of(y, Value), None],
        Node::Select(c, x, y) => [of(c, Bits), of(x, own), of(y, own)],
        _ => {
            let mut children = node.children().map(|child| (child, Bits));
            [children.next(), children.next(), children.next()]
        }
    }
}

/// Adds a node equivalent to `node` under the demand `seen`; returns its position.
fn push(builder: &mut Builder, node: Node, seen: Seen) -> u32 {
    use BinaryOp::{Add, Max, Min, Sub};
    let exact = seen == Seen::Bits;
    let next = match node {
        Node::Unary(UnaryOp::Neg, x) if seen == Seen::Magnitude => return x,
        Node::Unary(UnaryOp::Neg, x) => match *builder.node(x) {
            Node::Binary(Sub, a, b) if !exact => Node::Binary(Sub, b, a),
            _ => node,
        },
        Node::Binary(Add, zero, x) if !exact && is_zero(builder.node(zero)) => return x,
        Node::Binary(Add, x, zero) if !exact && is_zero(builder.node(zero)) => return x,
        Node::Binary(Sub, zero, x) if !exact && is_zero(builder.node(zero)) => {
            return push(builder, Node::Unary(UnaryOp::Neg, x), seen);
        }
        Node::Binary(Sub, x, y) if !exact => match builder.negated(x) {
            Some(x) => {
                let sum = builder.push(Node::Binary(Add, x, y));
                return push(builder, Node::Unary(UnaryOp::Neg, sum), seen);
            }
            None => node,
        },
        Node::Binary(op @ (Max | Min), x, y) if are_opposite(builder, x, y, exact) => {
            let magnitude = builder.push(Node::Unary(UnaryOp::Abs, x));
            if op == Max || seen == Seen::Magnitude {
                return magnitude;
            }
            Node::Unary(UnaryOp::Neg, magnitude)
        }
        _ => node,
    };
    builder.push(next)
}

/// Tells whether two values are opposites, so that their maximum is the magnitude. Both may be 0; the sign of that
/// must not be demanded.
fn are_opposite(builder: &Builder, x: u32, y: u32, exact: bool) -> bool {
    let turned = match (builder.node(x), builder.node(y)) {
        (Node::Binary(BinaryOp::Sub, a, b), Node::Binary(BinaryOp::Sub, c, d)) => {
            let alike = |x: u32, y: u32| same(builder.node(x), builder.node(y));
            alike(*a, *d) && alike(*b, *c)
        }
        _ => false,
    };
    let negated = builder.negated(x) == Some(y) || builder.negated(y) == Some(x);
    !exact && (turned || negated)
}

fn is_zero(node: &Node) -> bool {
    matches!(node, Node::Const(value) if expr::is_zero(*value))
}

/// Tells whether a node is a constant other than 0: it absorbs an added zero.
fn is_nonzero(node: &Node) -> bool {
    matches!(node, Node::Const(_)) && !is_zero(node)
}
