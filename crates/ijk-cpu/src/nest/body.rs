//! Lowering of the nodes of a body to instructions over slots.

mod chains;
mod costs;
mod gathers;
mod loads;
mod lookup;
mod merged;
mod selects;
mod standing;
mod threshold;
mod window;

use super::geometry::Geometry;
use super::lower::{Lowering, aligned};
use super::program::*;
use crate::Few;
use crate::error::Fault;
pub(super) use costs::{binary_cost, unary_cost};
use ijk_kernels::tile::{self, LinkOp, TileKernel, moves};
use ijk_kernels::tuning::time::{
    LOADED_POINT, SCATTERED_BYTES, SCATTERED_POINT, SLOW_FUNCTION, STORED_POINT,
};
use ijk_plan::plan::{Node, NodeId};
use ijk_types::{BinaryOp, DType, Scalar, UnaryOp, random};
use lookup::{Lookup, filled};
use smallvec::{SmallVec, smallvec};
use window::Window;

/// A body during its lowering.
pub(super) struct Body<'a> {
    lowering: &'a Lowering<'a>,
    geometry: &'a Geometry,
    /// Points of a full tile.
    tile: usize,
    /// Operand of each node, once lowered.
    nodes: SmallVec<[Option<Operand>; 8]>,
    /// Bytes of scratch memory for each slot.
    slots: SmallVec<[usize; 8]>,
    /// Slot of each load, once needed.
    load_slots: Few<Option<Slot>>,
    /// Values that are materialised for each row or point, by slot.
    full: Few<(Slot, Over, Slot)>,
    /// Selects that are values of lookups, which fill in what the select has elsewhere: the nodes of both.
    filled: Few<(NodeId, NodeId)>,
    /// The last instruction, if it is a function of two operands.
    last: Option<Binary>,
    finished: Finished,
}

/// Value of a node in a tile.
#[derive(Clone, Copy, Debug)]
struct Operand {
    slot: Slot,
    dtype: DType,
    /// Number of its elements.
    over: Over,
}

impl Operand {
    /// Returns true if it is one element for the whole tile.
    fn is_one(self) -> bool {
        self.over == Over::One
    }
}

/// Operation of an instruction with its operand type; either operand may be a splat.
#[derive(Clone, Copy)]
struct Binary {
    op: BinaryOp,
    dtype: DType,
    splats: (bool, bool),
}

/// Instructions of a body.
#[derive(Default)]
pub(super) struct Finished {
    pub loads: Vec<LoadSpec>,
    pub constants: Vec<(Slot, [u64; 2])>,
    pub registers: Vec<(Slot, usize)>,
    pub instructions: Vec<Instruction>,
    /// Number of leading instructions that are invariant in the innermost loop over blocks.
    pub standing: usize,
    /// Number of leading instructions that are invariant in all loops and independent of loads.
    pub fixed: usize,
    pub slots: usize,
    pub scratch: usize,
    /// Estimated time of a point.
    pub nanoseconds: f64,
}

impl<'a> Body<'a> {
    pub fn new(lowering: &'a Lowering<'a>, geometry: &'a Geometry) -> Self {
        Self {
            lowering,
            geometry,
            tile: geometry.loops.iter().map(|l| l.tile).product(),
            nodes: SmallVec::from_elem(None, lowering.nest.body.len()),
            slots: smallvec![0],
            load_slots: Few::from_elem(None, lowering.nest.loads.len()),
            full: Few::new(),
            filled: Few::new(),
            last: None,
            finished: Finished { nanoseconds: STORED_POINT, ..Finished::default() },
        }
    }

    /// The slot of the nest's value, with one element for each point of a tile.
    pub fn value(&mut self) -> Result<Slot, Fault> {
        self.value_of(NodeId(self.nodes.len() as u32 - 1))
    }

    /// The slot of a node's elements, one for each point.
    pub fn value_of(&mut self, node: NodeId) -> Result<Slot, Fault> {
        let value = self.operand(node)?;
        self.whole_slot(value)
    }

    /// Registers the single load of a nest that only copies: it needs a place but no slot, and is the first in the
    /// list.
    pub fn move_only(&mut self, load: usize) {
        self.finished.nanoseconds += LOADED_POINT;
        let spec = self.load_spec(load, OUT, LoadMode::Direct);
        self.finished.loads.push(spec);
    }

