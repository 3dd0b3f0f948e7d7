//! Integers that floats hold exactly.
//!
//! `FLOAT(u[i] - 2*v[i])` of bytes and `x[h] * (h*h + w*w)` convert the result of integer arithmetic. Where interval
//! arithmetic over positions and elements of small types proves that a float of the target type holds every value on
//! the way, the operands are converted instead: the bits are the same, and the arithmetic fuses with what follows.

use crate::canonical::lanes::bounds;
use crate::graph::expr::Builder;
use crate::graph::{Expr, ExprNode, Few, Graph, Stmt, index, zero};
use ijk_ir::core::IndexExpr;
use ijk_types::{BinaryOp, DType, Scalar, UnaryOp};

/// Runs the pass.
pub(crate) fn convert_operands(graph: &mut Graph) {
    for at in 0..graph.statements.len() {
        for float in [DType::F32, DType::F64] {
            if let Some(value) = converted(graph, &graph.statements[at], float) {
                graph.statements[at].value = value;
            }
        }
    }
}

/// The values of an integer expression, as floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ExactValues {
    least: i128,
    greatest: i128,
    /// Greatest magnitude of it and of what it is computed from.
    most: i128,
    /// True if a zero may be negative.
    negative_zero: bool,
}

impl ExactValues {
    fn between(least: i128, greatest: i128) -> Self {
        let most = least.saturating_abs().max(greatest.saturating_abs());
        Self { least, greatest, most, negative_zero: false }
    }

    /// The values of a result with these bounds.
    fn of(operands: &[Self], (least, greatest): (i128, i128), negative_zero: bool) -> Self {
        let own = Self::between(least, greatest);
        let most = operands.iter().fold(own.most, |most, operand| most.max(operand.most));
        Self { most, negative_zero, ..own }
    }

    fn has_zero(self) -> bool {
        self.least <= 0 && 0 <= self.greatest
    }

    fn negated(self) -> Self {
        let zero = self.has_zero();
        Self::of(&[self], (self.greatest.saturating_neg(), self.least.saturating_neg()), zero)
    }

    fn unary(op: UnaryOp, x: Self) -> Option<Self> {
        match op {
            UnaryOp::Neg => Some(x.negated()),
            UnaryOp::Abs => {
                let least = if x.has_zero() { 0 } else { x.least.abs().min(x.greatest.abs()) };
                Some(Self::of(&[x], (least, x.least.abs().max(x.greatest.abs())), false))
            }
            _ => None,
        }
    }

    fn binary(op: BinaryOp, x: Self, y: Self, same: bool) -> Option<Self> {
        let either = x.negative_zero || y.negative_zero;
        let (bounds, negative_zero) = match op {
            BinaryOp::Add => {
                let bounds =
                    (x.least.saturating_add(y.least), x.greatest.saturating_add(y.greatest));
                (bounds, x.negative_zero && y.negative_zero)
            }
            BinaryOp::Sub => {
                let bounds =
                    (x.least.saturating_sub(y.greatest), x.greatest.saturating_sub(y.least));
                (bounds, x.negative_zero)
            }
            BinaryOp::Mul => {
                let (least, greatest) =
                    index::product_range((x.least, x.greatest), (y.least, y.greatest));
                let least = if same { least.max(0) } else { least };
                let negative = x.has_zero() && y.least < 0 || y.has_zero() && x.least < 0;
                ((least, greatest), !same && (negative || either))
            }
            BinaryOp::Min => ((x.least.min(y.least), x.greatest.min(y.greatest)), either),
            BinaryOp::Max => ((x.least.max(y.least), x.greatest.max(y.greatest)), either),
            _ => return None,
        };
        Some(Self::of(&[x, y], bounds, negative_zero))
    }

    fn select(x: Self, y: Self) -> Self {
        let bounds = (x.least.min(y.least), x.greatest.max(y.greatest));
        Self::of(&[x, y], bounds, x.negative_zero || y.negative_zero)
    }

    /// Tells whether an integer of this type holds every value.
    fn fits(self, dtype: DType) -> bool {
        let holds = |[least, greatest]: [i128; 2]| least <= self.least && self.greatest <= greatest;
        dtype.is_integer() && holds(bounds(dtype))
    }

    /// Tells whether a float of this type holds it, and what it is computed from.
    fn is_exact_in(self, dtype: DType) -> bool {
        match dtype {
            DType::F32 => self.most <= 1 << f32::MANTISSA_DIGITS,
            DType::F64 => self.most <= 1 << f64::MANTISSA_DIGITS,
            _ => false,
        }
    }
}

