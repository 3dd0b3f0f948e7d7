//! Hoisting of slow functions that depend on few axes, or on elements that are read many times.
//!
//! `x[b,t]*COS(k*t)` has one cosine per k and t, but evaluates it for each b; `MOD(x[h+r,w+s], 2)` is a function of an
//! element, which overlapping windows read many times. Slow functions are stored by the axes that they depend on, or
//! by elements, and then loaded; so are any functions that are the two sides of a contraction, as in
//! `ABS(a[i,d] - 3*b[j,d])`, whose kernel reads arrays.

use crate::SMALL_DOMAIN;
use crate::domain::bounds;
use crate::graph::axes::{Axes, of_indices, restrict, union};
use crate::graph::expr::{extract, rebuilt};
use crate::graph::{Axis, Expr, ExprNode, Graph, Stmt, index};
use crate::select::contraction;
use ijk_ir::core::{ArrayId, IndexExpr, Init};
use ijk_types::{BinaryOp, DType, Reducer, UnaryOp};

/// Least number of points that use each hoisted value.
const MIN_POINTS_PER_VALUE: u64 = 8;

/// Least work that is saved, in divisions.
const MIN_WORK_SAVED: u64 = 1 << 16;

/// Runs the pass.
pub(crate) fn evaluate_before(graph: &mut Graph) {
    if graph.statements.iter().all(|stmt| stmt.points() < MIN_WORK_SAVED / SLOW_FUNCTION_COST) {
        return;
    }
    for stmt in std::mem::take(&mut graph.statements) {
        let stmt = hoisted(graph, stmt);
        graph.statements.push(stmt);
    }
}

/// The statement with slow functions replaced by accesses to arrays that new statements define.
fn hoisted(graph: &mut Graph, stmt: Stmt) -> Stmt {
    if stmt.points() <= SMALL_DOMAIN
        || stmt.points() < MIN_WORK_SAVED / SLOW_FUNCTION_COST
        || stmt.scan.is_some()
    {
        return stmt;
    }
    let found = functions(graph, &stmt);
    let stmt = if found.is_empty() { stmt } else { stored(graph, stmt, found) };
    let found = sides(graph, &stmt);
    if found.is_empty() {
        return stmt;
    }
    let mut trial = graph.clone();
    let contraction = stored(&mut trial, stmt.clone(), found);
    if !contraction::multiplies(&trial, &contraction) {
        return stmt;
    }
    *graph = trial;
    contraction
}

/// The statement with these nodes replaced by accesses to arrays that new statements define.
fn stored(graph: &mut Graph, stmt: Stmt, found: Vec<(usize, HoistDomain)>) -> Stmt {
    let types = graph.node_types(&stmt.value);
    let value = rebuilt(&stmt.value, |builder, at| {
        let (root, domain) = found.iter().find(|(root, _)| *root == at)?;
        let value = extract(&stmt.value.nodes, *root as u32);
        let (before, node) = domain.stored(graph, &stmt, types[*root], value);
        graph.statements.push(before);
        Some(builder.push(node))
    });
    Stmt { value, ..stmt }
}

/// Domain over which a hoisted function is evaluated.
enum HoistDomain {
    /// A subset of the statement's axes.
    Axes(Axes),
    /// All elements of an array, which the statement reads at these indices.
    Elements(ArrayId, Vec<IndexExpr>),
}

