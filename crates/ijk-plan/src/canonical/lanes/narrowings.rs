//! Casts to a narrow type and back that nothing distinguishes.
//!
//! Where only the low bits of an integer are used, as in sums and products that are stored in a narrow type, narrower
//! operands need not be cut before. A statement that reduces `f16` or `bf16` does not round what it computes of these
//! (unless it is strict, and a former statement rounded it); a conversion of another type is rounded as written.

use super::casts::bounds;
use super::is_narrow;
use crate::graph::expr::Builder;
use crate::graph::{Expr, ExprNode, Few, Graph};
use ijk_types::{BinaryOp, DType, Reducer, UnaryOp};

/// Runs the pass.
pub(crate) fn drop_narrowings(graph: &mut Graph) {
    for at in 0..graph.statements.len() {
        let stmt = &graph.statements[at];
        let narrows = |node: &ExprNode| matches!(node, ExprNode::Unary(UnaryOp::Cast(to), _) if is_narrow(*to));
        if stmt.scan.is_some() || !stmt.value.nodes.iter().any(narrows) {
            continue;
        }
        let sums = !graph.strict && matches!(stmt.reduce, Some(Reducer::Monoid(_)));
        let value = without_narrowings(graph, &stmt.value, sums);
        graph.statements[at].value = value;
    }
}

/// Bits of an integer type.
fn bits(t: DType) -> u32 {
    8 * t.size() as u32
}

/// For each node the number of its low bits that are used.
fn used_bits(value: &Expr, types: &[DType]) -> Few<u32> {
    let mut used: Few<u32> = Few::from_elem(0, value.nodes.len());
    if let Some(root) = used.last_mut() {
        *root = u32::MAX;
    }
    for at in (0..value.nodes.len()).rev() {
        let whole = types[at].is_integer();
        let own = used[at];
        let mut need = |child: u32, count: u32| {
            used[child as usize] = used[child as usize].max(count);
        };
        match value.nodes[at] {
            ExprNode::Unary(UnaryOp::Cast(to), x) if whole && types[x as usize].is_integer() => {
                // Extension needs all bits; what is cut needs no more than are left.
                let cut = bits(to) <= bits(types[x as usize]);
                need(x, if cut { own.min(bits(to)) } else { u32::MAX });
            }
            ExprNode::Unary(UnaryOp::Neg, x) if whole => need(x, own),
            ExprNode::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, x, y) if whole => {
                need(x, own);
                need(y, own);
            }
            ExprNode::Select(c, x, y) if whole => {
                need(c, u32::MAX);
                need(x, own);
                need(y, own);
            }
            ref other => other.children().for_each(|child| need(child, u32::MAX)),
        }
    }
    used
}

/// Origin of a node's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Constants,
    /// Elements of a narrow type, each widened.
    Narrow(DType),
    Other,
}

impl Source {
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Constants, source) | (source, Self::Constants) => source,
            _ if self == other => self,
            _ => Self::Other,
        }
    }
}

/// For each node the origin of its value.
fn computed_from(value: &Expr, types: &[DType]) -> Few<Source> {
    let mut sources: Few<Source> = Few::with_capacity(value.nodes.len());
    for node in &value.nodes {
        let of = |child: u32| sources[child as usize];
        sources.push(match *node {
            ExprNode::Const(_) => Source::Constants,
            ExprNode::Unary(UnaryOp::Cast(_), x) if is_narrow(types[x as usize]) => {
                Source::Narrow(types[x as usize])
            }
            ExprNode::Unary(UnaryOp::Cast(_), _) => Source::Other,
            ExprNode::Unary(_, x) => of(x),
            ExprNode::Binary(_, x, y) | ExprNode::Select(_, x, y) => of(x).with(of(y)),
            _ => Source::Other,
        });
    }
    sources
}

/// For each node whether it must have the value that is written: a conversion of it to another type shows a rounding.
fn converted(value: &Expr, types: &[DType], computed: &[Source]) -> Few<bool> {
    let mut shown: Few<bool> = Few::from_elem(false, value.nodes.len());
    for at in (0..value.nodes.len()).rev() {
        let node = &value.nodes[at];
        let converts = |x: u32| match *node {
            ExprNode::Unary(UnaryOp::Cast(to), _) => {
                let narrow = Source::Narrow(to) == computed[x as usize];
                to != types[x as usize].lanes() && !narrow
            }
            _ => false,
        };
        node.children().for_each(|x| shown[x as usize] |= shown[at] || converts(x));
    }
    shown
}

fn without_narrowings(graph: &Graph, value: &Expr, sums: bool) -> Expr {
    let types = graph.node_types(value);
    let used = used_bits(value, &types);
    let computed = computed_from(value, &types);
    let shown = converted(value, &types, &computed);
    let reduced = computed.last().copied().unwrap_or(Source::Other);
    let mut builder = Builder::default();
    let mut places: Few<u32> = Few::with_capacity(value.nodes.len());
    // Nodes that have other values than as written: what is beyond the narrow type is cut later.
    let mut uncut: Few<bool> = Few::from_elem(false, value.nodes.len());
    for (at, node) in value.nodes.iter().enumerate() {
        let source = match *node {
            ExprNode::Unary(UnaryOp::Cast(wide), x) => match value.nodes[x as usize] {
                ExprNode::Unary(UnaryOp::Cast(narrow), y) if types[y as usize] == wide => {
                    let whole = wide.is_integer() && narrow.is_integer();
                    let unused = whole && used[at].min(bits(wide)) <= bits(narrow);
                    let float = is_narrow(narrow) && narrow.is_float();
                    let rounded = sums
                        && float
                        && !shown[at]
                        && [computed[y as usize], reduced] == [Source::Narrow(narrow); 2];
                    let same = !uncut[y as usize] && holds(value, &types, y, narrow);
                    uncut[at] = !same && (unused || rounded);
                    (same || uncut[at]).then_some(y)
                }
                _ => None,
            },
            _ => None,
        };
        places.push(match source {
            Some(y) => places[y as usize],
            None => builder.push(node.map_children(|child| places[child as usize])),
        });
    }
    builder.finish(places.last().copied().unwrap_or(0))
}

/// Tells whether an integer node is the cast of one whose type is within a narrow type.
fn holds(value: &Expr, types: &[DType], at: u32, narrow: DType) -> bool {
    let ExprNode::Unary(UnaryOp::Cast(_), x) = value.nodes[at as usize] else { return false };
    let from = types[x as usize];
    let within = |[least, most]: [i128; 2], [low, high]: [i128; 2]| low <= least && most <= high;
    from.is_integer() && narrow.is_integer() && within(bounds(from), bounds(narrow))
}
