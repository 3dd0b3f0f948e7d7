//! Copies of what is read beyond an end.
//!
//! Where `x[(i + f) % n]` is read, `t[k] = x[(k + least) % n]` has for each value of `i + f` an
//! element, and is read at `i + f - least`. It is worth it where the copy is small: beside what is
//! computed with it, or beside the statement, of which a box near a border reads it.

use super::Division;
use crate::graph::{Axis, Expr, Graph, Node, Stmt};
use crate::{SMALL_DOMAIN, index};
use ijk_ir::core::{ArrayId, Atom, AxisId, IndexExpr, Terms};

/// Many points read an element of such a copy.
const MANY: u64 = 64;
/// So many times fewer elements than the statement has points are a border.
const BORDER: u64 = 16;

/// A copy, and the statement that reads it instead of what it copies, if that is worth it; the
/// statement is a box of one that has so many points.
pub(super) fn copied(graph: &mut Graph, stmt: &Stmt, whole: u64) -> Option<(Stmt, Stmt)> {
    if !Division::all(stmt).iter().any(|division| division.read) {
        return None;
    }
    let (array, index) = stmt.value.nodes.iter().find_map(|node| match node {
        Node::Access(array, index) if is_worth(graph, stmt, (*array, index), whole) => {
            Some((*array, index.clone()))
        }
        _ => None,
    })?;
    let extents = stmt.extents();
    let windows: Vec<Window> =
        index.iter().map(|e| Window::of(e, &extents)).collect::<Option<_>>()?;
    let shape: Vec<u64> = windows.iter().map(|window| window.extent).collect();
    let copy = graph.new_array(graph.array(array).dtype, shape.clone());
    let axis = |(n, &extent): (usize, &u64)| Axis { name: format!("i{n}"), extent };
    let axes = shape.iter().enumerate().map(axis).collect();
    let from = windows.iter().enumerate().map(|(n, window)| window.copied(n, &shape));
    let from = from.collect::<Option<Vec<_>>>()?;
    let places = windows.iter().map(Window::place).collect::<Option<Vec<_>>>()?;
    let statement = Stmt::map(copy, axes, vec![Node::Access(array, from)], stmt.span);
    let node = |node: &Node| match node {
        Node::Access(a, i) if *a == array && *i == index => Node::Access(copy, places.clone()),
        other => other.clone(),
    };
    let nodes = stmt.value.nodes.iter().map(node).collect();
    Some((statement, Stmt { value: Expr { nodes }, ..stmt.clone() }))
}

/// Whether a box reads an access better from a copy of its own.
fn is_worth(graph: &Graph, stmt: &Stmt, access: (ArrayId, &[IndexExpr]), whole: u64) -> bool {
    let (array, index) = access;
    let extents = stmt.extents();
    let windows: Option<Vec<Window>> = index.iter().map(|e| Window::of(e, &extents)).collect();
    let Some(windows) = windows else { return false };
    let elements = windows.iter().fold(1, |n: u64, window| n.saturating_mul(window.extent));
    let shape = &graph.array(array).shape;
    let inside = index.iter().zip(shape).all(|(e, &n)| crate::bounds::holds(e, n, &extents));
    let mixed = windows.iter().any(|window| window.divides && window.is_mixed(stmt));
    let divides = windows.iter().any(|window| window.divides);
    let many = stmt.reduce.is_some() && elements <= stmt.points() / MANY;
    let border = mixed && elements <= whole / BORDER && stmt.points() < whole;
    inside && divides && stmt.points() > 1 && (many || border) && whole > SMALL_DOMAIN
}

/// The values that an index takes.
struct Window {
    /// An affine expression that tells the index,
    inner: IndexExpr,
    /// its least value, and how many it may take.
    least: i64,
    extent: u64,
    /// The index, of the inner expression as axis 0.
    outer: IndexExpr,
    divides: bool,
}

impl Window {
    fn of(e: &IndexExpr, extents: &[u64]) -> Option<Self> {
        let own = || IndexExpr::axis(AxisId(0));
        let (inner, outer, divides) = match &e.terms[..] {
            _ if e.is_affine() => (e.clone(), own(), false),
            [(coefficient, atom)] => {
                let (inner, atom) = match atom {
                    Atom::FloorDiv(inner, d) => (inner, Atom::FloorDiv(Box::new(own()), *d)),
                    Atom::Mod(inner, d) => (inner, Atom::Mod(Box::new(own()), *d)),
                    _ => return None,
                };
                let terms = Terms::one(*coefficient, atom);
                ((**inner).clone(), IndexExpr { constant: e.constant, terms }, true)
            }
            _ => return None,
        };
        if !inner.is_affine() {
            return None;
        }
        let (least, greatest) = index::range(&inner, extents);
        let extent = u64::try_from(greatest.checked_sub(least)?.checked_add(1)?).ok()?;
        Some(Self { inner, least: i64::try_from(least).ok()?, extent, outer, divides })
    }

    /// Whether the index depends on axes in a way that cutting one does not settle: on several, or
    /// on one that is reduced.
    fn is_mixed(&self, stmt: &Stmt) -> bool {
        let kept = stmt.kept_axes();
        let reduced =
            |(_, atom): &(i64, Atom)| matches!(atom, Atom::Axis(a) if !kept[a.0 as usize]);
        self.inner.terms.len() > 1 || self.inner.terms.iter().any(reduced)
    }

    /// What the copy has at a value of its axis `n`.
    fn copied(&self, n: usize, shape: &[u64]) -> Option<IndexExpr> {
        let own = IndexExpr::axis(AxisId(n as u32));
        let inner = index::add(&own, &IndexExpr::constant(self.least))?;
        index::substitute(&self.outer, &[inner], shape)
    }

    /// Where the copy is read.
    fn place(&self) -> Option<IndexExpr> {
        index::add(&self.inner, &IndexExpr::constant(self.least.checked_neg()?))
    }
}
