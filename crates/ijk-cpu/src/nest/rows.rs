//! Nests that move or add whole rows at computed places: `table[idx[n], c]`, `out[idx[n], c] += …`.
//!
//! Where a row is depends on the outer axes alone, so it is computed once for a row, and the inner
//! axes are one contiguous run on both sides.

use super::body::Body;
use super::kernel::{FoldKernels, Kernel};
use super::lower::Lowering;
use super::program::{OffsetCheck, Slot};
use crate::copy::{Copier, Side};
use crate::error::Fault;
use crate::lines::{LINE, prefetch_all};
use ijk_plan::plan::{Base, Nest, Node, NodeId, Start};
use ijk_types::{Monoid, Reducer, Scalar, scalar};
use std::ops::Range;

/// Runs shorter than this are not worth it.
const SHORT: usize = 8;

/// What a nest does with rows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RowPattern {
    /// Rows where it does not hold are filled, or left alone if nothing fills.
    pub mask: Option<NodeId>,
    /// The node that reads a row.
    source: NodeId,
    /// What rows hold before something is combined with them, and where the mask does not hold.
    fill: Option<Scalar>,
    /// How a row combines with what is there; `None` copies.
    combine: Option<Monoid>,
    /// The axes of a run, innermost last.
    pub run: Vec<usize>,
}

/// Rows, for a worker.
#[derive(Clone, Debug)]
pub(super) struct RowSpec {
    /// Bools, one a row.
    pub mask: Option<Slot>,
    /// Where rows are read: offsets from `source`.
    pub from: Slot,
    /// Where they are written: offsets from the output's origin.
    pub to: Slot,
    /// The buffer that is read, and bytes to the origin there.
    pub source: (usize, isize),
    /// Which offsets may be read; all, where they are affine.
    pub readable: Option<OffsetCheck>,
    /// Which may be written.
    pub writable: Option<OffsetCheck>,
    /// Elements of a row.
    pub length: usize,
    /// Bytes of an element.
    pub size: usize,
    /// What fills a row, with its kernel.
    pub fill: Option<([u64; 2], Kernel)>,
    /// What combines rows; `None` copies them.
    pub fold: Option<FoldKernels>,
    /// What combines the fill with a row, in one go.
    pub fresh: Option<Kernel>,
    /// What copies rows past the caches, where that pays.
    pub stream: Option<Copier>,
}

/// Rows ahead of the present one that are asked for: what the hardware cannot foresee.
const AHEAD: usize = 24;

/// Lines of a row that are asked for: the hardware goes on.
const LINES: usize = 8;

/// Elements that are moved between two questions whether the run is to end.
const MOST_MOVED: usize = 1 << 21;

/// Bytes of a row that streams, at least.
const LONG_ROW: usize = 256;

impl RowPattern {
    /// The pattern of a nest, if it is one of rows.
    pub fn of(lowering: &Lowering<'_>) -> Option<Self> {
        let Lowering { nest, checked, .. } = lowering;
        let mut value = NodeId(nest.body.len() as u32 - 1);
        let node = |id: NodeId| &nest.body[id.0 as usize];
        let constant = |id: NodeId| match node(id) {
            Node::Const(value) => Some(*value),
            _ => None,
        };
        let (mut mask, mut masked) = (None, None);
        if let Node::Select(c, x, other) = *node(value) {
            (mask, masked, value) = (Some(c), Some(constant(other)?), x);
        }
        let (mut fill, mut combine) = (masked, None);
        if let Node::Binary(op, start, x) = *node(value) {
            let monoid = Monoid::from_op(op)?;
            let start = constant(start)?;
            let same = start.same_bits(scalar::identity(monoid, start.dtype()));
            if !same || masked.is_some_and(|m| !m.same_bits(start)) || nest.reduce.is_some() {
                return None;
            }
            (fill, combine, value) = (Some(start), Some(monoid), x);
        }
        let gathers = matches!(node(value), Node::Gather { .. });
        let moves = gathers || matches!(node(value), Node::Load(_));
        if !moves || checked.in_place || !(gathers || nest.store.offset.is_some()) {
            return None;
        }
        match nest.reduce {
            None => {}
            Some(Reducer::Monoid(monoid)) => {
                let scatters = nest.store.offset.is_some() && nest.start == Start::Existing;
                if !scatters || masked.is_some_and(|m| !is_neutral(monoid, m)) {
                    return None;
                }
                (fill, combine) = (None, Some(monoid));
            }
            Some(_) => return None,
        }
        let run = run(lowering, mask, value);
        let length: usize = run.iter().map(|&a| checked.extents[a]).product();
        (length >= SHORT).then_some(Self { mask, source: value, fill, combine, run })
    }

