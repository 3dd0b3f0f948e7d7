//! Gathers moved behind reductions whose axes they do not depend on.
//!
//! `y[z,o] = x[c[z],d] * w[d,o]` multiplies a row for each z. If x has fewer rows than that, all of them are
//! multiplied, `t[n,o] = x[n,d] * w[d,o]`, and `y[z,o] = t[c[z],o]` gathers from the result. Points whose row is out
//! of range are skipped as before.

use super::post_ops::PostOps;
use super::{NEST_COST, ReducedProduct, axes_in, quotient};
use crate::SMALL_DOMAIN;
use crate::domain::bounds::one_each;
use crate::graph::axes::{of_indices, restrict};
use crate::graph::expr::extract;
use crate::graph::terms::{Algebra, Terms};
use crate::graph::{Axis, Expr, ExprNode, Graph, Guard, Stmt, index};
use ijk_ir::core::{AxisId, IndexExpr, Init};
use ijk_types::{Monoid, Reducer};

/// A statement split into a reduced core and post-operations.
struct Parts {
    monoid: Monoid,
    algebra: Option<Algebra>,
    core: Expr,
    post_ops: PostOps,
    /// Gather indices, each with the number of its values.
    gathers: Vec<Guard>,
}

/// Rewrites a statement as a reduction over all rows, and a gather from it. `None` if it has no such gather, or if
/// that is not below `cost`, the cost of the statement as it is.
pub(super) fn move_behind(graph: &mut Graph, stmt: &Stmt, cost: u64) -> Option<[Stmt; 2]> {
    let parts = Parts::of(graph, stmt)?;
    let core = parts.core(stmt)?;
    let elements = kept_points(stmt).saturating_mul(NEST_COST);
    if cost_of(graph, &core).saturating_add(elements) >= cost {
        return None;
    }
    let axes = index::plain_axes(&core.out_index)?;
    let shape = axes.into_iter().map(|axis| core.axes[axis].extent).collect();
    let array = graph.new_array(graph.array(stmt.out).dtype, shape);
    let later = parts.later(stmt, array)?;
    Some([Stmt { out: array, ..core }, later])
}

/// Points of the kept axes.
fn kept_points(stmt: &Stmt) -> u64 {
    let axes = stmt.extents().into_iter().zip(stmt.kept_axes());
    axes.filter(|(_, kept)| *kept).fold(1, |n: u64, (extent, _)| n.saturating_mul(extent))
}

fn cost_of(graph: &Graph, stmt: &Stmt) -> u64 {
    let nest = stmt.points().saturating_mul(NEST_COST);
    ReducedProduct::new(graph, stmt).map_or(nest, |product| product.plan().cost)
}

impl Parts {
    fn of(graph: &Graph, stmt: &Stmt) -> Option<Self> {
        let Some(Reducer::Monoid(monoid)) = stmt.reduce else { return None };
        let gathers = gathers(graph, stmt);
        let kept = stmt.kept_axes();
        let outside =
            |guard: &Guard| of_indices([&guard.0]).iter().all(|&axis| kept[axis as usize]);
        let apart = !gathers.is_empty() && gathers.iter().chain(&stmt.guards).all(outside);
        if graph.strict || stmt.points() <= SMALL_DOMAIN || stmt.scan.is_some() || !apart {
            return None;
        }
        if kept.iter().all(|kept| *kept) || graph.can_fail(stmt) {
            return None;
        }
        let (core, post_ops) = (stmt.value.clone(), PostOps::default());
        let whole = Self { monoid, algebra: None, core, post_ops, gathers };
        let mut parts = whole.taken_apart(graph, stmt, &kept);
        let indices: Vec<&IndexExpr> =
            parts.core.nodes.iter().flat_map(ExprNode::indices).collect();
        parts.gathers.retain(|(e, _)| indices.contains(&e));
        (!parts.gathers.is_empty()).then_some(parts)
    }

