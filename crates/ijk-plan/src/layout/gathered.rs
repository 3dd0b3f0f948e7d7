//! Gathered rows that are read often, copied once.
//!
//! `x[c[z],d]` in a statement of more axes than `z` and `d`, or in several statements, is looked up again for each
//! point. Gathers are slow, and only loop nests have them; so is a guard tested per point. Such rows are copied,
//! `g[z,d] = x[c[z],d]`, with zeros for rows that do not exist, and a statement that reads the copy needs no gather.
//! Points without a row are masked at the end: elements without any point become the identity, selected by a mask over
//! one axis, `has[z]`, which is computed once, too.

use crate::SMALL_DOMAIN;
use crate::domain::bounds;
use crate::graph::axes::{Axes, of_indices, restrict};
use crate::graph::expr::Builder;
use crate::graph::{Axis, Expr, ExprNode, Graph, Guard, Stmt, coverage, index};
use ijk_ir::core::{ArrayId, AxisId, IndexExpr, Init};
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, scalar};

/// A copy pays if each element is read by at least `MIN_READS_PER_ELEMENT` points, or by `MIN_STATEMENTS` statements.
const MIN_READS_PER_ELEMENT: u64 = 8;
const MIN_STATEMENTS: usize = 2;

/// Copies for several statements have at most `MAX_GROWTH` times the elements of the array.
const MAX_GROWTH: u64 = 4;

/// Statements of fewer points are cheaper than a copy of rows.
const MIN_POINTS: u64 = 8 * SMALL_DOMAIN;

/// The reduction must have at least `MIN_POINTS_PER_ELEMENT` points per element to pay for a separate mask.
const MIN_POINTS_PER_ELEMENT: u64 = 4;

/// Runs the pass.
pub(crate) fn copy_rows(graph: &mut Graph) {
    if graph.strict || !graph.statements.iter().any(|stmt| stmt.guards.iter().any(is_gather)) {
        return;
    }
    let mut wanted: Vec<Wanted> = Vec::new();
    for stmt in &graph.statements {
        let reduces = stmt.kept_axes().iter().any(|kept| !kept);
        for rows in gathers(graph, stmt).into_iter().map(|(_, rows)| rows) {
            match wanted.iter_mut().find(|wanted| wanted.rows == rows) {
                Some(wanted) => {
                    wanted.statements += 1;
                    wanted.reduces |= reduces;
                }
                None => wanted.push(Wanted { rows, statements: 1, reduces }),
            }
        }
    }
    let mut copies = Copies { wanted, rows: Vec::new(), masks: Vec::new() };
    for stmt in std::mem::take(&mut graph.statements) {
        copies.add(graph, stmt);
    }
}

fn is_gather((e, _): &Guard) -> bool {
    index::reads(e)
}

/// Rows of an array at gathered positions, over axes of their own in the order of the index.
#[derive(Clone, PartialEq)]
struct Rows {
    array: ArrayId,
    index: Vec<IndexExpr>,
    extents: Vec<u64>,
    /// Conditions for a row to exist.
    guards: Vec<Guard>,
}

/// Candidate rows, and the statements that read them.
struct Wanted {
    rows: Rows,
    statements: usize,
    /// True if one of them reduces: maps read gathered rows as fast as copies.
    reduces: bool,
}

/// Guards over axes of their own.
#[derive(Clone, PartialEq)]
struct Mask {
    extents: Vec<u64>,
    guards: Vec<Guard>,
}

/// Copies made so far, with their arrays.
struct Copies {
    wanted: Vec<Wanted>,
    rows: Vec<(Rows, ArrayId)>,
    masks: Vec<(Mask, ArrayId)>,
}

/// A node that reads rows, and the axes of its index.
struct GatheredRead {
    node: usize,
    axes: Vec<usize>,
}

