//! Index arithmetic: linear forms over letters, floored quotients and remainders.

use crate::EvalError;
use ijk_syntax::ast::{Arith, ArithOp, Position};
use std::collections::BTreeMap;

/// `constant + Σ coefficient · atom`, with like terms collected.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Affine {
    pub constant: i128,
    pub terms: BTreeMap<Atom, i128>,
}

/// An atom of a linear form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Atom {
    Letter(char),
    Div(Box<Affine>, i128),
    Mod(Box<Affine>, i128),
}

/// Minimum and maximum.
pub(crate) type Range = (i128, i128);

fn checked(value: Option<i128>) -> Result<i128, EvalError> {
    // Values beyond 64 bits are no valid index: they are refused early, so that 128 bits suffice below.
    value.filter(|v| v.unsigned_abs() < 1 << 63).ok_or(EvalError::TooLarge)
}

impl Affine {
    fn integer(constant: i128) -> Self {
        Self { constant, terms: BTreeMap::new() }
    }

    fn atom(atom: Atom) -> Self {
        Self { constant: 0, terms: BTreeMap::from([(atom, 1)]) }
    }

    /// The index at a position of a compound.
    pub fn of(position: &Position) -> Result<Self, EvalError> {
        match position {
            Position::Letter(letter) => Ok(Self::atom(Atom::Letter(letter.name))),
            Position::Bracket(arith, _) => Self::of_arith(arith),
        }
    }

    fn of_arith(arith: &Arith) -> Result<Self, EvalError> {
        match arith {
            Arith::Integer(n, _) => Ok(Self::integer((*n).into())),
            Arith::Letter(letter) => Ok(Self::atom(Atom::Letter(letter.name))),
            Arith::Sum(terms, _) => {
                terms.iter().try_fold(Self::default(), |sum, (negated, term)| {
                    sum.plus(&Self::of_arith(term)?, if *negated { -1 } else { 1 })
                })
            }
            Arith::Product(first, rest, _) => {
                rest.iter().try_fold(Self::of_arith(first)?, |e, (op, right)| {
                    e.by(*op, &Self::of_arith(right)?)
                })
            }
        }
    }

    fn by(self, op: ArithOp, right: &Self) -> Result<Self, EvalError> {
        match (op, self.as_constant(), right.as_constant()) {
            (ArithOp::Mul, _, Some(n)) => Self::default().plus(&self, n),
            (ArithOp::Mul, Some(n), _) => Self::default().plus(right, n),
            (ArithOp::Mul, ..) => Err(EvalError::NotAffine),
            (_, _, None | Some(..1)) => Err(EvalError::NotAffine),
            (ArithOp::Div, Some(e), Some(d)) => Ok(Self::integer(e.div_euclid(d))),
            (ArithOp::Mod, Some(e), Some(d)) => Ok(Self::integer(e.rem_euclid(d))),
            (ArithOp::Div, _, Some(1)) => Ok(self),
            (ArithOp::Div, _, Some(d)) => Ok(Self::atom(Atom::Div(Box::new(self), d))),
            (ArithOp::Mod, _, Some(d)) => Ok(Self::atom(Atom::Mod(Box::new(self), d))),
        }
    }

