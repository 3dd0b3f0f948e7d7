//! Lowering of contractions: roles and strides of axes.

use crate::graph::{Graph, Stmt};
use crate::lower::buffers::Buffers;
use crate::lower::emit::affine;
use crate::plan::{Base, Contraction, ContractionAxis};
use crate::select::contraction::{Pattern, occurring, pattern, role};
use crate::select::profit::is_worth;
use ijk_ir::core::{ArrayId, IndexExpr, Init};

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
