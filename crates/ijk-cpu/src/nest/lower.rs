//! Lowering of a checked nest to a tile program.

use super::body::Body;
use super::geometry::{Axis, Geometry};
use super::one_tile::OneTile;
use super::order::{Order, order};
use super::program::*;
use super::rows::RowPattern;
use crate::Few;
use crate::check::{CheckedNest, Layout};
use crate::copy::Copier;
use crate::error::Fault;
use ijk_kernels::lines::LINE;
use ijk_kernels::simd::Level;
use ijk_kernels::tile::{
    COUNTED_LANES, Compare, CountKernels, FoldKernels, LinkOp, arg, chains, counts, fold, moves,
};
use ijk_kernels::tuning::order::{
    REDUCTION_CHUNK_POINTS, REDUCTION_CHUNKS, SEQUENTIAL_FOLDS, SEQUENTIAL_VALUES, TILE_POINTS,
    UNCHUNKED_BLOCKS,
};
use ijk_kernels::tuning::time::{
    INDEXED_ROW, INDEXED_ROW_ELEMENT, NON_TEMPORAL_ROW_BYTES, STORED_IN_PLACE_ROW,
};
use ijk_plan::plan::{Base, Nest, Node, NodeId, Start};
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, UnaryOp, scalar};

/// A nest during its lowering.
pub(super) struct Lowering<'a> {
    pub nest: &'a Nest,
    pub checked: &'a CheckedNest,
    pub layouts: &'a [Layout],
    pub level: Level,
}

