//! Logarithms of sums of exponentials, relative to the greatest term.
//!
//! `ln Σ exp(x)` is `l + ln Σ exp(x - l)`, with the greatest `x` for `l`: no exponential overflows, and one is 1. What
//! remains are a maximum, a sum and maps, for which kernels, sweeps and scans exist. `l` is kept finite, so that terms
//! which are infinite do not become NaN: where all are -∞, their exponentials are 0, and the logarithm is -∞; where one
//! is +∞, its exponential is, too.

use crate::graph::expr::Builder;
use crate::graph::{Expr, ExprNode, Graph, Stmt, index};
use crate::layout::reordered::axes_of;
use ijk_ir::core::{ArrayId, AxisId, IndexExpr, Init, Span};
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, UnaryOp, scalar};

/// Runs the pass.
pub(crate) fn lower(graph: &mut Graph) {
    if !graph.statements.iter().any(is_log_sum) {
        return;
    }
    for stmt in std::mem::take(&mut graph.statements) {
        match (is_log_sum(&stmt), stmt.scan) {
            (false, _) => graph.statements.push(stmt),
            (true, None) => reduction(graph, stmt),
            (true, Some(along)) => scan(graph, stmt, along),
        }
    }
}

pub(super) fn is_log_sum(stmt: &Stmt) -> bool {
    stmt.reduce == Some(Reducer::Monoid(Monoid::LogAddExp))
}

/// Adds the statements of a reduction.
fn reduction(graph: &mut Graph, stmt: Stmt) {
    let out = graph.array(stmt.out).clone();
    let whole = index::of_axes(0..out.shape.len());
    let greatest = graph.new_array(out.dtype, out.shape.clone());
    graph.statements.push(reduced(&stmt, Monoid::Max, greatest, stmt.value.clone()));
    let level = finite(graph, greatest, stmt.span);
    let sum = graph.new_array(out.dtype, out.shape);
    let value = exponential(&stmt.value, (level, stmt.out_index.clone()));
    graph.statements.push(reduced(&stmt, Monoid::Add, sum, value));
    let axes = axes_of(graph, stmt.out);
    let mut builder = Builder::default();
    let root = logarithm(&mut builder, (sum, whole.clone()), (level, whole.clone()));
    let root = accumulated(&mut builder, (stmt.init, out.dtype), &whole, root);
    let value = builder.finish(root);
    graph.statements.push(Stmt::map(stmt.out, axes, value.nodes, stmt.span));
}

/// Adds the statements of a scan: the running maximum never decreases, so the sums are relative to it.
fn scan(graph: &mut Graph, stmt: Stmt, along: AxisId) {
    let dtype = graph.array(stmt.out).dtype;
    let along = along.0 as usize;
    let mut order: Vec<usize> = (0..stmt.axes.len()).filter(|axis| *axis != along).collect();
    order.push(along);
    let shape: Vec<u64> = order.iter().map(|axis| stmt.axes[*axis].extent).collect();
    let whole = index::of_axes(order);
    let mut own = || graph.new_array(dtype, shape.clone());
    let (greatest, level, elements, sum) = (own(), own(), own(), own());
    let map = |out: ArrayId, value: Expr| Stmt {
        out,
        out_index: whole.clone(),
        init: Init::Zero,
        reduce: None,
        scan: None,
        value,
        ..stmt.clone()
    };
    let scanned = |out: ArrayId, monoid: Monoid, value: Expr| Stmt {
        init: Init::Identity(monoid),
        reduce: Some(Reducer::Monoid(monoid)),
        scan: stmt.scan,
        ..map(out, value)
    };
    let access = |array: ArrayId| ExprNode::Access(array, whole.clone());
    let values = exponential(&stmt.value, (level, whole.clone()));
    let relative = Expr { nodes: vec![access(level), access(elements)] };
    let mut builder = Builder::default();
    let root = logarithm(&mut builder, (sum, whole.clone()), (level, whole.clone()));
    let last =
        Stmt { out: stmt.out, out_index: stmt.out_index.clone(), ..map(sum, builder.finish(root)) };
    let statements = [
        scanned(greatest, Monoid::Max, stmt.value.clone()),
        map(level, Expr { nodes: clamped((greatest, whole.clone()), dtype) }),
        map(elements, values),
        scanned(sum, Monoid::Add, relative),
        Stmt { init: stmt.init, ..last },
    ];
    graph.statements.extend(statements);
}

/// The sum of a result and the initial value of its element.
pub(super) fn accumulated(
    builder: &mut Builder,
    (init, dtype): (Init, DType),
    place: &[IndexExpr],
    root: u32,
) -> u32 {
    let former = match init {
        Init::Identity(_) => return root,
        Init::Zero => ExprNode::Const(scalar::identity(Monoid::Add, dtype)),
        Init::From(array) => ExprNode::Access(array, place.to_vec()),
    };
    let former = builder.push(former);
    builder.push(ExprNode::Binary(BinaryOp::LogAddExp, former, root))
}

/// The statement with another monoid, output and value.
pub(super) fn reduced(stmt: &Stmt, monoid: Monoid, out: ArrayId, value: Expr) -> Stmt {
    let (init, reduce) = (Init::Identity(monoid), Some(Reducer::Monoid(monoid)));
    Stmt { out, init, reduce, value, ..stmt.clone() }
}

/// `exp(value - level)`.
pub(super) fn exponential(value: &Expr, (level, at): (ArrayId, Vec<IndexExpr>)) -> Expr {
    let mut builder = Builder::default();
    let value = builder.push_all(value);
    let level = builder.push(ExprNode::Access(level, at));
    let above = builder.push(ExprNode::Binary(BinaryOp::Sub, value, level));
    let root = builder.push(ExprNode::Unary(UnaryOp::Exp, above));
    builder.finish(root)
}

/// `ln(sum) + level`.
pub(super) fn logarithm(
    builder: &mut Builder,
    (sum, at): (ArrayId, Vec<IndexExpr>),
    (level, place): (ArrayId, Vec<IndexExpr>),
) -> u32 {
    let sum = builder.push(ExprNode::Access(sum, at));
    let logarithm = builder.push(ExprNode::Unary(UnaryOp::Ln, sum));
    let level = builder.push(ExprNode::Access(level, place));
    builder.push(ExprNode::Binary(BinaryOp::Add, logarithm, level))
}

/// Adds an array with the nearest finite numbers of another.
pub(super) fn finite(graph: &mut Graph, array: ArrayId, span: Span) -> ArrayId {
    let info = graph.array(array).clone();
    let level = graph.new_array(info.dtype, info.shape);
    let axes = axes_of(graph, level);
    let numbers = clamped((array, index::of_axes(0..axes.len())), info.dtype);
    graph.statements.push(Stmt::map(level, axes, numbers, span));
    level
}

/// The nearest finite number; NaN stays NaN.
fn clamped((array, at): (ArrayId, Vec<IndexExpr>), dtype: DType) -> Vec<ExprNode> {
    let (least, greatest) = match dtype {
        DType::F32 => (Scalar::F32(f32::MIN), Scalar::F32(f32::MAX)),
        _ => (Scalar::F64(f64::MIN), Scalar::F64(f64::MAX)),
    };
    vec![
        ExprNode::Access(array, at),
        ExprNode::Const(least),
        ExprNode::Binary(BinaryOp::Max, 0, 1),
        ExprNode::Const(greatest),
        ExprNode::Binary(BinaryOp::Min, 2, 3),
    ]
}
