//! Random constraints: of both kinds, consistent with what is expected of the eintups.

use super::build::{SPAN, constant, name, of};
use super::world::{Kind, World};
use ijk_syntax::et::ast::{Bound, Constraint, IndexOp, Quantity, Relation};

impl World<'_> {
    /// Constrains the eintups that are used.
    pub fn constraints(&mut self, used: &dyn Fn(&str) -> bool) {
        let mut known = Vec::new();
        for at in 0..self.tuples.len() {
            if !used(&self.tuples[at].name) {
                continue;
            }
            if self.tuples[at].kind != Kind::Inferred {
                self.constrain_rank(at, &known);
                self.constrain_dims(at, &known);
            }
            known.push(at);
        }
        self.rng.shuffle(&mut self.program.constraints);
    }

    fn add(&mut self, quantity: Quantity, at: usize, relation: Relation) {
        let tuple = name(&self.tuples[at].name);
        self.constrain(Constraint { quantity, tuple, relation, span: SPAN });
    }

    fn constrain_rank(&mut self, at: usize, known: &[usize]) {
        let r = self.tuples[at].rank as i64;
        let needed = if r == 1 { 0.25 } else { 0.97 };
        if !self.rng.chance(needed) {
            return;
        }
        let relation = match self.rng.below(4) {
            0 => Relation::In((r, SPAN), (r, SPAN)),
            1 if !known.is_empty() => {
                let other = *self.rng.pick(known);
                Relation::Equals(self.rank_by(other, r))
            }
            _ => Relation::Equals(constant(r)),
        };
        self.add(Quantity::Rank, at, relation);
    }

    /// The rank `r` in terms of another's.
    fn rank_by(&mut self, other: usize, r: i64) -> Bound {
        let s = self.tuples[other].rank as i64;
        let term = of(Quantity::Rank, &self.tuples[other].name);
        self.adjusted(term, s, s, r, r)
    }

    /// A value between `lo` and `hi`, brought to lie between `least` and `most`.
    fn adjusted(&mut self, term: Bound, lo: i64, hi: i64, least: i64, most: i64) -> Bound {
        let (term, lo, hi) = self.arithmetic(term, lo, hi);
        if least == most && lo == hi && self.rng.chance(0.7) {
            return match least - lo {
                0 => term,
                by => plus(term, by < 0, constant(by.abs())),
            };
        }
        let term = match hi > most {
            true => Bound::Min(Box::new(term), Box::new(constant(most)), SPAN),
            false => term,
        };
        match lo < least {
            true => Bound::Max(Box::new(constant(least)), Box::new(term), SPAN),
            false => term,
        }
    }

    fn arithmetic(&mut self, term: Bound, lo: i64, hi: i64) -> (Bound, i64, i64) {
        let n = self.rng.between(1, 3) as i64;
        let by = |term: Bound, op| Bound::Product(Box::new(term), vec![(op, constant(n))], SPAN);
        match self.rng.below(8) {
            0 => (by(term, IndexOp::Mul), lo * n, hi * n),
            1 => (by(term, IndexOp::FloorDiv), lo / n, hi / n),
            2 => (by(term, IndexOp::CeilDiv), (lo + n - 1) / n, (hi + n - 1) / n),
            3 => (
                by(term, IndexOp::Mod),
                if lo == hi { lo % n } else { 0 },
                if lo == hi { lo % n } else { n - 1 },
            ),
            4 => (plus(term, false, constant(n)), lo + n, hi + n),
            5 => (plus(constant(n), true, term), n - hi, n - lo),
            _ => (term, lo, hi),
        }
    }

    fn constrain_dims(&mut self, at: usize, known: &[usize]) {
        let t = self.tuples[at].clone();
        let (lo, hi) = (t.lo as i64, t.hi as i64);
        let relation = match t.kind {
            Kind::Bound if self.rng.chance(0.7) => return,
            Kind::Inferred => return,
            Kind::Bound => Relation::In((0, SPAN), (hi + 2, SPAN)),
            Kind::Ranged => Relation::In((lo, SPAN), (hi, SPAN)),
            Kind::Pinned if t.exact.is_none() && self.rng.chance(0.2) => {
                Relation::In((lo, SPAN), (hi, SPAN))
            }
            Kind::Pinned => Relation::Equals(constant(hi)),
            Kind::Derived => Relation::Equals(self.derived(at, known)),
        };
        self.add(Quantity::Dims, at, relation);
    }

    /// Extents in terms of others', or of ranks.
    fn derived(&mut self, at: usize, known: &[usize]) -> Bound {
        let (rank, hi) = (self.tuples[at].rank, self.tuples[at].hi as i64);
        let same = |&&other: &&usize| self.tuples[other].rank == rank;
        let others: Vec<usize> = known.iter().filter(same).copied().collect();
        if others.is_empty() || self.rng.chance(0.15) {
            return match known.is_empty() {
                true => constant(hi),
                false => {
                    let other = *self.rng.pick(known);
                    let s = self.tuples[other].rank as i64;
                    let term = of(Quantity::Rank, &self.tuples[other].name);
                    self.adjusted(term, s, s, 0, hi)
                }
            };
        }
        let other = *self.rng.pick(&others);
        let (mut lo, mut most) = self.span_of(other);
        let mut term = of(Quantity::Dims, &self.tuples[other].name);
        if self.rng.chance(0.4) {
            let second = *self.rng.pick(&others);
            let minus = self.rng.chance(0.6);
            let (l, h) = self.span_of(second);
            (lo, most) = if minus { (lo - h, most - l) } else { (lo + l, most + h) };
            term = plus(term, minus, of(Quantity::Dims, &self.tuples[second].name));
        }
        self.adjusted(term, lo, most, 0, hi)
    }

    fn span_of(&self, at: usize) -> (i64, i64) {
        let t = &self.tuples[at];
        match &t.exact {
            Some(exact) => {
                let least = exact.iter().min().copied().unwrap_or(0);
                (least as i64, exact.iter().max().copied().unwrap_or(0) as i64)
            }
            None => (t.lo as i64, t.hi as i64),
        }
    }
}

fn plus(left: Bound, minus: bool, right: Bound) -> Bound {
    Bound::Sum(vec![(false, left), (minus, right)], SPAN)
}
