//! Copies of contraction operands with strided rows.
//!
//! A microkernel reads as many rows of one operand at once as a vector has lanes, those adjacent in the output. If the
//! operand has other axes between them, packing collects single elements from cache lines whose rest is needed much
//! later, once for each block of columns. With many columns, a copy in the kernel's order takes a small part of that
//! time.

use crate::graph::index::{of_axes, plain_axes};
use crate::graph::{ExprNode, Graph, Stmt};
use crate::layout::reordered::rebuilt;
use crate::layout::{Layout, c_strides};
use crate::select::contraction;
use crate::select::profit::PRODUCTS_PER_BYTE;
use ijk_ir::core::{ArrayId, IndexExpr};

/// With fewer steps of k, the time is bound by writing the output.
const MIN_STEPS: u64 = 64;

/// The graph with such copies; `None` if there is nothing to copy.
pub(crate) fn copied(graph: &Graph, layout: &Layout) -> Option<Graph> {
    let operand = |stmt| {
        let other = || thin(graph, layout, stmt).or_else(|| batched(graph, stmt));
        apart(graph, layout, stmt).or_else(other)
    };
    let operands: Vec<_> = graph.statements.iter().map(operand).collect();
    operands.iter().any(Option::is_some).then_some(())?;
    let mut operands = operands.into_iter();
    Some(rebuilt(graph.clone(), |graph, stmt| match operands.next().flatten() {
        Some(operand) => divide(graph, stmt, operand),
        None => graph.statements.push(stmt),
    }))
}

/// An operand of a contraction that is to be copied.
struct CopiedOperand {
    /// Its node in the value.
    node: usize,
    array: ArrayId,
    /// Axes of the copy: reduced axes, then rows in the order of the output.
    axes: Vec<usize>,
}

/// The operand with the rows, if they are strided and a copy pays.
fn apart(graph: &Graph, layout: &Layout, stmt: &Stmt) -> Option<CopiedOperand> {
    if stmt.scan.is_some() || !contraction::is_one(graph, stmt) {
        return None;
    }
    let out = in_memory(graph, layout, stmt.out, &stmt.out_index)?;
    let last = *out.last()?;
    (0..2).find_map(|node| {
        let ExprNode::Access(array, index) = &stmt.value.nodes[node] else { return None };
        let ExprNode::Access(_, other) = &stmt.value.nodes[1 - node] else { return None };
        let axes = in_memory(graph, layout, *array, index)?;
        let columns = plain_axes(other)?;
        let is_row = |axis: &usize| out.contains(axis);
        let batched = axes.iter().any(|axis| is_row(axis) && columns.contains(axis));
        if batched || !axes.contains(&last) || !lie_apart(&axes, last, is_row) {
            return None;
        }
        let (rows, steps): (Vec<_>, Vec<_>) = axes.iter().partition(|axis| is_row(axis));
        let columns = columns.into_iter().filter(is_row).collect::<Vec<_>>();
        let [rows, columns, steps] = [rows, columns, steps].map(|axes| points(stmt, &axes));
        let size = graph.array(stmt.out).dtype.size() as u64;
        let many = columns / PRODUCTS_PER_BYTE > size && steps >= MIN_STEPS;
        let large = rows.saturating_mul(steps).saturating_mul(size) > layout.near;
        let reduced = axes.iter().filter(|axis| !is_row(axis));
        let axes = reduced.chain(out.iter().filter(|axis| axes.contains(axis))).copied().collect();
        (many && large).then_some(CopiedOperand { node, array: *array, axes })
    })
}

/// Numbers of rows and of columns of a product over a long k: up to the first the engine keeps all sums in registers,
/// and reads both operands as they are; up to the second a copy pays. Least number of steps of k.
const IN_REGISTERS: u64 = 8;
const MAX_THIN_SIDE: u64 = 16;
const MIN_THIN_STEPS: u64 = 1 << 10;

/// For products of few rows and columns over long k: the operand that is contiguous along k, if the other is
/// contiguous along its columns. One kernel reads both if they are alike.
fn thin(graph: &Graph, layout: &Layout, stmt: &Stmt) -> Option<CopiedOperand> {
    if stmt.scan.is_some() || !contraction::is_one(graph, stmt) {
        return None;
    }
    let kept = stmt.kept_axes();
    let own = |node: usize| {
        let ExprNode::Access(array, index) = &stmt.value.nodes[node] else { return None };
        Some((*array, in_memory(graph, layout, *array, index)?))
    };
    let sides = [own(0)?, own(1)?];
    let [rows, steps] = [true, false].map(|is_kept| {
        sides.each_ref().map(|(_, axes)| {
            axes.iter().copied().filter(|&axis| kept[axis] == is_kept).collect::<Vec<_>>()
        })
    });
    let alike = |a: &[usize], b: &[usize]| a.len() == b.len() && a.iter().all(|x| b.contains(x));
    let apart = !rows[0].iter().any(|axis| rows[1].contains(axis));
    let sizes = rows.each_ref().map(|rows| points(stmt, rows));
    let few = sizes.iter().all(|size| (2..=MAX_THIN_SIDE).contains(size))
        && sizes.iter().any(|size| *size > IN_REGISTERS);
    if !apart || !few || !alike(&steps[0], &steps[1]) || points(stmt, &steps[0]) < MIN_THIN_STEPS {
        return None;
    }
    let together = |side: usize| sides[side].1.last().is_some_and(|&axis| kept[axis]);
    let node = (0..2).find(|&side| !together(side) && together(1 - side))?;
    let axes = steps[1 - node].iter().chain(&rows[node]).copied().collect();
    Some(CopiedOperand { node, array: sides[node].0, axes })
}

