//! Prefix sums of exponentials, relative to running maxima (log-sum-exp).
//!
//! `Σ w[q]·exp(a[q] - m[p])` over `q <= p` is a sum relative to the level `M[p]`, the running maximum of `a[q]`, times
//! `exp(M[p] - m[p])`. At each step the sum so far is scaled down by the rise of the level, so it overflows no sooner
//! than as written. If `m` is that level itself, the usual way to write such sums, no final factor remains.

use super::factors::{Exponent, Factored};
use super::operands::{Operators, import, join};
use super::{Prefix, set};
use crate::graph::axes::restrict;
use crate::graph::expr::{Builder, same_expr};
use crate::graph::{Expr, ExprNode, Graph, Stmt, index};
use ijk_ir::core::{ArrayId, Atom, AxisId, IndexExpr, Init};
use ijk_types::{BinaryOp, Monoid, Reducer, UnaryOp};

/// The running maximum of the exponent: an array and its index by the position.
struct Level {
    array: ArrayId,
    index: Vec<IndexExpr>,
    /// The term of the exponent that equals it, if any.
    term: Option<u32>,
}

/// Adds the statements that compute a prefix sum of exponentials.
pub(super) fn lower(graph: &mut Graph, sum: &Factored, exponent: &Exponent) {
    let Prefix { stmt, p, q, .. } = &sum.prefix;
    let value = &stmt.value;
    let mut builder = Builder::default();
    let root = join(&mut builder, value, &exponent.reduced, Operators::TERMS, sum.dtype);
    let reduced = builder.finish(root);
    let level = Level::of_term(graph, &sum.prefix, exponent, &reduced)
        .unwrap_or_else(|| Level::added(graph, sum, reduced.clone()));
    let at_q = sum.prefix.moved(&level.index);
    let (elements, own) = elements(graph, sum, &reduced, (level.array, at_q.clone()));
    let direct = sum.keeps_nothing() && exponent.kept.len() == usize::from(level.term.is_some());
    let kept = set(stmt.kept_axes().into_iter()) & !(1 << *p) | 1 << *q;
    let (out, out_index) = match direct {
        true => (stmt.out, sum.prefix.moved_index()),
        false => {
            let places = index::of_axes((0..stmt.axes.len()).filter(|a| kept >> a & 1 == 1));
            (graph.new_array(sum.dtype, moved_shape(stmt, kept)), places)
        }
    };
    let nodes = vec![ExprNode::Access(level.array, at_q), ExprNode::Access(elements, own)];
    let mut axes = stmt.axes.clone();
    axes[*q].name.clone_from(&stmt.axes[*p].name);
    let scan = Stmt {
        out,
        axes,
        out_index,
        value: Expr { nodes },
        scan: Some(AxisId(*q as u32)),
        ..stmt.clone()
    };
    graph.statements.push(restrict(scan, |axis| kept >> axis & 1 == 1));
    if !direct {
        finish(graph, sum, exponent, &level, (out, kept));
    }
}

/// Adds the statement that multiplies relative sums by their scale.
fn finish(
    graph: &mut Graph,
    sum: &Factored,
    exponent: &Exponent,
    level: &Level,
    (scanned, over): (ArrayId, u64),
) {
    let Prefix { stmt, p, q, .. } = &sum.prefix;
    let others: Vec<_> =
        exponent.kept.iter().filter(|(_, node)| Some(*node) != level.term).copied().collect();
    let back = |a: usize| if a == *q { *p } else { a };
    let places = index::of_axes((0..stmt.axes.len()).filter(|a| over >> a & 1 == 1).map(back));
    sum.finish(graph, (scanned, places), |builder, root| {
        if others.is_empty() && level.term.is_some() {
            return root;
        }
        let mut power = match level.term {
            Some(_) => None,
            None => Some(builder.push(ExprNode::Access(level.array, level.index.clone()))),
        };
        for &(negative, node) in &others {
            let node = import(builder, &stmt.value, node);
            power = Some(match (power, negative) {
                (None, false) => node,
                (None, true) => builder.push(ExprNode::Unary(UnaryOp::Neg, node)),
                (Some(left), negative) => {
                    builder.push(ExprNode::Binary(Operators::TERMS.op(negative), left, node))
                }
            });
        }
        let Some(power) = power else { return root };
        let factor = builder.push(ExprNode::Unary(UnaryOp::Exp, power));
        builder.push(ExprNode::Binary(BinaryOp::Mul, root, factor))
    });
}

/// Extents of a set of axes.
fn moved_shape(stmt: &Stmt, axes: u64) -> Vec<u64> {
    let all = stmt.axes.iter().enumerate();
    all.filter(|(a, _)| axes >> a & 1 == 1).map(|(_, axis)| axis.extent).collect()
}

