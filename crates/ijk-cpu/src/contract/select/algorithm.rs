//! Selection of the algorithm: the first candidate that takes a problem executes it.

use super::gemv::{DotGemv, is_axpy, is_dot, is_thin};
use super::prepared_block::PreparedBlock;
use super::rows::in_units;
use super::small::SmallGemm;
use crate::Level;
use crate::contract::canonical::problem::Problem;
use crate::explain::limit;
use ijk_kernels::tuning::order::{
    SPLIT_K_BATCHED_STEPS, SPLIT_K_OUTPUTS, SPLIT_K_STEPS, SPLIT_LONG_K_OUTPUTS, SPLIT_LONG_K_STEPS,
};

/// Algorithm of a batch. It is matched once for each batch, or for a range of batches that are one call each: small
/// batches take less time than an allocation or a virtual call.
#[derive(Clone, Debug)]
pub(crate) enum Algorithm {
    /// One call of a microkernel for all of a small matrix, or for each of several parts.
    Small(SmallGemm),
    /// gemv, by one call of a microkernel.
    DotGemv(DotGemv),
    /// Dot products, with k in the lanes: few columns and contiguous k.
    Dot,
    /// All sums in registers: few rows and columns, long k.
    Thin,
    /// Each step adds a scaled row to sums in L1: few columns, contiguous rows out of cache.
    Axpy,
    /// Blocked loops; with a prepared block, one block on one thread.
    Blocked(Option<Box<PreparedBlock>>),
}

/// A candidate: the algorithm, if it takes the problem.
type Candidate = fn(&Problem, Level) -> Option<Algorithm>;

/// Candidates that read operands in place and allocate nothing. A row by a column has k in the lanes; small matrices
/// would fill one lane with the row.
const IN_PLACE: &[Candidate] = &[
    |problem, _| {
        let one = problem.outputs() == 1;
        one.then(|| DotGemv::of(problem)).flatten().map(Algorithm::DotGemv)
    },
    |problem, level| SmallGemm::of(problem, level).map(Algorithm::Small),
    |problem, _| DotGemv::of(problem).map(Algorithm::DotGemv),
];

/// Candidates for all other problems, whose rows are ordered [in units](in_units) first.
const IN_LOOPS: &[Candidate] = &[
    |problem, _| is_dot(problem).then_some(Algorithm::Dot),
    |problem, _| is_thin(problem).then_some(Algorithm::Thin),
    |problem, _| is_axpy(problem).then_some(Algorithm::Axpy),
    |problem, level| Some(Algorithm::Blocked(PreparedBlock::of(problem, level).map(Box::new))),
];

impl Algorithm {
    /// Its name, as a compiled plan shows it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Small(_) => "contraction: small",
            Self::DotGemv(_) => "contraction: dot products, one call",
            Self::Dot => "contraction: dot products",
            Self::Thin => "contraction: sums in registers",
            Self::Axpy => "contraction: axpy",
            Self::Blocked(_) => "contraction: blocked",
        }
    }

    /// The algorithm of a problem, and the problem in the order of rows that it takes.
    pub(crate) fn of(problem: Problem, level: Level) -> (Problem, Self) {
        let first = |problem: &Problem, candidates: &[Candidate]| {
            candidates.iter().find_map(|takes| takes(problem, level))
        };
        if let Some(algorithm) = first(&problem, IN_PLACE) {
            return (problem, algorithm);
        }
        let problem = in_units(problem);
        let algorithm = first(&problem, IN_LOOPS).unwrap_or(Self::Blocked(None));
        (problem, algorithm)
    }
}

/// Returns true if k is split into fixed parts that are combined as a tree: few outputs, long k.
pub(crate) fn splits_k(problem: &Problem) -> bool {
    split_k_limit(problem).is_some()
}

/// The limit of outputs within which k is split, if it is. Batches are divided among threads as they are.
pub(crate) fn split_k_limit(problem: &Problem) -> Option<(&'static str, usize)> {
    let [least, long] = match problem.batch.len() {
        ..=1 => [2 * SPLIT_K_STEPS, SPLIT_LONG_K_STEPS],
        _ => [SPLIT_K_BATCHED_STEPS, usize::MAX],
    };
    let limits = [(limit!(SPLIT_K_OUTPUTS), least), (limit!(SPLIT_LONG_K_OUTPUTS), long)];
    let fits = |&((_, outputs), steps): &((&str, usize), usize)| {
        problem.outputs() <= outputs && problem.k.len() >= steps
    };
    limits.into_iter().find(fits).map(|(limit, _)| limit)
}
