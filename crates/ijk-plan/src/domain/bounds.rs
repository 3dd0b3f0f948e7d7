//! Domains narrowed to points whose indices are in bounds.
//!
//! A point is evaluated if every index is in bounds and every guard holds. Indices that interval arithmetic proves to
//! be in bounds need no test; other affine ones narrow their axes. Conditions that remain are guards of the statement,
//! tested point by point.

use crate::SMALL_DOMAIN;
use crate::graph::expr::same_bits;
use crate::graph::{Axis, Expr, ExprNode, Few, Graph, Guard, Stmt, coverage, index, zero};
use ijk_ir::core::{Access, ArrayId, Atom, AxisId, IndexExpr, Init};
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, UnaryOp, scalar};

/// Least and greatest value of an axis or an index, both inclusive.
pub(crate) type Interval = (i128, i128);

/// The guards of both lists, each once. Elements that an index reads are guarded before it, so affine guards come first.
pub(crate) fn merged(own: &[Guard], others: impl IntoIterator<Item = Guard>) -> Vec<Guard> {
    let mut guards = own.to_vec();
    for guard in others {
        if !guards.contains(&guard) {
            guards.push(guard);
        }
    }
    guards.sort_by_key(|(e, _)| index::reads(e));
    guards
}

/// Runs the pass.
pub(crate) fn bound(graph: &mut Graph) {
    let mut no_negative_zero = vec![false; graph.arrays.len()];
    let statements = std::mem::take(&mut graph.statements).into_iter().map(|stmt| {
        let stmt = skipping(graph, bounded(graph, stmt));
        let stmt = combined(graph, normal_start(graph, stmt));
        let stmt = plain_store(graph, stmt, &no_negative_zero);
        no_negative_zero[stmt.out.0 as usize] = never_negative_zero(&stmt, &no_negative_zero);
        stmt
    });
    graph.statements = statements.collect();
}

/// The statement with narrowed axes; conditions that remain are its guards.
fn bounded(graph: &Graph, mut stmt: Stmt) -> Stmt {
    let domain_is_empty = stmt.axes.iter().any(|axis| axis.extent == 0);
    if domain_is_empty {
        return stmt;
    }
    if stays_within(graph, &stmt) {
        stmt.guards.clear();
        return stmt;
    }
    stmt.guards = conditions(graph, &stmt);
    let Some(mut narrowed) = narrow(stmt.clone()) else {
        return graph.initial(stmt.out, stmt.init, stmt.reduce, stmt.span);
    };
    while let Some(shorter) = follow_index(&narrowed) {
        let Some(next) = narrow(shorter) else {
            return graph.initial(stmt.out, stmt.init, stmt.reduce, stmt.span);
        };
        narrowed = next;
    }
    narrowed
}

/// Tells whether every index is in bounds over the whole domain and depends on no element of an array.
fn stays_within(graph: &Graph, stmt: &Stmt) -> bool {
    let extents = stmt.extents();
    let within = |e: &IndexExpr, extent| !index::reads(e) && holds(e, extent, &extents);
    let fits = |array: ArrayId, index: &[IndexExpr]| {
        index.iter().zip(&graph.array(array).shape).all(|(e, &extent)| within(e, extent))
    };
    fits(stmt.out, &stmt.out_index)
        && stmt.guards.iter().all(|(e, extent)| within(e, *extent))
        && stmt.value.nodes.iter().all(|node| match node {
            ExprNode::Access(array, index) => fits(*array, index),
            other => !other.indices().iter().any(index::reads),
        })
}

/// A map with guards as a reduction into elements that start from the identity, so that skipped points need no value;
/// what it stores has the same bits.
fn skipping(graph: &Graph, stmt: Stmt) -> Stmt {
    if stmt.reduce.is_some() || stmt.guards.is_empty() {
        return stmt;
    }
    let boolean = graph.array(stmt.out).dtype == DType::Bool;
    let monoid = if boolean { Monoid::Or } else { Monoid::Add };
    Stmt { reduce: Some(Reducer::Monoid(monoid)), single: true, ..stmt }
}

/// Factor by which the domain must shrink to outweigh an output whose reached elements no longer form a box.
const SCATTER_GAIN: u64 = 8;

