//! Runs a tile program: loops over blocks, and for each tile its loads, instructions and sink.

mod chains;
mod rows;

use super::kernel::{Destination, Kernel, all_hold, fault, streams};
use super::program::*;
use super::reduce::Accumulators;
use super::rows::List;
use crate::copy::{Side, dense_strides, fence};
use crate::lines::{LINE, prefetch_all_far};
use crate::threads::Workers;
use crate::watch::Pace;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// Sizes or strides, one for each loop or axis of a tile.
pub(super) type Axes<T> = SmallVec<[T; 8]>;

/// One thread at work on a nest.
pub(super) struct Worker<'a> {
    nest: &'a TileNest,
    /// The first element of each buffer.
    bases: &'a [*mut u8],
    /// This worker's scratch memory.
    scratch: *mut u8,
    /// What slots point to.
    slots: SmallVec<[*mut u8; 24]>,
    /// For each loop, the block it is at.
    block: Axes<usize>,
    /// For each axis of a tile, how many points the present tile has.
    extents: Axes<usize>,
    /// Which axes of a tile are kept: they are neighbours.
    kept: Range<usize>,
    /// Points of the present tile.
    points: usize,
    /// Whether what does not depend on the innermost loop has been computed.
    stands: bool,
    /// Offsets of the output's elements that rows are moved to.
    pub own: Range<i64>,
    /// Where rows are listed instead of being moved.
    pub list: Option<List>,
    /// The origin of the places of rows, where it is not the output's.
    pub out: Option<*mut u8>,
    /// Tells when nobody needs the rest any more.
    pace: Pace<'a>,
    /// What went wrong so far.
    pub faults: u32,
}

impl<'a> Worker<'a> {
    /// A worker at the first block.
    ///
    /// # Safety
    /// Until the worker is dropped: `bases` are the buffers that the nest was checked against;
    /// `scratch` has the nest's scratch bytes, aligned to 64, for this worker alone.
    pub unsafe fn new(
        (nest, workers): (&'a TileNest, &'a Workers),
        bases: &'a [*mut u8],
        scratch: *mut u8,
    ) -> Self {
        let mut slots: SmallVec<[*mut u8; 24]> = smallvec![std::ptr::null_mut(); nest.slots];
        for (slot, constant) in &nest.constants {
            slots[*slot as usize] = constant.as_ptr().cast_mut().cast();
        }
        for &(slot, at) in &nest.registers {
            slots[slot as usize] = scratch.wrapping_add(at);
        }
        let loops = nest.blocks.len();
        let mut worker = Self {
            nest,
            bases,
            scratch,
            slots,
            block: smallvec![0; loops],
            extents: smallvec![0; nest.geometry.inner.len()],
            kept: nest.geometry.kept_inside(),
            points: 1,
            stands: false,
            own: i64::MIN..i64::MAX,
            list: None,
            out: None,
            pace: Pace::new(workers),
            faults: 0,
        };
        if nest.fixed > 0 {
            // No tile is larger than the first one.
            worker.measure();
            // SAFETY: the caller's promise; these instructions read constants alone.
            unsafe { worker.steps(&nest.instructions[..nest.fixed]) };
        }
        worker
    }

    /// Goes to a block of the given loops, counted in the order of their nesting.
    fn seek(&mut self, loops: &[usize], mut position: usize) {
        self.stands = false;
        for &a in loops.iter().rev() {
            let blocks = self.nest.blocks[a];
            self.block[a] = position % blocks;
            position /= blocks;
        }
    }

    /// Goes to the next block of the given loops.
    fn advance(&mut self, loops: &[usize]) {
        for &a in loops.iter().rev() {
            self.block[a] += 1;
            if self.block[a] < self.nest.blocks[a] {
                return;
            }
            self.block[a] = 0;
            self.stands = false;
        }
    }

    /// Runs blocks of the kept loops, each with all its reduced blocks.
    ///
    /// # Safety
    /// That of [`new`](Self::new); no other thread works on these blocks, or on others that reach
    /// elements of the output in common with them.
    pub unsafe fn run(&mut self, kept: Range<usize>) {
        let loops = &self.nest.geometry.kept;
        self.seek(loops, kept.start);
        for _ in kept {
            // SAFETY: the worker stands at a block within the loops, which is the caller's alone.
            unsafe {
                match &self.nest.sink {
                    Sink::Reduce(spec) => {
                        self.reduce_range(spec, 0..spec.chunk, self.accumulators(spec));
                        self.finish(spec, self.accumulators(spec));
                    }
                    _ => self.map_tile(),
                }
            }
            if self.faults & fault::OFFSET != 0 || self.ends() {
                break;
            }
            self.advance(loops);
        }
        if let Sink::Stream(_) = self.nest.sink {
            fence();
        }
    }

