//! Copies of arrays with permuted axes.

use crate::graph::index::of_axes;
use crate::graph::{Axis, ExprNode, Graph, Stmt};
use ijk_ir::core::{ArrayId, IndexExpr, Span};

/// An array, and the permutation of axes of its copy.
#[derive(Clone, PartialEq)]
pub(crate) struct Reordered {
    pub array: ArrayId,
    pub order: Vec<usize>,
}

impl Reordered {
    /// Adds the statement that makes the copy.
    pub(crate) fn copy(&self, graph: &mut Graph, span: Span) -> ArrayId {
        let copy = self.new_array(graph);
        let place = |place| self.order.iter().position(|&other| other == place).unwrap_or(place);
        let source = ExprNode::Access(self.array, of_axes((0..self.order.len()).map(place)));
        graph.statements.push(Stmt::map(copy, axes_of(graph, copy), vec![source], span));
        copy
    }

    /// An array of the shape of the copy.
    pub(crate) fn new_array(&self, graph: &mut Graph) -> ArrayId {
        let from = graph.array(self.array).clone();
        graph.new_array(from.dtype, self.order.iter().map(|&place| from.shape[place]).collect())
    }

    /// Redirects those reads of the array whose index is `wanted` to the copy.
    pub(crate) fn redirect(
        &self,
        stmt: &mut Stmt,
        copy: ArrayId,
        wanted: impl Fn(&[IndexExpr]) -> bool,
    ) {
        for node in &mut stmt.value.nodes {
            if let ExprNode::Access(array, index) = node
                && *array == self.array
                && wanted(index)
            {
                *array = copy;
                *index = self.order.iter().map(|&place| index[place].clone()).collect();
            }
        }
    }
}

/// Copies that are each made at their first use.
pub(crate) struct LazyCopies(Vec<(Reordered, Option<ArrayId>)>);

impl LazyCopies {
    /// Distinct copies, none of them made.
    pub(crate) fn new(copies: impl IntoIterator<Item = Reordered>) -> Self {
        let mut all: Vec<(Reordered, Option<ArrayId>)> = Vec::new();
        for copy in copies {
            if !all.iter().any(|(other, _)| *other == copy) {
                all.push((copy, None));
            }
        }
        Self(all)
    }

    /// Redirects reads of a statement to the copies that are `wanted` there, at the indices that `reads` selects.
    pub(crate) fn redirect(
        &mut self,
        graph: &mut Graph,
        stmt: &mut Stmt,
        wanted: impl Fn(&Reordered, &Graph, &Stmt) -> bool,
        reads: impl Fn(&[IndexExpr]) -> bool,
    ) {
        for (reordered, copy) in &mut self.0 {
            if wanted(reordered, graph, stmt) {
                let copy = *copy.get_or_insert_with(|| reordered.copy(graph, stmt.span));
                reordered.redirect(stmt, copy, &reads);
            }
        }
    }
}

/// The graph rebuilt statement by statement: `add` adds each of them, or its replacements.
pub(crate) fn rebuilt(mut graph: Graph, mut add: impl FnMut(&mut Graph, Stmt)) -> Graph {
    for stmt in std::mem::take(&mut graph.statements) {
        add(&mut graph, stmt);
    }
    graph
}

/// Axes that range over a whole array.
pub(crate) fn axes_of(graph: &Graph, array: ArrayId) -> Vec<Axis> {
    let axis = |(place, &extent): (usize, &u64)| Axis { name: format!("i{place}"), extent };
    graph.array(array).shape.iter().enumerate().map(axis).collect()
}
