//! What the search sees of a network.

use super::Network;
use super::logs::log2;
use std::collections::HashMap;

/// A network without what does not matter to the order.
///
/// Its indices are numbered anew, by extent. Those of extent 1 (or 0, or sliced) are left out, and
/// so are those of one operand alone, which are summed before anything else; indices of the same
/// operands are one.
pub(super) struct Problem {
    /// The indices of each operand, ascending.
    pub(super) leaves: Vec<Vec<u32>>,
    /// By index: the logarithm of its extent.
    pub(super) logs: Vec<f64>,
    /// By index: whether the output has it.
    pub(super) open: Vec<bool>,
    /// By operand: whether there is anything to sum before.
    pub(super) summed: Vec<bool>,
}

impl Problem {
    pub(super) fn new(network: &Network, sliced: &[u32]) -> Self {
        let count = network.extents.len();
        let mut open = vec![false; count];
        network.output.iter().for_each(|&index| open[index as usize] = true);
        let mut holders: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (operand, indices) in network.operands.iter().enumerate() {
            indices.iter().for_each(|&index| holders[index as usize].push(operand as u32));
        }
        let mut summed = vec![false; network.operands.len()];
        let mut gone = vec![false; count];
        sliced.iter().for_each(|&index| gone[index as usize] = true);
        for index in 0..count {
            if let ([operand], false) = (&holders[index][..], open[index]) {
                summed[*operand as usize] = true;
                gone[index] = true;
            }
        }
        let mut groups: HashMap<(&[u32], bool), f64> = HashMap::new();
        for index in (0..count).filter(|&index| !gone[index] && network.extents[index] > 1) {
            let group = groups.entry((&holders[index], open[index])).or_default();
            *group += log2(network.extents[index] as f64);
        }
        let mut groups: Vec<(f64, &[u32], bool)> =
            groups.into_iter().map(|((holders, open), log)| (log, holders, open)).collect();
        groups.sort_by(|x, y| x.0.total_cmp(&y.0).then((x.1, x.2).cmp(&(y.1, y.2))));
        let mut leaves = vec![Vec::new(); network.operands.len()];
        for (index, (_, holders, _)) in groups.iter().enumerate() {
            holders.iter().for_each(|&operand| leaves[operand as usize].push(index as u32));
        }
        Self {
            leaves,
            logs: groups.iter().map(|group| group.0).collect(),
            open: groups.iter().map(|group| group.2).collect(),
            summed,
        }
    }

    /// The logarithm of how many elements an array of these indices has.
    pub(super) fn size(&self, indices: &[u32]) -> f64 {
        indices.iter().map(|&index| self.logs[index as usize]).sum()
    }
}