    /// Whether nobody needs what comes after the present tile.
    #[inline]
    fn ends(&mut self) -> bool {
        let each = match &self.nest.sink {
            Sink::Rows(rows) | Sink::Reduce(ReduceSpec { rows: Some(rows), .. }) => rows.length,
            _ => 1,
        };
        self.pace.ends_after(self.points.saturating_mul(self.nest.instructions.len() + each))
    }

    /// Runs one chunk of the reduced blocks of one block of outputs, into `result`.
    ///
    /// # Safety
    /// That of [`new`](Self::new); `result` has [`ReduceSpec::stride`] bytes of this worker's own.
    pub unsafe fn run_chunk(&mut self, kept: usize, chunk: usize, result: *mut u8) {
        let Sink::Reduce(spec) = &self.nest.sink else { return };
        self.seek(&self.nest.geometry.kept, kept);
        let blocks: usize =
            self.nest.geometry.reduced.iter().map(|&a| self.nest.blocks[a]).product();
        let start = chunk * spec.chunk;
        // SAFETY: the caller's promises; the chunk's blocks exist.
        unsafe { self.reduce_range(spec, start..blocks.min(start + spec.chunk), result) };
    }

    /// Writes the results of one block of outputs.
    ///
    /// # Safety
    /// That of [`run`](Self::run); `result` holds the block's reduced values.
    pub unsafe fn finish_block(&mut self, kept: usize, result: *mut u8) {
        let Sink::Reduce(spec) = &self.nest.sink else { return };
        self.seek(&self.nest.geometry.kept, kept);
        self.measure();
        // SAFETY: the caller's promises.
        unsafe { self.finish(spec, result) };
    }

    /// Where this worker's accumulators begin.
    fn accumulators(&self, spec: &ReduceSpec) -> *mut u8 {
        self.scratch.wrapping_add(spec.accumulators)
    }

    /// Measures the present tile.
    fn measure(&mut self) {
        self.points = 1;
        for (extent, &a) in self.extents.iter_mut().zip(&self.nest.geometry.inner) {
            let each = &self.nest.geometry.loops[a];
            *extent = each.tile.min(each.axis.extent - self.block[a] * each.tile);
            self.points *= *extent;
        }
    }

    /// The address of an access at the origin of the present tile: the only pointer arithmetic on
    /// buffers.
    fn address(&self, place: &Place) -> *mut u8 {
        let mut offset = place.offset;
        for (a, &stride) in place.strides.iter().enumerate() {
            let origin = self.block[a] * self.nest.geometry.loops[a].tile;
            offset = offset.wrapping_add((origin as isize).wrapping_mul(stride));
        }
        // The check of the nest against its buffers makes sure that this stays within them.
        self.bases[place.buffer].wrapping_offset(offset)
    }

    /// How many elements of a size the origin of the present tile is from that of an access.
    fn shift(&self, place: &Place, size: usize) -> i64 {
        let of = |(a, &stride): (usize, &isize)| {
            let origin = self.block[a] * self.nest.geometry.loops[a].tile;
            (origin as i64).wrapping_mul(stride as i64 / size.max(1) as i64)
        };
        place.strides.iter().enumerate().map(of).fold(0, i64::wrapping_add)
    }

