//! Reasons for the algorithm and the blocking of a contraction: the comparisons of this room in words.

mod blocked;
mod gemv;
mod small;

use crate::Level;
use crate::contract::canonical::problem::Problem;
use crate::contract::select::algorithm::{Algorithm, split_k_limit};
use crate::explain::{KernelChoice, Reason, Relation};
use ijk_kernels::tuning::order::SPLIT_K_STEPS;
use ijk_kernels::tuning::time::BATCHES_PER_THREAD;

/// The choice of an algorithm for a problem whose work is divided among `threads` threads.
pub(crate) fn explain(
    problem: &Problem,
    algorithm: &Algorithm,
    level: Level,
    threads: usize,
) -> KernelChoice {
    let choice = match algorithm {
        Algorithm::Small(small) => small::explain(problem, small),
        Algorithm::DotGemv(_) => gemv::dot_in_one_call(problem),
        Algorithm::Dot => gemv::dot(problem),
        Algorithm::Thin => gemv::thin(problem),
        Algorithm::Axpy => gemv::axpy(problem),
        Algorithm::Blocked(_) => {
            let batches = problem.batch.len() >= BATCHES_PER_THREAD * threads.max(2);
            blocked::explain(problem, level, if batches { 1 } else { threads })
        }
    };
    let choice =
        [("batch", &problem.batch), ("m", &problem.m), ("n", &problem.n), ("k", &problem.k)]
            .into_iter()
            .fold(choice, |choice, (name, bundle)| choice.extent(name, bundle.len()));
    let choice = if matches!(algorithm, Algorithm::Small(_) | Algorithm::DotGemv(_)) {
        choice
    } else {
        choice.because(split_reason(problem))
    };
    let swapped = "lhs, which fills vector lanes, is the second operand";
    choice.because(problem.swapped.then(|| Reason::plain(swapped)))
}

/// The reason for parts of a long k that are combined as a tree.
fn split_reason(problem: &Problem) -> Option<Reason> {
    split_k_limit(problem).map(|limit| {
        let (parts, outputs) = (problem.k.len() / SPLIT_K_STEPS, problem.outputs());
        let then = format!("k is cut into about {parts} parts of {SPLIT_K_STEPS} steps");
        Reason::compared(("m·n", outputs), Relation::AtMost, limit, &then)
    })
}
