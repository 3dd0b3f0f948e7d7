//! Canonical form of a network for the search.

use super::Network;
use super::logs::log2;
use std::collections::HashMap;

/// A network without data that is irrelevant to the order.
///
/// Indices are renumbered by extent. Those of extent 1 (or 0, or sliced) are dropped, and so are private indices of
/// one operand, which are summed first; indices of the same operands are merged.
pub(super) struct Problem {
    /// The indices of each operand, ascending.
    pub(super) leaves: Vec<Vec<u32>>,
    /// By index: its extent.
    pub(super) extents: Vec<f64>,
    /// By index: log₂ of its extent.
    pub(super) logs: Vec<f64>,
    /// By index: true if the output has it.
    pub(super) open: Vec<bool>,
    /// By index: the merged indices of the network.
    pub(super) members: Vec<Vec<u32>>,
    /// By operand: its innermost index, unless it has private summed indices.
    pub(super) inner: Vec<Option<usize>>,
    /// By operand: true if it has private summed indices.
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
        let mut groups: HashMap<(&[u32], bool), Vec<u32>> = HashMap::new();
        for index in (0..count).filter(|&index| !gone[index] && network.extents[index] > 1) {
            groups.entry((&holders[index], open[index])).or_default().push(index as u32);
        }
        let extent = |index: &u32| network.extents[*index as usize] as f64;
        let groups = groups.into_iter().map(|((holders, open), members)| {
            (members.iter().map(extent).product::<f64>(), holders, open, members)
        });
        let mut groups: Vec<(f64, &[u32], bool, Vec<u32>)> = groups.collect();
        groups.sort_by(|x, y| x.0.total_cmp(&y.0).then((x.1, x.2).cmp(&(y.1, y.2))));
        let mut leaves = vec![Vec::new(); network.operands.len()];
        for (index, (_, holders, ..)) in groups.iter().enumerate() {
            holders.iter().for_each(|&operand| leaves[operand as usize].push(index as u32));
        }
        let inner = network.operands.iter().zip(&summed).map(|(indices, &summed)| {
            let last = indices.iter().rev().find(|&&index| network.extents[index as usize] > 1);
            let last = last.filter(|_| !summed)?;
            groups.iter().position(|group| group.3.contains(last))
        });
        let inner = inner.collect();
        Self {
            leaves,
            inner,
            extents: groups.iter().map(|group| group.0).collect(),
            logs: groups.iter().map(|group| log2(group.0)).collect(),
            open: groups.iter().map(|group| group.2).collect(),
            members: groups.into_iter().map(|group| group.3).collect(),
            summed,
        }
    }

    /// log₂ of the elements of an array with these indices.
    pub(super) fn size(&self, indices: &[u32]) -> f64 {
        indices.iter().map(|&index| self.logs[index as usize]).sum()
    }
}
