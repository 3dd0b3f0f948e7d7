//! Least and greatest values of index expressions over a domain.
//!
//! Exact for affine expressions and for divisions of one. A remainder is exact where its operand
//! stays within one period, else the whole of `0..divisor`; sums of several atoms that share
//! letters have a range that contains all values. Arithmetic is in `i128` and saturates,
//! which no expression within the limits of [`crate::limits`] reaches.

use crate::core::{Atom, AxisId, IndexExpr};

/// A closed range of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The least.
    pub least: i128,
    /// The greatest.
    pub greatest: i128,
}

impl Interval {
    /// One value.
    pub const fn point(value: i128) -> Self {
        Self { least: value, greatest: value }
    }

    /// The values of a letter; one of extent 0 contributes as if its only value were 0.
    pub fn of_extent(extent: u64) -> Self {
        Self { least: 0, greatest: i128::from(extent).max(1) - 1 }
    }

    /// The range of a sum of two values, one of each.
    pub fn plus(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_add(other.least),
            greatest: self.greatest.saturating_add(other.greatest),
        }
    }

    fn times(self, factor: i64) -> Self {
        let a = self.least.saturating_mul(i128::from(factor));
        let b = self.greatest.saturating_mul(i128::from(factor));
        Self { least: a.min(b), greatest: a.max(b) }
    }

    /// The range of a product of two values, one of each.
    pub fn product(self, other: Self) -> Self {
        let corner = |a: i128, b: i128| a.saturating_mul(b);
        let corners = [
            corner(self.least, other.least),
            corner(self.least, other.greatest),
            corner(self.greatest, other.least),
            corner(self.greatest, other.greatest),
        ];
        let (mut least, mut greatest) = (corners[0], corners[0]);
        for c in corners {
            (least, greatest) = (least.min(c), greatest.max(c));
        }
        Self { least, greatest }
    }

    /// The range of magnitudes, computed with 64 bits: that of the least integer is itself.
    pub fn magnitude(self) -> Self {
        let end = i128::from(i64::MIN);
        if self.greatest <= end {
            return Self { least: end, greatest: end };
        }
        let most = self.least.max(end + 1).saturating_neg().max(self.greatest);
        let least = self.least.max(self.greatest.saturating_neg()).max(0);
        Self { least: if self.least <= end { end } else { least }, greatest: most }
    }

    /// The range of the greater, or the lesser, of two values, one of each.
    pub fn extreme(self, other: Self, pick: fn(i128, i128) -> i128) -> Self {
        Self { least: pick(self.least, other.least), greatest: pick(self.greatest, other.greatest) }
    }

    fn floor_div(self, divisor: i64) -> Self {
        let d = i128::from(divisor);
        Self { least: self.least.div_euclid(d), greatest: self.greatest.div_euclid(d) }
    }

    fn modulo(self, divisor: i64) -> Self {
        let d = i128::from(divisor);
        if self.least.div_euclid(d) == self.greatest.div_euclid(d) {
            return Self { least: self.least.rem_euclid(d), greatest: self.greatest.rem_euclid(d) };
        }
        Self { least: 0, greatest: d - 1 }
    }
}

/// The quotient by a positive divisor, rounded up.
pub fn div_up(a: i128, divisor: i128) -> i128 {
    a.div_euclid(divisor) + i128::from(a.rem_euclid(divisor) != 0)
}

/// The range of `e` when each axis has the range that `axis` gives.
pub fn range(e: &IndexExpr, axis: &impl Fn(AxisId) -> Interval) -> Interval {
    range_without(e, usize::MAX, axis)
}

/// The range of `e` without its term of number `skip`.
pub fn range_without(e: &IndexExpr, skip: usize, axis: &impl Fn(AxisId) -> Interval) -> Interval {
    let start = Interval::point(i128::from(e.constant));
    let terms = e.terms.iter().enumerate().filter(|(n, _)| *n != skip);
    terms.fold(start, |sum, (_, (coefficient, atom))| {
        sum.plus(atom_range(atom, axis).times(*coefficient))
    })
}

fn atom_range(atom: &Atom, axis: &impl Fn(AxisId) -> Interval) -> Interval {
    match atom {
        Atom::Axis(a) => axis(*a),
        Atom::FloorDiv(e, divisor) => range(e, axis).floor_div(*divisor),
        Atom::Mod(e, divisor) => range(e, axis).modulo(*divisor),
        Atom::Product(left, right) => range(left, axis).product(range(right, axis)),
        Atom::Element(_) => Interval { least: i64::MIN.into(), greatest: i64::MAX.into() },
        Atom::Abs(e) => range(e, axis).magnitude(),
        Atom::Max(left, right) => range(left, axis).extreme(range(right, axis), i128::max),
        Atom::Min(left, right) => range(left, axis).extreme(range(right, axis), i128::min),
    }
}

/// Extremes within one another that [`range_apart`] takes apart.
const MOST_APART: u32 = 6;

