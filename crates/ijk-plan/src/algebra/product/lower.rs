//! Lowering of products: the statements that compute a strategy.

use super::chain::Chains;
use super::factor::{Factor, guards_of};
use super::moves::{Move, PlacedMove, Remaining};
use super::strategy::Strategy;
use super::{ReducedProduct, lower, product};
use crate::graph::axes::{restrict, union};
use crate::graph::{Axis, Expr, ExprNode, Graph, Stmt, index};
use crate::plan::{NARROW_SIDE, multiplies_narrow};
use ijk_ir::core::{IndexExpr, Init};
use ijk_types::{BinaryOp, Monoid, Reducer, UnaryOp};

impl ReducedProduct {
    /// Adds the statements that compute a statement.
    pub(super) fn lower(
        &self,
        plan: &Strategy,
        graph: &mut Graph,
        chains: &Chains,
        stmt: Stmt,
        out: &mut Vec<Stmt>,
    ) {
        let Some(algebra) = self.algebra.filter(|_| plan.split) else {
            let bare = self.is_bare();
            return if bare { self.reduce(plan, graph, stmt, out) } else { out.push(stmt) };
        };
        let kept = stmt.kept_by_output().into_iter();
        let kept = kept.filter(|&axis| self.kept.contains(&(axis as u32)));
        let kept = self.batches_first(kept.collect());
        let index = index::of_axes(kept.iter().copied());
        let shape = kept.iter().map(|&axis| self.extents[axis]).collect();
        let array = graph.new_array(self.dtype, shape);
        let core = Stmt {
            out: array,
            out_index: index.clone(),
            init: Init::Identity(self.monoid),
            value: self.product_of(&self.factors),
            guards: guards_of(&self.factors),
            ..stmt.clone()
        };
        let joined = self.joined();
        let own = |axis: usize| joined.binary_search(&(axis as u32)).is_ok();
        match self.factors.len() {
            // The one factor may be a product in another algebra.
            1 if core.guards.is_empty() => lower(graph, chains, restrict(core, own), out),
            1 => out.push(restrict(core, own)),
            _ => self.reduce(plan, graph, core, out),
        }
        let skips = self.skips(&plan.moves);
        self.add_post_ops((&algebra, skips), ExprNode::Access(array, index), graph, &stmt, out);
    }

    /// Orders axes of a stored product: those of all factors come first if they would be last and others are the rows
    /// and columns of matrices, which would be scattered.
    fn batches_first(&self, mut kept: Vec<usize>) -> Vec<usize> {
        let has = |factor: &Factor, axis: usize| factor.axes.binary_search(&(axis as u32)).is_ok();
        let batch = |axis: usize| self.factors.iter().all(|factor| has(factor, axis));
        let apart = |a, b| !self.factors.iter().any(|factor| has(factor, a) && has(factor, b));
        let matrices = kept.iter().any(|&a| kept.iter().any(|&b| apart(a, b)));
        if matrices && kept.last().is_some_and(|&axis| batch(axis)) {
            kept.sort_by_key(|&axis| !batch(axis));
        }
        kept
    }

    /// Adds the statements that compute the reduction of the factors.
    fn reduce(&self, plan: &Strategy, graph: &mut Graph, stmt: Stmt, out: &mut Vec<Stmt>) {
        let mut factors = self.factors.clone();
        let mut left = self.left(&factors);
        for placed in &plan.moves {
            self.apply(placed, &left, &mut factors, graph, out);
            left.apply(placed.step);
        }
        let stored = self.materialise(&mut factors, &left, [0, 1], graph, out);
        if !stored && plan.moves.is_empty() && !plan.split {
            // Factors are free of canceled signs and of added zeros.
            let contracts = factors.len() == 2 && left.is_contraction(0, 1);
            let value = match contracts && self.algebra.is_some() {
                true => self.product_of(&factors),
                false => stmt.value,
            };
            out.push(Stmt { value, ..stmt });
            return;
        }
        let stmt = Stmt { value: self.product_of(&factors), guards: guards_of(&factors), ..stmt };
        let used = left.sets.iter().fold(self.kept.clone(), |axes, set| union(&axes, set));
        let used = |axis: usize| used.binary_search(&(axis as u32)).is_ok();
        out.push(if plan.moves.is_empty() && !plan.split { stmt } else { restrict(stmt, used) });
    }

