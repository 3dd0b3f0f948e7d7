//! Quasi-affine indices, made affine in each of a few boxes.
//!
//! `x[(i + 3) % n]` is affine between changes of the quotient of `i + 3` by `n`. The domain is cut there ([`cuts`]);
//! an axis along which it changes often is split into two, with a head and a tail. If quotients change with several
//! axes at once, as in `x[(i + f) % n]`, boxes near the changes read a small copy without wrap-around ([`borders`]).
//! Disjoint boxes define their elements ([`disjoint`]) without a fill before.
//!
//! A magnitude and an extreme of two are affine where the sign of an affine expression is fixed: its quotient by a number
//! that it does not reach, -1 or 0. So `x[MIN(i + 1, n - 1)]` is cut by the same rules.

mod borders;
mod cuts;
mod disjoint;

pub(crate) use disjoint::region;

use crate::SMALL_DOMAIN;
use crate::domain::peel::chain;
use crate::domain::split;
use crate::graph::{ExprNode, Graph, Stmt, index};
use ijk_ir::core::{Atom, IndexExpr};

/// Greatest number of boxes of a statement.
const MAX_BOXES: usize = 128;
/// Least average number of points per box.
const BOX_POINTS: u64 = 64;

/// Runs the pass.
pub(crate) fn cut(graph: &mut Graph) {
    if !graph.statements.iter().any(divides) {
        return;
    }
    for stmt in std::mem::take(&mut graph.statements) {
        lower(graph, stmt);
    }
}

/// Adds a statement, cut into boxes if that makes its indices affine.
fn lower(graph: &mut Graph, stmt: Stmt) {
    let stmt = if divides(&stmt) { normal(stmt) } else { stmt };
    let boxes = if is_cut(&stmt) { Boxes::of(graph, &stmt) } else { None };
    let Some(Boxes { copies, done, .. }) = boxes else { return graph.statements.push(stmt) };
    copies.into_iter().for_each(|copy| lower(graph, copy));
    add_boxes(graph, stmt, done);
}

/// Adds the boxes of a statement: disjoint ones define their elements, others accumulate.
pub(crate) fn add_boxes(graph: &mut Graph, stmt: Stmt, boxes: Vec<Stmt>) {
    match disjoint::as_definitions(graph, &stmt, &boxes) {
        Some(definitions) => {
            let from = graph.statements.len();
            chain(graph, stmt, definitions);
            let defined: Vec<_> = graph.statements[from..].iter().map(|stmt| stmt.out).collect();
            graph.partial.extend(defined);
        }
        None => chain(graph, stmt, boxes),
    }
}

/// The statement without divisions of constant quotient.
fn normal(stmt: Stmt) -> Stmt {
    let same = index::of_axes(0..stmt.axes.len());
    stmt.substitute(&same, stmt.axes.clone()).unwrap_or(stmt)
}

/// Tells whether a statement may be cut into boxes, and divides.
fn is_cut(stmt: &Stmt) -> bool {
    stmt.takes_boxes() && stmt.points() > SMALL_DOMAIN && divides(stmt)
}

/// Tells whether an access of a statement has a quotient or remainder, a magnitude or extreme.
fn divides(stmt: &Stmt) -> bool {
    let mut found = false;
    for_each_place(stmt, &mut |e, _| found |= index::divisions(e) > 0);
    found
}

/// Calls `f` with every index of an access, and true if it is a read.
fn for_each_place(stmt: &Stmt, f: &mut impl FnMut(&IndexExpr, bool)) {
    stmt.out_index.iter().for_each(|e| f(e, false));
    for node in &stmt.value.nodes {
        if let ExprNode::Access(_, index) = node {
            index.iter().for_each(|e| f(e, true));
        }
    }
}

/// A quotient or remainder of an affine expression by `d`, or what depends on its sign.
#[derive(Clone, Debug)]
struct Division {
    dividend: IndexExpr,
    d: i64,
    /// True if it is in the index of a read.
    read: bool,
}

impl Division {
    /// Distinct divisions of affine expressions in a statement's accesses.
    fn all(stmt: &Stmt) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        let extents = stmt.extents();
        for_each_place(stmt, &mut |e, read| {
            affine_divisions(e, &mut |dividend, d| {
                let Some(d) = d.or_else(|| beyond(dividend, &extents)) else { return };
                let known = |other: &Self| {
                    other.d == d && other.read == read && other.dividend == *dividend
                };
                if !found.iter().any(known) {
                    found.push(Self { dividend: dividend.clone(), d, read });
                }
            });
        });
        found
    }
}

/// A divisor by which a quotient of an expression tells its sign only.
fn beyond(e: &IndexExpr, extents: &[u64]) -> Option<i64> {
    let (least, greatest) = index::range(e, extents);
    i64::try_from(least.saturating_neg().max(greatest)).ok()?.checked_add(1)
}

/// Calls `f` with each dividend and its divisor, or none if the sign matters.
fn affine_divisions(e: &IndexExpr, f: &mut impl FnMut(&IndexExpr, Option<i64>)) {
    for (_, atom) in &e.terms {
        match atom {
            Atom::Axis(_) => {}
            Atom::FloorDiv(inner, d) | Atom::Mod(inner, d) if inner.is_affine() => {
                f(inner, Some(*d));
            }
            Atom::Abs(inner) if inner.is_affine() => f(inner, None),
            Atom::Max(left, right) | Atom::Min(left, right)
                if left.is_affine() && right.is_affine() =>
            {
                index::sign_of(left, right).iter().for_each(|sign| f(sign, None));
            }
            Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) | Atom::Abs(inner) => {
                affine_divisions(inner, f);
            }
            Atom::Product(left, right) | Atom::Max(left, right) | Atom::Min(left, right) => {
                affine_divisions(left, f);
                affine_divisions(right, f);
            }
            Atom::Element(access) => access.index.iter().for_each(|e| affine_divisions(e, f)),
        }
    }
}

/// The boxes of a statement.
struct Boxes {
    /// Copies that boxes near a boundary read.
    copies: Vec<Stmt>,
    open: Vec<Stmt>,
    done: Vec<Stmt>,
    /// Points of the statement.
    points: u64,
}

impl Boxes {
    /// Boxes of a statement in which its indices have fewer divisions; `None` if there are too many.
    fn of(graph: &mut Graph, stmt: &Stmt) -> Option<Self> {
        let points = stmt.points();
        let mut boxes =
            Self { copies: Vec::new(), open: vec![stmt.clone()], done: Vec::new(), points };
        let budget = usize::try_from(points / BOX_POINTS).unwrap_or(MAX_BOXES).min(MAX_BOXES);
        while let Some(piece) = boxes.open.pop() {
            boxes.settle(graph, piece);
            if boxes.open.len() + boxes.done.len() > budget {
                return None;
            }
        }
        let largest = boxes.done.iter().max_by_key(|piece| piece.points())?;
        (split::divisions(largest) < split::divisions(stmt)).then_some(boxes)
    }

    /// Cuts a box further, or marks it as done.
    fn settle(&mut self, graph: &mut Graph, piece: Stmt) {
        if let Some((copy, reading)) = borders::copied(graph, &piece, self.points) {
            self.copies.push(copy);
            self.open.push(reading);
            return;
        }
        let divisions = Division::all(&piece);
        match divisions.iter().find_map(|division| cuts::parts(&piece, division)) {
            Some(parts) => self.open.extend(parts),
            None => self.done.push(piece),
        }
    }
}
