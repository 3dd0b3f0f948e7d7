//! Reductions of products rewritten as contractions of two accesses.
//!
//! A product of several factors is multiplied pairwise in the order that [`crate::order`] finds, and each reduced axis
//! is summed after its last use. Factors that are more than an access, over fewer axes than the domain, are evaluated
//! first. If none of this pays, the statement stays one loop nest.

mod chain;
mod constants;
mod factor;
mod gathers;
mod inlined;
mod moves;
mod post_ops;
mod terms;

use crate::SMALL_DOMAIN;
use crate::canonical::simplify::drop_dead;
use crate::graph::axes::{Axes, of_indices, restrict, union};
use crate::graph::expr::{Builder, extract, same_bits};
use crate::graph::{Axis, Expr, ExprNode, Graph, Stmt, coverage, index};
use crate::plan::Contraction;
use chain::Chains;
use factor::{Factor, guards_of};
use ijk_ir::core::{Init, Span};
use ijk_types::{BinaryOp, DType, Monoid, Reducer};
use moves::{Move, PlacedMove, Remaining};
use post_ops::{FEWER, PostOps};

pub(crate) use moves::worth_contracting;
pub(crate) use terms::{Algebra, Terms};

/// Cost of a point of a loop nest, relative to one of a contraction.
const NEST_COST: u64 = 4;

/// Runs the pass.
pub(crate) fn order_products(graph: &mut Graph) {
    let products: Vec<Option<ReducedProduct>> =
        graph.statements.iter().map(|stmt| ReducedProduct::new(graph, stmt)).collect();
    if products.iter().all(Option::is_none) && !graph.statements.iter().any(reduces_gathers) {
        return drop_dead(graph);
    }
    let chains = Chains::new(graph);
    let mut statements = Vec::with_capacity(graph.statements.len());
    for (at, product) in products.into_iter().enumerate() {
        let stmt = graph.statements[at].clone();
        lower_product(graph, &chains, (product, stmt), &mut statements);
    }
    graph.statements = statements;
    drop_dead(graph);
}

/// Tells whether a statement is a reduction with gathers or a scatter.
fn reduces_gathers(stmt: &Stmt) -> bool {
    let mut gathers = false;
    stmt.for_each_index(|e| gathers |= index::reads(e));
    gathers && stmt.reduce.is_some()
}

/// Adds a statement, or those that replace it.
fn lower(graph: &mut Graph, chains: &Chains, stmt: Stmt, out: &mut Vec<Stmt>) {
    let product = ReducedProduct::new(graph, &stmt);
    lower_product(graph, chains, (product, stmt), out);
}

/// Adds a statement, given its product if it is one.
fn lower_product(
    graph: &mut Graph,
    chains: &Chains,
    (product, stmt): (Option<ReducedProduct>, Stmt),
    out: &mut Vec<Stmt>,
) {
    let stmt = match product {
        None => constants::joined(graph, &stmt).unwrap_or(stmt),
        Some(_) => stmt,
    };
    let best = product.map(|product| product.best(graph, chains, stmt.clone()));
    let (cost, stmt) = match &best {
        Some((_, plan, stmt)) => (plan.cost, stmt),
        None => (stmt.points().saturating_mul(NEST_COST), &stmt),
    };
    let parts = match inlined::gathering(graph, chains, stmt) {
        Some((wide, other)) => gathers::move_behind(graph, &wide, cost.saturating_add(other)),
        None => gathers::move_behind(graph, stmt, cost),
    };
    if let Some([core, later]) = parts {
        lower(graph, chains, core, out);
        return out.push(later);
    }
    match best {
        Some((product, plan, stmt)) => product.lower(&plan, graph, chains, stmt, out),
        None => out.push(stmt.clone()),
    }
}

/// A statement that reduces a product.
struct ReducedProduct {
    op: BinaryOp,
    monoid: Monoid,
    dtype: DType,
    /// The algebra in which factors may be reordered, if allowed.
    algebra: Option<Algebra>,
    factors: Vec<Factor>,
    post_ops: PostOps,
    /// Axes of the output that factors have; all of them if there are no post-operations.
    kept: Axes,
    /// Axes of the output.
    all_kept: Axes,
    extents: Vec<u64>,
    names: Vec<String>,
    span: Span,
}

/// Strategy of a product, and its cost.
struct Strategy {
    moves: Vec<PlacedMove>,
    /// True if post-operations are applied behind the reduction, by a separate statement.
    split: bool,
    cost: u64,
}

