//! From the nodes of a body to instructions over slots.

use super::geometry::{Axis, Geometry};
use super::kernel::{self, Kernel, moves};
use super::lower::{Lowering, aligned, is_dense, place};
use super::program::*;
use crate::copy::Copier;
use crate::error::Fault;
use ijk_plan::plan::{Base, Node, NodeId};
use ijk_types::{BinaryOp, DType, Scalar, random};
use std::collections::HashMap;

/// A body on its way to instructions.
pub(super) struct Body<'a> {
    lowering: &'a Lowering<'a>,
    geometry: &'a Geometry,
    /// Points of a whole tile.
    tile: usize,
    /// What each node became, once needed.
    nodes: Vec<Option<Operand>>,
    /// For each slot, the bytes of scratch memory it needs.
    slots: Vec<usize>,
    /// For each load, its slot once needed.
    load_slots: Vec<Option<Slot>>,
    /// Splats written out, by slot.
    full: HashMap<Slot, Slot>,
    finished: Finished,
}

/// The value of a node in a tile.
#[derive(Clone, Copy, Debug)]
struct Operand {
    slot: Slot,
    dtype: DType,
    /// Whether it is one element for the whole tile.
    splat: bool,
}

/// A body as instructions.
#[derive(Default)]
pub(super) struct Finished {
    pub loads: Vec<LoadSpec>,
    pub constants: Vec<(Slot, [u64; 2])>,
    pub registers: Vec<(Slot, usize)>,
    pub instructions: Vec<Instruction>,
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
            nodes: vec![None; lowering.nest.body.len()],
            slots: vec![0],
            load_slots: vec![None; lowering.nest.loads.len()],
            full: HashMap::new(),
            finished: Finished { nanoseconds: STORE, ..Finished::default() },
        }
    }

    /// The slot of the nest's value, one element for each point of a tile.
    pub fn value(&mut self) -> Result<Slot, Fault> {
        let last = NodeId(self.nodes.len() as u32 - 1);
        let value = self.operand(last)?;
        self.whole_slot(value)
    }

    /// The nest only moves a load, which needs a place and no slot: it is the first in the list.
    pub fn move_only(&mut self, load: usize) {
        self.finished.nanoseconds += LOAD;
        let spec = self.load_spec(load, OUT, LoadMode::Direct);
        self.finished.loads.push(spec);
    }

    /// The slot of the element offsets that values are stored at.
    pub fn store_offsets(&mut self) -> Result<Slot, Fault> {
        let steps = self.geometry.loops.iter().map(|l| l.axis.store as i64).collect();
        let affine = self.index(0, steps)?;
        let total = match self.lowering.nest.store.offset {
            None => affine,
            Some(offset) => {
                let computed = self.operand(offset)?;
                self.binary(BinaryOp::Add, affine, computed)?
            }
        };
        self.whole_slot(total)
    }

    /// Whether the last instruction computes a value, one element for each point.
    pub fn computes_last(&self, value: Slot) -> bool {
        let last = self.finished.instructions.last();
        matches!(last, Some(&Instruction::Map { dst, splat: false, .. }) if dst == value)
    }

    /// Makes the last instruction write into the output.
    pub fn redirect(&mut self, value: Slot) -> Slot {
        let last = self.finished.instructions.last_mut();
        let dst = last.and_then(|last| last.dst_mut().into()).filter(|dst| **dst == value);
        match dst {
            Some(dst) => *dst = OUT,
            None => {
                let dtype = self.lowering.nest.store.dtype;
                let kernel = moves(dtype, self.lowering.level).copy;
                let steps = [dtype.size(); 3];
                let sources = [value; 3];
                self.push(Instruction::Map { kernel, dst: OUT, sources, steps, splat: false });
            }
        }
        OUT
    }

    /// Allots registers.
    pub fn finish(mut self, value: Slot, sink: &Sink) -> Result<Finished, Fault> {
        let end = self.finished.instructions.len() + 1;
        let mut last_use = vec![0; self.slots.len()];
        for (n, instruction) in self.finished.instructions.iter().enumerate() {
            for slot in instruction.sources().into_iter().chain([instruction.dst()]) {
                last_use[slot as usize] = n + 1;
            }
        }
        last_use[value as usize] = end;
        match sink {
            Sink::Scatter { offsets, .. } => last_use[*offsets as usize] = end,
            Sink::Rows(rows) => rows.slots().for_each(|slot| last_use[slot as usize] = end),
            _ => {}
        }
        self.allot(&last_use);
        self.finished.slots = self.slots.len();
        Ok(self.finished)
    }

    /// Gives each slot that needs memory a place that no slot in use at the same time has.
    fn allot(&mut self, last_use: &[usize]) {
        let mut free: Vec<(usize, usize)> = Vec::new();
        let mut used: Vec<(usize, usize, usize)> = Vec::new();
        let packed: Vec<Slot> = self.finished.loads.iter().map(|l| l.slot).collect();
        let computed = self.finished.instructions.iter().map(Instruction::dst);
        let defined = packed.into_iter().map(|s| (0, s));
        let defined: Vec<(usize, Slot)> =
            defined.chain(computed.enumerate().map(|(n, s)| (n + 1, s))).collect();
        for (now, slot) in defined {
            let bytes = self.slots[slot as usize];
            if bytes == 0 {
                continue;
            }
            let (over, still): (Vec<_>, Vec<_>) = used.into_iter().partition(|u| u.0 < now);
            free.extend(over.into_iter().map(|(_, at, bytes)| (at, bytes)));
            used = still;
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

    /// A new slot for `n` elements.
    fn slot(&mut self, bytes: usize) -> Result<Slot, Fault> {
        let slot = Slot::try_from(self.slots.len()).map_err(|_| Fault::TooLarge)?;
        self.slots.push(aligned(bytes));
        Ok(slot)
    }

    /// A register for a result.
    fn register(&mut self, dtype: DType, splat: bool) -> Result<Slot, Fault> {
        let elements = if splat { 1 } else { self.tile };
        self.slot(elements * dtype.size())
    }

    fn push(&mut self, instruction: Instruction) {
        self.finished.instructions.push(instruction);
    }

    /// The operand of a node. Nodes come after their operands, so this goes through them in order
    /// instead of recursing.
    fn operand(&mut self, id: NodeId) -> Result<Operand, Fault> {
        let mut needed = vec![false; id.0 as usize + 1];
        needed[id.0 as usize] = true;
        for n in (0..needed.len()).rev() {
            if needed[n] && self.nodes[n].is_none() {
                operands(&self.lowering.nest.body[n]).for_each(|o| needed[o.0 as usize] = true);
            }
        }
        for (n, needed) in needed.into_iter().enumerate() {
            if needed && self.nodes[n].is_none() {
                self.nodes[n] = Some(self.compute(n)?);
            }
        }
        self.nodes[id.0 as usize].ok_or(Fault::Reference)
    }

    /// A node that has been computed.
    fn known(&self, id: NodeId) -> Result<Operand, Fault> {
        self.nodes[id.0 as usize].ok_or(Fault::Reference)
    }

    fn compute(&mut self, n: usize) -> Result<Operand, Fault> {
        let lowering = self.lowering;
        match lowering.nest.body[n] {
            Node::Load(load) => self.load(load as usize),
            Node::Const(scalar) => {
                let slot = self.slot(0)?;
                self.finished.constants.push((slot, super::scalar_bits(scalar)));
                Ok(Operand { slot, dtype: scalar.dtype(), splat: true })
            }
            Node::Index { constant, .. } => {
                let steps = self.steps_of(n);
                self.index(constant, steps)
            }
            Node::Gather { base, dtype, offset, .. } => self.gather(n, base, dtype, offset),
            Node::Unary(op, a) => {
                let a = self.known(a)?;
                let kernel = kernel::unary(op, a.dtype, lowering.level).ok_or(Fault::Types)?;
                self.finished.nanoseconds += if a.splat { 0.0 } else { unary_cost(op) };
                self.map(kernel, op.result().of(a.dtype), [a; 3])
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.known(a)?, self.known(b)?);
                self.binary(op, a, b)
            }
            Node::Select(c, a, b) => {
                let (c, a, b) = (self.known(c)?, self.known(a)?, self.known(b)?);
                self.select(c, a, b)
            }
            Node::Random { key, counter, lo, hi } => {
                let (counter, lo, hi) = (self.known(counter)?, self.known(lo)?, self.known(hi)?);
                self.random(key, counter, lo, hi)
            }
        }
    }

    /// Numbers of a source, made from `counter · step + start`.
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
        let same_bounds = lo.splat && hi.splat;
        let sources = match (state.splat, same_bounds) {
            (true, true) => [state, lo, hi],
            (_, true) => [self.whole(state)?, lo, hi],
            _ => [self.whole(state)?, self.whole(lo)?, self.whole(hi)?],
        };
        self.finished.nanoseconds += DEAR;
        let kernel = kernel::draws(lo.dtype, self.lowering.level, same_bounds);
        self.map(kernel.ok_or(Fault::Types)?, lo.dtype, sources)
    }

    /// An integer constant.
    fn number(&mut self, value: i64) -> Result<Operand, Fault> {
        let slot = self.slot(0)?;
        self.finished.constants.push((slot, super::scalar_bits(Scalar::I64(value))));
        Ok(Operand { slot, dtype: DType::I64, splat: true })
    }

    /// An instruction that applies a kernel: to one element, where all operands are splats.
    fn map(
        &mut self,
        kernel: Kernel,
        dtype: DType,
        sources: [Operand; 3],
    ) -> Result<Operand, Fault> {
        let splat = sources.iter().all(|source| source.splat);
        self.map_to(kernel, dtype, sources, splat)
    }

    /// An instruction that gives one element, or one for each point.
    fn map_to(
        &mut self,
        kernel: Kernel,
        dtype: DType,
        sources: [Operand; 3],
        splat: bool,
    ) -> Result<Operand, Fault> {
        let dst = self.register(dtype, splat)?;
        let steps = sources.map(|source| if source.splat { 0 } else { source.dtype.size() });
        let sources = sources.map(|source| source.slot);
        self.push(Instruction::Map { kernel, dst, sources, steps, splat });
        Ok(Operand { slot: dst, dtype, splat })
    }

    /// An operand with one element for each point.
    fn whole(&mut self, operand: Operand) -> Result<Operand, Fault> {
        if !operand.splat {
            return Ok(operand);
        }
        if let Some(&slot) = self.full.get(&operand.slot) {
            return Ok(Operand { slot, splat: false, ..operand });
        }
        let kernel = moves(operand.dtype, self.lowering.level).splat;
        let whole = self.map_to(kernel, operand.dtype, [operand; 3], false)?;
        self.full.insert(operand.slot, whole.slot);
        Ok(whole)
    }

    /// Its slot.
    fn whole_slot(&mut self, operand: Operand) -> Result<Slot, Fault> {
        Ok(self.whole(operand)?.slot)
    }

    fn binary(&mut self, op: BinaryOp, a: Operand, b: Operand) -> Result<Operand, Fault> {
        let (op, a, b) = match op {
            BinaryOp::Gt => (BinaryOp::Lt, b, a),
            BinaryOp::Ge => (BinaryOp::Le, b, a),
            _ => (op, a, b),
        };
        let splat = a.splat && b.splat;
        let either = (a.splat || b.splat) && !splat;
        let as_splat = either && kernel::takes_splat(op, a.dtype);
        let sources = match either && !as_splat {
            true => [self.whole(a)?, self.whole(b)?],
            false => [a, b],
        };
        let (a_splat, b_splat) = (as_splat && a.splat, as_splat && b.splat);
        let kernel = kernel::binary(op, a.dtype, self.lowering.level, a_splat, b_splat);
        self.finished.nanoseconds += if splat { 0.0 } else { binary_cost(op, a.dtype) };
        let result = op.result().of(a.dtype);
        self.map(kernel.ok_or(Fault::Types)?, result, [sources[0], sources[1], sources[1]])
    }

    fn select(&mut self, c: Operand, a: Operand, b: Operand) -> Result<Operand, Fault> {
        let splat = c.splat && a.splat && b.splat;
        let sources = match splat {
            true => [c, a, b],
            false => [self.whole(c)?, self.whole(a)?, self.whole(b)?],
        };
        self.finished.nanoseconds += CHEAP;
        self.map(moves(a.dtype, self.lowering.level).select, a.dtype, sources)
    }

    fn index(&mut self, constant: i64, steps: Vec<i64>) -> Result<Operand, Fault> {
        let inner: Vec<i64> = self.geometry.inner.iter().map(|&a| steps[a]).collect();
        let splat = inner.iter().all(|&s| s == 0);
        let dst = self.register(DType::I64, splat)?;
        let iota = kernel::iota(self.lowering.level);
        self.push(Instruction::Index { dst, constant, steps, inner, iota, splat });
        self.finished.nanoseconds += if splat { 0.0 } else { CHEAP };
        Ok(Operand { slot: dst, dtype: DType::I64, splat })
    }

    /// The steps of a node that computes an index or a place, along each loop.
    fn steps_of(&self, n: usize) -> Vec<i64> {
        let which = self.lowering.nest.body[..n].iter().filter(|n| is_index(n)).count();
        self.geometry.loops.iter().map(|l| l.axis.indices[which]).collect()
    }

    /// Offsets of elements along loops, from affine steps and what else is computed.
    fn offsets(&mut self, steps: Vec<i64>, computed: Operand) -> Result<Operand, Fault> {
        if steps.iter().all(|&step| step == 0) {
            return Ok(computed);
        }
        let affine = self.index(0, steps)?;
        self.binary(BinaryOp::Add, affine, computed)
    }

    /// The slot of the offsets that a gather reads at.
    pub fn gather_offsets(&mut self, id: NodeId, offset: NodeId) -> Result<Slot, Fault> {
        let computed = self.operand(offset)?;
        let offsets = self.offsets(self.steps_of(id.0 as usize), computed)?;
        self.whole_slot(offsets)
    }

    /// The slot of the offsets that a load reads at.
    pub fn load_offsets(&mut self, n: usize) -> Result<Slot, Fault> {
        let steps = self.geometry.loops.iter().map(|l| l.axis.loads[n] as i64).collect();
        let offsets = self.index(0, steps)?;
        self.whole_slot(offsets)
    }

    /// The slot of a node, one element for each point of a tile.
    pub fn whole_node(&mut self, id: NodeId) -> Result<Slot, Fault> {
        let operand = self.operand(id)?;
        self.whole_slot(operand)
    }

    fn gather(
        &mut self,
        n: usize,
        base: Base,
        dtype: DType,
        offset: NodeId,
    ) -> Result<Operand, Fault> {
        let computed = self.known(offset)?;
        let Operand { slot: offsets, splat, .. } = self.offsets(self.steps_of(n), computed)?;
        let array = place(self.lowering, self.geometry, base, |_| 0);
        let range = self.lowering.offset_check(base);
        let moves = moves(dtype, self.lowering.level);
        let dst = self.register(dtype, splat)?;
        self.push(Instruction::Gather { dst, offsets, array, moves, range, splat });
        self.finished.nanoseconds += GATHER;
        Ok(Operand { slot: dst, dtype, splat })
    }

    fn load(&mut self, n: usize) -> Result<Operand, Fault> {
        let dtype = self.lowering.nest.loads[n].dtype;
        let probe = self.load_spec(n, OUT, LoadMode::Direct);
        let splat = probe.place.inner.iter().all(|&s| s == 0);
        if let Some(slot) = self.load_slots[n] {
            return Ok(Operand { slot, dtype, splat });
        }
        let direct = splat || is_dense(self.geometry, &probe.place.inner, dtype.size());
        let slot = if direct { self.slot(0)? } else { self.register(dtype, false)? };
        let mode = match direct {
            true => LoadMode::Direct,
            false => LoadMode::Pack(Copier::new(dtype, self.lowering.level)),
        };
        self.finished.nanoseconds += if direct { LOAD * dtype.size() as f64 / 4.0 } else { PACK };
        self.finished.loads.push(LoadSpec { slot, mode, ..probe });
        self.load_slots[n] = Some(slot);
        Ok(Operand { slot, dtype, splat })
    }

    fn load_spec(&self, n: usize, slot: Slot, mode: LoadMode) -> LoadSpec {
        let base = self.lowering.nest.loads[n].base;
        let place = place(self.lowering, self.geometry, base, |axis: &Axis| axis.loads[n]);
        LoadSpec { place, slot, mode, size: self.lowering.nest.loads[n].dtype.size() }
    }
}

