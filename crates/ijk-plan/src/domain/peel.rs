//! Peeling: guarded domains cut into boxes, most of which need no guard.
//!
//! An index of several axes (`[p + f - 1]`) leaves its bounds near the ends of an axis only. The interior needs no
//! guard, and each value of the axis near its ends leaves one box of the other axes. Pieces accumulate into the array
//! one after another, always in the same order.

use crate::SMALL_DOMAIN;
use crate::domain::bounds::{Interval, narrow, within};
use crate::domain::split::drop_unit_axes;
use crate::graph::{Graph, Guard, Stmt, index};
use ijk_ir::core::{Atom, Init};
use ijk_types::Reducer;

/// Greatest number of pieces of a statement.
const MAX_PIECES: usize = 128;
/// Least average number of points per piece.
const PIECE_POINTS: u64 = 64;

/// Runs the pass.
pub(crate) fn cut(graph: &mut Graph) {
    let wanted = |stmt: &Stmt| stmt.guards.iter().any(|guard| cuts(stmt, guard).is_some());
    if !graph.statements.iter().any(wanted) {
        return;
    }
    for stmt in std::mem::take(&mut graph.statements) {
        match pieces(&stmt) {
            Some(pieces) => chain(graph, stmt, pieces),
            None => graph.statements.push(stmt),
        }
    }
}

/// Adds the pieces of a statement as a chain; each accumulates into the result of the one before.
pub(crate) fn chain(graph: &mut Graph, stmt: Stmt, mut pieces: Vec<Stmt>) {
    // The largest piece first: it can overwrite identities instead of accumulating.
    pieces.sort_by_key(|piece| std::cmp::Reverse(piece.points()));
    let pieces = linked(graph, &stmt, pieces);
    graph.statements.extend(pieces.into_iter().map(drop_unit_axes));
}

/// The pieces of a statement, of which each accumulates into the result of the one before.
pub(crate) fn linked(graph: &mut Graph, stmt: &Stmt, mut pieces: Vec<Stmt>) -> Vec<Stmt> {
    let count = pieces.len();
    let info = graph.array(stmt.out);
    let (dtype, shape) = (info.dtype, info.shape.clone());
    let mut previous = stmt.init;
    for (n, piece) in pieces.iter_mut().enumerate() {
        let last = n + 1 == count;
        piece.out = if last { stmt.out } else { graph.new_array(dtype, shape.clone()) };
        piece.init = previous;
        previous = Init::From(piece.out);
    }
    pieces
}

/// Pieces of a statement, at least one; `None` if it is better left whole.
fn pieces(stmt: &Stmt) -> Option<Vec<Stmt>> {
    let monoid = matches!(stmt.reduce, Some(Reducer::Monoid(_)));
    if stmt.points() <= SMALL_DOMAIN || !monoid {
        return None;
    }
    let budget = usize::try_from(stmt.points() / PIECE_POINTS).unwrap_or(MAX_PIECES);
    let budget = budget.min(MAX_PIECES);
    let finely = all_pieces(stmt, budget, fine);
    finely.or_else(|| all_pieces(stmt, budget, coarse)).filter(|all| !all.is_empty())
}

/// Cuts pieces until no guard can be peeled; `None` if they exceed the budget or nothing is cut.
fn all_pieces(
    stmt: &Stmt,
    budget: usize,
    ranges: fn(Cuts) -> Vec<GuardedInterval>,
) -> Option<Vec<Stmt>> {
    // Pieces with the number of leading guards that stay.
    let (mut open, mut done) = (vec![(stmt.clone(), 0)], Vec::new());
    while let Some((piece, settled)) = open.pop() {
        let guards = piece.guards.iter().enumerate().skip(settled);
        let Some((at, cuts)) = { guards }.find_map(|(n, guard)| Some((n, cuts(&piece, guard)?)))
        else {
            done.push(piece);
            continue;
        };
        for (range, stays_guarded) in ranges(cuts) {
            let Some(mut part) = narrow(slice(&piece, cuts.axis, range)?) else { continue };
            let stays_guarded = stays_guarded && at < part.guards.len();
            if stays_guarded {
                part.guards.swap(at, settled);
            }
            open.push((part, settled + usize::from(stays_guarded)));
        }
        if open.len() + done.len() > budget {
            return None;
        }
    }
    Some(done)
}

/// The statement with an axis restricted to a range.
pub(crate) fn slice(stmt: &Stmt, axis: usize, range: Interval) -> Option<Stmt> {
    let mut bounds: Vec<Interval> =
        stmt.axes.iter().map(|axis| (0, i128::from(axis.extent) - 1)).collect();
    if bounds[axis] == range {
        return Some(stmt.clone());
    }
    bounds[axis] = range;
    within(stmt, &bounds)
}

/// First and last value of an axis, and true if the guard stays there.
type GuardedInterval = (Interval, bool);

/// Interval of an axis in which an index of several axes is always in bounds.
#[derive(Clone, Copy)]
struct Cuts {
    axis: usize,
    first: i128,
    last: i128,
    extent: i128,
}

impl Cuts {
    /// Number of values outside of the interval.
    fn outside(&self) -> i128 {
        self.extent - (self.last - self.first + 1)
    }
}

/// The interior as one range, and each value outside on its own.
fn fine(cuts: Cuts) -> Vec<GuardedInterval> {
    let each = (0..cuts.first).chain(cuts.last + 1..cuts.extent).take(MAX_PIECES + 1);
    let inside = (cuts.first, cuts.last);
    std::iter::once((inside, false)).chain(each.map(|x| ((x, x), false))).collect()
}

/// The interior as one range, and guarded ranges before and after it.
fn coarse(cuts: Cuts) -> Vec<GuardedInterval> {
    let all = [
        ((cuts.first, cuts.last), false),
        ((0, cuts.first - 1), true),
        ((cuts.last + 1, cuts.extent - 1), true),
    ];
    all.into_iter().filter(|((from, to), _)| from <= to).collect()
}

/// Best cut for a guard: the axis with the fewest values outside of a nonempty interior; the longest among those.
fn cuts(stmt: &Stmt, (e, extent): &Guard) -> Option<Cuts> {
    if !e.is_affine() {
        return None;
    }
    let extents = stmt.extents();
    let (least, greatest) = index::range(e, &extents);
    let last = i128::from(*extent) - 1;
    let of = |(coefficient, atom): &(i64, Atom)| {
        let Atom::Axis(axis) = atom else { return None };
        let axis = axis.0 as usize;
        let (c, n) = (i128::from(*coefficient), i128::from(extents[axis]));
        let own = c.saturating_mul(n - 1);
        // Range of the sum of all other terms.
        let low = least.saturating_sub(own.min(0));
        let high = greatest.saturating_sub(own.max(0));
        // 0 <= c·x + low and c·x + high <= last.
        let (from, to) = match c > 0 {
            true => (low.div_euclid(c).saturating_neg(), last.saturating_sub(high).div_euclid(c)),
            false => {
                (last.saturating_sub(high).div_euclid(-c).saturating_neg(), low.div_euclid(-c))
            }
        };
        let (first, last) = (from.max(0), to.min(n - 1));
        (first <= last).then_some(Cuts { axis, first, last, extent: n })
    };
    let all = e.terms.iter().filter_map(of);
    all.min_by_key(|cuts| (cuts.outside(), std::cmp::Reverse(cuts.extent)))
}