    /// Computes the present tile's value and does with it what the sink says.
    ///
    /// # Safety
    /// That of [`run`](Self::run).
    unsafe fn map_tile(&mut self) {
        self.measure();
        let out = self.address(&self.nest.out);
        // SAFETY: the caller's promises, handed on.
        unsafe {
            match &self.nest.sink {
                Sink::Direct => {
                    self.slots[OUT as usize] = out;
                    self.compute();
                }
                Sink::Store { copier, moved: true } => {
                    let load = &self.nest.loads[0].place;
                    let from = Side { ptr: self.address(load).cast_const(), strides: &load.inner };
                    let to = Side { ptr: out, strides: &self.nest.out.inner };
                    copier.copy(&self.extents, to, from);
                }
                Sink::Store { copier, moved: false } => {
                    self.compute();
                    let size = self.nest.size;
                    let dense = self.dense(size);
                    let value = self.slots[self.nest.value as usize].cast_const();
                    let to = Side { ptr: out, strides: &self.nest.out.inner };
                    copier.copy(&self.extents, to, Side { ptr: value, strides: &dense });
                }
                Sink::Stream(stream) => self.stream(stream, out),
                Sink::Combine { copier, fold, size, register } => {
                    self.compute();
                    let value = self.slots[self.nest.value as usize];
                    let register = self.scratch.wrapping_add(*register);
                    let (extents, strides) = (&self.extents, &self.nest.out.inner);
                    combine(copier, fold, *size, extents, out, strides, register, value);
                }
                Sink::Scatter { offsets, range, fold, moves } => {
                    self.compute();
                    let offsets = self.slots[*offsets as usize].cast_const().cast::<i64>();
                    let value = self.slots[self.nest.value as usize].cast_const();
                    let base =
                        self.bases[self.nest.out.buffer].wrapping_offset(self.nest.out.offset);
                    let bad =
                        range.as_ref().map_or(0, |r| check_offsets(r, self.points, offsets, 0));
                    self.faults |= bad;
                    match fold {
                        _ if self.faults & fault::OFFSET != 0 => {}
                        Some(fold) => (fold.at)(self.points, base, offsets, value),
                        None => (moves.scatter)(self.points, base, offsets, value),
                    }
                }
                Sink::Rows(rows) => {
                    self.compute();
                    self.move_rows(rows);
                }
                Sink::Reduce(_) => {}
            }
        }
    }

    /// The strides of a register with elements of `size` bytes.
    fn dense(&self, size: usize) -> Axes<isize> {
        let mut strides = smallvec![0; self.extents.len()];
        dense_strides(&self.extents, size, &mut strides);
        strides
    }

    /// Loads operands and runs the instructions.
    ///
    /// # Safety
    /// That of [`run`](Self::run); the present tile is measured.
    unsafe fn compute(&mut self) {
        // SAFETY: the caller's promise.
        unsafe {
            self.load();
            match (self.nest.ahead, self.due()) {
                (Some(ahead), [first @ .., last]) => {
                    self.steps(first);
                    self.step_ahead(last, ahead);
                }
                (_, all) => self.steps(all),
            }
        }
    }

