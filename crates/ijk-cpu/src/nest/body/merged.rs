//! Several chains in one: what a later part reads of an earlier one is stored block by block, and is then in L1.
//!
//! Chains by themselves hold one value. A function of two computed values takes a chain for each of them; in one chain,
//! the loads of a block overlap the arithmetic of all its functions.

use super::chains::{Growing, Step};
use crate::nest::program::{Instruction, LONGEST, OUT, Over, Slot, Source};
use ijk_kernels::tile::LinkOp;
use ijk_kernels::tuning::time::CHAIN_LONG_ROW;
use ijk_types::DType;

/// Merges chains whose values a later one reads, unless an instruction in between does. `needed` is the number of
/// readers of each slot; `value` is the nest's value; tiles have rows of `row` points.
pub(super) fn merged(
    mut found: Vec<Growing>,
    instructions: &[Instruction],
    (needed, value): (&[usize], Slot),
    row: usize,
) -> Vec<Growing> {
    found.sort_by_key(Growing::last);
    let mut finished = Vec::new();
    while let Some(last) = found.pop() {
        let mut group = vec![last];
        for n in (0..found.len()).rev() {
            let part = &found[n];
            let fits = [OUT, value].iter().all(|&slot| part.dst != slot)
                && part.fits_before(&group, row)
                && !read_between(part, &found[n + 1..], &group, instructions);
            if fits {
                group.push(found.remove(n));
            }
        }
        group.reverse();
        finished.push(joined(group, needed));
    }
    finished
}

/// Returns true if an instruction that is in none of the chains of a group reads the value of a chain before the last
/// one of the group.
fn read_between(
    part: &Growing,
    others: &[Growing],
    group: &[Growing],
    instructions: &[Instruction],
) -> bool {
    let end = group.iter().map(Growing::last).max().unwrap_or_default();
    let member = |n: usize| group.iter().any(|chain| chain.members.contains(&n));
    // The members of another chain run where its last one stands.
    let runs = |n: usize| others.iter().find(|c| c.members.contains(&n)).map_or(n, Growing::last);
    let mut between = (part.last() + 1..instructions.len()).filter(|&n| !member(n));
    between.any(|n| runs(n) < end && instructions[n].sources().contains(&part.dst))
}

/// One chain of the parts of a group, in order.
fn joined(group: Vec<Growing>, needed: &[usize]) -> Growing {
    let mut parts = group.into_iter();
    let Some(mut all) = parts.next() else { unreachable!("a group has its last chain") };
    while let Some(mut part) = parts.next() {
        part.begin_with(all.dst);
        let later = parts.as_slice().iter().flat_map(|later| &later.links);
        let continues = part.links[0].begins_with(all.dst);
        let links = part.links.split_off(usize::from(continues));
        let inside = links.iter().chain(later).any(|step| step.reads(all.dst));
        if inside || needed[all.dst as usize] > 1 || !continues {
            all.links.push(Step::store(all.dst, all.dtype));
            all.stored.push(all.dst);
        }
        all.links.extend(links);
        all.members.extend(part.members);
        all.dst = part.dst;
    }
    all.members.sort_unstable();
    all
}

impl Growing {
    /// Index of its last instruction.
    pub(super) fn last(&self) -> usize {
        self.members.last().copied().unwrap_or_default()
    }

    /// Returns true if it can be computed before the chains of a group, one of which reads its value.
    fn fits_before(&self, group: &[Self], row: usize) -> bool {
        let parts = || group.iter().flat_map(|part| &part.links);
        let length = self.links.len() + parts().count() + group.len();
        group[0].dtype == self.dtype
            && length <= LONGEST
            && parts().any(|step| step.reads(self.dst))
            && (row >= CHAIN_LONG_ROW || group.iter().all(|c| c.is_by_row() == self.is_by_row()))
    }

    fn is_by_row(&self) -> bool {
        self.links.iter().flat_map(|step| &step.sources).any(|source| source.over.is_partial())
    }

    /// Exchanges the first two operands if the second one is the value of a slot.
    fn begin_with(&mut self, slot: Slot) {
        if let [start, second, ..] = &mut self.links[..]
            && start.op == LinkOp::Start
            && !second.product
            && second.sources[0].slot == slot
            && let Some(op) = second.op.exchanged()
        {
            std::mem::swap(&mut start.sources, &mut second.sources);
            second.op = op;
        }
    }
}

impl Step {
    /// Writes the value of a chain to a slot.
    fn store(slot: Slot, dtype: DType) -> Self {
        let source = Source { slot, over: Over::Points, size: dtype.size() };
        Self { op: LinkOp::Store, product: false, sources: [source; 3] }
    }

    fn begins_with(&self, slot: Slot) -> bool {
        self.op == LinkOp::Start && self.sources[0].slot == slot
    }

    /// Returns true if an operand is the value of a slot.
    fn reads(&self, slot: Slot) -> bool {
        // The operand of a unary function is a placeholder.
        !self.op.is_unary() && self.sources.iter().any(|source| source.slot == slot)
    }
}
