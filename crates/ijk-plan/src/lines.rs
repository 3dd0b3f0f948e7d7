//! Temporaries whose rows are short, with a longer axis innermost.
//!
//! `k[h,w,r,s] = g[r,s] * EXP(x[h+r,w+s])` has rows of as many elements as a window is wide, while the image has long
//! ones. Nobody sees in which order the axes of a temporary lie: as `k[h,r,s,w]` it is computed, and read, along the
//! rows of the image.

use crate::graph::{Graph, Node, Stmt};
use crate::{SMALL_DOMAIN, index};
use ijk_ir::core::{ArrayId, Atom, IndexExpr, Init};
use std::collections::BTreeSet;

/// Rows shorter than this are short,
const SHORT: u64 = 16;
/// and others at least so long.
const LONG: u64 = 64;

/// Runs the pass.
pub(crate) fn lengthen(graph: &mut Graph) {
    let mut found: Vec<(ArrayId, usize)> = Vec::new();
    let candidates = graph.statements.iter().filter(|stmt| has_short_rows(graph, stmt));
    for stmt in candidates {
        found.extend(longer(graph, stmt).map(|dim| (stmt.out, dim)));
    }
    if found.is_empty() {
        return;
    }
    let fixed = fixed(graph);
    for (array, dim) in found.into_iter().filter(|(array, _)| !fixed.contains(array)) {
        let shape = &mut graph.arrays[array.0 as usize].shape;
        shape[dim..].rotate_left(1);
        for stmt in &mut graph.statements {
            if stmt.out == array {
                stmt.out_index[dim..].rotate_left(1);
            }
            for node in &mut stmt.value.nodes {
                if let Node::Access(read, places) = node
                    && *read == array
                {
                    places[dim..].rotate_left(1);
                }
            }
        }
    }
}

/// Arrays whose axes others see, or elements of which are read by indices.
fn fixed(graph: &Graph) -> BTreeSet<ArrayId> {
    let mut fixed: BTreeSet<ArrayId> =
        graph.inputs.iter().chain(&graph.outputs).chain(&graph.partial).copied().collect();
    for stmt in &graph.statements {
        if let Init::From(array) = stmt.init {
            fixed.extend([array, stmt.out]);
        }
        if stmt.scan.is_some() {
            fixed.insert(stmt.out);
            stmt.for_each_point_read(|array| fixed.extend([array]));
        }
        stmt.for_each_index(|e| {
            index::for_each_element(e, &mut |access| fixed.extend([access.array]));
        });
    }
    fixed
}

/// Whether a map stores short rows, and has long ones.
fn has_short_rows(graph: &Graph, stmt: &Stmt) -> bool {
    let shape = &graph.array(stmt.out).shape;
    stmt.reduce.is_none()
        && stmt.scan.is_none()
        && stmt.points() > SMALL_DOMAIN
        && shape.last().is_some_and(|&n| n < SHORT)
        && shape.iter().any(|&n| n >= LONG)
}

/// The last long axis of a map's output, if what it reads lies along that.
fn longer(graph: &Graph, stmt: &Stmt) -> Option<usize> {
    let shape = &graph.array(stmt.out).shape;
    let dim = shape.iter().rposition(|&n| n >= SHORT).filter(|&dim| shape[dim] >= LONG)?;
    let axis = index::plain_axis(&stmt.out_index[dim])?.0;
    let goes_along = |e: &IndexExpr| {
        e.terms.iter().any(|term| matches!(term, (1, Atom::Axis(a)) if a.0 == axis))
    };
    let mut along = false;
    for node in &stmt.value.nodes {
        let Node::Access(_, places) = node else { continue };
        let Some((last, others)) = places.split_last() else { continue };
        let mentions = |e: &IndexExpr| {
            let mut found = false;
            index::for_each_axis(e, &mut |a| found |= a.0 == axis);
            found
        };
        match goes_along(last) {
            true => along = true,
            // Its rows are those that are short.
            false if others.iter().any(mentions) || mentions(last) => return None,
            false => {}
        }
    }
    along.then_some(dim)
}