    /// The slot of the element offsets at which values are stored.
    pub fn store_offsets(&mut self) -> Result<Slot, Fault> {
        let steps = self.geometry.loops.iter().map(|l| l.axis.store as i64).collect();
        let total = match self.lowering.nest.store.offset {
            None => self.index(0, steps)?,
            Some(offset) => {
                let computed = self.operand(offset)?;
                self.offsets(steps, computed)?
            }
        };
        self.whole_slot(total)
    }

    /// Counts the time of stores one by one to the output.
    pub fn count_scattered_stores(&mut self) {
        let out = self.lowering.nest.store.base.buffer;
        if self.lowering.layouts[out.0 as usize].bytes() > SCATTERED_BYTES {
            self.finished.nanoseconds += SCATTERED_POINT;
        }
    }

    /// Returns true if the last instruction computes a value with one element for each point.
    pub fn computes_last(&self, value: Slot) -> bool {
        let last = self.finished.instructions.last();
        matches!(last, Some(Instruction::Map(map) | Instruction::Select { map, .. })
            if map.dst == value && map.over == Over::Points)
    }

    /// Makes the last instruction write directly to the output.
    pub fn redirect(&mut self, value: Slot) -> Slot {
        let last = self.finished.instructions.last_mut();
        let dst = last.and_then(|last| last.dst_mut().into()).filter(|dst| **dst == value);
        match dst {
            Some(dst) => *dst = OUT,
            None => {
                let dtype = self.lowering.nest.store.dtype;
                let (size, over) = (dtype.size(), Over::Points);
                let kernel = moves(dtype, self.lowering.level).copy;
                let sources = [Source { slot: value, over, size }; 3];
                let function = None;
                self.push(Instruction::Map(Map {
                    kernel,
                    dst: OUT,
                    sources,
                    size,
                    over,
                    function,
                }));
            }
        }
        OUT
    }

    /// Allocates registers. `along` is the innermost loop over blocks, if instructions that are invariant in it are
    /// hoisted.
    pub fn finish(
        mut self,
        value: Slot,
        sink: &Sink,
        along: Option<usize>,
    ) -> Result<Finished, Fault> {
        self.fix(value);
        if let Some(along) = along {
            self.stand(along);
        }
        self.chain(value, sink);
        self.split_loads();
        let end = self.finished.instructions.len() + 1;
        let mut last_use: SmallVec<[usize; 16]> = SmallVec::from_elem(0, self.slots.len());
        for (n, instruction) in self.finished.instructions.iter().enumerate() {
            for slot in instruction.sources().into_iter().chain([instruction.dst()]) {
                last_use[slot as usize] = n + 1;
            }
        }
        last_use[value as usize] = end;
        if let Sink::Scatter { offsets, checked, .. } = sink {
            last_use[*offsets as usize] = end;
            last_use[*checked as usize] = end;
        }
        let slots = sink.rows().into_iter().flat_map(|rows| rows.slots());
        slots.for_each(|slot| last_use[slot as usize] = end);
        let standing = self.finished.standing.max(self.finished.fixed);
        for instruction in &self.finished.instructions[..standing] {
            last_use[instruction.dst() as usize] = usize::MAX;
        }
        for load in &self.finished.loads {
            // Values that reuse their memory would be overwritten where loads are packed again for each tile, and would
            // overwrite what is packed once for all.
            if standing > 0 || load.stays {
                last_use[load.slot as usize] = usize::MAX;
            }
        }
        self.keep_selected(if sink.rows().is_some() { OUT } else { value }, &mut last_use);
        self.allot(&last_use);
        self.place_selects();
        self.finished.slots = self.slots.len();
        Ok(self.finished)
    }

    /// Allocates scratch memory for the slots that need it; slots with overlapping lifetimes do not share memory.
    fn allot(&mut self, last_use: &[usize]) {
        let mut free: Few<(usize, usize)> = Few::new();
        let mut used: Few<(usize, usize, usize)> = Few::new();
        let packed = self.finished.loads.iter().map(|load| (0, load.slot));
        let computed = self.finished.instructions.iter().enumerate();
        let computed = computed.flat_map(|(n, each)| each.writes().map(move |slot| (n + 1, slot)));
        let defined: SmallVec<[(usize, Slot); 8]> = packed.chain(computed).collect();
        for (now, slot) in defined {
            let bytes = self.slots[slot as usize];
            if bytes == 0 {
                continue;
            }
            used.retain(|&mut (last, at, bytes)| {
                let over = last < now;
                free.extend(over.then_some((at, bytes)));
                !over
            });
            let at = match free.iter().position(|&(_, room)| room == bytes) {
                Some(found) => free.swap_remove(found).0,
                None => {
                    let at = self.finished.scratch;
                    self.finished.scratch += bytes;
                    at
                }
            };
            used.push((last_use[slot as usize], at, bytes));
            self.finished.registers.push((slot, at));
        }
    }

