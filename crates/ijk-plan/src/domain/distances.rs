//! Comparisons of a distance of positions with another index: `ABS(i - j) <= 3` is `i - j <= 3` and `i - j >= -3`.
//!
//! Kernels compare an affine index along rows without computing it at each point, and where it depends on one axis the
//! domain is cut.

use crate::graph::expr::{Builder, as_index, rebuilt};
use crate::graph::{Expr, ExprNode, Graph, Stmt, index};
use ijk_ir::core::IndexExpr;
use ijk_types::{BinaryOp, DType, Scalar, UnaryOp};

/// Runs the pass.
pub(crate) fn compare_ends(graph: &mut Graph) {
    for at in 0..graph.statements.len() {
        let stmt = &graph.statements[at];
        let magnitude = |node: &ExprNode| matches!(node, ExprNode::Unary(UnaryOp::Abs, _));
        if stmt.value.nodes.iter().any(magnitude) {
            graph.statements[at].value = without_magnitudes(graph, stmt);
        }
    }
}

/// The value of a statement without magnitudes of positions that are only compared.
fn without_magnitudes(graph: &Graph, stmt: &Stmt) -> Expr {
    let types = graph.node_types(&stmt.value);
    rebuilt(&stmt.value, |builder, at| {
        Some(Distance::of(stmt, &types, &stmt.value.nodes[at])?.push(builder))
    })
}

/// A comparison of the magnitude of an index.
struct Distance {
    inner: IndexExpr,
    /// Comparisons of the index itself, with the limit of its magnitude and with the opposite.
    ends: [(BinaryOp, IndexExpr); 2],
    /// Their combination.
    join: BinaryOp,
}

impl Distance {
    /// The comparison at a node, if both sides are affine and do not overflow.
    fn of(stmt: &Stmt, types: &[DType], node: &ExprNode) -> Option<Self> {
        let &ExprNode::Binary(op, x, y) = node else { return None };
        let swapped = op.swapped()?;
        let inner = |at: u32| match stmt.value.nodes[at as usize] {
            ExprNode::Unary(UnaryOp::Abs, inner) => Some(inner),
            _ => None,
        };
        let ([op, swapped], inner, limit) = match (inner(x), inner(y)) {
            (Some(inner), _) => ([op, swapped], inner, y),
            (None, Some(inner)) => ([swapped, op], inner, x),
            (None, None) => return None,
        };
        if types[inner as usize] != DType::I64 {
            return None;
        }
        let [inner, limit] =
            [as_index(&stmt.value, types, inner)?, as_index(&stmt.value, types, limit)?];
        let extents = stmt.extents();
        let small = |e: &IndexExpr| {
            let (least, greatest) = index::range(e, &extents);
            e.is_affine() && least > i128::from(i64::MIN) && greatest <= i128::from(i64::MAX)
        };
        // No magnitude equals a negative number, though one of both ends may.
        let equality = matches!(op, BinaryOp::Eq | BinaryOp::Ne);
        let sound = !equality || index::range(&limit, &extents).0 >= 0;
        if !(small(&inner) && small(&limit) && sound) {
            return None;
        }
        let both = matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Ne);
        let join = if both { BinaryOp::And } else { BinaryOp::Or };
        let opposite = index::scale(&limit, -1)?;
        Some(Self { inner, ends: [(op, limit), (swapped, opposite)], join })
    }

    /// Adds the comparisons of the index with both ends; returns the node of their combination.
    fn push(self, builder: &mut Builder) -> u32 {
        let inner = builder.push(ExprNode::Index(self.inner));
        let [upper, lower] = self.ends.map(|(op, end)| {
            let end = match end.terms[..] {
                [] => ExprNode::Const(Scalar::I64(end.constant)),
                _ => ExprNode::Index(end),
            };
            let end = builder.push(end);
            builder.push(ExprNode::Binary(op, inner, end))
        });
        builder.push(ExprNode::Binary(self.join, upper, lower))
    }
}
