//! Abstract values of statements outside of a range of an axis, where a mask fixes them.

use crate::graph::expr::same_bits;
use crate::graph::{ExprNode, Graph, Stmt, index, zero};
use ijk_ir::core::{ArrayId, Atom, IndexExpr};
use ijk_types::{BinaryOp, DType, Scalar, UnaryOp, scalar};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Arrays that must be finite for a fact to hold.
pub(super) type Needs = BTreeSet<ArrayId>;

/// Abstract value at a set of points.
#[derive(Clone, Debug)]
pub(super) enum AbstractValue {
    /// A constant, up to the sign of a zero.
    Known(Scalar, Needs),
    /// Finite, neither infinite nor NaN.
    Finite(Needs),
    Any,
}

/// A statement, and one of its axes.
pub(super) struct Line<'a> {
    pub graph: &'a Graph,
    pub stmt: &'a Stmt,
    /// The axis.
    pub axis: usize,
    /// Values of each axis; all of them along the axis itself.
    pub points: Vec<Range<i128>>,
}

impl Line<'_> {
    /// The value at points outside of a range of the axis, given the arrays that are read along it.
    pub(super) fn outside(
        &self,
        range: &Range<i128>,
        known: &BTreeMap<ArrayId, AbstractValue>,
    ) -> AbstractValue {
        let types = self.graph.node_types(&self.stmt.value);
        let mut values: Vec<AbstractValue> = Vec::with_capacity(types.len());
        for (node, &dtype) in self.stmt.value.nodes.iter().zip(&types) {
            let of = |at: u32| &values[at as usize];
            let value = match *node {
                ExprNode::Access(array, _) => match known.get(&array) {
                    Some(value) => value.clone(),
                    None if dtype.is_integer() || dtype == DType::Bool => {
                        AbstractValue::Finite(Needs::new())
                    }
                    None => AbstractValue::Finite(Needs::from([array])),
                },
                ExprNode::Const(value) => AbstractValue::Known(value, Needs::new()),
                ExprNode::Index(_) => AbstractValue::Finite(Needs::new()),
                ExprNode::Unary(op, x) => unary(op, of(x)),
                ExprNode::Binary(op, x, y) => binary(op, of(x), of(y), dtype),
                ExprNode::Select(c, x, y) => {
                    let never = |holds| inside(&self.hull(c, holds), range);
                    match (never(true), never(false)) {
                        (true, _) => of(y).clone(),
                        (_, true) => of(x).clone(),
                        _ => either(of(x), of(y)),
                    }
                }
                ExprNode::Random { .. } => AbstractValue::Any,
            };
            values.push(value);
        }
        values.pop().unwrap_or(AbstractValue::Any)
    }

    /// The least range outside of which a condition never holds (or never fails, if `holds` is false).
    pub(super) fn hull(&self, condition: u32, holds: bool) -> Range<i128> {
        match self.stmt.value.nodes[condition as usize] {
            ExprNode::Const(Scalar::Bool(value)) if value != holds => 0..0,
            ExprNode::Unary(UnaryOp::Not, x) => self.hull(x, !holds),
            ExprNode::Binary(op @ (BinaryOp::And | BinaryOp::Or), x, y) => {
                let (x, y) = (self.hull(x, holds), self.hull(y, holds));
                match (op == BinaryOp::And) == holds {
                    true => x.start.max(y.start)..x.end.min(y.end),
                    false if x.is_empty() => y,
                    false if y.is_empty() => x,
                    false => x.start.min(y.start)..x.end.max(y.end),
                }
            }
            ExprNode::Binary(op, x, y) => self.compared(op, (x, y), holds),
            _ => self.points[self.axis].clone(),
        }
    }

    /// The hull of a comparison of affine expressions.
    fn compared(&self, op: BinaryOp, (x, y): (u32, u32), holds: bool) -> Range<i128> {
        let all = self.points[self.axis].clone();
        let difference = || {
            let (x, y) = (self.linear(x)?, self.linear(y)?);
            let exact = self.is_exact(&x) && self.is_exact(&y);
            index::add(&x, &index::scale(&y, -1)?).filter(|_| exact)
        };
        let Some(difference) = difference() else { return all };
        let (most, least) = (i128::MAX / 4, i128::MIN / 4);
        // Bounds of the difference where the comparison holds.
        let (low, high) = match (op, holds) {
            (BinaryOp::Lt, true) | (BinaryOp::Ge, false) => (least, -1),
            (BinaryOp::Le, true) | (BinaryOp::Gt, false) => (least, 0),
            (BinaryOp::Gt, true) | (BinaryOp::Le, false) => (1, most),
            (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => (0, most),
            (BinaryOp::Eq, true) | (BinaryOp::Ne, false) => (0, 0),
            _ => return all,
        };
        self.where_within(&difference, low, high)
    }

    /// Tells whether an affine expression cannot overflow an i64, nor can its parts.
    fn is_exact(&self, e: &IndexExpr) -> bool {
        let term = |(factor, atom): &(i64, Atom)| match atom {
            Atom::Axis(axis) => {
                i128::from(factor.unsigned_abs()).saturating_mul(self.points[axis.0 as usize].end)
            }
            _ => i128::MAX,
        };
        let constant = i128::from(e.constant.unsigned_abs());
        e.terms.iter().map(term).fold(constant, i128::saturating_add) < i128::from(i64::MAX)
    }

    /// Values of the axis for which an affine expression can be within bounds.
    fn where_within(&self, e: &IndexExpr, low: i128, high: i128) -> Range<i128> {
        let all = self.points[self.axis].clone();
        let (mut own, mut least, mut greatest) =
            (0, i128::from(e.constant), i128::from(e.constant));
        for (factor, atom) in &e.terms {
            let Atom::Axis(axis) = atom else { return all };
            let (factor, axis) = (i128::from(*factor), axis.0 as usize);
            if axis == self.axis {
                own = factor;
                continue;
            }
            let ends = [self.points[axis].start, self.points[axis].end - 1];
            let [x, y] = ends.map(|end| factor.saturating_mul(end));
            (least, greatest) = (least.saturating_add(x.min(y)), greatest.saturating_add(x.max(y)));
        }
        // low <= own · axis + rest <= high for some rest in least..=greatest.
        let (from, to) = (low.saturating_sub(greatest), high.saturating_sub(least));
        match own {
            0 if from <= 0 && 0 <= to => all,
            0 => 0..0,
            1.. => clamped(-(-from).div_euclid(own), to.div_euclid(own), &all),
            _ => clamped(-to.div_euclid(-own), (-from).div_euclid(-own), &all),
        }
    }

    /// A node as an affine expression of indices.
    fn linear(&self, at: u32) -> Option<IndexExpr> {
        match &self.stmt.value.nodes[at as usize] {
            ExprNode::Index(e) => e.is_affine().then(|| e.clone()),
            ExprNode::Const(Scalar::I64(n)) => Some(IndexExpr::constant(*n)),
            ExprNode::Access(array, index) if self.graph.numbers.contains(array) => {
                let [e] = &index[..] else { return None };
                e.is_affine().then(|| e.clone())
            }
            ExprNode::Unary(UnaryOp::Neg, x) => index::scale(&self.linear(*x)?, -1),
            ExprNode::Binary(BinaryOp::Add, x, y) => {
                index::add(&self.linear(*x)?, &self.linear(*y)?)
            }
            ExprNode::Binary(BinaryOp::Sub, x, y) => {
                index::add(&self.linear(*x)?, &index::scale(&self.linear(*y)?, -1)?)
            }
            ExprNode::Binary(BinaryOp::Mul, x, y) => {
                let (x, y) = (self.linear(*x)?, self.linear(*y)?);
                match (x.terms.is_empty(), y.terms.is_empty()) {
                    (true, _) => index::scale(&y, x.constant),
                    (_, true) => index::scale(&x, y.constant),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// The values from `from` to `to` inclusive, within `all`.
fn clamped(from: i128, to: i128, all: &Range<i128>) -> Range<i128> {
    let (from, to) = (from.max(all.start), to.saturating_add(1).min(all.end));
    if from < to { from..to } else { 0..0 }
}

/// Tells whether a range is a subset of another one.
fn inside(range: &Range<i128>, other: &Range<i128>) -> bool {
    range.is_empty() || (other.start <= range.start && range.end <= other.end)
}

/// Join of two abstract values.
fn either(x: &AbstractValue, y: &AbstractValue) -> AbstractValue {
    match (x, y) {
        (AbstractValue::Known(a, p), AbstractValue::Known(b, q)) if same_bits(*a, *b) => {
            AbstractValue::Known(*a, union(p, q))
        }
        (AbstractValue::Finite(p), AbstractValue::Finite(q)) => AbstractValue::Finite(union(p, q)),
        (AbstractValue::Known(a, p), AbstractValue::Finite(q))
        | (AbstractValue::Finite(q), AbstractValue::Known(a, p))
            if is_finite(*a) =>
        {
            AbstractValue::Finite(union(p, q))
        }
        _ => AbstractValue::Any,
    }
}

fn unary(op: UnaryOp, x: &AbstractValue) -> AbstractValue {
    match x {
        // The sign of the zero is unknown.
        AbstractValue::Known(value, _) if op == UnaryOp::Recip && is_zero(*value) => {
            AbstractValue::Any
        }
        AbstractValue::Known(value, needs) => match scalar::unary(op, *value) {
            Ok(value) => AbstractValue::Known(value, needs.clone()),
            Err(_) => AbstractValue::Any,
        },
        AbstractValue::Finite(needs)
            if matches!(op, UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Not) =>
        {
            AbstractValue::Finite(needs.clone())
        }
        _ => AbstractValue::Any,
    }
}

/// A binary operator on abstract values.
fn binary(op: BinaryOp, x: &AbstractValue, y: &AbstractValue, dtype: DType) -> AbstractValue {
    use AbstractValue::{Any, Finite, Known};
    let signed = matches!(op, BinaryOp::Div | BinaryOp::Atan2 | BinaryOp::Pow | BinaryOp::Log);
    match (x, y) {
        (Known(a, _), Known(b, _)) if signed && (is_zero(*a) || is_zero(*b)) => Any,
        (Known(a, p), Known(b, q)) => match scalar::binary(op, *a, *b) {
            Ok(value) => Known(value, union(p, q)),
            Err(_) => Any,
        },
        (Known(a, p), Finite(q)) => match op {
            BinaryOp::Mul if is_zero(*a) => Known(zero(dtype), union(p, q)),
            BinaryOp::Add | BinaryOp::Sub if is_infinite(*a) => Known(*a, union(p, q)),
            _ => Any,
        },
        (Finite(p), Known(b, q)) => match op {
            BinaryOp::Mul if is_zero(*b) => Known(zero(dtype), union(p, q)),
            BinaryOp::Add if is_infinite(*b) => Known(*b, union(p, q)),
            BinaryOp::Sub if is_infinite(*b) => {
                scalar::unary(UnaryOp::Neg, *b).map_or(Any, |value| Known(value, union(p, q)))
            }
            _ => Any,
        },
        _ => Any,
    }
}

fn union(p: &Needs, q: &Needs) -> Needs {
    p | q
}

/// Tells whether a scalar is 0, of either sign.
pub(super) fn is_zero(value: Scalar) -> bool {
    match value {
        Scalar::F32(x) => x == 0.0,
        Scalar::F64(x) => x == 0.0,
        other => same_bits(other, zero(other.dtype())),
    }
}

fn is_infinite(value: Scalar) -> bool {
    match value {
        Scalar::F32(x) => x.is_infinite(),
        Scalar::F64(x) => x.is_infinite(),
        _ => false,
    }
}

fn is_finite(value: Scalar) -> bool {
    match value {
        Scalar::F32(x) => x.is_finite(),
        Scalar::F64(x) => x.is_finite(),
        Scalar::C64(_) | Scalar::C128(_) => false,
        _ => true,
    }
}
