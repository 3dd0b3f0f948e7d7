//! Fusion of elementwise producers into their only consumer, if each element is evaluated once.
//!
//! A guarded map, such as a gather with indices out of range, leaves zeros where it skips points. A sum of products of
//! its elements can skip the same points itself, since a zero factor adds nothing. A reduction of a reduction by the
//! same monoid is one over the axes of both; the passes on products and rows decide later where to cut it.

use crate::SMALL_DOMAIN;
use crate::canonical::simplify::{axes_at, digits_of, drop_copies, drop_dead, inline};
use crate::domain::bounds::{self, one_each};
use crate::domain::split;
use crate::graph::axes::of_indices;
use crate::graph::coverage::{self, Digit, Digits};
use crate::graph::expr::{Builder, extract};
use crate::graph::terms::{Algebra, Terms};
use crate::graph::{Axis, ExprNode, Graph, Guard, Stmt, index};
use ijk_ir::core::{ArrayId, AxisId, IndexExpr, Init};
use ijk_types::{BinaryOp, DType, Monoid, Reducer};

/// Greatest number of nodes of a fused expression.
const MAX_NODES: usize = 64;
/// Greatest number of accesses of a fused expression.
const MAX_LOADS: usize = 16;

/// Runs the pass.
pub(crate) fn fuse(graph: &mut Graph) {
    fuse_into(graph, |_| true);
}

/// Fuses maps into maps: epilogues that passes added into existing ones.
pub(crate) fn fuse_maps(graph: &mut Graph) {
    fuse_into(graph, |stmt| stmt.reduce.is_none());
}

/// Fuses producers into statements that are `wanted`.
fn fuse_into(graph: &mut Graph, wanted: impl Fn(&Stmt) -> bool) {
    let definitions = graph.definitions();
    let mut uses = graph.uses();
    for at in 0..graph.statements.len() {
        if !wanted(&graph.statements[at]) {
            continue;
        }
        while let Some(fused) = fuse_one(graph, &definitions, &uses, at) {
            count_reads(&graph.statements[at], &mut uses, -1);
            count_reads(&fused, &mut uses, 1);
            graph.statements[at] = fused;
        }
    }
    drop_dead(graph);
    drop_copies(graph);
}

fn count_reads(stmt: &Stmt, uses: &mut [u32], change: i32) {
    stmt.for_each_read(|array| {
        let count = &mut uses[array.0 as usize];
        *count = count.saturating_add_signed(change);
    });
}

/// The statement with the first fusable producer inlined.
fn fuse_one(graph: &Graph, definitions: &[Option<u32>], uses: &[u32], at: usize) -> Option<Stmt> {
    let stmt = &graph.statements[at];
    stmt.value.nodes.iter().find_map(|node| {
        let ExprNode::Access(array, index) = node else { return None };
        let producer = &graph.statements[definitions[array.0 as usize]? as usize];
        let fusable = uses[array.0 as usize] == 1
            && fits(stmt, producer)
            && evaluated_once(stmt, index)
            && keeps_errors(graph, stmt, producer);
        if !fusable {
            return None;
        }
        match producer.reduce {
            None => try_fuse(stmt, producer, *array, &digits_of(graph, producer)?),
            Some(_) => fuse_skipping(graph, stmt, producer, (*array, index))
                .or_else(|| fuse_stages(graph, stmt, producer, (*array, index))),
        }
    })
}

/// Tells whether the fused expression stays within limits.
pub(crate) fn fits(stmt: &Stmt, producer: &Stmt) -> bool {
    let loads =
        |s: &Stmt| s.value.nodes.iter().filter(|n| matches!(n, ExprNode::Access(..))).count();
    stmt.value.nodes.len() + producer.value.nodes.len() <= MAX_NODES
        && loads(stmt) + loads(producer) <= MAX_LOADS
}

/// Tells whether distinct points read distinct elements.
pub(crate) fn evaluated_once(stmt: &Stmt, index: &[IndexExpr]) -> bool {
    coverage::determined(index, &stmt.extents()).into_iter().all(|d| d)
}