/// Gathers of a statement whose rows may be copied.
fn gathers(graph: &Graph, stmt: &Stmt) -> Vec<(GatheredRead, Rows)> {
    let suits = stmt.points() >= MIN_POINTS && stmt.scan.is_none() && !graph.can_fail(stmt);
    if !suits || !stmt.guards.iter().any(is_gather) {
        return Vec::new();
    }
    let nodes = stmt.value.nodes.iter().enumerate();
    let read = |(node, value): (usize, &ExprNode)| {
        let ExprNode::Access(array, index) = value else { return None };
        if !index.iter().any(index::reads) || graph.partial.contains(array) {
            return None;
        }
        let mut axes: Vec<usize> = Vec::new();
        for axis in index.iter().flat_map(|e| of_indices([e])) {
            if !axes.contains(&(axis as usize)) {
                axes.push(axis as usize);
            }
        }
        let rows = Rows::of(graph, stmt, (*array, index), &axes)?;
        Some((GatheredRead { node, axes }, rows))
    };
    nodes.filter_map(read).collect()
}

impl Rows {
    fn of(
        graph: &Graph,
        stmt: &Stmt,
        (array, index): (ArrayId, &[IndexExpr]),
        axes: &[usize],
    ) -> Option<Self> {
        let (extents, guards) = own(stmt, axes)?;
        let own = |e: &IndexExpr| renamed(e, axes, &extents);
        let index = index.iter().map(own).collect::<Option<Vec<_>>>()?;
        let known = |e: &IndexExpr, extent: u64| {
            let guarded = guards.iter().any(|(other, least)| other == e && *least <= extent);
            guarded || (!index::reads(e) && bounds::holds(e, extent, &extents))
        };
        // Elements that an index reads must be in bounds as well.
        let mut inside = { index.iter().zip(&graph.array(array).shape) }.all(|(e, &n)| known(e, n));
        let all = index.iter().chain(guards.iter().map(|(e, _)| e));
        all.for_each(|e| {
            index::for_each_element(e, &mut |access| {
                let places = access.index.iter().zip(&graph.array(access.array).shape);
                inside &= { places }.all(|(e, &n)| known(e, n));
            });
        });
        inside.then_some(Self { array, index, extents, guards })
    }

    fn points(&self) -> u64 {
        self.extents.iter().fold(1, |n: u64, &extent| n.saturating_mul(extent))
    }
}

/// Extents of some axes of a statement, and the guards that depend on these alone.
fn own(stmt: &Stmt, axes: &[usize]) -> Option<(Vec<u64>, Vec<Guard>)> {
    let extents: Vec<u64> = axes.iter().map(|&axis| stmt.axes[axis].extent).collect();
    let concerns = |(e, _): &&Guard| of_indices([e]).iter().all(|a| axes.contains(&(*a as usize)));
    let own = |(e, extent): &Guard| Some((renamed(e, axes, &extents)?, *extent));
    let guards = stmt.guards.iter().filter(concerns).map(own).collect::<Option<_>>()?;
    Some((extents, guards))
}

/// An index renumbered to the positions of its axes.
fn renamed(e: &IndexExpr, axes: &[usize], extents: &[u64]) -> Option<IndexExpr> {
    let last = axes.iter().max().map_or(0, |axis| axis + 1);
    let place = |axis: usize| match axes.iter().position(|&other| other == axis) {
        Some(n) => IndexExpr::axis(AxisId(n as u32)),
        None => IndexExpr::constant(0),
    };
    index::substitute(e, &(0..last).map(place).collect::<Vec<_>>(), extents)
}

impl Copies {
    /// Adds a statement, with worthwhile gathers replaced by reads of copies.
    fn add(&mut self, graph: &mut Graph, stmt: Stmt) {
        let mut found = gathers(graph, &stmt);
        found.retain(|(_, rows)| self.is_worth(graph, &stmt, rows));
        if found.is_empty() {
            return graph.statements.push(stmt);
        }
        let mut value = stmt.value.clone();
        for (read, rows) in found {
            let copy = self.copy(graph, &stmt, &read, rows);
            value.nodes[read.node] = ExprNode::Access(copy, index::of_axes(read.axes));
        }
        let stmt = Stmt { value: rebuilt(&value), ..stmt };
        match self.unguarded(graph, &stmt) {
            Some(all) => graph.statements.extend(all),
            None => graph.statements.push(stmt),
        }
    }

