//! Ranges of index expressions, which determine the extents of arrays.

use super::EtError;
use ijk_syntax::et::ast::{IndexFunction, IndexOp};

/// The least integer.
const LEAST: i128 = i64::MIN as i128;

/// All values from `least` to `greatest`; none if `empty`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub least: i128,
    pub greatest: i128,
    pub empty: bool,
}

impl Interval {
    pub const EMPTY: Self = Self { least: 0, greatest: 0, empty: true };

    pub fn one(value: i128) -> Self {
        Self { least: value, greatest: value, empty: false }
    }

    /// The positions of an axis.
    pub fn below(extent: u64) -> Self {
        match i128::from(extent) {
            0 => Self::EMPTY,
            extent => Self { least: 0, greatest: extent - 1, empty: false },
        }
    }

    /// The range of some values.
    pub fn of(values: impl Iterator<Item = i128>) -> Self {
        values.fold(Self::EMPTY, |range, x| match range.empty {
            true => Self::one(x),
            false => Self { least: range.least.min(x), greatest: range.greatest.max(x), ..range },
        })
    }

    /// The exclusive upper bound, at least 0.
    pub fn extent(self) -> u64 {
        let beyond = self.greatest.saturating_add(1).max(0);
        if self.empty { 0 } else { beyond.try_into().unwrap_or(u64::MAX) }
    }

    pub fn add(self, negated: bool, term: Self) -> Self {
        let (low, high) = match negated {
            true => (-term.greatest, -term.least),
            false => (term.least, term.greatest),
        };
        let empty = self.empty || term.empty;
        Self { least: self.least + low, greatest: self.greatest + high, empty }
    }

    /// Product with a factor, or quotient by a constant divisor.
    pub fn product(self, op: IndexOp, right: Self) -> Result<Self, EtError> {
        let empty = self.empty || right.empty;
        let corners = [
            apply(op, self.least, right.least)?,
            apply(op, self.least, right.greatest)?,
            apply(op, self.greatest, right.least)?,
            apply(op, self.greatest, right.greatest)?,
        ];
        let within = Self { empty, ..Self::of(corners.into_iter()) };
        let divisor = right.least;
        let quotient = |x| floor_div(x, divisor);
        Ok(match op {
            IndexOp::Mod if quotient(self.least) != quotient(self.greatest) => {
                let (least, greatest) =
                    if divisor > 0 { (0, divisor - 1) } else { (divisor + 1, 0) };
                Self { least, greatest, empty }
            }
            _ => within,
        })
    }

    /// The values of a function, of which both ends are values of the operands' ends, or 0.
    pub fn call(function: IndexFunction, operands: &[Self]) -> Self {
        let empty = operands.iter().any(|operand| operand.empty);
        let ends = |pick: fn(&Self) -> i128| operands.iter().map(pick).collect::<Vec<_>>();
        let low = call(function, &ends(|operand| operand.least));
        let high = call(function, &ends(|operand| operand.greatest));
        let least = operands.iter().map(|operand| operand.least).min();
        if function == IndexFunction::Abs && least == Some(LEAST) && high != LEAST {
            return Self { least: LEAST, greatest: -(LEAST + 1), empty };
        }
        let crosses = operands.iter().all(|operand| operand.least < 0 && operand.greatest > 0);
        let zero = (function == IndexFunction::Abs && crosses).then_some(0);
        Self { empty, ..Self::of([low, high].into_iter().chain(zero)) }
    }

    /// Checks that index values are within the limits of the language.
    pub fn check(self) -> Result<Self, EtError> {
        let fits = |x: i128| i64::try_from(x).is_ok();
        if fits(self.least) && fits(self.greatest) { Ok(self) } else { Err(EtError::TooLarge) }
    }
}

/// An operator on numbers.
pub(crate) fn apply(op: IndexOp, x: i128, y: i128) -> Result<i128, EtError> {
    match op {
        IndexOp::Mul => x.checked_mul(y).ok_or(EtError::TooLarge),
        _ if y == 0 => Err(EtError::ZeroDivisor),
        IndexOp::FloorDiv => Ok(floor_div(x, y)),
        IndexOp::CeilDiv => Ok(-floor_div(-x, y)),
        IndexOp::Mod => Ok(x - y * floor_div(x, y)),
    }
}

/// The value of a function of indices.
pub(crate) fn call(function: IndexFunction, operands: &[i128]) -> i128 {
    match (function, operands) {
        // Computed with 64 bits: that of the least integer is itself.
        (IndexFunction::Abs, [LEAST]) => LEAST,
        (IndexFunction::Abs, [x]) => x.abs(),
        (IndexFunction::Max, [x, y]) => *x.max(y),
        (IndexFunction::Min, [x, y]) => *x.min(y),
        _ => unreachable!("the grammar counts operands"),
    }
}

/// Rounds towards -inf, for any signs.
fn floor_div(x: i128, y: i128) -> i128 {
    let quotient = x / y;
    if x % y != 0 && (x < 0) != (y < 0) { quotient - 1 } else { quotient }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_rounds_as_in_python() {
        let all = |op| [(7, 2), (-7, 2), (7, -2), (-7, -2)].map(|(x, y)| apply(op, x, y).unwrap());
        assert_eq!(all(IndexOp::FloorDiv), [3, -4, -4, 3]);
        assert_eq!(all(IndexOp::CeilDiv), [4, -3, -3, 4]);
        assert_eq!(all(IndexOp::Mod), [1, 1, -1, -1]);
        assert_eq!(apply(IndexOp::Mod, 1, 0), Err(EtError::ZeroDivisor));
    }

    #[test]
    fn ranges_of_functions_are_exact() {
        for function in IndexFunction::ALL {
            for (least, greatest) in [(-6, -2), (-3, 0), (-2, 5), (0, 4), (3, 3)] {
                for (low, high) in [(-4, 2), (1, 1), (0, 9)] {
                    let own = Interval { least, greatest, empty: false };
                    let other = Interval { least: low, greatest: high, empty: false };
                    let operands = &[own, other][..function.operands()];
                    let one = function.operands() == 1;
                    let values = (least..=greatest).flat_map(|x| {
                        (low..=high).map(move |y| match one {
                            true => call(function, &[x]),
                            false => call(function, &[x, y]),
                        })
                    });
                    assert_eq!(Interval::call(function, operands), Interval::of(values));
                }
            }
        }
    }

    #[test]
    fn ranges_hold_all_values_and_both_ends() {
        for op in [IndexOp::Mul, IndexOp::FloorDiv, IndexOp::CeilDiv, IndexOp::Mod] {
            for least in -6..6 {
                for greatest in least..7 {
                    for divisor in [-3, -2, -1, 1, 2, 4, 5] {
                        let range = Interval { least, greatest, empty: false };
                        let found = range.product(op, Interval::one(divisor)).unwrap();
                        let values = (least..=greatest).map(|x| apply(op, x, divisor).unwrap());
                        let exact = Interval::of(values);
                        assert!(found.least <= exact.least && found.greatest >= exact.greatest);
                        assert!(found == exact || op == IndexOp::Mod);
                    }
                }
            }
        }
    }
}
