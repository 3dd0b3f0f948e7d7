//! Equality with a computed position: it holds at one place of an axis, and elsewhere it is false.
//!
//! `y[b,c] = EQ(l[b], c)` is false but for `y[b,l[b]]`, and `y[i,j] = a[i,j] + EQ(i, j)` is `a` but for the diagonal.
//! The array is computed as if nothing were equal, and then what is equal is written to its places.

use crate::canonical::selections::solved;
use crate::domain::peel::chain;
use crate::graph::axes::restrict;
use crate::graph::expr::{as_index, decided};
use crate::graph::{ExprNode, Graph, Stmt, index};
use ijk_ir::core::{IndexExpr, Init};
use ijk_types::BinaryOp;

/// Least extent of an axis of which one element is written apart.
const MIN_EXTENT: u64 = 16;

/// Runs the pass.
pub(crate) fn place(graph: &mut Graph) {
    if !graph.statements.iter().any(|stmt| may_place(graph, stmt)) {
        return;
    }
    for stmt in std::mem::take(&mut graph.statements) {
        match may_place(graph, &stmt).then(|| Equality::find(graph, &stmt)).flatten() {
            Some(equality) => {
                let parts = equality.parts(&stmt);
                chain(graph, stmt, parts);
            }
            None => graph.statements.push(stmt),
        }
    }
}

/// Returns true for outputs that are maps with a test of equality. What is computed twice must not fail.
fn may_place(graph: &Graph, stmt: &Stmt) -> bool {
    let map = stmt.reduce.is_none() && stmt.scan.is_none() && stmt.guards.is_empty();
    let equality = |node: &ExprNode| matches!(node, ExprNode::Binary(op, ..) if is_equality(*op));
    map && stmt.value.nodes.iter().any(equality)
        && !matches!(stmt.init, Init::From(_))
        && graph.outputs.contains(&stmt.out)
        && !graph.can_fail(stmt)
}

fn is_equality(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Eq | BinaryOp::Ne)
}

/// An equality that holds at one place of an axis of the output.
struct Equality {
    node: u32,
    /// The statement at this place.
    there: Stmt,
}

impl Equality {
    fn find(graph: &Graph, stmt: &Stmt) -> Option<Self> {
        let types = graph.node_types(&stmt.value);
        let plain = index::plain_axes(&stmt.out_index)?;
        stmt.value.nodes.iter().enumerate().find_map(|(node, each)| {
            let ExprNode::Binary(op, x, y) = *each else { return None };
            let [left, right] = [x, y].map(|at| as_index(&stmt.value, &types, at));
            let difference = index::add(&left?, &index::scale(&right?, -1)?)?;
            let long = |&axis: &usize| is_equality(op) && stmt.axes[axis].extent >= MIN_EXTENT;
            let (axis, place) = plain
                .iter()
                .copied()
                .filter(long)
                .find_map(|axis| Some((axis, solved(graph, stmt, &difference, axis)?)))?;
            let there = at_place(stmt, (node as u32, op == BinaryOp::Eq), (axis, place))?;
            Some(Self { node: node as u32, there })
        })
    }

    /// The statement as if nothing were equal, and then what is.
    fn parts(self, stmt: &Stmt) -> Vec<Stmt> {
        let differs =
            matches!(stmt.value.nodes[self.node as usize], ExprNode::Binary(BinaryOp::Ne, ..));
        let value = decided(&stmt.value, self.node, differs);
        vec![Stmt { value, ..stmt.clone() }, self.there]
    }
}

/// The statement at one place of an axis for each value of the others: that where the equality is as `truth` says, or
/// the nearest place in bounds, whose value is then computed anew.
fn at_place(
    stmt: &Stmt,
    (node, truth): (u32, bool),
    (axis, place): (usize, IndexExpr),
) -> Option<Stmt> {
    let last = i64::try_from(stmt.axes[axis].extent).ok()? - 1;
    let (least, greatest) = index::range(&place, &stmt.extents());
    let inside = least >= 0 && greatest <= i128::from(last);
    let (place, value) = match inside {
        true => (place, decided(&stmt.value, node, truth)),
        false => {
            let nearest = place.maximum(IndexExpr::constant(0)).minimum(IndexExpr::constant(last));
            (nearest, stmt.value.clone())
        }
    };
    let mut map = index::of_axes(0..stmt.axes.len());
    map[axis] = place;
    let placed = Stmt { value, ..stmt.clone() }.substitute(&map, stmt.axes.clone())?;
    Some(restrict(placed, |other| other != axis))
}