/// The range of `e` over a domain of these extents, in which terms of extremes may cancel others: `MAX(i - 1, 0) - i` is
/// the greater of -1 and `-i`.
pub fn range_apart(e: &IndexExpr, extents: &[u64]) -> Interval {
    fn apart(e: &IndexExpr, extents: &[u64], left: u32) -> Option<Interval> {
        let extreme =
            |(_, atom): &(i64, Atom)| matches!(atom, Atom::Abs(_) | Atom::Max(..) | Atom::Min(..));
        let at = e.terms.iter().position(extreme).filter(|_| left > 0)?;
        let mut rest = e.clone();
        let (factor, atom) = rest.terms.remove(at);
        let (a, b, greater) = match atom {
            Atom::Abs(inner) => ((*inner).clone(), inner.times(-1)?, true),
            Atom::Max(a, b) => (*a, *b, true),
            Atom::Min(a, b) => (*a, *b, false),
            _ => return None,
        };
        let of = |one: &IndexExpr| {
            let sum = rest.plus(&one.times(factor)?)?;
            Some(apart(&sum, extents, left - 1).unwrap_or_else(|| range_over(&sum, extents)))
        };
        let pick = if greater == (factor > 0) { i128::max } else { i128::min };
        Some(of(&a)?.extreme(of(&b)?, pick))
    }
    apart(e, extents, MOST_APART).unwrap_or_else(|| range_over(e, extents))
}

/// The range of `e` over a domain of these extents.
pub fn range_over(e: &IndexExpr, extents: &[u64]) -> Interval {
    range(e, &|axis: AxisId| Interval::of_extent(extents[axis.0 as usize]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(n: u32) -> IndexExpr {
        IndexExpr::axis(AxisId(n))
    }

    #[test]
    fn ranges_contain_exactly_the_values_of_one_letter() {
        for extent in 1..9u64 {
            for (factor, constant, divisor) in [(1, 0, 3), (-2, 5, 4), (3, -7, 2), (2, 6, 8)] {
                let e =
                    axis(0).times(factor).unwrap().plus(&IndexExpr::constant(constant)).unwrap();
                for e in [e.clone(), e.clone().floor_div(divisor)] {
                    let values: Vec<i64> = (0..extent as i64).map(|x| e.eval(&[x])).collect();
                    let r = range_over(&e, &[extent]);
                    assert_eq!(r.least, i128::from(*values.iter().min().unwrap()));
                    assert_eq!(r.greatest, i128::from(*values.iter().max().unwrap()));
                }
            }
        }
    }

    #[test]
    fn a_remainder_within_one_period_keeps_its_range() {
        let e = axis(0).plus(&IndexExpr::constant(4)).unwrap().modulo(4);
        assert_eq!(range_over(&e, &[3]), Interval { least: 0, greatest: 2 });
        assert_eq!(range_over(&e, &[5]), Interval { least: 0, greatest: 3 });
    }

    #[test]
    fn a_magnitude_is_not_negative() {
        let shifted = axis(0).plus(&IndexExpr::constant(-3)).unwrap();
        let magnitude = shifted.magnitude().unwrap();
        assert_eq!(range_over(&magnitude, &[6]), Interval { least: 0, greatest: 3 });
        let negative = magnitude.times(-1).unwrap();
        assert_eq!(range_over(&negative, &[6]), Interval { least: -3, greatest: 0 });
        let far = axis(0).plus(&IndexExpr::constant(-9)).unwrap().magnitude().unwrap();
        assert_eq!(range_over(&far, &[6]), Interval { least: 4, greatest: 9 });
    }

    #[test]
    fn a_clamp_has_the_range_of_its_ends() {
        let clamp = axis(0).plus(&axis(1)).unwrap().plus(&IndexExpr::constant(-1)).unwrap();
        let clamp = clamp.maximum(IndexExpr::constant(0)).minimum(IndexExpr::constant(8));
        assert_eq!(range_over(&clamp, &[9, 3]), Interval { least: 0, greatest: 8 });
        assert_eq!(clamp.eval(&[0, 0]), 0);
        assert_eq!(clamp.eval(&[8, 2]), 8);
    }

    #[test]
    fn extremes_are_taken_apart() {
        let minus = |e: IndexExpr| e.plus(&axis(0).times(-1).unwrap()).unwrap();
        let before = axis(0).plus(&IndexExpr::constant(-1)).unwrap();
        let clamped = minus(before.clone().maximum(IndexExpr::constant(0)));
        assert_eq!(range_over(&clamped, &[5]), Interval { least: -4, greatest: 3 });
        assert_eq!(range_apart(&clamped, &[5]), Interval { least: -1, greatest: 0 });
        let far = minus(axis(1).minimum(before));
        assert_eq!(range_apart(&far, &[5, 9]), Interval { least: -4, greatest: -1 });
        let magnitude = minus(axis(0).plus(&IndexExpr::constant(-2)).unwrap().magnitude().unwrap());
        assert_eq!(range_apart(&magnitude, &[5]), Interval { least: -2, greatest: 2 });
    }

    #[test]
    fn an_empty_letter_counts_as_zero() {
        assert_eq!(range_over(&axis(0), &[0]), Interval::point(0));
    }
}
