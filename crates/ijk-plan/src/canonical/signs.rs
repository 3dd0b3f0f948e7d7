//! Demanded signs: removal of sign operations that no consumer distinguishes.
//!
//! Magnitudes and squares of `a - b`, `b - a` and `-(a - b)` are equal, and a sum that starts from 0 has the same bits
//! whether a term is 0 or -0: so `0 - x` is `-x` there, and `x + 0` is `x`. As with demanded bits, consumers propagate
//! how much of a value's sign they distinguish to its operands, across statements, and values are rebuilt with no more
//! than that. No bit of a result changes, so strict plans are rewritten as well. Complex values are left alone.

use crate::canonical::simplify::{drop_dead, fold, is_view};
use crate::graph::expr::{self, Builder, same};
use crate::graph::{Expr, ExprNode, Graph, Stmt, index};
use ijk_ir::core::{ArrayId, Init};
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, UnaryOp};

/// Demand of consumers for the sign of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SignDemand {
    /// None: a value and its opposite are equivalent.
    Magnitude,
    /// All but the sign of a zero.
    Value,
    /// All of it.
    Bits,
}

/// Runs the pass.
pub(crate) fn drop_signs(graph: &mut Graph) {
    let mut demand = vec![SignDemand::Magnitude; graph.arrays.len()];
    let shown = [&graph.outputs, &graph.fallible].into_iter().flatten().chain(&graph.partial);
    shown.for_each(|array| demand[array.0 as usize] = SignDemand::Bits);
    let mut views = false;
    for at in (0..graph.statements.len()).rev() {
        let stmt = &graph.statements[at];
        let own = demand[stmt.out.0 as usize];
        if let Some(value) = without(graph, stmt, own) {
            let was_view = is_view(stmt);
            graph.statements[at].value = value;
            views |= !was_view && is_view(&graph.statements[at]);
        }
        show(graph, &graph.statements[at], own, &mut demand);
    }
    if views {
        fold(graph);
        drop_dead(graph);
    }
}

/// Propagates the demand `own` for a statement's output to the arrays that it reads.
fn show(graph: &Graph, stmt: &Stmt, own: SignDemand, demand: &mut [SignDemand]) {
    let mut all = |array: ArrayId, of: SignDemand| {
        let array = &mut demand[array.0 as usize];
        *array = of.max(*array);
    };
    if let Init::From(array) = stmt.init {
        all(array, SignDemand::Bits);
    }
    stmt.for_each_index(|e| {
        index::for_each_element(e, &mut |access| all(access.array, SignDemand::Bits))
    });
    let types = graph.node_types(&stmt.value);
    let complex = types.iter().any(|t| t.is_complex()) || stmt.scan.is_some();
    let of = signs(stmt, (own, graph.strict), |at| types[at as usize].is_float());
    for (node, of) in stmt.value.nodes.iter().zip(of) {
        if let ExprNode::Access(array, _) = node {
            all(*array, if complex { SignDemand::Bits } else { of });
        }
    }
}

/// The value rebuilt without signs that are not demanded; `None` if there is nothing to rebuild.
fn without(graph: &Graph, stmt: &Stmt, own: SignDemand) -> Option<Expr> {
    let nodes = &stmt.value.nodes;
    if stmt.scan.is_some() || !nodes.iter().any(|node| may_be_for_nothing(node, nodes)) {
        return None;
    }
    let types = graph.node_types(&stmt.value);
    if types.iter().any(|t| t.is_complex()) {
        return None;
    }
    let demand = signs(stmt, (own, graph.strict), |at| types[at as usize].is_float());
    let mut builder = Builder::default();
    let mut places: Vec<u32> = Vec::with_capacity(nodes.len());
    for ((node, demand), &dtype) in nodes.iter().zip(demand).zip(&types) {
        let node = node.map_children(|child| places[child as usize]);
        places.push(match node {
            // A factor can be moved out of a reduction.
            ExprNode::Binary(BinaryOp::Add, x, y) if x == y && dtype.is_float() => {
                let two = builder.push(ExprNode::Const(two(dtype)));
                builder.push(ExprNode::Binary(BinaryOp::Mul, x, two))
            }
            // Opposites of unsigned integers wrap: the greater one is not the magnitude.
            node if dtype.is_unsigned() => builder.push(node),
            node => push(&mut builder, node, demand),
        });
    }
    Some(builder.finish(*places.last()?))
}

fn two(dtype: DType) -> Scalar {
    if dtype == DType::F32 { Scalar::F32(2.0) } else { Scalar::F64(2.0) }
}

