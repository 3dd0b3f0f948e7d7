//! What can be wrong with a network or a path.

use super::Network;
use thiserror::Error;

/// What is wrong with a network or a path.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OrderError {
    /// There is nothing to multiply.
    #[error("a product needs at least one operand")]
    NoOperands,
    /// An index has no extent.
    #[error("operand {operand} has index {index}, but only {extents} indices have an extent")]
    NoExtent {
        /// Which operand.
        operand: usize,
        /// Its index.
        index: u32,
        /// How many extents there are.
        extents: usize,
    },
    /// An operand has an index twice.
    #[error("operand {operand} has index {index} twice")]
    Repeated {
        /// Which operand.
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
    /// Nobody wants the order any more.
    #[error("interrupted")]
    Interrupted,
    /// No intermediate fits.
    #[error("intermediates of at most 0 elements: there are none so small")]
    NoElements,
    /// A step takes nothing.
    #[error("step {step} of the path takes no operand")]
    EmptyStep {
        /// Which step.
        step: usize,
    },
    /// A step takes an operand that is not there.
    #[error("step {step} of the path takes operand {position}, but only {left} are left then")]
    OutOfRange {
        /// Which step.
        step: usize,
        /// The position.
        position: usize,
        /// The operands at that time.
        left: usize,
    },
    /// The positions of a step do not ascend.
    #[error(
        "step {step} of the path takes operand {position} after operand {before}: positions ascend"
    )]
    NotAscending {
        /// Which step.
        step: usize,
        /// The position before.
        before: usize,
        /// The position.
        position: usize,
    },
    /// A path stops before there is one result.
    #[error("after the {steps} steps of the path {left} operands are left, not one result")]
    Unfinished {
        /// How many steps the path has.
        steps: usize,
        /// How many operands are left.
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