impl ReducedProduct {
    fn new(graph: &Graph, stmt: &Stmt) -> Option<Self> {
        let Some(Reducer::Monoid(monoid)) = stmt.reduce else { return None };
        // A single term has no order, and no post-operation.
        if stmt.value.nodes.len() == 1 {
            return None;
        }
        let dtype = graph.array(stmt.out).dtype;
        if stmt.points() <= SMALL_DOMAIN || graph.can_fail(stmt) || stmt.scan.is_some() {
            return None;
        }
        let types = graph.node_types(&stmt.value);
        if !graph.strict
            && let Some(product) = Self::of_terms(graph, stmt, (monoid, dtype), &types)
        {
            return Some(product);
        }
        let &ExprNode::Binary(op, x, y) = stmt.value.nodes.last()? else { return None };
        if types[x as usize] != dtype || !stmt.guards.is_empty() {
            return None;
        }
        let factors = [x, y].map(|root| Factor::of(extract(&stmt.value.nodes, root)));
        let product = Self::with(stmt, (op, monoid, dtype), factors.into());
        product.is_supported().then_some(product)
    }

    fn with(
        stmt: &Stmt,
        (op, monoid, dtype): (BinaryOp, Monoid, DType),
        factors: Vec<Factor>,
    ) -> Self {
        let kept = stmt.kept_axes().into_iter().enumerate().filter(|(_, kept)| *kept);
        let kept: Axes = kept.map(|(axis, _)| axis as u32).collect();
        Self {
            op,
            monoid,
            dtype,
            algebra: None,
            factors,
            post_ops: PostOps::default(),
            all_kept: kept.clone(),
            kept,
            extents: stmt.extents().into_vec(),
            names: stmt.axes.iter().map(|a| a.name.clone()).collect(),
            span: stmt.span,
        }
    }

    fn is_supported(&self) -> bool {
        Contraction::supports(self.dtype, (self.op, None), self.monoid)
    }

    /// A product with factors in any order: one factor for each set of axes, and post-operations. `None` if the
    /// statement is no such product, or is a single factor.
    fn of_terms(
        graph: &Graph,
        stmt: &Stmt,
        (monoid, dtype): (Monoid, DType),
        types: &[DType],
    ) -> Option<Self> {
        let algebra = Algebra::of(monoid, dtype, &stmt.value)?;
        let terms = Terms::of(&stmt.value, &algebra);
        if terms.all.iter().any(|term| types[term.root as usize] != dtype) {
            return None;
        }
        let mut product = Self::with(stmt, (algebra.op, monoid, dtype), Vec::new());
        product.algebra = Some(algebra);
        product.post_ops.negative = terms.negative;
        product.group(&stmt.value, &terms, &algebra);
        let alone = product.factors.len() == 1 && product.post_ops.is_empty();
        if product.factors.is_empty() || alone || !product.is_supported() {
            return None;
        }
        product.divide_guards(graph, stmt)?;
        if product.is_bare() {
            return Some(product);
        }
        let joined = product.joined();
        let all_held = (0..product.extents.len() as u32)
            .all(|axis| joined.contains(&axis) || product.all_kept.contains(&axis));
        let determined = coverage::determined(&stmt.out_index, &product.extents);
        let apart = product.all_kept.iter().all(|&axis| determined[axis as usize]);
        product.kept.retain(|axis| joined.contains(axis));
        (all_held && apart).then_some(product)
    }

    /// Groups terms by axes.
    fn group(&mut self, value: &Expr, terms: &Terms, algebra: &Algebra) {
        let mut groups: Vec<(Axes, Vec<Expr>, Vec<Expr>)> = Vec::new();
        for term in &terms.all {
            let expr = extract(&value.nodes, term.root);
            if matches!(expr.nodes[..], [ExprNode::Const(x)] if same_bits(x, algebra.one())) {
                continue;
            }
            let axes = axes_in(&expr);
            if axes.iter().all(|axis| self.all_kept.contains(axis)) {
                let side = if term.inverse {
                    &mut self.post_ops.divisors
                } else {
                    &mut self.post_ops.factors
                };
                side.push(expr);
                continue;
            }
            let at = groups.iter().position(|(other, ..)| *other == axes).unwrap_or_else(|| {
                groups.push((axes, Vec::new(), Vec::new()));
                groups.len() - 1
            });
            let side = if term.inverse { &mut groups[at].2 } else { &mut groups[at].1 };
            side.push(expr);
        }
        let factor = |(axes, factors, divisors): &(Axes, Vec<Expr>, Vec<Expr>)| Factor {
            axes: axes.clone(),
            value: quotient(algebra, factors, divisors),
            guards: Vec::new(),
        };
        self.factors = groups.iter().map(factor).collect();
    }

    /// Distributes guards to factors by their axes: to those that would be out of bounds otherwise, since a 0 there
    /// makes the whole product 0, or else to all that have these axes. Guards of kept axes also become
    /// post-operations. `None` if a guard is neither.
    fn divide_guards(&mut self, graph: &Graph, stmt: &Stmt) -> Option<()> {
        let everywhere: Vec<bool> =
            self.factors.iter().map(|factor| factor.is_everywhere(graph, &self.extents)).collect();
        for guard in &stmt.guards {
            let axes = of_indices([&guard.0]);
            let has = |factor: &Factor| axes.iter().all(|axis| factor.axes.contains(axis));
            let places: Vec<usize> =
                (0..self.factors.len()).filter(|&n| has(&self.factors[n])).collect();
            let few = places.iter().any(|&n| !everywhere[n]);
            let mut placed = !places.is_empty();
            for n in places.into_iter().filter(|&n| !few || !everywhere[n]) {
                self.factors[n].guards.push(guard.clone());
            }
            if axes.iter().all(|axis| self.all_kept.contains(axis)) {
                self.post_ops.guards.push(guard.clone());
                placed = true;
            }
            placed.then_some(())?;
        }
        Some(())
    }

