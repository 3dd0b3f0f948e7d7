//! Errors of networks and paths.

use super::Network;
use thiserror::Error;

/// Reason for which a network or a path is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OrderError {
    /// There is nothing to multiply.
    #[error("a product needs at least one operand")]
    NoOperands,
    /// An index has no extent.
    #[error("operand {operand} has index {index}, but only {extents} indices have an extent")]
    NoExtent {
        /// The operand.
        operand: usize,
        /// Its index.
        index: u32,
        /// Number of extents.
        extents: usize,
    },
    /// An operand has an index twice.
    #[error("operand {operand} has index {index} twice")]
    Repeated {
        /// The operand.
        operand: usize,
        /// Its index.
        index: u32,
    },
    /// The output has an index twice.
    #[error("the output has index {0} twice")]
    RepeatedOutput(u32),
    /// The output has an index that no operand has.
    #[error("the output has index {0}, which no operand has")]
    OutputOnly(u32),
    /// A sliced index is none of the network, or listed twice.
    #[error("index {0} cannot be sliced: no operand has it, or it is sliced already")]
    Sliced(u32),
    /// The search was cancelled.
    #[error("interrupted")]
    Interrupted,
    /// The limit allows no intermediate at all.
    #[error("intermediates of at most 0 elements: there are none so small")]
    NoElements,
    /// A step has no operand.
    #[error("step {step} of the path takes no operand")]
    EmptyStep {
        /// The step.
        step: usize,
    },
    /// A step takes an operand beyond the end of the list.
    #[error("step {step} of the path takes operand {position}, but only {left} are left then")]
    OutOfRange {
        /// The step.
        step: usize,
        /// The position.
        position: usize,
        /// Operands left at that step.
        left: usize,
    },
    /// The positions of a step do not ascend.
    #[error(
        "step {step} of the path takes operand {position} after operand {before}: positions ascend"
    )]
    NotAscending {
        /// The step.
        step: usize,
        /// The position before.
        before: usize,
        /// The position.
        position: usize,
    },
    /// A path ends with more than one operand left.
    #[error("after the {steps} steps of the path {left} operands are left, not one result")]
    Unfinished {
        /// Number of steps of the path.
        steps: usize,
        /// Number of operands left.
        left: usize,
    },
}

/// Checks a network and indices that are to be sliced.
pub(super) fn check(network: &Network, sliced: &[u32]) -> Result<(), OrderError> {
    if network.operands.is_empty() {
        return Err(OrderError::NoOperands);
    }
    let extents = network.extents.len();
    // By index: the last operand that has it, counted from 1.
    let mut seen = vec![0; extents];
    for (operand, indices) in network.operands.iter().enumerate() {
        for &index in indices {
            match seen.get_mut(index as usize) {
                None => return Err(OrderError::NoExtent { operand, index, extents }),
                Some(last) if *last > operand => {
                    return Err(OrderError::Repeated { operand, index });
                }
                Some(last) => *last = operand + 1,
            }
        }
    }
    once(&seen, &network.output, OrderError::OutputOnly, OrderError::RepeatedOutput)?;
    once(&seen, sliced, OrderError::Sliced, OrderError::Sliced)
}

/// Checks that a list has indices that were seen, each at most once.
fn once(
    seen: &[usize],
    list: &[u32],
    unseen: fn(u32) -> OrderError,
    twice: fn(u32) -> OrderError,
) -> Result<(), OrderError> {
    let mut listed = vec![false; seen.len()];
    for &index in list {
        match seen.get(index as usize) {
            None | Some(0) => return Err(unseen(index)),
            Some(_) if listed[index as usize] => return Err(twice(index)),
            Some(_) => listed[index as usize] = true,
        }
    }
    Ok(())
}
