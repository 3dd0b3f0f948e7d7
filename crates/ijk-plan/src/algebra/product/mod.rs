//! Reductions of products rewritten as contractions of two accesses.
//!
//! A product of several factors is multiplied pairwise in the order that [`crate::order`] finds, and each reduced axis
//! is summed after its last use. Factors that are more than an access, over fewer axes than the domain, are evaluated
//! first. Sums of several products are reduced product by product. If none of this pays, the statement stays one loop
//! nest.

mod chain;
mod constants;
mod counts;
mod factor;
mod gathers;
mod inlined;
mod lower;
mod moves;
mod post_ops;
mod strategy;
mod sums;

use crate::SMALL_DOMAIN;
use crate::canonical::simplify::drop_dead;
use crate::graph::axes::{Axes, of_indices, union};
use crate::graph::expr::{Builder, extract, same_bits};
use crate::graph::terms::{Algebra, Terms};
use crate::graph::{Expr, ExprNode, Graph, Stmt, coverage, index};
use crate::plan::Contraction;
use chain::Chains;
use factor::Factor;
use ijk_ir::core::Span;
use ijk_types::{BinaryOp, DType, Monoid, Reducer};
use post_ops::PostOps;

/// Cost of a point of a loop nest, relative to one of a contraction.
const NEST_COST: u64 = 4;

/// Runs the pass.
pub(crate) fn order_products(graph: &mut Graph) {
    let products: Vec<Option<ReducedProduct>> =
        graph.statements.iter().map(|stmt| ReducedProduct::new(graph, stmt)).collect();
    let other = |stmt: &Stmt| reduces_gathers(stmt) || counts::joins_conditions(stmt);
    if products.iter().all(Option::is_none) && !graph.statements.iter().any(other) {
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
    if let Some(apart) = taken_apart(graph, stmt, cost) {
        return apart.into_iter().for_each(|part| lower(graph, chains, part, out));
    }
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

/// The statements that a sum of products, or a count of pairs, is taken apart to, if they cost less than `cost`.
fn taken_apart(graph: &mut Graph, stmt: &Stmt, cost: u64) -> Option<Vec<Stmt>> {
    if let Some(parts) = sums::parts(graph, stmt, cost) {
        return Some(parts);
    }
    let counted = counts::multiplied(graph, stmt)?;
    let product = ReducedProduct::new(graph, &counted);
    let own = product.and_then(|product| product.contraction_cost());
    match own.is_some_and(|own| own < cost) {
        true => Some(vec![counted]),
        false => sums::parts(graph, &counted, cost),
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
        let TermGroups { groups, kept: [factors, divisors] } =
            TermGroups::of(value, terms, algebra, &self.all_kept);
        self.post_ops.factors = factors;
        self.post_ops.divisors = divisors;
        let factor = |(axes, value)| Factor { axes, value, guards: Vec::new() };
        self.factors = groups.into_iter().map(factor).collect();
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
}

/// Terms of a product by their axes.
pub(super) struct TermGroups {
    /// The product of the terms of each set of axes of which some are reduced.
    pub(super) groups: Vec<(Axes, Expr)>,
    /// Factors and divisors over kept axes alone.
    pub(super) kept: [Vec<Expr>; 2],
}

impl TermGroups {
    pub(super) fn of(value: &Expr, terms: &Terms, algebra: &Algebra, of_output: &[u32]) -> Self {
        let mut groups: Vec<(Axes, [Vec<Expr>; 2])> = Vec::new();
        let mut kept = [Vec::new(), Vec::new()];
        for term in &terms.all {
            let expr = extract(&value.nodes, term.root);
            if matches!(expr.nodes[..], [ExprNode::Const(x)] if same_bits(x, algebra.one())) {
                continue;
            }
            let (axes, side) = (axes_in(&expr), usize::from(term.inverse));
            if axes.iter().all(|axis| of_output.contains(axis)) {
                kept[side].push(expr);
                continue;
            }
            let at = groups.iter().position(|(other, _)| *other == axes).unwrap_or_else(|| {
                groups.push((axes, [Vec::new(), Vec::new()]));
                groups.len() - 1
            });
            groups[at].1[side].push(expr);
        }
        let joined = |(axes, [factors, divisors]): (Axes, [Vec<Expr>; 2])| {
            (axes, quotient(algebra, &factors, &divisors))
        };
        Self { groups: groups.into_iter().map(joined).collect(), kept }
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
