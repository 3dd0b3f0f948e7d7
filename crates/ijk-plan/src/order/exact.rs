//! The optimal tree of a few factors, by dynamic programming over subsets.

use super::stop::Stop;
use super::time::PairProduct;

/// An index, and the factors that have it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    /// Set of the factors that have it, one bit each.
    pub(super) holders: u32,
    pub(super) extent: f64,
    /// True if it is an index of the whole product.
    pub(super) open: bool,
}

/// Subsets between two polls of the stop flag.
const BRIEF: usize = 256;
/// Weight of a product's elements, which breaks ties between equal costs.
const TIE: f64 = 1e-10;
/// Greatest product of all extents that leaves headroom for further arithmetic.
const MAX_POINTS: f64 = 1e250;

/// Tables over subsets of the factors, kept from one search to the next.
#[derive(Default)]
pub(super) struct Exact {
    /// By set: product of the extents of all indices that some factor of the set has.
    touched: Vec<f64>,
    states: Vec<State>,
}

/// Best product of a set of factors.
#[derive(Clone, Copy)]
struct State {
    /// Reciprocal of the product of extents of indices that no factor outside of the set has.
    shrink: f64,
    /// Cost of the product of the set.
    cost: f64,
    /// One of the two subsets that are multiplied last.
    part: u32,
    /// The factor whose innermost index is also innermost in the product.
    inner: Option<u32>,
}

impl Exact {
    /// Finds the optimal tree; returns its cost, or `None` if numbers overflow or the search is stopped.
    ///
    /// The cost of a product above `limit` elements is multiplied by the excess ratio; `last` is the limit of the
    /// whole product. If `inner` gives the known innermost index of each factor, the cost is an estimated time.
    pub(super) fn solve(
        &mut self,
        factors: usize,
        shared: &[Shared],
        [limit, last]: [f64; 2],
        (inner, stop): (Option<&[Option<Shared>]>, &Stop<'_>),
    ) -> Option<f64> {
        if shared.iter().fold(1.0, |points, index| points * index.extent) > MAX_POINTS {
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

    /// The two subsets whose products are multiplied last for a set.
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
        // Sums over subsets: from indices held by exactly a set to those held within it.
        let mut bit = 1;
        while bit < sets {
            for set in (0..sets).filter(|set| set & bit != 0) {
                self.touched[set] *= self.touched[set ^ bit];
                self.states[set].shrink *= self.states[set ^ bit].shrink;
            }
            bit <<= 1;
        }
        // The indices that touch a set are those not within its complement.
        let all = self.touched[sets - 1];
        for set in 0..sets / 2 {
            let others = sets - 1 - set;
            let within = [self.touched[set], self.touched[others]];
            self.touched[set] = all / within[1];
            self.touched[others] = all / within[0];
        }
    }

    /// The pairwise product of two sets.
    fn step(&self, parts: [usize; 2], inner: &[Option<Shared>]) -> PairProduct {
        let set = parts[0] | parts[1];
        let [a, b] = parts.map(|part| &self.states[part]);
        let elements = |set: usize| self.touched[set] * self.states[set].shrink;
        let ends = |state: &State| {
            let index = state.inner.and_then(|factor| inner[factor as usize]);
            index.is_some_and(|index| !index.open && index.holders as usize & !set == 0)
        };
        PairProduct {
            points: self.touched[set] * (a.shrink * b.shrink),
            factors: parts.map(elements),
            product: elements(set),
            along: [a, b].map(ends),
        }
    }

    /// Finds the best split of a set, given all smaller sets.
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
            // The estimate of time is at least the multiplications, so it is computed only if these are below the
            // best.
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
