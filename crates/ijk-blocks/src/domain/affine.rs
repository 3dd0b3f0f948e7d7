//! Affine maps from points of a stage to positions on an axis of an operand.

use ijk_ir::core::{Access, Atom, AxisId, IndexExpr};
use ijk_ir::interval::{self, Interval};
use std::ops::Range;

/// `constant + Σ coefficient · axis + …` of a stage's axes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Affine {
    pub(crate) constant: i64,
    /// Coefficients, not 0, of axes that ascend.
    pub(crate) terms: Vec<(i64, usize)>,
    /// Multiples of other atoms: quotients, remainders, products, and elements of operands. The array of an element is
    /// the operand's number, and its index is empty: it is the operand's own.
    pub(crate) rest: Vec<(i64, Atom)>,
    /// The extent of the operand's axis, where positions may be out of bounds: such points are skipped.
    pub(crate) extent: Option<usize>,
}

impl Affine {
    /// The position along a stage's axis.
    pub(crate) fn axis(axis: usize) -> Self {
        Self { terms: vec![(1, axis)], ..Self::default() }
    }

    /// The axis, if the map is that of an axis alone.
    pub(crate) fn as_axis(&self) -> Option<usize> {
        match (&self.terms[..], self.constant) {
            (&[(1, axis)], 0) if self.is_plain() => Some(axis),
            _ => None,
        }
    }

    /// Returns true for a sum of multiples of axes that is always within the operand's axis.
    pub(crate) fn is_plain(&self) -> bool {
        self.rest.is_empty() && self.extent.is_none()
    }

    /// Returns true if no position is in `positions` for axes of these ranges.
    pub(crate) fn misses(&self, positions: &Range<usize>, ranges: &[Range<usize>]) -> bool {
        let all = self.range(ranges);
        all.start.max(positions.start) >= all.end.min(positions.end)
    }

    /// Returns true if the position depends on an axis.
    pub(crate) fn has(&self, axis: usize) -> bool {
        let mut among = false;
        self.rest.iter().for_each(|(_, atom)| among |= depends(atom, axis));
        among || self.terms.iter().any(|(_, other)| *other == axis)
    }

    /// The operands whose elements it reads.
    pub(crate) fn gathers(&self) -> Vec<usize> {
        let mut found = Vec::new();
        self.rest.iter().for_each(|(_, atom)| elements(atom, &mut found));
        found
    }

    /// The range of positions for axes of these ranges; empty where one of these is.
    pub(crate) fn range(&self, ranges: &[Range<usize>]) -> Range<usize> {
        let of = |axis: usize| Interval {
            least: ranges[axis].start as i128,
            greatest: ranges[axis].end as i128 - 1,
        };
        let is_empty = |axis: usize| ranges[axis].is_empty();
        if (0..ranges.len()).any(|axis| is_empty(axis) && self.has(axis)) {
            return 0..0;
        }
        let all = interval::range(&self.expr(), &|axis: AxisId| of(axis.0 as usize));
        debug_assert!(self.extent.is_some() || all.least >= 0);
        // Positions beyond the operand's axis are not read.
        let most = self.extent.map_or(i128::from(i64::MAX), |extent| extent as i128);
        let [start, end] = [all.least, all.greatest.saturating_add(1)].map(|n| n.clamp(0, most));
        start as usize..end.max(start) as usize
    }

    /// The same relative to the start of [`Self::range`], with axes relative to the starts of their ranges.
    #[must_use]
    pub(crate) fn within(&self, ranges: &[Range<usize>]) -> Self {
        self.from(self.range(ranges).start, ranges)
    }

    /// The same relative to `start`.
    #[must_use]
    pub(crate) fn from(&self, start: usize, ranges: &[Range<usize>]) -> Self {
        let starts = self.terms.iter().map(|&(c, axis)| c * ranges[axis].start as i64);
        let constant = self.constant + starts.sum::<i64>() - start as i64;
        let empty = self.terms.iter().any(|&(_, axis)| ranges[axis].is_empty());
        let rest = self.rest.iter().map(|(c, atom)| (*c, shifted(atom, ranges))).collect();
        let constant = if empty && self.is_plain() { 0 } else { constant };
        Self { constant, terms: self.terms.clone(), rest, extent: None }
    }

    /// The map in core IR.
    pub(crate) fn expr(&self) -> IndexExpr {
        let terms = self.terms.iter().map(|&(c, axis)| (c, Atom::Axis(AxisId(axis as u32))));
        IndexExpr {
            constant: self.constant,
            terms: terms.chain(self.rest.iter().cloned()).collect(),
        }
    }
}

/// Returns true if an atom depends on an axis; elements depend on the axes of their operands.
fn depends(atom: &Atom, axis: usize) -> bool {
    let any = |e: &IndexExpr| e.terms.iter().any(|(_, atom)| depends(atom, axis));
    match atom {
        Atom::Axis(own) => own.0 as usize == axis,
        Atom::FloorDiv(e, _) | Atom::Mod(e, _) | Atom::Abs(e) => any(e),
        Atom::Product(l, r) | Atom::Max(l, r) | Atom::Min(l, r) => any(l) || any(r),
        Atom::Element(_) => false,
    }
}