    /// Moves factors without reduced axes behind the reduction.
    fn taken_apart(self, graph: &Graph, stmt: &Stmt, kept: &[bool]) -> Self {
        let (value, dtype) = (&stmt.value, graph.array(stmt.out).dtype);
        let Some(algebra) = Algebra::of(self.monoid, dtype, value) else { return self };
        let (terms, types) = (Terms::of(value, &algebra), graph.node_types(value));
        if terms.all.iter().any(|term| types[term.root as usize] != dtype) {
            return self;
        }
        let (mut factors, mut divisors, mut post_ops) = (Vec::new(), Vec::new(), self.post_ops);
        post_ops.negative = terms.negative;
        for term in &terms.all {
            let expr = extract(&value.nodes, term.root);
            let reduced = axes_in(&expr).iter().any(|&axis| !kept[axis as usize]);
            let side = match (reduced, term.inverse) {
                (true, false) => &mut factors,
                (true, true) => &mut divisors,
                (false, false) => &mut post_ops.factors,
                (false, true) => &mut post_ops.divisors,
            };
            side.push(expr);
        }
        let core = quotient(&algebra, &factors, &divisors);
        Self { algebra: Some(algebra), core, post_ops, ..self }
    }

    /// The reduction for every value of the gather indices.
    fn core(&self, stmt: &Stmt) -> Option<Stmt> {
        let first = stmt.axes.len();
        let new = |n: usize| IndexExpr::axis(AxisId((first + n) as u32));
        let replaced = |e: &IndexExpr| match self.gathers.iter().position(|(other, _)| other == e) {
            Some(n) => Some(new(n)),
            None => (!index::reads(e)).then(|| e.clone()),
        };
        let value = self.core.map_indices(replaced)?;
        let used = axes_in(&value);
        let all_reduced = stmt.kept_axes().into_iter().enumerate().filter(|(_, kept)| !kept);
        let gathered = (0..self.gathers.len()).map(|n| (first + n) as u32);
        let mut needed = all_reduced.map(|(axis, _)| axis as u32).chain(gathered);
        if !needed.all(|axis| used.contains(&axis)) {
            return None;
        }
        let mut axes = stmt.axes.clone();
        let axis =
            |(n, (_, extent)): (usize, &Guard)| Axis { name: format!("g{n}"), extent: *extent };
        axes.extend(self.gathers.iter().enumerate().map(axis));
        let rows = (0..self.gathers.len()).map(|n| first + n);
        let out_index = index::of_axes(rows.chain(self.kept(stmt, &used)));
        let (init, guards) = (Init::Identity(self.monoid), Vec::new());
        let core = Stmt { axes, out_index, init, value, guards, ..stmt.clone() };
        Some(restrict(core, |axis| used.contains(&(axis as u32))))
    }

    /// Axes of the output among `used`.
    fn kept(&self, stmt: &Stmt, used: &[u32]) -> impl Iterator<Item = usize> {
        let kept = stmt.kept_axes();
        let used: Vec<usize> = used.iter().map(|&axis| axis as usize).collect();
        used.into_iter().filter(move |&axis| kept.get(axis).is_some_and(|kept| *kept))
    }

    /// The statement that gathers from the reduced array.
    fn later(&self, stmt: &Stmt, array: ijk_ir::core::ArrayId) -> Option<Stmt> {
        let used = axes_in(&self.core.map_indices(|e| {
            let gathered = self.gathers.iter().any(|(other, _)| other == e);
            Some(if gathered { IndexExpr::constant(0) } else { e.clone() })
        })?);
        let rows = self.gathers.iter().map(|(e, _)| e.clone());
        let rest = index::of_axes(self.kept(stmt, &used));
        let reduced = ExprNode::Access(array, rows.chain(rest).collect());
        let value = match &self.algebra {
            Some(algebra) => self.post_ops.value(algebra, reduced, None),
            None => Expr { nodes: vec![reduced] },
        };
        let kept = stmt.kept_axes();
        let later = restrict(Stmt { value, ..stmt.clone() }, |axis| kept[axis]);
        let plain = stmt.init == Init::Identity(self.monoid) && later.guards.is_empty();
        let reduce = if plain && one_each(&later) { None } else { stmt.reduce };
        Some(Stmt { reduce, ..later })
    }
}

/// Distinct gather indices of a statement, each with the number of its values.
fn gathers(graph: &Graph, stmt: &Stmt) -> Vec<Guard> {
    let mut found: Vec<Guard> = Vec::new();
    for node in &stmt.value.nodes {
        let ExprNode::Access(array, index) = node else { continue };
        for (e, &extent) in index.iter().zip(&graph.array(*array).shape) {
            if !index::reads(e) {
                continue;
            }
            let guard = stmt.guards.iter().find(|(other, _)| other == e);
            let extent = guard.map_or(extent, |(_, least)| extent.min(*least));
            match found.iter_mut().find(|(other, _)| other == e) {
                Some((_, least)) => *least = extent.min(*least),
                None => found.push((e.clone(), extent)),
            }
        }
    }
    found
}
