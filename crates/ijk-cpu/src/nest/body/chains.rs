//! Fusion of consecutive cheap functions to chains.

use super::merged::merged;
use super::{Body, Operand};
use crate::nest::lower::is_three;
use crate::nest::program::{
    Chain, ChainLink, Function, Instruction, LONGEST, Map, Over, Sink, Slot, Source,
};
use crate::nest::scalar_bits;
use ijk_kernels::tile::{Compare, LinkOp, chains, streams};
use ijk_kernels::tuning::time::{CHAIN_CALL_ROW, CHAIN_LONG_ROW};
use ijk_plan::plan::Node;
use ijk_types::{BinaryOp, DType, Scalar, UnaryOp};

/// A chain under construction.
pub(super) struct Growing {
    /// Indices of its instructions, in order.
    pub members: Vec<usize>,
    pub dtype: DType,
    /// Slot of its value.
    pub dst: Slot,
    /// Slots of the values that it stores on the way.
    pub stored: Vec<Slot>,
    pub links: Vec<Step>,
}

/// A link of a chain.
pub(super) struct Step {
    pub op: LinkOp,
    pub product: bool,
    pub sources: [Source; 3],
}

/// A comparison that a later select may absorb.
struct Compared {
    /// Index of its instruction.
    member: usize,
    slot: Slot,
    dtype: DType,
    compare: Compare,
    operands: [Source; 2],
}

/// Condition of a select.
enum Condition {
    Compared(Compared),
    Bools(Source),
}

impl Condition {
    /// The links that keep the value if the condition holds, and that replace it.
    fn links(&self) -> [LinkOp; 2] {
        match self {
            Self::Compared(compared) => compared.compare.links(),
            Self::Bools(_) => [LinkOp::KeepIf, LinkOp::TakeIf],
        }
    }
}

/// State of chain fusion.
struct Joining {
    found: Vec<Growing>,
    compared: Vec<Compared>,
    /// Number of readers of each slot.
    needed: Vec<usize>,
}