    /// A new slot of `bytes` bytes.
    fn slot(&mut self, bytes: usize) -> Result<Slot, Fault> {
        let slot = Slot::try_from(self.slots.len()).map_err(|_| Fault::TooLarge)?;
        self.slots.push(aligned(bytes));
        Ok(slot)
    }

    /// A register for a result.
    fn register(&mut self, dtype: DType, over: Over) -> Result<Slot, Fault> {
        let row = self.geometry.inner.last().map_or(1, |&a| self.geometry.loops[a].tile);
        let elements = match over {
            Over::One => 1,
            Over::Rows => self.tile / row,
            Over::Columns => row,
            Over::Points | Over::Apart(_) => self.tile,
        };
        self.slot(elements * dtype.size())
    }

    fn push(&mut self, instruction: Instruction) {
        self.last = None;
        self.finished.instructions.push(instruction);
    }

    /// The operand of a node. Nodes follow their operands, so this iterates in order instead of recursing.
    fn operand(&mut self, id: NodeId) -> Result<Operand, Fault> {
        let mut needed: SmallVec<[bool; 16]> = SmallVec::from_elem(false, id.0 as usize + 1);
        needed[id.0 as usize] = true;
        for n in (0..needed.len()).rev() {
            if needed[n] && self.nodes[n].is_none() {
                let mut need = |o: NodeId| needed[o.0 as usize] = true;
                let body = &self.lowering.nest.body;
                match (Window::of(body, n), self.threshold_of(n), Lookup::of(body, n)) {
                    (Some(window), ..) => window.operands().for_each(&mut need),
                    (_, Some(threshold), _) => threshold.operand().into_iter().for_each(&mut need),
                    (.., Some(lookup)) => need(lookup.numbers),
                    _ => match filled(body, n) {
                        Some(gather) => need(gather),
                        None => operands(&body[n]).for_each(&mut need),
                    },
                }
            }
        }
        for (n, needed) in needed.into_iter().enumerate() {
            if needed && self.nodes[n].is_none() {
                self.nodes[n] = Some(self.compute(n)?);
            }
        }
        self.nodes[id.0 as usize].ok_or(Fault::Reference)
    }

    /// The operand of a node that has been lowered.
    fn known(&self, id: NodeId) -> Result<Operand, Fault> {
        self.nodes[id.0 as usize].ok_or(Fault::Reference)
    }

