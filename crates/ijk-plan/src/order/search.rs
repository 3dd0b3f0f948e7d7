//! Search strategy.

use super::anneal::{Schedule, anneal};
use super::budget::Budget;
use super::greedy::greedy;
use super::logs::exp2;
use super::measured::{Measured, Weights};
use super::problem::Problem;
use super::random::Random;
use super::reshape::{self, reshape};
use super::stop::Stop;
use super::tree::Tree;
use super::{Effort, Measure, Network, Options, slice};

/// Rotations per product of the first annealing run; each following run is twice as long.
const FIRST_RUN: u64 = 32;
/// Greatest number of factors for exact search, limited by its tables of subsets.
const MAX_EXACT: usize = 16;
/// Greatest number of factors that are ordered by time.
const MAX_TIMED: usize = 8;
/// Factors of the subtrees that are optimised exactly, before and after annealing.
const PARTS: [usize; 2] = [6, 8];
/// Final temperature of every annealing run.
const COLD: f64 = 0.06;

/// Finds a tree, and indices to slice. If stopped, returns `None` or an unfinished result.
pub(super) fn search(
    network: &Network,
    options: &Options,
    stop: &Stop<'_>,
) -> Option<(Tree, Vec<u32>)> {
    let problem = Problem::new(network, &[]);
    let mut search = Search::new(options, problem.leaves.len(), stop);
    let timed = options.measure == Measure::Time && search.is_timed(problem.leaves.len());
    let weights = Weights::new(&problem, options.most_elements).timed(timed);
    let (tree, is_best) = search.start(&problem, &weights)?;
    Some(match options.most_elements {
        Some(limit) if !slice::fits(&problem, &tree, limit) => {
            slice::slice(network, tree.tree, limit, &mut search)
        }
        _ if is_best => (tree.tree, Vec::new()),
        _ => (search.improve(tree, 1.0, 1.0).tree, Vec::new()),
    })
}

/// State of a search.
pub(super) struct Search<'s> {
    budget: Budget<'s>,
    random: Random,
    /// True if only the greedy tree is wanted.
    greedy: bool,
}

impl<'s> Search<'s> {
    fn new(options: &Options, operands: usize, stop: &'s Stop<'s>) -> Self {
        Self {
            budget: Budget::new(options, operands, stop),
            random: Random::new(options.seed),
            greedy: options.effort == Effort::Greedy && options.time.is_none(),
        }
    }

    /// Tells whether products of `factors` factors are ordered by time: only if all orders can be searched.
    fn is_timed(&self, factors: usize) -> bool {
        let exact = reshape::candidates(factors);
        !self.greedy && factors <= MAX_TIMED && exact <= self.budget.left(0.0)
    }

    /// The stop flag.
    pub(super) fn stop(&self) -> &'s Stop<'s> {
        self.budget.stop()
    }

    /// Initial tree, and true if it is optimal; `None` if the search is stopped.
    fn start<'a>(
        &mut self,
        problem: &Problem,
        weights: &'a Weights,
    ) -> Option<(Measured<'a>, bool)> {
        let leaves = problem.leaves.len();
        let mut best = Measured::new(weights, greedy(problem, self.budget.stop())?);
        if self.greedy || leaves < 3 {
            return Some((best, leaves < 3));
        }
        let exact = reshape::candidates(leaves);
        if leaves <= MAX_EXACT && exact <= self.budget.left(best.total()) {
            reshape::replace(&mut best, self.budget.stop());
            self.budget.spend(exact);
            return Some((best, true));
        }
        Some((best, false))
    }

    /// Improves a tree with a share of the budget: annealing from the best known tree, twice as long each time,
    /// followed by exact optimisation of subtrees. The tree is that of one of `slices` slices.
    pub(super) fn improve<'a>(
        &mut self,
        mut best: Measured<'a>,
        share: f64,
        slices: f64,
    ) -> Measured<'a> {
        let products = best.costs.len() as u64;
        if self.greedy || products < 2 {
            return best;
        }
        let kept_back = (self.budget.left(best.total() * slices) as f64 * (1.0 - share)) as u64;
        let left = |budget: &Budget<'_>, tree: &Measured| {
            budget.left(tree.total() * slices).saturating_sub(kept_back)
        };
        let of_one = 1 + best.weights.words as u64 / 4;
        let all = left(&self.budget, &best);
        let stop = self.budget.stop();
        self.budget.spend(reshape(&mut best, PARTS[0], all, stop));
        let mut steps = FIRST_RUN * products;
        loop {
            let left = left(&self.budget, &best);
            if left < products {
                return best;
            }
            steps = steps.min(left / of_one).max(1);
            let hot = exp2(3.0 * self.random.unit() - 2.0);
            let schedule = Schedule { steps, hot, cold: COLD };
            let mut tree = anneal(best.clone(), schedule, &mut self.random, stop);
            self.budget.spend(steps * of_one);
            self.budget.spend(reshape(&mut tree, PARTS[1], left, stop));
            if tree.total() < best.total() {
                best = tree;
            }
            steps *= 2;
        }
    }
}