impl Body<'_> {
    /// Records the unary function of the last instruction, if chains support it.
    pub(super) fn note_unary(&mut self, op: UnaryOp, dtype: DType) {
        if let UnaryOp::Cast(to) = op {
            return self.note(LinkOp::of_cast(dtype, to).map(Function::Start), to);
        }
        let function = LinkOp::of_unary(op).map(Function::One);
        self.note(function, dtype);
    }

    /// Records the binary function of the last instruction, if chains support it.
    pub(super) fn note_binary(&mut self, op: BinaryOp, dtype: DType, right: Operand) {
        let links = [LinkOp::of_binary(op, true), LinkOp::of_binary(op, false)];
        let function = match links {
            _ if op == BinaryOp::Pow && self.is_three(right) => Some(Function::One(LinkOp::Cube)),
            [Some(first), Some(second)] => Some(Function::Two([first, second])),
            _ => Compare::of(op).map(Function::Compare),
        };
        self.note(function, dtype);
    }

    /// Records that the last instruction is a select.
    pub(super) fn note_select(&mut self, dtype: DType) {
        self.note(Some(Function::Select), dtype);
    }

    fn note(&mut self, function: Option<Function>, dtype: DType) {
        if let Some(Instruction::Map(map)) = self.finished.instructions.last_mut()
            && chains(dtype, self.lowering.level)
        {
            map.function = function.map(|function| (function, dtype));
        }
    }

    /// Returns true if an operand is the constant exponent 3.
    fn is_three(&self, operand: Operand) -> bool {
        self.constant(operand.slot).is_some_and(is_three)
    }

    /// The constant at a slot.
    fn constant(&self, slot: Slot) -> Option<Scalar> {
        let nodes = self.nodes.iter().zip(&self.lowering.nest.body);
        nodes.filter(|(own, _)| own.is_some_and(|own| own.slot == slot)).find_map(|(_, node)| {
            match node {
                Node::Const(value) => Some(*value),
                _ => None,
            }
        })
    }

    /// Fuses instructions that are each a cheap function of the one before, whose result has no other reader.
    pub(super) fn chain(&mut self, value: Slot, sink: &Sink) {
        let needed = self.needed(value, sink);
        let mut joining = Joining { found: Vec::new(), compared: Vec::new(), needed };
        let first = self.finished.standing.max(self.finished.fixed);
        for (n, instruction) in self.finished.instructions.iter().enumerate().skip(first) {
            let (Instruction::Map(map) | Instruction::Select { map, .. }) = instruction else {
                continue;
            };
            if map.is_by_row() && self.row() < CHAIN_CALL_ROW {
                continue;
            }
            if let (Some((function, dtype)), Over::Points) = (map.function, map.over) {
                joining.take(n, map, function, dtype);
            }
        }
        let alone = match sink {
            Sink::Stream(stream) => stream.strips && streams(self.lowering.level),
            Sink::Reduce(spec) => spec.chain.is_some(),
            _ => false,
        };
        // A kernel is called for each row, a chain once for all.
        let short = self.row() < CHAIN_LONG_ROW;
        let Joining { found, needed, .. } = joining;
        let mut found = merged(found, &self.finished.instructions, (&needed, value), self.row());
        let spreads = !found.is_empty() && !self.full.is_empty();
        for growing in &mut found {
            self.without_divisions(growing);
            if spreads {
                self.without_spreads(growing);
            }
        }
        self.join_members(found, |chain| alone && chain.dst == value || short && chain.is_by_row());
        if spreads {
            self.drop_spreads(value, sink);
        }
    }

    /// Reads values that are spread for other kernels where they are, since chains broadcast them: single ones, and in
    /// rows that are not too short for calls of their own those of a row.
    fn without_spreads(&self, growing: &mut Growing) {
        let rows = self.row() >= CHAIN_CALL_ROW;
        let broadcast = |of: &Source| of.over == Over::One || rows && of.over == Over::Rows;
        for source in growing.links.iter_mut().flat_map(|link| &mut link.sources) {
            let spreads = |map: &&Map| map.dst == source.slot && broadcast(&map.sources[0]);
            let maps = self.finished.instructions.iter().filter_map(|each| match each {
                Instruction::Map(map) => Some(map),
                _ => None,
            });
            let spread = maps.filter(|map| self.is_spread(map.dst)).find(spreads);
            *source = spread.map_or(*source, |map| map.sources[0]);
        }
    }

    /// Removes spreads that no instruction reads any more.
    fn drop_spreads(&mut self, value: Slot, sink: &Sink) {
        let needed = self.needed(value, sink);
        let all = std::mem::take(&mut self.finished.instructions);
        let (mut fixed, mut standing) = (0, 0);
        for (n, instruction) in all.into_iter().enumerate() {
            let dst = instruction.dst();
            if self.is_spread(dst) && needed[dst as usize] == 0 {
                continue;
            }
            fixed += usize::from(n < self.finished.fixed);
            standing += usize::from(n < self.finished.standing);
            self.finished.instructions.push(instruction);
        }
        (self.finished.fixed, self.finished.standing) = (fixed, standing);
    }

    /// Returns true for slots to which a value of fewer elements is spread.
    fn is_spread(&self, slot: Slot) -> bool {
        self.full.iter().any(|&(_, _, own)| own == slot)
    }

    /// Divides short integers by constants without a division, which takes longer than all else of a conversion.
    fn without_divisions(&mut self, growing: &mut Growing) {
        for n in 1..growing.links.len() {
            let [first, second] = &growing.links[n - 1..=n] else { continue };
            let divides = first.op.is_short() && second.op == LinkOp::Div && !second.product;
            let divisor = second.sources[0];
            let constant = self.constant(divisor.slot).filter(|_| divides);
            let Some(inverse) = constant.and_then(LinkOp::inverse) else { continue };
            let Ok(slot) = self.slot(0) else { continue };
            self.finished.constants.push((slot, scalar_bits(inverse)));
            let inverse = Source { slot, ..divisor };
            let sources = [divisor, inverse, inverse];
            growing.links[n] = Step { op: LinkOp::DivShort, product: false, sources };
        }
    }

    /// Elements of a row of a full tile.
    fn row(&self) -> usize {
        self.geometry.inner.last().map_or(1, |&a| self.geometry.loops[a].tile)
    }

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
        if let Sink::Scatter { offsets, checked, .. } = sink {
            also(*offsets);
            also(*checked);
        }
        sink.rows().into_iter().flat_map(|rows| rows.slots()).for_each(also);
        needed
    }

    /// Replaces the instructions of each chain of several, at the position of the last of them; a chain of one
    /// instruction only if `alone` holds.
    fn join_members(&mut self, found: Vec<Growing>, alone: impl Fn(&Chain) -> bool) {
        let all = std::mem::take(&mut self.finished.instructions);
        let mut all: Vec<Option<Instruction>> = all.into_iter().map(Some).collect();
        let from_memory = !found.is_empty() && self.loads_memory();
        for growing in found {
            let chain = self.grown(&growing, from_memory);
            if let [first @ .., last] = &growing.members[..]
                && (!first.is_empty() || alone(&chain))
            {
                first.iter().for_each(|&n| all[n] = None);
                all[*last] = Some(Instruction::Chain(Box::new(chain)));
            }
        }
        self.finished.instructions = all.into_iter().flatten().collect();
    }

    /// The chain, with prefetch distances if its operands come from memory.
    fn grown(&self, growing: &Growing, from_memory: bool) -> Chain {
        let ahead = |source: &Source| self.prefetch_distance(source.slot);
        let link = |step: &Step| {
            let distances = step.sources.iter().filter(|_| from_memory).map(ahead);
            let ahead = distances.max().unwrap_or(0);
            ChainLink::new(step.op, step.product, step.sources, ahead)
        };
        let links = growing.links.iter().map(link).collect();
        let Growing { dtype, dst, stored, .. } = growing;
        let level = self.lowering.level;
        Chain { level, dtype: *dtype, dst: *dst, stored: stored.clone(), links }
    }
}

