//! Gathers by a single number at each point, which the mask of the nest compares with the bounds of the array: one
//! instruction compares, scales and reads, where the general form computes 64-bit offsets and tests them again.

use super::{Body, Operand, binary_of};
use crate::Few;
use crate::error::Fault;
use crate::nest::geometry::Axis;
use crate::nest::lower::place;
use crate::nest::program::{Instruction, LookupSpec, OffsetCheck, Over};
use crate::nest::scalar_bits;
use ijk_kernels::tile::looked_up;
use ijk_kernels::tuning::time::{GATHERED_POINT, LOOKUP_ROW};
use ijk_plan::plan::{Node, NodeId};
use ijk_types::{BinaryOp, DType, Scalar, UnaryOp};

/// A gather at `numbers · scale`, or at 0 where a mask does not hold, which implies `0 <= numbers < end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lookup {
    /// The numbers before conversions that change none of them.
    pub numbers: NodeId,
    end: u64,
    scale: i64,
    /// The mask, if it implies nothing else.
    window: Option<NodeId>,
}

impl Lookup {
    /// Matches a lookup at a node.
    pub fn of(nodes: &[Node], n: usize) -> Option<Self> {
        let Node::Gather { offset, .. } = nodes[n] else { return None };
        let Node::Select(mask, offset, zero) = nodes[offset.0 as usize] else { return None };
        let integer = |id: NodeId| match nodes[id.0 as usize] {
            Node::Const(Scalar::I64(value)) => Some(value),
            _ => None,
        };
        integer(zero).filter(|&zero| zero == 0)?;
        let scaled = binary_of(nodes, offset, BinaryOp::Mul);
        let (value, scale) = match scaled.and_then(|(x, scale)| Some((x, integer(scale)?))) {
            Some(scaled) => scaled,
            None => (offset, 1),
        };
        let conditions = conditions(nodes, mask)?;
        let compared = |op: BinaryOp| {
            let own = conditions.iter().filter_map(move |&id| binary_of(nodes, id, op));
            own.filter(|&(x, _)| x == value).filter_map(|(_, bound)| integer(bound))
        };
        compared(BinaryOp::Ge).find(|&least| least >= 0)?;
        let end = compared(BinaryOp::Lt).min()?;
        let end = u64::try_from(end).ok().filter(|&end| end > 0)?;
        let exact = conditions.len() == 2 && compared(BinaryOp::Ge).eq([0]);
        let window = exact.then_some(mask);
        Some(Self { numbers: unconverted(nodes, value), end, scale, window })
    }
}

/// The gather whose values a select keeps where its mask holds, if a lookup can fill in what it has elsewhere.
pub(super) fn filled(nodes: &[Node], n: usize) -> Option<NodeId> {
    let Node::Select(mask, gather, other) = nodes[n] else { return None };
    let Node::Const(_) = nodes[other.0 as usize] else { return None };
    let lookup = Lookup::of(nodes, gather.0 as usize)?;
    (lookup.window == Some(mask)).then_some(gather)
}

/// The conditions that a mask combines; `None` if there are many.
fn conditions(nodes: &[Node], mask: NodeId) -> Option<Few<NodeId>> {
    const MOST: usize = 16;
    let (mut found, mut open) = (Few::new(), Few::from_iter([mask]));
    while let Some(id) = open.pop() {
        match binary_of(nodes, id, BinaryOp::And) {
            Some((x, y)) => open.extend([x, y]),
            None => found.push(id),
        }
        if found.len() + open.len() > MOST {
            return None;
        }
    }
    Some(found)
}

/// The integers of which an i64 is a conversion without loss, loaded from memory, or itself.
fn unconverted(nodes: &[Node], value: NodeId) -> NodeId {
    let mut at = value;
    while let Node::Unary(UnaryOp::Cast(to), x) = nodes[at.0 as usize]
        && to.is_integer()
    {
        at = x;
    }
    if matches!(nodes[at.0 as usize], Node::Load(_)) { at } else { value }
}

