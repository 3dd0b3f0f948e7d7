//! Small unwrapped copies of what is read across a boundary.
//!
//! For `x[(i + f) % n]`, `t[k] = x[(k + least) % n]` has an element for each value of `i + f`, and is read at
//! `i + f - least`. That of `x[MAX(i + f, 0)]` repeats the first element. The copy pays if it is small relative to the computation with it, or to the statement of which a
//! box near the boundary reads it.

use super::Division;
use crate::SMALL_DOMAIN;
use crate::graph::{Axis, Expr, ExprNode, Graph, Stmt, index};
use ijk_ir::core::{ArrayId, Atom, AxisId, IndexExpr, Terms};

/// Least number of points per element of a copy that pays by itself.
const MIN_POINTS_PER_ELEMENT: u64 = 64;
/// Least ratio of the whole statement's points to elements of a copy for a box near the boundary.
const MIN_BORDER_RATIO: u64 = 16;

/// A copy, and the statement redirected to it, if that pays; `whole` is the number of points of the statement that the
/// box belongs to.
pub(super) fn copied(graph: &mut Graph, stmt: &Stmt, whole: u64) -> Option<(Stmt, Stmt)> {
    if !Division::all(stmt).iter().any(|division| division.read) {
        return None;
    }
    let (array, index) = stmt.value.nodes.iter().find_map(|node| match node {
        ExprNode::Access(array, index) if is_worth(graph, stmt, (*array, index), whole) => {
            Some((*array, index.clone()))
        }
        _ => None,
    })?;
    let extents = stmt.extents();
    let windows: Vec<IndexValues> =
        index.iter().map(|e| IndexValues::of(e, &extents)).collect::<Option<_>>()?;
    let shape: Vec<u64> = windows.iter().map(|window| window.extent).collect();
    let copy = graph.new_array(graph.array(array).dtype, shape.clone());
    let axis = |(n, &extent): (usize, &u64)| Axis { name: format!("i{n}"), extent };
    let axes = shape.iter().enumerate().map(axis).collect();
    let from = windows.iter().enumerate().map(|(n, window)| window.copied(n, &shape));
    let from = from.collect::<Option<Vec<_>>>()?;
    let places = windows.iter().map(IndexValues::place).collect::<Option<Vec<_>>>()?;
    let statement = Stmt::map(copy, axes, vec![ExprNode::Access(array, from)], stmt.span);
    let node = |node: &ExprNode| match node {
        ExprNode::Access(a, i) if *a == array && *i == index => {
            ExprNode::Access(copy, places.clone())
        }
        other => other.clone(),
    };
    let nodes = stmt.value.nodes.iter().map(node).collect();
    Some((statement, Stmt { value: Expr { nodes }, ..stmt.clone() }))
}

/// Tells whether an access of a box is better redirected to a copy.
fn is_worth(graph: &Graph, stmt: &Stmt, access: (ArrayId, &[IndexExpr]), whole: u64) -> bool {
    let (array, index) = access;
    let extents = stmt.extents();
    let windows: Option<Vec<IndexValues>> =
        index.iter().map(|e| IndexValues::of(e, &extents)).collect();
    let Some(windows) = windows else { return false };
    let elements = windows.iter().fold(1, |n: u64, window| n.saturating_mul(window.extent));
    let shape = &graph.array(array).shape;
    let inside =
        index.iter().zip(shape).all(|(e, &n)| crate::domain::bounds::holds(e, n, &extents));
    let mixed = windows.iter().any(|window| window.divides && window.is_mixed(stmt));
    let divides = windows.iter().any(|window| window.divides);
    let many = stmt.reduce.is_some() && elements <= stmt.points() / MIN_POINTS_PER_ELEMENT;
    let border = mixed && elements <= whole / MIN_BORDER_RATIO && stmt.points() < whole;
    inside && divides && stmt.points() > 1 && (many || border) && whole > SMALL_DOMAIN
}

