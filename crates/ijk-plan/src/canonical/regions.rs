//! Fusion of maps that define a box of an array.
//!
//! `a[h,w] = x[h-1,w] + x[h+1,w]` defines the interior, and leaves zeros along two borders. A consumer that reads each
//! element once is cut along the box: the inner part evaluates the map in place, and parts around it use the initial
//! value.

use crate::SMALL_DOMAIN;
use crate::canonical::fuse::{evaluated_once, fits};
use crate::canonical::simplify::{digits_of, drop_dead, inline};
use crate::domain::bounds::Interval;
use crate::domain::peel::slice;
use crate::domain::quotients::add_boxes;
use crate::graph::expr::Builder;
use crate::graph::{Axis, Expr, ExprNode, Graph, Stmt, index};
use ijk_ir::core::{ArrayId, Atom, IndexExpr, Init};
use ijk_types::Scalar;

/// Greatest number of boxes of a statement.
const MAX_BOXES: usize = 32;

/// Least number of points of a statement: each box is a step of its own.
const MIN_POINTS: u64 = 64 * SMALL_DOMAIN;

/// A map over a box of its output.
struct Region {
    array: ArrayId,
    /// The box.
    ranges: Vec<Interval>,
    /// The map extended to the whole output, valid in the box only.
    map: Stmt,
    /// Value of the elements outside.
    outside: Scalar,
}

/// Runs the pass.
pub(crate) fn fuse(graph: &mut Graph) {
    let regions: Vec<Region> =
        graph.statements.iter().filter_map(|stmt| Region::of(graph, stmt)).collect();
    if regions.is_empty() {
        return;
    }
    let uses = graph.uses();
    let regions: Vec<Region> =
        regions.into_iter().filter(|region| uses[region.array.0 as usize] == 1).collect();
    for stmt in std::mem::take(&mut graph.statements) {
        match boxes(graph, &stmt, &regions) {
            Some(boxes) => add_boxes(graph, stmt, boxes),
            None => graph.statements.push(stmt),
        }
    }
    drop_dead(graph);
}

impl Region {
    /// The region that a statement defines, if it is one.
    fn of(graph: &Graph, stmt: &Stmt) -> Option<Self> {
        let shape = &graph.array(stmt.out).shape;
        let elements = shape.iter().fold(1, |n: u64, &extent| n.saturating_mul(extent));
        let plain = stmt.reduce.is_none() && stmt.scan.is_none() && stmt.guards.is_empty();
        let starts = !matches!(stmt.init, Init::From(_));
        if !plain || !starts || stmt.points() < MIN_POINTS || stmt.points() >= elements {
            return None;
        }
        if graph.can_fail(stmt) || graph.partial.contains(&stmt.out) {
            return None;
        }
        let map = over_output(graph, stmt)?;
        Some(Self {
            array: stmt.out,
            ranges: ranges(stmt),
            map,
            outside: graph.initial_value(stmt.out, stmt.init, stmt.reduce),
        })
    }
}

/// A statement that writes a box of its output as one over the whole output, valid in the box only.
pub(super) fn over_output(graph: &Graph, stmt: &Stmt) -> Option<Stmt> {
    let (shape, extents) = (&graph.array(stmt.out).shape, stmt.extents());
    let mut origin: Vec<Option<IndexExpr>> =
        extents.iter().map(|&n| (n == 1).then(|| IndexExpr::constant(0))).collect();
    for (dim, e) in stmt.out_index.iter().enumerate() {
        let Some((axis, constant)) = shifted(e)? else { continue };
        let own = IndexExpr { constant: -constant, ..index::of_axes([dim]).pop()? };
        if origin[axis].replace(own).is_some() && extents[axis] > 1 {
            return None;
        }
    }
    let axis = |(dim, &extent)| Axis { name: format!("_{dim}"), extent };
    let axes = shape.iter().enumerate().map(axis).collect();
    let map = stmt.substitute(&origin.into_iter().collect::<Option<Vec<_>>>()?, axes)?;
    Some(Stmt { out_index: index::of_axes(0..shape.len()), ..map })
}

/// First and last position that a statement writes along each axis of its output.
pub(super) fn ranges(stmt: &Stmt) -> Vec<Interval> {
    let extents = stmt.extents();
    stmt.out_index.iter().map(|e| index::range(e, &extents)).collect()
}

/// Axis and constant of an index `axis + constant`; `Some(None)` for a constant, and `None` for any other index.
fn shifted(e: &IndexExpr) -> Option<Option<(usize, i64)>> {
    match e.terms[..] {
        [] => Some(None),
        [(1, Atom::Axis(axis))] => Some(Some((axis.0 as usize, e.constant))),
        _ => None,
    }
}

/// The boxes of a statement that reads regions.
fn boxes(graph: &Graph, stmt: &Stmt, regions: &[Region]) -> Option<Vec<Stmt>> {
    if stmt.points() < MIN_POINTS || !stmt.takes_boxes() {
        return None;
    }
    let mut boxes = vec![stmt.clone()];
    let mut fused = false;
    // Last region first: once it is inlined, the statement reads the regions that it reads.
    for region in regions.iter().rev() {
        let mut next = Vec::new();
        for piece in &boxes {
            match parts(graph, piece, region) {
                Some(parts) => {
                    fused = true;
                    next.extend(parts);
                }
                None => next.push(piece.clone()),
            }
        }
        boxes = next;
        if boxes.len() > MAX_BOXES {
            return None;
        }
    }
    fused.then_some(boxes)
}

/// Parts of a box outside and inside of a region that it reads.
fn parts(graph: &Graph, piece: &Stmt, region: &Region) -> Option<Vec<Stmt>> {
    let places = piece.value.nodes.iter().find_map(|node| match node {
        ExprNode::Access(array, places) if *array == region.array => Some(places.clone()),
        _ => None,
    })?;
    if !fits(piece, &region.map) || !evaluated_once(piece, &places) {
        return None;
    }
    let (mut inner, mut all) = (piece.clone(), Vec::new());
    for (place, &(first, last)) in places.iter().zip(&region.ranges) {
        let Some((axis, constant)) = shifted(place)? else {
            let at = i128::from(place.constant);
            if at < first || at > last {
                return Some(vec![outside(piece, region)]);
            }
            continue;
        };
        let extent = i128::from(inner.axes[axis].extent);
        let (first, last) = (first - i128::from(constant), last - i128::from(constant));
        let around = [(0, first.min(extent) - 1), ((last + 1).max(0), extent - 1)];
        for range in around.into_iter().filter(|(from, to)| from <= to) {
            all.push(outside(&slice(&inner, axis, range)?, region));
        }
        let range = (first.max(0), last.min(extent - 1));
        if range.0 > range.1 {
            return Some(all);
        }
        inner = slice(&inner, axis, range)?;
    }
    let digits = digits_of(graph, &region.map)?;
    let inside =
        inline(&inner, |array, _| (array == region.array).then(|| (&region.map, digits.clone())))?;
    all.push(inside);
    Some(all)
}

/// The box with the region replaced by the value outside.
fn outside(piece: &Stmt, region: &Region) -> Stmt {
    let mut builder = Builder::default();
    let root = builder.push_expr(&piece.value, |builder, leaf| {
        Some(builder.push(match leaf {
            ExprNode::Access(array, _) if *array == region.array => ExprNode::Const(region.outside),
            other => other.clone(),
        }))
    });
    let value = root.map_or_else(Expr::default, |root| builder.finish(root));
    Stmt { value, ..piece.clone() }
}