    /// Tells whether the rows are read often enough to copy them.
    fn is_worth(&self, graph: &Graph, stmt: &Stmt, rows: &Rows) -> bool {
        let points = rows.points();
        let again = self.wanted.iter().any(|wanted| {
            wanted.rows == *rows && wanted.statements >= MIN_STATEMENTS && wanted.reduces
        });
        // Repeated rows could make the copies much larger than the array.
        let elements = graph.array(rows.array).shape.iter();
        let elements = elements.fold(MAX_GROWTH, |n: u64, &extent| n.saturating_mul(extent));
        again && points <= elements || points.saturating_mul(MIN_READS_PER_ELEMENT) <= stmt.points()
    }

    /// Array of the copied rows; adds the copy unless it exists.
    fn copy(&mut self, graph: &mut Graph, stmt: &Stmt, read: &GatheredRead, rows: Rows) -> ArrayId {
        if let Some((_, copy)) = self.rows.iter().find(|(other, _)| *other == rows) {
            return *copy;
        }
        let dtype = graph.array(rows.array).dtype;
        let copy = graph.new_array(dtype, rows.extents.clone());
        let axes = read.axes.iter().map(|&axis| stmt.axes[axis].clone()).collect();
        let nodes = vec![ExprNode::Access(rows.array, rows.index.clone())];
        graph.statements.push(skipping(graph, (copy, axes, nodes), rows.guards.clone(), stmt));
        self.rows.push((rows, copy));
        copy
    }

    /// Rewrites a statement without guards, if all accesses stay in bounds.
    fn unguarded(&mut self, graph: &mut Graph, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let extents = stmt.extents();
        let fits = |array: ArrayId, index: &[IndexExpr]| {
            let mut places = index.iter().zip(&graph.array(array).shape);
            places.all(|(e, &n)| !index::reads(e) && bounds::holds(e, n, &extents))
        };
        let inside = |node: &ExprNode| match node {
            ExprNode::Access(array, index) => fits(*array, index),
            other => !other.indices().iter().any(index::reads),
        };
        let all_inside = stmt.value.nodes.iter().all(inside) && fits(stmt.out, &stmt.out_index);
        let Some(Reducer::Monoid(monoid)) = stmt.reduce else { return None };
        let fresh = stmt.init == Init::Identity(monoid) && !graph.partial.contains(&stmt.out);
        if !all_inside || !fresh || !stmt.guards.iter().all(is_gather) {
            return None;
        }
        let kept = stmt.kept_axes();
        if kept.iter().all(|kept| *kept) && bounds::one_each(stmt) {
            return Some(vec![self.masked(graph, stmt, monoid)?]);
        }
        let axes = of_indices(stmt.guards.iter().map(|(e, _)| e));
        if !axes.iter().all(|&axis| kept[axis as usize]) {
            let value = self.chosen(graph, stmt, stmt.guards.clone(), &stmt.value, monoid)?;
            return Some(vec![Stmt { value, guards: Vec::new(), ..stmt.clone() }]);
        }
        let elements = kept.iter().zip(&extents).filter(|(kept, _)| **kept);
        let elements = elements.fold(1, |n: u64, (_, &extent)| n.saturating_mul(extent));
        let determined = coverage::determined(&stmt.out_index, &extents);
        let apart = kept.iter().zip(determined).all(|(kept, determined)| determined || !kept);
        let few = elements.saturating_mul(MIN_POINTS_PER_ELEMENT) <= stmt.points();
        if apart && few { Some(self.reduced(graph, stmt, monoid)?.into()) } else { None }
    }

    /// A guarded map as one that stores the initial value where guards fail.
    fn masked(&mut self, graph: &mut Graph, stmt: &Stmt, monoid: Monoid) -> Option<Stmt> {
        let guards = stmt.guards.clone();
        let plain = bounds::stored(graph, Stmt { guards: Vec::new(), ..stmt.clone() }, monoid);
        let value = self.chosen(graph, stmt, guards, &plain.value, monoid)?;
        Some(Stmt { value, ..plain })
    }