/// Tells whether a node may be removable: a cheap test that rejects most statements.
fn may_be_for_nothing(node: &ExprNode, nodes: &[ExprNode]) -> bool {
    match node {
        ExprNode::Unary(UnaryOp::Neg, _) => true,
        ExprNode::Binary(BinaryOp::Add, x, y) if x == y => true,
        ExprNode::Binary(BinaryOp::Add | BinaryOp::Sub, x, y) => {
            [x, y].into_iter().any(|at| expr::is_zero_node(&nodes[*at as usize]))
        }
        ExprNode::Binary(BinaryOp::Max | BinaryOp::Min, x, y) => {
            let differs =
                |at: &u32| matches!(nodes[*at as usize], ExprNode::Binary(BinaryOp::Sub, ..));
            differs(x) && differs(y)
        }
        ExprNode::Select(c, ..) => compared(&nodes[*c as usize]).is_some(),
        _ => false,
    }
}

/// Demand for the sign of each node of a statement's value, given that for its output.
fn signs(
    stmt: &Stmt,
    (own, strict): (SignDemand, bool),
    is_float: impl Fn(u32) -> bool,
) -> Vec<SignDemand> {
    let nodes = &stmt.value.nodes;
    let mut demand = vec![SignDemand::Magnitude; nodes.len()];
    let root = match (stmt.reduce, stmt.init) {
        (None, _) => own,
        (Some(Reducer::Monoid(Monoid::Add)), _) if stmt.single => own,
        // A sum that starts from 0 is never -0.
        (Some(Reducer::Monoid(Monoid::Add)), Init::Identity(Monoid::Add)) => SignDemand::Value,
        // Terms of other sums may be added to 0 before they are added to the element.
        (Some(Reducer::Monoid(Monoid::Add)), _) if !strict => SignDemand::Value,
        (Some(Reducer::Monoid(Monoid::Add | Monoid::Max | Monoid::Min)), _) => {
            if own == SignDemand::Bits { SignDemand::Bits } else { SignDemand::Value }
        }
        _ => SignDemand::Bits,
    };
    if let Some(last) = demand.last_mut() {
        *last = root;
    }
    for at in (0..nodes.len()).rev() {
        let own = demand[at];
        for (child, of) in of_operands(&nodes[at], own, nodes, &is_float).into_iter().flatten() {
            let child = &mut demand[child as usize];
            *child = of.max(*child);
        }
    }
    demand
}

/// Demand of a node for the signs of its operands, given that for its own.
fn of_operands(
    node: &ExprNode,
    own: SignDemand,
    nodes: &[ExprNode],
    is_float: impl Fn(u32) -> bool,
) -> [Option<(u32, SignDemand)>; 3] {
    use BinaryOp::{Add, Div, Eq, Ge, Gt, Le, Lt, Max, Min, Mul, Ne, Sub};
    use SignDemand::{Bits, Magnitude, Value};
    let zeros_too = if own == Bits { Bits } else { Value };
    let of = |x: u32, of| Some((x, of));
    match *node {
        ExprNode::Unary(UnaryOp::Abs, x) => [of(x, Magnitude), None, None],
        ExprNode::Unary(UnaryOp::Neg, x) => [of(x, own), None, None],
        ExprNode::Unary(UnaryOp::Exp | UnaryOp::Sigmoid, x) => [of(x, Value), None, None],
        ExprNode::Binary(Mul, x, y) if x == y => [of(x, Magnitude), None, None],
        ExprNode::Binary(Mul, x, y) => [of(x, own), of(y, own), None],
        ExprNode::Binary(Div, x, y) if is_float(x) => {
            // The sign of a zero divisor becomes that of an infinity.
            let divisor = if own == Magnitude { Magnitude } else { Bits };
            [of(x, own), of(y, divisor), None]
        }
        ExprNode::Binary(Add | Sub, x, y) => {
            let settled = [x, y].into_iter().any(|at| is_nonzero(&nodes[at as usize]));
            let operands = if settled { Value } else { zeros_too };
            [of(x, operands), of(y, operands), None]
        }
        ExprNode::Binary(Max | Min, x, y) => [of(x, zeros_too), of(y, zeros_too), None],
        ExprNode::Binary(Eq | Ne | Lt | Le | Gt | Ge, x, y) => [of(x, Value), of(y, Value), None],
        ExprNode::Select(c, x, y) => [of(c, Bits), of(x, own), of(y, own)],
        _ => {
            let mut children = node.children().map(|child| (child, Bits));
            [children.next(), children.next(), children.next()]
        }
    }
}