    fn compute(&mut self, n: usize) -> Result<Operand, Fault> {
        let lowering = self.lowering;
        if let Some(window) = Window::of(&lowering.nest.body, n) {
            return self.window(window);
        }
        if let Some(threshold) = self.threshold_of(n) {
            if let Some(value) = self.threshold(&threshold)? {
                return Ok(value);
            }
            // It reads the index after all.
            operands(&lowering.nest.body[n]).try_for_each(|id| self.operand(id).map(drop))?;
        }
        match lowering.nest.body[n] {
            Node::Load(load) => self.load(load as usize),
            Node::Const(scalar) => {
                let slot = self.slot(0)?;
                self.finished.constants.push((slot, super::scalar_bits(scalar)));
                Ok(Operand { slot, dtype: scalar.dtype(), over: Over::One })
            }
            Node::Index { constant, .. } => {
                let steps = self.steps_of(n);
                self.index(constant, steps)
            }
            Node::Gather { base, dtype, offset, .. } => {
                if let Some(value) = self.lookup(n)? {
                    return Ok(value);
                }
                self.operand(offset)?;
                self.gather(n, base, dtype, offset)
            }
            Node::Unary(op, a) => {
                let (node, a) = (a, self.known(a)?);
                self.finished.nanoseconds +=
                    if a.over == Over::Points { unary_cost(op) } else { 0.0 };
                // A longer chain keeps it in registers.
                let chain = LinkOp::of_unary(op).is_some() && lowering.functions() > 2;
                if !(chain && tile::chains(a.dtype, lowering.level)) && self.join(op, node, a) {
                    return Ok(a);
                }
                let kernel = tile::unary(op, a.dtype, lowering.level).ok_or(Fault::Types)?;
                let value = self.map(kernel, op.result().of(a.dtype), [a; 3])?;
                self.note_unary(op, a.dtype);
                Ok(value)
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.known(a)?, self.known(b)?);
                self.binary(op, a, b)
            }
            Node::Select(_, a, _) if self.filled.contains(&(NodeId(n as u32), a)) => self.known(a),
            Node::Select(c, a, b) => {
                if filled(&lowering.nest.body, n).is_some() {
                    operands(&lowering.nest.body[n])
                        .try_for_each(|id| self.operand(id).map(drop))?;
                }
                let (c, a, b) = (self.known(c)?, self.known(a)?, self.known(b)?);
                self.select(c, a, b)
            }
            Node::Random { key, counter, lo, hi } => {
                let (counter, lo, hi) = (self.known(counter)?, self.known(lo)?, self.known(hi)?);
                self.random(key, counter, lo, hi)
            }
        }
    }

    /// Fuses a unary function into the last instruction, if that computes `node` and nothing else reads the node;
    /// returns true if it was fused.
    fn join(&mut self, then: UnaryOp, node: NodeId, value: Operand) -> bool {
        let Some(Binary { op, dtype, splats }) = self.last else { return false };
        let reads = |n: &Node| operands(n).filter(|&read| read == node).count();
        let once = self.lowering.nest.body.iter().map(reads).sum::<usize>() == 1;
        let joined = tile::joined((then, op), dtype, self.lowering.level, splats);
        match (joined, self.finished.instructions.last_mut()) {
            (Some(kernel), Some(Instruction::Map(map))) if once && map.dst == value.slot => {
                map.kernel = kernel;
                map.function = None;
                self.last = None;
                true
            }
            _ => false,
        }
    }

    /// Random numbers of a source with key `key`, made from `counter · step + start`.
    fn random(
        &mut self,
        key: u64,
        counter: Operand,
        lo: Operand,
        hi: Operand,
    ) -> Result<Operand, Fault> {
        let (step, start) = random::state(key);
        let (step, start) = (self.number(step as i64)?, self.number(start as i64)?);
        let state = self.binary(BinaryOp::Mul, counter, step)?;
        let state = self.binary(BinaryOp::Add, state, start)?;
        let same_bounds = lo.is_one() && hi.is_one();
        let over = state.over.join(lo.over).join(hi.over);
        let sources = match same_bounds {
            true => [state, lo, hi],
            false => [self.spread(state, over)?, self.spread(lo, over)?, self.spread(hi, over)?],
        };
        self.finished.nanoseconds += SLOW_FUNCTION;
        let kernel = tile::draws(lo.dtype, self.lowering.level, same_bounds);
        self.map(kernel.ok_or(Fault::Types)?, lo.dtype, sources)
    }

    /// An integer constant.
    fn number(&mut self, value: i64) -> Result<Operand, Fault> {
        let slot = self.slot(0)?;
        self.finished.constants.push((slot, super::scalar_bits(Scalar::I64(value))));
        Ok(Operand { slot, dtype: DType::I64, over: Over::One })
    }

    /// An instruction that applies a kernel: once for each value that all operands share.
    fn map(
        &mut self,
        kernel: TileKernel,
        dtype: DType,
        sources: [Operand; 3],
    ) -> Result<Operand, Fault> {
        let over = sources.iter().fold(Over::One, |over, source| over.join(source.over));
        self.map_to(kernel, dtype, sources, over)
    }

    /// An instruction with a result over `over`. Operands with fewer elements are constant within a call of the kernel.
    fn map_to(
        &mut self,
        kernel: TileKernel,
        dtype: DType,
        sources: [Operand; 3],
        over: Over,
    ) -> Result<Operand, Fault> {
        let dst = self.register(dtype, over)?;
        let source = |o: Operand| Source { slot: o.slot, over: o.over, size: o.dtype.size() };
        let sources = sources.map(source);
        let (size, function) = (dtype.size(), None);
        self.push(Instruction::Map(Map { kernel, dst, sources, size, over, function }));
        Ok(Operand { slot: dst, dtype, over })
    }

    /// Broadcasts an operand to at least as many elements as it has.
    fn spread(&mut self, operand: Operand, over: Over) -> Result<Operand, Fault> {
        if operand.over == over {
            return Ok(operand);
        }
        let known = |&&(of, own, _): &&(Slot, Over, Slot)| (of, own) == (operand.slot, over);
        if let Some(&(_, _, slot)) = self.full.iter().find(known) {
            return Ok(Operand { slot, over, ..operand });
        }
        let moves = moves(operand.dtype, self.lowering.level);
        let kernel = if operand.over.is_one_a_row() { moves.splat } else { moves.copy };
        let spread = self.map_to(kernel, operand.dtype, [operand; 3], over)?;
        self.full.push((operand.slot, over, spread.slot));
        Ok(spread)
    }

    /// Broadcasts an operand to one element for each point.
    fn whole(&mut self, operand: Operand) -> Result<Operand, Fault> {
        self.spread(operand, Over::Points)
    }

    /// Slot of an operand, broadcast to one element for each point.
    fn whole_slot(&mut self, operand: Operand) -> Result<Slot, Fault> {
        Ok(self.whole(operand)?.slot)
    }

    fn binary(&mut self, op: BinaryOp, a: Operand, b: Operand) -> Result<Operand, Fault> {
        let (op, a, b) = match op {
            BinaryOp::Gt => (BinaryOp::Lt, b, a),
            BinaryOp::Ge => (BinaryOp::Le, b, a),
            _ => (op, a, b),
        };
        let over = a.over.join(b.over);
        // Operands with one element in each call of the kernel.
        let is_splat = |x: &Operand| x.over != over && x.over.is_one_a_row();
        let mut sources = [a, b];
        if !tile::takes_splat(op, a.dtype) {
            for source in sources.iter_mut().filter(|x| is_splat(x)) {
                *source = self.spread(*source, over)?;
            }
        }
        let [a_splat, b_splat] = sources.each_ref().map(is_splat);
        let kernel = tile::binary(op, a.dtype, self.lowering.level, a_splat, b_splat);
        self.finished.nanoseconds +=
            if over == Over::Points { binary_cost(op, a.dtype) } else { 0.0 };
        let result = op.result().of(a.dtype);
        let sources = [sources[0], sources[1], sources[1]];
        let value = self.map(kernel.ok_or(Fault::Types)?, result, sources)?;
        self.last = Some(Binary { op, dtype: a.dtype, splats: (a_splat, b_splat) });
        self.note_binary(op, a.dtype, b);
        Ok(value)
    }
}

