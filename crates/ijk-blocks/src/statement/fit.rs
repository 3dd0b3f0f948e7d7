//! Compatible blocks of operands that may be re-cut.

use super::AxisUse;
use crate::store::{block_bytes, common_multiple};
use crate::types::compatible;
use crate::{BigTensor, Error, Type};

/// Blocks of an operand are enlarged up to this fraction of the bytes that may be cached.
const SHARE: u64 = 8;

/// Axes of operands that get other blocks.
pub(super) struct Fit {
    operands: Vec<BigTensor>,
    /// Their new blocks.
    blocks: Vec<Vec<Option<usize>>>,
}

impl Fit {
    pub(super) fn new(operands: impl IntoIterator<Item = BigTensor>) -> Self {
        let operands: Vec<BigTensor> = operands.into_iter().collect();
        let blocks = operands.iter().map(|operand| operand.ty().blocks.clone()).collect();
        Self { operands, blocks }
    }

    /// Makes an axis whole, if the operand may be re-cut.
    pub(super) fn whole(&mut self, operand: usize, axis: usize) {
        if self.operands[operand].term.recuts.is_some() {
            self.blocks[operand][axis] = None;
        }
    }

    /// Gives the axes of an index blocks that are compatible, as far as operands may be re-cut.
    pub(super) fn index(&mut self, places: &[AxisUse]) {
        let block = |place: &AxisUse| self.blocks[place.operand][place.axis];
        let may = |place: &&AxisUse| self.operands[place.operand].term.recuts.is_some();
        let common =
            |found: Option<Option<usize>>, place: &AxisUse| compatible(found?, block(place));
        if places.iter().fold(Some(None), common).is_some() {
            return;
        }
        let fixed = places.iter().filter(|place| !may(place)).find_map(block);
        let target = fixed.map_or_else(|| self.best(places), Some);
        for place in places.iter().filter(may) {
            let block = &mut self.blocks[place.operand][place.axis];
            if compatible(*block, target).is_none() || target.is_none() {
                *block = target;
            }
        }
    }

    /// The block of an index whose operands may all be re-cut. A common multiple of the blocks cuts no stored block
    /// apart. If it is much larger than these, the greatest block of moderate size is taken instead.
    fn best(&self, places: &[AxisUse]) -> Option<usize> {
        let met = places.iter().filter_map(|place| self.blocks[place.operand][place.axis]);
        let mut blocks: Vec<usize> = met.collect();
        blocks.sort_unstable();
        blocks.dedup();
        let most = *blocks.last()?;
        let all = blocks.iter().copied().fold(1, common_multiple);
        let extent = |place: &AxisUse| self.operands[place.operand].dims()[place.axis];
        let whole = places.iter().map(extent).max().unwrap_or_default();
        let multiple = Some(all.min(whole)).filter(|&multiple| multiple <= most.saturating_mul(2));
        let candidates = multiple.into_iter().chain(blocks.iter().rev().copied());
        let best = candidates.into_iter().find(|&block| self.is_moderate(places, block));
        let best = best.or(blocks.first().copied());
        best.filter(|&block| block < whole)
    }

    /// Returns true if the blocks of all operands stay within the limit of bytes, for that block of an index.
    fn is_moderate(&self, places: &[AxisUse], block: usize) -> bool {
        let bytes = |operand: usize, blocks: &[Option<usize>]| {
            let ty = self.operands[operand].ty();
            let ty = Type { blocks: blocks.into(), ..ty.clone() };
            block_bytes(&ty, &vec![0; ty.rank()])
        };
        let keep = |operand: &BigTensor| operand.term.recuts;
        let share = self.operands.iter().filter_map(keep).max().unwrap_or_default() / SHARE;
        let own = places.iter().map(|place| bytes(place.operand, &self.blocks[place.operand]));
        let most = own.max().unwrap_or_default().max(share);
        places.iter().all(|place| {
            let mut blocks = self.blocks[place.operand].clone();
            blocks[place.axis] = Some(block);
            bytes(place.operand, &blocks) <= most
        })
    }

    /// The operands in their blocks.
    pub(super) fn operands(self) -> Result<Vec<BigTensor>, Error> {
        let operands = self.operands.into_iter().zip(self.blocks);
        let fitted = operands.map(|(operand, blocks)| match operand.ty().blocks == blocks {
            true => Ok(operand),
            false => operand.recut(&blocks),
        });
        fitted.collect()
    }
}
