//! The best tree of a few factors, by dynamic programming over all their subsets.

use super::stop::Stop;
use super::time::Step;

/// One index, as the factors see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    /// The factors that have it, a bit each.
    pub(super) holders: u32,
    pub(super) extent: f64,
    /// Whether it outlives the product of all.
    pub(super) open: bool,
}

/// Sets between two questions whether the search is to end.
const BRIEF: usize = 256;
/// Of products that cost the same, those with fewer elements are better.
const TIE: f64 = 1e-10;
/// Extents of all indices, multiplied, that leave room for the rest of the arithmetic.
const MOST_POINTS: f64 = 1e250;

/// Tables over subsets of the factors, kept from one search to the next.
#[derive(Default)]
pub(super) struct Exact {
    /// The extents of the indices that any factor of the set has, multiplied.
    touched: Vec<f64>,
    states: Vec<State>,
}

/// What is known of a set of factors.
#[derive(Clone, Copy)]
struct State {
    /// The extents of the indices that no factor outside has, multiplied; one divided by that.
    shrink: f64,
    /// What it costs to multiply the set.
    cost: f64,
    /// One of the two sets that are multiplied last.
    part: u32,
    /// The factor whose innermost index is that of the product.
    inner: Option<u32>,
}

impl Exact {
    /// Finds the best tree of some factors; gives its cost, or nothing where numbers are too large, or the
    /// search is to end.
    ///
    /// A product of more elements than `limit` costs as many times as much as it is larger; `last`
    /// is the limit of the product of all. Products are measured by time if for each factor its innermost
    /// index is given, as far as that is known.
    pub(super) fn solve(
        &mut self,
        factors: usize,
        shared: &[Shared],
        [limit, last]: [f64; 2],
        (inner, stop): (Option<&[Option<Shared>]>, &Stop<'_>),
    ) -> Option<f64> {
        if shared.iter().fold(1.0, |points, index| points * index.extent) > MOST_POINTS {
            return None;
        }
        let sets = 1usize << factors;
        self.tabulate(sets, shared);
        for factor in 0..factors {
            self.states[1 << factor].inner = Some(factor as u32);
        }
        for set in 1..sets {
            if set % BRIEF == 0 && stop.is_set() {
                return None;
            }
            if !set.is_power_of_two() {
                self.extend(set, if set == sets - 1 { last } else { limit }, inner);
            }
        }
        Some(self.states[sets - 1].cost)
    }

    /// The two sets whose products make that of a set.
    pub(super) fn parts(&self, set: u32) -> [u32; 2] {
        let part = self.states[set as usize].part;
        [part, set & !part]
    }

    fn tabulate(&mut self, sets: usize, shared: &[Shared]) {
        let one = State { shrink: 1.0, cost: 0.0, part: 0, inner: None };
        self.touched.clear();
        self.touched.resize(sets, 1.0);
        self.states.clear();
        self.states.resize(sets, one);
        for index in shared {
            self.touched[index.holders as usize] *= index.extent;
            if !index.open {
                self.states[index.holders as usize].shrink /= index.extent;
            }
        }
        // What is within each set, from what is exactly on it.
        let mut bit = 1;
        while bit < sets {
            for set in (0..sets).filter(|set| set & bit != 0) {
                self.touched[set] *= self.touched[set ^ bit];
                self.states[set].shrink *= self.states[set ^ bit].shrink;
            }
            bit <<= 1;
        }
        // What touches a set is what is not within the others.
        let all = self.touched[sets - 1];
        for set in 0..sets / 2 {
            let others = sets - 1 - set;
            let within = [self.touched[set], self.touched[others]];
            self.touched[set] = all / within[1];
            self.touched[others] = all / within[0];
        }
    }

    /// The product of two sets.
    fn step(&self, parts: [usize; 2], inner: &[Option<Shared>]) -> Step {
        let set = parts[0] | parts[1];
        let [a, b] = parts.map(|part| &self.states[part]);
        let elements = |set: usize| self.touched[set] * self.states[set].shrink;
        let ends = |state: &State| {
            let index = state.inner.and_then(|factor| inner[factor as usize]);
            index.is_some_and(|index| !index.open && index.holders as usize & !set == 0)
        };
        Step {
            points: self.touched[set] * (a.shrink * b.shrink),
            factors: parts.map(elements),
            product: elements(set),
            along: [a, b].map(ends),
        }
    }

    /// Finds the best two parts of a set, all smaller sets being known.
    fn extend(&mut self, set: usize, limit: f64, inner: Option<&[Option<Shared>]>) {
        let touched = self.touched[set];
        let elements = touched * self.states[set].shrink;
        let larger = (elements / limit).max(1.0);
        let points = touched * larger;
        let rest = set & (set - 1);
        let (mut best, mut part, mut q) = (f64::INFINITY, 0, rest);
        while q > 0 {
            let (a, b) = (&self.states[set ^ q], &self.states[q]);
            let mut cost = points * (a.shrink * b.shrink) + (a.cost + b.cost);
            // What is more than multiplications is asked only where it may decide.
            if let (true, Some(inner)) = (cost < best, inner) {
                cost = larger * self.step([set ^ q, q], inner).time() + (a.cost + b.cost);
            }
            if cost < best {
                (best, part) = (cost, q);
            }
            q = (q - 1) & rest;
        }
        let innermost = inner.and_then(|inner| {
            let parts = [set ^ part, part];
            let longer = self.step(parts, inner).lies_as()?;
            self.states[parts[longer]].inner
        });
        let state = &mut self.states[set];
        state.inner = innermost;
        state.cost = best + elements * TIE;
        state.part = part as u32;
    }
}