    /// Tells whether there are no guards and no post-operations.
    fn is_bare(&self) -> bool {
        self.post_ops.is_empty() && self.factors.iter().all(|factor| factor.guards.is_empty())
    }

    /// Axes of all factors.
    fn joined(&self) -> Axes {
        self.factors.iter().fold(Axes::new(), |axes, factor| union(&axes, &factor.axes))
    }

    fn points(&self, axes: &[u32]) -> u64 {
        axes.iter().fold(1, |n, &axis| n.saturating_mul(self.extents[axis as usize]))
    }

    /// The cheapest strategy, for the statement itself or with the products that it reads inlined.
    fn best(self, graph: &Graph, chains: &Chains, stmt: Stmt) -> (Self, Strategy, Stmt) {
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
    fn plan(&self) -> Strategy {
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
        let fewer = elements.saturating_mul(FEWER) <= points && core <= nest.cost;
        if fewer || cost < nest.cost { Strategy { moves, split: true, cost } } else { nest }
    }

    /// Tells whether the reduction stays one guarded loop nest without stored factors: elements without points keep
    /// the identity then, if post-operations preserve it.
    fn skips(&self, moves: &[PlacedMove]) -> bool {
        let stored = match &self.factors[..] {
            [p, q] => self.stores(&self.left(&self.factors), [0, 1], [p, q]),
            _ => false,
        };
        moves.is_empty() && !stored && self.post_ops.keeps_zero()
    }

    /// Tells whether two factors, at `places` in `left`, are evaluated before their product.
    fn stores(&self, left: &Remaining<'_>, places: [usize; 2], [p, q]: [&Factor; 2]) -> bool {
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

    /// Adds the statements that compute a statement.
    fn lower(
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
        let kept: Vec<usize> = kept.filter(|&axis| self.kept.contains(&(axis as u32))).collect();
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

    fn left(&self, factors: &[Factor]) -> Remaining<'_> {
        let sets = factors.iter().map(|f| f.axes.clone()).collect();
        Remaining::new(&self.extents, sets, &self.kept)
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
        if !self.stores(left, places, [p, q]) {
            return false;
        }
        let stored = [&*p, &*q].map(|f| !f.is_plain() && self.is_stored(f, [p, q]));
        for (factor, _) in factors.iter_mut().zip(stored).filter(|(_, stored)| *stored) {
            let axes = factor.axis_order();
            *factor = self.store(factor.clone(), &axes, None, graph, out);
        }
        true
    }

    /// True if storing two factors is cheap relative to their product. One of them may remain a gather.
    fn may_be_stored(&self, p: &Factor, q: &Factor) -> bool {
        let points = self.points(&union(&p.axes, &q.axes));
        let few = |f: &Factor| f.is_plain() || self.is_stored(f, [p, q]);
        points > SMALL_DOMAIN && (few(p) || p.is_gathered()) && (few(q) || q.is_gathered())
    }

    /// True if a factor has few elements relative to the points of the product.
    fn is_stored(&self, factor: &Factor, [p, q]: [&Factor; 2]) -> bool {
        let points = self.points(&union(&p.axes, &q.axes));
        self.points(&factor.axes).saturating_mul(NEST_COST) <= points
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

/// Expressions joined by an operator, from left to right.
fn product<'e>(op: BinaryOp, exprs: impl Iterator<Item = &'e Expr>) -> Expr {
    let mut builder = Builder::default();
    let mut root = None;
    for expr in exprs {
        let right = builder.push_all(expr);
        root = Some(root.map_or(right, |left| builder.push(ExprNode::Binary(op, left, right))));
    }
    builder.finish(root.unwrap_or(0))
}

/// Product of factors divided by divisors, from left to right.
fn quotient(algebra: &Algebra, factors: &[Expr], divisors: &[Expr]) -> Expr {
    let one = Expr { nodes: vec![ExprNode::Const(algebra.one())] };
    let factors = if factors.is_empty() { std::slice::from_ref(&one) } else { factors };
    let dividend = product(algebra.op, factors.iter());
    let inverse = algebra.inverse().unwrap_or(algebra.op);
    product(inverse, std::iter::once(&dividend).chain(divisors))
}

/// Axes that an expression depends on.
fn axes_in(value: &Expr) -> Axes {
    of_indices(value.nodes.iter().flat_map(ExprNode::indices))
}
