//! Positions of extremes (argmax, argmin) whose output is not covered, computed in a dense array and copied from
//! there.

use crate::graph::{Expr, ExprNode, Graph, Stmt, coverage, index};
use ijk_types::{DType, Reducer};

/// Runs the pass.
pub(crate) fn densify_outputs(graph: &mut Graph) {
    let wanted = graph.statements.iter().any(|stmt| is_scattered(graph, stmt));
    if !wanted {
        return;
    }
    let mut statements = Vec::with_capacity(graph.statements.len() + 1);
    for stmt in std::mem::take(&mut graph.statements) {
        if is_scattered(graph, &stmt) {
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
    (Stmt { out: array, out_index: index, ..stmt }, crate::domain::split::drop_unit_axes(copy))
}