impl HoistDomain {
    /// The statement that stores the value, and the access that replaces the function.
    fn stored(
        &self,
        graph: &mut Graph,
        stmt: &Stmt,
        dtype: DType,
        value: Expr,
    ) -> (Stmt, ExprNode) {
        match self {
            Self::Axes(axes) => {
                let shape = axes.iter().map(|&axis| stmt.axes[axis as usize].extent).collect();
                let array = graph.new_array(dtype, shape);
                let index = index::of_axes(axes.iter().map(|&axis| axis as usize));
                let before = Stmt {
                    out: array,
                    out_index: index.clone(),
                    init: Init::Zero,
                    reduce: None,
                    value,
                    guards: Vec::new(),
                    ..stmt.clone()
                };
                let before = restrict(before, |axis| axes.contains(&(axis as u32)));
                (before, ExprNode::Access(array, index))
            }
            Self::Elements(of, places) => {
                let shape = graph.array(*of).shape.clone();
                let axis = |(n, &extent)| Axis { name: format!("_{n}"), extent };
                let axes: Vec<Axis> = shape.iter().enumerate().map(axis).collect();
                let own = index::of_axes(0..axes.len());
                let element = |node: &ExprNode| match node {
                    ExprNode::Access(array, _) => ExprNode::Access(*array, own.clone()),
                    other => other.clone(),
                };
                let nodes = value.nodes.iter().map(element).collect();
                let array = graph.new_array(dtype, shape);
                let before = Stmt::map(array, axes, nodes, stmt.span);
                (before, ExprNode::Access(array, places.clone()))
            }
        }
    }
}

/// The functions on both sides of an operation under a reduction, if each depends on few of the axes.
fn sides(graph: &Graph, stmt: &Stmt) -> Vec<(usize, HoistDomain)> {
    let nodes = &stmt.value.nodes;
    // Products have been taken apart: what is left of their factors are casts, which kernels of narrow types read.
    let binary = |at: u32| match nodes[at as usize] {
        ExprNode::Binary(op, x, y) if x != y && op != BinaryOp::Mul => Some([x, y]),
        _ => None,
    };
    let last = nodes.len() as u32 - 1;
    // Squares and magnitudes of the operation belong to the kernel.
    let operands = match nodes[last as usize] {
        ExprNode::Unary(UnaryOp::Abs, x) => binary(x),
        ExprNode::Binary(BinaryOp::Mul, x, y) if x == y => binary(x),
        ExprNode::Binary(BinaryOp::Pow, x, _) => binary(x),
        _ => binary(last),
    };
    let Some(operands) = operands.filter(|_| matches!(stmt.reduce, Some(Reducer::Monoid(_))))
    else {
        return Vec::new();
    };
    let axes = axes_of(nodes);
    let computed = operands.map(|at| at as usize).into_iter().filter(|&at| {
        matches!(nodes[at], ExprNode::Unary(..) | ExprNode::Binary(..) | ExprNode::Select(..))
    });
    let found = computed.map(|at| Some((at, of_axes(graph, stmt, at, &axes[at])?)));
    found.collect::<Option<_>>().unwrap_or_default()
}

/// Nodes to hoist, none of them inside another, with their domains.
fn functions(graph: &Graph, stmt: &Stmt) -> Vec<(usize, HoistDomain)> {
    let nodes = &stmt.value.nodes;
    let axes = axes_of(nodes);
    let weights = weights(nodes);
    let points = stmt.points();
    let mut covered = vec![false; nodes.len()];
    let mut found = Vec::new();
    for at in (0..nodes.len()).rev() {
        let dear =
            !covered[at] && weights[at] > 0 && points.saturating_mul(weights[at]) >= MIN_WORK_SAVED;
        let domain = match dear {
            true => {
                of_axes(graph, stmt, at, &axes[at]).or_else(|| of_elements(graph, stmt, at, points))
            }
            false => None,
        };
        if domain.is_some() || covered[at] {
            nodes[at].children().for_each(|child| covered[child as usize] = true);
        }
        found.extend(domain.map(|domain| (at, domain)));
    }
    found
}

/// The axes that a node depends on, if many points use each of its values.
fn of_axes(graph: &Graph, stmt: &Stmt, root: usize, axes: &Axes) -> Option<HoistDomain> {
    let extents = axes.iter().map(|&axis| stmt.axes[axis as usize].extent);
    let values = extents.fold(1, u64::saturating_mul);
    let reused = values.saturating_mul(MIN_POINTS_PER_VALUE) <= stmt.points();
    (reused && may_move(graph, stmt, root)).then(|| HoistDomain::Axes(axes.clone()))
}

