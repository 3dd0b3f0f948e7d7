//! Decomposition of a reduced value into the terms of a product.

use crate::graph::{Expr, ExprNode, expr};
use ijk_types::{BinaryOp, DType, Monoid, Scalar, UnaryOp, scalar};

/// Greatest number of terms: a value with shared nodes can have exponentially many.
const MAX_TERMS: usize = 64;

/// Two operations of a reduced value, one of which distributes over the other (a semiring).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Algebra {
    /// The multiplication.
    pub op: BinaryOp,
    /// The addition.
    pub monoid: Monoid,
    pub dtype: DType,
}

impl Algebra {
    /// The algebra of a value that a monoid reduces.
    pub(crate) fn of(monoid: Monoid, dtype: DType, value: &Expr) -> Option<Self> {
        use BinaryOp::{Add, And, Max, Min, Mul, Or, Sub};
        let root = match value.nodes.last()? {
            ExprNode::Binary(op, ..) => Some(*op),
            _ => None,
        };
        let op = match (monoid, root) {
            (Monoid::Add, _) => Mul,
            (Monoid::Max | Monoid::Min, Some(Add | Sub)) if dtype.is_float() => Add,
            (Monoid::Max, Some(Min)) => Min,
            (Monoid::Min, Some(Max)) => Max,
            (Monoid::Or, Some(And)) => And,
            (Monoid::And, Some(Or)) => Or,
            _ => return None,
        };
        Some(Self { op, monoid, dtype })
    }

    /// The inverse of the multiplication, up to rounding.
    pub(crate) fn inverse(&self) -> Option<BinaryOp> {
        let inexact = self.dtype.is_float() || self.dtype.is_complex();
        match self.op {
            BinaryOp::Mul if inexact => Some(BinaryOp::Div),
            BinaryOp::Add => Some(BinaryOp::Sub),
            _ => None,
        }
    }

    /// The identity of the multiplication.
    pub(crate) fn one(&self) -> Scalar {
        scalar::identity(Monoid::from_op(self.op).unwrap_or(Monoid::Mul), self.dtype)
    }

    /// Tells whether signs of factors can be moved to the sum.
    fn has_sign(&self) -> bool {
        self.op == BinaryOp::Mul
    }
}

/// A node that is a factor or a divisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub root: u32,
    pub inverse: bool,
}

/// Factors and divisors of a value, from left to right.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    pub all: Vec<Term>,
    /// True if the product is negated.
    pub negative: bool,
}

impl Terms {
    pub(crate) fn of(value: &Expr, algebra: &Algebra) -> Self {
        let root = value.nodes.len() as u32 - 1;
        let mut terms = Self::default();
        let mut open = vec![Term { root, inverse: false }];
        while let Some(term) = open.pop() {
            if open.len() + terms.all.len() >= MAX_TERMS
                || !terms.take_apart(value, algebra, term, &mut open)
            {
                terms.all.push(term);
            }
        }
        terms
    }

    /// Replaces a term by its own factors, if it is a product itself; returns false if not.
    fn take_apart(
        &mut self,
        value: &Expr,
        algebra: &Algebra,
        Term { root, inverse }: Term,
        open: &mut Vec<Term>,
    ) -> bool {
        let mut then = |root: u32, inverse: bool| open.push(Term { root, inverse });
        match value.nodes[root as usize] {
            ExprNode::Binary(op, x, y) if op == algebra.op => {
                then(y, inverse);
                then(x, inverse);
            }
            ExprNode::Binary(op, x, y) if Some(op) == algebra.inverse() => {
                then(y, !inverse);
                then(x, inverse);
            }
            ExprNode::Unary(UnaryOp::Recip, x) if algebra.inverse() == Some(BinaryOp::Div) => {
                then(x, !inverse);
            }
            ExprNode::Unary(UnaryOp::Neg, x) if algebra.has_sign() => {
                self.negative = !self.negative;
                then(x, inverse);
            }
            ExprNode::Binary(BinaryOp::Sub, zero, x)
                if algebra.has_sign() && expr::is_zero_node(&value.nodes[zero as usize]) =>
            {
                self.negative = !self.negative;
                then(x, inverse);
            }
            // These differ in the sign of a zero only, which a sum that starts from 0 drops.
            ExprNode::Binary(BinaryOp::Add, zero, x)
                if algebra.has_sign() && expr::is_zero_node(&value.nodes[zero as usize]) =>
            {
                then(x, inverse);
            }
            ExprNode::Binary(BinaryOp::Add | BinaryOp::Sub, x, zero)
                if algebra.has_sign() && expr::is_zero_node(&value.nodes[zero as usize]) =>
            {
                then(x, inverse);
            }
            _ => return false,
        }
        true
    }
}
