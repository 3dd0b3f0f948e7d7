//! Builder of scalar expressions: shares equal nodes, folds constants, writes small powers as products.

use crate::graph::{Expr, ExprNode, Few, index};
use ijk_ir::core::{Access, IndexExpr, Span};
use ijk_types::{BinaryOp, DType, Scalar, UnaryOp, scalar};

/// Collects nodes; finish with [`Builder::finish`].
#[derive(Default)]
pub(crate) struct Builder {
    nodes: Vec<ExprNode>,
}

impl Builder {
    /// Adds a node, or finds an equal one; returns its position.
    pub(crate) fn push(&mut self, node: ExprNode) -> u32 {
        let node = match self.fold(&node) {
            Some(Folded::Value(value)) => ExprNode::Const(value),
            Some(Folded::Operand(at)) => return at,
            None => {
                let node = self.without_division(&node).unwrap_or(node);
                let other = self.power(&node).or_else(|| self.magnitude(&node));
                other.or_else(|| self.without_signs(&node)).unwrap_or(node)
            }
        };
        if let Some(at) = self.nodes.iter().position(|other| same(other, &node)) {
            return at as u32;
        }
        self.nodes.push(node);
        (self.nodes.len() - 1) as u32
    }

    /// Adds an expression, with each leaf replaced by the node that `leaf` returns.
    pub(crate) fn push_expr(
        &mut self,
        value: &Expr,
        mut leaf: impl FnMut(&mut Self, &ExprNode) -> Option<u32>,
    ) -> Option<u32> {
        let mut positions: Few<u32> = Few::with_capacity(value.nodes.len());
        for node in &value.nodes {
            let at = match node {
                ExprNode::Access(..) | ExprNode::Index(_) => leaf(self, node)?,
                _ => self.push(node.map_children(|c| positions[c as usize])),
            };
            positions.push(at);
        }
        positions.last().copied()
    }

    /// Adds an expression unchanged.
    pub(crate) fn push_all(&mut self, value: &Expr) -> u32 {
        let mut positions: Few<u32> = Few::with_capacity(value.nodes.len());
        for node in &value.nodes {
            let at = self.push(node.map_children(|c| positions[c as usize]));
            positions.push(at);
        }
        positions.last().copied().unwrap_or(0)
    }

    /// The expression whose value is the node `root`.
    pub(crate) fn finish(self, root: u32) -> Expr {
        extract(&self.nodes, root)
    }

    /// Rewrites a small power as a product or reciprocal: the same bits, by the definition of powers of floats.
    fn power(&mut self, node: &ExprNode) -> Option<ExprNode> {
        let ExprNode::Binary(BinaryOp::Pow, x, y) = *node else { return None };
        let exponent = whole(self.constant(y)?)?;
        let product = |x, y| ExprNode::Binary(BinaryOp::Mul, x, y);
        match exponent {
            2 => Some(product(x, x)),
            3 => Some(product(self.push(product(x, x)), x)),
            4 => {
                let square = self.push(product(x, x));
                Some(product(square, square))
            }
            -1 if self.is_float(y) => Some(ExprNode::Unary(UnaryOp::Recip, x)),
            _ => None,
        }
    }

    /// Rewrites a division by a power of two as a product: both round the same number.
    fn without_division(&mut self, node: &ExprNode) -> Option<ExprNode> {
        let ExprNode::Binary(BinaryOp::Div, x, y) = *node else { return None };
        let inverse = exact_inverse(self.constant(y)?)?;
        Some(ExprNode::Binary(BinaryOp::Mul, x, self.push(ExprNode::Const(inverse))))
    }

