//! The pattern of contractions, and the roles of their axes.

use crate::SMALL_DOMAIN;
use crate::graph::{ExprNode, Graph, Stmt, coverage};
use crate::plan::{Contraction, Role, Then};
use crate::select::profit::worth_contracting;
use ijk_ir::core::{ArrayId, IndexExpr};
use ijk_types::{BinaryOp, Monoid, Reducer, Scalar, UnaryOp};

/// Tells whether a statement matches the pattern of contractions, whatever the strides of its output.
pub(crate) fn is_one(graph: &Graph, stmt: &Stmt) -> bool {
    pattern(graph, stmt).is_some()
}

/// Tells whether a statement is a contraction with a blocked matrix product; batched dot products are reductions over
/// rows.
pub(crate) fn multiplies(graph: &Graph, stmt: &Stmt) -> bool {
    sides(graph, stmt, &stmt.extents())
        .is_some_and(|[batch, m, n, k]| worth_contracting(batch, m, n, k))
}

/// Extents [batch, m, n, k] of the contraction that a statement is, for axes of the given extents.
pub(crate) fn sides(graph: &Graph, stmt: &Stmt, extents: &[u64]) -> Option<[u64; 4]> {
    let Pattern { a, b, .. } = pattern(graph, stmt)?;
    let (kept, in_a, in_b) = (stmt.kept_axes(), occurring(stmt, a.1), occurring(stmt, b.1));
    Some([Role::Batch, Role::M, Role::N, Role::K].map(|wanted| {
        let axes = extents.iter().enumerate();
        let own = axes.filter(|&(x, _)| role(kept[x], in_a[x], in_b[x]) == wanted);
        own.fold(1, |count: u64, (_, extent)| count.saturating_mul(*extent))
    }))
}

pub(crate) struct Pattern<'a> {
    pub map: BinaryOp,
    pub then: Option<Then>,
    pub reduce: Monoid,
    pub a: (ArrayId, &'a [IndexExpr]),
    pub b: (ArrayId, &'a [IndexExpr]),
}

impl Pattern<'_> {
    /// Moves the operand that is indexed by sums of axes to the right. If the other operand is a vector, the kernels
    /// then read overlapping windows in place instead of packing them.
    pub(crate) fn oriented(self, stmt: &Stmt) -> Self {
        let windows = |index: &[IndexExpr]| index.iter().any(|e| e.terms.len() > 1);
        let kept = stmt.kept_axes();
        let in_b = occurring(stmt, self.b.1);
        let vector = (0..stmt.axes.len()).all(|axis| !(kept[axis] && in_b[axis]));
        if windows(self.a.1) && vector && is_commutative(self.map) {
            return Self { a: self.b, b: self.a, ..self };
        }
        self
    }
}

fn is_commutative(map: BinaryOp) -> bool {
    use BinaryOp::{Add, And, Max, Min, Mul, Or};
    matches!(map, Add | Mul | Max | Min | And | Or)
}

/// Matches `reduce over k of map(a, b)`, two affine accesses of the output's element type, with an output that is
/// injective in its kept axes.
pub(crate) fn pattern<'a>(graph: &Graph, stmt: &'a Stmt) -> Option<Pattern<'a>> {
    let Some(Reducer::Monoid(reduce)) = stmt.reduce else { return None };
    let [
        first @ ExprNode::Access(..),
        second @ ExprNode::Access(..),
        ExprNode::Binary(map, p, q),
        rest @ ..,
    ] = &stmt.value.nodes[..]
    else {
        return None;
    };
    let (left, right) = match (p, q) {
        (0, 1) => (first, second),
        (1, 0) => (second, first),
        _ => return None,
    };
    let (ExprNode::Access(a, a_index), ExprNode::Access(b, b_index)) = (left, right) else {
        return None;
    };
    let then = match rest {
        [] => None,
        [ExprNode::Binary(BinaryOp::Mul, 2, 2)] => Some(Then::Square),
        [ExprNode::Const(n), ExprNode::Binary(BinaryOp::Pow, 2, 3)] if is_two(*n) => {
            Some(Then::Square)
        }
        [ExprNode::Unary(UnaryOp::Abs, 2)] => Some(Then::Abs),
        _ => return None,
    };
    let dtype = graph.array(stmt.out).dtype;
    let affine = |index: &[IndexExpr]| index.iter().all(IndexExpr::is_affine);
    let fits = stmt.points() > SMALL_DOMAIN
        && stmt.guards.is_empty()
        && Contraction::supports(dtype, (*map, then), reduce)
        && graph.array(*a).dtype == dtype
        && graph.array(*b).dtype == dtype
        && [&stmt.out_index[..], a_index, b_index].into_iter().all(affine)
        && injective(stmt);
    fits.then_some(Pattern { map: *map, then, reduce, a: (*a, a_index), b: (*b, b_index) })
}

fn is_two(n: Scalar) -> bool {
    matches!(n, Scalar::F32(2.0) | Scalar::F64(2.0))
}

/// Tells whether points that write the same element differ in reduced axes only.
fn injective(stmt: &Stmt) -> bool {
    let determined = coverage::determined(&stmt.out_index, &stmt.extents());
    stmt.kept_axes().iter().zip(determined).all(|(kept, determined)| determined || !kept)
}

pub(crate) fn occurring(stmt: &Stmt, index: &[IndexExpr]) -> Vec<bool> {
    let mut occurs = vec![false; stmt.axes.len()];
    for e in index {
        crate::graph::index::for_each_axis(e, &mut |axis| occurs[axis.0 as usize] = true);
    }
    occurs
}

pub(crate) fn role(kept: bool, in_a: bool, in_b: bool) -> Role {
    match (kept, in_a, in_b) {
        (false, ..) => Role::K,
        (true, true, true) => Role::Batch,
        (true, false, true) => Role::N,
        (true, _, false) => Role::M,
    }
}