impl Lowering<'_> {
    /// Lowers the nest, whose domain is not empty.
    pub fn lower(&self) -> Result<TileNest, Fault> {
        let nest = self.tiles()?;
        Ok(TileNest { one_tile: OneTile::of(&nest), ..nest })
    }

    /// The program of its tiles.
    fn tiles(&self) -> Result<TileNest, Fault> {
        if let Some(pattern) = RowPattern::of(self) {
            return self.rows(&pattern);
        }
        let order = order(self.nest, self.checked);
        let ordered = order == Order::Points;
        let axes = self.axes(ordered, &[], self.separable(ordered));
        let mut geometry = match order {
            Order::Columns => Geometry::columns(axes),
            _ => self.tiled(axes, ordered),
        };
        let blocks: Few<usize> =
            geometry.loops.iter().map(|l| l.axis.extent.div_ceil(l.tile)).collect();
        let out = place(self, &geometry, self.nest.store.base, |axis| axis.store);
        let mut body = Body::new(self, &geometry);
        let (value, sink) = self.sink(&mut body, &geometry, &out, &blocks, ordered)?;
        let plain = order == Order::Free && self.nest.reduce.is_none();
        let along = body.gathers_along().filter(|_| plain);
        let mut finished = body.finish(value, &sink, along)?;
        if let Some(along) = along {
            geometry.kept.retain(|a| *a != along);
            geometry.kept.push(along);
        }
        let points = geometry.loops.iter().map(|l| l.tile).product();
        let sink = with_chain(sink, &finished.instructions, value);
        let sink = with_accumulators(sink, points, &mut finished.scratch);
        let separable = |a: &&usize| geometry.loops[**a].axis.separable;
        let parallel = geometry.kept.iter().take_while(separable).count();
        Ok(TileNest {
            cost: finished.nanoseconds * self.checked.extents.iter().product::<usize>() as f64,
            parallel,
            loads: finished.loads,
            constants: finished.constants,
            registers: finished.registers,
            instructions: finished.instructions,
            standing: finished.standing,
            fixed: finished.fixed,
            slots: finished.slots,
            scratch: finished.scratch,
            size: self.nest.store.dtype.size(),
            geometry,
            blocks,
            value,
            out,
            sink,
            ahead: None,
            one_tile: None,
        })
    }

    /// The program of a nest that is processed row by row.
    fn rows(&self, pattern: &RowPattern) -> Result<TileNest, Fault> {
        let length = pattern.length(self);
        let row = Some((length, pattern.along));
        let size = self.nest.store.dtype.size();
        let axes = self.axes(!pattern.reduces, &pattern.run, &self.checked.separable);
        let geometry = match pattern.reduces {
            true => Geometry::of_rows(axes, TILE_POINTS, pattern.outputs(length, size)),
            false => Geometry::new(axes, self.wishes(true)),
        };
        let blocks: Few<usize> =
            geometry.loops.iter().map(|l| l.axis.extent.div_ceil(l.tile)).collect();
        let out = place(self, &geometry, self.nest.store.base, |axis| axis.store);
        let mut body = Body::new(self, &geometry);
        let (spec, element) = pattern.spec(self, &mut body)?;
        let (value, registers) = (spec.to, spec.program.bytes());
        let sink = match self.nest.reduce.filter(|_| pattern.reduces) {
            None => Sink::Rows(Box::new(spec)),
            Some(reducer) => {
                let reduce = self.reduce(reducer, &geometry, &out, &blocks, row)?;
                let rows = Some(Box::new(spec));
                Sink::Reduce(Box::new(ReduceSpec { rows, ..reduce }))
            }
        };
        let mut finished = body.finish(value, &sink, None)?;
        let mut sink = with_accumulators(sink, 0, &mut finished.scratch);
        if let Some(rows) = sink.rows_mut() {
            rows.registers = finished.scratch;
            finished.scratch += registers;
        }
        let separable = |a: &&usize| geometry.loops[**a].axis.separable;
        let parallel = geometry.kept.iter().take_while(separable).count();
        let rows: usize = geometry.loops.iter().map(|l| l.axis.extent).product();
        let row_cost = INDEXED_ROW + length as f64 * (INDEXED_ROW_ELEMENT + element);
        Ok(TileNest {
            cost: (finished.nanoseconds + row_cost) * rows as f64,
            parallel,
            loads: finished.loads,
            constants: finished.constants,
            registers: finished.registers,
            instructions: finished.instructions,
            standing: finished.standing,
            fixed: finished.fixed,
            slots: finished.slots,
            scratch: finished.scratch,
            size,
            geometry,
            blocks,
            value,
            out,
            sink,
            ahead: None,
            one_tile: None,
        })
    }

    /// Type of the value.
    pub(super) fn value_type(&self) -> DType {
        *self.checked.types.last().expect("a checked body is not empty")
    }

    /// The axes along which threads may divide the points of tiles.
    fn separable(&self, ordered: bool) -> &[usize] {
        match &self.checked.scattered {
            Some(scattered) => &scattered.separable,
            None if ordered => &[],
            None => &self.checked.separable,
        }
    }

    /// The axes of extent above 1, except those in `without`; `separable` are those that separate elements of the output.
    fn axes(&self, ordered: bool, without: &[usize], separable: &[usize]) -> Vec<Axis> {
        let nest = self.nest;
        let axis = |a: usize| Axis {
            extent: self.checked.extents[a],
            reduced: nest.axes[a].reduced && !ordered,
            store: if nest.axes[a].reduced { 0 } else { nest.store.strides[a] },
            loads: nest.loads.iter().map(|l| l.strides[a]).collect(),
            indices: nest.body.iter().filter_map(|n| coefficient(n, a)).collect(),
            separable: separable.contains(&a),
        };
        let outer = |a: &usize| self.checked.extents[*a] > 1 && !without.contains(a);
        (0..nest.axes.len()).filter(outer).map(axis).collect()
    }

    /// Returns true if the value is computed by chains only, which need few registers.
    pub fn is_chain(&self) -> bool {
        self.functions() > 1 && self.has_links_only()
    }

    /// Returns true if chains have each function of the value.
    pub fn has_links_only(&self) -> bool {
        let links = self.nest.body.iter().zip(&self.checked.types).all(|(node, t)| match node {
            Node::Load(_) | Node::Const(_) => true,
            Node::Unary(UnaryOp::Cast(to), x) => {
                let load = matches!(self.nest.body[x.0 as usize], Node::Load(_));
                load && LinkOp::of_cast(self.checked.types[x.0 as usize], *to).is_some()
            }
            Node::Unary(op, _) => LinkOp::of_unary(*op).is_some(),
            Node::Binary(BinaryOp::Pow, _, by) => constant(self.nest, *by).is_some_and(is_three),
            Node::Binary(op, ..) if LinkOp::of_binary(*op, true).is_some() => t.is_float(),
            Node::Binary(op, x, _) => {
                // Lowered to `Lt` and `Le` with exchanged operands.
                let turned = matches!(op, BinaryOp::Gt | BinaryOp::Ge);
                let compares = turned || Compare::of(*op).is_some();
                compares && self.checked.types[x.0 as usize].is_float()
            }
            Node::Select(..) => t.is_float(),
            _ => false,
        });
        links && chains(self.value_type(), self.level)
    }

    /// Number of functions of the body.
    pub fn functions(&self) -> usize {
        let function = |node: &&Node| !matches!(node, Node::Load(_) | Node::Const(_));
        self.nest.body.iter().filter(function).count()
    }

    /// The load that the nest copies, if it does nothing else.
    pub(super) fn moved(&self) -> Option<usize> {
        match (self.nest.body.last(), self.nest.reduce) {
            (Some(&Node::Load(n)), None) => Some(n as usize),
            _ => None,
        }
    }

    /// The sink of the value, and its slot.
    fn sink(
        &self,
        body: &mut Body<'_>,
        geometry: &Geometry,
        out: &Place,
        blocks: &[usize],
        ordered: bool,
    ) -> Result<(Slot, Sink), Fault> {
        let t = self.value_type();
        let copier = Copier::new(self.nest.store.dtype, self.level);
        if ordered {
            return self.scatter(body);
        }
        let stream = self.stream(geometry, out);
        if let Some(load) = self.moved().filter(|_| stream.is_none()) {
            body.move_only(load);
            return Ok((OUT, Sink::Store { copier, moved: true }));
        }
        if let Some((bools, kernels)) = self.counts(geometry) {
            let spec = self.reduce(Reducer::Monoid(Monoid::Add), geometry, out, blocks, None)?;
            let ReduceKernels::Fold(fold) = spec.reducer else { return Err(Fault::Types) };
            let reducer = ReduceKernels::Count(Box::new(kernels), fold);
            let spec = Box::new(ReduceSpec { reducer, ..spec });
            return Ok((body.value_of(bools)?, Sink::Reduce(spec)));
        }
        let value = body.value()?;
        if let Some(stream) = stream {
            let strips = stream.dense && body.computes_last(value);
            return Ok((value, Sink::Stream(StreamSpec { strips, ..stream })));
        }
        let Some(reducer) = self.nest.reduce else {
            let apart = !self.checked.in_place;
            return match geometry.is_dense(&out.inner, t.size()) {
                true if apart => Ok((body.redirect(value), Sink::Direct)),
                false if apart && body.computes_last(value) && has_rows(geometry, out, t) => {
                    Ok((value, Sink::StoreRows))
                }
                _ => Ok((value, Sink::Store { copier, moved: false })),
            };
        };
        if let (Reducer::Monoid(monoid), Start::Existing, []) =
            (reducer, self.nest.start, &geometry.reduced[..])
        {
            let fold = fold(monoid, t, self.level).ok_or(Fault::Types)?;
            return Ok((value, Sink::Combine { copier, fold, size: t.size(), register: 0 }));
        }
        let spec = self.reduce(reducer, geometry, out, blocks, None)?;
        Ok((value, Sink::Reduce(Box::new(spec))))
    }

    /// The bools whose number a reduction computes, if it does, and the kernels that add them up.
    fn counts(&self, geometry: &Geometry) -> Option<(NodeId, CountKernels)> {
        let is = |id: NodeId, number: i64| match constant(self.nest, id) {
            Some(Scalar::I32(n)) => i64::from(n) == number,
            Some(Scalar::I64(n)) => n == number,
            _ => false,
        };
        let bools = match *self.nest.body.last()? {
            Node::Unary(UnaryOp::Cast(_), x) => x,
            Node::Select(condition, yes, no) if is(yes, 1) && is(no, 0) => condition,
            _ => return None,
        };
        let adds = self.nest.reduce == Some(Reducer::Monoid(Monoid::Add));
        let of_bools = self.checked.types[bools.0 as usize] == DType::Bool;
        let lanes = geometry.along || tile_points(geometry, false) >= COUNTED_LANES;
        let fits = adds && of_bools && lanes && !geometry.reduced.is_empty();
        counts(self.value_type(), self.level).filter(|_| fits).map(|kernels| (bools, kernels))
    }

    /// Non-temporal stores of whole tiles, if they pay: for a large result with long contiguous runs.
    fn stream(&self, geometry: &Geometry, out: &Place) -> Option<StreamSpec> {
        let layout = &self.layouts[out.buffer];
        if self.nest.reduce.is_some() || self.checked.in_place || !layout.streams {
            return None;
        }
        let size = layout.dtype.size();
        let dense = geometry.is_dense(&out.inner, size);
        let row = geometry.loops[*geometry.inner.last()?].tile * size;
        let whole_lines = |bytes: usize| bytes.is_multiple_of(LINE);
        let steps = out.strides.iter().map(|s| s.unsigned_abs());
        let runs = out.inner.last() == Some(&(size as isize))
            && steps.filter(|&s| s != size).all(whole_lines);
        let long = dense || (runs && whole_lines(row) && row >= NON_TEMPORAL_ROW_BYTES);
        let copier = Copier::streaming(layout.dtype, self.level);
        long.then_some(StreamSpec { copier, dense, strips: false })
    }

    /// Stores or combines values at computed offsets one by one.
    fn scatter(&self, body: &mut Body<'_>) -> Result<(Slot, Sink), Fault> {
        let t = self.value_type();
        let value = body.value()?;
        let offsets = body.store_offsets()?;
        body.count_scattered_stores();
        let fold = match self.nest.reduce {
            Some(Reducer::Monoid(monoid)) => Some(fold(monoid, t, self.level).ok_or(Fault::Types)?),
            Some(_) => return Err(Fault::Position),
            None => None,
        };
        let (checked, range) = match (&self.checked.scattered, self.nest.store.offset) {
            (Some(scattered), Some(offset)) => {
                (body.computed_offsets(offset)?, Some(self.range_check(scattered.range)))
            }
            (_, offset) => (offsets, offset.map(|_| self.offset_check(self.nest.store.base))),
        };
        Ok((value, Sink::Scatter { offsets, checked, range, fold, moves: moves(t, self.level) }))
    }

    /// The check that offsets are in a range.
    fn range_check(&self, (least, greatest): (i64, i64)) -> OffsetCheck {
        OffsetCheck::Range { least, greatest, check: ijk_kernels::tile::in_range(self.level) }
    }

    /// The check that offsets relative to a base are within the array.
    pub fn offset_check(&self, base: Base) -> OffsetCheck {
        let footprint = self.layouts[base.buffer.0 as usize].footprint.as_ref();
        let origin = base.offset as i64;
        let Some(footprint) = footprint else { return self.range_check((1, 0)) };
        let shifted = footprint.dense().and_then(|(least, greatest)| {
            Some((least.checked_sub(origin)?, greatest.checked_sub(origin)?))
        });
        match shifted {
            Some(range) => self.range_check(range),
            None => OffsetCheck::Sparse { footprint: footprint.clone(), origin, run: 1 },
        }
    }

    /// Reduction of tiles of points or of rows, whose elements are combined or not.
    fn reduce(
        &self,
        reducer: Reducer,
        geometry: &Geometry,
        out: &Place,
        blocks: &[usize],
        row: Option<(usize, bool)>,
    ) -> Result<ReduceSpec, Fault> {
        let t = self.value_type();
        let (kernels, start, rounds) = self.reduce_kernels(reducer, t)?;
        let (length, folded) = row.unwrap_or((1, false));
        let width = if folded { 1 } else { length };
        let outputs = tile_points(geometry, false) * width;
        let (chunk, chunks) = chunks(geometry, blocks, length);
        let rows = if geometry.along { 1 } else { tile_points(geometry, true) };
        let columns = order(self.nest, self.checked) == Order::Columns;
        let capacity = match rounds && !columns {
            false => usize::MAX,
            true if geometry.along || folded => SEQUENTIAL_FOLDS,
            true => SEQUENTIAL_VALUES,
        };
        let positions = if reducer_is_position(reducer) { size_of::<i64>() } else { 0 };
        let kept = |axis: &usize| !geometry.loops[*axis].axis.reduced;
        let existing = match self.nest.start {
            Start::Existing => match &kernels {
                ReduceKernels::Fold(fold) | ReduceKernels::Count(_, fold) => Some(*fold),
                ReduceKernels::Arg(_) => return Err(Fault::Position),
            },
            Start::Covered => None,
        };
        let steps = geometry.inner.iter().filter(|a| kept(a)).map(|&a| out.strides[a]);
        let steps = steps.chain(row.is_some_and(|(_, along)| !along).then_some(t.size() as isize));
        Ok(ReduceSpec {
            reducer: kernels,
            start,
            splat: moves(t, self.level).splat,
            outputs,
            accumulators: 0,
            stride: aligned(outputs * t.size()) + aligned(outputs * positions),
            levels: 2
                + (chunk.saturating_mul(rows) / capacity).checked_ilog2().unwrap_or(0) as usize
                + 1,
            capacity,
            chunk,
            chunks,
            copier: Copier::new(self.nest.store.dtype, self.level),
            needed: self.needed(reducer, geometry),
            existing,
            size: t.size(),
            out: steps.collect(),
            chain: row.map_or_else(|| self.chain_fold(geometry), |_| None),
            rows: None,
        })
    }

    /// The place of the condition of a value that is the reducer's start elsewhere, if reduced axes do not move it.
    fn needed(&self, reducer: Reducer, geometry: &Geometry) -> Option<Place> {
        let Reducer::Monoid(monoid) = reducer else { return None };
        let &Node::Select(condition, _, other) = self.nest.body.last()? else { return None };
        let Node::Load(load) = self.nest.body[condition.0 as usize] else { return None };
        let start = scalar::identity(monoid, self.value_type());
        let stays = |l: &super::geometry::Loop| !l.axis.reduced || l.axis.loads[load as usize] == 0;
        let skips = self.nest.start == Start::Covered
            && constant(self.nest, other).is_some_and(|other| other.same_bits(start))
            && geometry.loops.iter().all(stays);
        let base = self.nest.loads[load as usize].base;
        skips.then(|| place(self, geometry, base, |axis| axis.loads[load as usize]))
    }

    /// The kernels of a reducer, its initial value, and true if results depend on the order by rounding.
    fn reduce_kernels(
        &self,
        reducer: Reducer,
        t: DType,
    ) -> Result<(ReduceKernels, [u64; 2], bool), Fault> {
        match reducer {
            Reducer::Monoid(monoid) => {
                let fold: FoldKernels = fold(monoid, t, self.level).ok_or(Fault::Types)?;
                // Existing elements that all points skip stay bit for bit.
                let identity = match self.nest.start {
                    Start::Existing => scalar::neutral(monoid, t),
                    Start::Covered => scalar::identity(monoid, t),
                };
                let identity = super::scalar_bits(identity);
                Ok((ReduceKernels::Fold(fold), identity, fold.rounds))
            }
            position => {
                let kernels = arg(position, t, self.level).ok_or(Fault::Types)?;
                Ok((ReduceKernels::Arg(kernels), [0, 0], false))
            }
        }
    }
}