/// Adds a node equivalent to `node` under the `demand`; returns its position.
fn push(builder: &mut Builder, node: ExprNode, demand: SignDemand) -> u32 {
    use BinaryOp::{Add, Max, Min, Sub};
    let exact = demand == SignDemand::Bits;
    let next = match node {
        ExprNode::Unary(UnaryOp::Neg, x) if demand == SignDemand::Magnitude => return x,
        ExprNode::Unary(UnaryOp::Neg, x) => match *builder.node(x) {
            ExprNode::Binary(Sub, a, b) if !exact => ExprNode::Binary(Sub, b, a),
            _ => node,
        },
        ExprNode::Binary(Add, zero, x) if !exact && expr::is_zero_node(builder.node(zero)) => {
            return x;
        }
        ExprNode::Binary(Add, x, zero) if !exact && expr::is_zero_node(builder.node(zero)) => {
            return x;
        }
        ExprNode::Binary(Sub, zero, x) if !exact && expr::is_zero_node(builder.node(zero)) => {
            return push(builder, ExprNode::Unary(UnaryOp::Neg, x), demand);
        }
        ExprNode::Binary(Sub, x, y) if !exact => match builder.negated(x) {
            Some(x) => {
                let sum = builder.push(ExprNode::Binary(Add, x, y));
                return push(builder, ExprNode::Unary(UnaryOp::Neg, sum), demand);
            }
            None => node,
        },
        ExprNode::Binary(op @ (Max | Min), x, y) if are_opposite(builder, x, y, exact) => {
            let magnitude = builder.push(ExprNode::Unary(UnaryOp::Abs, x));
            if op == Max || demand == SignDemand::Magnitude {
                return magnitude;
            }
            ExprNode::Unary(UnaryOp::Neg, magnitude)
        }
        ExprNode::Select(c, x, y) if are_opposite(builder, x, y, exact) => {
            match takes_greater(builder, c, x, y) {
                None => node,
                Some(greater) => {
                    let magnitude = builder.push(ExprNode::Unary(UnaryOp::Abs, x));
                    if greater || demand == SignDemand::Magnitude {
                        return magnitude;
                    }
                    ExprNode::Unary(UnaryOp::Neg, magnitude)
                }
            }
        }
        _ => node,
    };
    builder.push(next)
}

/// The operands of a comparison of magnitudes, the lesser one first if it holds.
fn compared(node: &ExprNode) -> Option<[u32; 2]> {
    use BinaryOp::{Ge, Gt, Le, Lt};
    match *node {
        ExprNode::Binary(Lt | Le, less, greater) => Some([less, greater]),
        ExprNode::Binary(Gt | Ge, greater, less) => Some([less, greater]),
        _ => None,
    }
}

/// Tells whether a choice between the opposites `x` and `y` by the condition `c` takes the greater one, if `c` compares
/// them, or one of them with 0.
fn takes_greater(builder: &Builder, c: u32, x: u32, y: u32) -> Option<bool> {
    let [less, greater] = compared(builder.node(c))?;
    let zero = |at: u32| expr::is_zero_node(builder.node(at));
    match (less, greater) {
        _ if greater == x && (less == y || zero(less)) => Some(true),
        _ if less == y && zero(greater) => Some(true),
        _ if less == x && (greater == y || zero(greater)) => Some(false),
        _ if greater == y && zero(less) => Some(false),
        _ => None,
    }
}

/// Tells whether two values are opposites, so that their maximum is the magnitude. Both may be 0; the sign of that
/// must not be demanded.
fn are_opposite(builder: &Builder, x: u32, y: u32, exact: bool) -> bool {
    let turned = match (builder.node(x), builder.node(y)) {
        (ExprNode::Binary(BinaryOp::Sub, a, b), ExprNode::Binary(BinaryOp::Sub, c, d)) => {
            let alike = |x: u32, y: u32| same(builder.node(x), builder.node(y));
            alike(*a, *d) && alike(*b, *c)
        }
        _ => false,
    };
    let negated = builder.negated(x) == Some(y) || builder.negated(y) == Some(x);
    !exact && (turned || negated)
}

/// Tells whether a node is a constant other than 0: it absorbs an added zero.
fn is_nonzero(node: &ExprNode) -> bool {
    matches!(node, ExprNode::Const(_)) && !expr::is_zero_node(node)
}