    fn as_constant(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// `self + factor · other`.
    fn plus(mut self, other: &Self, factor: i128) -> Result<Self, EvalError> {
        let add = |a: i128, b: i128| checked(b.checked_mul(factor).and_then(|b| a.checked_add(b)));
        self.constant = add(self.constant, other.constant)?;
        for (atom, &coefficient) in &other.terms {
            let sum = self.terms.entry(atom.clone()).or_default();
            *sum = add(*sum, coefficient)?;
        }
        self.terms.retain(|_, coefficient| *coefficient != 0);
        Ok(self)
    }

    /// The letters in it, without duplicates.
    pub fn letters(&self) -> Vec<char> {
        let mut letters = Vec::new();
        self.visit(&mut |letter| letters.push(letter));
        letters.sort_unstable();
        letters.dedup();
        letters
    }

    /// The letter, if it is a single one.
    pub fn lone_letter(&self) -> Option<char> {
        match self.terms.iter().next() {
            Some((Atom::Letter(letter), 1)) if self.terms.len() == 1 && self.constant == 0 => {
                Some(*letter)
            }
            _ => None,
        }
    }

    /// Number of occurrences of a letter.
    pub fn occurrences(&self, letter: char) -> usize {
        let mut count = 0;
        self.visit(&mut |other| count += usize::from(other == letter));
        count
    }

    fn visit(&self, visit: &mut impl FnMut(char)) {
        for atom in self.terms.keys() {
            match atom {
                Atom::Letter(letter) => visit(*letter),
                Atom::Div(e, _) | Atom::Mod(e, _) => e.visit(visit),
            }
        }
    }

    /// Returns true if it has a division or a remainder.
    pub fn divides(&self) -> bool {
        self.terms.keys().any(|atom| !matches!(atom, Atom::Letter(_)))
    }

    /// Returns true if a letter is inside a remainder.
    pub fn under_mod(&self, letter: char) -> bool {
        self.terms.keys().any(|atom| match atom {
            Atom::Letter(_) => false,
            Atom::Div(e, _) => e.under_mod(letter),
            Atom::Mod(e, _) => e.occurrences(letter) > 0,
        })
    }

    /// 1 if the value increases, -1 if it decreases with a letter that occurs once, outside of remainders; 0 for one
    /// that does not occur.
    pub fn direction(&self, letter: char) -> i128 {
        let sum = self.terms.iter().map(|(atom, coefficient)| {
            coefficient.signum()
                * match atom {
                    Atom::Letter(other) => i128::from(*other == letter),
                    Atom::Div(e, _) | Atom::Mod(e, _) => e.direction(letter),
                }
        });
        sum.sum()
    }

    /// Minimum and maximum by interval arithmetic. The range of a letter without values is taken as 0 only.
    pub fn range(&self, extent: &impl Fn(char) -> u64) -> Range {
        let start = (self.constant, self.constant);
        self.terms.iter().fold(start, |(least, greatest), (atom, &coefficient)| {
            let (low, high) = atom.range(extent);
            let ends = [coefficient.saturating_mul(low), coefficient.saturating_mul(high)];
            (
                least.saturating_add(ends[0].min(ends[1])),
                greatest.saturating_add(ends[0].max(ends[1])),
            )
        })
    }

    /// Compiles letters to axes of a domain, for evaluation.
    pub fn compile(&self, domain: &[char]) -> Compiled {
        let terms = self.terms.iter().map(|(atom, &coefficient)| {
            let atom = match atom {
                Atom::Letter(letter) => {
                    CompiledAtom::Axis(domain.iter().position(|l| l == letter).expect("a letter"))
                }
                Atom::Div(e, d) => CompiledAtom::Div(Box::new(e.compile(domain)), *d),
                Atom::Mod(e, d) => CompiledAtom::Mod(Box::new(e.compile(domain)), *d),
            };
            (coefficient, atom)
        });
        Compiled { constant: self.constant, terms: terms.collect() }
    }
}

impl Atom {
    fn range(&self, extent: &impl Fn(char) -> u64) -> Range {
        match self {
            Self::Letter(letter) => (0, i128::from(extent(*letter).max(1)) - 1),
            Self::Div(e, d) => {
                let (least, greatest) = e.range(extent);
                (least.div_euclid(*d), greatest.div_euclid(*d))
            }
            Self::Mod(e, d) => {
                let (least, greatest) = e.range(extent);
                if least.div_euclid(*d) == greatest.div_euclid(*d) {
                    (least.rem_euclid(*d), greatest.rem_euclid(*d))
                } else {
                    (0, d - 1)
                }
            }
        }
    }
}

/// An [`Affine`] over the axes of a domain.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    constant: i128,
    terms: Vec<(i128, CompiledAtom)>,
}

#[derive(Clone, Debug)]
enum CompiledAtom {
    Axis(usize),
    Div(Box<Compiled>, i128),
    Mod(Box<Compiled>, i128),
}

impl Compiled {
    /// Its value at a point.
    pub fn at(&self, point: &[usize]) -> i128 {
        let value = |atom: &CompiledAtom| match atom {
            CompiledAtom::Axis(axis) => point[*axis] as i128,
            CompiledAtom::Div(e, d) => e.at(point).div_euclid(*d),
            CompiledAtom::Mod(e, d) => e.at(point).rem_euclid(*d),
        };
        self.terms.iter().fold(self.constant, |sum, (c, atom)| sum + c * value(atom))
    }
}
