//! Sets of points as unions of affine images of boxes.

use super::solve::{self, LinearSystem, Variable};
use crate::core::IndexExpr;
use crate::display::index_text_by;
use crate::interval::{Interval, range};
use std::collections::BTreeSet;
use std::fmt;

/// The values of a parameter: `start..end`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// The letter it comes from.
    pub name: String,
    /// The least value.
    pub start: i64,
    /// One past the greatest.
    pub end: i64,
}

/// The image of a box under (quasi-)affine functions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// The box: parameters, each of at least one value.
    pub ranges: Vec<Range>,
    /// For each axis of the array, its index; axes in it are numbers of parameters.
    pub index: Vec<IndexExpr>,
}

impl Piece {
    /// The box's number of points, at least that of the image.
    pub fn count_upper_bound(&self) -> u64 {
        let sizes = self.ranges.iter().map(|r| (r.end - r.start).max(0) as u64);
        sizes.fold(1, u64::saturating_mul)
    }

    fn bounds(&self) -> Vec<Interval> {
        let of = |axis: crate::core::AxisId| {
            let r = &self.ranges[axis.0 as usize];
            Interval { least: r.start.into(), greatest: i128::from(r.end) - 1 }
        };
        self.index.iter().map(|e| range(e, &of)).collect()
    }

    fn contains(&self, point: &[u64]) -> bool {
        let bounds = self.bounds();
        let inside = |(b, x): (&Interval, &u64)| (b.least..=b.greatest).contains(&i128::from(*x));
        if !bounds.iter().zip(point).all(inside) {
            return false;
        }
        let variables: Vec<Variable> =
            self.ranges.iter().map(|r| Variable::new(&r.name, r.start, r.end)).collect();
        let point: Vec<IndexExpr> = point.iter().map(|x| IndexExpr::constant(*x as i64)).collect();
        let system = LinearSystem::new(variables, &self.index, &point, 0, &[]);
        !solve::image(system, 1 << 12).0.is_empty()
    }

    fn for_each(&self, visit: &mut impl FnMut(Vec<u64>)) {
        let mut at: Vec<i64> = self.ranges.iter().map(|r| r.start).collect();
        loop {
            visit(self.index.iter().map(|e| e.eval(&at) as u64).collect());
            let Some(n) = (0..at.len()).rev().find(|n| at[*n] + 1 < self.ranges[*n].end) else {
                return;
            };
            at[n] += 1;
            for (x, r) in at.iter_mut().zip(&self.ranges).skip(n + 1) {
                *x = r.start;
            }
        }
    }

    /// Names of the parameters, made distinct.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for r in &self.ranges {
            let mut name = r.name.clone();
            while names.contains(&name) {
                name.push('\'');
            }
            names.push(name);
        }
        names
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names();
        let name = |n: usize| names.get(n).map_or("?", String::as_str);
        let index: Vec<String> = self.index.iter().map(|e| index_text_by(e, &name)).collect();
        write!(f, "{{({})", index.join(", "))?;
        for (n, (r, name)) in self.ranges.iter().zip(&names).enumerate() {
            let separator = if n == 0 { " : " } else { ", " };
            write!(f, "{separator}{name} in {}..{}", r.start, r.end)?;
        }
        f.write_str("}")
    }
}

/// A set of an array's elements: exactly the union of its pieces, or within it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointSet {
    rank: usize,
    pieces: Vec<Piece>,
    widened: bool,
}

impl PointSet {
    /// No points of an array of that rank.
    pub fn empty(rank: usize) -> Self {
        Self { rank, pieces: Vec::new(), widened: false }
    }

    /// One point.
    pub fn of_point(point: &[u64]) -> Self {
        let index = point.iter().map(|x| IndexExpr::constant(*x as i64)).collect();
        let piece = Piece { ranges: Vec::new(), index };
        Self { rank: point.len(), pieces: vec![piece], widened: false }
    }

