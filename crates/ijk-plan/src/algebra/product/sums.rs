//! Sums of products taken apart: `a[i,k]*b[k,j] - b[i,k]*a[k,j]` is a contraction for each product.
//!
//! Summands that are no contractions stay together, so that what cancels among them does so at each point. Each product
//! is rounded before it meets the others in any case: to sum them apart adds errors of that kind only.

use super::{ReducedProduct, axes_in};
use crate::domain::peel::linked;
use crate::graph::axes::{Axes, restrict};
use crate::graph::expr::{Builder, extract};
use crate::graph::{Expr, ExprNode, Graph, Stmt, index};
use ijk_ir::core::Init;
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, UnaryOp, scalar};

/// Greatest number of summands.
const MAX_SUMMANDS: usize = 8;

/// The statements that reduce the summands of a value one after another, if they cost less than `cost`.
///
/// Sums of integers are exact, so that all their summands may be apart.
pub(super) fn parts(graph: &mut Graph, stmt: &Stmt, cost: u64) -> Option<Vec<Stmt>> {
    let root = stmt.value.nodes.last()?;
    if !matches!(root, ExprNode::Binary(BinaryOp::Add | BinaryOp::Sub, ..)) {
        return None;
    }
    let monoid = stmt.reduce == Some(Reducer::Monoid(Monoid::Add));
    // Boxes of one array store what they compute: the summands of a box cannot be added one after another.
    let boxed = graph.partial.contains(&stmt.out);
    let plain = stmt.guards.is_empty() && stmt.scan.is_none() && !stmt.single && !boxed;
    if graph.strict || !monoid || !plain || graph.array(stmt.out).dtype == DType::Bool {
        return None;
    }
    let mut summands = summands(&stmt.value)?;
    let kept = stmt.kept_axes();
    let elements = stmt.axes.iter().zip(&kept).fold(1u64, |n, (axis, kept)| match kept {
        true => n.saturating_mul(axis.extent),
        false => n,
    });
    let mut total = 0u64;
    let mut values = Vec::new();
    summands.retain(|summand| {
        let value = summand.value(stmt);
        let alone = Stmt { value: value.clone(), ..stmt.clone() };
        let Some(cost) = ReducedProduct::new(graph, &alone).and_then(|p| p.contraction_cost())
        else {
            return true;
        };
        total = total.saturating_add(cost).saturating_add(elements);
        values.push(value);
        false
    });
    if values.is_empty() {
        return None;
    }
    let mut parts: Vec<Stmt> =
        values.into_iter().map(|value| Stmt { value, ..stmt.clone() }).collect();
    let groups: Vec<&[Summand]> = match graph.array(stmt.out).dtype.is_integer() {
        true => summands.chunks(1).collect(),
        false => Some(&summands[..]).into_iter().filter(|all| !all.is_empty()).collect(),
    };
    for group in groups {
        let rest = rest(graph, stmt, group, &kept)?;
        let points = match is_narrow(&rest) {
            true => own_points(&rest).saturating_add(elements),
            false => rest.points(),
        };
        total = total.saturating_add(points.saturating_mul(super::NEST_COST));
        parts.push(rest);
    }
    if parts.len() < 2 || total >= cost {
        return None;
    }
    let mut before = Vec::new();
    let parts = parts.into_iter().map(|part| match is_narrow(&part) {
        true => reduced_first(graph, part, &mut before),
        false => part,
    });
    let parts: Vec<Stmt> = parts.collect();
    let parts = linked(graph, stmt, parts);
    Some(before.into_iter().chain(parts).collect())
}

/// Tells whether a statement reduces what does not depend on all axes of its output.
fn is_narrow(stmt: &Stmt) -> bool {
    let (kept, own) = (stmt.kept_axes(), axes_in(&stmt.value));
    let has = |axis: usize| own.binary_search(&(axis as u32)).is_ok();
    let reduces = kept.iter().any(|kept| !kept);
    let lacks = (0..kept.len()).any(|axis| kept[axis] && !has(axis) && stmt.axes[axis].extent > 1);
    reduces && lacks
}