/// An index as a function of an affine expression: the affine expression, and the index with that as axis 0.
fn composed(e: &IndexExpr) -> Option<(IndexExpr, IndexExpr)> {
    if e.is_affine() {
        return Some((e.clone(), IndexExpr::axis(AxisId(0))));
    }
    let [(coefficient, atom)] = &e.terms[..] else { return None };
    let (inner, atom) = match atom {
        Atom::FloorDiv(of, d) if of.is_affine() => {
            let (inner, outer) = composed(of)?;
            (inner, Atom::FloorDiv(Box::new(outer), *d))
        }
        Atom::Mod(of, d) if of.is_affine() => {
            let (inner, outer) = composed(of)?;
            (inner, Atom::Mod(Box::new(outer), *d))
        }
        Atom::Abs(of) => {
            let (inner, outer) = composed(of)?;
            (inner, Atom::Abs(Box::new(outer)))
        }
        Atom::Max(left, right) => {
            let (inner, left, right) = both(left, right)?;
            (inner, Atom::Max(Box::new(left), Box::new(right)))
        }
        Atom::Min(left, right) => {
            let (inner, left, right) = both(left, right)?;
            (inner, Atom::Min(Box::new(left), Box::new(right)))
        }
        _ => return None,
    };
    Some((inner, IndexExpr { constant: e.constant, terms: Terms::one(*coefficient, atom) }))
}

/// Two expressions as functions of one affine expression, which is first.
fn both(left: &IndexExpr, right: &IndexExpr) -> Option<(IndexExpr, IndexExpr, IndexExpr)> {
    if left.terms.is_empty() {
        let (inner, outer) = composed(right)?;
        return Some((inner, left.clone(), outer));
    }
    let (inner, outer) = composed(left)?;
    // The right one may be constant, the same expression or its negation, each with a number added.
    let other = [0, 1, -1].into_iter().find_map(|factor| {
        let rest = index::add(right, &index::scale(&inner, -factor)?)?;
        let own = index::scale(&IndexExpr::axis(AxisId(0)), factor)?;
        rest.terms.is_empty().then(|| index::add(&own, &rest)).flatten()
    })?;
    Some((inner, outer, other))
}

/// Range of an index as a function of an affine expression.
struct IndexValues {
    /// The affine expression,
    inner: IndexExpr,
    /// its least value, and the number of its values.
    least: i64,
    extent: u64,
    /// The index, with the inner expression as axis 0.
    outer: IndexExpr,
    divides: bool,
}

impl IndexValues {
    fn of(e: &IndexExpr, extents: &[u64]) -> Option<Self> {
        let divides = !e.is_affine();
        let (inner, outer) = composed(e)?;
        let (least, greatest) = index::range(&inner, extents);
        let extent = u64::try_from(greatest.checked_sub(least)?.checked_add(1)?).ok()?;
        Some(Self { inner, least: i64::try_from(least).ok()?, extent, outer, divides })
    }

    /// Tells whether cutting one kept axis does not fix the quotient: the index depends on several axes, or on a
    /// reduced one.
    fn is_mixed(&self, stmt: &Stmt) -> bool {
        let kept = stmt.kept_axes();
        let reduced =
            |(_, atom): &(i64, Atom)| matches!(atom, Atom::Axis(a) if !kept[a.0 as usize]);
        self.inner.terms.len() > 1 || self.inner.terms.iter().any(reduced)
    }

    /// Index of the original for a value of axis `n` of the copy.
    fn copied(&self, n: usize, shape: &[u64]) -> Option<IndexExpr> {
        let own = IndexExpr::axis(AxisId(n as u32));
        let inner = index::add(&own, &IndexExpr::constant(self.least))?;
        index::substitute(&self.outer, &[inner], shape)
    }

    /// Index at which the copy is read.
    fn place(&self) -> Option<IndexExpr> {
        index::add(&self.inner, &IndexExpr::constant(self.least.checked_neg()?))
    }
}