/// The constant of a node.
fn constant(nest: &Nest, id: NodeId) -> Option<Scalar> {
    match nest.body[id.0 as usize] {
        Node::Const(value) => Some(value),
        _ => None,
    }
}

/// Returns true for an exponent of 3.
pub(super) fn is_three(exponent: Scalar) -> bool {
    matches!(exponent, Scalar::F32(3.0) | Scalar::F64(3.0))
}

/// Returns true for argmax and argmin.
fn reducer_is_position(reducer: Reducer) -> bool {
    !matches!(reducer, Reducer::Monoid(_))
}

/// The coefficient of an axis in a node that computes an index or a position.
fn coefficient(node: &Node, axis: usize) -> Option<i64> {
    match node {
        Node::Index { coefficients, .. } => Some(coefficients[axis]),
        Node::Gather { strides, .. } => Some(strides[axis] as i64),
        _ => None,
    }
}

/// The place of an access in bytes, from its stride along each axis.
pub(super) fn place(
    lowering: &Lowering<'_>,
    geometry: &Geometry,
    base: Base,
    step: impl Fn(&Axis) -> isize,
) -> Place {
    let buffer = base.buffer.0 as usize;
    let size = lowering.layouts[buffer].dtype.size() as isize;
    // Wraps if a computed offset is still to be added; accesses are checked before or at run time.
    let bytes = |elements: isize| elements.wrapping_mul(size);
    let strides: Few<isize> = geometry.loops.iter().map(|l| bytes(step(&l.axis))).collect();
    let inner = geometry.inner.iter().map(|&a| strides[a]).collect();
    Place { buffer, offset: bytes(base.offset), strides, inner }
}