impl Instruction {
    fn dst(&self) -> Slot {
        match *self {
            Self::Map(Map { dst, .. })
            | Self::Select { map: Map { dst, .. }, .. }
            | Self::Index { dst, .. }
            | Self::Threshold { dst, .. }
            | Self::Gather { dst, .. } => dst,
            Self::Lookup(ref lookup) => lookup.dst,
            Self::Chain(ref chain) => chain.dst,
        }
    }

    /// The slots of all values that it writes.
    fn writes(&self) -> impl Iterator<Item = Slot> + '_ {
        let stored = match self {
            Self::Chain(chain) => &chain.stored[..],
            _ => &[],
        };
        stored.iter().copied().chain([self.dst()])
    }

    fn dst_mut(&mut self) -> &mut Slot {
        match self {
            Self::Map(Map { dst, .. })
            | Self::Select { map: Map { dst, .. }, .. }
            | Self::Index { dst, .. }
            | Self::Threshold { dst, .. }
            | Self::Gather { dst, .. } => dst,
            Self::Lookup(lookup) => &mut lookup.dst,
            Self::Chain(chain) => &mut chain.dst,
        }
    }

    fn sources(&self) -> Few<Slot> {
        match *self {
            Self::Map(Map { sources, .. }) | Self::Select { map: Map { sources, .. }, .. } => {
                sources.iter().map(|source| source.slot).collect()
            }
            Self::Index { .. } => Few::new(),
            Self::Threshold { other, .. } => other.iter().map(|source| source.slot).collect(),
            Self::Gather { offsets, .. } => smallvec![offsets],
            Self::Lookup(ref lookup) => smallvec![lookup.numbers],
            Self::Chain(ref chain) => {
                chain.links.iter().flat_map(|link| link.sources).map(|source| source.slot).collect()
            }
        }
    }
}

/// The operands of a node that is this function of two.
fn binary_of(nodes: &[Node], id: NodeId, wanted: BinaryOp) -> Option<(NodeId, NodeId)> {
    match nodes[id.0 as usize] {
        Node::Binary(op, x, y) if op == wanted => Some((x, y)),
        _ => None,
    }
}

/// The operands of a node.
pub(super) fn operands(node: &Node) -> impl Iterator<Item = NodeId> {
    let ids = match *node {
        Node::Load(_) | Node::Const(_) | Node::Index { .. } => [None; 3],
        Node::Gather { offset: a, .. } | Node::Unary(_, a) => [Some(a), None, None],
        Node::Binary(_, a, b) => [Some(a), Some(b), None],
        Node::Select(c, a, b) | Node::Random { counter: c, lo: a, hi: b, .. } => {
            [Some(c), Some(a), Some(b)]
        }
    };
    ids.into_iter().flatten()
}
