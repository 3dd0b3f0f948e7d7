//! Division as Einsum Tuple has it, and ranges of its results.

use crate::interval::Interval;
use ijk_syntax::et::ast::{IndexFunction, IndexOp};

/// The quotient rounded down; none by 0 and on overflow.
pub fn floor_div(a: i128, b: i128) -> Option<i128> {
    let quotient = a.checked_div(b)?;
    let inexact = a.checked_rem(b)? != 0;
    Some(if inexact && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

/// The quotient rounded up; none by 0 and on overflow.
pub fn ceil_div(a: i128, b: i128) -> Option<i128> {
    let quotient = a.checked_div(b)?;
    let inexact = a.checked_rem(b)? != 0;
    Some(if inexact && (a < 0) == (b < 0) { quotient + 1 } else { quotient })
}

/// The remainder of [`floor_div`], which has the divisor's sign; none by 0 and on overflow.
pub fn modulo(a: i128, b: i128) -> Option<i128> {
    let rest = a.checked_rem(b)?;
    Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
}

/// The value of `a op b`; none by 0 and on overflow.
pub fn apply(op: IndexOp, a: i128, b: i128) -> Option<i128> {
    match op {
        IndexOp::Mul => a.checked_mul(b),
        IndexOp::FloorDiv => floor_div(a, b),
        IndexOp::CeilDiv => ceil_div(a, b),
        IndexOp::Mod => modulo(a, b),
    }
}

/// The range of `a op divisor`; none by 0 and on overflow.
pub fn range_by(op: IndexOp, a: Interval, divisor: i128) -> Option<Interval> {
    if op == IndexOp::Mod && floor_div(a.least, divisor)? != floor_div(a.greatest, divisor)? {
        let (least, greatest) = (divisor.saturating_add(1).min(0), (divisor - 1).max(0));
        return Some(Interval { least, greatest });
    }
    let (x, y) = (apply(op, a.least, divisor)?, apply(op, a.greatest, divisor)?);
    Some(Interval { least: x.min(y), greatest: x.max(y) })
}

/// The value of a function; none on overflow, and without operands.
pub fn call(function: IndexFunction, operands: impl Iterator<Item = i128>) -> Option<i128> {
    let mut operands = operands;
    match function {
        IndexFunction::Abs => operands.next()?.checked_abs(),
        IndexFunction::Max => operands.max(),
        IndexFunction::Min => operands.min(),
    }
}

/// The range of the greater or the lesser of two.
pub fn extreme(function: IndexFunction, a: Interval, b: Interval) -> Interval {
    match function {
        IndexFunction::Min => a.extreme(b, i128::min),
        _ => a.extreme(b, i128::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_rounds_as_in_python() {
        assert_eq!(floor_div(-1, 2), Some(-1));
        assert_eq!(modulo(-1, 2), Some(1));
        assert_eq!(floor_div(7, -2), Some(-4));
        assert_eq!(modulo(7, -2), Some(-1));
        assert_eq!(ceil_div(7, -2), Some(-3));
        assert_eq!(ceil_div(7, 2), Some(4));
        assert_eq!((floor_div(1, 0), ceil_div(1, 0), modulo(1, 0)), (None, None, None));
        assert_eq!(floor_div(i128::MIN, -1), None);
    }

    #[test]
    fn ranges_are_those_of_all_values() {
        for op in [IndexOp::Mul, IndexOp::FloorDiv, IndexOp::CeilDiv, IndexOp::Mod] {
            for least in -9..9 {
                for greatest in least..9 {
                    for divisor in [-4, -3, -1, 1, 2, 5] {
                        let values: Vec<i128> =
                            (least..=greatest).map(|a| apply(op, a, divisor).unwrap()).collect();
                        let range = range_by(op, Interval { least, greatest }, divisor).unwrap();
                        assert!(range.least <= *values.iter().min().unwrap());
                        assert!(range.greatest >= *values.iter().max().unwrap());
                        if op != IndexOp::Mod {
                            assert_eq!(range.least, *values.iter().min().unwrap());
                            assert_eq!(range.greatest, *values.iter().max().unwrap());
                        }
                    }
                }
            }
        }
    }
}