/// Returns true if a tile has two axes, of which the inner one is long and contiguous in the output.
fn has_rows(geometry: &Geometry, out: &Place, t: DType) -> bool {
    let [_, row] = geometry.inner[..] else { return false };
    out.inner[1] == t.size() as isize && geometry.loops[row].tile >= STORED_IN_PLACE_ROW
}

/// Points of a full tile along the kept or the reduced axes.
fn tile_points(geometry: &Geometry, reduced: bool) -> usize {
    let of = |l: &&super::geometry::Loop| l.axis.reduced == reduced;
    geometry.loops.iter().filter(of).map(|l| l.tile).product()
}

/// Number of blocks of the reduced loops in a chunk, and number of chunks: several only for a large reduction to few
/// outputs.
fn chunks(geometry: &Geometry, blocks: &[usize], length: usize) -> (usize, usize) {
    let kept: usize = geometry.kept.iter().map(|&a| blocks[a]).product();
    let reduced: usize = geometry.reduced.iter().map(|&a| blocks[a]).product();
    let tile = geometry.loops.iter().map(|l| l.tile).product::<usize>() * length;
    let points = tile.saturating_mul(kept).saturating_mul(reduced);
    if kept >= UNCHUNKED_BLOCKS || points < 2 * REDUCTION_CHUNK_POINTS {
        return (reduced, 1);
    }
    // With several blocks of outputs, one chunk for each may already suffice.
    let chunk =
        (REDUCTION_CHUNK_POINTS / tile).max(1).max(reduced.div_ceil(REDUCTION_CHUNKS)).min(reduced);
    (chunk, reduced.div_ceil(chunk).max(1))
}

/// Rounds a number of bytes up to cache lines.
pub(super) fn aligned(bytes: usize) -> usize {
    bytes.next_multiple_of(64)
}

/// Leaves values that no single chain computes last to be folded from memory.
fn with_chain(mut sink: Sink, instructions: &[Instruction], value: Slot) -> Sink {
    if let Sink::Reduce(spec) = &mut sink {
        let computes =
            matches!(instructions.last(), Some(Instruction::Chain(chain)) if chain.dst == value);
        spec.chain = spec.chain.filter(|_| computes);
    }
    sink
}

/// Allocates scratch memory for accumulators, or for the elements with which a tile of `points` points is combined.
fn with_accumulators(mut sink: Sink, points: usize, scratch: &mut usize) -> Sink {
    match &mut sink {
        Sink::Reduce(spec) => {
            spec.accumulators = *scratch;
            // One more: the value that a level carries, or the fold of a row.
            *scratch += (spec.levels + 1) * spec.stride;
        }
        Sink::Combine { register, size, .. } => {
            *register = *scratch;
            *scratch += aligned(points * *size);
        }
        _ => {}
    }
    sink
}