/// Tells whether fusion preserves errors: the consumer evaluates every element, or the producer cannot fail.
fn keeps_errors(graph: &Graph, stmt: &Stmt, producer: &Stmt) -> bool {
    let all = stmt.guards.is_empty() && stmt.points() == producer.points();
    all || !graph.can_fail(producer)
}

fn try_fuse(
    stmt: &Stmt,
    producer: &Stmt,
    array: ArrayId,
    digits: &[Option<Digit>],
) -> Option<Stmt> {
    let fused = inline(stmt, |a, _| (a == array).then(|| (producer, Digits::from_slice(digits))))?;
    let fused = split::split(fused);
    let allowed = split::divisions(stmt) + split::divisions(producer);
    (split::divisions(&fused) <= allowed).then_some(fused)
}

/// Fuses a guarded map into a sum of products, which takes over its guards.
fn fuse_skipping(
    graph: &Graph,
    stmt: &Stmt,
    producer: &Stmt,
    (array, index): (ArrayId, &[IndexExpr]),
) -> Option<Stmt> {
    let large = stmt.points() > SMALL_DOMAIN && producer.points() > SMALL_DOMAIN;
    if graph.strict || !large || !leaves_zeros(graph, producer) || graph.can_fail(producer) {
        return None;
    }
    if !starts_from_zero(graph, stmt) || !multiplies(graph, stmt, array) {
        return None;
    }
    let Joint { digits, guards, .. } = Joint::of(graph, stmt, producer, index)?;
    let reduce = Some(Reducer::Monoid(Monoid::Add));
    let skipping = Stmt { guards, reduce, init: Init::Identity(Monoid::Add), ..stmt.clone() };
    try_fuse(&skipping, producer, array, &digits)
}

/// Fuses a reduction into a reduction by the same monoid.
fn fuse_stages(
    graph: &Graph,
    stmt: &Stmt,
    producer: &Stmt,
    (array, index): (ArrayId, &[IndexExpr]),
) -> Option<Stmt> {
    if graph.strict || !are_stages(graph, stmt, producer) {
        return None;
    }
    let Joint { map, axes, guards, .. } = Joint::of(graph, stmt, producer, index)?;
    let extents: Vec<u64> = axes.iter().map(|axis| axis.extent).collect();
    let inner = producer.value.map_indices(|e| index::substitute(e, &map, &extents))?;
    let mut builder = Builder::default();
    let root = builder.push_expr(&stmt.value, |builder, leaf| match leaf {
        ExprNode::Access(read, _) if *read == array => Some(builder.push_all(&inner)),
        other => Some(builder.push(other.clone())),
    })?;
    Some(Stmt { axes, guards, value: builder.finish(root), ..stmt.clone() })
}

/// The domain of a statement with that of a producer that it reads.
struct Joint {
    /// Digits of the producer's axes.
    digits: Digits,
    /// The producer's axes over the joint ones.
    map: Vec<IndexExpr>,
    /// The statement's axes, and the reduced axes of the producer.
    axes: Vec<Axis>,
    /// Guards of both.
    guards: Vec<Guard>,
}

impl Joint {
    /// The joint domain of a statement and a producer that it reads at `index`, if the producer covers its output.
    fn of(graph: &Graph, stmt: &Stmt, producer: &Stmt, index: &[IndexExpr]) -> Option<Self> {
        let shape = &graph.array(producer.out).shape;
        let digits = coverage::digits(&producer.out_index, shape, &producer.extents())?;
        let (kept, mut axes) = (producer.kept_axes(), stmt.axes.clone());
        let mut map = axes_at(&digits, index, &stmt.extents())?;
        let reduced = |&axis: &usize| !kept[axis] && producer.axes[axis].extent > 1;
        for axis in (0..kept.len()).filter(reduced) {
            map[axis] = IndexExpr::axis(AxisId(axes.len() as u32));
            axes.push(producer.axes[axis].clone());
        }
        let extents: Vec<u64> = axes.iter().map(|axis| axis.extent).collect();
        let guard = |(e, extent): &Guard| Some((index::substitute(e, &map, &extents)?, *extent));
        let guards = producer.guards.iter().map(guard).collect::<Option<Vec<_>>>()?;
        let guards = bounds::merged(&stmt.guards, guards);
        Some(Self { digits, map, axes, guards })
    }
}