impl Joining {
    /// Adds an instruction on elements of type `dtype`: to a chain that computes one of its operands, or to a new one.
    fn take(&mut self, n: usize, map: &Map, function: Function, dtype: DType) {
        let [a, b, c] = map.sources;
        match function {
            Function::One(link) => self.link(n, (map.dst, dtype), &[(a, link, a)], None),
            Function::Start(link) => {
                let links = vec![Step { op: link, product: false, sources: [a; 3] }];
                self.found.push(Growing {
                    members: vec![n],
                    dtype,
                    dst: map.dst,
                    stored: Vec::new(),
                    links,
                });
            }
            Function::Two([LinkOp::Mul, _]) if a.slot == b.slot => {
                self.link(n, (map.dst, dtype), &[(a, LinkOp::Square, a)], None);
            }
            Function::Two([first, second]) => {
                self.link(n, (map.dst, dtype), &[(a, first, b), (b, second, a)], None);
            }
            Function::Compare(compare) => self.compared.push(Compared {
                member: n,
                slot: map.dst,
                dtype,
                compare,
                operands: [a, b],
            }),
            Function::Select => {
                let fits = |c: &Compared| c.slot == a.slot && c.dtype == dtype;
                let alone = self.needed[a.slot as usize] == 1;
                let at = self.compared.iter().position(fits).filter(|_| alone);
                let condition = match at.map(|at| self.compared.swap_remove(at)) {
                    Some(compared) => Condition::Compared(compared),
                    None => Condition::Bools(a),
                };
                let [keep, take] = condition.links();
                let ways = [(b, keep, c), (c, take, b)];
                self.link(n, (map.dst, dtype), &ways, Some(condition));
            }
        }
    }

