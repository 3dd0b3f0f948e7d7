//! Operands of products.

use super::axes_in;
use crate::domain::bounds;
use crate::graph::axes::{Axes, of_indices};
use crate::graph::{Expr, ExprNode, Graph, Guard, index};
use ijk_ir::core::IndexExpr;

/// One operand of a product.
#[derive(Clone)]
pub(super) struct Factor {
    pub(super) axes: Axes,
    pub(super) value: Expr,
    /// Guards of its points.
    pub(super) guards: Vec<Guard>,
}

impl Factor {
    pub(super) fn of(value: Expr) -> Self {
        Self { axes: axes_in(&value), value, guards: Vec::new() }
    }

    /// Its axes in the memory order of its largest access.
    pub(super) fn axis_order(&self) -> Vec<u32> {
        let mut lie: Vec<u32> = Vec::with_capacity(self.axes.len());
        let mut add = |axis: u32| {
            if !lie.contains(&axis) {
                lie.push(axis);
            }
        };
        let mut reads: Vec<&[IndexExpr]> = self.value.nodes.iter().map(ExprNode::indices).collect();
        reads.sort_by_key(|index| std::cmp::Reverse(of_indices(*index).len()));
        for e in reads.into_iter().flatten() {
            index::for_each_axis(e, &mut |axis| add(axis.0));
        }
        lie
    }

    /// Tells whether it is an unguarded access with affine indices.
    pub(super) fn is_plain(&self) -> bool {
        let affine = |index: &[IndexExpr]| index.iter().all(IndexExpr::is_affine);
        self.guards.is_empty()
            && matches!(&self.value.nodes[..], [ExprNode::Access(_, index)] if affine(index))
    }

    /// Tells whether it is a gather.
    pub(super) fn is_gathered(&self) -> bool {
        matches!(&self.value.nodes[..], [ExprNode::Access(_, places)] if places.iter().any(index::reads))
    }

    /// Tells whether all its accesses are in bounds at all points, without guards.
    pub(super) fn is_everywhere(&self, graph: &Graph, extents: &[u64]) -> bool {
        let inside = |(e, extent): (&IndexExpr, &u64)| {
            !index::reads(e) && bounds::holds(e, *extent, extents)
        };
        self.value.nodes.iter().all(|node| match node {
            ExprNode::Access(array, index) => {
                index.iter().zip(&graph.array(*array).shape).all(inside)
            }
            other => !other.indices().iter().any(index::reads),
        })
    }
}

/// Guards of all factors.
pub(super) fn guards_of(factors: &[Factor]) -> Vec<Guard> {
    bounds::merged(&[], factors.iter().flat_map(|factor| factor.guards.iter().cloned()))
}
