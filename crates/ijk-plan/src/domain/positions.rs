//! Conditions on a position: the domain is cut where they change.
//!
//! `y[a,c] = WHERE(EQ(c, 0), r[a], i[a])` stacks two arrays. Where `c` is 0 it is one of them, and elsewhere the other:
//! each box computes what it stores, without a condition.

use crate::SMALL_DOMAIN;
use crate::domain::bounds::Interval;
use crate::domain::peel::slice;
use crate::domain::quotients::add_boxes;
use crate::graph::expr::{as_index, rebuilt};
use crate::graph::{Expr, ExprNode, Few, Graph, Stmt, index};
use ijk_ir::core::{Atom, IndexExpr, Init};
use ijk_types::{BinaryOp, DType, Scalar};
use std::cmp::Ordering;

/// Greatest number of boxes of a statement.
const MAX_BOXES: usize = 8;
/// Greatest extent of each axis, if a comparison depends on several.
const MAX_VALUES: u64 = 4;
/// Least number of points of a statement: each box is a step of its own.
const MIN_POINTS: u64 = 16 * SMALL_DOMAIN;

/// Runs the pass.
pub(crate) fn cut(graph: &mut Graph) {
    if !graph.statements.iter().any(|stmt| chooses(graph, stmt)) {
        return;
    }
    for stmt in std::mem::take(&mut graph.statements) {
        let boxes = if chooses(graph, &stmt) { boxes(graph, &stmt) } else { None };
        match boxes {
            Some(boxes) => add_boxes(graph, stmt, boxes),
            None => graph.statements.push(stmt),
        }
    }
}

/// Returns true for maps of many points that choose. What a choice drops must not fail; and others than outputs are
/// rather computed within the statements that read them, which boxes of an array are not.
fn chooses(graph: &Graph, stmt: &Stmt) -> bool {
    let map = stmt.reduce.is_none() && stmt.scan.is_none() && stmt.guards.is_empty();
    let select = |node: &ExprNode| matches!(node, ExprNode::Select(..));
    map && stmt.points() >= MIN_POINTS
        && !matches!(stmt.init, Init::From(_))
        && stmt.value.nodes.iter().any(select)
        && graph.outputs.contains(&stmt.out)
        && !graph.can_fail(stmt)
}

/// Boxes in which no comparison of a position with a number is left; `None` if there is none, or too many boxes.
fn boxes(graph: &Graph, stmt: &Stmt) -> Option<Vec<Stmt>> {
    let whole = Stmt { value: decided(graph, stmt), ..stmt.clone() };
    let decides = whole.value.nodes.len() < stmt.value.nodes.len();
    let (mut open, mut done) = (vec![whole], Vec::new());
    while let Some(piece) = open.pop() {
        let compared = Compared::all(graph, &piece.value);
        let several = |one: &Compared| one.ranges(&piece).filter(|(_, ranges)| ranges.len() > 1);
        match compared.iter().find_map(several) {
            Some((axis, ranges)) => {
                for range in ranges {
                    let part = slice(&piece, axis, range)?;
                    open.push(Stmt { value: decided(graph, &part), ..part });
                }
            }
            None => done.push(piece),
        }
        if open.len() + done.len() > MAX_BOXES {
            return None;
        }
    }
    (done.len() > 1 || decides).then_some(done)
}

/// A comparison of integers that are affine in the axes.
struct Compared {
    node: usize,
    op: BinaryOp,
    /// The left operand less the right one.
    difference: IndexExpr,
}

impl Compared {
    /// The comparisons of a value.
    fn all(graph: &Graph, value: &Expr) -> Vec<Self> {
        let types = graph.node_types(value);
        let of = |(node, each): (usize, &ExprNode)| {
            let &ExprNode::Binary(op, x, y) = each else { return None };
            truth(op, Ordering::Equal).filter(|_| types[x as usize] == DType::I64)?;
            let [left, right] = [as_index(value, &types, x)?, as_index(value, &types, y)?];
            let difference = index::sign_of(&left, &right)?;
            difference.is_affine().then_some(Self { node, op, difference })
        };
        value.nodes.iter().enumerate().filter_map(of).collect()
    }