    /// What a worker does, once offsets are computed by instructions of `body`.
    pub fn spec(&self, lowering: &Lowering<'_>, body: &mut Body<'_>) -> Result<RowSpec, Fault> {
        let Lowering { nest, checked, level, .. } = lowering;
        let (base, from) = match &nest.body[self.source.0 as usize] {
            Node::Gather { base, offset, .. } => {
                (*base, body.gather_offsets(self.source, *offset)?)
            }
            Node::Load(n) => (nest.loads[*n as usize].base, body.load_offsets(*n as usize)?),
            _ => return Err(Fault::Reference),
        };
        let dtype = nest.store.dtype;
        let length: usize = self.run.iter().map(|&a| checked.extents[a]).product();
        let rows = |base: Base| lowering.offset_check(base).of_rows(length);
        let gathers = matches!(nest.body[self.source.0 as usize], Node::Gather { .. });
        let moves = super::kernel::moves(dtype, *level);
        let fold = |m| super::kernel::fold(m, dtype, *level).ok_or(Fault::Types);
        let out = &lowering.layouts[nest.store.base.buffer.0 as usize];
        let affine = nest.store.offset.is_none() && length * dtype.size() >= LONG_ROW;
        let streams = out.streams && affine && self.combine.is_none();
        Ok(RowSpec {
            mask: self.mask.map(|mask| body.whole_node(mask)).transpose()?,
            from,
            to: body.store_offsets()?,
            source: (base.buffer.0 as usize, base.offset.wrapping_mul(dtype.size() as isize)),
            readable: gathers.then(|| rows(base)),
            writable: nest.store.offset.map(|_| rows(nest.store.base)),
            length,
            size: dtype.size(),
            fill: self.fill.map(|value| (super::scalar_bits(value), moves.splat)),
            fold: self.combine.map(fold).transpose()?,
            fresh: self
                .combine
                .filter(|_| self.fill.is_some())
                .and_then(|monoid| super::kernel::binary(monoid.op(), dtype, *level, true, false)),
            stream: streams.then(|| Copier::streaming(dtype, *level)),
        })
    }
}

/// Whether combining with this value changes nothing.
fn is_neutral(monoid: Monoid, value: Scalar) -> bool {
    let identity = scalar::identity(monoid, value.dtype());
    let equal = scalar::binary(ijk_types::BinaryOp::Eq, identity, value) == Ok(Scalar::Bool(true));
    match monoid {
        // Only -0.0 keeps -0.0.
        Monoid::Add if value.dtype().is_float() || value.dtype().is_complex() => {
            equal && !value.same_bits(identity)
        }
        Monoid::Mul => equal && !value.dtype().is_complex(),
        _ => equal,
    }
}

/// The axes, innermost last, along which a row is read and written contiguously and that nothing
/// else depends on.
fn run(lowering: &Lowering<'_>, mask: Option<NodeId>, source: NodeId) -> Vec<usize> {
    let Lowering { nest, checked, layouts, .. } = lowering;
    let (base, strides, offset) = match &nest.body[source.0 as usize] {
        Node::Gather { base, strides, offset, .. } => (*base, strides, Some(*offset)),
        Node::Load(n) => (nest.loads[*n as usize].base, &nest.loads[*n as usize].strides, None),
        _ => return Vec::new(),
    };
    let dense = |base: Base| {
        let footprint = layouts[base.buffer.0 as usize].footprint.as_ref();
        footprint.is_some_and(|f| f.dense().is_some())
    };
    if !dense(base) || !dense(nest.store.base) {
        return Vec::new();
    }
    let roots: Vec<NodeId> = [mask, offset, nest.store.offset].into_iter().flatten().collect();
    let mut run = Vec::new();
    let mut step = 1isize;
    loop {
        let fits = |a: &usize| {
            let contiguous = strides[*a] == step && nest.store.strides[*a] == step;
            checked.extents[*a] > 1 && contiguous && !depends(nest, &roots, *a)
        };
        let Some(axis) = (0..checked.extents.len()).find(fits) else { break };
        step *= checked.extents[axis] as isize;
        run.insert(0, axis);
    }
    run
}

