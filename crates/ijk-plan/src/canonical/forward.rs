//! Copies of whole temporaries into results: what computes the temporary writes the result.
//!
//! Such copies are left where functions moved behind a reduction cancel: `t[b] =min -x[b,d]`, `y[b] = -t[b]` is the
//! maximum of `x`.

use crate::graph::index::plain_axes;
use crate::graph::{ExprNode, Graph, Stmt};
use ijk_ir::core::ArrayId;

/// Lets statements write the results that their arrays are copied to.
pub(crate) fn forward_copies(graph: &mut Graph) {
    let mut at = 0;
    while at < graph.statements.len() {
        let from = source(graph, &graph.statements[at]);
        let from = from.filter(|from| graph.uses()[from.0 as usize] == 1);
        let made = from.and_then(|from| graph.definitions()[from.0 as usize]);
        match made {
            Some(made) => {
                graph.statements[made as usize].out = graph.statements[at].out;
                graph.statements.remove(at);
            }
            None => at += 1,
        }
    }
}

/// The temporary that a statement only copies, each element to the same place.
fn source(graph: &Graph, stmt: &Stmt) -> Option<ArrayId> {
    let Some(ExprNode::Access(from, index)) = stmt.as_leaf() else { return None };
    let plain = stmt.reduce.is_none() && stmt.scan.is_none() && stmt.guards.is_empty();
    let (own, to) = (graph.array(*from), graph.array(stmt.out));
    let whole = plain_axes(index).is_some_and(|axes| {
        let each = axes.iter().zip(&own.shape).all(|(&a, &n)| stmt.axes[a].extent == n);
        each && axes.len() == stmt.axes.len()
    });
    let same = own.dtype == to.dtype && own.shape == to.shape && *index == stmt.out_index;
    let shown = [&graph.inputs, &graph.outputs, &graph.fallible].into_iter().flatten();
    let hidden = !shown.chain(&graph.partial).chain(&graph.numbers).any(|array| array == from);
    (plain && whole && same && hidden && !graph.partial.contains(&stmt.out)).then_some(*from)
}
