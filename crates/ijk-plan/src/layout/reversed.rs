//! Copies of operands that lie in memory in the opposite direction to what else a reduction accesses.
//!
//! A kernel of a reduction, a window or a scatter loads vectors in ascending order. An axis along which all accesses
//! descend is reversed; where some descend and others ascend, those that descend are copied. Tiles of maps, matrix
//! products and reductions are reversed when they are packed; only rows of a product are folded where they are stored.

use crate::domain::bounds::one_each;
use crate::graph::index::{plain_axes, plain_axis, reads};
use crate::graph::{ExprNode, Graph, Stmt};
use crate::layout::Layout;
use crate::layout::reordered::{LazyCopies, Reordered, rebuilt};
use crate::layout::rows::strides;
use crate::select::contraction;
use ijk_ir::core::{ArrayId, Atom, IndexExpr};

/// Arrays of fewer elements are read in any direction.
const MIN_ELEMENTS: u64 = 1 << 10;

/// The graph with such copies; `None` if there are none.
pub(crate) fn copied(graph: &Graph, layout: &Layout) -> Option<Graph> {
    if !layout.inputs.iter().flatten().any(|&stride| stride == -1) {
        return None;
    }
    let all: Vec<_> = graph.statements.iter().map(|stmt| opposed(graph, layout, stmt)).collect();
    all.iter().any(|own| !own.is_empty()).then_some(())?;
    let mut copies = LazyCopies::new(all.iter().flatten().cloned());
    let mut all = all.into_iter();
    Some(rebuilt(graph.clone(), |graph, mut stmt| {
        let own = all.next().unwrap_or_default();
        let wanted = |operand: &Reordered, _: &Graph, _: &Stmt| own.contains(operand);
        copies.redirect(graph, &mut stmt, wanted, |index| !index.iter().any(reads));
        graph.statements.push(stmt);
    }))
}

/// The operands that descend along an axis where another access ascends.
fn opposed(graph: &Graph, layout: &Layout, stmt: &Stmt) -> Vec<Reordered> {
    let plain = plain_axes(&stmt.out_index).is_some();
    let is_map = plain && (stmt.reduce.is_none() || one_each(stmt));
    let in_tiles = plain && is_whole(stmt);
    let folds_rows = contraction::is_one(graph, stmt) && !contraction::multiplies(graph, stmt);
    if is_map || in_tiles && !folds_rows {
        return Vec::new();
    }
    let directions = |array: ArrayId, index: &[IndexExpr]| directions(graph, layout, array, index);
    let mut ascending: Vec<usize> = Vec::new();
    let mut descending: Vec<(ArrayId, Vec<usize>)> = Vec::new();
    let operands = stmt.value.nodes.iter().filter_map(|node| match node {
        ExprNode::Access(array, index) => Some((*array, &index[..])),
        _ => None,
    });
    for (array, index) in operands.chain([(stmt.out, &stmt.out_index[..])]) {
        let Some((axes, ascends)) = directions(array, index) else { continue };
        match ascends {
            true => ascending.extend(axes),
            false => descending.push((array, axes)),
        }
    }
    let kept = stmt.kept_axes();
    let elements =
        |array: ArrayId| graph.array(array).shape.iter().fold(1, |n: u64, &m| n.saturating_mul(m));
    let is_opposed = |(array, axes): &(ArrayId, Vec<usize>)| {
        *array != stmt.out
            && elements(*array) >= MIN_ELEMENTS
            && axes.iter().any(|axis| ascending.contains(axis) && !(in_tiles && kept[*axis]))
    };
    let order = |array| Reordered { array, order: graph.axes_by_stride(array) };
    descending.into_iter().filter(is_opposed).map(|(array, _)| order(array)).collect()
}

/// True if a statement reads arrays at its axes alone.
fn is_whole(stmt: &Stmt) -> bool {
    let mut nodes = stmt.value.nodes.iter();
    nodes.all(|node| node.indices().iter().all(|e| plain_axis(e).is_some()))
}

/// The axes that step through neighbours in memory, and true if they ascend.
fn directions(
    graph: &Graph,
    layout: &Layout,
    array: ArrayId,
    index: &[IndexExpr],
) -> Option<(Vec<usize>, bool)> {
    let strides = strides(graph, layout, array);
    let shape = &graph.array(array).shape;
    let place = (0..strides.len()).find(|&at| strides[at].unsigned_abs() == 1 && shape[at] > 1)?;
    let own = index.get(place).filter(|e| !reads(e))?;
    let axes = own.terms.iter().filter_map(|(step, atom)| match atom {
        Atom::Axis(axis) if *step == 1 => Some(axis.0 as usize),
        _ => None,
    });
    Some((axes.collect(), strides[place] == 1))
}