/// Whether any of the nodes depends on an axis.
fn depends(nest: &Nest, roots: &[NodeId], axis: usize) -> bool {
    let mut dependent: Vec<bool> = Vec::with_capacity(nest.body.len());
    for node in &nest.body {
        let of = |id: &NodeId| dependent[id.0 as usize];
        dependent.push(match node {
            Node::Load(n) => nest.loads[*n as usize].strides[axis] != 0,
            Node::Const(_) => false,
            Node::Index { coefficients, .. } => coefficients[axis] != 0,
            Node::Gather { strides, offset, .. } => strides[axis] != 0 || of(offset),
            Node::Unary(_, x) => of(x),
            Node::Binary(_, x, y) => of(x) || of(y),
            Node::Select(x, y, z) | Node::Random { counter: x, lo: y, hi: z, .. } => {
                of(x) || of(y) || of(z)
            }
        });
    }
    roots.iter().any(|id| dependent[id.0 as usize])
}

impl RowSpec {
    /// Rows that are moved between two questions whether the run is to end.
    pub fn at_a_time(&self) -> usize {
        (MOST_MOVED / self.length).max(1)
    }

    /// The slots that it reads.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.mask.into_iter().chain([self.from, self.to])
    }

    /// Elements of the output that rows may reach, as offsets; all where they are affine.
    pub fn reach(&self) -> Range<i64> {
        match &self.writable {
            Some(OffsetCheck::Range { least, greatest, .. }) => {
                *least..greatest.saturating_add(self.length as i64)
            }
            _ => i64::MIN..i64::MAX,
        }
    }

    /// Moves the rows of a tile, in turn; of each what falls on the elements `own`.
    ///
    /// # Safety
    /// `mask`, `from` and `to` have an element for each of `points` rows; offsets were checked:
    /// rows of [`length`](Self::length) elements from there on are elements of `source` and `out`,
    /// the latter, as far as `own`, nobody else's.
    #[allow(clippy::too_many_arguments)]
    pub unsafe fn run(
        &self,
        points: usize,
        mask: Option<*const bool>,
        from: *const i64,
        to: *const i64,
        source: *const u8,
        out: *mut u8,
        own: &Range<i64>,
    ) {
        let bytes = self.size as isize;
        for n in 0..points {
            // SAFETY: `n < points`, and the caller's promises.
            unsafe {
                if n + AHEAD < points {
                    let (from, to) = (from.add(n + AHEAD).read(), to.add(n + AHEAD).read());
                    self.fetch((from, source), (to, out), own);
                }
                let to = to.add(n).read();
                let first = to.max(own.start);
                let length = (to + self.length as i64).min(own.end).saturating_sub(first);
                if length <= 0 {
                    continue;
                }
                let length = length as usize;
                let from = from.add(n).read() + (first - to);
                let row = source.wrapping_offset(from as isize * bytes);
                let out = out.wrapping_offset(first as isize * bytes);
                let counts = mask.is_none_or(|mask| mask.add(n).read());
                if let (Some(fresh), Some((value, _)), true) = (self.fresh, &self.fill, counts) {
                    fresh(length, out, value.as_ptr().cast(), row, row);
                    continue;
                }
                let copies = counts && self.fold.is_none();
                if let (Some((value, splat)), false) = (&self.fill, copies) {
                    let value = value.as_ptr().cast();
                    splat(length, out, value, value, value);
                }
                match &self.fold {
                    _ if !counts => {}
                    Some(fold) => (fold.down)(1, length, out, row),
                    None => self.copy_row(length, row, out),
                }
            }
        }
    }

    /// Copies a row.
    ///
    /// # Safety
    /// Both sides have `length` elements, and none in common.
    unsafe fn copy_row(&self, length: usize, from: *const u8, to: *mut u8) {
        let strides = &[self.size as isize];
        let (dst, src) = (Side { ptr: to, strides }, Side { ptr: from, strides });
        // SAFETY: the caller's promise.
        unsafe {
            match &self.stream {
                Some(copier) => copier.copy(&[length], dst, src),
                None => std::ptr::copy_nonoverlapping(from, to, length * self.size),
            }
        }
    }

    /// Asks for a row that will be moved, and for where it combines with what is there.
    #[inline(always)]
    fn fetch(&self, from: (i64, *const u8), to: (i64, *mut u8), own: &Range<i64>) {
        if to.0 >= own.end || to.0.saturating_add(self.length as i64) <= own.start {
            return;
        }
        let bytes = (self.length * self.size).min(LINES * LINE);
        let row = |(offset, base): (i64, *const u8)| {
            let row = base.wrapping_offset((offset as isize).wrapping_mul(self.size as isize));
            prefetch_all(row, bytes);
        };
        row(from);
        if self.fold.is_some() {
            row((to.0, to.1.cast_const()));
        }
    }
}
