//! Contraction order: the order in which many tensors are multiplied pairwise.
//!
//! Multiplying tensors two at a time, and summing each index after its last use, takes orders of magnitude fewer
//! multiplications than the sum as written, if the order is good. [`order()`] searches for one; it is a pure function
//! of the network and the options unless a time limit is set. [`cost()`] returns the cost of any path, also of one
//! found elsewhere.
//!
//! Stages of the search, each in its own file:
//!
//! 1. *problem* drops what is irrelevant to the order: extents of 1, and all but one of indices that occur together;
//! 2. *greedy* multiplies the most promising pair, repeatedly;
//! 3. *exact* finds the optimal tree of few operands, by dynamic programming over subsets;
//! 4. *anneal* improves the tree of many operands by rotations, and *reshape* improves its subtrees with *exact*;
//! 5. *slice* chooses indices that become outer loops if intermediates are too large;
//! 6. *path* writes the tree as steps over a list of operands.
//!
//! Orders of few operands may be compared by *time*: a product bound by memory has few multiplications.
//!
//! search* is the strategy, *budget* its limit.

mod anneal;
mod budget;
mod cost;
mod error;
mod exact;
mod greedy;
mod logs;
mod measured;
mod path;
mod problem;
mod random;
mod reshape;
mod search;
mod slice;
mod stop;
mod time;
mod tree;

use problem::Problem;
use std::time::Duration;

pub use cost::{PathCost, cost};
pub use error::OrderError;

/// A product of tensors, summed over the indices that the output lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Indices of each operand, each at most once.
    pub operands: Vec<Vec<u32>>,
    /// Indices of the output, each at most once, and each an index of some operand.
    pub output: Vec<u32>,
    /// Extent of each index.
    pub extents: Vec<u64>,
}

/// An order of contraction, in opt_einsum's linear format.
///
/// Every step removes one or more operands from the list (positions ascending) and appends their product, summed over
/// the indices that neither the output nor a remaining operand has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(pub Vec<Vec<usize>>);

/// Effort of the search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// One greedy pass.
    Greedy,
    /// In proportion to the cost of the contraction.
    #[default]
    Normal,
    /// Long, for contractions that run for minutes or many times.
    High,
    /// A fixed number of candidates.
    Steps(u64),
}

/// Objective of the search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// Multiplications.
    #[default]
    Multiplications,
    /// Estimated time of multiplications and memory traffic, by fixed rates; for many operands, multiplications.
    Time,
}

/// Options of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Objective.
    pub measure: Measure,
    /// Effort of the search.
    pub effort: Effort,
    /// Time limit in place of the effort. The result then depends on the machine and its load.
    pub time: Option<Duration>,
    /// Limit of elements of an intermediate; indices are sliced until it holds. Operands and the output are exempt.
    pub most_elements: Option<u64>,
    /// Seed of the random choices.
    pub seed: u64,
}

/// An order of contraction, and its cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The steps.
    pub path: Path,
    /// Indices that are outer loops: the steps have extent 1 there, and the outputs of all iterations are added (or
    /// concatenated, for an index of the output).
    pub sliced: Vec<u32>,
    /// Total cost.
    pub cost: PathCost,
}

/// Searches for a good order of contraction.
///
/// ```
/// use ijk_plan::order::{Network, Options, order};
/// // (2×100) · (100×100) · (100×3): from the left
/// let network = Network {
///     operands: vec![vec![0, 1], vec![1, 2], vec![2, 3]],
///     output: vec![0, 3],
///     extents: vec![2, 100, 100, 3],
/// };
/// let order = order(&network, &Options::default())?;
/// assert_eq!(order.path.0, [[0, 1], [0, 1]]);
/// assert_eq!(order.cost.multiplications, 2e4 + 600.0);
/// # Ok::<(), ijk_plan::order::OrderError>(())
/// ```
///
/// # Errors
/// [`OrderError`] if the network is invalid.
pub fn order(network: &Network, options: &Options) -> Result<Order, OrderError> {
    order_until(network, options, &|| false)
}

/// Like [`order`], until `stop` returns true; it is polled about every 20 ms.
///
/// # Errors
/// As for [`order`]; [`OrderError::Interrupted`] if `stop` returned true.
pub fn order_until(
    network: &Network,
    options: &Options,
    stop: &dyn Fn() -> bool,
) -> Result<Order, OrderError> {
    error::check(network, &[])?;
    if options.most_elements == Some(0) {
        return Err(OrderError::NoElements);
    }
    let stop = stop::Stop::new(stop);
    let found = search::search(network, options, &stop).filter(|_| !stop.is_set());
    let (tree, sliced) = found.ok_or(OrderError::Interrupted)?;
    let path = path::path(&Problem::new(network, &sliced), &tree);
    let cost = cost(network, &path, &sliced)?;
    Ok(Order { path, sliced, cost })
}
