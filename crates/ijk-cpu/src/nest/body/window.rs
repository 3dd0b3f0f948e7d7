//! Fusion of the comparisons `0 <= value` and `value < end`, a bounds check, to one instruction.

use super::{Body, Operand, binary_of};
use crate::error::Fault;
use ijk_kernels::tile::within;
use ijk_kernels::tuning::time::CHEAP_FUNCTION;
use ijk_plan::plan::{Node, NodeId};
use ijk_types::{BinaryOp, DType, Scalar};

/// `0 <= value < end`, and optionally another condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    value: NodeId,
    end: i64,
    and: Option<NodeId>,
}

impl Window {
    /// Matches a window at a node.
    pub fn of(nodes: &[Node], n: usize) -> Option<Self> {
        let binary = |id: NodeId, wanted| binary_of(nodes, id, wanted);
        let number = |id: NodeId| match nodes[id.0 as usize] {
            Node::Const(Scalar::I64(value)) => Some(value),
            _ => None,
        };
        let (first, last) = binary(NodeId(n as u32), BinaryOp::And)?;
        let (value, end) = binary(last, BinaryOp::Lt)?;
        let end = number(end).filter(|&end| end >= 0)?;
        let starts = |id| {
            let (other, zero) = binary(id, BinaryOp::Ge)?;
            (other == value && number(zero) == Some(0)).then_some(())
        };
        if starts(first).is_some() {
            return Some(Self { value, end, and: None });
        }
        let (and, first) = binary(first, BinaryOp::And)?;
        starts(first).map(|()| Self { value, end, and: Some(and) })
    }

    /// The nodes that it reads.
    pub fn operands(self) -> impl Iterator<Item = NodeId> {
        [Some(self.value), self.and].into_iter().flatten()
    }
}

impl Body<'_> {
    /// The instruction of a window.
    pub(super) fn window(&mut self, window: Window) -> Result<Operand, Fault> {
        let value = self.known(window.value)?;
        let and = window.and.map(|and| self.known(and)).transpose()?;
        let over = and.map_or(value.over, |and| value.over.join(and.over));
        let (value, end) = (self.spread(value, over)?, self.number(window.end)?);
        let and = and.map(|and| self.spread(and, over)).transpose()?;
        self.finished.nanoseconds += CHEAP_FUNCTION;
        let kernel = within(self.lowering.level, and.is_some());
        self.map_to(kernel, DType::Bool, [value, end, and.unwrap_or(value)], over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_an_index_are_a_window() {
        let binary = |op, x, y| Node::Binary(op, NodeId(x), NodeId(y));
        let number = |value| Node::Const(Scalar::I64(value));
        let mut nodes = vec![
            Node::Load(0),
            number(0),
            binary(BinaryOp::Ge, 0, 1),
            number(7),
            binary(BinaryOp::Lt, 0, 3),
            binary(BinaryOp::And, 2, 4),
        ];
        let window = |and| Some(Window { value: NodeId(0), end: 7, and });
        assert_eq!(Window::of(&nodes, 5), window(None));
        nodes.extend([Node::Load(1), binary(BinaryOp::And, 6, 2), binary(BinaryOp::And, 7, 4)]);
        assert_eq!(Window::of(&nodes, 8), window(Some(NodeId(6))));
        assert_eq!((Window::of(&nodes, 7), Window::of(&nodes, 4)), (None, None));
        nodes[3] = number(-1);
        assert_eq!(Window::of(&nodes, 5), None);
    }
}
