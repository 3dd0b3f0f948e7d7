//! Gathers that an earlier statement stores for one product: `g[z,d] = x[c[z],d]`, `y[z,o] = g[z,d] * w[d,o]`.
//!
//! A row out of range holds zeros, which add nothing to a sum of products; skipping these points is equivalent.

use super::NEST_COST;
use super::chain::Chains;
use crate::domain::bounds;
use crate::graph::expr::rebuilt;
use crate::graph::terms::{Algebra, Terms};
use crate::graph::{ExprNode, Graph, Guard, Stmt, index};
use ijk_ir::core::{IndexExpr, Init};
use ijk_types::{BinaryOp, DType, Monoid, Reducer};

/// Inlines an earlier gather into a statement; returns it with the cost of the earlier one.
pub(super) fn gathering(graph: &Graph, chains: &Chains, stmt: &Stmt) -> Option<(Stmt, u64)> {
    let dtype = graph.array(stmt.out).dtype;
    if stmt.reduce != Some(Reducer::Monoid(Monoid::Add)) || dtype == DType::Bool {
        return None;
    }
    let algebra = Algebra::of(Monoid::Add, dtype, &stmt.value)?;
    let terms = Terms::of(&stmt.value, &algebra);
    let factors = terms.all.iter().filter(|term| !term.inverse && algebra.op == BinaryOp::Mul);
    factors.map(|term| term.root).find_map(|root| {
        let ExprNode::Access(array, index) = &stmt.value.nodes[root as usize] else { return None };
        let found = chains.alone(graph, *array).filter(|found| stores_rows(graph, found))?;
        let wide = inlined(stmt, root, index, found)?;
        Some((wide, found.points().saturating_mul(NEST_COST)))
    })
}

/// Tells whether a statement stores a gather into each element of its array, and 0 at skipped points.
fn stores_rows(graph: &Graph, stmt: &Stmt) -> bool {
    let gathers = matches!(stmt.as_leaf(), Some(ExprNode::Access(_, index)) if index.iter().any(index::reads));
    let adds = matches!(stmt.reduce, None | Some(Reducer::Monoid(Monoid::Add)));
    let fresh = matches!(stmt.init, Init::Zero | Init::Identity(Monoid::Add));
    let shape = &graph.array(stmt.out).shape;
    let whole = index::plain_axes(&stmt.out_index).is_some_and(|axes| {
        let extents = axes.iter().map(|&axis| stmt.axes[axis].extent);
        axes.len() == stmt.axes.len() && extents.eq(shape.iter().copied())
    });
    gathers && adds && fresh && stmt.scan.is_none() && whole
}

/// Replaces a node that reads the array of `found` by the gather itself.
fn inlined(stmt: &Stmt, root: u32, index: &[IndexExpr], found: &Stmt) -> Option<Stmt> {
    let (axes, extents) = (index::plain_axes(&found.out_index)?, stmt.extents());
    let place =
        |axis: usize| axes.iter().position(|&other| other == axis).map(|n| index[n].clone());
    let map: Vec<IndexExpr> = (0..found.axes.len()).map(place).collect::<Option<_>>()?;
    let replaced = |e: &IndexExpr| index::substitute(e, &map, &extents);
    let read = found.value.nodes.last()?.map_indices(replaced)?;
    let value = rebuilt(&stmt.value, |builder, at| {
        (at == root as usize).then(|| builder.push(read.clone()))
    });
    let guard = |(e, extent): &Guard| Some((replaced(e)?, *extent));
    let guards = found.guards.iter().map(guard).collect::<Option<Vec<_>>>()?;
    let guards = bounds::merged(&stmt.guards, guards);
    Some(Stmt { value, guards, ..stmt.clone() })
}
