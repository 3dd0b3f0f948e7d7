//! Comparisons of an affine index with a value of each row: where they hold is one interval of the row, or all but one.

use ijk_types::BinaryOp;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Where along a row a comparison holds: inside an interval, or outside of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holds {
    interval: Range<usize>,
    inside: bool,
}

impl Holds {
    /// Where `start + step · i` compares with `other`, for `i` from 0 to `count`. The index has no overflow.
    pub fn of(op: BinaryOp, count: usize, (start, step): (i64, i64), other: i64) -> Self {
        let apart = other.saturating_sub(start);
        // The first `i` from which on, or before which, the index is at least `other + above`.
        let reaches = |above: i64| first_at_least(apart.saturating_add(above), step, count);
        let (at, next) = match op {
            BinaryOp::Le | BinaryOp::Gt => (reaches(1), 0),
            BinaryOp::Lt | BinaryOp::Ge => (reaches(0), 0),
            _ if step > 0 => (reaches(0), reaches(1)),
            _ => (reaches(1), reaches(0)),
        };
        let (interval, inside) = match op {
            BinaryOp::Eq => (at..next, true),
            BinaryOp::Ne => (at..next, false),
            BinaryOp::Lt | BinaryOp::Le => (0..at, step > 0),
            _ => (0..at, step < 0),
        };
        Self { interval, inside }
    }

    /// Writes the truth at each point of a row.
    pub fn write(&self, row: &mut [MaybeUninit<bool>]) {
        row.fill(MaybeUninit::new(!self.inside));
        row[self.interval.clone()].fill(MaybeUninit::new(self.inside));
    }
}

/// With a positive step, the first `i ≤ count` for which `step · i` is at least `least`; with a negative one, the first
/// for which it is less.
fn first_at_least(least: i64, step: i64, count: usize) -> usize {
    let last = i64::try_from(count).unwrap_or(i64::MAX);
    let at = match step {
        1 => least,
        -1 => least.saturating_neg().saturating_add(1),
        _ if step > 0 => {
            least.div_euclid(step).saturating_add(i64::from(least.rem_euclid(step) != 0))
        }
        _ => least.saturating_neg().div_euclid(-step).saturating_add(1),
    };
    at.clamp(0, last) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<const N: usize>(op: BinaryOp, index: (i64, i64), other: i64) -> [bool; N] {
        let mut row = [MaybeUninit::new(false); N];
        Holds::of(op, N, index, other).write(&mut row);
        // SAFETY: all elements are initialised, from the beginning.
        row.map(|holds| unsafe { holds.assume_init() })
    }

    #[test]
    fn rows_are_those_of_each_comparison() {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        for op in [Eq, Ge, Gt, Le, Lt, Ne] {
            for (start, step, other) in (0..1000).map(|n| (n % 10 - 5, n / 10 % 10 - 5, n / 100)) {
                if step == 0 {
                    continue;
                }
                let row = row::<7>(op, (start, step), other);
                let expected = [0, 1, 2, 3, 4, 5, 6].map(|i| {
                    let order = (start + step * i).cmp(&other);
                    match op {
                        Eq => order.is_eq(),
                        Ge => order.is_ge(),
                        Gt => order.is_gt(),
                        Le => order.is_le(),
                        Lt => order.is_lt(),
                        _ => order.is_ne(),
                    }
                });
                assert_eq!(row, expected, "{start} + {step} i {op:?} {other}");
            }
        }
    }

    #[test]
    fn extreme_values_do_not_overflow() {
        for (other, less) in [(i64::MAX, true), (i64::MIN, false)] {
            for step in [1, -1, 3, -3] {
                assert_eq!(row(BinaryOp::Lt, (-2, step), other), [less; 4]);
                assert_eq!(row(BinaryOp::Eq, (-2, step), other), [false; 4]);
            }
        }
    }
}
