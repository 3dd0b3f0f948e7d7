//! Comparisons of an index along rows with a value of each row, or with another index: no index is computed for each
//! point.

use super::{Body, Operand};
use crate::Few;
use crate::error::Fault;
use crate::nest::program::{Instruction, Over, Source};
use ijk_kernels::tuning::time::{CHEAP_FUNCTION, THRESHOLD_ROW};
use ijk_plan::plan::{Node, NodeId};
use ijk_types::{BinaryOp, DType};

/// A comparison of an index that varies along rows.
pub(super) struct RowComparison {
    op: BinaryOp,
    /// The node of the index.
    index: NodeId,
    /// The other side: another index, or a value that does not vary along rows.
    other: NodeId,
    subtracts: bool,
}

impl RowComparison {
    /// The operand that is computed, if there is one.
    pub fn operand(&self) -> Option<NodeId> {
        (!self.subtracts).then_some(self.other)
    }
}

impl Body<'_> {
    /// Matches a comparison at a node, if rows are long enough.
    pub(super) fn threshold_of(&self, n: usize) -> Option<RowComparison> {
        let body = &self.lowering.nest.body;
        let Node::Binary(op, a, b) = body[n] else { return None };
        let swapped = op.swapped()?;
        let &row = self.geometry.inner.last()?;
        if self.geometry.loops[row].tile < THRESHOLD_ROW {
            return None;
        }
        let is_index = |id: NodeId| matches!(body[id.0 as usize], Node::Index { .. });
        let step = |id: NodeId| self.steps_of(id.0 as usize)[row];
        if is_index(a) && is_index(b) {
            let varies = step(a) != step(b);
            return varies.then_some(RowComparison { op, index: a, other: b, subtracts: true });
        }
        let sides = [(op, a, b), (swapped, b, a)];
        let (op, index, other) = sides.into_iter().find(|&(_, index, _)| is_index(index))?;
        let fits = step(index) != 0 && self.is_still(other, row);
        fits.then_some(RowComparison { op, index, other, subtracts: false })
    }

    /// Returns true if a node has the same value at all points of a row.
    fn is_still(&self, id: NodeId, row: usize) -> bool {
        let mut still: Few<bool> = Few::new();
        for (n, node) in self.lowering.nest.body[..=id.0 as usize].iter().enumerate() {
            let own = match *node {
                Node::Load(load) => self.geometry.loops[row].axis.loads[load as usize] == 0,
                Node::Index { .. } | Node::Gather { .. } => self.steps_of(n)[row] == 0,
                Node::Random { .. } => false,
                _ => true,
            };
            let operands = super::operands(node).all(|operand| still[operand.0 as usize]);
            still.push(own && operands);
        }
        still.last().is_some_and(|&still| still)
    }

    /// The instruction of a comparison; `None` if the other side has a value for each point after all.
    pub(super) fn threshold(&mut self, of: &RowComparison) -> Result<Option<Operand>, Fault> {
        let RowComparison { op, index, other, subtracts } = *of;
        let affine = |id: NodeId| match self.lowering.nest.body[id.0 as usize] {
            Node::Index { constant, .. } => (constant, self.steps_of(id.0 as usize)),
            _ => (0, Vec::new()),
        };
        let (mut constant, mut steps) = affine(index);
        let mut source = None;
        if subtracts {
            let (start, others) = affine(other);
            constant = constant.wrapping_sub(start);
            for (step, other) in steps.iter_mut().zip(others) {
                *step = step.wrapping_sub(other);
            }
        } else {
            let Operand { slot, dtype, over } = self.known(other)?;
            if !over.is_one_a_row() {
                return Ok(None);
            }
            source = Some(Source { slot, over, size: dtype.size() });
        }
        let inner: Vec<i64> = self.geometry.inner.iter().map(|&a| steps[a]).collect();
        let dst = self.register(DType::Bool, Over::Points)?;
        self.push(Instruction::Threshold { dst, op, constant, steps, inner, other: source });
        self.finished.nanoseconds += CHEAP_FUNCTION / 4.0;
        Ok(Some(Operand { slot: dst, dtype: DType::Bool, over: Over::Points }))
    }
}