    /// The instructions that the present tile needs: those that do not depend on the innermost loop only once
    /// for all of its tiles.
    fn due(&mut self) -> &'a [Instruction] {
        let first =
            if self.stands { self.nest.standing.max(self.nest.fixed) } else { self.nest.fixed };
        self.stands = true;
        &self.nest.instructions[first..]
    }

    /// Computes the value strip by strip, and asks for a strip of what will be read before each: all
    /// at once would wait for memory.
    ///
    /// # Safety
    /// That of [`steps`](Self::steps).
    unsafe fn step_ahead(&mut self, instruction: &Instruction, ahead: Ahead) {
        let load = &self.nest.loads[ahead.load];
        let later = self.slots[load.slot as usize].wrapping_offset(ahead.bytes).cast_const();
        let ask = |first: usize, count: usize| {
            prefetch_all_far(later.wrapping_add(first * load.size), count * load.size);
        };
        // SAFETY: parts of the tile, whose operands are computed.
        unsafe {
            match instruction {
                Instruction::Map(map) => {
                    let dst = self.slots[map.dst as usize];
                    self.strips(map, STRIP, |first, strip| {
                        ask(first, strip.count);
                        strip.compute(dst.add(first * map.size))
                    });
                }
                Instruction::Chain(chain) => {
                    let dst = self.slots[chain.dst as usize];
                    self.links(chain, CHAIN_STRIP, chain.places(dst, false), ask);
                }
                _ => self.step(instruction),
            }
        }
    }

    /// Computes a value in strips of at most so many elements, none of which goes on in another row
    /// where it is computed row by row: calls `each` with the first element of a strip, and the strip.
    ///
    /// # Safety
    /// That of [`steps`](Self::steps); `each` gives the strip room, and gives the faults it met.
    #[inline(always)]
    unsafe fn strips(&mut self, map: &Map, most: usize, mut each: impl FnMut(usize, Strip) -> u32) {
        let all = self.count(map.over);
        let length = if map.is_by_row() { self.row() } else { all };
        let mut faults = 0;
        for (row, start) in (0..all).step_by(length.max(1)).enumerate() {
            // One by one: `map` of an array is a call.
            let [a, b, c] = &map.sources;
            let source = |source: &Source| self.source(source, map.over, start, row);
            let [(mut a, by_a), (mut b, by_b), (mut c, by_c)] = [source(a), source(b), source(c)];
            let mut column = 0;
            while column < length {
                let count = most.min(length - column);
                faults |= each(start + column, Strip { kernel: map.kernel, count, a, b, c });
                a = a.wrapping_add(count * by_a);
                b = b.wrapping_add(count * by_b);
                c = c.wrapping_add(count * by_c);
                column += count;
            }
        }
        self.faults |= faults;
    }

    /// Where an operand of a value is at the start of a row, and bytes from there to the next element.
    #[inline(always)]
    fn source(&self, source: &Source, value: Over, start: usize, row: usize) -> (*const u8, usize) {
        let Source { slot, over, size } = *source;
        let (at, step) = match over {
            _ if over == value => (start, size),
            Over::One => (0, 0),
            Over::Rows => (row, 0),
            Over::Columns => (0, size),
            Over::Points => (start, size),
        };
        (self.slots[slot as usize].wrapping_add(at * size).cast_const(), step)
    }

    /// Points of a row of the present tile.
    fn row(&self) -> usize {
        self.extents.last().copied().unwrap_or(1)
    }

    /// Runs some instructions.
    ///
    /// # Safety
    /// Their operands are computed, for the present tile.
    unsafe fn steps(&mut self, instructions: &[Instruction]) {
        for instruction in instructions {
            // SAFETY: operands were computed before, by the order of instructions.
            unsafe { self.step(instruction) };
        }
    }

    /// Brings operands where instructions find them.
    ///
    /// # Safety
    /// That of [`compute`](Self::compute).
    unsafe fn load(&mut self) {
        let nest = self.nest;
        for load in &nest.loads {
            let from = self.address(&load.place);
            match &load.mode {
                LoadMode::Direct => self.slots[load.slot as usize] = from,
                LoadMode::Pack(copier) | LoadMode::PackRows(copier) => {
                    let rows = matches!(load.mode, LoadMode::PackRows(_));
                    let axes = self.extents.len() - usize::from(rows);
                    let mut dense: Axes<isize> = smallvec![0; axes];
                    dense_strides(&self.extents[..axes], load.size, &mut dense);
                    let to = Side { ptr: self.slots[load.slot as usize], strides: &dense };
                    let strides = &load.place.inner[..axes];
                    let from = Side { ptr: from.cast_const(), strides };
                    // SAFETY: the load's elements were checked to exist for the whole domain;
                    // the register has room for a tile and overlaps nothing in use.
                    unsafe { copier.copy(&self.extents[..axes], to, from) };
                }
            }
        }
    }

    /// Computes the present tile's value, which leaves past the caches.
    ///
    /// # Safety
    /// That of [`run`](Self::run); the present tile is measured, `out` is its place.
    unsafe fn stream(&mut self, stream: &StreamSpec, out: *mut u8) {
        let (instructions, size) = (self.due(), self.nest.size);
        let value = self.nest.value as usize;
        // SAFETY: the caller's promises, handed on; strips are parts of the tile.
        unsafe {
            self.load();
            match instructions {
                [first @ .., Instruction::Chain(chain)]
                    if stream.strips && out.addr().is_multiple_of(LINE) && streams(chain.level) =>
                {
                    self.steps(first);
                    self.links(chain, usize::MAX, chain.places(out, true), |_, _| {});
                }
                [first @ .., Instruction::Chain(chain)] if stream.strips => {
                    self.steps(first);
                    let dst = self.slots[value];
                    let strip = Destination { first: dst, stream: false };
                    self.links(
                        chain,
                        CHAIN_STRIP,
                        |_| strip,
                        |first, count| {
                            stream.copier.row(count, out.add(first * size), dst);
                        },
                    );
                }
                [first @ .., Instruction::Map(map)] if stream.strips => {
                    self.steps(first);
                    let dst = self.slots[value];
                    self.strips(map, STRIP, |first, strip| {
                        let faults = strip.compute(dst);
                        stream.copier.row(strip.count, out.add(first * size), dst);
                        faults
                    });
                }
                _ => {
                    self.steps(instructions);
                    let value = self.slots[value].cast_const();
                    if stream.dense {
                        return stream.copier.row(self.points, out, value);
                    }
                    let dense = self.dense(size);
                    let to = Side { ptr: out, strides: &self.nest.out.inner };
                    stream.copier.copy(&self.extents, to, Side { ptr: value, strides: &dense });
                }
            }
        }
    }

    /// How many elements a value has in the present tile.
    fn count(&self, over: Over) -> usize {
        match over {
            Over::One => 1,
            Over::Rows => self.points / self.row(),
            Over::Columns => self.row(),
            Over::Points => self.points,
        }
    }

    /// Runs one instruction.
    ///
    /// # Safety
    /// Its operands are computed, for the present tile.
    #[inline]
    unsafe fn step(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::Map(map) => {
                let dst = self.slots[map.dst as usize];
                // SAFETY: the whole value or rows of it; operands are computed.
                unsafe {
                    let place = |first| dst.add(first * map.size);
                    self.strips(map, usize::MAX, |first, strip| strip.compute(place(first)));
                }
            }
            Instruction::Chain(chain) => {
                let dst = self.slots[chain.dst as usize];
                // SAFETY: the whole value or rows of it; operands are computed.
                unsafe { self.links(chain, usize::MAX, chain.places(dst, false), |_, _| {}) };
            }
            Instruction::Select { map, register } => {
                let [condition, chosen, _] =
                    map.sources.map(|source| self.slots[source.slot as usize]);
                // SAFETY: the condition is computed, one bool for each point.
                if unsafe { all_hold(condition.cast_const().cast(), self.points) } {
                    self.slots[map.dst as usize] = chosen;
                    return;
                }
                let dst = self.scratch.wrapping_add(*register);
                self.slots[map.dst as usize] = dst;
                // SAFETY: operands are computed, one element for each point; the register has room.
                unsafe {
                    self.strips(map, usize::MAX, |first, strip| {
                        strip.compute(dst.add(first * map.size))
                    });
                }
            }
            Instruction::Index { dst, constant, steps, inner, iota, over } => {
                let origin = steps.iter().enumerate().fold(*constant, |sum, (a, &step)| {
                    let at = self.block[a] * self.nest.geometry.loops[a].tile;
                    sum.wrapping_add(step.wrapping_mul(at as i64))
                });
                let dst = self.slots[*dst as usize].cast::<i64>();
                let extents = if *over == Over::One { &[] } else { &self.extents[..] };
                // SAFETY: the register has one i64 for each point, or one for a splat.
                unsafe { indices(*iota, extents, inner, dst, origin) };
            }
            Instruction::Gather { dst, offsets, array, moves, range, over } => {
                let n = self.count(*over);
                let shift = self.shift(array, moves.size);
                let array = self.address(array);
                let offsets = self.slots[*offsets as usize].cast_const();
                let dst = self.slots[*dst as usize];
                // SAFETY: the offsets are computed, and used only if each is an element's. The
                // register is filled in any case, since later instructions read it.
                unsafe {
                    let bad = check_offsets(range, n, offsets.cast(), shift);
                    self.faults |= bad;
                    match bad {
                        0 => drop((moves.gather)(n, dst, offsets, array, array)),
                        _ => dst.write_bytes(0, n * moves.size),
                    }
                }
            }
        }
    }

    /// Reduces a range of the reduced blocks into `result`.
    ///
    /// # Safety
    /// That of [`run`](Self::run); `result` has [`ReduceSpec::stride`] bytes of this worker's own
    /// and may be the first accumulator.
    unsafe fn reduce_range(&mut self, spec: &ReduceSpec, range: Range<usize>, result: *mut u8) {
        let loops = &self.nest.geometry.reduced;
        self.seek(loops, range.start);
        self.measure();
        let base = self.accumulators(spec);
        let outputs = self.outputs(spec);
        // SAFETY: the accumulators are in this worker's scratch memory.
        let mut sums = unsafe { Accumulators::new(spec, outputs, base) };
        if let Some(rows) = self.nest.rows_in_place(spec) {
            // SAFETY: the worker stands at a block within the loops.
            unsafe { self.take_rows(&rows, range, &mut sums) };
        } else {
            // SAFETY: as above.
            unsafe { self.take_tiles(spec, range, &mut sums) };
        }
        // SAFETY: as above.
        unsafe { sums.total(result) };
    }

    /// Reduces a range of the reduced blocks tile by tile.
    ///
    /// # Safety
    /// That of [`reduce_range`](Self::reduce_range); the worker stands at the first of them.
    unsafe fn take_tiles(
        &mut self,
        spec: &ReduceSpec,
        range: Range<usize>,
        sums: &mut Accumulators<'_>,
    ) {
        let (loops, outputs) = (&self.nest.geometry.reduced, self.outputs(spec));
        for position in range {
            self.measure();
            let rows = self.points / outputs.max(1);
            // SAFETY: the worker stands at a block within the loops; the value has `rows` values
            // for each output, in the order that the geometry says.
            unsafe {
                self.compute();
                if let Some(rows) = &spec.rows {
                    self.sum_rows(rows, sums);
                    if self.faults & fault::OFFSET != 0 || self.ends() {
                        break;
                    }
                    self.advance(loops);
                    continue;
                }
                let value = self.slots[self.nest.value as usize];
                sums.take(rows, value, self.nest.geometry.along, self.position(spec, position));
            }
            if self.faults & fault::OFFSET != 0 || self.ends() {
                break;
            }
            self.advance(loops);
        }
    }

    /// The same where each block is a row that lies in memory: as many at a time as the accumulators take.
    ///
    /// # Safety
    /// As for [`take_tiles`](Self::take_tiles).
    unsafe fn take_rows(
        &mut self,
        rows: &RowsInPlace<'_>,
        range: Range<usize>,
        sums: &mut Accumulators<'_>,
    ) {
        let loops = &self.nest.geometry.reduced;
        let mut left = range.len();
        while left > 0 {
            let count =
                left.min(sums.room()).min(self.nest.blocks[rows.along] - self.block[rows.along]);
            // SAFETY: rows of the loop, which the check of the nest covered.
            unsafe { sums.take_rows(&rows.fold, count, self.address(rows.place), rows.step) };
            self.block[rows.along] += count - 1;
            if self.pace.ends_after(count * self.points) {
                break;
            }
            self.advance(loops);
            left -= count;
        }
    }

    /// The first position of the present tile along the one reduced axis.
    fn position(&self, spec: &ReduceSpec, block: usize) -> i64 {
        match (&spec.reducer, &self.nest.geometry.reduced[..]) {
            (ReduceKernels::Arg(_), &[a]) => (block * self.nest.geometry.loops[a].tile) as i64,
            _ => 0,
        }
    }

    /// Outputs of the present tile.
    fn outputs(&self, spec: &ReduceSpec) -> usize {
        self.kept_extents().iter().product::<usize>() * spec.row_outputs().unwrap_or(1)
    }

    /// Their extents: those of the kept axes, and of a row, if there are rows.
    fn output_extents(&self, spec: &ReduceSpec) -> Axes<usize> {
        let mut extents = Axes::from_slice(self.kept_extents());
        extents.extend(spec.row_outputs());
        extents
    }

    /// The extents of the present tile's kept axes.
    fn kept_extents(&self) -> &[usize] {
        &self.extents[self.kept.clone()]
    }

    /// Writes reduced values to the output.
    ///
    /// # Safety
    /// That of [`run`](Self::run); `result` holds the present block's reduced values.
    unsafe fn finish(&mut self, spec: &ReduceSpec, result: *mut u8) {
        if self.faults & fault::OFFSET != 0 {
            return;
        }
        let extents = self.output_extents(spec);
        let out = self.address(&self.nest.out);
        // SAFETY: the block's elements of the output are this worker's; `result` holds their
        // values, and the last accumulator is free.
        unsafe {
            let (values, size) = spec.values(result);
            if let Some(fold) = &spec.existing {
                let register = self.accumulators(spec).wrapping_add(spec.levels * spec.stride);
                combine(&spec.copier, fold, size, &extents, out, &spec.out, register, values);
                return;
            }
            let mut dense: Axes<isize> = smallvec![0; extents.len()];
            dense_strides(&extents, size, &mut dense);
            if dense[..] == spec.out[..] {
                let bytes = extents.iter().product::<usize>() * size;
                return std::ptr::copy_nonoverlapping(values.cast_const(), out, bytes);
            }
            let from = Side { ptr: values.cast_const(), strides: &dense };
            spec.copier.copy(&extents, Side { ptr: out, strides: &spec.out }, from);
        }
    }
}

