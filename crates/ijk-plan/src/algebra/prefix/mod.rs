//! Prefix reductions rewritten as scans.
//!
//! `out[p] = Σₖ in[p - k]`, where points out of bounds are skipped, is a reduction over all q = p - k up to p. With q
//! in place of k, only a guard, `q <= p`, mentions both: the value is evaluated once for each q, and the statement is
//! a scan of it. Several such pairs of axes are handled one after another; reductions from a point on are mirrored.

mod choices;
mod factors;
mod level;
mod masks;
mod operands;

pub(crate) use choices::take_apart;
pub(crate) use factors::move_factors_out;

use crate::SMALL_DOMAIN;
use crate::domain::bounds::{narrow, replace_axis, within};
use crate::domain::peel::chain;
use crate::graph::axes::restrict;
use crate::graph::{Axis, Expr, ExprNode, Graph, Guard, Stmt, coverage, index};
use ijk_ir::core::{ArrayId, Atom, AxisId, IndexExpr, Init, Terms};
use ijk_types::{Monoid, Reducer};

/// Runs the pass.
pub(crate) fn scan_prefixes(graph: &mut Graph) {
    // Of graphs that are not strict, factors were moved before, and conditions with them.
    let masks = graph.strict && graph.statements.iter().any(masks::compares);
    if !masks && graph.statements.iter().all(|stmt| stmt.guards.is_empty()) {
        return;
    }
    for stmt in std::mem::take(&mut graph.statements) {
        let guarded = masks.then(|| masks::guarded(graph, &stmt)).flatten();
        lower(graph, guarded.unwrap_or(stmt));
    }
}

/// Adds a statement, rewritten as scans if it is a prefix reduction.
fn lower(graph: &mut Graph, stmt: Stmt) {
    match Prefix::find(&stmt) {
        Some(prefix) => prefix.lower(graph),
        None => graph.statements.push(stmt),
    }
}

/// A statement that reduces, for each value of an axis `p`, over all values of an axis `q` up to `p + shift`. Nothing
/// but one guard depends on both, and `p` is not reduced.
struct Prefix {
    /// The statement without that guard.
    stmt: Stmt,
    monoid: Monoid,
    p: usize,
    q: usize,
    shift: u64,
}

impl Prefix {
    fn find(stmt: &Stmt) -> Option<Self> {
        Self::all(stmt).into_iter().find(|prefix| {
            let mut indices = prefix.stmt.value.nodes.iter().flat_map(|node| node.indices());
            indices.all(|e| !index::depends(e, prefix.p))
        })
    }

    /// All ways to see a statement as a prefix reduction, whatever its value depends on.
    fn all(stmt: &Stmt) -> Vec<Self> {
        let Some(Reducer::Monoid(monoid)) = stmt.reduce else { return Vec::new() };
        if stmt.points() <= SMALL_DOMAIN || stmt.axes.len() > u64::BITS as usize {
            return Vec::new();
        }
        let kept = stmt.kept_axes();
        let ways = stmt.guards.iter().flat_map(|guard| {
            let Some((p, k)) = pair(guard, &kept) else { return [None, None] };
            let replaced = || narrow(replace_axis(stmt, k, &guard.0, guard.1)?);
            let as_it_is = Self::of(stmt.clone(), monoid, p, k);
            [as_it_is, replaced().and_then(|stmt| Self::of(stmt, monoid, p, k))]
        });
        ways.flatten().collect()
    }

    /// The statement as a prefix reduction, if exactly one guard mentions `p`, together with `q`.
    fn of(mut stmt: Stmt, monoid: Monoid, p: usize, q: usize) -> Option<Self> {
        let mut own = (0..stmt.guards.len()).filter(|&g| index::depends(&stmt.guards[g].0, p));
        let (Some(at), None) = (own.next(), own.next()) else { return None };
        let mut side = Side::of(&stmt.guards.remove(at), &stmt.extents(), p, q)?;
        if side.q > 0 {
            (stmt, side) = (mirrored(&stmt, q)?, side.mirrored_q(stmt.axes[q].extent));
        }
        if side.p < 0 {
            (stmt, side) = (mirrored(&stmt, p)?, side.mirrored_p(stmt.axes[p].extent));
        }
        if side.constant < 0 {
            let by = i64::try_from(-side.constant).ok()?;
            (stmt, side) =
                (delayed(&stmt, q, by, stmt.axes[p].extent)?, Side { constant: 0, ..side });
        }
        let shift = u64::try_from(side.constant).ok()?;
        let all_used = stmt.axes[q].extent <= stmt.axes[p].extent.checked_add(shift)?;
        all_used.then_some(Self { stmt, monoid, p, q, shift })
    }

