//! Narrow element types: engines compute with few types (`DType::lanes`), and the others are how elements are stored.
//!
//! Statements over `u8 u16 u32 u64 i8 i16 f16 bf16` become statements over `i32 i64 f32` with casts where elements are
//! read and where they are written. Casts are operators like others, so every later pass and kernel treats them alike:
//! loads convert, stores round or truncate, and arrays between statements keep their narrow type.
//!
//! Reductions combine in the wide type: sums and products of integers are exact in wrapping arithmetic, and a statement
//! that reduces `f16` or `bf16` computes in `f32` and rounds once, at the end.

mod casts;
mod narrowings;
mod value;

pub(crate) use casts::bounds;
pub(crate) use narrowings::drop_narrowings;

use crate::graph::{ExprNode, Graph, Stmt, index};
use crate::layout::reordered::axes_of;
use ijk_ir::core::{ArrayId, Init, Span};
use ijk_types::{DType, Monoid, Reducer, Scalar, scalar};
use std::collections::BTreeMap;
use value::Lanes;

/// Returns true for types that are stored only.
fn is_narrow(dtype: DType) -> bool {
    dtype.lanes() != dtype
}

/// Runs the pass.
pub(crate) fn widen(graph: &mut Graph) {
    let mut indices = BTreeMap::new();
    for stmt in std::mem::take(&mut graph.statements) {
        let stmt = with_wide_indices(graph, &mut indices, stmt);
        if graph.node_types(&stmt.value).iter().any(|&t| is_narrow(t)) {
            lower(graph, stmt);
        } else {
            graph.statements.push(stmt);
        }
    }
}

/// The statement with every array of unsigned integers of 32 or 64 bits that an index reads replaced by a copy in `i64`.
/// Narrower ones are converted where they are read.
fn with_wide_indices(
    graph: &mut Graph,
    copies: &mut BTreeMap<ArrayId, ArrayId>,
    mut stmt: Stmt,
) -> Stmt {
    let mut narrow = Vec::new();
    stmt.for_each_index(|e| {
        index::for_each_element(e, &mut |access| {
            let dtype = graph.array(access.array).dtype;
            if is_narrow(dtype) && dtype.size() > 2 {
                narrow.push(access.array);
            }
        });
    });
    if narrow.is_empty() {
        return stmt;
    }
    for array in narrow {
        copies.entry(array).or_insert_with(|| {
            let access = access(graph, array);
            let value = Lanes::of_access(graph, access, |lanes| lanes.cast_to(0, DType::I64));
            push_map(graph, DType::I64, array, value, stmt.span)
        });
    }
    stmt.for_each_index_mut(|e| {
        index::for_each_element_mut(e, &mut |access| {
            access.array = copies.get(&access.array).copied().unwrap_or(access.array);
        });
    });
    stmt
}

/// An access to a whole array, by axes of its own.
fn access(graph: &Graph, array: ArrayId) -> ExprNode {
    ExprNode::Access(array, index::of_axes(0..graph.array(array).shape.len()))
}

/// Adds a map over the elements of an array; returns the new array.
fn push_map(
    graph: &mut Graph,
    dtype: DType,
    like: ArrayId,
    nodes: Vec<ExprNode>,
    span: Span,
) -> ArrayId {
    let shape = graph.array(like).shape.clone();
    let array = graph.new_array(dtype, shape);
    graph.statements.push(Stmt::map(array, axes_of(graph, array), nodes, span));
    array
}

/// Adds the statements for one with narrow types.
fn lower(graph: &mut Graph, stmt: Stmt) {
    let root = stmt.value.nodes.len() as u32 - 1;
    let out = graph.array(stmt.out).dtype;
    let reduces = matches!(stmt.reduce, Some(Reducer::Monoid(_)));
    // A reduction of another type combines what is converted, so that is rounded as written.
    let rounds_once = reduces && is_narrow(out) && out.is_float();
    let mut lanes = Lanes::new(graph, &stmt.value, !rounds_once);
    match stmt.reduce {
        Some(Reducer::Monoid(monoid)) if is_narrow(out) => {
            let at = match monoid {
                Monoid::Max | Monoid::Min => lanes.ordered(root),
                _ => lanes.wide(root),
            };
            let value = lanes.finish(at);
            reduce(graph, monoid, Stmt { value, ..stmt });
        }
        reducer => {
            let at = match reducer {
                Some(Reducer::ArgMax | Reducer::ArgMin) => lanes.ordered(root),
                _ => lanes.stored(root),
            };
            let value = lanes.finish(at);
            graph.statements.push(Stmt { value, ..stmt });
        }
    }
}

/// Adds a reduction in the wide type, and the statement that stores its result.
fn reduce(graph: &mut Graph, monoid: Monoid, stmt: Stmt) {
    let (out, span) = (stmt.out, stmt.span);
    let narrow = graph.array(out).dtype;
    let wide = narrow.lanes();
    let extreme = matches!(monoid, Monoid::Max | Monoid::Min);
    let init = match stmt.init {
        Init::From(source) => {
            let source = access(graph, source);
            let value = Lanes::of_access(graph, source, |lanes| match extreme {
                true => lanes.ordered(0),
                false => lanes.wide(0),
            });
            Init::From(push_map(graph, wide, out, value, span))
        }
        Init::Zero if extreme && narrow == DType::U64 => {
            let zero = vec![ExprNode::Const(Scalar::I64(i64::MIN))];
            Init::From(push_map(graph, wide, out, zero, span))
        }
        init => init,
    };
    let shape = graph.array(out).shape.clone();
    let array = graph.new_array(wide, shape);
    graph.statements.push(Stmt { out: array, init, ..stmt });
    let from = access(graph, array);
    let value = Lanes::of_access(graph, from, |lanes| {
        let at = match monoid {
            Monoid::Max | Monoid::Min if narrow == DType::U64 => lanes.flipped(0),
            Monoid::Max | Monoid::Min if narrow.is_integer() && init == Init::Identity(monoid) => {
                lanes.bounded(monoid.op(), 0, least(monoid, narrow))
            }
            _ => 0,
        };
        lanes.narrowed(at, narrow)
    });
    let axes = axes_of(graph, out);
    graph.statements.push(Stmt::map(out, axes, value, span));
}

/// The identity of a maximum or minimum of a narrow type, in the wide one: elements without points hold that of the
/// wide type, which is beyond it.
fn least(monoid: Monoid, narrow: DType) -> Scalar {
    casts::widened(scalar::identity(monoid, narrow))
}
