//! Logarithms of sums of exponentials of sums, as products of exponentials.
//!
//! `ln Σ exp(a + b)` is `l + m + ln Σ exp(a - l) · exp(b - m)`, with the greatest `a` and `b` of what is reduced for `l`
//! and `m`: the exponentials have fewer points than the sum, which becomes a contraction. No exponential exceeds 1.
//! Where `l` and `m` belong to terms that never meet, all products may be too small: such elements are found by the sum
//! itself, and reduced as written, relative to their greatest term. As for all kept conditions, engines skip blocks in
//! which there are none.

use super::log_sums::{accumulated, exponential, finite, is_log_sum, logarithm, reduced};
use super::product::TermGroups;
use crate::graph::axes::{Axes, restrict, union};
use crate::graph::expr::Builder;
use crate::graph::terms::{Algebra, Terms};
use crate::graph::{Expr, ExprNode, Graph, Stmt, index};
use crate::layout::reordered::axes_of;
use ijk_ir::core::{ArrayId, IndexExpr, Init};
use ijk_types::{BinaryOp, DType, Monoid, Scalar, UnaryOp, scalar};

/// Points of the sum for each exponential from which exponentials of the factors pay.
const POINTS_PER_EXPONENTIAL: u64 = 8;

/// Runs the pass.
pub(crate) fn factor(graph: &mut Graph) {
    if graph.strict || !graph.statements.iter().any(is_log_sum) {
        return;
    }
    for stmt in std::mem::take(&mut graph.statements) {
        match LogProduct::of(graph, &stmt) {
            Some(product) => product.lower(graph, &stmt),
            None => graph.statements.push(stmt),
        }
    }
}

/// The terms of a reduced sum, by their axes.
struct LogProduct {
    terms: TermGroups,
    algebra: Algebra,
    /// Axes of the output, in its order.
    kept: Vec<usize>,
}

impl LogProduct {
    fn of(graph: &Graph, stmt: &Stmt) -> Option<Self> {
        let kept = index::plain_axes(&stmt.out_index)?;
        let out = graph.array(stmt.out);
        let extents = stmt.extents();
        let whole = kept.iter().zip(&out.shape).all(|(&axis, &extent)| extents[axis] == extent);
        if !is_log_sum(stmt) || !whole || stmt.scan.is_some() || !stmt.guards.is_empty() {
            return None;
        }
        let algebra = Algebra { op: BinaryOp::Add, monoid: Monoid::Max, dtype: out.dtype };
        let types = graph.node_types(&stmt.value);
        let terms = Terms::of(&stmt.value, &algebra);
        if terms.all.iter().any(|term| types[term.root as usize] != out.dtype) {
            return None;
        }
        let of_kept: Axes = union(&kept.iter().map(|&axis| axis as u32).collect::<Axes>(), &[]);
        let terms = TermGroups::of(&stmt.value, &terms, &algebra, &of_kept);
        let points = |axes: &[u32]| {
            axes.iter().fold(1, |n: u64, &axis| n.saturating_mul(extents[axis as usize]))
        };
        let exponentials = terms.groups.iter().map(|(axes, _)| points(axes));
        let all = exponentials.fold(points(&of_kept), u64::saturating_add);
        let pays = all.saturating_mul(POINTS_PER_EXPONENTIAL) <= stmt.points();
        (pays && terms.groups.len() > 1).then_some(Self { terms, algebra, kept })
    }

    /// Adds the statements that compute a statement.
    fn lower(&self, graph: &mut Graph, stmt: &Stmt) {
        let mut product = Builder::default();
        let mut factors = Vec::new();
        let mut levels = Vec::new();
        for (axes, value) in &self.terms.groups {
            let level = self.level(graph, stmt, axes, value);
            factors.push(product.push_all(&exponential(value, level.clone())));
            levels.push(level);
        }
        let times = |left, right| product.push(ExprNode::Binary(BinaryOp::Mul, left, right));
        let root = factors.into_iter().reduce(times).unwrap_or(0);
        let sum = self.own(graph, stmt, self.algebra.dtype);
        graph.statements.push(reduced(stmt, Monoid::Add, sum, product.finish(root)));
        let small = self.own(graph, stmt, DType::Bool);
        let axes = axes_of(graph, small);
        let test = too_small(sum, axes.len(), self.algebra.dtype);
        graph.statements.push(Stmt::map(small, axes, test, stmt.span));
        let [others, level] = self.as_written(graph, stmt, small);
        let place = &stmt.out_index;
        let mut builder = Builder::default();
        let products = self.total(&mut builder, (sum, place.clone()), levels);
        let written = logarithm(&mut builder, (others, place.clone()), (level, place.clone()));
        let small = builder.push(ExprNode::Access(small, place.clone()));
        let root = builder.push(ExprNode::Select(small, written, products));
        let root = accumulated(&mut builder, (stmt.init, self.algebra.dtype), place, root);
        let value = builder.finish(root);
        let last = Stmt { init: Init::Zero, reduce: None, value, ..stmt.clone() };
        graph.statements.push(restrict(last, |axis| self.kept.contains(&axis)));
    }

