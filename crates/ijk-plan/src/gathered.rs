//! Rows looked up once.
//!
//! `x[c[z],d]` in a statement of more axes than `z` and `d`, or in several statements, is looked up for each point of
//! each. Loads at computed places are slow, and no kernel but that of loop nests knows them; so is a test for each
//! point whether its row is there. Such rows are copied, `g[z,d] = x[c[z],d]`, with zeros where there is none, and a
//! statement that reads copies is one like any other. Points without a row are left out of it where that is decided
//! last: an element that has none is made what the array starts from, by a mask of one axis, `has[z]`, which is
//! computed once, too.

use crate::SMALL_DOMAIN;
use crate::axes::{Axes, of_indices, restrict};
use crate::bounds::{self, Guard};
use crate::coverage;
use crate::expr::Builder;
use crate::graph::{Axis, Expr, Graph, Node, Stmt};
use crate::index;
use ijk_ir::core::{ArrayId, AxisId, IndexExpr, Init};
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, scalar};

/// So many points must read a row's element, or so many statements.
const FEWER: u64 = 8;
const STATEMENTS: usize = 2;

/// Copies for several statements have at most so many times the elements of the array.
const MORE: u64 = 4;

/// Statements of fewer points take less time than steps that copy rows.
const LEAST: u64 = 8 * SMALL_DOMAIN;

/// So many points must be reduced to one for a step that leaves out elements behind.
const REDUCED: u64 = 4;

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

/// Rows of an array at computed places: by axes of their own, in the order in which the index has them.
#[derive(Clone, PartialEq)]
struct Rows {
    array: ArrayId,
    index: Vec<IndexExpr>,
    extents: Vec<u64>,
    /// Where one of these fails there is no row.
    guards: Vec<Guard>,
}

/// Rows that statements read.
struct Wanted {
    rows: Rows,
    statements: usize,
    /// Tells whether one of them reduces: maps read rows as fast as copies.
    reduces: bool,
}

/// Guards by axes of their own.
#[derive(Clone, PartialEq)]
struct Mask {
    extents: Vec<u64>,
    guards: Vec<Guard>,
}

/// Copies that are there already: the array of each.
struct Copies {
    wanted: Vec<Wanted>,
    rows: Vec<(Rows, ArrayId)>,
    masks: Vec<(Mask, ArrayId)>,
}

/// A node that reads rows, and by which axes.
struct Read {
    node: usize,
    axes: Vec<usize>,
}