/// Tells whether two reductions compose: the outer one reduces the inner one, at most scaled by factors of kept axes.
fn are_stages(graph: &Graph, stmt: &Stmt, producer: &Stmt) -> bool {
    let Some(Reducer::Monoid(monoid)) = stmt.reduce.filter(|_| stmt.reduce == producer.reduce)
    else {
        return false;
    };
    let both = [stmt, producer];
    // Small domains keep their order of evaluation. Reductions with affine guards become scans on their own.
    let plain = both.iter().all(|s| {
        s.points() > SMALL_DOMAIN
            && s.scan.is_none()
            && s.guards.iter().all(|(e, _)| index::reads(e))
    });
    let array = producer.out;
    let dtype = graph.array(array).dtype;
    // A complex sum can be NaN in one part alone, and the tolerance of the other part would not hold.
    let same = graph.array(stmt.out).dtype == dtype && !dtype.is_complex();
    let fresh = producer.init == Init::Identity(monoid) && !graph.partial.contains(&array);
    let whole = stmt.as_leaf().is_some() || monoid == Monoid::Add && scales(graph, stmt, array);
    plain && same && fresh && whole && !graph.can_fail(producer)
}

/// Tells whether a statement's value is an element of an array times factors that do not depend on reduced axes.
fn scales(graph: &Graph, stmt: &Stmt, array: ArrayId) -> bool {
    let kept = stmt.kept_axes();
    let Some(algebra) = Algebra::of(Monoid::Add, graph.array(stmt.out).dtype, &stmt.value) else {
        return false;
    };
    let stands = |root: u32| {
        let nodes = extract(&stmt.value.nodes, root).nodes;
        let axes = of_indices(nodes.iter().flat_map(ExprNode::indices));
        axes.iter().all(|&axis| kept[axis as usize])
    };
    let is_element = |root: u32| matches!(&stmt.value.nodes[root as usize], ExprNode::Access(other, _) if *other == array);
    let terms = Terms::of(&stmt.value, &algebra).all;
    multiplies(graph, stmt, array)
        && terms.iter().all(|term| is_element(term.root) || stands(term.root))
}

/// Tells whether a statement stores each value that it does not skip, and zeros elsewhere.
fn leaves_zeros(graph: &Graph, stmt: &Stmt) -> bool {
    stmt.reduce == Some(Reducer::Monoid(Monoid::Add))
        && graph.array(stmt.out).dtype != DType::Bool
        && starts_from_zero(graph, stmt)
        && one_each(stmt)
}

/// Tells whether elements that no point reaches are 0, and points add to that.
fn starts_from_zero(graph: &Graph, stmt: &Stmt) -> bool {
    matches!(stmt.reduce, None | Some(Reducer::Monoid(Monoid::Add)))
        && matches!(stmt.init, Init::Zero | Init::Identity(Monoid::Add))
        && stmt.scan.is_none()
        && !graph.partial.contains(&stmt.out)
}

/// Tells whether a statement's value is a product with the element of an array as a factor.
fn multiplies(graph: &Graph, stmt: &Stmt, array: ArrayId) -> bool {
    let (dtype, types) = (graph.array(stmt.out).dtype, graph.node_types(&stmt.value));
    let Some(algebra) = Algebra::of(Monoid::Add, dtype, &stmt.value) else { return false };
    let terms = Terms::of(&stmt.value, &algebra);
    let is_factor = |root: u32| matches!(&stmt.value.nodes[root as usize], ExprNode::Access(other, _) if *other == array);
    algebra.op == BinaryOp::Mul
        && terms.all.iter().all(|term| types[term.root as usize] == dtype)
        && terms.all.iter().any(|term| !term.inverse && is_factor(term.root))
}