impl Instruction {
    fn dst(&self) -> Slot {
        match *self {
            Self::Map { dst, .. } | Self::Index { dst, .. } | Self::Gather { dst, .. } => dst,
        }
    }

    fn dst_mut(&mut self) -> &mut Slot {
        match self {
            Self::Map { dst, .. } | Self::Index { dst, .. } | Self::Gather { dst, .. } => dst,
        }
    }

    fn sources(&self) -> Vec<Slot> {
        match *self {
            Self::Map { sources, .. } => sources.into(),
            Self::Index { .. } => Vec::new(),
            Self::Gather { offsets, .. } => vec![offsets],
        }
    }
}

/// The operands of a node.
fn operands(node: &Node) -> impl Iterator<Item = NodeId> {
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

fn is_index(node: &Node) -> bool {
    matches!(node, Node::Index { .. } | Node::Gather { .. })
}

/// Nanoseconds for a point, roughly: what decides whether threads are worth waking.
const STORE: f64 = 0.1;
const LOAD: f64 = 0.1;
const PACK: f64 = 0.4;
const CHEAP: f64 = 0.05;
const GATHER: f64 = 1.0;
const DEAR: f64 = 0.6;

fn unary_cost(op: ijk_types::UnaryOp) -> f64 {
    use ijk_types::UnaryOp::*;
    match op {
        Neg | Abs | Sign | Floor | Ceil | Round | Not | Conj | Re | Im | Cast(_) => CHEAP,
        _ => DEAR,
    }
}

fn binary_cost(op: BinaryOp, t: DType) -> f64 {
    if kernel::takes_splat(op, t) { CHEAP } else { 4.0 * DEAR }
}
