//! Lowering of a row pattern to the program of a worker.

use super::super::body::{self, Body};
use super::super::lower::Lowering;
use super::super::scalar_bits;
use super::program::{Choice, RepeatedRow, RowOperand, RowProgram, RowStep};
use super::{ManyKernel, ManyRows, PrivateCopies, RowPattern, RowScalar, RowSource, RowSpec};
use crate::copy::Copier;
use crate::error::Fault;
use ijk_kernels::tile::{self, TileKernel};
use ijk_kernels::tuning::order::{
    INDEXED_ROW_PIECE_BYTES, SUM_COPIES, SUM_COPY_BYTES, SUM_COPY_LEAST, SUM_COPY_VALUES,
};
use ijk_kernels::tuning::time::{
    CHEAP_FUNCTION, LOADED_POINT, NON_TEMPORAL_ROW_BYTES, ROW_SUM_BYTES,
};
use ijk_plan::plan::{Base, Load, Node, NodeId};
use ijk_types::{BinaryOp, DType, UnaryOp, scalar};
use smallvec::SmallVec;

impl RowPattern {
    /// Elements of a row.
    pub fn length(&self, lowering: &Lowering<'_>) -> usize {
        self.run.iter().map(|&a| lowering.checked.extents[a]).product()
    }

    /// Most outputs of a tile, so that their sums stay in L1.
    pub fn outputs(&self, length: usize, size: usize) -> usize {
        let bytes = if self.along { size } else { length.saturating_mul(size) };
        (ROW_SUM_BYTES / bytes.max(1)).max(1)
    }

    /// The row specification; values that are constant within a row are computed by instructions of `body`. Also the
    /// estimated time of an element.
    pub fn spec(
        &self,
        lowering: &Lowering<'_>,
        body: &mut Body<'_>,
    ) -> Result<(RowSpec, f64), Fault> {
        let Lowering { nest, level, .. } = lowering;
        let dtype = *lowering.checked.types.last().ok_or(Fault::Reference)?;
        let length = self.length(lowering);
        let mask = self.mask.map(|mask| body.whole_node(mask)).transpose()?;
        let mut maker = Maker::new(self, lowering, body);
        let (program, nanoseconds) = match self.run[..] {
            [] => maker.single()?,
            _ => maker.program()?,
        };
        let (sources, scalars) = (maker.sources, maker.scalars);
        let to = if self.reduces { sources[0].from } else { body.store_offsets()? };
        let out = &lowering.layouts[nest.store.base.buffer.0 as usize];
        let affine = nest.store.offset.is_none() && length * dtype.size() >= NON_TEMPORAL_ROW_BYTES;
        let streams = out.streams && affine && self.combine.is_none();
        let fold = |m| tile::fold(m, dtype, *level).ok_or(Fault::Types);
        let fold = self.combine.map(fold).transpose()?;
        let splat = tile::moves(dtype, *level).splat;
        let fresh = self.combine.filter(|_| self.fill.is_some());
        let single = self.fill.is_some() || self.along;
        let many = if single { None } else { self.many(&program, dtype, lowering) };
        let mut spec = RowSpec {
            mask,
            to,
            sources,
            scalars,
            program,
            ascends: tile::ascends(*level),
            writable: nest.store.offset.map(|_| check(lowering, nest.store.base, length)),
            length,
            size: dtype.size(),
            fill: self.fill.map(|v| (scalar_bits(v), splat)),
            fold,
            many,
            along: self.along,
            fresh: fresh.and_then(|m| tile::binary(m.op(), dtype, *level, true, false)),
            copies: None,
            stream: streams.then(|| Copier::streaming(dtype, *level)),
            registers: 0,
        };
        let rounds = fold.is_some_and(|fold| fold.rounds);
        let values = lowering.checked.extents.iter().product();
        let parts = if rounds { sum_parts(&spec, dtype, values) } else { None };
        let copies = self.combine.filter(|_| !rounds || parts.is_some());
        spec.copies = copies.map(|monoid| PrivateCopies {
            empty: (scalar_bits(scalar::neutral(monoid, dtype)), splat),
            parts,
        });
        Ok((spec, nanoseconds))
    }