/// Adds the statement that computes the summands relative to their own level; returns their array and its index, over
/// the kept axes that they depend on.
fn elements(
    graph: &mut Graph,
    sum: &Factored,
    reduced: &Expr,
    (level, at): (ArrayId, Vec<IndexExpr>),
) -> (ArrayId, Vec<IndexExpr>) {
    let Prefix { stmt, p, q, .. } = &sum.prefix;
    let mut builder = Builder::default();
    let weight = sum.join_reduced(&mut builder);
    let exponent = import(&mut builder, reduced, reduced.nodes.len() as u32 - 1);
    let level = builder.push(ExprNode::Access(level, at));
    let above = builder.push(ExprNode::Binary(BinaryOp::Sub, exponent, level));
    let power = builder.push(ExprNode::Unary(UnaryOp::Exp, above));
    let root = builder.push(ExprNode::Binary(BinaryOp::Mul, weight, power));
    let value = builder.finish(root);
    let kept = stmt.kept_axes();
    let uses =
        |a: usize| value.nodes.iter().flat_map(|n| n.indices()).any(|e| index::depends(e, a));
    let own = set((0..kept.len()).map(|a| a == *q || (kept[a] && a != *p && uses(a))));
    let summed = set((0..kept.len()).map(|a| a != *q && !kept[a]));
    let places = index::of_axes((0..kept.len()).filter(|a| own >> a & 1 == 1));
    let array = graph.new_array(sum.dtype, moved_shape(stmt, own));
    let statement = Stmt {
        out: array,
        out_index: places.clone(),
        init: if summed == 0 { Init::Zero } else { Init::Identity(Monoid::Add) },
        reduce: stmt.reduce.filter(|_| summed != 0),
        value,
        ..stmt.clone()
    };
    graph.statements.push(restrict(statement, |axis| (own | summed) >> axis & 1 == 1));
    (array, places)
}

impl Level {
    /// Finds a subtracted term of the exponent that is the level.
    fn of_term(graph: &Graph, prefix: &Prefix, sum: &Exponent, value: &Expr) -> Option<Self> {
        let nodes = &prefix.stmt.value.nodes;
        sum.kept.iter().filter(|(negative, _)| *negative).find_map(|&(_, term)| {
            let ExprNode::Access(array, index) = &nodes[term as usize] else { return None };
            let stmt = graph.statements.iter().find(|stmt| stmt.out == *array)?;
            let is = Prefix::all(stmt).iter().any(|own| is_level(own, (prefix, index, value)));
            is.then(|| Self { array: *array, index: index.clone(), term: Some(term) })
        })
    }

    /// Adds a new level, and the statement that computes it.
    fn added(graph: &mut Graph, sum: &Factored, value: Expr) -> Self {
        let Prefix { stmt, p, q, .. } = &sum.prefix;
        let kept = stmt.kept_axes();
        let uses =
            |a: usize| value.nodes.iter().flat_map(|n| n.indices()).any(|e| index::depends(e, a));
        let over = set((0..kept.len()).map(|a| a == *p || (kept[a] && uses(a))));
        let own = over | 1 << *q | set((0..kept.len()).map(|a| !kept[a] && uses(a)));
        let index = index::of_axes((0..kept.len()).filter(|a| over >> a & 1 == 1));
        let array = graph.new_array(sum.dtype, moved_shape(stmt, over));
        let statement = Stmt {
            out: array,
            out_index: index.clone(),
            init: Init::Identity(Monoid::Max),
            reduce: Some(Reducer::Monoid(Monoid::Max)),
            value,
            guards: vec![sum.prefix.guard()],
            ..stmt.clone()
        };
        graph.statements.push(restrict(statement, |axis| own >> axis & 1 == 1));
        Self { array, index, term: None }
    }
}

/// Tells whether a reduction, read at an index, is the maximum of a value over the prefixes of another reduction.
fn is_level(own: &Prefix, (sum, at, value): (&Prefix, &[IndexExpr], &Expr)) -> bool {
    let stmt = &own.stmt;
    let greatest = own.monoid == Monoid::Max && own.is_direct() && stmt.guards.is_empty();
    let Some(map) = greatest.then(|| axes_of(own, sum, at)).flatten() else { return false };
    let extents = sum.stmt.extents();
    let fits = (0..map.len()).all(|a| extents[map[a]] == stmt.axes[a].extent);
    let map = index::of_axes(map);
    let renamed = stmt.value.map_indices(|e| index::substitute(e, &map, &extents));
    fits && renamed.is_some_and(|renamed| same_expr(&renamed, value))
}

/// Maps the axes of a reduction to those of the sum that reads it at an index.
fn axes_of(own: &Prefix, sum: &Prefix, at: &[IndexExpr]) -> Option<Vec<usize>> {
    let mut map = vec![None; own.stmt.axes.len()];
    map[own.q] = Some(sum.q);
    for (e, f) in own.stmt.out_index.iter().zip(at) {
        let ([(c, Atom::Axis(a))], [(d, Atom::Axis(b))]) = (&e.terms[..], &f.terms[..]) else {
            return None;
        };
        (c == d && e.constant == f.constant).then_some(())?;
        map[a.0 as usize] = Some(b.0 as usize);
    }
    let map: Vec<usize> = map.into_iter().collect::<Option<_>>()?;
    (map[own.p] == sum.p).then_some(map)
}