impl Body<'_> {
    /// The lookup at a node; `None` if there is none, or no kernel for it.
    pub(super) fn lookup(&mut self, n: usize) -> Result<Option<Operand>, Fault> {
        let nest = self.lowering.nest;
        let found = Lookup::of(&nest.body, n);
        let (Some(lookup), Node::Gather { base, dtype, .. }) = (found, &nest.body[n]) else {
            return Ok(None);
        };
        let row = self.geometry.inner.last().map_or(1, |&a| self.geometry.loops[a].tile);
        let steps = self.steps_of(n);
        let still = self.geometry.inner.iter().all(|&a| steps[a] == 0);
        if !(still || row >= LOOKUP_ROW) || !self.has_elements(n, &lookup) {
            return Ok(None);
        }
        let plain = lookup.scale == 1 && still;
        if !plain && self.shares_offsets(n, &lookup) {
            return Ok(None);
        }
        let t = match nest.body[lookup.numbers.0 as usize] {
            Node::Load(load) => nest.loads[load as usize].dtype,
            _ => DType::I64,
        };
        let Some(kernel) = looked_up(t, *dtype, plain, self.lowering.level) else {
            return Ok(None);
        };
        let numbers = self.operand(lookup.numbers)?;
        if numbers.over != Over::Points {
            return Ok(None);
        }
        let which = self.index_of(n);
        let along = |axis: &Axis| axis.indices[which] as isize;
        let array = place(self.lowering, self.geometry, *base, along);
        let (dst, fill) = (self.register(*dtype, Over::Points)?, self.fill(n));
        self.push(Instruction::Lookup(Box::new(LookupSpec {
            kernel,
            dst,
            numbers: numbers.slot,
            number_size: t.size(),
            array,
            size: dtype.size(),
            end: lookup.end,
            scale: lookup.scale,
            fill,
        })));
        self.finished.nanoseconds += GATHERED_POINT;
        Ok(Some(Operand { slot: dst, dtype: *dtype, over: Over::Points }))
    }

    /// Bits that a lookup has where its mask does not hold: those of the first select that keeps its values. All such
    /// selects of the same bits are values of the lookup.
    fn fill(&mut self, n: usize) -> u64 {
        let gather = NodeId(n as u32);
        let body = &self.lowering.nest.body;
        let mut bits = None;
        for at in (n + 1..body.len()).filter(|&at| filled(body, at) == Some(gather)) {
            if let Node::Select(.., other) = body[at]
                && let Node::Const(other) = body[other.0 as usize]
            {
                let own = scalar_bits(other)[0];
                if *bits.get_or_insert(own) == own {
                    self.filled.push((NodeId(at as u32), gather));
                }
            }
        }
        bits.unwrap_or(0)
    }

    /// Returns true if other gathers have the same offsets, or the same gather in other tiles: those are computed once.
    fn shares_offsets(&self, n: usize, lookup: &Lookup) -> bool {
        let body = &self.lowering.nest.body;
        let alike = |m: usize| {
            Lookup::of(body, m)
                .is_some_and(|other| (other.numbers, other.scale) == (lookup.numbers, lookup.scale))
        };
        let stands = |a: usize| match body[lookup.numbers.0 as usize] {
            Node::Load(load) => self.geometry.loops[a].axis.loads[load as usize] == 0,
            _ => false,
        };
        let moves = self
            .steps_of(n)
            .into_iter()
            .enumerate()
            .any(|(a, step)| step != 0 && !self.geometry.inner.contains(&a) && stands(a));
        moves || (0..body.len()).any(|m| m != n && alike(m))
    }

    /// Returns true if the elements for all numbers below the end exist at all points.
    fn has_elements(&self, n: usize, lookup: &Lookup) -> bool {
        let Node::Gather { base, .. } = self.lowering.nest.body[n] else { return false };
        let OffsetCheck::Range { least, greatest, .. } = self.lowering.offset_check(base) else {
            return false;
        };
        let last = i128::from(lookup.scale) * i128::from(lookup.end - 1);
        let (mut low, mut high) = (last.min(0), last.max(0));
        for (each, step) in self.geometry.loops.iter().zip(self.steps_of(n)) {
            let reach = i128::from(step) * (each.axis.extent as i128 - 1);
            low += reach.min(0);
            high += reach.max(0);
        }
        i128::from(least) <= low && high <= i128::from(greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ijk_plan::plan::{Base, BufferId};

    #[test]
    fn gathers_behind_their_bounds_are_lookups() {
        let number = |value| Node::Const(Scalar::I64(value));
        let binary = |op, x, y| Node::Binary(op, NodeId(x), NodeId(y));
        let base = Base { buffer: BufferId(1), offset: 0 };
        let mut nodes = vec![
            Node::Load(0),
            Node::Unary(UnaryOp::Cast(DType::I64), NodeId(0)),
            number(0),
            binary(BinaryOp::Ge, 1, 2),
            number(7),
            binary(BinaryOp::Lt, 1, 4),
            binary(BinaryOp::And, 3, 5),
            number(20),
            binary(BinaryOp::Mul, 1, 7),
            Node::Select(NodeId(6), NodeId(8), NodeId(2)),
            Node::Gather { base, dtype: DType::F32, strides: vec![0], offset: NodeId(9) },
            Node::Const(Scalar::F32(0.0)),
            Node::Select(NodeId(6), NodeId(10), NodeId(11)),
        ];
        let window = Some(NodeId(6));
        let found = Lookup { numbers: NodeId(0), end: 7, scale: 20, window };
        assert_eq!(Lookup::of(&nodes, 10), Some(found));
        assert_eq!(filled(&nodes, 12), Some(NodeId(10)));
        // Another condition of the mask leaves the bounds as they are.
        nodes[6] = binary(BinaryOp::And, 3, 13);
        nodes.extend([binary(BinaryOp::And, 5, 14), Node::Load(1)]);
        assert_eq!(Lookup::of(&nodes, 10), Some(Lookup { window: None, ..found }));
        assert_eq!(filled(&nodes, 12), None);
        // Without a lower bound, numbers may be below.
        nodes[3] = binary(BinaryOp::Ge, 0, 2);
        assert_eq!(Lookup::of(&nodes, 10), None);
    }
}