    /// The ranges of an axis in which it holds everywhere or nowhere, in turn, if it depends on this axis alone; of
    /// several axes that are short, the values of one.
    fn ranges(&self, stmt: &Stmt) -> Option<(usize, Vec<Interval>)> {
        let [(step, Atom::Axis(axis))] = self.difference.terms[..] else {
            return self.values(stmt);
        };
        let axis = axis.0 as usize;
        let last = i128::from(stmt.axes[axis].extent) - 1;
        let sign = |at: i128| {
            let value = i128::from(step) * at + i128::from(self.difference.constant);
            truth(self.op, value.cmp(&0))
        };
        // The signs of both ends differ, or the difference is 0 between them.
        let zero = -i128::from(self.difference.constant);
        let before = zero.div_euclid(i128::from(step));
        let cuts = [before - 1, before, before + 1].map(|at| at.clamp(0, last));
        let mut ranges: Vec<Interval> = vec![(0, 0)];
        for at in cuts.into_iter().chain([last]) {
            let (start, end) = ranges[ranges.len() - 1];
            match sign(start) == sign(at) {
                true => ranges.last_mut()?.1 = end.max(at),
                false => {
                    ranges.last_mut()?.1 = at - 1;
                    ranges.push((at, at));
                }
            }
        }
        Some((axis, ranges))
    }

    /// The values of one axis, if it depends on axes of few values only.
    fn values(&self, stmt: &Stmt) -> Option<(usize, Vec<Interval>)> {
        let axis = |(_, atom): &(i64, Atom)| match atom {
            Atom::Axis(axis) => Some(axis.0 as usize),
            _ => None,
        };
        let axes: Few<usize> = self.difference.terms.iter().map(axis).collect::<Option<_>>()?;
        let extent = |axis: &usize| stmt.axes[*axis].extent;
        let first = axes.iter().copied().find(|axis| extent(axis) > 1)?;
        let values = 0..i128::from(extent(&first));
        let short = axes.iter().all(|axis| extent(axis) <= MAX_VALUES);
        short.then(|| (first, values.map(|at| (at, at)).collect()))
    }

    /// True or false, if it is the same in the whole domain.
    fn value(&self, stmt: &Stmt) -> Option<bool> {
        let (least, greatest) = index::range(&self.difference, &stmt.extents());
        let ends = [least, greatest].map(|end| truth(self.op, end.cmp(&0)));
        let alike = ends[0].filter(|_| ends[0] == ends[1]);
        // An equality may hold between two ends where it does not.
        let once = || self.ranges(stmt).is_some_and(|(_, ranges)| ranges.len() == 1);
        alike.filter(|_| least >= 0 || greatest <= 0 || once())
    }
}

/// Truth of a comparison, given the order of its operands; `None` for other operators.
fn truth(op: BinaryOp, order: Ordering) -> Option<bool> {
    Some(match op {
        BinaryOp::Lt => order.is_lt(),
        BinaryOp::Le => order.is_le(),
        BinaryOp::Gt => order.is_gt(),
        BinaryOp::Ge => order.is_ge(),
        BinaryOp::Eq => order.is_eq(),
        BinaryOp::Ne => order.is_ne(),
        _ => return None,
    })
}

/// The value of a statement with its comparisons decided where they are, and choices by them made.
fn decided(graph: &Graph, stmt: &Stmt) -> Expr {
    let compared = Compared::all(graph, &stmt.value);
    rebuilt(&stmt.value, |builder, n| {
        let holds = compared.iter().find(|one| one.node == n)?.value(stmt)?;
        Some(builder.push(ExprNode::Const(Scalar::Bool(holds))))
    })
}