    /// Adds the statements that compute it.
    fn lower(self, graph: &mut Graph) {
        let direct = self.is_direct();
        let elements = self.elements(graph);
        if direct {
            let scan = self.scan(self.stmt.out, self.moved_index(), elements, self.kept(true));
            return graph.statements.push(scan);
        }
        let used = self.used();
        let index = self.index(used | 1 << self.q);
        let sums =
            graph.new_array(graph.array(self.stmt.out).dtype, self.shape(used | 1 << self.q));
        let scan = self.scan(sums, index, elements, used | 1 << self.q);
        graph.statements.push(scan);
        let pieces = self.pieces(sums, used);
        chain(graph, self.stmt, pieces);
    }

    /// Tells whether the scan itself is the output.
    fn is_direct(&self) -> bool {
        let Self { stmt, p, q, .. } = self;
        let determined = coverage::determined(&stmt.out_index, &stmt.extents());
        let kept = stmt.kept_axes();
        self.shift == 0
            && stmt.axes[*p].extent == stmt.axes[*q].extent
            && stmt.init == Init::Identity(self.monoid)
            && stmt.out_index.iter().all(IndexExpr::is_affine)
            && kept.iter().zip(determined).all(|(kept, determined)| determined || !kept)
    }

    /// The scanned access; adds a statement that computes its array if the value is more than an access.
    fn elements(&self, graph: &mut Graph) -> ExprNode {
        let (stmt, used) = (&self.stmt, self.used());
        let reduced = self.reduced();
        let plain = |node: &&ExprNode| node.indices().iter().all(IndexExpr::is_affine);
        if let Some(access @ ExprNode::Access(..)) = stmt.as_leaf().filter(plain)
            && stmt.guards.is_empty()
            && reduced == 0
        {
            return access.clone();
        }
        let own = used | 1 << self.q;
        let array = graph.new_array(graph.array(stmt.out).dtype, self.shape(own));
        let combines = reduced != 0 || !stmt.guards.is_empty();
        let elements = Stmt {
            out: array,
            out_index: self.index(own),
            init: if combines { Init::Identity(self.monoid) } else { Init::Zero },
            reduce: stmt.reduce.filter(|_| combines),
            ..stmt.clone()
        };
        lower(graph, restrict(elements, |axis| (own | reduced) >> axis & 1 == 1));
        ExprNode::Access(array, self.index(own))
    }

    /// The scan of `elements` into an array, over a set of axes.
    fn scan(&self, out: ArrayId, out_index: Vec<IndexExpr>, elements: ExprNode, over: u64) -> Stmt {
        let mut axes = self.stmt.axes.clone();
        axes[self.q].name.clone_from(&self.stmt.axes[self.p].name);
        let scan = Stmt {
            out,
            axes,
            out_index,
            init: Init::Identity(self.monoid),
            value: Expr { nodes: vec![elements] },
            guards: Vec::new(),
            scan: Some(AxisId(self.q as u32)),
            ..self.stmt.clone()
        };
        restrict(scan, |axis| over >> axis & 1 == 1)
    }

    /// Statements that read the prefix of each output element from the sums; beyond the last value of `q`, the total.
    fn pieces(&self, sums: ArrayId, used: u64) -> Vec<Stmt> {
        let all = i128::from(self.stmt.axes[self.q].extent);
        let shift = i128::from(self.shift);
        let end = i128::from(self.stmt.axes[self.p].extent);
        let middle = (all - shift).clamp(0, end);
        let shifted =
            IndexExpr { constant: self.shift as i64, ..IndexExpr::axis(AxisId(self.p as u32)) };
        let last = IndexExpr::constant(all as i64 - 1);
        let piece = |place: IndexExpr, range: (i128, i128)| {
            let mut index = self.index(used);
            index.push(place);
            let value = Expr { nodes: vec![ExprNode::Access(sums, index)] };
            let stmt = Stmt { value, guards: Vec::new(), ..self.stmt.clone() };
            let all = |axis: &Axis| (0, i128::from(axis.extent) - 1);
            let mut bounds: Vec<_> = stmt.axes.iter().map(all).collect();
            bounds[self.p] = range;
            let kept = self.kept(false);
            restrict(within(&stmt, &bounds).unwrap_or(stmt), |axis| kept >> axis & 1 == 1)
        };
        let mut pieces = Vec::new();
        if middle > 0 {
            pieces.push(piece(shifted, (0, middle - 1)));
        }
        if middle < end {
            pieces.push(piece(last, (middle, end - 1)));
        }
        pieces
    }

    /// Index of the output with `q` in place of `p`.
    fn moved_index(&self) -> Vec<IndexExpr> {
        self.moved(&self.stmt.out_index)
    }

    /// An index with `q` in place of `p`; it does not mention `q` before.
    fn moved(&self, index: &[IndexExpr]) -> Vec<IndexExpr> {
        let map =
            index::of_axes((0..self.stmt.axes.len()).map(|a| if a == self.p { self.q } else { a }));
        let extents = self.stmt.extents();
        let moved = |e: &IndexExpr| index::substitute(e, &map, &extents);
        index.iter().map(|e| moved(e).unwrap_or_else(|| e.clone())).collect()
    }

