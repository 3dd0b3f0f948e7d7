//! Products of products: factors that earlier statements computed.
//!
//! `ab*bc~abc . abc*cd~abcd . +abcd~ad` forms all products before it sums. As one product, its factors can be
//! multiplied in any order.

use super::NEST_COST;
use crate::canonical::simplify::{digits_of, inline};
use crate::graph::terms::{Algebra, Terms};
use crate::graph::{ExprNode, Graph, Stmt};
use ijk_ir::core::ArrayId;

/// Use-def information of a graph.
pub(super) struct Chains {
    definitions: Vec<Option<u32>>,
    uses: Vec<u32>,
}

impl Chains {
    pub(super) fn new(graph: &Graph) -> Self {
        Self { definitions: graph.definitions(), uses: graph.uses() }
    }

    /// Inlines the products that only this statement reads; returns it with the cost of computing those separately.
    /// `None` if there are none.
    pub(super) fn multiplied_out(
        &self,
        graph: &Graph,
        stmt: &Stmt,
        algebra: &Algebra,
    ) -> Option<(Stmt, u64)> {
        let (mut wide, mut cost) = (None, 0u64);
        loop {
            let stmt = wide.as_ref().unwrap_or(stmt);
            let Some(found) = self.find(graph, stmt, algebra) else { break };
            let digits = digits_of(graph, found)?;
            let next = inline(stmt, |a, _| (a == found.out).then(|| (found, digits.clone())))?;
            cost = cost.saturating_add(found.points().saturating_mul(NEST_COST));
            wide = Some(next);
        }
        wide.map(|wide| (wide, cost))
    }

    /// A stored product that is a factor of this product and has no other use.
    fn find<'a>(&self, graph: &'a Graph, stmt: &Stmt, algebra: &Algebra) -> Option<&'a Stmt> {
        let terms = Terms::of(&stmt.value, algebra);
        terms.all.iter().find_map(|term| {
            let ExprNode::Access(array, _) = &stmt.value.nodes[term.root as usize] else {
                return None;
            };
            self.alone(graph, *array).filter(|found| is_product(graph, found, algebra))
        })
    }

    /// The definition of an array with a single use.
    pub(super) fn alone<'a>(&self, graph: &'a Graph, array: ArrayId) -> Option<&'a Stmt> {
        let alone = *self.uses.get(array.0 as usize)? == 1;
        self.definition(graph, array).filter(|_| alone)
    }

    fn definition<'a>(&self, graph: &'a Graph, array: ArrayId) -> Option<&'a Stmt> {
        let at = (*self.definitions.get(array.0 as usize)?)?;
        graph.statements.get(at as usize)
    }
}

/// Tells whether a statement is an unguarded map whose value is a product, and covers its array.
fn is_product(graph: &Graph, stmt: &Stmt, algebra: &Algebra) -> bool {
    let Some(ExprNode::Binary(root, ..)) = stmt.value.nodes.last() else { return false };
    (*root == algebra.op || Some(*root) == algebra.inverse())
        && stmt.guards.is_empty()
        && stmt.scan.is_none()
        && !graph.can_fail(stmt)
        && digits_of(graph, stmt).is_some()
}
