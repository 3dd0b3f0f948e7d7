//! Copies of gathered tables with strided rows.
//!
//! `x[c[z],d]` copies a row of `x` for each `z`. If rows are strided, as in a transposed table, each element is on
//! another cache line. Unless few of them are read, a contiguous copy of the table pays.

use crate::graph::index::reads;
use crate::graph::{ExprNode, Graph, Stmt};
use crate::layout::Layout;
use crate::layout::reordered::{LazyCopies, Reordered, rebuilt};
use crate::layout::rows::strides;
use crate::layout::transposed_reductions;
use ijk_ir::core::{ArrayId, IndexExpr};

/// Shorter rows are read element by element in any case.
const MIN_ROW: u64 = 8;

/// A copy pays if at least one in `MIN_READ_SHARE` elements is read.
const MIN_READ_SHARE: u64 = 2;

/// The graph with such copies; `None` if there is nothing to copy.
pub(crate) fn copied(graph: &Graph, layout: &Layout) -> Option<Graph> {
    let tables: Vec<Reordered> = (0..graph.arrays.len() as u32)
        .filter_map(|array| table(graph, layout, ArrayId(array)))
        .collect();
    if tables.is_empty() {
        return None;
    }
    let mut copies = LazyCopies::new(tables);
    let mut copied = rebuilt(graph.clone(), |graph, mut stmt| {
        let wanted =
            |table: &Reordered, _: &Graph, stmt: &Stmt| gathers(stmt, table.array).next().is_some();
        copies.redirect(graph, &mut stmt, wanted, |index| index.iter().any(reads));
        graph.statements.push(stmt);
    });
    transposed_reductions::transpose_outputs(&mut copied);
    Some(copied)
}

/// The copy of an array with strided rows, if it pays.
fn table(graph: &Graph, layout: &Layout, array: ArrayId) -> Option<Reordered> {
    let shape = &graph.array(array).shape;
    let is_result = graph.outputs.contains(&array);
    if shape.len() < 2 || is_result || graph.partial.contains(&array) {
        return None;
    }
    let strides = strides(graph, layout, array);
    let (mut along, mut points) = (vec![true; shape.len()], 0u64);
    for stmt in &graph.statements {
        for index in gathers(stmt, array) {
            points = points.saturating_add(stmt.points());
            along.iter_mut().zip(index).for_each(|(along, e)| *along &= !reads(e));
        }
    }
    let elements = shape.iter().fold(1u64, |all, &extent| all.saturating_mul(extent));
    let row = |&place: &usize| along[place] && shape[place] >= MIN_ROW;
    let last = (0..shape.len()).filter(row).min_by_key(|&p| strides[p].unsigned_abs())?;
    if points.saturating_mul(MIN_READ_SHARE) < elements || strides[last] == 1 {
        return None;
    }
    let order = (0..shape.len()).filter(|&place| place != last).chain([last]).collect();
    Some(Reordered { array, order })
}

/// Gather indices of a statement into an array.
fn gathers(stmt: &Stmt, array: ArrayId) -> impl Iterator<Item = &[IndexExpr]> {
    stmt.value.nodes.iter().filter_map(move |node| match node {
        ExprNode::Access(read, index) if *read == array && index.iter().any(reads) => {
            Some(&index[..])
        }
        _ => None,
    })
}
