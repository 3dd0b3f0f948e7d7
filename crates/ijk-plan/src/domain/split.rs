//! Splits axes where that turns divisions and remainders into strides; drops axes of one value.

use crate::graph::{Axis, Graph, Stmt, index};
use ijk_ir::core::{Atom, AxisId, IndexExpr};
use ijk_types::Reducer;

/// Greatest number of axes of a domain after splitting.
const MAX_AXES: usize = 32;

/// Runs the pass: splits and drops axes of every statement.
pub(crate) fn split_axes(graph: &mut Graph) {
    let statements = std::mem::take(&mut graph.statements).into_iter();
    graph.statements = statements.map(|stmt| drop_unit_axes(split(stmt))).collect();
}

/// Number of divisions and remainders in a statement's indices.
pub(crate) fn divisions(stmt: &Stmt) -> usize {
    let mut count = 0;
    stmt.for_each_index(|e| count += index::divisions(e));
    count
}

/// Splits axes as long as that removes divisions. The order of points is preserved.
pub(crate) fn split(mut stmt: Stmt) -> Stmt {
    if stmt.orders() {
        return stmt;
    }
    let mut count = divisions(&stmt);
    while count > 0 && stmt.axes.len() < MAX_AXES {
        let better = candidates(&stmt).into_iter().find_map(|(axis, inner)| {
            let split = split_axis(&stmt, axis, inner)?;
            (divisions(&split) < count).then_some(split)
        });
        let Some(split) = better else { break };
        count = divisions(&split);
        stmt = split;
    }
    stmt
}

/// Distinct candidates (axis, inner extent) for splits, from divisors.
fn candidates(stmt: &Stmt) -> Vec<(usize, u64)> {
    let fixed = arg_axis(stmt);
    let mut found = Vec::new();
    let mut add = |axis: AxisId, inner: u64| {
        let axis = axis.0 as usize;
        let extent = stmt.axes[axis].extent;
        let fits = inner > 1 && inner < extent && extent.is_multiple_of(inner);
        if fits && fixed != Some(axis) && !found.contains(&(axis, inner)) {
            found.push((axis, inner));
        }
    };
    stmt.for_each_index(|e| suggest(e, &mut add));
    found
}

fn suggest(e: &IndexExpr, add: &mut impl FnMut(AxisId, u64)) {
    for (_, atom) in &e.terms {
        let (inner, d) = match atom {
            Atom::FloorDiv(inner, d) | Atom::Mod(inner, d) => (inner, d),
            Atom::Axis(_) => continue,
            Atom::Abs(inner) => {
                suggest(inner, add);
                continue;
            }
            Atom::Product(left, right) | Atom::Max(left, right) | Atom::Min(left, right) => {
                suggest(left, add);
                suggest(right, add);
                continue;
            }
            Atom::Element(access) => {
                access.index.iter().for_each(|e| suggest(e, add));
                continue;
            }
        };
        for (coefficient, atom) in &inner.terms {
            if let Atom::Axis(axis) = atom
                && d % coefficient == 0
            {
                add(*axis, (d / coefficient).unsigned_abs());
            }
        }
        suggest(inner, add);
    }
}

/// The reduced axis of an argmax or argmin.
fn arg_axis(stmt: &Stmt) -> Option<usize> {
    match stmt.reduce {
        Some(Reducer::ArgMax | Reducer::ArgMin) => stmt.kept_axes().iter().position(|kept| !kept),
        _ => None,
    }
}

/// The statement with `axis` replaced by two, the inner one of `inner` values.
pub(crate) fn split_axis(stmt: &Stmt, axis: usize, inner: u64) -> Option<Stmt> {
    let mut axes = stmt.axes.clone();
    let name = axes[axis].name.clone();
    axes[axis] = Axis { name: format!("{name}₁"), extent: axes[axis].extent / inner };
    axes.insert(axis + 1, Axis { name: format!("{name}₂"), extent: inner });
    let map: Vec<IndexExpr> = (0..stmt.axes.len())
        .map(|a| match a.cmp(&axis) {
            std::cmp::Ordering::Less => IndexExpr::axis(AxisId(a as u32)),
            std::cmp::Ordering::Greater => IndexExpr::axis(AxisId(a as u32 + 1)),
            std::cmp::Ordering::Equal => two_digits(axis as u32, inner),
        })
        .collect();
    stmt.substitute(&map, axes)
}

fn two_digits(axis: u32, inner: u64) -> IndexExpr {
    let terms = vec![(inner as i64, Atom::Axis(AxisId(axis))), (1, Atom::Axis(AxisId(axis + 1)))];
    IndexExpr { constant: 0, terms: terms.into() }
}

/// The statement without axes of one value.
pub(crate) fn drop_unit_axes(stmt: Stmt) -> Stmt {
    let fixed = arg_axis(&stmt);
    if stmt.orders()
        || stmt.axes.iter().enumerate().all(|(a, axis)| axis.extent != 1 || fixed == Some(a))
    {
        return stmt;
    }
    let mut axes = Vec::with_capacity(stmt.axes.len());
    let mut map = Vec::with_capacity(stmt.axes.len());
    for (a, axis) in stmt.axes.iter().enumerate() {
        if axis.extent == 1 && fixed != Some(a) {
            map.push(IndexExpr::constant(0));
        } else {
            map.push(IndexExpr::axis(AxisId(axes.len() as u32)));
            axes.push(axis.clone());
        }
    }
    stmt.substitute(&map, axes).unwrap_or(stmt)
}
