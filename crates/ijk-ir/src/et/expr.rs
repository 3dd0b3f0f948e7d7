//! Values of constraints: exact, and by interval arithmetic where terms are ranges.

use super::ShapeId;
use super::arith;
use super::system::Expr;
use crate::interval::Interval;
use ijk_syntax::et::ast::{IndexOp, Quantity};

/// Why a constraint has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A term has none.
    Unknown,
    /// It divides by 0.
    Zero,
    /// It is more than 128 bits hold.
    Overflow,
}

/// Bounds of the value of any constraint.
const WIDE: Interval = Interval { least: -(1 << 100), greatest: 1 << 100 };

impl Expr {
    /// The value where `of` gives those of ranks and extents.
    pub fn eval(&self, of: &impl Fn(Quantity, ShapeId) -> Option<i128>) -> Result<i128, Fault> {
        match self {
            Self::Integer(value) => Ok((*value).into()),
            Self::Of(quantity, shape) => of(*quantity, *shape).ok_or(Fault::Unknown),
            Self::Min(a, b) => Ok(a.eval(of)?.min(b.eval(of)?)),
            Self::Max(a, b) => Ok(a.eval(of)?.max(b.eval(of)?)),
            Self::Sum(terms) => terms.iter().try_fold(0i128, |sum, (negated, term)| {
                let value = term.eval(of)?;
                let next = if *negated { sum.checked_sub(value) } else { sum.checked_add(value) };
                next.ok_or(Fault::Overflow)
            }),
            Self::Product(first, rest) => rest.iter().try_fold(first.eval(of)?, |a, (op, b)| {
                let b = b.eval(of)?;
                let zero = b == 0 && *op != IndexOp::Mul;
                arith::apply(*op, a, b).ok_or(if zero { Fault::Zero } else { Fault::Overflow })
            }),
        }
    }

    /// The value, where no rank and no extent takes part.
    pub fn constant(&self) -> Option<i128> {
        self.eval(&|_, _| None).ok()
    }

    /// A range that contains every value where `of` gives those of ranks and extents; none where
    /// there is no value.
    pub fn range(&self, of: &impl Fn(Quantity, ShapeId) -> Interval) -> Option<Interval> {
        Some(clamp(match self {
            Self::Integer(value) => Interval::point((*value).into()),
            Self::Of(quantity, shape) => of(*quantity, *shape),
            Self::Min(a, b) => both(a.range(of)?, b.range(of)?, i128::min),
            Self::Max(a, b) => both(a.range(of)?, b.range(of)?, i128::max),
            Self::Sum(terms) => {
                let mut sum = Interval::point(0);
                for (negated, term) in terms {
                    let r = term.range(of)?;
                    let opposite = Interval { least: -r.greatest, greatest: -r.least };
                    sum = clamp(sum.plus(if *negated { opposite } else { r }));
                }
                sum
            }
            Self::Product(first, rest) => {
                let mut product = first.range(of)?;
                for (op, factor) in rest {
                    product = clamp(combine(*op, product, factor.range(of)?)?);
                }
                product
            }
        }))
    }

    /// Calls `visit` for every rank and extent in it.
    pub fn for_each(&self, visit: &mut impl FnMut(Quantity, ShapeId)) {
        match self {
            Self::Integer(_) => {}
            Self::Of(quantity, shape) => visit(*quantity, *shape),
            Self::Min(a, b) | Self::Max(a, b) => {
                a.for_each(visit);
                b.for_each(visit);
            }
            Self::Sum(terms) => terms.iter().for_each(|(_, term)| term.for_each(visit)),
            Self::Product(first, rest) => {
                first.for_each(visit);
                rest.iter().for_each(|(_, factor)| factor.for_each(visit));
            }
        }
    }

    /// Number of operands and operators.
    pub fn size(&self) -> usize {
        match self {
            Self::Integer(_) | Self::Of(..) => 1,
            Self::Min(a, b) | Self::Max(a, b) => 1 + a.size() + b.size(),
            Self::Sum(terms) => 1 + terms.iter().map(|(_, term)| term.size()).sum::<usize>(),
            Self::Product(first, rest) => {
                first.size() + rest.iter().map(|(_, factor)| 1 + factor.size()).sum::<usize>()
            }
        }
    }

    /// The shapes whose extents are in it.
    pub fn dims(&self) -> Vec<ShapeId> {
        self.shapes(Quantity::Dims)
    }

    /// The shapes of which it takes the quantity, each once.
    pub fn shapes(&self, wanted: Quantity) -> Vec<ShapeId> {
        let mut shapes = Vec::new();
        self.for_each(&mut |quantity, shape| {
            if quantity == wanted {
                shapes.push(shape);
            }
        });
        shapes.sort();
        shapes.dedup();
        shapes
    }
}

fn clamp(r: Interval) -> Interval {
    let bound = |value: i128| value.clamp(WIDE.least, WIDE.greatest);
    Interval { least: bound(r.least), greatest: bound(r.greatest) }
}

fn both(a: Interval, b: Interval, pick: fn(i128, i128) -> i128) -> Interval {
    Interval { least: pick(a.least, b.least), greatest: pick(a.greatest, b.greatest) }
}

fn combine(op: IndexOp, a: Interval, b: Interval) -> Option<Interval> {
    match op {
        IndexOp::Mul => Some(a.product(b)),
        _ if b.least == b.greatest => arith::range_by(op, a, b.least),
        IndexOp::Mod => {
            let (least, greatest) = ((b.least + 1).min(0), (b.greatest - 1).max(0));
            Some(Interval { least, greatest })
        }
        _ if b.least <= 0 && b.greatest >= 0 => {
            // A divisor of ±1 leaves the most.
            let most = a.least.abs().max(a.greatest.abs());
            Some(Interval { least: -most, greatest: most })
        }
        _ => {
            let x = arith::range_by(op, a, b.least)?;
            let y = arith::range_by(op, a, b.greatest)?;
            Some(Interval { least: x.least.min(y.least), greatest: x.greatest.max(y.greatest) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_contain_all_values() {
        for op in [IndexOp::Mul, IndexOp::FloorDiv, IndexOp::CeilDiv, IndexOp::Mod] {
            for (a, b) in
                [((-7, 5), (1, 3)), ((2, 9), (-3, -2)), ((-4, 6), (-2, 2)), ((3, 3), (0, 2))]
            {
                let interval = |(least, greatest)| Interval { least, greatest };
                let range = combine(op, interval(a), interval(b)).unwrap();
                for x in a.0..=a.1 {
                    for value in (b.0..=b.1).filter_map(|y| arith::apply(op, x, y)) {
                        assert!(range.least <= value && value <= range.greatest, "{op:?}");
                    }
                }
            }
        }
    }
}