    /// Axes of the output, with `q` in place of `p` if `moved`.
    fn kept(&self, moved: bool) -> u64 {
        let kept = set(self.stmt.kept_axes().into_iter());
        if moved { kept & !(1 << self.p) | 1 << self.q } else { kept }
    }

    /// Axes of the output, except `p`, that the value or a guard depends on.
    fn used(&self) -> u64 {
        let (kept, nodes) = (self.kept(false), &self.stmt.value.nodes);
        let value = || nodes.iter().flat_map(|node| node.indices());
        let all = || value().chain(self.stmt.guards.iter().map(|(e, _)| e));
        let used = (0..self.stmt.axes.len()).map(|a| all().any(|e| index::depends(e, a)));
        kept & !(1 << self.p) & set(used)
    }

    /// Reduced axes except `q`.
    fn reduced(&self) -> u64 {
        set(self.stmt.kept_axes().into_iter().map(|kept| !kept)) & !(1 << self.q)
    }

    /// The axes of a set as an index, with `q` last.
    fn index(&self, axes: u64) -> Vec<IndexExpr> {
        index::of_axes(self.members(axes))
    }

    fn shape(&self, axes: u64) -> Vec<u64> {
        self.members(axes).map(|a| self.stmt.axes[a].extent).collect()
    }

    fn members(&self, axes: u64) -> impl Iterator<Item = usize> + use<> {
        let q = self.q;
        let others = (0..self.stmt.axes.len()).filter(move |&a| axes >> a & 1 == 1 && a != q);
        others.chain((axes >> q & 1 == 1).then_some(q))
    }
}

/// `q·axis + p·axis + constant >= 0`, with coefficients ±1: the one bound of a guard that can fail.
struct Side {
    q: i64,
    p: i64,
    constant: i128,
}

impl Side {
    fn of((e, extent): &Guard, extents: &[u64], p: usize, q: usize) -> Option<Self> {
        let factor = |axis: usize| {
            let own = |(_, atom): &&(i64, Atom)| *atom == Atom::Axis(AxisId(axis as u32));
            e.terms.iter().find(own).map(|(c, _)| *c).filter(|c| c.abs() == 1)
        };
        let (fp, fq) = (factor(p)?, factor(q)?);
        let last = i128::from(*extent) - 1;
        let (least, greatest) = index::range(e, extents);
        match (least >= 0, greatest <= last) {
            _ if !e.is_affine() || e.terms.len() != 2 => None,
            (false, true) => Some(Self { q: fq, p: fp, constant: e.constant.into() }),
            (true, false) => Some(Self { q: -fq, p: -fp, constant: last - i128::from(e.constant) }),
            _ => None,
        }
    }

    /// The condition with `q` reversed.
    fn mirrored_q(self, extent: u64) -> Self {
        let last = i128::from(extent) - 1;
        Self { q: -self.q, constant: self.constant + i128::from(self.q) * last, ..self }
    }

    /// The condition with `p` reversed.
    fn mirrored_p(self, extent: u64) -> Self {
        let last = i128::from(extent) - 1;
        Self { p: -self.p, constant: self.constant + i128::from(self.p) * last, ..self }
    }
}

/// The kept and the reduced axis whose sum or difference is a guard's index.
fn pair((e, _): &Guard, kept: &[bool]) -> Option<(usize, usize)> {
    let [(c, Atom::Axis(a)), (d, Atom::Axis(b))] = &e.terms[..] else { return None };
    let (a, b) = (a.0 as usize, b.0 as usize);
    match (kept[a], kept[b]) {
        _ if c.abs() != 1 || d.abs() != 1 => None,
        (true, false) => Some((a, b)),
        (false, true) => Some((b, a)),
        _ => None,
    }
}

/// The statement with an axis reversed.
fn mirrored(stmt: &Stmt, axis: usize) -> Option<Stmt> {
    let mut map = index::of_axes(0..stmt.axes.len());
    map[axis] = IndexExpr {
        constant: i64::try_from(stmt.axes[axis].extent).ok()? - 1,
        terms: Terms::one(-1, Atom::Axis(AxisId(axis as u32))),
    };
    stmt.substitute(&map, stmt.axes.clone())
}

/// The statement with the positions of an axis `by` further, from which a guard skips the first; at most `most` of them.
fn delayed(stmt: &Stmt, axis: usize, by: i64, most: u64) -> Option<Stmt> {
    let mut map = index::of_axes(0..stmt.axes.len());
    map[axis] = IndexExpr { constant: -by, ..IndexExpr::axis(AxisId(axis as u32)) };
    let mut axes = stmt.axes.clone();
    axes[axis].extent = axes[axis].extent.checked_add(by.unsigned_abs())?.min(most);
    let mut later = stmt.substitute(&map, axes)?;
    later.guards.push((map[axis].clone(), stmt.axes[axis].extent));
    Some(later)
}

/// A set of axes, one bit each.
fn set(members: impl Iterator<Item = bool>) -> u64 {
    members.enumerate().fold(0, |set, (a, member)| set | u64::from(member) << a)
}
