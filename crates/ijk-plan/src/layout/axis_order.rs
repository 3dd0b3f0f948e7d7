//! Axis order of temporaries: long axes innermost, and as in the arrays that they are computed with.
//!
//! `k[h,w,r,s] = g[r,s] * EXP(x[h+r,w+s])` has rows of the width of a window, while those of the image are long. The
//! layout of a temporary is free: as `k[h,r,s,w]` it is written and read along rows of the image.

use crate::SMALL_DOMAIN;
use crate::graph::{ExprNode, Graph, Stmt, index};
use ijk_ir::core::{ArrayId, IndexExpr, Init};
use std::collections::BTreeSet;

/// Rows of fewer elements are short.
pub(crate) const SHORT: u64 = 16;
/// Rows of at least this many elements are long.
const LONG: u64 = 64;

/// Runs the pass.
pub(crate) fn choose(graph: &mut Graph) {
    if graph.statements.len() > 1 {
        let fixed = fixed_arrays(graph);
        match_operands(graph, &fixed);
    }
    let mut found: Vec<(ArrayId, usize)> = Vec::new();
    let candidates = graph.statements.iter().filter(|stmt| has_short_rows(graph, stmt));
    for stmt in candidates {
        found.extend(longer(graph, stmt).map(|dim| (stmt.out, dim)));
    }
    if found.is_empty() {
        return;
    }
    let fixed = fixed_arrays(graph);
    for (array, dim) in found.into_iter().filter(|(array, _)| !fixed.contains(array)) {
        let rank = graph.array(array).shape.len();
        let order = (0..dim).chain(dim + 1..rank).chain([dim]).collect::<Vec<_>>();
        permute_axes(graph, array, &order);
    }
}

/// Permutes the axes of an array: `order[0]` becomes the first.
pub(crate) fn permute_axes(graph: &mut Graph, array: ArrayId, order: &[usize]) {
    let shape = &mut graph.arrays[array.0 as usize].shape;
    *shape = order.iter().map(|&dim| shape[dim]).collect();
    let match_operands = |places: &mut Vec<IndexExpr>| {
        *places = order.iter().map(|&dim| places[dim].clone()).collect();
    };
    for stmt in &mut graph.statements {
        if stmt.out == array {
            match_operands(&mut stmt.out_index);
        }
        for node in &mut stmt.value.nodes {
            if let ExprNode::Access(read, places) = node
                && *read == array
            {
                match_operands(places);
            }
        }
    }
}

/// Lays temporaries out as the arrays they are computed from, and used with: `w[d,b] = EXP(x[b,d])` and
/// `y[b,d] = w[d,b]/t[b]` are contiguous in `x` and `y`, and strided in `w` as written.
fn match_operands(graph: &mut Graph, fixed: &BTreeSet<ArrayId>) {
    for at in 0..graph.statements.len() {
        let array = graph.statements[at].out;
        let rank = graph.array(array).shape.len();
        if rank < 2 || graph.statements[at].points() <= SMALL_DOMAIN || fixed.contains(&array) {
            continue;
        }
        let own: Vec<usize> = (0..rank).collect();
        let mut votes: Vec<(Vec<usize>, u64)> = Vec::new();
        for stmt in &graph.statements {
            let wishes = orders(graph, stmt, array).into_iter().chain(batch_first(stmt, array));
            for order in wishes {
                match votes.iter_mut().find(|(other, _)| *other == order) {
                    Some((_, count)) => *count = count.saturating_add(stmt.points()),
                    None => votes.push((order, stmt.points())),
                }
            }
        }
        let of = |wanted: &[usize]| votes.iter().find(|(o, _)| o == wanted).map_or(0, |(_, n)| *n);
        let best = votes.iter().max_by_key(|(_, count)| *count);
        if let Some((order, count)) = best.cloned()
            && count > of(&own)
        {
            permute_axes(graph, array, &order);
            graph.statements[at] = graph.statements[at].clone().in_output_order();
        }
    }
}