fn elements(atom: &Atom, found: &mut Vec<usize>) {
    let mut all = |e: &IndexExpr| e.terms.iter().for_each(|(_, atom)| elements(atom, found));
    match atom {
        Atom::Axis(_) => {}
        Atom::FloorDiv(e, _) | Atom::Mod(e, _) | Atom::Abs(e) => all(e),
        Atom::Product(l, r) | Atom::Max(l, r) | Atom::Min(l, r) => {
            [l, r].into_iter().for_each(|e| all(e));
        }
        Atom::Element(access) => found.push(access.array.0 as usize),
    }
}

/// An atom with axes relative to the starts of ranges.
fn shifted(atom: &Atom, ranges: &[Range<usize>]) -> Atom {
    mapped(atom, &|atom| match atom {
        Atom::Axis(axis) => {
            let start = ranges[axis.0 as usize].start as i64;
            IndexExpr { constant: start, ..IndexExpr::axis(*axis) }
        }
        other => IndexExpr::atom(other.clone()),
    })
}

/// Replaces axes and elements within quotients, remainders and products of an atom.
fn mapped(atom: &Atom, by: &impl Fn(&Atom) -> IndexExpr) -> Atom {
    let inner = |e: &IndexExpr| Box::new(replaced(e, by));
    match atom {
        Atom::Axis(_) | Atom::Element(_) => atom.clone(),
        Atom::FloorDiv(e, divisor) => Atom::FloorDiv(inner(e), *divisor),
        Atom::Mod(e, divisor) => Atom::Mod(inner(e), *divisor),
        Atom::Product(l, r) => Atom::Product(inner(l), inner(r)),
        Atom::Abs(e) => Atom::Abs(inner(e)),
        Atom::Max(l, r) => Atom::Max(inner(l), inner(r)),
        Atom::Min(l, r) => Atom::Min(inner(l), inner(r)),
    }
}

fn replaced(e: &IndexExpr, by: &impl Fn(&Atom) -> IndexExpr) -> IndexExpr {
    let mut all = IndexExpr::constant(e.constant);
    for (coefficient, atom) in &e.terms {
        let new = match atom {
            Atom::Axis(_) | Atom::Element(_) => by(atom),
            _ => IndexExpr::atom(mapped(atom, by)),
        };
        all.constant += coefficient * new.constant;
        all.terms.extend(new.terms.into_iter().map(|(c, atom)| (coefficient * c, atom)));
    }
    all
}

/// The same with other numbers for the operands of elements.
pub(crate) fn renumbered(affine: &Affine, numbers: &[usize]) -> Affine {
    let with_index = filled(affine, &|operand| {
        let array = ijk_ir::core::ArrayId(numbers[operand] as u32);
        Access { array, index: Vec::new(), span: ijk_ir::core::Span::default() }
    });
    Affine { rest: with_index, ..affine.clone() }
}

/// Atoms that are not axes, with accesses in place of elements.
pub(crate) fn filled(affine: &Affine, access: &impl Fn(usize) -> Access) -> Vec<(i64, Atom)> {
    let by = |atom: &Atom| match atom {
        Atom::Element(of) => IndexExpr::element(access(of.array.0 as usize)),
        other => IndexExpr::atom(other.clone()),
    };
    let rest = IndexExpr { constant: 0, terms: affine.rest.clone().into() };
    replaced(&rest, &by).terms.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_all_positions() {
        let affine = Affine { constant: 9, terms: vec![(2, 0), (-1, 1)], ..Affine::default() };
        let ranges = [2..4, 3..6];
        assert_eq!(affine.range(&ranges), 8..13);
        let within = affine.within(&ranges);
        // The first of axis 0 with the last of axis 1 is the least: 0 + 2·0 - 1·2.
        assert_eq!(within.constant, 2);
        assert_eq!(affine.range(&[2..2, 3..6]), 0..0);
        assert_eq!(Affine::axis(1).within(&ranges), Affine::axis(1));
    }

    #[test]
    fn ranges_end_with_the_operand() {
        let affine =
            Affine { constant: -2, terms: vec![(1, 0)], extent: Some(5), ..Affine::default() };
        assert_eq!(affine.range(&[0..4, 0..1]), 0..2);
        assert_eq!(affine.range(&[5..9, 0..1]), 3..5);
        // Position 5 + 1 - 2 is the second of what is read from 3 on.
        assert_eq!(affine.within(&[5..9, 0..1]).constant, 0);
        assert_eq!(affine.range(&[0..1, 0..1]), 0..0);
        assert_eq!(affine.within(&[0..1, 0..1]).constant, -2);
        assert!(affine.as_axis().is_none());
    }

    #[test]
    fn quotients_count_from_where_axes_begin() {
        let half = Atom::FloorDiv(Box::new(IndexExpr::axis(AxisId(0))), 2);
        let affine = Affine { rest: vec![(1, half)], ..Affine::default() };
        let ranges = [5..9, 0..1];
        assert_eq!(affine.range(&ranges), 2..5);
        let within = affine.within(&ranges);
        let positions: Vec<i64> = (0..4).map(|n| within.expr().eval(&[n])).collect();
        assert_eq!(positions, [0, 1, 1, 2]);
        assert!(affine.has(0) && !affine.has(1));
    }
}
