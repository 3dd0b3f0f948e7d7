//! Comparisons of a distance of positions with another index: `ABS(i - j) <= 3` is `i - j <= 3` and `i - j >= -3`.
//!
//! Kernels compare an affine index along rows without computing it at each point, and where it depends on one axis the
//! domain is cut.

use crate::graph::expr::{Builder, as_index};
use crate::graph::{Expr, ExprNode, Few, Graph, Stmt, index};
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
    let mut builder = Builder::default();
    let mut places: Few<u32> = Few::with_capacity(stmt.value.nodes.len());
    for node in &stmt.value.nodes {
        let place = match Distance::of(stmt, &types, node) {
            Some(distance) => distance.push(&mut builder),
            None => builder.push(node.map_children(|child| places[child as usize])),
        };
        places.push(place);
    }
    builder.finish(places.last().copied().unwrap_or(0))
}

/// A comparison of the magnitude of an index.
struct Distance {
    op: BinaryOp,
    /// The index, and what its magnitude is compared with.
    inner: IndexExpr,
    limit: IndexExpr,
}

impl Distance {
    /// The comparison at a node, if both sides are affine and do not overflow.
    fn of(stmt: &Stmt, types: &[DType], node: &ExprNode) -> Option<Self> {
        let &ExprNode::Binary(op, x, y) = node else { return None };
        let swapped = swapped(op)?;
        let inner = |at: u32| match stmt.value.nodes[at as usize] {
            ExprNode::Unary(UnaryOp::Abs, inner) => Some(inner),
            _ => None,
        };
        let (op, inner, limit) = match (inner(x), inner(y)) {
            (Some(inner), _) => (op, inner, y),
            (None, Some(inner)) => (swapped, inner, x),
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
        (small(&inner) && small(&limit) && sound).then_some(Self { op, inner, limit })
    }

    /// Adds the comparisons of the index with both ends; returns the node of their combination.
    fn push(self, builder: &mut Builder) -> u32 {
        let Self { op, inner, limit } = self;
        let other = swapped(op).unwrap_or(op);
        let both = matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Ne);
        let inner = builder.push(ExprNode::Index(inner));
        let opposite = index::scale(&limit, -1).unwrap_or_default();
        let [upper, lower] = [limit, opposite].map(|end| match end.terms[..] {
            [] => builder.push(ExprNode::Const(Scalar::I64(end.constant))),
            _ => builder.push(ExprNode::Index(end)),
        });
        let upper = builder.push(ExprNode::Binary(op, inner, upper));
        let lower = builder.push(ExprNode::Binary(other, inner, lower));
        let join = if both { BinaryOp::And } else { BinaryOp::Or };
        builder.push(ExprNode::Binary(join, upper, lower))
    }
}

/// The comparison with both sides exchanged; `None` for other operators.
fn swapped(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        BinaryOp::Eq | BinaryOp::Ne => op,
        _ => return None,
    })
}
