//! Random constraints of both kinds, consistent with the intended ranks and extents of eintups.

use super::build::{SPAN, constant, name, of};
use super::links::links;
use super::world::{Kind, Tuple, World};
use ijk_syntax::et::ast::{Bound, Constraint, IndexOp, Quantity, Relation};
use std::collections::BTreeMap;

impl World<'_> {
    /// Constrains the eintups that occur.
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

    /// Weakens or omits constraints on ranks that are implied otherwise.
    pub fn loosen_ranks(&mut self, used: &dyn Fn(&str) -> bool, dims: &BTreeMap<String, Vec<u64>>) {
        let ranks: BTreeMap<String, usize> =
            self.tuples.iter().map(|t| (t.name.clone(), t.rank)).collect();
        if self.rng.chance(0.5) {
            self.leave_out_ranks(&ranks);
        }
        let bound = |t: &&Tuple| t.kind == Kind::Bound && t.exact.is_some() && t.rank != 1;
        let given = |t: &&Tuple| dims.contains_key(&t.name) || self.open_tuple(&t.name);
        let wide = self.tuples.iter().find(|t| bound(t) && used(&t.name) && !given(t));
        let Some(name) = wide.map(|t| t.name.clone()).filter(|_| self.rng.chance(0.7)) else {
            return self.give_a_rank(&ranks, dims);
        };
        self.widen(&name, &ranks);
    }

    /// Returns true if no bound array determines the extents of an eintup.
    fn open_tuple(&self, name: &str) -> bool {
        self.open.iter().any(|&at| self.tuples[at].name == name)
    }

    /// Omits the constraints on ranks that follow from others.
    fn leave_out_ranks(&mut self, ranks: &BTreeMap<String, usize>) {
        let program = self.program.clone();
        let mut kept: Vec<&str> = Vec::new();
        let mut left_out: Vec<&str> = Vec::new();
        for (_, x, y) in links(&program, &|name| ranks.contains_key(name)) {
            let both = self.constrains_rank(x) && self.constrains_rank(y);
            let fresh = !kept.contains(&y) && !left_out.contains(&y) && !left_out.contains(&x);
            if both && fresh && ranks[x] == ranks[y] {
                kept.push(x);
                left_out.push(y);
            }
        }
        self.program
            .constraints
            .retain(|c| c.quantity != Quantity::Rank || !left_out.contains(&&c.tuple.text[..]));
    }

    fn constrains_rank(&self, tuple: &str) -> bool {
        let own = |c: &Constraint| c.quantity == Quantity::Rank && c.tuple.text == tuple;
        self.program.constraints.iter().any(own)
    }

    /// A range for a rank.
    fn widen(&mut self, tuple: &str, ranks: &BTreeMap<String, usize>) -> bool {
        let r = ranks[tuple] as i64;
        let (lo, hi) = ((r - 1).max(0), (r + self.rng.between(0, 2) as i64).min(9));
        let own = |c: &&mut Constraint| c.quantity == Quantity::Rank && c.tuple.text == tuple;
        let Some(constraint) = self.program.constraints.iter_mut().find(own) else { return false };
        constraint.relation = Relation::In((lo, SPAN), (hi.max(lo + 1), SPAN));
        true
    }

    /// A range for a rank that is given with the program, or chosen at random.
    fn give_a_rank(&mut self, ranks: &BTreeMap<String, usize>, dims: &BTreeMap<String, Vec<u64>>) {
        if !self.rng.chance(0.15) {
            return;
        }
        let name = self.rng.pick(&self.tuples).name.clone();
        if dims.contains_key(&name) || ranks[&name] > 3 || !self.widen(&name, ranks) {
            return;
        }
        self.ranks.insert(name.clone(), ranks[&name] as u32);
    }

    fn add(&mut self, quantity: Quantity, at: usize, relation: Relation) {
        let tuple = name(&self.tuples[at].name);
        self.constrain(Constraint { quantity, tuple, relation, span: SPAN });
    }

    fn constrain_rank(&mut self, at: usize, known: &[usize]) {
        let r = self.tuples[at].rank as i64;
        // Bound arrays may determine it.
        let told = self.tuples[at].kind == Kind::Bound && self.tuples[at].exact.is_some();
        let needed = match r {
            1 => 0.25,
            _ if told => 0.9,
            _ => 0.97,
        };
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

    /// A value between `lo` and `hi`, adjusted to be between `least` and `most`.
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
            // Bound extents may be outside.
            Kind::Bound if t.exact.is_some() && self.rng.chance(0.4) => {
                Relation::In((hi + 1, SPAN), (hi + 4, SPAN))
            }
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