    /// Adds the statements of a step, and replaces its factors by the result.
    fn apply(
        &self,
        placed: &PlacedMove,
        left: &Remaining,
        factors: &mut Vec<Factor>,
        graph: &mut Graph,
        out: &mut Vec<Stmt>,
    ) {
        let (at, factor, [axes, rest]) = match placed.step {
            Move::Reduce(at) => (at, factors[at].clone(), left.product(&[at])),
            Move::Join(p, q) => {
                let mut pair = [factors[p].clone(), factors.remove(q)];
                self.materialise(&mut pair, left, [p, q], graph, out);
                let [axes, rest] = left.product(&[p, q]);
                let (value, guards) = (self.product_of(&pair), guards_of(&pair));
                (p, Factor { axes: axes.clone(), value, guards }, [axes, rest])
            }
        };
        let reduce = (axes != rest).then_some(self.monoid);
        debug_assert_eq!(union(&placed.axes, &[]), rest, "a layout has the axes of the result");
        factors[at] = self.store(factor, &placed.axes, reduce, graph, out);
    }

    /// Stores factors that are more than an access, if their product is a contraction; returns true if so. They are at
    /// `places` in `left`.
    fn materialise(
        &self,
        factors: &mut [Factor],
        left: &Remaining,
        places: [usize; 2],
        graph: &mut Graph,
        out: &mut Vec<Stmt>,
    ) -> bool {
        let [p, q] = factors else { return false };
        if !self.stores(left, places, [p, q]) || self.is_narrow(left, places, [p, q], graph) {
            return false;
        }
        let stored = [&*p, &*q].map(|f| !f.is_plain() && self.is_stored(f, [p, q]));
        for (factor, _) in factors.iter_mut().zip(stored).filter(|(_, stored)| *stored) {
            let axes = factor.axis_order();
            *factor = self.store(factor.clone(), &axes, None, graph, out);
        }
        true
    }

    /// Tells whether two factors are casts of narrow elements that engines multiply as they are.
    fn is_narrow(
        &self,
        left: &Remaining,
        [p, q]: [usize; 2],
        factors: [&Factor; 2],
        graph: &Graph,
    ) -> bool {
        let narrow = |factor: &Factor| match &factor.value.nodes[..] {
            [ExprNode::Access(array, index), ExprNode::Unary(UnaryOp::Cast(_), 0)]
                if factor.guards.is_empty() && index.iter().all(IndexExpr::is_affine) =>
            {
                Some(graph.array(*array).dtype)
            }
            _ => None,
        };
        let [Some(a), Some(b)] = factors.map(narrow) else { return false };
        let [_, m, n, k] = left.sides(p, q);
        let side = NARROW_SIDE as u64;
        self.op == BinaryOp::Mul
            && self.monoid == Monoid::Add
            && multiplies_narrow(a, b, self.dtype)
            && m >= side
            && n >= side
            && k >= side
    }

    /// Adds a statement that stores a factor, reduced to the axes `kept`; returns the access to it. Skipped points
    /// leave the monoid's identity, which annihilates any product.
    fn store(
        &self,
        Factor { axes, value, guards }: Factor,
        kept: &[u32],
        reduce: Option<Monoid>,
        graph: &mut Graph,
        out: &mut Vec<Stmt>,
    ) -> Factor {
        let index = index::of_axes(kept.iter().map(|&axis| axis as usize));
        let shape = kept.iter().map(|&a| self.extents[a as usize]).collect();
        let array = graph.new_array(self.dtype, shape);
        let reduce = reduce.or((!guards.is_empty()).then_some(self.monoid));
        let names = self.names.iter().zip(&self.extents);
        let stmt = Stmt {
            out: array,
            axes: names.map(|(name, &extent)| Axis { name: name.clone(), extent }).collect(),
            out_index: index.clone(),
            init: reduce.map_or(Init::Zero, Init::Identity),
            reduce: reduce.map(Reducer::Monoid),
            single: false,
            value,
            guards,
            scan: None,
            span: self.span,
        };
        out.push(restrict(stmt, |axis| axes.binary_search(&(axis as u32)).is_ok()));
        Factor::of(Expr { nodes: vec![ExprNode::Access(array, index)] })
    }

    /// Product of factors, from left to right.
    fn product_of(&self, factors: &[Factor]) -> Expr {
        product(self.op, factors.iter().map(|factor| &factor.value))
    }
}
