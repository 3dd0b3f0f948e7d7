//! Sums of what conditions choose, as products: `WHERE(AND(a[i,k], b[j,k]), 1, 0)` is 1 where both hold, so it is a
//! product of two numbers, and their sums over k are a contraction. `OR` is the sum of both less their product.

use crate::graph::expr::{Builder, same_bits};
use crate::graph::{Expr, ExprNode, Graph, Stmt};
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, UnaryOp, scalar};

/// Tells whether a statement sums what depends on joined conditions.
pub(super) fn joins_conditions(stmt: &Stmt) -> bool {
    let joins =
        |node: &ExprNode| matches!(node, ExprNode::Binary(BinaryOp::And | BinaryOp::Or, ..));
    stmt.reduce == Some(Reducer::Monoid(Monoid::Add)) && stmt.value.nodes.iter().any(joins)
}

/// The statement with arithmetic in place of conditions that join others, if it sums such.
pub(super) fn multiplied(graph: &Graph, stmt: &Stmt) -> Option<Stmt> {
    let dtype = graph.array(stmt.out).dtype;
    if graph.strict || dtype == DType::Bool || !joins_conditions(stmt) {
        return None;
    }
    let types = graph.node_types(&stmt.value);
    let mut counts = Counts::new(&stmt.value, &types, dtype);
    let mut found = false;
    for node in &stmt.value.nodes {
        let counted = counts.counted(node);
        found |= counted.is_some();
        let place = match counted {
            Some(place) => place,
            None => {
                let node = node.map_children(|child| counts.places[child as usize]);
                counts.builder.push(node)
            }
        };
        counts.places.push(place);
    }
    let root = counts.places.last().copied()?;
    found.then(|| Stmt { value: counts.builder.finish(root), ..stmt.clone() })
}

/// A value that is rebuilt.
struct Counts<'v> {
    value: &'v Expr,
    types: &'v [DType],
    one: Scalar,
    zero: Scalar,
    builder: Builder,
    /// Places of the nodes so far.
    places: Vec<u32>,
}

impl<'v> Counts<'v> {
    fn new(value: &'v Expr, types: &'v [DType], dtype: DType) -> Self {
        let [one, zero] = [Monoid::Mul, Monoid::Add].map(|own| scalar::identity(own, dtype));
        Self { value, types, one, zero, builder: Builder::default(), places: Vec::new() }
    }

    /// A node that is a constant where joined conditions hold, and otherwise 0, as arithmetic.
    fn counted(&mut self, node: &ExprNode) -> Option<u32> {
        let is = |at: u32, number: Scalar| matches!(self.value.nodes[at as usize], ExprNode::Const(c) if same_bits(c, number));
        let constant = |at: u32| match self.value.nodes[at as usize] {
            ExprNode::Const(c) => Some(c).filter(|c| c.as_f64().is_finite()),
            _ => None,
        };
        let (condition, number) = match *node {
            ExprNode::Select(condition, yes, no) if is(no, self.zero) => {
                (condition, constant(yes)?)
            }
            ExprNode::Unary(UnaryOp::Cast(to), condition) if to == self.one.dtype() => {
                (condition, self.one)
            }
            _ => return None,
        };
        let joined = self.value.nodes[condition as usize].clone();
        let joins = matches!(joined, ExprNode::Binary(BinaryOp::And | BinaryOp::Or, ..));
        if !joins || self.types[condition as usize] != DType::Bool {
            return None;
        }
        let indicator = self.indicator(condition);
        let number = self.builder.push(ExprNode::Const(number));
        Some(self.builder.push(ExprNode::Binary(BinaryOp::Mul, indicator, number)))
    }

    /// 1 where a condition holds, and 0 elsewhere.
    fn indicator(&mut self, condition: u32) -> u32 {
        match self.value.nodes[condition as usize] {
            ExprNode::Binary(op @ (BinaryOp::And | BinaryOp::Or), x, y) => {
                let [x, y] = [x, y].map(|operand| self.indicator(operand));
                let both = self.builder.push(ExprNode::Binary(BinaryOp::Mul, x, y));
                if op == BinaryOp::And {
                    return both;
                }
                let sum = self.builder.push(ExprNode::Binary(BinaryOp::Add, x, y));
                self.builder.push(ExprNode::Binary(BinaryOp::Sub, sum, both))
            }
            _ => {
                let [one, zero] =
                    [self.one, self.zero].map(|own| self.builder.push(ExprNode::Const(own)));
                let condition = self.places[condition as usize];
                self.builder.push(ExprNode::Select(condition, one, zero))
            }
        }
    }
}
