//! Constraints read backwards: which values of one unknown extent give a known one.

use super::Inference;
use crate::et::ShapeId;
use crate::et::arith::{apply, ceil_div, floor_div};
use crate::et::expr::Fault;
use crate::et::space::Kind;
use crate::et::system::Expr;
use crate::interval::Interval;
use ijk_syntax::et::ast::{IndexOp, Quantity};

/// Operands that are looked at to try values one by one.
const MAX_WORK: i128 = 1 << 18;
const ANY: Interval = Interval { least: 0, greatest: i64::MAX as i128 };

/// Extents with which a constraint gives a known one.
pub struct Preimage {
    pub extents: Vec<u64>,
    /// There are no other values.
    pub all: bool,
}

/// The extents of `of` for which the constraint on `shape` has the value `value`; none where they are too many to list.
pub fn values(
    inference: &Inference<'_>,
    shape: ShapeId,
    component: usize,
    of: ShapeId,
    value: u64,
) -> Option<Preimage> {
    let Kind::Equals(expr) = inference.space.kinds[shape.0 as usize] else { return None };
    let inverse = Inverse { inference, component, of };
    let target = Interval::point(value.into());
    let solved = if inverse.count(expr) == 1 { inverse.solve(expr, target) } else { ANY };
    let within = |allowed: Interval| {
        let least = solved.least.max(allowed.least);
        let most = least + (MAX_WORK - 1) / expr.size().max(1) as i128;
        let greatest = solved.greatest.min(allowed.greatest);
        let gives = |n: &i128| inverse.eval(expr, Some(*n)) == Ok(value.into());
        let extents = (least..=greatest.min(most)).filter(gives).map(|n| n as u64).collect();
        let rest = Interval { least: most + 1, greatest };
        Preimage { extents, all: greatest <= most || !inverse.may_give(expr, rest, value) }
    };
    let Kind::In(lo, hi) = inference.space.kinds[of.0 as usize] else {
        return Some(within(ANY)).filter(|found| found.all);
    };
    // A range chooses among several extents; where it has none, others will do.
    let preferred = within(Interval { least: lo.into(), greatest: hi.into() });
    if !preferred.extents.is_empty() {
        return Some(preferred).filter(|found| found.all);
    }
    Some(within(ANY)).filter(|_| preferred.all)
}

struct Inverse<'i, 'a> {
    inference: &'i Inference<'a>,
    component: usize,
    of: ShapeId,
}

impl Inverse<'_, '_> {
    fn eval(&self, expr: &Expr, value: Option<i128>) -> Result<i128, Fault> {
        expr.eval(&|quantity, shape| match quantity {
            Quantity::Rank => Some(self.inference.space.rank(shape) as i128),
            Quantity::Dims if shape == self.of => value,
            Quantity::Dims => self.inference.get(shape, self.component).map(i128::from),
        })
    }

    /// Returns true if some value of the unknown in a range may give `value`; also where that cannot be decided.
    fn may_give(&self, expr: &Expr, unknown: Interval, value: u64) -> bool {
        let of = |quantity, shape| match quantity {
            Quantity::Rank => Interval::point(self.inference.space.rank(shape) as i128),
            Quantity::Dims if shape == self.of => unknown,
            Quantity::Dims => match self.inference.get(shape, self.component) {
                Some(extent) => Interval::point(extent.into()),
                None => ANY,
            },
        };
        let given = expr.range(&of);
        given.is_none_or(|range| (range.least..=range.greatest).contains(&value.into()))
    }

    /// Number of occurrences of the unknown.
    fn count(&self, expr: &Expr) -> usize {
        let mut count = 0;
        expr.for_each(&mut |quantity, shape| {
            count += usize::from(quantity == Quantity::Dims && shape == self.of);
        });
        count
    }

    /// A range that contains every value of the unknown for which `expr` is in `target`.
    fn solve(&self, expr: &Expr, target: Interval) -> Interval {
        match expr {
            Expr::Of(..) => target,
            Expr::Integer(_) | Expr::Min(..) | Expr::Max(..) => ANY,
            Expr::Sum(terms) => self.solve_sum(terms, target),
            Expr::Product(first, rest) => self.solve_product(first, rest, target).unwrap_or(ANY),
        }
    }

    fn solve_product(
        &self,
        first: &Expr,
        rest: &[(IndexOp, Expr)],
        target: Interval,
    ) -> Option<Interval> {
        let own = rest.iter().position(|(_, factor)| self.count(factor) == 1);
        let behind = own.map_or(0, |n| n + 1);
        let mut range = target;
        for (op, factor) in rest[behind..].iter().rev() {
            range = undo(*op, self.eval(factor, None).ok()?, range)?;
        }
        let Some(n) = own else { return Some(self.solve(first, range)) };
        let (IndexOp::Mul, factor) = &rest[n] else { return None };
        let mut before = self.eval(first, None).ok()?;
        for (op, factor) in &rest[..n] {
            before = apply(*op, before, self.eval(factor, None).ok()?)?;
        }
        Some(self.solve(factor, undo(IndexOp::Mul, before, range)?))
    }

    fn solve_sum(&self, terms: &[(bool, Expr)], target: Interval) -> Interval {
        let mut rest = target;
        let mut own = None;
        for (negated, term) in terms {
            if self.count(term) == 1 {
                own = Some((*negated, term));
                continue;
            }
            let Ok(value) = self.eval(term, None) else { return ANY };
            let value = if *negated { -value } else { value };
            rest = rest.plus(Interval::point(-value));
        }
        match own {
            Some((false, term)) => self.solve(term, rest),
            Some((true, term)) => self.solve(term, opposite(rest)),
            None => ANY,
        }
    }
}

fn opposite(r: Interval) -> Interval {
    Interval { least: -r.greatest, greatest: -r.least }
}

/// The values `x` for which `x op by` is in the range; none where any may be.
fn undo(op: IndexOp, by: i128, r: Interval) -> Option<Interval> {
    match op {
        IndexOp::Mul if by == 0 => None,
        IndexOp::Mul if by < 0 => undo(op, -by, opposite(r)),
        IndexOp::Mul => {
            Some(Interval { least: ceil_div(r.least, by)?, greatest: floor_div(r.greatest, by)? })
        }
        IndexOp::Mod => None,
        _ if by == 0 => None,
        _ if by < 0 => undo(op, -by, r).map(opposite),
        IndexOp::FloorDiv => {
            let greatest = r.greatest.saturating_mul(by).saturating_add(by - 1);
            Some(Interval { least: r.least.saturating_mul(by), greatest })
        }
        IndexOp::CeilDiv => {
            let least = (r.least - 1).saturating_mul(by).saturating_add(1);
            Some(Interval { least, greatest: r.greatest.saturating_mul(by) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undone_ranges_are_exact() {
        for op in [IndexOp::Mul, IndexOp::FloorDiv, IndexOp::CeilDiv] {
            for by in [-3, -1, 1, 2, 5] {
                for (least, greatest) in [(0, 0), (2, 7), (-4, 3)] {
                    let range = undo(op, by, Interval { least, greatest }).unwrap();
                    for x in -60..60 {
                        let value = apply(op, x, by).unwrap();
                        let inside = (least..=greatest).contains(&value);
                        assert_eq!(inside, (range.least..=range.greatest).contains(&x));
                    }
                }
            }
        }
    }
}
