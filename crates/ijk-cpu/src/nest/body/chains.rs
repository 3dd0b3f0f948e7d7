//! Cheap functions that follow one another, joined to chains.

use super::{Body, Operand};
use crate::nest::kernel::{LinkOp, chains};
use crate::nest::lower::is_three;
use crate::nest::program::{
    Chain, Function, Instruction, Map, Over, ReduceSpec, Sink, Slot, Source,
};
use ijk_plan::plan::Node;
use ijk_types::{BinaryOp, DType};

/// Links of a chain at most.
const LONGEST: usize = 24;

/// A chain that may go on.
struct Growing {
    /// Which instructions it has, in their order.
    members: Vec<usize>,
    chain: Chain,
}

impl Body<'_> {
    /// Notes which function of so many operands the last instruction computes, if chains may have it: `link` gives
    /// its link, told whether the value so far is the first operand.
    pub(super) fn note(
        &mut self,
        link: impl Fn(bool) -> Option<LinkOp>,
        dtype: DType,
        operands: usize,
    ) {
        let (Some(first), Some(second)) = (link(true), link(false)) else { return };
        if let Some(Instruction::Map(map)) = self.finished.instructions.last_mut()
            && chains(dtype, self.lowering.level)
        {
            map.function = Some(Function { dtype, links: [first, second], operands });
        }
    }

    /// Whether a function is the third power.
    pub(super) fn is_cube(&self, op: BinaryOp, exponent: Operand) -> bool {
        let three = |n: &Node| matches!(n, Node::Const(value) if is_three(*value));
        let mut nodes = self.nodes.iter().zip(&self.lowering.nest.body);
        op == BinaryOp::Pow
            && nodes.any(|(o, node)| o.is_some_and(|o| o.slot == exponent.slot) && three(node))
    }

    /// Joins instructions of which each is a cheap function of what the one before gives, which nothing else needs.
    pub(super) fn chain(&mut self, value: Slot, sink: &Sink) {
        let needed = self.needed(value, sink);
        let mut found: Vec<Growing> = Vec::new();
        let first = self.finished.standing.max(self.finished.fixed);
        for (n, instruction) in self.finished.instructions.iter().enumerate().skip(first) {
            let Instruction::Map(map @ Map { over: Over::Points, function: Some(function), .. }) =
                instruction
            else {
                continue;
            };
            let (link, side, at) = continued(map, *function, &found, &needed);
            let mut growing = match at {
                Some(at) => found.swap_remove(at),
                None => self.start(*function, map.sources[0]),
            };
            // What has no other operand is given the first: the value so far is nowhere in memory.
            let alone = function.operands == 1 || link == LinkOp::Square;
            let operand = if alone { growing.chain.links[0].1 } else { map.sources[1 - side] };
            growing.chain.links.push((link, operand));
            growing.chain.dst = map.dst;
            growing.members.push(n);
            found.push(growing);
        }
        self.join_members(found);
    }

    /// How many instructions and others read each slot.
    fn needed(&self, value: Slot, sink: &Sink) -> Vec<usize> {
        let mut needed = vec![0; self.slots.len()];
        for instruction in &self.finished.instructions {
            let mut sources = instruction.sources();
            sources.sort_unstable();
            sources.dedup();
            sources.into_iter().for_each(|slot| needed[slot as usize] += 1);
        }
        let mut also = |slot: Slot| needed[slot as usize] += 2;
        also(value);
        match sink {
            Sink::Scatter { offsets, .. } => also(*offsets),
            Sink::Rows(rows) | Sink::Reduce(ReduceSpec { rows: Some(rows), .. }) => {
                rows.slots().for_each(also);
            }
            _ => {}
        }
        needed
    }

    fn start(&self, function: Function, operand: Source) -> Growing {
        let (level, dtype) = (self.lowering.level, function.dtype);
        let links = vec![(LinkOp::Start, operand)];
        Growing { members: Vec::new(), chain: Chain { level, dtype, dst: operand.slot, links } }
    }

    /// Replaces the instructions of each chain that has several, where the last of them is.
    fn join_members(&mut self, found: Vec<Growing>) {
        let all = std::mem::take(&mut self.finished.instructions);
        let mut all: Vec<Option<Instruction>> = all.into_iter().map(Some).collect();
        for Growing { members, chain } in found {
            if let [first @ .., last] = &members[..]
                && !first.is_empty()
            {
                first.iter().for_each(|&n| all[n] = None);
                all[*last] = Some(Instruction::Chain(Box::new(chain)));
            }
        }
        self.finished.instructions = all.into_iter().flatten().collect();
    }
}

/// The link that an instruction is, which operand is the value so far, and the chain that gives it: the longest,
/// or none that can go on.
fn continued(
    map: &Map,
    function: Function,
    found: &[Growing],
    needed: &[usize],
) -> (LinkOp, usize, Option<usize>) {
    let [a, b, _] = map.sources;
    let twice = function.operands == 2 && a.slot == b.slot;
    let square = twice && function.links[0] == LinkOp::Mul;
    let goes_on = |side: usize| {
        let slot = map.sources[side].slot;
        found.iter().position(|Growing { chain, .. }| {
            let alone = chain.dst == slot && needed[slot as usize] == 1;
            alone && chain.dtype == function.dtype && chain.links.len() < LONGEST
        })
    };
    let sides = match function.operands {
        _ if square => 0..1,
        _ if twice => 0..0,
        operands => 0..operands,
    };
    let ends = sides.filter_map(|side| Some((side, goes_on(side)?)));
    let longest = ends.max_by_key(|&(_, at)| found[at].chain.links.len());
    let (side, at) = longest.map_or((0, None), |(side, at)| (side, Some(at)));
    (if square { LinkOp::Square } else { function.links[side] }, side, at)
}