/// The array whose elements a node is a function of, if each element is read many times.
fn of_elements(graph: &Graph, stmt: &Stmt, root: usize, points: u64) -> Option<HoistDomain> {
    let value = extract(&stmt.value.nodes, root as u32);
    let mut read = None;
    for node in &value.nodes {
        match node {
            ExprNode::Access(array, places) if read.is_none() => read = Some((*array, places)),
            ExprNode::Access(..) | ExprNode::Index(_) | ExprNode::Random { .. } => return None,
            _ => {}
        }
    }
    let (array, places) = read?;
    let elements = graph.array(array).shape.iter().fold(1, |n: u64, &x| n.saturating_mul(x));
    let whole = elements > 0 && !graph.partial.contains(&array);
    let fewer = whole && elements.saturating_mul(MIN_POINTS_PER_VALUE) <= points;
    let places = places.clone();
    (fewer && !graph.can_fail_in(&value)).then_some(HoistDomain::Elements(array, places))
}

/// For each node, the axes that it depends on.
fn axes_of(nodes: &[ExprNode]) -> Vec<Axes> {
    let mut all: Vec<Axes> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let own = of_indices(node.indices());
        all.push(node.children().fold(own, |axes, child| union(&axes, &all[child as usize])));
    }
    all
}

/// Cost of a function approximated by polynomials, in divisions.
const SLOW_FUNCTION_COST: u64 = 4;

/// For each node, the cost of its most expensive function, in divisions. Numbers that are computed from positions cost as
/// much: unlike elements, they are made anew in each row.
fn weights(nodes: &[ExprNode]) -> Vec<u64> {
    let mut all: Vec<u64> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let position = |x: u32| matches!(nodes[x as usize], ExprNode::Index(_));
        let own = match node {
            ExprNode::Unary(UnaryOp::Cast(to), x) if to.is_float() && position(*x) => 1,
            ExprNode::Unary(op, _) => of_unary(*op),
            ExprNode::Binary(op, ..) => of_binary(*op),
            _ => 0,
        };
        all.push(node.children().fold(own, |sum, child| sum.max(all[child as usize])));
    }
    all
}

fn of_unary(op: UnaryOp) -> u64 {
    match op {
        UnaryOp::Neg
        | UnaryOp::Abs
        | UnaryOp::Cast(_)
        | UnaryOp::Conj
        | UnaryOp::Re
        | UnaryOp::Im
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Round
        | UnaryOp::Sign
        | UnaryOp::Not => 0,
        UnaryOp::Sqrt | UnaryOp::Recip => 1,
        _ => SLOW_FUNCTION_COST,
    }
}

fn of_binary(op: BinaryOp) -> u64 {
    match op {
        BinaryOp::Div | BinaryOp::Mod | BinaryOp::FloorDiv => 1,
        BinaryOp::Pow | BinaryOp::Log | BinaryOp::Atan2 | BinaryOp::Hypot | BinaryOp::LogAddExp => {
            SLOW_FUNCTION_COST
        }
        _ => 0,
    }
}

/// Tells whether a node can be evaluated at all values of its axes, skipped points included.
fn may_move(graph: &Graph, stmt: &Stmt, root: usize) -> bool {
    let Expr { nodes } = extract(&stmt.value.nodes, root as u32);
    let extents = stmt.extents();
    let inside = |array, places: &[IndexExpr]| {
        let mut places = places.iter().zip(&graph.array(array).shape);
        places.all(|(e, &extent)| !index::reads(e) && bounds::holds(e, extent, &extents))
    };
    let moves = |node: &ExprNode| match node {
        ExprNode::Access(array, places) => inside(*array, places),
        ExprNode::Index(e) => !index::reads(e),
        ExprNode::Random { .. } => false,
        _ => true,
    };
    nodes.iter().all(moves) && !graph.can_fail_in(&Expr { nodes })
}