/// The statement with an axis replaced by an index that has fewer values in bounds: where `filter[q - p]` is read,
/// `f = q - p` replaces `q`. This reorders the domain, so statements of at most [`SMALL_DOMAIN`] points, whose order
/// is promised, are left alone.
fn follow_index(stmt: &Stmt) -> Option<Stmt> {
    if stmt.points() <= SMALL_DOMAIN || !matches!(stmt.reduce, Some(Reducer::Monoid(_))) {
        return None;
    }
    let kept = stmt.kept_axes();
    let mut best: Option<(u64, usize, &Guard)> = None;
    for guard in stmt.guards.iter().filter(|(e, n)| e.is_affine() && *n > 0) {
        for (coefficient, atom) in &guard.0.terms {
            let Atom::Axis(AxisId(axis)) = atom else { continue };
            let axis = *axis as usize;
            let handicap = if kept[axis] { SCATTER_GAIN } else { 1 };
            let gain = stmt.axes[axis].extent.saturating_mul(16) / guard.1 / handicap;
            let better = best.is_none_or(|(other, ..)| gain > other);
            if coefficient.abs() == 1 && gain > 16 && better {
                best = Some((gain, axis, guard));
            }
        }
    }
    let (_, axis, (e, extent)) = best?;
    replace_axis(stmt, axis, e, *extent)
}

/// The statement with `axis` replaced by the value of `e`, in `0..extent`. The coefficient of the axis in `e` is 1 or
/// -1.
pub(crate) fn replace_axis(stmt: &Stmt, axis: usize, e: &IndexExpr, extent: u64) -> Option<Stmt> {
    let own = IndexExpr::axis(AxisId(axis as u32));
    let coefficient = e.terms.iter().find(|(_, atom)| *atom == own.terms[0].1)?.0;
    let rest = index::add(e, &index::scale(&own, -coefficient)?)?;
    let solved = index::add(&own, &index::scale(&rest, -1)?)?;
    let solved = index::scale(&solved, coefficient)?;
    let mut map = index::of_axes(0..stmt.axes.len());
    let mut axes = stmt.axes.clone();
    let old = std::mem::replace(&mut axes[axis].extent, extent);
    map[axis] = solved.clone();
    let mut replaced = stmt.substitute(&map, axes)?;
    replaced.guards.push((solved, old));
    replaced.guards.sort_by_key(|(e, _)| index::reads(e));
    Some(replaced)
}

/// Conditions on every index of the statement. Those on an element that an index reads precede that index; affine ones
/// come first.
fn conditions(graph: &Graph, stmt: &Stmt) -> Vec<Guard> {
    let mut found = Vec::new();
    access_conditions(graph, stmt.out, &stmt.out_index, &mut found);
    for (e, extent) in &stmt.guards {
        element_conditions(graph, e, &mut found);
        add(&mut found, e, *extent);
    }
    for node in &stmt.value.nodes {
        match node {
            ExprNode::Access(array, index) => access_conditions(graph, *array, index, &mut found),
            other => other.indices().iter().for_each(|e| element_conditions(graph, e, &mut found)),
        }
    }
    found.sort_by_key(|(e, _)| index::reads(e));
    found
}

fn access_conditions(graph: &Graph, array: ArrayId, index: &[IndexExpr], found: &mut Vec<Guard>) {
    for (e, extent) in index.iter().zip(&graph.array(array).shape) {
        element_conditions(graph, e, found);
        add(found, e, *extent);
    }
}

fn element_conditions(graph: &Graph, e: &IndexExpr, found: &mut Vec<Guard>) {
    for (_, atom) in &e.terms {
        match atom {
            Atom::Axis(_) => {}
            Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) | Atom::Abs(inner) => {
                element_conditions(graph, inner, found);
            }
            Atom::Product(left, right) | Atom::Max(left, right) | Atom::Min(left, right) => {
                element_conditions(graph, left, found);
                element_conditions(graph, right, found);
            }
            Atom::Element(access) => {
                let Access { array, index, .. } = &**access;
                access_conditions(graph, *array, index, found);
            }
        }
    }
}

fn add(found: &mut Vec<Guard>, e: &IndexExpr, extent: u64) {
    match found.iter_mut().find(|(other, _)| other == e) {
        Some((_, least)) => *least = extent.min(*least),
        None => found.push((e.clone(), extent)),
    }
}

