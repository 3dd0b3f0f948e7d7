//! Conditions on positions in a reduced value, made guards.
//!
//! `out[p] = Σ in[q] · (q <= p)` and `max (q <= p ? in[q] : -∞)` are prefix reductions, too: where the condition does not
//! hold, a point contributes the identity, so that it may be left out. That is done for conditions which make a prefix
//! reduction of the statement; others stay in the value, where they do not keep it from being a contraction.

use super::Prefix;
use super::factors::Factored;
use crate::SMALL_DOMAIN;
use crate::graph::expr;
use crate::graph::terms::{Algebra, Terms};
use crate::graph::{ExprNode, Graph, Guard, Stmt, index};
use ijk_ir::core::IndexExpr;
use ijk_types::{BinaryOp, DType, Monoid, Reducer, UnaryOp, scalar};

/// The statement with a condition as a guard that makes it a prefix reduction, if there is one.
pub(super) fn guarded(graph: &Graph, stmt: &Stmt) -> Option<Stmt> {
    let Some(Reducer::Monoid(monoid)) = stmt.reduce else { return None };
    let plain = stmt.scan.is_none() && stmt.points() > SMALL_DOMAIN && compares(stmt);
    if !plain || graph.can_fail(stmt) {
        return None;
    }
    let types = graph.node_types(&stmt.value);
    let mask = |at: u32| PositionMask { stmt, types: &types, at }.guarded();
    let found = PositionMask::candidates(graph, stmt, monoid).into_iter().filter_map(mask);
    found.into_iter().find(|stmt| {
        let factored = || !graph.strict && Factored::find(graph, stmt).is_some();
        Prefix::find(stmt).is_some() || stmt.guards.len() == 1 && factored()
    })
}

/// Tells whether a value compares the order of numbers.
pub(super) fn compares(stmt: &Stmt) -> bool {
    stmt.reduce.is_some() && stmt.value.nodes.iter().any(is_comparison)
}

/// Tells whether a node compares the order of numbers.
pub(super) fn is_comparison(node: &ExprNode) -> bool {
    matches!(node, ExprNode::Binary(op, ..) if is_order(*op))
}

fn is_order(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Le | BinaryOp::Lt | BinaryOp::Ge | BinaryOp::Gt)
}

/// A comparison in a value that is the identity of the reduction where it does not hold.
struct PositionMask<'s> {
    stmt: &'s Stmt,
    /// Types of the value's nodes.
    types: &'s [DType],
    at: u32,
}

impl<'s> PositionMask<'s> {
    /// Nodes that compare, of all terms of the value.
    fn candidates(graph: &Graph, stmt: &'s Stmt, monoid: Monoid) -> Vec<u32> {
        let (nodes, root) = (&stmt.value.nodes, stmt.value.nodes.len() as u32 - 1);
        let dtype = graph.array(stmt.out).dtype;
        let mut conditions = Vec::new();
        // The whole value is chosen.
        if let ExprNode::Select(condition, _, no) = nodes[root as usize]
            && matches!(nodes[no as usize], ExprNode::Const(c) if c == scalar::identity(monoid, c.dtype()))
        {
            conditions.push(condition);
        }
        if monoid == Monoid::Or {
            conditions.push(root);
        }
        // 0 times an infinity shows in strict graphs.
        if monoid == Monoid::Add && (!graph.strict || dtype.is_integer()) {
            let algebra = Algebra { op: BinaryOp::Mul, monoid, dtype };
            let terms = Terms::of(&stmt.value, &algebra).all;
            let factor = |root: u32| match nodes[root as usize] {
                ExprNode::Unary(UnaryOp::Cast(_), x) => Some(x),
                ExprNode::Select(x, _, no) if expr::is_zero_node(&nodes[no as usize]) => Some(x),
                _ => None,
            };
            conditions.extend(terms.iter().filter(|t| !t.inverse).filter_map(|t| factor(t.root)));
        }
        let mut found = Vec::new();
        while let Some(at) = conditions.pop() {
            match nodes[at as usize] {
                ExprNode::Binary(BinaryOp::And, x, y) => conditions.extend([x, y]),
                ExprNode::Binary(op, ..) if is_order(op) => found.push(at),
                _ => {}
            }
        }
        found
    }

    /// The statement with the condition as a guard, if it compares indices.
    fn guarded(&self) -> Option<Stmt> {
        let guard = self.guard()?;
        let value = expr::decided(&self.stmt.value, self.at, true);
        let mut stmt = Stmt { value, ..self.stmt.clone() };
        stmt.guards.push(guard);
        Some(stmt)
    }

    /// `0 <= difference`, where the difference is of the compared indices.
    fn guard(&self) -> Option<Guard> {
        let ExprNode::Binary(op, x, y) = self.stmt.value.nodes[self.at as usize] else {
            return None;
        };
        let (less, more) = if matches!(op, BinaryOp::Le | BinaryOp::Lt) { (x, y) } else { (y, x) };
        let index = |at: u32| expr::as_index(&self.stmt.value, self.types, at);
        let mut difference = index::add(&index(more)?, &index::scale(&index(less)?, -1)?)?;
        if matches!(op, BinaryOp::Lt | BinaryOp::Gt) {
            difference.constant = difference.constant.checked_sub(1)?;
        }
        from_zero(difference, &self.stmt.extents()).filter(|(difference, _)| difference.is_affine())
    }
}

/// The guard that an index is not negative.
pub(super) fn from_zero(index: IndexExpr, extents: &[u64]) -> Option<Guard> {
    let (_, greatest) = index::range(&index, extents);
    let extent = u64::try_from(greatest + 1).ok().filter(|&n| i64::try_from(n).is_ok())?;
    Some((index, extent))
}