/// Batched products of smaller operands are cheaper than a copy.
const MIN_BATCHED_ELEMENTS: u64 = 1 << 12;

/// For batched products: an operand whose contiguous axis is a batch axis, unless that of the output is the same.
fn batched(graph: &Graph, stmt: &Stmt) -> Option<CopiedOperand> {
    if stmt.scan.is_some() || !contraction::multiplies(graph, stmt) {
        return None;
    }
    let kept = stmt.kept_axes();
    let apart = |array: ArrayId, index: &[IndexExpr]| {
        let axes = plain_axes(index)?;
        Some(graph.axes_by_stride(array).into_iter().map(|place| axes[place]).collect::<Vec<_>>())
    };
    let last = *apart(stmt.out, &stmt.out_index)?.last()?;
    (0..2).find_map(|node| {
        let ExprNode::Access(array, index) = &stmt.value.nodes[node] else { return None };
        let ExprNode::Access(_, other) = &stmt.value.nodes[1 - node] else { return None };
        let (axes, other) = (apart(*array, index)?, plain_axes(other)?);
        let is_batch = |axis: &usize| kept[*axis] && other.contains(axis);
        let across = axes.last().is_some_and(|axis| is_batch(axis) && *axis != last);
        if !across || points(stmt, &axes) < MIN_BATCHED_ELEMENTS {
            return None;
        }
        let (batch, own): (Vec<usize>, Vec<usize>) = axes.into_iter().partition(is_batch);
        Some(CopiedOperand { node, array: *array, axes: batch.into_iter().chain(own).collect() })
    })
}

/// Product of the extents of some axes.
fn points(stmt: &Stmt, axes: &[usize]) -> u64 {
    axes.iter().fold(1, |n: u64, &axis| n.saturating_mul(stmt.axes[axis].extent))
}

/// Tells whether packing would read single elements: the rows of the smallest stride are not those of the output's
/// last axis, and steps of k have larger strides.
fn lie_apart(axes: &[usize], last: usize, is_row: impl Fn(&usize) -> bool) -> bool {
    let nearest = axes.iter().rev().find(|axis| is_row(axis));
    let outside = axes.iter().skip_while(|axis| is_row(axis)).all(|axis| !is_row(axis));
    nearest != Some(&last) && !outside
}

/// Axes of an index of distinct axes, by descending stride; `None` unless the smallest stride is 1.
fn in_memory(
    graph: &Graph,
    layout: &Layout,
    array: ArrayId,
    index: &[IndexExpr],
) -> Option<Vec<usize>> {
    let axes = plain_axes(index)?;
    let strides = strides(graph, layout, array);
    let mut places: Vec<usize> = (0..axes.len()).collect();
    places.sort_by_key(|&place| std::cmp::Reverse(strides[place].unsigned_abs()));
    let last = *places.last()?;
    (strides[last] == 1).then(|| places.into_iter().map(|place| axes[place]).collect())
}

/// Strides of an array.
pub(crate) fn strides(graph: &Graph, layout: &Layout, array: ArrayId) -> Vec<isize> {
    let given = |ids: &[ArrayId], strides: &[Vec<isize>]| {
        ids.iter().position(|&id| id == array).map(|n| strides[n].clone())
    };
    given(&graph.inputs, &layout.inputs)
        .or_else(|| given(&graph.outputs, &layout.outputs))
        .unwrap_or_else(|| c_strides(&graph.array(array).shape))
}

/// Adds the copy, and the redirected contraction.
fn divide(graph: &mut Graph, mut stmt: Stmt, operand: CopiedOperand) {
    let CopiedOperand { node, array, axes } = operand;
    let ExprNode::Access(_, from) = &stmt.value.nodes[node] else {
        return graph.statements.push(stmt);
    };
    let shape = axes.iter().map(|&axis| stmt.axes[axis].extent).collect();
    let copied = graph.new_array(graph.array(array).dtype, shape);
    let place = |axis: usize| axes.iter().position(|&a| a == axis).unwrap_or(0);
    let source = plain_axes(from).unwrap_or_default();
    let source = ExprNode::Access(array, of_axes(source.into_iter().map(place)));
    let own = axes.iter().map(|&axis| stmt.axes[axis].clone()).collect();
    graph.statements.push(Stmt::map(copied, own, vec![source], stmt.span));
    stmt.value.nodes[node] = ExprNode::Access(copied, of_axes(axes));
    graph.statements.push(stmt);
}
