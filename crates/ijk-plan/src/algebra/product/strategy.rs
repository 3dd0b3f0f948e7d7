//! Strategies of products: one loop nest, or contractions in the cheapest order, with post-operations behind.

use super::chain::Chains;
use super::factor::Factor;
use super::moves::{self, PlacedMove, Remaining};
use super::post_ops::MIN_POINTS_PER_ELEMENT;
use super::{NEST_COST, ReducedProduct};
use crate::SMALL_DOMAIN;
use crate::graph::axes::union;
use crate::graph::{Graph, Stmt};

/// Strategy of a product, and its cost.
pub(super) struct Strategy {
    pub(super) moves: Vec<PlacedMove>,
    /// True if post-operations are applied behind the reduction, by a separate statement.
    pub(super) split: bool,
    pub(super) cost: u64,
}

impl ReducedProduct {
    /// The cheapest strategy, for the statement itself or with the products that it reads inlined.
    pub(super) fn best(self, graph: &Graph, chains: &Chains, stmt: Stmt) -> (Self, Strategy, Stmt) {
        let plan = self.plan();
        if let Some(algebra) = &self.algebra
            && let Some((wide, others)) = chains.multiplied_out(graph, &stmt, algebra)
            && let Some(product) = Self::new(graph, &wide)
        {
            let wide_plan = product.plan();
            if wide_plan.cost < plan.cost.saturating_add(others) {
                return (product, wide_plan, wide);
            }
        }
        (self, plan, stmt)
    }

    /// Chooses the order in which factors are joined down to two, or a single loop nest.
    pub(super) fn plan(&self) -> Strategy {
        let all: Vec<u32> = (0..self.extents.len() as u32).collect();
        let points = self.points(&all);
        let nest =
            Strategy { moves: Vec::new(), split: false, cost: points.saturating_mul(NEST_COST) };
        let left = self.left(&self.factors);
        let (moves, core) = match self.factors.len() {
            1 => (Vec::new(), self.points(&self.factors[0].axes).saturating_mul(NEST_COST)),
            _ => self.ordered(left),
        };
        if self.post_ops.is_empty() && !self.is_bare() && self.skips(&moves) {
            return nest;
        }
        if self.is_bare() {
            return if core < nest.cost {
                Strategy { moves, split: false, cost: core }
            } else {
                nest
            };
        }
        let occupied = if self.skips(&moves) { 0 } else { self.occupied_points() };
        let elements = self.points(&self.all_kept).saturating_add(occupied);
        let cost = core.saturating_add(elements.saturating_mul(NEST_COST));
        let fewer = elements.saturating_mul(MIN_POINTS_PER_ELEMENT) <= points && core <= nest.cost;
        if fewer || cost < nest.cost { Strategy { moves, split: true, cost } } else { nest }
    }

    /// Cost of two or more factors with reduced axes as contractions; `None` if a loop nest costs less.
    pub(super) fn contraction_cost(&self) -> Option<u64> {
        let all: Vec<u32> = (0..self.extents.len() as u32).collect();
        let cost = self.plan().cost;
        let is_less = cost < self.points(&all).saturating_mul(NEST_COST);
        (self.algebra.is_some() && self.factors.len() > 1 && is_less).then_some(cost)
    }

    /// Tells whether the reduction stays one guarded loop nest without stored factors: elements without points keep
    /// the identity then, if post-operations preserve it.
    pub(super) fn skips(&self, moves: &[PlacedMove]) -> bool {
        let stored = match &self.factors[..] {
            [p, q] => self.stores(&self.left(&self.factors), [0, 1], [p, q]),
            _ => false,
        };
        moves.is_empty() && !stored && self.post_ops.keeps_identity(self.dtype)
    }

    /// Tells whether two factors, at `places` in `left`, are evaluated before their product.
    pub(super) fn stores(
        &self,
        left: &Remaining<'_>,
        places: [usize; 2],
        [p, q]: [&Factor; 2],
    ) -> bool {
        // Rows that select the same matrix are multiplied together.
        let looked_up = p.is_gathered() != q.is_gathered();
        (looked_up || left.is_contraction(places[0], places[1]))
            && [p, q].into_iter().any(|f| !f.is_plain() && self.is_stored(f, [p, q]))
            && self.may_be_stored(p, q)
    }

    /// The cheapest order of two or more factors, and its cost.
    fn ordered(&self, left: Remaining<'_>) -> (Vec<PlacedMove>, u64) {
        let sets = left.sets.clone();
        let direct = match self.factors.len() {
            2 => self.cost(left, &[]),
            _ => self.points(&self.joined()).saturating_mul(NEST_COST),
        };
        if self.algebra.is_none()
            || self.extents.len() > union(&self.joined(), &self.all_kept).len()
        {
            return (Vec::new(), direct);
        }
        let left = || Remaining::new(&self.extents, sets.clone(), &self.kept);
        let lie: Vec<Vec<u32>> = self.factors.iter().map(Factor::axis_order).collect();
        let moves = moves::moves(&left(), &lie, &self.kept);
        let cost = self.cost(left(), &moves);
        if cost < direct { (moves, cost) } else { (Vec::new(), direct) }
    }

    /// Cost of the steps, the remaining contraction, and stored factors.
    fn cost(&self, left: Remaining<'_>, moves: &[PlacedMove]) -> u64 {
        let [p, q] = &self.factors[..] else { return moves::total(left, moves) };
        if !moves.is_empty() || !left.is_contraction(0, 1) && p.is_gathered() == q.is_gathered() {
            return moves::total(left, moves);
        }
        if !self.may_be_stored(p, q) {
            return self.points(&union(&p.axes, &q.axes)).saturating_mul(NEST_COST);
        }
        let other = [p, q].into_iter().filter(|f| !f.is_plain());
        let (stored, read): (Vec<&Factor>, Vec<&Factor>) =
            other.partition(|f| self.is_stored(f, [p, q]));
        if !read.is_empty() {
            // Stored factors are evaluated less often than in a loop nest.
            return self.points(&union(&p.axes, &q.axes)).saturating_mul(NEST_COST);
        }
        let before = stored.into_iter().fold(0u64, |n, f| n.saturating_add(self.points(&f.axes)));
        moves::total(left, moves).saturating_add(before.saturating_mul(NEST_COST))
    }

    pub(super) fn left(&self, factors: &[Factor]) -> Remaining<'_> {
        let sets = factors.iter().map(|f| f.axes.clone()).collect();
        Remaining::new(&self.extents, sets, &self.kept)
    }

    /// True if storing two factors is cheap relative to their product. One of them may remain a gather.
    pub(super) fn may_be_stored(&self, p: &Factor, q: &Factor) -> bool {
        let points = self.points(&union(&p.axes, &q.axes));
        let few = |f: &Factor| f.is_plain() || self.is_stored(f, [p, q]);
        points > SMALL_DOMAIN && (few(p) || p.is_gathered()) && (few(q) || q.is_gathered())
    }

    /// True if a factor has few elements relative to the points of the product.
    pub(super) fn is_stored(&self, factor: &Factor, [p, q]: [&Factor; 2]) -> bool {
        let points = self.points(&union(&p.axes, &q.axes));
        self.points(&factor.axes).saturating_mul(NEST_COST) <= points
    }
}