/// For each node, its values if it is an integer and they are known.
fn values(graph: &Graph, stmt: &Stmt, types: &[DType]) -> Few<Option<ExactValues>> {
    let extents = stmt.extents();
    let mut all: Few<Option<ExactValues>> = Few::with_capacity(types.len());
    for (at, node) in stmt.value.nodes.iter().enumerate() {
        let of = |at: u32| all[at as usize];
        let value = match *node {
            ExprNode::Index(ref e) => of_index(e, &extents),
            ExprNode::Const(value) => whole(value).map(|n| ExactValues::between(n, n)),
            ExprNode::Access(array, _) => small(graph.array(array).dtype),
            ExprNode::Unary(UnaryOp::Cast(_), x) => of(x),
            ExprNode::Unary(op, x) => of(x).and_then(|x| ExactValues::unary(op, x)),
            ExprNode::Binary(op, x, y) => {
                of(x).zip(of(y)).and_then(|(v, w)| ExactValues::binary(op, v, w, x == y))
            }
            ExprNode::Select(_, x, y) => of(x).zip(of(y)).map(|(x, y)| ExactValues::select(x, y)),
            ExprNode::Random { .. } => None,
        };
        all.push(value.filter(|value| value.fits(types[at])));
    }
    all
}

fn of_index(e: &IndexExpr, extents: &[u64]) -> Option<ExactValues> {
    let (least, greatest) = index::range(e, extents);
    (!index::reads(e)).then(|| ExactValues::between(least, greatest))
}

fn whole(value: Scalar) -> Option<i128> {
    match value {
        Scalar::I32(n) => Some(n.into()),
        Scalar::I64(n) => Some(n.into()),
        _ => None,
    }
}

/// The values of elements of at most 16 bits.
fn small(dtype: DType) -> Option<ExactValues> {
    (dtype.is_integer() && dtype.size() <= 2).then(|| {
        let [least, greatest] = bounds(dtype);
        ExactValues::between(least, greatest)
    })
}

/// The value with conversions of exact integers to a float type replaced by those of their operands; `None` if there are
/// none.
fn converted(graph: &Graph, stmt: &Stmt, float: DType) -> Option<Expr> {
    let nodes = &stmt.value.nodes;
    let converts = |node: &ExprNode| match *node {
        ExprNode::Unary(UnaryOp::Cast(to), x) if to == float && is_computed(&nodes[x as usize]) => {
            Some(x)
        }
        _ => None,
    };
    nodes.iter().find_map(converts)?;
    // The operands of a reduction may be those of a kernel of integers.
    let positions = nodes.iter().any(|node| matches!(node, ExprNode::Index(_)));
    if !positions && stmt.reduce.is_some() {
        return None;
    }
    let values = values(graph, stmt, &graph.node_types(&stmt.value));
    let exact = |node: &ExprNode| {
        let root = converts(node)?;
        let value = values[root as usize].filter(|value| value.is_exact_in(float))?;
        Some((root, value.negative_zero))
    };
    let mut needed: Few<bool> = Few::from_elem(false, nodes.len());
    for (at, node) in nodes.iter().enumerate().rev() {
        exact(node).into_iter().for_each(|(root, _)| needed[root as usize] = true);
        if needed[at] {
            operands(node).for_each(|x| needed[x as usize] = true);
        }
    }
    needed.contains(&true).then(|| rebuilt(nodes, &needed, float, exact))
}

/// The nodes rebuilt, with those needed as floats beside them.
fn rebuilt(
    nodes: &[ExprNode],
    needed: &[bool],
    float: DType,
    exact: impl Fn(&ExprNode) -> Option<(u32, bool)>,
) -> Expr {
    let mut builder = Builder::default();
    let mut places: Few<u32> = Few::with_capacity(nodes.len());
    let mut floats: Few<u32> = Few::with_capacity(nodes.len());
    for (node, &needed) in nodes.iter().zip(needed) {
        let place = match exact(node) {
            Some((root, true)) => positive_zero(&mut builder, floats[root as usize], float),
            Some((root, false)) => floats[root as usize],
            None => builder.push(node.map_children(|x| places[x as usize])),
        };
        floats.push(match (needed, node) {
            (false, _) => place,
            (true, &ExprNode::Select(c, x, y)) => {
                let [x, y] = [x, y].map(|x| floats[x as usize]);
                builder.push(ExprNode::Select(places[c as usize], x, y))
            }
            (true, node) if is_computed(node) => {
                builder.push(node.map_children(|x| floats[x as usize]))
            }
            (true, _) => builder.push(ExprNode::Unary(UnaryOp::Cast(float), place)),
        });
        places.push(place);
    }
    builder.finish(places.last().copied().unwrap_or(0))
}

/// A float without the sign of its zero.
fn positive_zero(builder: &mut Builder, at: u32, float: DType) -> u32 {
    let zero = builder.push(ExprNode::Const(zero(float)));
    builder.push(ExprNode::Binary(BinaryOp::Add, at, zero))
}

/// Tells whether a node is arithmetic that floats have as well.
fn is_computed(node: &ExprNode) -> bool {
    use BinaryOp::{Add, Max, Min, Mul, Sub};
    match node {
        ExprNode::Unary(op, _) => matches!(op, UnaryOp::Neg | UnaryOp::Abs),
        ExprNode::Binary(op, ..) => matches!(op, Add | Sub | Mul | Min | Max),
        ExprNode::Select(..) => true,
        _ => false,
    }
}

/// The operands of a node that are needed in its type.
fn operands(node: &ExprNode) -> impl Iterator<Item = u32> + '_ {
    let conditions = usize::from(matches!(node, ExprNode::Select(..)));
    node.children().filter(|_| is_computed(node)).skip(conditions)
}