    /// The kernel that combines many rows in one call, if it suffices.
    fn many(
        &self,
        program: &RowProgram,
        dtype: DType,
        lowering: &Lowering<'_>,
    ) -> Option<ManyRows> {
        let (monoid, level) = (self.combine?, lowering.level);
        if self.run.is_empty() {
            let kernel = ManyKernel::Values(tile::fold(monoid, dtype, level)?.at);
            return Some(ManyRows { kernel, number: Some(0) });
        }
        let Node::Binary(BinaryOp::Mul, ..) = lowering.nest.body[self.value.0 as usize] else {
            let plain = program.value == RowOperand::Source(0);
            let kernel = ManyKernel::Rows(tile::fold_rows_to(monoid, dtype, level)?);
            return plain.then_some(ManyRows { kernel, number: None });
        };
        let [RowStep::Map { sources: [a, b, _], .. }] = program.steps[..] else { return None };
        let scale = match (a, b) {
            (RowOperand::Source(0), RowOperand::Scalar(n))
            | (RowOperand::Scalar(n), RowOperand::Source(0)) => n,
            _ => return None,
        };
        let kernel = ManyKernel::Rows(tile::fold_scaled_rows(monoid, dtype, level)?);
        Some(ManyRows { kernel, number: Some(scale) })
    }
}

/// Number of parts of sums that are rounded, if they are added up in copies of the output: a function of extents, so
/// that bits do not depend on threads.
fn sum_parts(rows: &RowSpec, dtype: DType, values: usize) -> Option<usize> {
    let reach = rows.reach();
    let elements = usize::try_from(reach.end.checked_sub(reach.start)?).ok()?;
    let small = elements.checked_mul(rows.size)? <= SUM_COPY_BYTES && values >= SUM_COPY_LEAST;
    let real = matches!(dtype, DType::F32 | DType::F64);
    let most = values / elements.saturating_mul(SUM_COPY_VALUES).max(1);
    let parts = 1 << most.min(SUM_COPIES).checked_ilog2()?;
    (small && real && parts > 1).then_some(parts)
}

/// The check of row offsets.
fn check(lowering: &Lowering<'_>, base: Base, length: usize) -> super::super::program::OffsetCheck {
    lowering.offset_check(base).of_rows(length)
}

/// Builder of the program of a row.
struct Maker<'a, 'b> {
    pattern: &'a RowPattern,
    lowering: &'a Lowering<'a>,
    body: &'a mut Body<'b>,
    sources: SmallVec<[RowSource; 4]>,
    scalars: SmallVec<[RowScalar; 4]>,
    program: RowProgram,
    /// Operand of each node, once lowered.
    operands: Vec<Option<RowOperand>>,
    /// Number of remaining readers of each node.
    uses: Vec<usize>,
    /// Registers without readers.
    free: Vec<usize>,
    /// The last step, if it is a function of two operands, with its splats.
    last: Option<(BinaryOp, DType, (bool, bool))>,
    nanoseconds: f64,
}

impl<'a, 'b> Maker<'a, 'b> {
    fn new(pattern: &'a RowPattern, lowering: &'a Lowering<'a>, body: &'a mut Body<'b>) -> Self {
        let nodes = &lowering.nest.body;
        let mut uses = vec![0; nodes.len()];
        uses[pattern.value.0 as usize] = 1;
        for n in (0..nodes.len()).rev().filter(|&n| pattern.by_element[n]) {
            if uses[n] > 0 && !matches!(nodes[n], Node::Gather { .. }) {
                body::operands(&nodes[n]).for_each(|o| uses[o.0 as usize] += 1);
            }
        }
        Self {
            pattern,
            lowering,
            body,
            sources: SmallVec::new(),
            scalars: SmallVec::new(),
            program: RowProgram { largest: 1, ..RowProgram::default() },
            operands: vec![None; nodes.len()],
            uses,
            free: Vec::new(),
            last: None,
            nanoseconds: 0.0,
        }
    }

    /// The program, and the estimated time of an element.
    fn program(&mut self) -> Result<(RowProgram, f64), Fault> {
        let value = self.pattern.value.0 as usize;
        self.program.largest = self.type_of(value).size();
        for n in 0..=value {
            if self.uses[n] > 0 && self.pattern.by_element[n] {
                let operand = self.node(n)?;
                self.operands[n] = Some(operand);
            }
        }
        self.program.value = self.operands[value].ok_or(Fault::Reference)?;
        if matches!(self.program.value, RowOperand::Repeated(..)) {
            // The value is the row of an array itself, and that is the only one.
            self.program.repeated.clear();
            self.program.value = RowOperand::Source(0);
        }
        // The last step writes the value to its destination.
        if let Some(step) = self.program.steps.last_mut() {
            match step {
                RowStep::Map { dst, .. } | RowStep::Choose { dst, .. } => *dst = RowOperand::Value,
            }
            self.program.value = RowOperand::Value;
        }
        Ok((std::mem::take(&mut self.program), self.nanoseconds))
    }