/// The statement over the smallest box that contains all points whose guards hold; guards that always hold there are
/// dropped. `None` if no point is left.
pub(crate) fn narrow(mut stmt: Stmt) -> Option<Stmt> {
    // Each round narrows some axis. Bounds may converge slowly; guards cover the rest.
    const ROUNDS: usize = 16;
    for _ in 0..ROUNDS {
        let extents = stmt.extents();
        let mut bounds: Vec<Interval> = extents.iter().map(|&n| (0, i128::from(n) - 1)).collect();
        for (e, extent) in &stmt.guards {
            narrow_by(e, *extent, &extents, &mut bounds)?;
        }
        if bounds.iter().any(|(low, high)| low > high) {
            return None;
        }
        let Some(smaller) = within(&stmt, &bounds) else { break };
        stmt = smaller;
    }
    let extents = stmt.extents();
    stmt.guards.retain(|(e, extent)| !holds(e, *extent, &extents));
    Some(stmt)
}

/// Tells whether an index is in bounds over the whole domain.
pub(crate) fn holds(e: &IndexExpr, extent: u64, extents: &[u64]) -> bool {
    let (least, greatest) = index::range(e, extents);
    least >= 0 && greatest < i128::from(extent)
}

/// Narrows each axis to values for which the index can be in bounds for some values of the other terms. `None` if it
/// never can.
fn narrow_by(e: &IndexExpr, extent: u64, extents: &[u64], bounds: &mut [Interval]) -> Option<()> {
    let (least, greatest) = index::range(e, extents);
    let last = i128::from(extent) - 1;
    if greatest < 0 || least > last || last < 0 {
        return None;
    }
    for (coefficient, atom) in &e.terms {
        let Atom::Axis(axis) = atom else { continue };
        let c = i128::from(*coefficient);
        let own = c.saturating_mul(i128::from(extents[axis.0 as usize]) - 1);
        // Range of the sum of all other terms.
        let low = least.saturating_sub(own.min(0));
        let high = greatest.saturating_sub(own.max(0));
        // 0 <= c·x + rest <= last for some rest in low..=high.
        let (from, to) = (0i128.saturating_sub(high), last.saturating_sub(low));
        let (from, to) = match c > 0 {
            true => (ceil_div(from, c), to.div_euclid(c)),
            false => (ceil_div(to.saturating_neg(), -c), from.saturating_neg().div_euclid(-c)),
        };
        let bound = &mut bounds[axis.0 as usize];
        *bound = (bound.0.max(from), bound.1.min(to));
    }
    Some(())
}

fn ceil_div(x: i128, d: i128) -> i128 {
    x.div_euclid(d) + i128::from(x.rem_euclid(d) != 0)
}

/// The statement with every axis restricted to its bounds; `None` if nothing is cut off.
pub(crate) fn within(stmt: &Stmt, bounds: &[Interval]) -> Option<Stmt> {
    let whole =
        |(axis, &(low, high)): (&Axis, &Interval)| low == 0 && high == i128::from(axis.extent) - 1;
    if stmt.axes.iter().zip(bounds).all(whole) {
        return None;
    }
    let mut axes: Vec<Axis> = Vec::with_capacity(bounds.len());
    let mut map = Vec::with_capacity(bounds.len());
    for (a, (axis, &(low, high))) in stmt.axes.iter().zip(bounds).enumerate() {
        let extent = u64::try_from(high - low + 1).ok()?;
        axes.push(Axis { name: axis.name.clone(), extent });
        let own = IndexExpr::axis(AxisId(a as u32));
        map.push(IndexExpr { constant: i64::try_from(low).ok()?, ..own });
    }
    stmt.substitute(&map, axes)
}

/// The statement with an initial zero rewritten as the identity of its monoid, where both have the same bits.
fn normal_start(graph: &Graph, mut stmt: Stmt) -> Stmt {
    if let (Init::Zero, Some(Reducer::Monoid(monoid))) = (stmt.init, stmt.reduce) {
        let dtype = graph.array(stmt.out).dtype;
        if same_bits(zero(dtype), scalar::identity(monoid, dtype)) {
            stmt.init = Init::Identity(monoid);
        }
    }
    stmt
}

/// A reduction that combines one value with each element of an array, as a map of both.
fn combined(graph: &Graph, stmt: Stmt) -> Stmt {
    let (Some(Reducer::Monoid(monoid)), Init::From(before)) = (stmt.reduce, stmt.init) else {
        return stmt;
    };
    let (shape, extents) = (&graph.array(stmt.out).shape, stmt.extents());
    let plain = index::plain_axes(&stmt.out_index);
    let whole = plain.is_some_and(|axes| axes.len() == extents.len())
        && coverage::digits(&stmt.out_index, shape, &extents).is_some();
    let partial = [stmt.out, before].iter().any(|array| graph.partial.contains(array));
    if !whole || partial || stmt.scan.is_some() || !stmt.guards.is_empty() {
        return stmt;
    }
    let mut value = stmt.value.clone();
    let last = value.nodes.len() as u32 - 1;
    value.nodes.push(ExprNode::Access(before, stmt.out_index.clone()));
    value.nodes.push(ExprNode::Binary(monoid.op(), last + 1, last));
    Stmt { reduce: None, init: Init::Zero, value, ..stmt }
}

