//! Selection of contractions, and the roles of their axes.

use crate::SMALL_DOMAIN;
use crate::algebra::product::worth_contracting;
use crate::graph::{ExprNode, Graph, Stmt, coverage};
use crate::lower::buffers::Buffers;
use crate::lower::emit::affine;
use crate::plan::{Base, Contraction, ContractionAxis, Role, Then};
use ijk_ir::core::{ArrayId, IndexExpr, Init};
use ijk_types::{BinaryOp, Monoid, Reducer, Scalar, UnaryOp};

/// The contraction that computes a statement, if the pattern matches and it beats a loop nest.
pub(crate) fn contraction(graph: &Graph, buffers: &Buffers, stmt: &Stmt) -> Option<Contraction> {
    let Pattern { map, then, reduce, a, b } = pattern(graph, stmt)?.oriented(stmt);
    let place = |array: ArrayId, index: &[IndexExpr]| {
        let buffer = buffers.of(array);
        let strides = &buffers.all[buffer.0 as usize].strides;
        let (offset, steps) = affine(index, strides, stmt.axes.len());
        (Base { buffer, offset }, steps)
    };
    let (a_base, a_steps) = place(a.0, a.1);
    let (b_base, b_steps) = place(b.0, b.1);
    let (c_base, c_steps) = place(stmt.out, &stmt.out_index);
    let (in_a, in_b) = (occurring(stmt, a.1), occurring(stmt, b.1));
    let kept = stmt.kept_axes();
    let axes: Vec<ContractionAxis> = (0..stmt.axes.len())
        .map(|x| ContractionAxis {
            name: stmt.axes[x].name.clone(),
            role: role(kept[x], in_a[x], in_b[x]),
            extent: stmt.axes[x].extent as usize,
            a: a_steps[x],
            b: b_steps[x],
            c: c_steps[x],
        })
        .collect();
    let dtype = graph.array(stmt.out).dtype;
    let accumulate = stmt.init != Init::Identity(reduce) && !graph.partial.contains(&stmt.out);
    let (a, b, c, span) = (a_base, b_base, c_base, stmt.span);
    let whole = Contraction { dtype, map, then, reduce, a, b, c, accumulate, axes, span };
    is_worth(&whole).then_some(whole)
}

/// Tells whether a contraction is faster than a loop nest, and its output strides are injective.
pub(crate) fn is_worth(whole: &Contraction) -> bool {
    let [batch, m, n, k] = [Role::Batch, Role::M, Role::N, Role::K].map(|role| whole.extent(role));
    let worth = worth_contracting(batch, m, n, k) || worth_dots(whole, m, n, k);
    worth && apart(&whole.axes)
}

/// Tells whether dot products beat a loop nest: sums of products along contiguous axes, with k long enough or enough
/// rows to fill vector lanes. Tuned by benchmarks.
fn worth_dots(whole: &Contraction, m: u64, n: u64, k: u64) -> bool {
    let inexact = whole.dtype.is_float() || whole.dtype.is_complex();
    let sums = whole.map == BinaryOp::Mul && whole.reduce == Monoid::Add && whole.then.is_none();
    // Overlapping rows are windows, which need no packing.
    let along = |step: fn(&ContractionAxis) -> isize| {
        let unit = whole.axes.iter().find(|x| x.role == Role::K && x.extent > 1 && step(x) == 1);
        unit.is_some_and(|k| {
            let overlaps = |x: &ContractionAxis| (1..k.extent).contains(&step(x).unsigned_abs());
            !whole.axes.iter().any(|x| x.role != Role::K && x.extent > 1 && overlaps(x))
        })
    };
    let (left, right) = (along(|x| x.a), along(|x| x.b));
    let contiguous = if m > n {
        left
    } else if n > m {
        right
    } else {
        left && right
    };
    let batch = whole.extent(Role::Batch);
    // Batched 1 × k × 1 products are computed side by side, like the rows of one matrix.
    let rows = if m.max(n) == 1 { batch } else { m.max(n) };
    let long = k >= 256 || (k >= 8 && rows >= 8 && rows.saturating_mul(k) >= 256);
    let batched = batch > 0 && m.min(n) == 1;
    inexact && sums && batched && contiguous && long
}

/// Tells whether a statement matches the pattern of contractions, whatever the strides of its output.
pub(crate) fn is_one(graph: &Graph, stmt: &Stmt) -> bool {
    pattern(graph, stmt).is_some()
}

/// Tells whether a statement is a contraction with a blocked matrix product; batched dot products are reductions over
/// rows.
pub(crate) fn multiplies(graph: &Graph, stmt: &Stmt) -> bool {
    sides(graph, stmt, &stmt.extents())
        .is_some_and(|[batch, m, n, k]| worth_contracting(batch, m, n, k))
}

/// Extents [batch, m, n, k] of the contraction that a statement is, for axes of the given extents.
pub(crate) fn sides(graph: &Graph, stmt: &Stmt, extents: &[u64]) -> Option<[u64; 4]> {
    let Pattern { a, b, .. } = pattern(graph, stmt)?;
    let (kept, in_a, in_b) = (stmt.kept_axes(), occurring(stmt, a.1), occurring(stmt, b.1));
    Some([Role::Batch, Role::M, Role::N, Role::K].map(|wanted| {
        let axes = extents.iter().enumerate();
        let own = axes.filter(|&(x, _)| role(kept[x], in_a[x], in_b[x]) == wanted);
        own.fold(1, |count: u64, (_, extent)| count.saturating_mul(*extent))
    }))
}

