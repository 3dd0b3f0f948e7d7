//! Arithmetic in brackets.

use super::super::build::{
    bracket, int, letter, minus, name, number, plus, product, sum, times, var,
};
use super::{Drafter, Source};
use ijk_syntax::ast::{Arith, ArithOp, Extent, Position};

/// An expression with the least and the greatest of its values, if they are known.
type BoundedArith = (Arith, Option<(i64, i64)>);

impl Drafter<'_> {
    /// A bracket whose values are within an axis.
    pub(super) fn bracket_within(&mut self, extent: usize) -> Option<Position> {
        let top = extent as i64 - 1;
        let form = self.rng.below(12);
        let (arith, range) = match form {
            0 if extent > 0 => {
                let at = self.rng.below(extent) as i64;
                (int(at), Some((at, at)))
            }
            1 | 2 => self.inferred(extent),
            5 | 10 => self.two_letters(form)?,
            6 | 7 => self.quotient_or_remainder(form)?,
            8 => self.shifted_quotient()?,
            9 => self.shifted_remainder()?,
            _ => self.affine(form)?,
        };
        let fits = range.is_none_or(|(least, most)| least >= 0 && most <= top);
        fits.then(|| bracket(arith))
    }

    /// `9-x`, `2*x+1`, `(x+1)*2`.
    fn affine(&mut self, form: usize) -> Option<BoundedArith> {
        let (x, n) = self.some_letter()?;
        let (arith, range) = match form {
            3 => {
                let gap = self.rng.between(0, 2) as i64;
                (minus(int(n - 1 + gap), x), (gap, n - 1 + gap))
            }
            4 => {
                let c = self.rng.between(1, 3) as i64;
                (plus(times(int(c), x), int(1)), (1, c * (n - 1) + 1))
            }
            _ => (times(plus(x, int(1)), int(2)), (2, 2 * n)),
        };
        Some((arith, Some(range)))
    }

    /// `x+y`, or `x*m+y` for an extent m of y.
    fn two_letters(&mut self, form: usize) -> Option<BoundedArith> {
        let ((x, n), (y, m)) = (self.some_letter()?, self.some_letter()?);
        if x == y {
            return None;
        }
        Some(match form {
            5 => (plus(x, y), Some((0, n + m - 2))),
            _ => (plus(times(x, int(m)), y), Some((0, n * m - 1))),
        })
    }

    /// `x/2` or `x%3`.
    fn quotient_or_remainder(&mut self, form: usize) -> Option<BoundedArith> {
        let (x, n) = self.some_letter()?;
        Some(match form {
            6 => {
                let d = self.rng.between(1, 4) as i64;
                (product(x, ArithOp::Div, int(d)), Some((0, (n - 1) / d)))
            }
            _ => {
                let d = self.rng.between(1, 5) as i64;
                (product(x, ArithOp::Mod, int(d)), Some((0, (n - 1).min(d - 1))))
            }
        })
    }

    /// `(x+1)/3`, or `((x+1)/3+3)/2`.
    fn shifted_quotient(&mut self) -> Option<BoundedArith> {
        let (x, n) = self.some_letter()?;
        let (c, d) = (self.rng.between(0, 9) as i64, self.rng.between(2, 4) as i64);
        let quotient = product(plus(x, int(c)), ArithOp::Div, int(d));
        let most = (n - 1 + c) / d;
        if self.rng.chance(0.4) {
            let nested = product(plus(quotient, int(d)), ArithOp::Div, int(2));
            return Some((nested, Some((0, (most + d) / 2))));
        }
        Some((quotient, Some((c / d, most))))
    }

    /// `2*((x+1)%3)+0`, or `((x+1)%6+0)%4`.
    fn shifted_remainder(&mut self) -> Option<BoundedArith> {
        let (x, n) = self.some_letter()?;
        let c = self.rng.between(0, 7) as i64;
        if self.rng.chance(0.5) {
            let inner = product(plus(x, int(c)), ArithOp::Mod, int(6));
            let of = *self.rng.pick(&[2, 3, 4]);
            let nested = product(plus(inner, int(0)), ArithOp::Mod, int(of));
            return Some((nested, Some((0, of - 1))));
        }
        let inner = product(plus(x, int(c)), ArithOp::Mod, int(3));
        Some((plus(times(int(2), inner), int(0)), Some((0, 4.min(2 * (n - 1 + c))))))
    }

    /// A letter whose extent the bracket determines.
    fn inferred(&mut self, extent: usize) -> BoundedArith {
        let before = self.letters.iter().find(|l| l.1 == Source::Bracketed).map(|l| l.0);
        let letter = match before {
            Some(letter) if self.rng.chance(0.4) => letter,
            _ => self.new_letter(Source::Bracketed),
        };
        let x = var(letter);
        let top = extent as i64 - 1;
        let arith = match self.rng.below(7) {
            0 => times(int(self.rng.between(2, 3) as i64), x),
            1 => plus(x, int(self.rng.between(0, 2) as i64)),
            2 => minus(int(top.max(0)), x),
            3 => product(x, ArithOp::Div, int(self.rng.between(1, 3) as i64)),
            4 => product(minus(times(int(2), x), int(0)), ArithOp::Div, int(3)),
            5 => sum(vec![(true, x), (false, int(top.max(0)))]),
            _ => match self.known(|n| n > 0 && n <= extent).first() {
                Some(&other) => plus(x, var(other)),
                None => times(x, int(1)),
            },
        };
        (arith, None)
    }

    /// A letter of known extent, one of the expression's or a new one with braces.
    fn some_letter(&mut self) -> Option<(Arith, i64)> {
        let known = self.known(|_| true);
        if !known.is_empty() && self.rng.chance(0.7) {
            let letter = *self.rng.pick(&known);
            return Some((var(letter), self.extent_of(letter) as i64));
        }
        let extent = self.rng.between(1, 4);
        let mut braced = letter(self.new_letter(Source::Known(extent)));
        let named = self.names.iter().find(|known| *known.1 == extent as u64);
        braced.extent = Some(match named {
            Some((text, _)) if self.rng.chance(0.5) => Extent::Name(name(text)),
            _ => number(extent as u64),
        });
        Some((Arith::Letter(braced), extent as i64))
    }
}
