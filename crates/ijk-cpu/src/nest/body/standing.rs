//! Loop-invariant code motion: instructions that are invariant in one loop, or in all.

use super::super::program::{Instruction, OUT, Slot};
use super::Body;
use smallvec::SmallVec;

impl Body<'_> {
    /// A loop over blocks of outputs on which gathers depend, but not their computed offsets: with this loop innermost,
    /// the offsets are computed once.
    pub fn gathers_along(&self) -> Option<usize> {
        let geometry = self.geometry;
        let several = |&&a: &&usize| {
            !geometry.inner.contains(&a) && geometry.loops[a].axis.extent > geometry.loops[a].tile
        };
        geometry.kept.iter().filter(several).copied().find(|&a| {
            let varies = self.varies(a);
            let moves = |instruction: &Instruction| match instruction {
                Instruction::Gather { offsets, array, .. } => {
                    array.strides[a] != 0 && !varies[*offsets as usize]
                }
                Instruction::Lookup(lookup) => {
                    lookup.array.strides[a] != 0 && !varies[lookup.numbers as usize]
                }
                _ => false,
            };
            let last = self.finished.instructions.last().map(Instruction::dst);
            self.finished.instructions.iter().any(moves) && last.is_some_and(|s| varies[s as usize])
        })
    }

    /// For each slot, true if its value depends on the loop `a`.
    fn varies(&self, a: usize) -> SmallVec<[bool; 16]> {
        let mut varies = SmallVec::from_elem(false, self.slots.len());
        for load in &self.finished.loads {
            varies[load.slot as usize] = load.place.strides[a] != 0;
        }
        for instruction in &self.finished.instructions {
            let read = instruction.sources().iter().any(|&slot| varies[slot as usize]);
            let own = match instruction {
                Instruction::Map(_) | Instruction::Chain(_) | Instruction::Select { .. } => false,
                Instruction::Index { steps, .. } | Instruction::Threshold { steps, .. } => {
                    steps[a] != 0
                }
                Instruction::Gather { array, .. } => array.strides[a] != 0,
                Instruction::Lookup(lookup) => lookup.array.strides[a] != 0,
            };
            varies[instruction.dst() as usize] = read || own;
        }
        varies
    }

    /// Moves instructions of constants only to the front, except the value.
    pub(super) fn fix(&mut self, value: Slot) {
        let mut varies: SmallVec<[bool; 16]> = SmallVec::from_elem(false, self.slots.len());
        for load in &self.finished.loads {
            varies[load.slot as usize] = true;
        }
        for instruction in &self.finished.instructions {
            let read = instruction.sources().iter().any(|&slot| varies[slot as usize]);
            let constant = matches!(instruction, Instruction::Map(_)) && !read;
            let dst = instruction.dst();
            varies[dst as usize] = !constant || dst == value || dst == OUT;
        }
        if self.finished.instructions.iter().all(|own| varies[own.dst() as usize]) {
            return;
        }
        let all = std::mem::take(&mut self.finished.instructions);
        let (later, first): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|instruction| varies[instruction.dst() as usize]);
        self.finished.fixed = first.len();
        self.finished.instructions = first;
        self.finished.instructions.extend(later);
    }

    /// Moves instructions that are invariant in the loop `a` to the front.
    pub(super) fn stand(&mut self, a: usize) {
        let varies = self.varies(a);
        let all = std::mem::take(&mut self.finished.instructions);
        let (later, first): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|instruction| varies[instruction.dst() as usize]);
        self.finished.standing = first.len();
        self.finished.instructions = first;
        self.finished.instructions.extend(later);
    }
}