    /// An unguarded reduction, and a map that masks elements without points.
    fn reduced(&mut self, graph: &mut Graph, stmt: &Stmt, monoid: Monoid) -> Option<[Stmt; 2]> {
        let kept = stmt.kept_by_output();
        let shape = kept.iter().map(|&axis| stmt.axes[axis].extent).collect();
        let array = graph.new_array(graph.array(stmt.out).dtype, shape);
        let index = index::of_axes(kept.iter().copied());
        let guards = Vec::new();
        let core = Stmt { out: array, out_index: index.clone(), guards, ..stmt.clone() };
        let reduced = Expr { nodes: vec![ExprNode::Access(array, index)] };
        let value = self.chosen(graph, stmt, stmt.guards.clone(), &reduced, monoid)?;
        let behind = Stmt { value, guards: Vec::new(), reduce: None, ..stmt.clone() };
        Some([core, restrict(behind, |axis| kept.contains(&axis))])
    }

    /// The value where guards hold, and the identity elsewhere.
    fn chosen(
        &mut self,
        graph: &mut Graph,
        stmt: &Stmt,
        guards: Vec<Guard>,
        value: &Expr,
        monoid: Monoid,
    ) -> Option<Expr> {
        let mut builder = Builder::default();
        let value = builder.push_all(value);
        let mut holds = None;
        for mask in self.masks(graph, stmt, guards)? {
            let mask = builder.push(mask);
            let all = |other| builder.push(ExprNode::Binary(BinaryOp::And, other, mask));
            holds = Some(holds.map_or(mask, all));
        }
        let identity = scalar::identity(monoid, graph.array(stmt.out).dtype);
        let none = builder.push(ExprNode::Const(identity));
        let root = match holds {
            Some(holds) => builder.push(ExprNode::Select(holds, value, none)),
            None => value,
        };
        Some(builder.finish(root))
    }

    /// Accesses to masks of guards, one for each set of axes.
    fn masks(
        &mut self,
        graph: &mut Graph,
        stmt: &Stmt,
        guards: Vec<Guard>,
    ) -> Option<Vec<ExprNode>> {
        let mut sets: Vec<Axes> = Vec::new();
        for axes in guards.iter().map(|(e, _)| of_indices([e])) {
            if !sets.contains(&axes) {
                sets.push(axes);
            }
        }
        let guarded = Stmt { guards, ..stmt.clone() };
        let mask = |axes: Axes| {
            let axes: Vec<usize> = axes.iter().map(|&axis| axis as usize).collect();
            let (extents, guards) = own(&guarded, &axes)?;
            let mask = Mask { extents, guards };
            let known = self.masks.iter().find(|(other, _)| *other == mask);
            let array = match known {
                Some((_, array)) => *array,
                None => {
                    let array = graph.new_array(DType::Bool, mask.extents.clone());
                    let axis = |&axis: &usize| stmt.axes[axis].clone();
                    let own = axes.iter().map(axis).collect();
                    let holds = vec![ExprNode::Const(Scalar::Bool(true))];
                    let guards = mask.guards.clone();
                    graph.statements.push(skipping(graph, (array, own, holds), guards, stmt));
                    self.masks.push((mask, array));
                    array
                }
            };
            Some(ExprNode::Access(array, index::of_axes(axes)))
        };
        sets.into_iter().map(mask).collect()
    }
}

/// A map over a whole array with zeros where guards fail.
fn skipping(
    graph: &Graph,
    (out, axes, nodes): (ArrayId, Vec<Axis>, Vec<ExprNode>),
    guards: Vec<Guard>,
    stmt: &Stmt,
) -> Stmt {
    let monoid = if graph.array(out).dtype == DType::Bool { Monoid::Or } else { Monoid::Add };
    Stmt {
        init: Init::Identity(monoid),
        reduce: Some(Reducer::Monoid(monoid)),
        // Each element is copied, not added to 0: types that are only stored have no sums.
        single: true,
        guards,
        ..Stmt::map(out, axes, nodes, stmt.span)
    }
}

/// The expression with equal nodes merged.
fn rebuilt(value: &Expr) -> Expr {
    let mut builder = Builder::default();
    let root = builder.push_all(value);
    builder.finish(root)
}
