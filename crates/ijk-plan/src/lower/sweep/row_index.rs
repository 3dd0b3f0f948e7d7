//! Values that depend on the index of a row, such as the mask `j <= i`.
//!
//! The plan of a block is the same for all blocks, so a row's index is read from an array of indices, of which a block
//! has a window.

use super::row::{Row, RowIndices};
use super::{Group, groups_of};
use crate::graph::{Axis, Expr, ExprNode, Graph, Stmt, index};
use crate::lower::buffers::Buffers;
use ijk_ir::core::{ArrayId, Atom, AxisId, IndexExpr};
use ijk_types::{BinaryOp, DType, Scalar};

/// The graph with row indices in arrays, where that enables sweeps.
pub(crate) fn number_rows(graph: &Graph, buffers: &Buffers, near: u64) -> Option<Graph> {
    if near == u64::MAX || !graph.statements.iter().any(counts) {
        return None;
    }
    let plain = groups_of(graph, buffers, near, RowIndices::Rejected);
    let (mut numbered, mut first) = (graph.clone(), Vec::new());
    for group in groups_of(graph, buffers, near, RowIndices::Allowed) {
        let known = |other: &Group| {
            other.statements == group.statements && other.rows.len() == group.rows.len()
        };
        if group.reduces_columns(graph) && !plain.iter().any(known) {
            first.extend(group.rows.iter().filter_map(|row| number(&group, row, &mut numbered)));
        }
    }
    (!first.is_empty()).then(|| {
        numbered.numbers.extend(first.iter().map(|stmt: &Stmt| stmt.out));
        numbered.statements.splice(0..0, first);
        numbered
    })
}

/// Tells whether a value depends on the index of its point.
fn counts(stmt: &Stmt) -> bool {
    let varies = |node: &ExprNode| matches!(node, ExprNode::Index(e) if !e.terms.is_empty());
    stmt.value.nodes.iter().any(varies)
}

impl Group {
    /// Tells whether a statement reduces an axis that is no row axis.
    fn reduces_columns(&self, graph: &Graph) -> bool {
        let reduces = |stmt: &Stmt| {
            stmt.kept_axes().iter().zip(&stmt.axes).any(|(kept, axis)| !kept && axis.extent > 1)
        };
        self.members(graph).iter().any(reduces)
    }
}

/// Makes the members of a group read the index of a row axis from an array; returns the statement that defines it, if
/// any reads it.
fn number(group: &Group, row: &Row, graph: &mut Graph) -> Option<Stmt> {
    let mut numbers = None;
    for (at, &axis) in group.statements.clone().zip(&row.axes) {
        let has =
            |node: &ExprNode| matches!(node, ExprNode::Index(e) if coefficient(e, axis).is_some());
        if graph.statements[at].value.nodes.iter().any(has) {
            let array =
                *numbers.get_or_insert_with(|| graph.new_array(DType::I64, vec![row.extent]));
            graph.statements[at].value = replaced(&graph.statements[at].value, axis, array);
        }
    }
    let first = &graph.statements[group.statements.start];
    let axis = Axis { name: first.axes[row.axes[0]].name.clone(), extent: row.extent };
    let own = ExprNode::Index(IndexExpr::axis(AxisId(0)));
    numbers.map(|array| Stmt::map(array, vec![axis], vec![own], first.span))
}

/// Coefficient of an axis in an affine expression that has it.
fn coefficient(e: &IndexExpr, axis: usize) -> Option<i64> {
    let own = |atom: &Atom| matches!(atom, Atom::Axis(a) if a.0 as usize == axis);
    let found = e.terms.iter().find(|(_, atom)| own(atom));
    found.filter(|_| e.is_affine()).map(|(coefficient, _)| *coefficient)
}

/// The value with the index of an axis read from an array.
fn replaced(value: &Expr, axis: usize, numbers: ArrayId) -> Expr {
    let mut nodes: Vec<ExprNode> = Vec::with_capacity(value.nodes.len() + 4);
    let mut places: Vec<u32> = Vec::with_capacity(value.nodes.len());
    for node in &value.nodes {
        let at = match node {
            ExprNode::Index(e) => match coefficient(e, axis) {
                Some(factor) => push_number(&mut nodes, (e, axis, factor), numbers),
                None => push(&mut nodes, node.clone()),
            },
            other => {
                let moved = other.map_children(|child| places[child as usize]);
                push(&mut nodes, moved)
            }
        };
        places.push(at);
    }
    Expr { nodes }
}

fn push(nodes: &mut Vec<ExprNode>, node: ExprNode) -> u32 {
    nodes.push(node);
    nodes.len() as u32 - 1
}

/// Adds an index with one axis read from an array: the remaining terms plus `factor` times the element.
fn push_number(
    nodes: &mut Vec<ExprNode>,
    (e, axis, factor): (&IndexExpr, usize, i64),
    numbers: ArrayId,
) -> u32 {
    let mut rest = e.clone();
    rest.terms.retain(|(_, atom)| !matches!(atom, Atom::Axis(a) if a.0 as usize == axis));
    let left = match rest == IndexExpr::default() {
        true => None,
        false => Some(push(nodes, ExprNode::Index(rest))),
    };
    let element = push(nodes, ExprNode::Access(numbers, index::of_axes([axis])));
    match (left, factor) {
        (None, 1) => element,
        (Some(left), 1) => push(nodes, ExprNode::Binary(BinaryOp::Add, left, element)),
        (Some(left), -1) => push(nodes, ExprNode::Binary(BinaryOp::Sub, left, element)),
        (left, factor) => {
            let factor = push(nodes, ExprNode::Const(Scalar::I64(factor)));
            let product = push(nodes, ExprNode::Binary(BinaryOp::Mul, element, factor));
            match left {
                Some(left) => push(nodes, ExprNode::Binary(BinaryOp::Add, left, product)),
                None => product,
            }
        }
    }
}