/// Points of the axes that the value of a statement depends on.
fn own_points(stmt: &Stmt) -> u64 {
    let own = axes_in(&stmt.value);
    own.iter().fold(1, |n, &axis| n.saturating_mul(stmt.axes[axis as usize].extent))
}

/// The statement with its sum in place of its value; the statement that computes the sums comes `before`.
fn reduced_first(graph: &mut Graph, stmt: Stmt, before: &mut Vec<Stmt>) -> Stmt {
    let (kept, own) = (stmt.kept_axes(), axes_in(&stmt.value));
    let has = |axis: usize| own.binary_search(&(axis as u32)).is_ok();
    let left: Vec<usize> = (0..kept.len()).filter(|&axis| kept[axis] && has(axis)).collect();
    let shape = left.iter().map(|&axis| stmt.axes[axis].extent).collect();
    let sums = graph.new_array(graph.array(stmt.out).dtype, shape);
    let index = index::of_axes(left);
    let core = Stmt {
        out: sums,
        out_index: index.clone(),
        init: Init::Identity(Monoid::Add),
        ..stmt.clone()
    };
    before.push(restrict(core, has));
    let value = Expr { nodes: vec![ExprNode::Access(sums, index)] };
    restrict(Stmt { value, ..stmt }, |axis| kept[axis])
}

/// A node that is added, or subtracted.
struct Summand {
    root: u32,
    negative: bool,
}

impl Summand {
    /// Its value, with the sign.
    fn value(&self, stmt: &Stmt) -> Expr {
        let mut value = extract(&stmt.value.nodes, self.root);
        if self.negative {
            value.nodes.push(ExprNode::Unary(UnaryOp::Neg, value.nodes.len() as u32 - 1));
        }
        value
    }
}

/// Summands of a value, from left to right; `None` if there are too many.
fn summands(value: &Expr) -> Option<Vec<Summand>> {
    let mut open = vec![Summand { root: value.nodes.len() as u32 - 1, negative: false }];
    let mut all = Vec::new();
    while let Some(Summand { root, negative }) = open.pop() {
        if open.len() + all.len() >= MAX_SUMMANDS {
            return None;
        }
        match value.nodes[root as usize] {
            ExprNode::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), x, y) => {
                open.push(Summand { root: y, negative: negative != (op == BinaryOp::Sub) });
                open.push(Summand { root: x, negative });
            }
            ExprNode::Unary(UnaryOp::Neg, x) => open.push(Summand { root: x, negative: !negative }),
            _ => all.push(Summand { root, negative }),
        }
    }
    Some(all)
}

/// The statement that reduces what is not a contraction. Reduced axes that it does not depend on are a factor.
fn rest(graph: &Graph, stmt: &Stmt, summands: &[Summand], kept: &[bool]) -> Option<Stmt> {
    let mut builder = Builder::default();
    let mut root = None;
    for summand in summands {
        let next = builder.push_all(&summand.value(stmt));
        root =
            Some(root.map_or(next, |sum| builder.push(ExprNode::Binary(BinaryOp::Add, sum, next))));
    }
    let value = builder.finish(root?);
    let axes: Axes = axes_in(&value);
    let used = |axis: usize| kept[axis] || axes.binary_search(&(axis as u32)).is_ok();
    let unused = stmt.axes.iter().enumerate().filter(|(axis, _)| !used(*axis));
    let times = unused.fold(1u64, |n, (_, axis)| n.saturating_mul(axis.extent));
    let mut builder = Builder::default();
    let mut root = builder.push_all(&value);
    if times != 1 {
        let times = i64::try_from(times).ok()?;
        let factor = scalar::unary(UnaryOp::Cast(graph.array(stmt.out).dtype), Scalar::I64(times));
        let factor = factor.ok().filter(|factor| factor.as_f64() == times as f64)?;
        let times = builder.push(ExprNode::Const(factor));
        root = builder.push(ExprNode::Binary(BinaryOp::Mul, root, times));
    }
    let value = builder.finish(root);
    Some(restrict(Stmt { value, ..stmt.clone() }, used))
}
