//! Positions of extremes (argmax, argmin) whose output is not covered, computed in a dense array and copied from
//! there; and values that are ordered, computed in an array of their own where they are no elements of one.

use crate::graph::{Expr, ExprNode, Few, Graph, Stmt, coverage, index};
use ijk_ir::core::{AxisId, IndexExpr, Init};
use ijk_types::{DType, Reducer};

/// Runs the pass.
pub(crate) fn densify_outputs(graph: &mut Graph) {
    let wanted = graph.statements.iter().any(|stmt| is_scattered(graph, stmt) || is_computed(stmt));
    if !wanted {
        return;
    }
    let mut statements = Vec::with_capacity(graph.statements.len() + 1);
    for stmt in std::mem::take(&mut graph.statements) {
        if is_computed(&stmt) {
            let (values, order) = apart(graph, stmt);
            statements.push(values);
            statements.push(order);
        } else if is_scattered(graph, &stmt) {
            let (apart, copy) = separate(graph, stmt);
            statements.push(apart);
            statements.push(copy);
        } else {
            statements.push(stmt);
        }
    }
    graph.statements = statements;
}

fn is_scattered(graph: &Graph, stmt: &Stmt) -> bool {
    let shape = &graph.array(stmt.out).shape;
    matches!(stmt.reduce, Some(Reducer::ArgMax | Reducer::ArgMin))
        && coverage::digits(&stmt.out_index, shape, &stmt.extents()).is_none()
}

/// Tells whether ordered values are no elements of an array at affine positions.
fn is_computed(stmt: &Stmt) -> bool {
    let plain = match &stmt.value.nodes[..] {
        [ExprNode::Access(_, index)] => index.iter().all(IndexExpr::is_affine),
        _ => false,
    };
    stmt.orders() && !plain
}

/// The values in an array of their own, and their order.
fn apart(graph: &mut Graph, stmt: Stmt) -> (Stmt, Stmt) {
    let places = stmt.scan.map(|axis| axis.0 as usize);
    let members: Vec<usize> = (0..stmt.axes.len()).filter(|&a| Some(a) != places).collect();
    let dtype = graph.node_types(&stmt.value).last().copied().unwrap_or(DType::F64);
    let axes: Vec<_> = members.iter().map(|&a| stmt.axes[a].clone()).collect();
    let array = graph.new_array(dtype, axes.iter().map(|axis| axis.extent).collect());
    let mut map = vec![IndexExpr::constant(0); stmt.axes.len()];
    for (own, &a) in members.iter().enumerate() {
        map[a] = IndexExpr::axis(AxisId(own as u32));
    }
    let extents: Few<u64> = axes.iter().map(|axis| axis.extent).collect();
    let value = stmt.value.map_indices(|e| index::substitute(e, &map, &extents));
    let value = value.unwrap_or_else(|| stmt.value.clone());
    let values = Stmt { value, ..Stmt::map(array, axes, Vec::new(), stmt.span) };
    let read = ExprNode::Access(array, index::of_axes(members));
    (values, Stmt { value: Expr { nodes: vec![read] }, ..stmt })
}

/// The statement with a dense output over its kept axes, and the copy.
fn separate(graph: &mut Graph, stmt: Stmt) -> (Stmt, Stmt) {
    let kept = stmt.kept_axes();
    let members = || (0..stmt.axes.len()).filter(|&a| kept[a]);
    let index = index::of_axes(members());
    let shape = members().map(|a| stmt.axes[a].extent).collect();
    let array = graph.new_array(DType::I64, shape);
    let mut axes = stmt.axes.clone();
    for (axis, kept) in axes.iter_mut().zip(&kept) {
        if !kept {
            axis.extent = 1;
        }
    }
    let value = Expr { nodes: vec![ExprNode::Access(array, index.clone())] };
    let copy = Stmt { axes, value, reduce: None, ..stmt.clone() };
    // The copy alone starts from other elements: each one of the dense array is reached.
    let apart = Stmt { out: array, out_index: index, init: Init::Zero, ..stmt };
    (apart, crate::domain::split::drop_unit_axes(copy))
}
