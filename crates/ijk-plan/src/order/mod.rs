//! In which order a product of many tensors is multiplied.
//!
//! Multiplying tensors two at a time, and summing every index as soon as nobody else has it, takes
//! orders of magnitude fewer multiplications than the sum as it is written, if the order is good.
//! [`order()`] searches for one: a pure function of the network and the options, unless a time is
//! asked for. [`cost()`] tells what a path costs, also one that somebody else found.
//!
//! How it searches, each in its own file:
//!
//! 1. *problem* forgets what does not matter: extents of 1, indices that always come together;
//! 2. *greedy* multiplies the pair that looks best, again and again;
//! 3. *exact* finds the best tree of few operands, by dynamic programming over their subsets;
//! 4. *anneal* improves the tree of many by rotations, and *reshape* part by part with *exact*;
//! 5. *slice* chooses indices to loop over outside where intermediates are too large;
//! 6. *path* writes the tree as steps over a list of operands.
//!
//! Orders of few operands are compared by *time*, where that is wanted: a product that only moves memory
//! has few multiplications.
//!
//! *search* says in which order, *budget* for how long.

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
    /// The indices of each operand, each at most once.
    pub operands: Vec<Vec<u32>>,
    /// The indices of the output, each at most once; every one is an index of some operand.
    pub output: Vec<u32>,
    /// The extent of each index.
    pub extents: Vec<u64>,
}

/// An order of contraction, in opt_einsum's linear format.
///
/// Every step takes operands out of the list (their positions ascending; one, two or more of them)
/// and appends their product, summed over the indices that neither the output nor any operand of
/// the list has any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(pub Vec<Vec<usize>>);

/// How long to search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// One greedy pass.
    Greedy,
    /// As long as it seems worth, given what the contraction costs.
    #[default]
    Normal,
    /// Long, for contractions that run for minutes or many times.
    High,
    /// So many candidates, each of the order of 0.05 µs.
    Steps(u64),
}

/// By what orders are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// Multiplications.
    #[default]
    Multiplications,
    /// The time that multiplications and what they read and write take, estimated by fixed numbers; of many
    /// operands, multiplications.
    Time,
}

/// What to search for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// By what to compare.
    pub measure: Measure,
    /// How long to search.
    pub effort: Effort,
    /// Search for so long instead. What is found then depends on the machine and its load.
    pub time: Option<Duration>,
    /// How many elements an intermediate may have; indices are sliced until none has more. The
    /// output and the operands are as large as they are.
    pub most_elements: Option<u64>,
    /// Where random choices start.
    pub seed: u64,
}

/// An order of contraction, and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The steps.
    pub path: Path,
    /// Indices looped over outside: the steps see extent 1 there, and the outputs of all rounds
    /// are added (or put side by side, for an index of the output).
    pub sliced: Vec<u32>,
    /// What it costs in all.
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
/// [`OrderError`] if the network is none.
pub fn order(network: &Network, options: &Options) -> Result<Order, OrderError> {
    order_until(network, options, &|| false)
}

/// The same, unless `stop` says that the order is not wanted any more: it is asked every 20 ms or so.
///
/// # Errors
/// As for [`order`]; [`OrderError::Interrupted`] once `stop` says so.
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