/// The reads of a statement at computed places of which rows may be copied.
fn gathers(graph: &Graph, stmt: &Stmt) -> Vec<(Read, Rows)> {
    let suits = stmt.points() >= LEAST && stmt.scan.is_none() && !graph.can_fail(stmt);
    if !suits || !stmt.guards.iter().any(is_gather) {
        return Vec::new();
    }
    let nodes = stmt.value.nodes.iter().enumerate();
    let read = |(node, value): (usize, &Node)| {
        let Node::Access(array, index) = value else { return None };
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
        Some((Read { node, axes }, rows))
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
        // What an index reads must be in bounds as well.
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

/// The extents of some axes of a statement, and its guards that depend on them alone.
fn own(stmt: &Stmt, axes: &[usize]) -> Option<(Vec<u64>, Vec<Guard>)> {
    let extents: Vec<u64> = axes.iter().map(|&axis| stmt.axes[axis].extent).collect();
    let concerns = |(e, _): &&Guard| of_indices([e]).iter().all(|a| axes.contains(&(*a as usize)));
    let own = |(e, extent): &Guard| Some((renamed(e, axes, &extents)?, *extent));
    let guards = stmt.guards.iter().filter(concerns).map(own).collect::<Option<_>>()?;
    Some((extents, guards))
}

/// An index of some axes alone, by their positions.
fn renamed(e: &IndexExpr, axes: &[usize], extents: &[u64]) -> Option<IndexExpr> {
    let last = axes.iter().max().map_or(0, |axis| axis + 1);
    let place = |axis: usize| match axes.iter().position(|&other| other == axis) {
        Some(n) => IndexExpr::axis(AxisId(n as u32)),
        None => IndexExpr::constant(0),
    };
    index::substitute(e, &(0..last).map(place).collect::<Vec<_>>(), extents)
}

impl Copies {
    /// Adds a statement, with copies of rows instead of those that are worth it.
    fn add(&mut self, graph: &mut Graph, stmt: Stmt) {
        let mut found = gathers(graph, &stmt);
        found.retain(|(_, rows)| self.is_worth(graph, &stmt, rows));
        if found.is_empty() {
            return graph.statements.push(stmt);
        }
        let mut value = stmt.value.clone();
        for (read, rows) in found {
            let copy = self.copy(graph, &stmt, &read, rows);
            value.nodes[read.node] = Node::Access(copy, index::of_axes(read.axes));
        }
        let stmt = Stmt { value: rebuilt(&value), ..stmt };
        match self.unguarded(graph, &stmt) {
            Some(all) => graph.statements.extend(all),
            None => graph.statements.push(stmt),
        }
    }

    /// Tells whether a statement, or several, read the rows often enough.
    fn is_worth(&self, graph: &Graph, stmt: &Stmt, rows: &Rows) -> bool {
        let points = rows.points();
        let again = self.wanted.iter().any(|wanted| {
            wanted.rows == *rows && wanted.statements >= STATEMENTS && wanted.reduces
        });
        // Some rows may be read so often that all copies are much larger than the array.
        let elements = graph.array(rows.array).shape.iter();
        let elements = elements.fold(MORE, |n: u64, &extent| n.saturating_mul(extent));
        again && points <= elements || points.saturating_mul(FEWER) <= stmt.points()
    }

    /// The array that rows are copied to.
    fn copy(&mut self, graph: &mut Graph, stmt: &Stmt, read: &Read, rows: Rows) -> ArrayId {
        if let Some((_, copy)) = self.rows.iter().find(|(other, _)| *other == rows) {
            return *copy;
        }
        let dtype = graph.array(rows.array).dtype;
        let copy = graph.new_array(dtype, rows.extents.clone());
        let axes = read.axes.iter().map(|&axis| stmt.axes[axis].clone()).collect();
        let nodes = vec![Node::Access(rows.array, rows.index.clone())];
        graph.statements.push(skipping(graph, (copy, axes, nodes), rows.guards.clone(), stmt));
        self.rows.push((rows, copy));
        copy
    }

    /// The statements without guards that a statement may be, whose accesses are in bounds everywhere.
    fn unguarded(&mut self, graph: &mut Graph, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let extents = stmt.extents();
        let fits = |array: ArrayId, index: &[IndexExpr]| {
            let mut places = index.iter().zip(&graph.array(array).shape);
            places.all(|(e, &n)| !index::reads(e) && bounds::holds(e, n, &extents))
        };
        let inside = |node: &Node| match node {
            Node::Access(array, index) => fits(*array, index),
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
        let few = elements.saturating_mul(REDUCED) <= stmt.points();
        if apart && few { Some(self.reduced(graph, stmt, monoid)?.into()) } else { None }
    }

    /// A map that skips points as one that stores what the array starts from there.
    fn masked(&mut self, graph: &mut Graph, stmt: &Stmt, monoid: Monoid) -> Option<Stmt> {
        let guards = stmt.guards.clone();
        let plain = bounds::stored(graph, Stmt { guards: Vec::new(), ..stmt.clone() }, monoid);
        let value = self.chosen(graph, stmt, guards, &plain.value, monoid)?;
        Some(Stmt { value, ..plain })
    }

    /// A reduction as one of all elements, and a map that leaves those out that have no points.
    fn reduced(&mut self, graph: &mut Graph, stmt: &Stmt, monoid: Monoid) -> Option<[Stmt; 2]> {
        let kept = stmt.kept_in_order();
        let shape = kept.iter().map(|&axis| stmt.axes[axis].extent).collect();
        let array = graph.new_array(graph.array(stmt.out).dtype, shape);
        let index = index::of_axes(kept.iter().copied());
        let guards = Vec::new();
        let core = Stmt { out: array, out_index: index.clone(), guards, ..stmt.clone() };
        let reduced = Expr { nodes: vec![Node::Access(array, index)] };
        let value = self.chosen(graph, stmt, stmt.guards.clone(), &reduced, monoid)?;
        let behind = Stmt { value, guards: Vec::new(), reduce: None, ..stmt.clone() };
        Some([core, restrict(behind, |axis| kept.contains(&axis))])
    }

    /// A value where guards hold, and elsewhere what changes nothing.
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
            let all = |other| builder.push(Node::Binary(BinaryOp::And, other, mask));
            holds = Some(holds.map_or(mask, all));
        }
        let identity = scalar::identity(monoid, graph.array(stmt.out).dtype);
        let none = builder.push(Node::Const(identity));
        let root = match holds {
            Some(holds) => builder.push(Node::Select(holds, value, none)),
            None => value,
        };
        Some(builder.finish(root))
    }

    /// Accesses to what tells whether guards hold, one for each set of axes.
    fn masks(&mut self, graph: &mut Graph, stmt: &Stmt, guards: Vec<Guard>) -> Option<Vec<Node>> {
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
                    let holds = vec![Node::Const(Scalar::Bool(true))];
                    let guards = mask.guards.clone();
                    graph.statements.push(skipping(graph, (array, own, holds), guards, stmt));
                    self.masks.push((mask, array));
                    array
                }
            };
            Some(Node::Access(array, index::of_axes(axes)))
        };
        sets.into_iter().map(mask).collect()
    }
}

/// A map over all of an array, which holds 0 where guards fail.
fn skipping(
    graph: &Graph,
    (out, axes, nodes): (ArrayId, Vec<Axis>, Vec<Node>),
    guards: Vec<Guard>,
    stmt: &Stmt,
) -> Stmt {
    let monoid = if graph.array(out).dtype == DType::Bool { Monoid::Or } else { Monoid::Add };
    Stmt {
        init: Init::Identity(monoid),
        reduce: Some(Reducer::Monoid(monoid)),
        guards,
        ..Stmt::map(out, axes, nodes, stmt.span)
    }
}

/// The expression with equal nodes shared.
fn rebuilt(value: &Expr) -> Expr {
    let mut builder = Builder::default();
    let root = builder.push_all(value);
    builder.finish(root)
}
