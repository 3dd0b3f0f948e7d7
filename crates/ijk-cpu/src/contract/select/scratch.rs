//! Upper bound of the scratch memory of a contraction.

use crate::contract::canonical::bundle::TensorId;
use crate::contract::canonical::problem::Problem;
use crate::contract::select::algorithm::{Algorithm, splits_k};
use crate::contract::select::blocking::Blocking;
use crate::contract::select::shared_block::SharedBlock;
use crate::runtime::scratch::Need;
use ijk_kernels::tuning::order::{
    LONG_RUN, LONGEST_BLOCK, RESIDENT_LHS_BYTES, SPLIT_K_PARTS, SPLIT_K_STEPS, STAGED_BYTES,
};

/// Upper bound for a problem and its algorithm.
pub(crate) fn need(problem: &Problem, algorithm: &Algorithm) -> Need {
    match algorithm {
        Algorithm::Small(_) | Algorithm::DotGemv(_) | Algorithm::Dot | Algorithm::Axpy => {
            Need::default()
        }
        Algorithm::Thin => of_thin(problem),
        Algorithm::Blocked(_) => of_blocked(problem),
    }
}

/// Bound for the sums of split-k.
fn of_thin(problem: &Problem) -> Need {
    let parts = if problem.k.len() >= 2 * SPLIT_K_STEPS { SPLIT_K_PARTS } else { 0 };
    let sums = parts.saturating_mul(problem.outputs() * problem.algebra.size);
    Need { shared: sums as u64, each: 0 }
}

/// Bound for panels and staged outputs.
fn of_blocked(problem: &Problem) -> Need {
    let (size, k) = (problem.algebra.size, problem.k.len());
    let blocking = Blocking::of(problem, 1);
    let (shared, width) = match blocking.shares_lhs {
        true => (problem.m.len(), blocking.mr),
        false => (problem.n.len(), blocking.nr),
    };
    let in_parts = splits_k(problem);
    let steps =
        if in_parts { k.div_ceil(SPLIT_K_PARTS).next_multiple_of(SPLIT_K_STEPS) } else { k };
    let room = SharedBlock::of(problem, &blocking, shared, steps, size);
    // Threads that share no panels each round up separately.
    let own = own_panels(problem, &blocking)
        .saturating_add(staged(problem, &blocking))
        .saturating_add(width.saturating_mul(room.most.min(steps)).saturating_mul(size));
    let panels = room.bytes as u64;
    let own = own as u64;
    if in_parts {
        let sums = k.div_ceil(steps).saturating_mul(problem.outputs()).saturating_mul(size);
        return Need { shared: sums as u64, each: panels.saturating_add(own) };
    }
    match problem.batch.len() {
        0 | 1 => Need { shared: panels, each: own },
        _ => Need { shared: 0, each: panels.saturating_add(own) },
    }
}

/// Panels that a task packs for itself.
fn own_panels(problem: &Problem, blocking: &Blocking) -> usize {
    let (steps, size) = (problem.k.len().min(LONGEST_BLOCK), problem.algebra.size);
    let (width, len) = match blocking.shares_lhs {
        true => (blocking.nr, problem.n.len()),
        false => (blocking.mr, problem.m.len()),
    };
    let whole = len.next_multiple_of(width.max(1)).saturating_mul(steps).saturating_mul(size);
    let panel = width * steps * size;
    let most =
        if blocking.shares_lhs { RESIDENT_LHS_BYTES + panel } else { blocking.group * panel };
    whole.min(most)
}

/// A part of the output that is staged in scratch memory.
fn staged(problem: &Problem, blocking: &Blocking) -> usize {
    let windows = blocking.unpacked_rhs.is_some_and(|rhs| rhs.windows);
    let whole = problem.outputs().saturating_mul(problem.algebra.size);
    match problem.m.run(TensorId::Out) < LONG_RUN || windows || problem.unit.is_some() {
        true => whole.min(2 * STAGED_BYTES),
        false => whole.min(STAGED_BYTES),
    }
}