    /// The program of rows of one element: the value is a scalar that instructions compute.
    fn single(&mut self) -> Result<(RowProgram, f64), Fault> {
        let slot = self.body.whole_node(self.pattern.value)?;
        let size = self.type_of(self.pattern.value.0 as usize).size();
        self.scalars.push(RowScalar { slot, size });
        let program =
            RowProgram { value: RowOperand::Scalar(0), largest: size, ..RowProgram::default() };
        Ok((program, 0.0))
    }

    fn type_of(&self, n: usize) -> DType {
        self.lowering.checked.types[n]
    }

    /// Lowers a node that has a value for each element.
    fn node(&mut self, n: usize) -> Result<RowOperand, Fault> {
        let (nest, level) = (self.lowering.nest, self.lowering.level);
        match nest.body[n] {
            Node::Load(load) => {
                let from = self.body.load_offsets(load as usize)?;
                let source = self.source(from, nest.loads[load as usize].base, n, false);
                Ok(self.repeated(&nest.loads[load as usize], source))
            }
            Node::Gather { base, offset, .. } => {
                let from = self.body.gather_offsets(NodeId(n as u32), offset)?;
                Ok(self.source(from, base, n, true))
            }
            Node::Unary(op, x) => self.unary(op, x, n),
            Node::Binary(op, a, b) => self.binary(op, (a, b), n),
            Node::Select(c, a, b) => {
                let t = self.type_of(n);
                let moves = tile::moves(t, level);
                let [condition, yes, no] = self.operands_of([c, a, b])?;
                self.nanoseconds += CHEAP_FUNCTION;
                if condition.is_one() {
                    let dst = self.register(t, [c, a, b]);
                    let (sources, copy, splat) = ([yes, no], moves.copy, moves.splat);
                    let kernels = Choice { copy, splat };
                    self.push(RowStep::Choose { condition, dst, sources, kernels });
                    return Ok(dst);
                }
                let (yes, no) = (self.spread(yes, t), self.spread(no, t));
                let dst = self.register(t, [c, a, b]);
                self.release([yes, no], [a, b]);
                self.map(moves.select, dst, [condition, yes, no]);
                Ok(dst)
            }
            Node::Const(_) | Node::Index { .. } | Node::Random { .. } => Err(Fault::Reference),
        }
    }

    /// An array whose rows are read.
    fn source(
        &mut self,
        from: super::super::program::Slot,
        base: Base,
        n: usize,
        gathers: bool,
    ) -> RowOperand {
        let size = self.type_of(n).size();
        let array = (base.buffer.0 as usize, base.offset.wrapping_mul(size as isize));
        let length = self.pattern.length(self.lowering);
        let readable = gathers.then(|| check(self.lowering, base, length));
        self.sources.push(RowSource { from, array, size, readable });
        self.nanoseconds += LOADED_POINT;
        RowOperand::Source(self.sources.len() - 1)
    }

    /// The operand that repeats the row of a load, if that is the same for all rows, several of which fit a register.
    fn repeated(&mut self, load: &Load, source: RowOperand) -> RowOperand {
        let constant =
            |(axis, &step): (usize, &isize)| step == 0 || self.pattern.run.contains(&axis);
        let constant = load.strides.iter().enumerate().all(constant);
        let length = self.pattern.length(self.lowering);
        let size = load.dtype.size();
        let room = INDEXED_ROW_PIECE_BYTES / size.max(self.program.largest);
        match source {
            RowOperand::Source(source) if constant && 2 * length <= room => {
                self.program.largest = self.program.largest.max(size);
                let register = self.program.registers;
                self.program.registers += 1;
                self.program.repeated.push(RepeatedRow { source, register });
                RowOperand::Repeated(register, size)
            }
            _ => source,
        }
    }