/// Elements of a strip.
const STRIP: usize = 256;

/// The same of chains, each of which has all its operands found anew.
const CHAIN_STRIP: usize = 1024;

/// Some neighbouring elements of a value that is to be computed.
#[derive(Clone, Copy, Debug)]
struct Strip {
    kernel: Kernel,
    /// How many.
    count: usize,
    /// The operands.
    a: *const u8,
    b: *const u8,
    c: *const u8,
}

impl Strip {
    /// Computes them into `dst`; gives the faults met.
    ///
    /// # Safety
    /// `dst` has room for them, and is nothing that is read; the operands are computed.
    #[inline(always)]
    unsafe fn compute(self, dst: *mut u8) -> u32 {
        let Self { kernel, count, a, b, c } = self;
        // SAFETY: the caller's promise; lowering chose the kernel for the types of the operands, and made
        // their registers large enough.
        unsafe { kernel(count, dst, a, b, c) }
    }
}

/// Combines values with the elements of the output, through a register.
///
/// # Safety
/// `out` has distinct elements at the strides, nobody else's; `register` and `values` have one
/// element of `size` bytes for each.
#[allow(clippy::too_many_arguments)]
unsafe fn combine(
    copier: &crate::copy::Copier,
    fold: &super::kernel::FoldKernels,
    size: usize,
    extents: &[usize],
    out: *mut u8,
    strides: &[isize],
    register: *mut u8,
    values: *const u8,
) {
    let mut dense: Axes<isize> = smallvec![0; extents.len()];
    dense_strides(extents, size, &mut dense);
    let n = extents.iter().product();
    // SAFETY: the caller's promises.
    unsafe {
        if dense[..] == *strides {
            return (fold.down)(1, n, out, values);
        }
        let from = Side { ptr: out.cast_const(), strides };
        copier.copy(extents, Side { ptr: register, strides: &dense }, from);
        (fold.down)(1, n, register, values);
        let from = Side { ptr: register.cast_const(), strides: &dense };
        copier.copy(extents, Side { ptr: out, strides }, from);
    }
}