    /// The rank of the array.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The pieces; they may overlap.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns true if the set equals the union of its pieces; otherwise it is a subset.
    pub fn is_exact(&self) -> bool {
        !self.widened
    }

    /// Returns true if there are no points.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns true if the point is in the set (in an inexact set: may be).
    pub fn contains(&self, point: &[u64]) -> bool {
        point.len() == self.rank && self.pieces.iter().any(|piece| piece.contains(point))
    }

    /// A number that the set's points do not exceed.
    pub fn count_upper_bound(&self) -> u64 {
        self.pieces.iter().fold(0, |sum, piece| sum.saturating_add(piece.count_upper_bound()))
    }

    /// The points in lexicographic order, if there are at most `limit` (points of several pieces,
    /// and of pieces that reach one several times, count as often).
    pub fn points(&self, limit: u64) -> Option<Vec<Vec<u64>>> {
        if self.count_upper_bound() > limit {
            return None;
        }
        let mut points = BTreeSet::new();
        for piece in &self.pieces {
            piece.for_each(&mut |point| {
                points.insert(point);
            });
        }
        Some(points.into_iter().collect())
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.add(other.pieces, !other.widened);
    }

    pub(super) fn add(&mut self, pieces: Vec<Piece>, exact: bool) {
        self.pieces.extend(pieces);
        self.widen_if(!exact);
    }

    pub(super) fn widen_if(&mut self, widened: bool) {
        self.widened |= widened;
    }

    /// Drops pieces that others contain; where too many are left, takes the box around them.
    pub(super) fn settle(&mut self, shape: &[u64], limit: usize) {
        let mut seen = std::collections::HashSet::new();
        self.pieces.retain(|piece| {
            let sizes: Vec<(i64, i64)> = piece.ranges.iter().map(|r| (r.start, r.end)).collect();
            seen.insert((sizes, piece.index.clone()))
        });
        if self.pieces.len() > limit {
            self.pieces = vec![self.hull(shape)];
            self.widened = true;
        }
        self.drop_contained();
    }

    /// Drops single points that a box of another piece contains; only among few pieces.
    fn drop_contained(&mut self) {
        if !(2..=64).contains(&self.pieces.len()) {
            return;
        }
        let (points, mut boxes): (Vec<Piece>, Vec<Piece>) =
            std::mem::take(&mut self.pieces).into_iter().partition(|p| p.ranges.is_empty());
        for point in points {
            let at: Vec<u64> = point.index.iter().map(|e| e.constant as u64).collect();
            if !boxes.iter().any(|b| b.contains(&at)) {
                boxes.push(point);
            }
        }
        self.pieces = boxes;
    }

    fn hull(&self, shape: &[u64]) -> Piece {
        let mut ranges = Vec::new();
        for (axis, n) in shape.iter().enumerate() {
            let bounds = self.pieces.iter().map(|piece| piece.bounds()[axis]);
            let (least, greatest) = bounds
                .fold((i128::MAX, i128::MIN), |(l, g), b| (l.min(b.least), g.max(b.greatest)));
            let start = least.clamp(0, i128::from(*n)) as i64;
            let end = (greatest + 1).clamp(0, i128::from(*n)) as i64;
            ranges.push(Range { name: format!("x{axis}"), start, end });
        }
        let axes = 0..shape.len() as u32;
        let index = axes.map(|n| IndexExpr::axis(crate::core::AxisId(n))).collect();
        Piece { ranges, index }
    }
}

impl fmt::Display for PointSet {
    /// `{(1, k) : k in 0..4} ∪ {(0, 0)}`; `{}` for none; `⊆ …` for a set that is inexact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.widened { "⊆ " } else { "" })?;
        if self.pieces.is_empty() {
            return f.write_str("{}");
        }
        for (n, piece) in self.pieces.iter().enumerate() {
            write!(f, "{}{piece}", if n == 0 { "" } else { " ∪ " })?;
        }
        Ok(())
    }
}