struct Pattern<'a> {
    map: BinaryOp,
    then: Option<Then>,
    reduce: Monoid,
    a: (ArrayId, &'a [IndexExpr]),
    b: (ArrayId, &'a [IndexExpr]),
}

impl Pattern<'_> {
    /// Moves the operand that is indexed by sums of axes to the right. If the other operand is a vector, the kernels
    /// then read overlapping windows in place instead of packing them.
    fn oriented(self, stmt: &Stmt) -> Self {
        let windows = |index: &[IndexExpr]| index.iter().any(|e| e.terms.len() > 1);
        let kept = stmt.kept_axes();
        let in_b = occurring(stmt, self.b.1);
        let vector = (0..stmt.axes.len()).all(|axis| !(kept[axis] && in_b[axis]));
        if windows(self.a.1) && vector && is_commutative(self.map) {
            return Self { a: self.b, b: self.a, ..self };
        }
        self
    }
}

fn is_commutative(map: BinaryOp) -> bool {
    use BinaryOp::{Add, And, Max, Min, Mul, Or};
    matches!(map, Add | Mul | Max | Min | And | Or)
}

/// Matches `reduce over k of map(a, b)`, two affine accesses of the output's element type, with an output that is
/// injective in its kept axes.
fn pattern<'a>(graph: &Graph, stmt: &'a Stmt) -> Option<Pattern<'a>> {
    let Some(Reducer::Monoid(reduce)) = stmt.reduce else { return None };
    let [
        first @ ExprNode::Access(..),
        second @ ExprNode::Access(..),
        ExprNode::Binary(map, p, q),
        rest @ ..,
    ] = &stmt.value.nodes[..]
    else {
        return None;
    };
    let (left, right) = match (p, q) {
        (0, 1) => (first, second),
        (1, 0) => (second, first),
        _ => return None,
    };
    let (ExprNode::Access(a, a_index), ExprNode::Access(b, b_index)) = (left, right) else {
        return None;
    };
    let then = match rest {
        [] => None,
        [ExprNode::Binary(BinaryOp::Mul, 2, 2)] => Some(Then::Square),
        [ExprNode::Const(n), ExprNode::Binary(BinaryOp::Pow, 2, 3)] if is_two(*n) => {
            Some(Then::Square)
        }
        [ExprNode::Unary(UnaryOp::Abs, 2)] => Some(Then::Abs),
        _ => return None,
    };
    let dtype = graph.array(stmt.out).dtype;
    let affine = |index: &[IndexExpr]| index.iter().all(IndexExpr::is_affine);
    let fits = stmt.points() > SMALL_DOMAIN
        && stmt.guards.is_empty()
        && Contraction::supports(dtype, (*map, then), reduce)
        && graph.array(*a).dtype == dtype
        && graph.array(*b).dtype == dtype
        && [&stmt.out_index[..], a_index, b_index].into_iter().all(affine)
        && injective(stmt);
    fits.then_some(Pattern { map: *map, then, reduce, a: (*a, a_index), b: (*b, b_index) })
}

fn is_two(n: Scalar) -> bool {
    matches!(n, Scalar::F32(2.0) | Scalar::F64(2.0))
}

/// Tells whether the output's strides are injective: each stride exceeds the span of all axes with smaller strides.
/// `i[j+i]` in Fortran order is not.
fn apart(axes: &[ContractionAxis]) -> bool {
    let kept = axes.iter().filter(|axis| axis.role != Role::K && axis.extent > 1);
    let mut steps: Vec<(usize, usize)> = kept.map(|a| (a.c.unsigned_abs(), a.extent)).collect();
    steps.sort_unstable();
    let mut reach = 0usize;
    steps.into_iter().all(|(step, extent)| {
        let fits = step > reach;
        reach = reach.saturating_add(step.saturating_mul(extent - 1));
        fits
    })
}

/// Tells whether points that write the same element differ in reduced axes only.
fn injective(stmt: &Stmt) -> bool {
    let determined = coverage::determined(&stmt.out_index, &stmt.extents());
    stmt.kept_axes().iter().zip(determined).all(|(kept, determined)| determined || !kept)
}

fn occurring(stmt: &Stmt, index: &[IndexExpr]) -> Vec<bool> {
    let mut occurs = vec![false; stmt.axes.len()];
    for e in index {
        crate::graph::index::for_each_axis(e, &mut |axis| occurs[axis.0 as usize] = true);
    }
    occurs
}

fn role(kept: bool, in_a: bool, in_b: bool) -> Role {
    match (kept, in_a, in_b) {
        (false, ..) => Role::K,
        (true, true, true) => Role::Batch,
        (true, false, true) => Role::N,
        (true, _, false) => Role::M,
    }
}

impl Contraction {
    /// Product of the extents of all axes of a role, saturating.
    pub fn extent(&self, role: Role) -> u64 {
        let of = self.axes.iter().filter(|a| a.role == role);
        of.fold(1, |n: u64, a| n.saturating_mul(a.extent as u64))
    }
}
