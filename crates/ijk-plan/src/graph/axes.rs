//! Sets of axes as ascending lists.

use crate::graph::{Stmt, index};
use ijk_ir::core::{AxisId, IndexExpr};

/// A set of axes, ascending.
pub(crate) type Axes = Vec<u32>;

/// Union of two sets.
pub(crate) fn union(p: &[u32], q: &[u32]) -> Axes {
    let mut all = [p, q].concat();
    all.sort_unstable();
    all.dedup();
    all
}

/// Axes that occur in index expressions.
pub(crate) fn of_indices<'e>(indices: impl IntoIterator<Item = &'e IndexExpr>) -> Axes {
    let mut all = Axes::new();
    indices.into_iter().for_each(|e| index::for_each_axis(e, &mut |axis| all.push(axis.0)));
    union(&all, &[])
}

/// The statement restricted to the axes that `keep` selects; no index may mention the others.
pub(crate) fn restrict(stmt: Stmt, keep: impl Fn(usize) -> bool) -> Stmt {
    let mut kept = Vec::new();
    let mut map = Vec::new();
    for (a, axis) in stmt.axes.iter().enumerate() {
        if keep(a) {
            map.push(IndexExpr::axis(AxisId(kept.len() as u32)));
            kept.push(axis.clone());
        } else {
            map.push(IndexExpr::constant(0));
        }
    }
    if kept.len() == stmt.axes.len() {
        return stmt;
    }
    stmt.substitute(&map, kept).unwrap_or(stmt)
}
