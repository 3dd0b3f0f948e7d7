//! Factors of the position, moved out of prefix reductions.
//!
//! `out[p] = Σ f[p]·g[q]` over `q <= p` is `f[p]` times a scan, and so it is with terms of a maximum or minimum.
//! `exp(a[q] - m[p])` is a product of such factors as well, but each alone may overflow: that sum is kept relative to
//! a [level](super::level).

use super::operands::{Operand, Operators, Sides, import, join};
use super::{Prefix, level, masks, set};
use crate::domain::bounds::stored;
use crate::graph::axes::restrict;
use crate::graph::expr::Builder;
use crate::graph::{Expr, ExprNode, Graph, Guard, Stmt, index};
use ijk_ir::core::{ArrayId, Atom, AxisId, IndexExpr, Init};
use ijk_types::DType;

/// Runs the pass.
pub(crate) fn move_factors_out(graph: &mut Graph) {
    let may_be = |stmt: &Stmt| !stmt.guards.is_empty() || masks::compares(stmt);
    if graph.strict || !graph.statements.iter().any(may_be) {
        return;
    }
    for stmt in std::mem::take(&mut graph.statements) {
        let stmt = masks::guarded(graph, &stmt).unwrap_or(stmt);
        match Factored::find(graph, &stmt) {
            Some(factored) => factored.lower(graph),
            None => graph.statements.push(stmt),
        }
    }
}

/// A prefix reduction whose value is a product of operands that depend on the position and operands that depend on the
/// reduced axes.
pub(super) struct Factored {
    pub prefix: Prefix,
    pub dtype: DType,
    ops: Operators,
    /// Operands that depend on the position alone.
    kept: Vec<Operand>,
    /// Operands that do not depend on the position.
    reduced: Vec<Operand>,
    /// Terms of an exponential that depends on both.
    exponent: Option<Exponent>,
}

/// Terms of an exponent, by position and by reduced axes.
pub(super) struct Exponent {
    pub kept: Vec<Operand>,
    pub reduced: Vec<Operand>,
}

impl Factored {
    pub(super) fn find(graph: &Graph, stmt: &Stmt) -> Option<Self> {
        let [_] = &stmt.guards[..] else { return None };
        if graph.can_fail(stmt) {
            return None;
        }
        Prefix::all(stmt).into_iter().find_map(|prefix| Self::of(graph, prefix))
    }

    fn of(graph: &Graph, prefix: Prefix) -> Option<Self> {
        if !prefix.is_direct() || !prefix.stmt.guards.is_empty() {
            return None;
        }
        let dtype = graph.array(prefix.stmt.out).dtype;
        let ops = Operators::of(prefix.monoid, dtype)?;
        let sides = Sides::of(&prefix);
        let root = prefix.stmt.value.nodes.len() as u32 - 1;
        let (mut kept, mut reduced, mut exponent) = (Vec::new(), Vec::new(), None);
        for (inverse, node) in sides.flatten(root, ops) {
            match sides.of_node(node) {
                (true, false) => kept.push((inverse, node)),
                (false, _) => reduced.push((inverse, node)),
                _ if inverse || exponent.is_some() || ops != Operators::FACTORS => return None,
                _ => exponent = Some(sides.exponent(node)?),
            }
        }
        let (moves, real) = (!kept.is_empty() || exponent.is_some(), dtype.is_float());
        let fits = moves && (real || exponent.is_none());
        fits.then_some(Self { prefix, dtype, ops, kept, reduced, exponent })
    }

    /// Adds the statements that compute the reduction.
    fn lower(self, graph: &mut Graph) {
        if let Some(exponent) = &self.exponent {
            return level::lower(graph, &self, exponent);
        }
        let mut builder = Builder::default();
        let root = self.join_reduced(&mut builder);
        let reduced = graph.new_array(self.dtype, self.shape());
        let reducing = self.prefix.reducing(reduced, builder.finish(root));
        let at = reducing.out_index.clone();
        graph.statements.push(reducing);
        self.finish(graph, (reduced, at), |_, root| root);
    }

    /// The reduced operands joined, without the exponential.
    pub(super) fn join_reduced(&self, builder: &mut Builder) -> u32 {
        join(builder, &self.prefix.stmt.value, &self.reduced, self.ops, self.dtype)
    }

    /// Tells whether nothing but the exponent depends on the position.
    pub(super) fn keeps_nothing(&self) -> bool {
        self.kept.is_empty()
    }

    /// Extents of all kept axes.
    fn shape(&self) -> Vec<u64> {
        let Prefix { stmt, .. } = &self.prefix;
        let axes = stmt.axes.iter().zip(stmt.kept_axes());
        axes.filter(|(_, kept)| *kept).map(|(axis, _)| axis.extent).collect()
    }

    /// Adds the statement that applies `first` to the reduced values and joins them with the operands of the position.
    pub(super) fn finish(
        &self,
        graph: &mut Graph,
        (reduced, at): (ArrayId, Vec<IndexExpr>),
        first: impl FnOnce(&mut Builder, u32) -> u32,
    ) {
        let Prefix { stmt, monoid, .. } = &self.prefix;
        let kept = set(stmt.kept_axes().into_iter());
        let mut builder = Builder::default();
        let root = builder.push(ExprNode::Access(reduced, at));
        let mut root = first(&mut builder, root);
        for &(inverse, node) in &self.kept {
            let operand = import(&mut builder, &stmt.value, node);
            root = builder.push(ExprNode::Binary(self.ops.op(inverse), root, operand));
        }
        let value = builder.finish(root);
        let map = restrict(Stmt { value, ..stmt.clone() }, |axis| kept >> axis & 1 == 1);
        graph.statements.push(stored(graph, map, *monoid));
    }
}

impl Prefix {
    /// The reduction of another value into an array over all kept axes.
    fn reducing(&self, out: ArrayId, value: Expr) -> Stmt {
        let kept = self.stmt.kept_axes();
        Stmt {
            out,
            out_index: index::of_axes((0..kept.len()).filter(|&a| kept[a])),
            init: Init::Identity(self.monoid),
            value,
            guards: vec![self.guard()],
            ..self.stmt.clone()
        }
    }

    /// The guard `q <= p` of a reduction without shift.
    pub(super) fn guard(&self) -> Guard {
        let mut terms = [(1, self.p), (-1, self.q)];
        terms.sort_by_key(|(_, axis)| *axis);
        let terms = terms.map(|(step, a)| (step, Atom::Axis(AxisId(a as u32))));
        let e = IndexExpr { constant: 0, terms: terms.into_iter().collect() };
        (e, self.stmt.axes[self.p].extent)
    }
}
