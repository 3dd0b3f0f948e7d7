//! Arithmetic on index expressions, kept in normal form.

use crate::core::{Access, Atom, AxisId, IndexExpr, Terms};

impl IndexExpr {
    /// The expression in normal form: equal atoms merged, no coefficient 0, axes first in
    /// ascending order. `None` where a coefficient overflows.
    pub fn normalised(mut self) -> Option<Self> {
        self.terms.sort_by_key(|(_, atom)| match atom {
            Atom::Axis(axis) => axis.0,
            _ => u32::MAX,
        });
        let mut merged = Terms::new();
        for (coefficient, atom) in self.terms {
            let start =
                if matches!(atom, Atom::Axis(_)) { merged.len().saturating_sub(1) } else { 0 };
            match merged[start..].iter_mut().find(|(_, other)| *other == atom) {
                Some((sum, _)) => *sum = sum.checked_add(coefficient)?,
                None => merged.push((coefficient, atom)),
            }
        }
        merged.retain(|(coefficient, _)| *coefficient != 0);
        Some(Self { constant: self.constant, terms: merged })
    }

    /// The sum; `None` on overflow.
    pub fn plus(&self, other: &Self) -> Option<Self> {
        let constant = self.constant.checked_add(other.constant)?;
        let terms = self.terms.iter().chain(&other.terms).cloned().collect();
        Self { constant, terms }.normalised()
    }

    /// The product with a constant; `None` on overflow.
    pub fn times(&self, factor: i64) -> Option<Self> {
        let constant = self.constant.checked_mul(factor)?;
        let scale = |(c, atom): &(i64, Atom)| Some((c.checked_mul(factor)?, atom.clone()));
        let terms = self.terms.iter().map(scale).collect::<Option<Terms>>()?;
        Self { constant, terms }.normalised()
    }

    /// Division by a positive constant, rounding down; constants fold.
    pub fn floor_div(self, divisor: i64) -> Self {
        match (self.terms.is_empty(), divisor) {
            (true, _) => Self::constant(self.constant.div_euclid(divisor)),
            (false, 1) => self,
            _ => Self::atom(Atom::FloorDiv(Box::new(self), divisor)),
        }
    }

    /// The remainder of that division; constants fold.
    pub fn modulo(self, divisor: i64) -> Self {
        if self.terms.is_empty() {
            return Self::constant(self.constant.rem_euclid(divisor));
        }
        Self::atom(Atom::Mod(Box::new(self), divisor))
    }

    /// The product; constants fold. `None` on overflow.
    pub fn product(&self, other: &Self) -> Option<Self> {
        match (self.as_constant(), other.as_constant()) {
            (Some(c), _) => other.times(c),
            (_, Some(c)) => self.times(c),
            _ => Some(Self::atom(Atom::Product(Box::new(self.clone()), Box::new(other.clone())))),
        }
    }

    /// The greater of two; folds where their difference is constant.
    pub fn maximum(self, other: Self) -> Self {
        match self.exceeds(&other) {
            Some(true) => self,
            Some(false) => other,
            None => Self::atom(Atom::Max(Box::new(self), Box::new(other))),
        }
    }

    /// The lesser of two; folds where their difference is constant.
    pub fn minimum(self, other: Self) -> Self {
        match self.exceeds(&other) {
            Some(true) => other,
            Some(false) => self,
            None => Self::atom(Atom::Min(Box::new(self), Box::new(other))),
        }
    }

    /// The magnitude; constants fold. `None` on overflow.
    pub fn magnitude(self) -> Option<Self> {
        match self.as_constant() {
            Some(value) => value.checked_abs().map(Self::constant),
            None => Some(Self::atom(Atom::Abs(Box::new(self)))),
        }
    }

    /// Tells whether it is at least as great as another, if their difference is constant. Elements of arrays may be any
    /// numbers, whose differences may wrap.
    fn exceeds(&self, other: &Self) -> Option<bool> {
        let difference = self.plus(&other.times(-1)?)?.as_constant()?;
        (self.is_affine() || difference == 0).then_some(difference >= 0)
    }

    /// An element of an array of integers.
    pub fn element(access: Access) -> Self {
        Self::atom(Atom::Element(Box::new(access)))
    }

