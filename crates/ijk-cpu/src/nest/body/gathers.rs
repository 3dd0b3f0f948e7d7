//! Offsets of elements at computed places, and gathers.

use super::{Body, Operand};
use crate::error::Fault;
use crate::nest::lower::place;
use crate::nest::program::{Instruction, Over, Slot};
use ijk_kernels::tile::{self, moves};
use ijk_kernels::tuning::time::{CHEAP_FUNCTION, GATHERED_POINT};
use ijk_plan::plan::{Base, Node, NodeId};
use ijk_types::{BinaryOp, DType};

impl Body<'_> {
    /// Values of an affine index.
    pub(super) fn index(&mut self, constant: i64, steps: Vec<i64>) -> Result<Operand, Fault> {
        let inner: Vec<i64> = self.geometry.inner.iter().map(|&a| steps[a]).collect();
        let over = if inner.iter().all(|&s| s == 0) { Over::One } else { Over::Points };
        let dst = self.register(DType::I64, over)?;
        let iota = tile::iota(self.lowering.level);
        self.push(Instruction::Index { dst, constant, steps, inner, iota, over });
        self.finished.nanoseconds += if over == Over::Points { CHEAP_FUNCTION } else { 0.0 };
        Ok(Operand { slot: dst, dtype: DType::I64, over })
    }

    /// Strides along each loop of a node that computes an index or a position.
    pub(super) fn steps_of(&self, n: usize) -> Vec<i64> {
        let which = self.index_of(n);
        self.geometry.loops.iter().map(|l| l.axis.indices[which]).collect()
    }

    /// Number of a node among those that compute an index or a position.
    pub(super) fn index_of(&self, n: usize) -> usize {
        self.lowering.nest.body[..n].iter().filter(|n| is_index(n)).count()
    }

    /// Offsets of elements along loops: affine strides plus computed offsets.
    pub(super) fn offsets(&mut self, steps: Vec<i64>, computed: Operand) -> Result<Operand, Fault> {
        if steps.iter().all(|&step| step == 0) {
            return Ok(computed);
        }
        let affine = self.index(0, steps)?;
        self.binary(BinaryOp::Add, affine, computed)
    }

    /// The slot of the offsets of a gather.
    pub fn gather_offsets(&mut self, id: NodeId, offset: NodeId) -> Result<Slot, Fault> {
        let computed = self.operand(offset)?;
        let offsets = self.offsets(self.steps_of(id.0 as usize), computed)?;
        self.whole_slot(offsets)
    }

    /// The slot of computed offsets, without strides.
    pub fn computed_offsets(&mut self, offset: NodeId) -> Result<Slot, Fault> {
        let computed = self.operand(offset)?;
        self.whole_slot(computed)
    }

    /// The slot of the offsets of a load.
    pub fn load_offsets(&mut self, n: usize) -> Result<Slot, Fault> {
        let steps = self.geometry.loops.iter().map(|l| l.axis.loads[n] as i64).collect();
        let offsets = self.index(0, steps)?;
        self.whole_slot(offsets)
    }

    /// The slot of a node, with one element for each point of a tile.
    pub fn whole_node(&mut self, id: NodeId) -> Result<Slot, Fault> {
        let operand = self.operand(id)?;
        self.whole_slot(operand)
    }

    /// Elements at computed offsets.
    pub(super) fn gather(
        &mut self,
        n: usize,
        base: Base,
        dtype: DType,
        offset: NodeId,
    ) -> Result<Operand, Fault> {
        let computed = self.known(offset)?;
        let mut array = place(self.lowering, self.geometry, base, |_| 0);
        // Strides of outer loops are part of the array's place, so that offsets are invariant in them.
        let mut steps = self.steps_of(n);
        for a in (0..steps.len()).filter(|a| !self.geometry.inner.contains(a)) {
            let step = std::mem::take(&mut steps[a]) as isize;
            array.strides[a] = step.wrapping_mul(dtype.size() as isize);
        }
        let Operand { slot: offsets, over, .. } = self.offsets(steps, computed)?;
        let range = self.lowering.offset_check(base);
        let moves = moves(dtype, self.lowering.level);
        let dst = self.register(dtype, over)?;
        self.push(Instruction::Gather { dst, offsets, array, moves, range, over });
        self.finished.nanoseconds += GATHERED_POINT;
        Ok(Operand { slot: dst, dtype, over })
    }
}

fn is_index(node: &Node) -> bool {
    matches!(node, Node::Index { .. } | Node::Gather { .. })
}
