//! Cost and validity of a path.

use super::error::check;
use super::{Network, OrderError, Path};

/// Cost of a path, over all slices. Numbers beyond `f64` are infinite.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathCost {
    /// Sum over steps of the product of all extents, times the number of operands less one.
    pub multiplications: f64,
    /// Elements of the largest intermediate (of one slice), or of the output if that is larger.
    pub largest: f64,
    /// Elements of the results of all steps.
    pub written: f64,
}

/// Computes the cost of a path whose indices `sliced` are outer loops.
///
/// ```
/// use ijk_plan::order::{Network, OrderError, Path, cost};
/// let network = Network {
///     operands: vec![vec![0, 1], vec![1, 2]],
///     output: vec![0, 2],
///     extents: vec![5, 7, 9],
/// };
/// assert_eq!(cost(&network, &Path(vec![vec![0, 1]]), &[])?.multiplications, 315.0);
/// let wrong = cost(&network, &Path(vec![vec![0, 2]]), &[]);
/// assert_eq!(wrong, Err(OrderError::OutOfRange { step: 0, position: 2, left: 2 }));
/// # Ok::<(), OrderError>(())
/// ```
///
/// # Errors
/// [`OrderError`] if the path does not belong to the network, with the step and the reason.
pub fn cost(network: &Network, path: &Path, sliced: &[u32]) -> Result<PathCost, OrderError> {
    check(network, sliced)?;
    let mut replay = Replay::new(network, sliced);
    for (at, step) in path.0.iter().enumerate() {
        replay.step(at, step)?;
    }
    if replay.left.len() != 1 || path.0.is_empty() {
        return Err(OrderError::Unfinished { steps: path.0.len(), left: replay.left.len() });
    }
    Ok(replay.total(network, sliced))
}

/// State of a network after some steps.
struct Replay {
    /// Indices of each operand, ascending.
    left: Vec<Vec<u32>>,
    /// By index: number of operands (and outputs) that have it.
    holders: Vec<u32>,
    /// By index: its extent, 1 if it is sliced.
    extents: Vec<f64>,
    spent: PathCost,
    /// Elements of the last result.
    last: f64,
}

impl Replay {
    fn new(network: &Network, sliced: &[u32]) -> Self {
        let mut extents: Vec<f64> = network.extents.iter().map(|&e| e as f64).collect();
        sliced.iter().for_each(|&index| extents[index as usize] = 1.0);
        let mut left = network.operands.clone();
        left.iter_mut().for_each(|indices| indices.sort_unstable());
        let mut holders = vec![0; extents.len()];
        for &index in left.iter().flatten().chain(&network.output) {
            holders[index as usize] += 1;
        }
        Self { left, holders, extents, spent: PathCost::default(), last: 0.0 }
    }

    fn step(&mut self, step: usize, positions: &[usize]) -> Result<(), OrderError> {
        self.check(step, positions)?;
        let mut union = Vec::new();
        for &position in positions.iter().rev() {
            let operand = self.left.remove(position);
            operand.iter().for_each(|&index| self.holders[index as usize] -= 1);
            union.extend(operand);
        }
        union.sort_unstable();
        union.dedup();
        let points = self.elements(&union);
        // A single operand is summed without multiplications.
        if positions.len() > 1 {
            self.spent.multiplications += points * (positions.len() - 1) as f64;
        }
        union.retain(|&index| self.holders[index as usize] > 0);
        union.iter().for_each(|&index| self.holders[index as usize] += 1);
        self.spent.largest = self.spent.largest.max(self.last);
        self.last = self.elements(&union);
        self.spent.written += self.last;
        self.left.push(union);
        Ok(())
    }

    fn check(&self, step: usize, positions: &[usize]) -> Result<(), OrderError> {
        let left = self.left.len();
        if positions.is_empty() {
            return Err(OrderError::EmptyStep { step });
        }
        if let Some(pair) = positions.windows(2).find(|pair| pair[0] >= pair[1]) {
            let (before, position) = (pair[0], pair[1]);
            return Err(OrderError::NotAscending { step, before, position });
        }
        match positions.iter().find(|&&position| position >= left) {
            Some(&position) => Err(OrderError::OutOfRange { step, position, left }),
            None => Ok(()),
        }
    }

    fn elements(&self, indices: &[u32]) -> f64 {
        product(indices.iter().map(|&index| self.extents[index as usize]))
    }

    fn total(&self, network: &Network, sliced: &[u32]) -> PathCost {
        let extent = |&index: &u32| network.extents[index as usize] as f64;
        let slices = product(sliced.iter().map(extent));
        let output = product(network.output.iter().map(extent));
        // 0 slices of infinite cost are 0.
        let all = |of_one: f64| if slices == 0.0 { 0.0 } else { of_one * slices };
        PathCost {
            multiplications: all(self.spent.multiplications),
            largest: self.spent.largest.max(output),
            written: all(self.spent.written),
        }
    }
}

/// Product of extents: 0 if one of them is, even if others overflow.
fn product(extents: impl Iterator<Item = f64> + Clone) -> f64 {
    if extents.clone().any(|extent| extent == 0.0) { 0.0 } else { extents.product() }
}