    /// The constant, where nothing else is in it.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// Calls `visit` for every occurrence of an axis, those under divisions included.
    pub fn for_each_axis(&self, visit: &mut impl FnMut(AxisId)) {
        for (_, atom) in &self.terms {
            match atom {
                Atom::Axis(axis) => visit(*axis),
                Atom::FloorDiv(e, _) | Atom::Mod(e, _) | Atom::Abs(e) => e.for_each_axis(visit),
                Atom::Product(left, right) | Atom::Max(left, right) | Atom::Min(left, right) => {
                    left.for_each_axis(visit);
                    right.for_each_axis(visit);
                }
                Atom::Element(access) => access.index.iter().for_each(|e| e.for_each_axis(visit)),
            }
        }
    }

    /// Returns true if the axis occurs in the expression.
    pub fn mentions(&self, axis: AxisId) -> bool {
        self.terms.iter().any(|(_, atom)| atom.mentions(axis))
    }

    /// The expression with each axis replaced; `None` on overflow.
    pub fn substitute(&self, replace: &impl Fn(AxisId) -> Self) -> Option<Self> {
        let mut sum = Self::constant(self.constant);
        for (coefficient, atom) in &self.terms {
            let value = match atom {
                Atom::Axis(axis) => replace(*axis),
                Atom::FloorDiv(e, divisor) => e.substitute(replace)?.floor_div(*divisor),
                Atom::Mod(e, divisor) => e.substitute(replace)?.modulo(*divisor),
                Atom::Product(left, right) => {
                    left.substitute(replace)?.product(&right.substitute(replace)?)?
                }
                Atom::Abs(e) => e.substitute(replace)?.magnitude()?,
                Atom::Max(left, right) => {
                    left.substitute(replace)?.maximum(right.substitute(replace)?)
                }
                Atom::Min(left, right) => {
                    left.substitute(replace)?.minimum(right.substitute(replace)?)
                }
                Atom::Element(access) => {
                    let index = access.index.iter().map(|e| e.substitute(replace));
                    let index = index.collect::<Option<_>>()?;
                    Self::element(Access { index, ..(**access).clone() })
                }
            };
            sum = sum.plus(&value.times(*coefficient)?)?;
        }
        Some(sum)
    }
}

impl Atom {
    /// Returns true if the axis occurs in the expression.
    pub fn mentions(&self, axis: AxisId) -> bool {
        match self {
            Self::Axis(own) => *own == axis,
            Self::FloorDiv(e, _) | Self::Mod(e, _) | Self::Abs(e) => e.mentions(axis),
            Self::Product(left, right) | Self::Max(left, right) | Self::Min(left, right) => {
                left.mentions(axis) || right.mentions(axis)
            }
            Self::Element(access) => access.index.iter().any(|e| e.mentions(axis)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(n: u32) -> IndexExpr {
        IndexExpr::axis(AxisId(n))
    }

    #[test]
    fn sums_merge_and_sort() {
        let e = axis(1).plus(&axis(0)).unwrap().plus(&axis(1)).unwrap();
        assert_eq!(e.terms[..], [(1, Atom::Axis(AxisId(0))), (2, Atom::Axis(AxisId(1)))]);
        assert_eq!(axis(0).plus(&axis(0).times(-1).unwrap()).unwrap(), IndexExpr::constant(0));
    }

    #[test]
    fn equal_divisions_merge_after_axes() {
        let half = axis(1).floor_div(2);
        let e = half.plus(&axis(0)).unwrap().plus(&half).unwrap();
        assert_eq!(e.terms[0], (1, Atom::Axis(AxisId(0))));
        assert_eq!(e.terms[1].0, 2);
    }

    #[test]
    fn overflow_is_noticed() {
        assert!(axis(0).times(i64::MAX).unwrap().times(2).is_none());
        assert!(IndexExpr::constant(i64::MAX).plus(&IndexExpr::constant(1)).is_none());
    }

    #[test]
    fn division_floors_and_substitution_folds() {
        let e = axis(0).floor_div(3).plus(&axis(1).modulo(4)).unwrap();
        assert_eq!(e.eval(&[-1, -1]), -1 + 3);
        let folded = e.substitute(&|a| IndexExpr::constant(if a.0 == 0 { 7 } else { -2 }));
        assert_eq!(folded.unwrap().as_constant(), Some(4));
    }
}