    /// A new array with the elements of the output.
    fn own(&self, graph: &mut Graph, stmt: &Stmt, dtype: DType) -> ArrayId {
        graph.new_array(dtype, graph.array(stmt.out).shape.clone())
    }

    /// The greatest value of a group for each point of its kept axes, as a finite number, and its index.
    fn level(&self, graph: &mut Graph, stmt: &Stmt, axes: &[u32], value: &Expr) -> Element {
        let kept = axes.iter().map(|&axis| axis as usize).filter(|axis| self.kept.contains(axis));
        let kept: Vec<usize> = kept.collect();
        let shape: Vec<u64> = kept.iter().map(|&axis| stmt.axes[axis].extent).collect();
        let greatest = graph.new_array(self.algebra.dtype, shape);
        let out_index = index::of_axes(kept);
        let most = reduced(stmt, Monoid::Max, greatest, value.clone());
        let most = Stmt { out_index: out_index.clone(), ..most };
        graph.statements.push(restrict(most, |axis| axes.contains(&(axis as u32))));
        (finite(graph, greatest, stmt.span), out_index)
    }

    /// The sums and levels of the elements whose sum of products is too small, each term relative to the greatest one.
    fn as_written(&self, graph: &mut Graph, stmt: &Stmt, small: ArrayId) -> [ArrayId; 2] {
        let dtype = self.algebra.dtype;
        let [greatest, sum] = [0; 2].map(|_| self.own(graph, stmt, dtype));
        let condition = ExprNode::Access(small, stmt.out_index.clone());
        let most = selected(&condition, &stmt.value, scalar::identity(Monoid::Max, dtype));
        graph.statements.push(reduced(stmt, Monoid::Max, greatest, most));
        let level = finite(graph, greatest, stmt.span);
        let value = exponential(&stmt.value, (level, stmt.out_index.clone()));
        let value = selected(&condition, &value, scalar::identity(Monoid::Add, dtype));
        graph.statements.push(reduced(stmt, Monoid::Add, sum, value));
        [sum, level]
    }

    /// The logarithm of the sum of products, plus levels and terms without reduced axes.
    fn total(&self, builder: &mut Builder, sum: Element, levels: Vec<Element>) -> u32 {
        let sum = builder.push(ExprNode::Access(sum.0, sum.1));
        let mut root = builder.push(ExprNode::Unary(UnaryOp::Ln, sum));
        let levels = levels.into_iter().map(|(array, at)| ExprNode::Access(array, at));
        let levels: Vec<u32> = levels.map(|level| builder.push(level)).collect();
        let [added, subtracted] = &self.terms.kept;
        let added: Vec<u32> = added.iter().map(|term| builder.push_all(term)).collect();
        for term in levels.into_iter().chain(added) {
            root = builder.push(ExprNode::Binary(BinaryOp::Add, root, term));
        }
        for term in subtracted {
            let term = builder.push_all(term);
            root = builder.push(ExprNode::Binary(BinaryOp::Sub, root, term));
        }
        root
    }
}

/// An array and the index of an element.
type Element = (ArrayId, Vec<IndexExpr>);

/// The value where a condition holds, and `other` elsewhere.
fn selected(condition: &ExprNode, value: &Expr, other: Scalar) -> Expr {
    let mut builder = Builder::default();
    let condition = builder.push(condition.clone());
    let value = builder.push_all(value);
    let other = builder.push(ExprNode::Const(other));
    let root = builder.push(ExprNode::Select(condition, value, other));
    builder.finish(root)
}

/// Tells whether a sum is so small that products which are 0 by underflow may count, or is NaN.
fn too_small(sum: ArrayId, rank: usize, dtype: DType) -> Vec<ExprNode> {
    // Many orders of magnitude above the least normal number, and below 1.
    let least = match dtype {
        DType::F32 => Scalar::F32(2f32.powi(-60)),
        _ => Scalar::F64(2f64.powi(-500)),
    };
    vec![
        ExprNode::Access(sum, index::of_axes(0..rank)),
        ExprNode::Const(least),
        ExprNode::Binary(BinaryOp::Ge, 0, 1),
        ExprNode::Unary(UnaryOp::Not, 2),
    ]
}
