//! Operands of a value, by their dependence on the position and on the reduced axes of a prefix reduction.

use super::Prefix;
use super::factors::Exponent;
use crate::graph::expr::{Builder, extract};
use crate::graph::{Expr, ExprNode, index};
use ijk_types::{BinaryOp, DType, Monoid, UnaryOp, scalar};

/// A node, and true if it is a divisor or is subtracted.
pub(super) type Operand = (bool, u32);

/// An operator that joins operands, and its inverse, if any.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Operators {
    with: BinaryOp,
    without: Option<BinaryOp>,
}

impl Operators {
    /// Operators of products.
    pub(super) const FACTORS: Self = Self { with: BinaryOp::Mul, without: Some(BinaryOp::Div) };
    /// Operators of sums.
    pub(super) const TERMS: Self = Self { with: BinaryOp::Add, without: Some(BinaryOp::Sub) };

    /// Operators that distribute over a monoid. Integers have no division.
    pub(super) fn of(monoid: Monoid, dtype: DType) -> Option<Self> {
        match monoid {
            Monoid::Add if dtype.is_float() || dtype.is_complex() => Some(Self::FACTORS),
            Monoid::Add if dtype.is_integer() => Some(Self { without: None, ..Self::FACTORS }),
            Monoid::Max | Monoid::Min | Monoid::LogAddExp if dtype.is_float() => Some(Self::TERMS),
            _ => None,
        }
    }

    /// The operator, or its inverse.
    pub(super) fn op(self, inverse: bool) -> BinaryOp {
        self.without.filter(|_| inverse).unwrap_or(self.with)
    }

    fn identity(self, dtype: DType) -> ExprNode {
        let monoid = if self.with == BinaryOp::Mul { Monoid::Mul } else { Monoid::Add };
        ExprNode::Const(scalar::identity(monoid, dtype))
    }
}

/// Joins operands; the identity if there are none.
pub(super) fn join(
    builder: &mut Builder,
    value: &Expr,
    operands: &[Operand],
    ops: Operators,
    dtype: DType,
) -> u32 {
    let mut joined = None;
    let (direct, inverse): (Vec<Operand>, Vec<Operand>) =
        operands.iter().partition(|(inverse, _)| !inverse);
    for (inverse, node) in direct.into_iter().chain(inverse) {
        let node = import(builder, value, node);
        joined = Some(match (joined, inverse) {
            (None, false) => node,
            (None, true) => {
                let start = builder.push(ops.identity(dtype));
                builder.push(ExprNode::Binary(ops.op(true), start, node))
            }
            (Some(left), inverse) => builder.push(ExprNode::Binary(ops.op(inverse), left, node)),
        });
    }
    joined.unwrap_or_else(|| builder.push(ops.identity(dtype)))
}

/// Adds a node of a value with its operands.
pub(super) fn import(builder: &mut Builder, value: &Expr, node: u32) -> u32 {
    builder.push_all(&extract(&value.nodes, node))
}

/// For each node of a value, its dependence on the position and on the reduced axes.
pub(super) struct Sides<'a> {
    nodes: &'a [ExprNode],
    sides: Vec<(bool, bool)>,
}

impl<'a> Sides<'a> {
    pub(super) fn of(prefix: &'a Prefix) -> Self {
        let nodes = &prefix.stmt.value.nodes[..];
        let kept = prefix.stmt.kept_axes();
        let mut sides: Vec<(bool, bool)> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let names = |axis: usize| node.indices().iter().any(|e| index::depends(e, axis));
            let own = (names(prefix.p), (0..kept.len()).any(|a| !kept[a] && names(a)));
            let join = |(p, q): (bool, bool), c: u32| {
                let child = sides[c as usize];
                (p || child.0, q || child.1)
            };
            let joined = node.children().fold(own, join);
            sides.push(joined);
        }
        Self { nodes, sides }
    }

    /// Dependence of a node on the position, and on the reduced axes.
    pub(super) fn of_node(&self, node: u32) -> (bool, bool) {
        self.sides[node as usize]
    }

    /// Splits a node into operands, as far as they depend on both.
    pub(super) fn flatten(&self, node: u32, ops: Operators) -> Vec<Operand> {
        let (mut open, mut all) = (vec![(false, node)], Vec::new());
        while let Some((inverse, at)) = open.pop() {
            let mixed = self.of_node(at) == (true, true);
            match self.nodes[at as usize] {
                ExprNode::Binary(op, x, y) if mixed && op == ops.with => {
                    open.extend([(inverse, y), (inverse, x)]);
                }
                ExprNode::Binary(op, x, y) if mixed && ops.without == Some(op) => {
                    open.extend([(!inverse, y), (inverse, x)]);
                }
                _ => all.push((inverse, at)),
            }
        }
        all
    }

    /// Terms of an exponential, if each depends on one side only.
    pub(super) fn exponent(&self, node: u32) -> Option<Exponent> {
        let ExprNode::Unary(UnaryOp::Exp, of) = self.nodes[node as usize] else { return None };
        let (mut kept, mut reduced) = (Vec::new(), Vec::new());
        for (negative, term) in self.flatten(of, Operators::TERMS) {
            match self.of_node(term) {
                (true, false) => kept.push((negative, term)),
                (false, _) => reduced.push((negative, term)),
                _ => return None,
            }
        }
        let depends = reduced.iter().any(|&(_, term)| self.of_node(term).1);
        depends.then_some(Exponent { kept, reduced })
    }
}