/// A reduction that combines at most one value with each identity, as a map.
fn plain_store(graph: &Graph, stmt: Stmt, no_negative_zero: &[bool]) -> Stmt {
    let Some(Reducer::Monoid(monoid)) = stmt.reduce else { return stmt };
    let own_start = stmt.init == Init::Identity(monoid) && stmt.guards.is_empty();
    if !own_start || !one_each(&stmt) {
        return stmt;
    }
    store_one(graph, stmt, monoid, no_negative_zero)
}

/// A reduction that combines exactly one value with each identity it reaches, as a map.
pub(crate) fn stored(graph: &Graph, stmt: Stmt, monoid: Monoid) -> Stmt {
    store_one(graph, stmt, monoid, &vec![false; graph.arrays.len()])
}

fn store_one(graph: &Graph, stmt: Stmt, monoid: Monoid, no_negative_zero: &[bool]) -> Stmt {
    let dtype = graph.array(stmt.out).dtype;
    let mut value = stmt.value.clone();
    if !stmt.single && !is_neutral(monoid, dtype, &value, no_negative_zero) {
        let last = value.nodes.len() as u32 - 1;
        value.nodes.push(ExprNode::Const(scalar::identity(monoid, dtype)));
        value.nodes.push(ExprNode::Binary(monoid.op(), last + 1, last));
    }
    Stmt { reduce: None, value, ..stmt }
}

/// Tells whether distinct points write distinct elements.
pub(crate) fn one_each(stmt: &Stmt) -> bool {
    let determined = coverage::determined(&stmt.out_index, &stmt.extents());
    determined.into_iter().all(|d| d)
}

/// Tells whether combining the value with the identity returns the value bit for bit.
fn is_neutral(monoid: Monoid, dtype: DType, value: &Expr, no_negative_zero: &[bool]) -> bool {
    match monoid {
        Monoid::Max | Monoid::Min | Monoid::And | Monoid::Or | Monoid::LogAddExp => true,
        Monoid::Mul => !dtype.is_complex(),
        Monoid::Add if dtype.is_float() || dtype.is_complex() => {
            is_no_negative_zero(value, no_negative_zero)
        }
        Monoid::Add => true,
    }
}

/// Tells whether no element of the output can be -0.0, nor have it as real or imaginary part.
fn never_negative_zero(stmt: &Stmt, no_negative_zero: &[bool]) -> bool {
    let starts_without = match stmt.init {
        Init::Zero | Init::Identity(Monoid::Add) => true,
        Init::Identity(_) => false,
        Init::From(array) => no_negative_zero[array.0 as usize],
    };
    starts_without
        && match stmt.reduce {
            // Only -0.0 + -0.0 is -0.0.
            Some(Reducer::Monoid(Monoid::Add)) if !stmt.single => true,
            None | Some(Reducer::Monoid(Monoid::Add)) => {
                is_no_negative_zero(&stmt.value, no_negative_zero)
            }
            Some(_) => false,
        }
}

fn is_no_negative_zero(value: &Expr, no_negative_zero: &[bool]) -> bool {
    let mut never: Few<bool> = Few::with_capacity(value.nodes.len());
    for node in &value.nodes {
        let of = |at: &u32| never[*at as usize];
        never.push(match node {
            ExprNode::Access(array, _) => no_negative_zero[array.0 as usize],
            ExprNode::Const(value) => !has_negative_zero(*value),
            ExprNode::Index(_) => true,
            ExprNode::Binary(BinaryOp::Add, x, y) => of(x) || of(y),
            ExprNode::Select(_, x, y) => of(x) && of(y),
            ExprNode::Unary(UnaryOp::Exp | UnaryOp::Sigmoid, _) => true,
            _ => false,
        });
    }
    never.last().copied().unwrap_or(false)
}

fn has_negative_zero(value: Scalar) -> bool {
    let negative = |x: f64| x == 0.0 && x.is_sign_negative();
    match value {
        Scalar::F32(x) => negative(x.into()),
        Scalar::F64(x) => negative(x),
        Scalar::C64(x) => negative(x.re.into()) || negative(x.im.into()),
        Scalar::C128(x) => negative(x.re) || negative(x.im),
        _ => false,
    }
}
