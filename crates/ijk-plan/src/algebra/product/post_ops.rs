//! Post-operations: factors without reduced axes, applied to the result of the reduction.

use super::ReducedProduct;
use crate::graph::axes::{Axes, of_indices, restrict, union};
use crate::graph::expr::Builder;
use crate::graph::terms::Algebra;
use crate::graph::{Expr, ExprNode, Graph, Guard, Stmt, index};
use ijk_ir::core::{ArrayId, Init};
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, scalar};

/// The reduction must have at least `MIN_POINTS_PER_ELEMENT` points per element to pay for a separate epilogue.
pub(super) const MIN_POINTS_PER_ELEMENT: u64 = 3;

/// Operations on the elements of a reduced array.
#[derive(Clone, Default)]
pub(super) struct PostOps {
    /// Multipliers, over axes of the output.
    pub(super) factors: Vec<Expr>,
    /// Divisors, over axes of the output.
    pub(super) divisors: Vec<Expr>,
    pub(super) negative: bool,
    /// Conditions without which an element has no points.
    pub(super) guards: Vec<Guard>,
}

impl PostOps {
    pub(super) fn is_empty(&self) -> bool {
        self.factors.is_empty()
            && self.divisors.is_empty()
            && !self.negative
            && self.guards.is_empty()
    }

    /// Tells whether they map the identity of the reduction to itself: all do that are exact, others if they change no
    /// sign of a zero and introduce no NaN.
    pub(super) fn keeps_identity(&self, dtype: DType) -> bool {
        let mut all = self.factors.iter().chain(&self.divisors);
        is_exact(dtype) || !self.negative && all.all(is_positive)
    }

    /// The value with the operations applied to `reduced`.
    pub(super) fn value(
        &self,
        algebra: &Algebra,
        reduced: ExprNode,
        occupied: Option<ExprNode>,
    ) -> Expr {
        let mut builder = Builder::default();
        let mut root = builder.push(reduced);
        for (op, exprs) in [(Some(algebra.op), &self.factors), (algebra.inverse(), &self.divisors)]
        {
            let (constants, others): (Vec<_>, Vec<_>) =
                exprs.iter().partition(|expr| matches!(expr.nodes[..], [ExprNode::Const(_)]));
            let mut constant = None;
            for expr in constants {
                let next = builder.push_all(expr);
                constant = Some(
                    constant.map_or(next, |c| builder.push(ExprNode::Binary(algebra.op, c, next))),
                );
            }
            let others: Vec<u32> = others.into_iter().map(|e| builder.push_all(e)).collect();
            for factor in constant.into_iter().chain(others) {
                root = builder.push(ExprNode::Binary(op.unwrap_or(algebra.op), root, factor));
            }
        }
        // A sum that starts from 0 is never -0.
        let signed = self.negative || !self.keeps_identity(algebra.dtype);
        if algebra.op == BinaryOp::Mul && signed && algebra.dtype != DType::Bool {
            let zero = builder.push(ExprNode::Const(scalar::identity(Monoid::Add, algebra.dtype)));
            let op = if self.negative { BinaryOp::Sub } else { BinaryOp::Add };
            root = builder.push(ExprNode::Binary(op, zero, root));
        }
        if let Some(occupied) = occupied {
            let identity = scalar::identity(algebra.monoid, algebra.dtype);
            let [condition, none] = [occupied, ExprNode::Const(identity)].map(|n| builder.push(n));
            root = builder.push(ExprNode::Select(condition, root, none));
        }
        builder.finish(root)
    }
}

/// Tells whether operations on the type are exact: without zeros of either sign, infinities, or NaN.
fn is_exact(dtype: DType) -> bool {
    dtype.is_integer() || dtype == DType::Bool
}

fn is_positive(factor: &Expr) -> bool {
    match factor.nodes[..] {
        [ExprNode::Const(Scalar::F32(x))] => x > 0.0 && x.is_finite(),
        [ExprNode::Const(Scalar::F64(x))] => x > 0.0 && x.is_finite(),
        _ => false,
    }
}

impl ReducedProduct {
    /// Adds the statement that applies the post-operations. Elements without points are masked, unless `skips` says
    /// that the reduction leaves the identity there.
    pub(super) fn add_post_ops(
        &self,
        (algebra, skips): (&Algebra, bool),
        reduced: ExprNode,
        graph: &mut Graph,
        stmt: &Stmt,
        out: &mut Vec<Stmt>,
    ) {
        let occupied = if skips { None } else { self.occupied(graph, stmt, out) };
        let fresh = stmt.init == Init::Identity(algebra.monoid) && self.post_ops.guards.is_empty();
        let value = self.post_ops.value(algebra, reduced, occupied);
        let epilogue = Stmt {
            reduce: stmt.reduce.filter(|_| !fresh),
            value,
            guards: self.post_ops.guards.clone(),
            ..stmt.clone()
        };
        out.push(restrict(epilogue, |axis| self.all_kept.contains(&(axis as u32))));
    }

    /// Guards that depend on reduced axes.
    fn reduced_guards(&self) -> Vec<&Guard> {
        let mut all: Vec<&Guard> = Vec::new();
        for guard in self.factors.iter().flat_map(|factor| &factor.guards) {
            let reduces = of_indices([&guard.0]).iter().any(|axis| !self.all_kept.contains(axis));
            if reduces && !all.contains(&guard) {
                all.push(guard);
            }
        }
        all
    }

    /// Axes that determine the number of points of an element.
    fn occupied_axes(&self) -> Axes {
        let guards = self.reduced_guards();
        guards.into_iter().fold(Axes::new(), |axes, guard| union(&axes, &of_indices([&guard.0])))
    }

    /// Points of the statement that finds elements without points.
    pub(super) fn occupied_points(&self) -> u64 {
        match self.occupied_axes() {
            axes if axes.is_empty() || self.keeps_identity() => 0,
            axes => self.points(&axes),
        }
    }

    /// Tells whether an element without points keeps the identity: a single guarded factor, and operations that
    /// preserve it.
    fn keeps_identity(&self) -> bool {
        let kept = self.post_ops.keeps_identity(self.dtype) && self.post_ops.guards.is_empty();
        kept && (self.factors.len() == 1 || is_exact(self.dtype))
    }

    /// Adds the statement that computes which elements have points, if some may have none; returns the access to it.
    fn occupied(&self, graph: &mut Graph, stmt: &Stmt, out: &mut Vec<Stmt>) -> Option<ExprNode> {
        if self.occupied_points() == 0 {
            return None;
        }
        let axes = self.occupied_axes();
        let kept: Axes = axes.iter().copied().filter(|axis| self.all_kept.contains(axis)).collect();
        let index = index::of_axes(kept.iter().map(|&axis| axis as usize));
        let shape = kept.iter().map(|&axis| self.extents[axis as usize]).collect();
        let array: ArrayId = graph.new_array(DType::Bool, shape);
        let any = Stmt {
            out: array,
            out_index: index.clone(),
            init: Init::Identity(Monoid::Or),
            reduce: Some(Reducer::Monoid(Monoid::Or)),
            value: Expr { nodes: vec![ExprNode::Const(Scalar::Bool(true))] },
            guards: self.reduced_guards().into_iter().cloned().collect(),
            ..stmt.clone()
        };
        out.push(restrict(any, |axis| axes.contains(&(axis as u32))));
        Some(ExprNode::Access(array, index))
    }
}
