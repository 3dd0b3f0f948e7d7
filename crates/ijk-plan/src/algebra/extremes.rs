//! Monotone functions moved out of maxima and minima.
//!
//! `max(2x) = 2 max(x)` and `max(-x) = -min(x)`, to the bit: scaling by a constant, adding one, negating, rounding to
//! integers or another type, and the maximum or minimum with a constant are monotone, also where they round, overflow
//! or underflow, and each maps NaN to NaN. Zeros of both signs compare equal, as before. An infinity stays one under
//! addition of and multiplication by finite constants. So the function is applied once per element of the output
//! instead of once per point, and the reduction that remains has fast kernels.

use crate::SMALL_DOMAIN;
use crate::canonical::forward::forward_copies;
use crate::canonical::fuse::fuse;
use crate::canonical::simplify::{drop_dead, fold};
use crate::graph::axes::restrict;
use crate::graph::expr::{Builder, exact_inverse, extract};
use crate::graph::{Expr, ExprNode, Graph, Stmt, coverage, index};
use ijk_ir::core::Init;
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, UnaryOp, scalar};

/// The reduction must have at least `MIN_POINTS_PER_ELEMENT` points per element to pay for a separate epilogue.
const MIN_POINTS_PER_ELEMENT: u64 = 4;

/// Runs the pass.
pub(crate) fn move_functions_out(graph: &mut Graph) {
    if graph.strict || !graph.statements.iter().any(|stmt| extreme(stmt).is_some()) {
        return;
    }
    let mut found = false;
    for mut stmt in std::mem::take(&mut graph.statements) {
        if let Some(value) = with_one_scale(&stmt) {
            (stmt.value, found) = (value, true);
        }
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
        fold(graph);
        drop_dead(graph);
        fuse(graph);
        forward_copies(graph);
    }
}

/// Monoid of a maximum or minimum over a large domain.
fn extreme(stmt: &Stmt) -> Option<Monoid> {
    let several = stmt.points() > SMALL_DOMAIN && stmt.scan.is_none();
    match stmt.reduce {
        Some(Reducer::Monoid(monoid @ (Monoid::Max | Monoid::Min))) if several => Some(monoid),
        _ => None,
    }
}

/// The value of a maximum or minimum with one scaling by a power of two, or none, in place of several: a scatter has no
/// epilogue for them.
fn with_one_scale(stmt: &Stmt) -> Option<Expr> {
    extreme(stmt)?;
    let nodes = &stmt.value.nodes;
    let mut root = nodes.len() as u32 - 1;
    let (mut scale, mut count, mut negative) = (None::<Scalar>, 0, false);
    loop {
        let number = |at: u32| power_of_two(&nodes[at as usize]);
        let (own, of) = match nodes[root as usize] {
            ExprNode::Unary(UnaryOp::Neg, x) => {
                (root, negative) = (x, !negative);
                continue;
            }
            ExprNode::Binary(BinaryOp::Mul, x, y) => match (number(x), number(y)) {
                (None, Some(own)) => (own, x),
                (Some(own), None) => (own, y),
                _ => break,
            },
            _ => break,
        };
        let all = scale.map_or(Ok(own), |all| scalar::binary(BinaryOp::Mul, all, own));
        (root, scale, count) = (of, Some(all.ok()?), count + 1);
    }
    let scale = ExprNode::Const(scale?);
    // Neither overflow nor underflow.
    if count < 2 || power_of_two(&scale).is_none() {
        return None;
    }
    let mut builder = Builder::default();
    let root = builder.push_all(&extract(nodes, root));
    let scale = builder.push(scale);
    let mut root = builder.push(ExprNode::Binary(BinaryOp::Mul, root, scale));
    if negative {
        root = builder.push(ExprNode::Unary(UnaryOp::Neg, root));
    }
    Some(builder.finish(root))
}

/// A constant that is a power of two, of either sign.
fn power_of_two(node: &ExprNode) -> Option<Scalar> {
    let ExprNode::Const(number) = *node else { return None };
    exact_inverse(number).map(|_| number)
}

/// A value as a chain of monotone functions, the outermost first, over a reduced root.
struct Layers {
    /// Nodes of the value; each takes one later node and constants as operands.
    functions: Vec<u32>,
    /// The node that is reduced, the monoid that reduces it, and its element type.
    root: u32,
    monoid: Monoid,
    dtype: DType,
    /// Axes of the output, in its order.
    kept: Vec<usize>,
}

/// A monotone function.
struct Monotone {
    /// Its non-constant operand.
    of: u32,
    /// True if it is decreasing.
    falls: bool,
    /// True if it maps infinities to infinities: elements without points, which hold one, are then right.
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
        // Sums are left whole: the passes on products and prefixes also move other terms than constants.
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
        let pays = !functions.is_empty()
            && elements.saturating_mul(MIN_POINTS_PER_ELEMENT) <= stmt.points();
        (pays && dtype.is_float()).then_some(Self { functions, root, monoid, dtype, kept })
    }

    /// Adds the reduction of the root, and the statement that applies the functions.
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
            value: self.behind(&stmt.value, ExprNode::Access(array, index)),
            reduce: stmt.reduce.filter(|_| !fresh),
            guards: Vec::new(),
            ..stmt
        };
        graph.statements.push(core);
        graph.statements.push(restrict(behind, |axis| self.kept.contains(&axis)));
    }

    /// The functions applied to the reduced value.
    fn behind(&self, value: &Expr, reduced: ExprNode) -> Expr {
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

/// Axes of a statement's output, each once, if the output is injective in them.
fn kept_axes(stmt: &Stmt) -> Option<Vec<usize>> {
    if stmt.out_index.iter().any(index::reads) {
        return None;
    }
    let kept = stmt.kept_by_output();
    let determined = coverage::determined(&stmt.out_index, &stmt.extents());
    kept.iter().all(|&axis| determined[axis]).then_some(kept)
}

/// The monotone function of one operand that a node is.
fn monotone(nodes: &[ExprNode], types: &[DType], at: u32) -> Option<Monotone> {
    use BinaryOp::{Add, Div, Max, Min, Mul, Sub};
    let number = |at: u32| finite(&nodes[at as usize]);
    let moved = |of: u32, falls: bool| Some(Monotone { of, falls, keeps_infinities: true });
    let bounded = |of: u32| Some(Monotone { of, falls: false, keeps_infinities: false });
    match nodes[at as usize] {
        ExprNode::Unary(UnaryOp::Neg, x) => moved(x, true),
        ExprNode::Unary(UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round, x) => moved(x, false),
        ExprNode::Unary(UnaryOp::Cast(_), x) if is_lane(types[x as usize]) => moved(x, false),
        ExprNode::Binary(op, x, y) => match (op, number(x), number(y)) {
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

/// Returns true for floating-point types in which engines compute.
fn is_lane(t: DType) -> bool {
    t.is_float() && t.lanes() == t
}

fn is_sum(node: &ExprNode) -> bool {
    matches!(node, ExprNode::Binary(BinaryOp::Add | BinaryOp::Sub, ..))
}

/// Value of a finite floating-point constant.
fn finite(node: &ExprNode) -> Option<f64> {
    let number = match *node {
        ExprNode::Const(Scalar::F32(x)) => x.into(),
        ExprNode::Const(Scalar::F64(x)) => x,
        _ => return None,
    };
    number.is_finite().then_some(number)
}