    /// Absorbs the signs of operands into the operator, bit for bit: a difference is the sum with the opposite by
    /// definition, and signs of factors cancel.
    fn without_signs(&self, node: &ExprNode) -> Option<ExprNode> {
        use BinaryOp::{Add, Mul, Sub};
        let plus = |x, y| ExprNode::Binary(Add, x, y);
        let minus = |x, y| ExprNode::Binary(Sub, x, y);
        Some(match *node {
            ExprNode::Unary(UnaryOp::Abs, x) => ExprNode::Unary(UnaryOp::Abs, self.negated(x)?),
            ExprNode::Binary(op, x, y) => match (op, self.negated(x), self.negated(y)) {
                (Add, _, Some(y)) => minus(x, y),
                (Add, Some(x), None) => minus(y, x),
                (Sub, _, Some(y)) => plus(x, y),
                (Mul, Some(x), Some(y)) => ExprNode::Binary(Mul, x, y),
                (Mul, ..) if self.is_minus_one(y) => ExprNode::Unary(UnaryOp::Neg, x),
                (Mul, ..) if self.is_minus_one(x) => ExprNode::Unary(UnaryOp::Neg, y),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// Moves constant factors and divisors out of a magnitude, bit for bit: rounding does not depend on signs.
    fn magnitude(&mut self, node: &ExprNode) -> Option<ExprNode> {
        use BinaryOp::{Div, Mul};
        let ExprNode::Unary(UnaryOp::Abs, mut root) = *node else { return None };
        let mut outer = Vec::new();
        while let ExprNode::Binary(op @ (Mul | Div), x, y) = self.nodes[root as usize] {
            let (number, inner) = match (self.is_float(x), self.is_float(y)) {
                (true, false) => (x, y),
                (false, true) => (y, x),
                _ => break,
            };
            outer.push((op, number, number == x));
            root = inner;
        }
        if outer.is_empty() {
            return None;
        }
        let mut value = self.push(ExprNode::Unary(UnaryOp::Abs, root));
        for (op, number, left) in outer.into_iter().rev() {
            let number = self.push(ExprNode::Unary(UnaryOp::Abs, number));
            let (x, y) = if left { (number, value) } else { (value, number) };
            value = self.push(ExprNode::Binary(op, x, y));
        }
        Some(self.nodes[value as usize].clone())
    }

    /// Operand of a negation.
    pub(crate) fn negated(&self, at: u32) -> Option<u32> {
        match self.nodes[at as usize] {
            ExprNode::Unary(UnaryOp::Neg, x) => Some(x),
            _ => None,
        }
    }

    /// The node at a position.
    pub(crate) fn node(&self, at: u32) -> &ExprNode {
        &self.nodes[at as usize]
    }

    fn is_minus_one(&self, at: u32) -> bool {
        self.constant(at).and_then(whole) == Some(-1)
    }

    fn is_float(&self, constant: u32) -> bool {
        matches!(self.constant(constant), Some(Scalar::F32(_) | Scalar::F64(_)))
    }

    fn constant(&self, at: u32) -> Option<Scalar> {
        match self.nodes[at as usize] {
            ExprNode::Const(value) => Some(value),
            _ => None,
        }
    }

    fn fold(&self, node: &ExprNode) -> Option<Folded> {
        match *node {
            ExprNode::Unary(op, x) => match (self.constant(x), self.negated(x)) {
                (Some(value), _) => scalar::unary(op, value).ok().map(Folded::Value),
                (_, Some(x)) if op == UnaryOp::Neg => Some(Folded::Operand(x)),
                _ => None,
            },
            ExprNode::Binary(op, x, y) => self.fold_binary(op, x, y),
            ExprNode::Select(condition, yes, no) => match self.constant(condition) {
                Some(Scalar::Bool(holds)) => Some(Folded::Operand(if holds { yes } else { no })),
                _ => None,
            },
            _ => None,
        }
    }

    fn fold_binary(&self, op: BinaryOp, x: u32, y: u32) -> Option<Folded> {
        match (self.constant(x), self.constant(y)) {
            (Some(a), Some(b)) => scalar::binary(op, a, b).ok().map(Folded::Value),
            (Some(a), None) if is_neutral(op, a) => Some(Folded::Operand(y)),
            (None, Some(b)) if is_neutral(op, b) || leaves(op, b) => Some(Folded::Operand(x)),
            _ => None,
        }
    }
}

enum Folded {
    Value(Scalar),
    Operand(u32),
}

/// Tells whether `op` with this operand returns the other one bit for bit: `0 + -0.0` does not.
fn is_neutral(op: BinaryOp, value: Scalar) -> bool {
    match op {
        BinaryOp::Add => {
            matches!(value, Scalar::I32(0) | Scalar::I64(0) | Scalar::Bool(false))
                || is_float_zero(value, true)
        }
        BinaryOp::Mul => match value {
            Scalar::I32(1) | Scalar::I64(1) | Scalar::Bool(true) => true,
            Scalar::F32(x) => x == 1.0,
            Scalar::F64(x) => x == 1.0,
            _ => false,
        },
        BinaryOp::And => matches!(value, Scalar::Bool(true)),
        BinaryOp::Or => matches!(value, Scalar::Bool(false)),
        _ => false,
    }
}

/// Tells whether a quotient, power or difference with this right operand returns the left one bit for bit.
fn leaves(op: BinaryOp, right: Scalar) -> bool {
    match op {
        BinaryOp::Div | BinaryOp::Pow => whole(right) == Some(1),
        BinaryOp::Sub => {
            matches!(right, Scalar::I32(0) | Scalar::I64(0)) || is_float_zero(right, false)
        }
        _ => false,
    }
}

/// Tells whether a node is the number 0, of either sign.
pub(crate) fn is_zero_node(node: &ExprNode) -> bool {
    matches!(node, ExprNode::Const(value) if is_zero(*value))
}

/// Tells whether a node is the real number 1.
pub(crate) fn is_one_node(node: &ExprNode) -> bool {
    matches!(node, ExprNode::Const(value) if whole(*value) == Some(1))
}

/// Tells whether a real number is 0, of either sign.
pub(crate) fn is_zero(value: Scalar) -> bool {
    whole(value) == Some(0)
}

/// Tells whether a real floating-point number is the zero of this sign.
fn is_float_zero(value: Scalar, negative: bool) -> bool {
    let is = |x: f64| x == 0.0 && x.is_sign_negative() == negative;
    match value {
        Scalar::F32(x) => is(x.into()),
        Scalar::F64(x) => is(x),
        _ => false,
    }
}

/// The inverse of a power of two, if it is a normal number, too.
pub(crate) fn exact_inverse(value: Scalar) -> Option<Scalar> {
    match value {
        Scalar::F32(x)
            if x.is_normal() && x.to_bits().trailing_zeros() >= f32::MANTISSA_DIGITS - 1 =>
        {
            Some(x.recip()).filter(|inverse| inverse.is_normal()).map(Scalar::F32)
        }
        Scalar::F64(x)
            if x.is_normal() && x.to_bits().trailing_zeros() >= f64::MANTISSA_DIGITS - 1 =>
        {
            Some(x.recip()).filter(|inverse| inverse.is_normal()).map(Scalar::F64)
        }
        _ => None,
    }
}

/// Value of a real constant that is a small integer.
fn whole(value: Scalar) -> Option<i64> {
    let small = |x: f64| (x.trunc() == x && x.abs() <= 64.0).then_some(x as i64);
    match value {
        Scalar::I32(n) => Some(n.into()),
        Scalar::I64(n) => Some(n),
        Scalar::F32(x) => small(x.into()),
        Scalar::F64(x) => small(x),
        _ => None,
    }
}

/// An integer node as an index expression.
pub(crate) fn as_index(value: &Expr, types: &[DType], at: u32) -> Option<IndexExpr> {
    let integer = matches!(types[at as usize], DType::I32 | DType::I64);
    match &value.nodes[at as usize] {
        ExprNode::Index(e) => Some(e.clone()),
        ExprNode::Access(array, index) if integer => {
            let (array, index) = (*array, index.clone());
            Some(IndexExpr::element(Access { array, index, span: Span::default() }))
        }
        ExprNode::Const(Scalar::I64(n)) => Some(IndexExpr::constant(*n)),
        // Narrower integers wrap around.
        ExprNode::Binary(BinaryOp::Add, x, y) if types[at as usize] == DType::I64 => {
            index::add(&as_index(value, types, *x)?, &as_index(value, types, *y)?)
        }
        ExprNode::Binary(BinaryOp::Sub, x, y) if types[at as usize] == DType::I64 => {
            let right = index::scale(&as_index(value, types, *y)?, -1)?;
            index::add(&as_index(value, types, *x)?, &right)
        }
        ExprNode::Unary(UnaryOp::Cast(DType::I64), x) if integer => as_index(value, types, *x),
        _ => None,
    }
}

/// A value with some nodes replaced: `replace` adds what stands for a node, or returns `None` if it stays.
pub(crate) fn rebuilt(
    value: &Expr,
    mut replace: impl FnMut(&mut Builder, usize) -> Option<u32>,
) -> Expr {
    let mut builder = Builder::default();
    let mut places: Few<u32> = Few::with_capacity(value.nodes.len());
    for (at, node) in value.nodes.iter().enumerate() {
        let stays =
            |builder: &mut Builder| builder.push(node.map_children(|child| places[child as usize]));
        let place = replace(&mut builder, at).unwrap_or_else(|| stays(&mut builder));
        places.push(place);
    }
    builder.finish(places.last().copied().unwrap_or(0))
}

/// A value with a condition replaced by its truth.
pub(crate) fn decided(value: &Expr, condition: u32, truth: bool) -> Expr {
    let known = |at| (at == condition as usize).then_some(ExprNode::Const(Scalar::Bool(truth)));
    rebuilt(value, |builder, at| known(at).map(|node| builder.push(node)))
}

/// The expression rooted at a node, without unused nodes.
pub(crate) fn extract(nodes: &[ExprNode], root: u32) -> Expr {
    let mut needed: Few<bool> = Few::from_elem(false, root as usize + 1);
    needed[root as usize] = true;
    for at in (0..=root as usize).rev() {
        if needed[at] {
            nodes[at].children().for_each(|c| needed[c as usize] = true);
        }
    }
    let mut positions: Few<u32> = Few::from_elem(0, needed.len());
    let mut kept = Vec::with_capacity(needed.iter().filter(|needed| **needed).count());
    for at in (0..needed.len()).filter(|&at| needed[at]) {
        positions[at] = kept.len() as u32;
        kept.push(nodes[at].map_children(|c| positions[c as usize]));
    }
    Expr { nodes: kept }
}

/// Tells whether two expressions are equal but for the order of their nodes, hence have the same bits.
pub(crate) fn same_expr(left: &Expr, right: &Expr) -> bool {
    if left.nodes.len() != right.nodes.len() {
        return false;
    }
    let mut equals: Few<u32> = Few::with_capacity(left.nodes.len());
    for (at, node) in left.nodes.iter().enumerate() {
        let node = node.map_children(|child| equals[child as usize]);
        // Most often the order is the same, too.
        let equal = match same(&right.nodes[at], &node) {
            true => Some(at),
            false => right.nodes.iter().position(|other| same(other, &node)),
        };
        let Some(equal) = equal else { return false };
        equals.push(equal as u32);
    }
    equals.last().is_none_or(|&root| root as usize + 1 == right.nodes.len())
}

/// Tells whether two nodes are structurally equal, hence have the same bits.
pub(crate) fn same(left: &ExprNode, right: &ExprNode) -> bool {
    match (left, right) {
        (ExprNode::Access(a, i), ExprNode::Access(b, j)) => a == b && i == j,
        (ExprNode::Const(a), ExprNode::Const(b)) => same_bits(*a, *b),
        (ExprNode::Index(a), ExprNode::Index(b)) => a == b,
        (ExprNode::Unary(p, x), ExprNode::Unary(q, y)) => p == q && x == y,
        (ExprNode::Binary(p, x0, x1), ExprNode::Binary(q, y0, y1)) => {
            p == q && x0 == y0 && x1 == y1
        }
        (ExprNode::Select(x0, x1, x2), ExprNode::Select(y0, y1, y2)) => {
            (x0, x1, x2) == (y0, y1, y2)
        }
        _ => false,
    }
}

pub(crate) fn same_bits(a: Scalar, b: Scalar) -> bool {
    a.same_bits(b)
}

/// Tells whether the operator can fail for some element type.
pub(crate) fn is_partial(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Div | BinaryOp::Mod | BinaryOp::Pow)
}

/// Tells whether the operator can fail on this type: integer division, remainder and power, unless a constant right
/// operand excludes it.
pub(crate) fn can_fail(op: BinaryOp, dtype: DType, right: Option<Scalar>) -> bool {
    if !dtype.is_integer() || !is_partial(op) {
        return false;
    }
    let right = match right {
        Some(Scalar::I32(x)) => Some(i64::from(x)),
        Some(Scalar::I64(x)) => Some(x),
        Some(Scalar::U64(x)) => Some(i64::from(x != 0)),
        _ => None,
    };
    match op {
        BinaryOp::Div | BinaryOp::Mod => right.is_none_or(|x| x == 0),
        BinaryOp::Pow => !dtype.is_unsigned() && right.is_none_or(|x| x < 0),
        _ => false,
    }
}

/// Tells whether drawing a random number in `[lo, hi)` can fail; `None` is a bound known only at run time.
pub(crate) fn random_can_fail(lo: Option<Scalar>, hi: Option<Scalar>) -> bool {
    match (lo, hi) {
        (Some(Scalar::I64(lo)), Some(Scalar::I64(hi))) => lo >= hi,
        (Some(Scalar::F64(lo)), Some(Scalar::F64(hi))) => {
            !(lo < hi && lo.is_finite() && hi.is_finite())
        }
        _ => true,
    }
}