/// Writes the values of an affine index over a tile.
///
/// # Safety
/// `dst` has one element for each point.
unsafe fn indices(iota: Iota, extents: &[usize], steps: &[i64], dst: *mut i64, start: i64) {
    // SAFETY (all arms): sub-boxes of the tile.
    match extents {
        // SAFETY: as above.
        [] => unsafe { iota(1, dst, start, 0) },
        // SAFETY: as above.
        &[n] => unsafe { iota(n, dst, start, steps[0]) },
        [n, rest @ ..] => {
            let size: usize = rest.iter().product();
            for i in 0..*n {
                let start = start.wrapping_add(steps[0].wrapping_mul(i as i64));
                // SAFETY: as above; row `i` begins `i * size` elements in.
                unsafe { indices(iota, rest, &steps[1..], dst.add(i * size), start) };
            }
        }
    }
}

/// Whether all offsets are elements, so many elements further on, as a fault.
///
/// # Safety
/// `offsets` has `n` elements.
unsafe fn check_offsets(range: &OffsetCheck, n: usize, offsets: *const i64, shift: i64) -> u32 {
    match range {
        OffsetCheck::Range { least, greatest, check } => {
            let (least, greatest) = (least.saturating_sub(shift), greatest.saturating_sub(shift));
            // SAFETY: the caller's promise.
            unsafe { check(n, offsets, least, greatest) }
        }
        OffsetCheck::Sparse { footprint, origin, run } => {
            // SAFETY: the caller's promise.
            let offsets = unsafe { std::slice::from_raw_parts(offsets, n) };
            let place = |o: i64| origin.checked_add(o)?.checked_add(shift);
            let inside = |&o: &i64| place(o).is_some_and(|o| footprint.contains_run(o, *run));
            if offsets.iter().all(inside) { 0 } else { fault::OFFSET }
        }
    }
}