    fn unary(&mut self, op: UnaryOp, x: NodeId, n: usize) -> Result<RowOperand, Fault> {
        let (level, t) = (self.lowering.level, self.type_of(x.0 as usize));
        let [a] = self.operands_of([x])?;
        self.nanoseconds += body::unary_cost(op);
        let joined = self.last.take().filter(|_| self.uses[x.0 as usize] == 1);
        let joined =
            joined.and_then(|(first, t, splats)| tile::joined((op, first), t, level, splats));
        if let (Some(joined), Some(RowStep::Map { kernel, dst, .. })) =
            (joined, self.program.steps.last_mut())
            && *dst == a
        {
            *kernel = joined;
            return Ok(a);
        }
        let kernel = tile::unary(op, t, level).ok_or(Fault::Types)?;
        let dst = self.register(self.type_of(n), [x]);
        self.map(kernel, dst, [a; 3]);
        Ok(dst)
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        (a, b): (NodeId, NodeId),
        n: usize,
    ) -> Result<RowOperand, Fault> {
        let (op, a, b) = match op {
            BinaryOp::Gt => (BinaryOp::Lt, b, a),
            BinaryOp::Ge => (BinaryOp::Le, b, a),
            _ => (op, a, b),
        };
        let (level, t) = (self.lowering.level, self.type_of(a.0 as usize));
        let [mut x, mut y] = self.operands_of([a, b])?;
        if !tile::takes_splat(op, t) {
            (x, y) = (self.spread(x, t), self.spread(y, t));
        }
        let splats = (x.is_one(), y.is_one());
        let kernel = tile::binary(op, t, level, splats.0, splats.1).ok_or(Fault::Types)?;
        self.nanoseconds += body::binary_cost(op, t);
        let dst = self.register(self.type_of(n), [a, b]);
        self.release([x, y], [a, b]);
        self.map(kernel, dst, [x, y, y]);
        self.last = Some((op, t, splats));
        Ok(dst)
    }

    /// The operands of nodes.
    fn operands_of<const N: usize>(&mut self, ids: [NodeId; N]) -> Result<[RowOperand; N], Fault> {
        let mut operands = [RowOperand::Value; N];
        for (operand, id) in operands.iter_mut().zip(ids) {
            *operand = match self.operands[id.0 as usize] {
                Some(known) => known,
                None => self.one(id)?,
            };
        }
        Ok(operands)
    }

    /// Returns true if the value is a product that the kernel of many rows supports, whose factor is then a scalar for
    /// each row.
    fn scales(&self) -> bool {
        let value = &self.lowering.nest.body[self.pattern.value.0 as usize];
        self.pattern.combine.is_some() && matches!(value, Node::Binary(BinaryOp::Mul, ..))
    }

    /// Lowers a node that has one value for a row.
    fn one(&mut self, id: NodeId) -> Result<RowOperand, Fault> {
        let n = id.0 as usize;
        let operand = match self.lowering.nest.body[n] {
            Node::Const(value) if !self.scales() => {
                self.program.constants.push(scalar_bits(value));
                RowOperand::Constant(self.program.constants.len() - 1)
            }
            _ => {
                let slot = self.body.whole_node(id)?;
                self.scalars.push(RowScalar { slot, size: self.type_of(n).size() });
                RowOperand::Scalar(self.scalars.len() - 1)
            }
        };
        self.operands[n] = Some(operand);
        Ok(operand)
    }

    /// The operand with a value for each element.
    fn spread(&mut self, operand: RowOperand, t: DType) -> RowOperand {
        if !operand.is_one() {
            return operand;
        }
        let dst = self.register::<0>(t, []);
        let kernel: TileKernel = tile::moves(t, self.lowering.level).splat;
        self.map(kernel, dst, [operand; 3]);
        dst
    }

    /// A register for the result of a step on some nodes. It is distinct from theirs, which are freed after their last
    /// use.
    fn register<const N: usize>(&mut self, t: DType, of: [NodeId; N]) -> RowOperand {
        self.program.largest = self.program.largest.max(t.size());
        let register = self.free.pop().unwrap_or_else(|| {
            self.program.registers += 1;
            self.program.registers - 1
        });
        for id in of {
            let uses = &mut self.uses[id.0 as usize];
            *uses = uses.saturating_sub(1);
            if let (0, Some(RowOperand::Register(n, _))) = (*uses, self.operands[id.0 as usize]) {
                self.free.push(n);
            }
        }
        RowOperand::Register(register, t.size())
    }

    /// Frees registers to which operands were broadcast.
    fn release(&mut self, spread: [RowOperand; 2], of: [NodeId; 2]) {
        for (operand, id) in spread.into_iter().zip(of) {
            if let (RowOperand::Register(n, _), Some(known)) =
                (operand, self.operands[id.0 as usize])
                && known != operand
            {
                self.free.push(n);
            }
        }
    }

    fn map(&mut self, kernel: TileKernel, dst: RowOperand, sources: [RowOperand; 3]) {
        let by_row = sources.iter().any(|source| source.is_by_row());
        self.push(RowStep::Map { kernel, dst, sources, by_row });
    }

    fn push(&mut self, step: RowStep) {
        self.last = None;
        self.program.steps.push(step);
    }
}