/// Axis orders of an array that match the layout of the statement's other arrays.
fn orders(graph: &Graph, stmt: &Stmt, array: ArrayId) -> Vec<Vec<usize>> {
    let reads = stmt.value.nodes.iter().filter_map(|node| match node {
        ExprNode::Access(read, places) => Some((*read, places)),
        _ => None,
    });
    let all: Vec<(ArrayId, Option<Vec<usize>>)> = reads
        .chain([(stmt.out, &stmt.out_index)])
        .map(|(array, places)| (array, index::plain_axes(places)))
        .collect();
    let Some((_, Some(own))) = all.iter().find(|(other, _)| *other == array) else {
        return Vec::new();
    };
    let order = |other: ArrayId, axes: &[usize]| -> Option<Vec<usize>> {
        let apart = graph.axes_by_stride(other).into_iter().map(|place| axes[place]);
        let places = apart.filter_map(|axis| own.iter().position(|&own| own == axis));
        Some(places.collect()).filter(|order: &Vec<usize>| order.len() == own.len())
    };
    let others = all.iter().filter(|(other, _)| *other != array);
    others.filter_map(|(other, axes)| order(*other, axes.as_ref()?)).collect()
}

/// The axis order of an array of a batch of contractions that has the axes of the batch first, as the kernels read and
/// write matrices: with them innermost, each matrix would be copied.
fn batch_first(stmt: &Stmt, array: ArrayId) -> Option<Vec<usize>> {
    stmt.reduce?;
    let kept = stmt.kept_axes();
    let is_reduced = |axis: &usize| !kept[*axis];
    let mut operands: Vec<(ArrayId, Vec<usize>)> = Vec::new();
    for node in &stmt.value.nodes {
        let ExprNode::Access(read, places) = node else { continue };
        let axes = index::plain_axes(places)?;
        if axes.iter().any(is_reduced) {
            operands.push((*read, axes));
        }
    }
    let is_batch = |axis: &usize| kept[*axis] && operands.iter().all(|(_, own)| own.contains(axis));
    let has_matrix = |(_, own): &(ArrayId, Vec<usize>)| {
        own.iter().any(|axis| !is_reduced(axis) && !is_batch(axis))
    };
    if operands.len() < 2 || !operands.iter().any(has_matrix) {
        return None;
    }
    let own = match operands.iter().find(|(read, _)| *read == array) {
        Some((_, own)) => own.clone(),
        None if stmt.out == array => index::plain_axes(&stmt.out_index)?,
        None => return None,
    };
    let (batch, others): (Vec<usize>, Vec<usize>) =
        (0..own.len()).partition(|&place| is_batch(&own[place]));
    (!batch.is_empty()).then(|| [batch, others].concat())
}

/// Arrays whose layout is visible outside, or whose elements are indices.
fn fixed_arrays(graph: &Graph) -> BTreeSet<ArrayId> {
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

/// Tells whether a map stores short rows although it has a long axis.
fn has_short_rows(graph: &Graph, stmt: &Stmt) -> bool {
    let shape = &graph.array(stmt.out).shape;
    stmt.reduce.is_none()
        && stmt.scan.is_none()
        && stmt.points() > SMALL_DOMAIN
        && shape.last().is_some_and(|&n| n < SHORT)
        && shape.iter().any(|&n| n >= LONG)
}

/// Last long axis of a map's output, if its operands are contiguous along it.
fn longer(graph: &Graph, stmt: &Stmt) -> Option<usize> {
    let shape = &graph.array(stmt.out).shape;
    let dim = shape.iter().rposition(|&n| n >= SHORT).filter(|&dim| shape[dim] >= LONG)?;
    let axis = index::plain_axis(&stmt.out_index[dim])?.0 as usize;
    let mut along = false;
    for node in &stmt.value.nodes {
        let ExprNode::Access(_, places) = node else { continue };
        let Some((last, others)) = places.split_last() else { continue };
        let mentions = |e: &IndexExpr| index::depends(e, axis);
        match index::steps_with(last, axis) {
            true => along = true,
            // This operand is contiguous along the short axis.
            false if others.iter().any(mentions) || mentions(last) => return None,
            false => {}
        }
    }
    along.then_some(dim)
}