    /// Adds a link in one of several orientations: each is the value so far, the function, and the other operand. The
    /// longest chain that can be extended is chosen.
    fn link(
        &mut self,
        n: usize,
        (dst, dtype): (Slot, DType),
        ways: &[(Source, LinkOp, Source)],
        condition: Option<Condition>,
    ) {
        let alone = ways.len() == 1;
        // The other operand is read from memory, where the value of a chain is not before its end.
        let apart = ways.iter().filter(|way| alone || way.0.slot != way.2.slot);
        let ends = apart.filter_map(|&way| Some((self.ends_at(way.0, dtype)?, way)));
        let longest = ends.max_by_key(|&(at, _)| self.found[at].links.len());
        let Some((at, (_, op, operand))) = longest else {
            self.begin(n, (dst, dtype), ways[0]);
            return self.choose_last(condition);
        };
        let mut growing = self.found.swap_remove(at);
        // A unary link gets the first operand as a placeholder: the value so far has no address.
        let operand = if alone { growing.links[0].sources[0] } else { operand };
        let product =
            (!alone && condition.is_none()).then(|| self.product(operand, dtype)).flatten();
        let (product, sources) = match product {
            None => (false, [operand; 3]),
            Some((member, [x, y])) => {
                growing.members.push(member);
                (true, [x, y, y])
            }
        };
        growing.links.push(Step { op, product, sources });
        growing.dst = dst;
        growing.members.push(n);
        growing.members.sort_unstable();
        self.found.push(growing);
        self.choose_last(condition);
    }

    /// Starts a chain with an instruction.
    fn begin(
        &mut self,
        n: usize,
        (dst, dtype): (Slot, DType),
        (start, op, operand): (Source, LinkOp, Source),
    ) {
        let step = |op, source| Step { op, product: false, sources: [source; 3] };
        let links = vec![step(LinkOp::Start, start), step(op, operand)];
        self.found.push(Growing { members: vec![n], dtype, dst, stored: Vec::new(), links });
    }

    /// Sets the operands of the last link's condition.
    fn choose_last(&mut self, condition: Option<Condition>) {
        if let (Some(condition), Some(growing)) = (condition, self.found.last_mut())
            && let Some(link) = growing.links.last_mut()
        {
            match condition {
                Condition::Bools(bools) => [link.sources[1], link.sources[2]] = [bools; 2],
                Condition::Compared(compared) => {
                    [link.sources[1], link.sources[2]] = compared.operands;
                    growing.members.push(compared.member);
                    growing.members.sort_unstable();
                }
            }
        }
    }

    /// The chain of type `dtype` that computes an operand without other readers, if it can be extended.
    fn ends_at(&self, operand: Source, dtype: DType) -> Option<usize> {
        let fits = |Growing { dst, dtype: own, links, .. }: &Growing| {
            *dst == operand.slot && *own == dtype && links.len() < LONGEST
        };
        let alone = self.needed[operand.slot as usize] == 1;
        self.found.iter().position(fits).filter(|_| alone)
    }

    /// The factors of an operand that is a product without other readers, and its instruction.
    fn product(&mut self, operand: Source, dtype: DType) -> Option<(usize, [Source; 2])> {
        let at = self.ends_at(operand, dtype)?;
        let Growing { members, links, .. } = &self.found[at];
        let (&[member], [start, link]) = (&members[..], &links[..]) else { return None };
        if start.op != LinkOp::Start {
            return None;
        }
        let factors = match link {
            Step { op: LinkOp::Mul, product: false, sources: [other, ..] } => *other,
            Step { op: LinkOp::Square, .. } => start.sources[0],
            _ => return None,
        };
        let factors = [start.sources[0], factors];
        self.found.swap_remove(at);
        Some((member, factors))
    }
}
