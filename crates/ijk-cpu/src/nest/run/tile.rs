//! Execution of a tile's program: loads, then instructions, strip by strip with other work in between.

use super::super::program::*;
use super::super::reduce::Accumulators;
use super::threshold::{Others, thresholds};
use super::{Axes, Worker, check_offsets};
use crate::copy::{Copier, CopySide, dense_strides};
use ijk_kernels::lines::{LINE, prefetch_all_far};
use ijk_kernels::tile::{
    Destination, FoldTo, TileKernel, all_hold, folded_length, folds_chain, streams,
};
use ijk_kernels::tuning::time::{CHAIN_STRIP, TILE_STRIP};
use smallvec::smallvec;

impl<'a> Worker<'a> {
    /// Loads operands and runs the instructions.
    ///
    /// # Safety
    /// As for [`run`](Self::run); the present tile is measured.
    pub(super) unsafe fn compute(&mut self) {
        // SAFETY: guaranteed by the caller.
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

    /// Computes the present tile, and folds its rows into accumulators where a chain does this in registers; returns
    /// false if rows are short, or memory is to be prefetched meanwhile, and does nothing.
    ///
    /// # Safety
    /// As for [`compute`](Self::compute); the accumulators are those of the tile's outputs.
    pub(super) unsafe fn fold_tile(
        &mut self,
        spec: &ReduceSpec,
        rows: usize,
        sums: &mut Accumulators<'_>,
    ) -> bool {
        let (Some(fold), Some(Instruction::Chain(chain))) =
            (spec.chain, self.nest.instructions.last())
        else {
            return false;
        };
        if self.nest.ahead.is_some() || !folds_chain(chain.level, chain.dtype, self.row()) {
            return false;
        }
        let due = self.due();
        // SAFETY: guaranteed by the caller; the chain is the last instruction.
        unsafe {
            self.load();
            self.steps(&due[..due.len() - 1]);
            if self.nest.geometry.along {
                let (dst, count) = (self.slots[chain.dst as usize], self.points / self.row());
                let length = folded_length(chain.level, chain.dtype, self.row());
                self.fold_rows(chain, 0..count, (FoldTo::Along(dst), fold));
                sums.take(length, dst, true, 0);
                return true;
            }
            let mut done = 0;
            while done < rows {
                let piece = done..rows.min(done.saturating_add(sums.room()));
                sums.take_by(piece.len(), |acc| {
                    self.fold_rows(chain, piece.clone(), (FoldTo::Down(acc), fold));
                });
                done = piece.end;
            }
        }
        true
    }

    /// The instructions to execute for the present tile; those that are invariant in the innermost loop only once for
    /// all of its tiles.
    fn due(&mut self) -> &'a [Instruction] {
        let first =
            if self.stands { self.nest.standing.max(self.nest.fixed) } else { self.nest.fixed };
        self.stands = true;
        &self.nest.instructions[first..]
    }

    /// Computes the value strip by strip, and prefetches before each: prefetches of a whole tile at once would stall on
    /// outstanding misses.
    ///
    /// # Safety
    /// As for [`steps`](Self::steps).
    unsafe fn step_ahead(&mut self, instruction: &Instruction, ahead: Ahead) {
        let load = &self.nest.loads[ahead.load];
        let later = self.slots[load.slot as usize].wrapping_offset(ahead.bytes).cast_const();
        let ask = |first: usize, count: usize| {
            prefetch_all_far(later.wrapping_add(first * load.size), count * load.size);
        };
        // SAFETY: these are parts of the tile, whose operands are computed.
        unsafe {
            match instruction {
                Instruction::Map(map) => {
                    let dst = self.slots[map.dst as usize];
                    self.strips(map, TILE_STRIP, |first, strip| {
                        ask(first, strip.count);
                        strip.compute(dst.add(first * map.size))
                    });
                }
                Instruction::Chain(chain) => {
                    let dst = self.slots[chain.dst as usize];
                    self.chain_strips(chain, CHAIN_STRIP, chain.places(dst), ask);
                }
                _ => self.step(instruction),
            }
        }
    }

    /// Computes a value in strips of at most `most` elements that do not cross rows if it is computed row by row: calls
    /// `each` with the first element of a strip, and the strip.
    ///
    /// # Safety
    /// As for [`steps`](Self::steps); `each` provides memory for the strip, and returns the faults that occurred.
    #[inline(always)]
    unsafe fn strips(&mut self, map: &Map, most: usize, each: impl FnMut(usize, Strip) -> u32) {
        let length = if map.is_by_row() { self.row() } else { self.count(map.over) };
        // SAFETY: guaranteed by the caller.
        unsafe { self.strips_of(map, length, most, each) }
    }

    /// The same in strips that do not cross multiples of `length` elements, which is a row or all of them.
    ///
    /// # Safety
    /// As for [`strips`](Self::strips).
    #[inline(always)]
    unsafe fn strips_of(
        &mut self,
        map: &Map,
        length: usize,
        most: usize,
        mut each: impl FnMut(usize, Strip) -> u32,
    ) {
        let all = self.count(map.over);
        let mut faults = 0;
        for (row, start) in (0..all).step_by(length.max(1)).enumerate() {
            // Written out, since `map` of an array compiles to a call.
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

    /// Address of an operand of a value at the start of a row, and its stride in bytes.
    #[inline(always)]
    pub(super) fn source(
        &self,
        source: &Source,
        value: Over,
        start: usize,
        row: usize,
    ) -> (*const u8, usize) {
        let (at, step) = source.at(value, start, row);
        (self.slots[source.slot as usize].wrapping_add(at).cast_const(), step)
    }

    /// Points of a row of the present tile.
    pub(super) fn row(&self) -> usize {
        self.extents.last().copied().unwrap_or(1)
    }

    /// Executes instructions in order.
    ///
    /// # Safety
    /// Their operands are computed for the present tile.
    pub(super) unsafe fn steps(&mut self, instructions: &[Instruction]) {
        for instruction in instructions {
            // SAFETY: operands are computed before, by the order of instructions.
            unsafe { self.step(instruction) };
        }
    }

    /// Loads or packs operands, and sets their slots.
    ///
    /// # Safety
    /// As for [`compute`](Self::compute).
    unsafe fn load(&mut self) {
        let nest = self.nest;
        let packed = self.packed == self.extents;
        for (n, load) in nest.loads.iter().enumerate() {
            if load.stays && packed || self.given.get(n) == Some(&true) {
                continue;
            }
            let from = self.address(&load.place);
            match &load.mode {
                LoadMode::Direct => self.slots[load.slot as usize] = from,
                LoadMode::Beside(_) => {}
                // SAFETY: guaranteed by the caller; `from` is the first element of the split loads.
                LoadMode::Split(copier, parts) => unsafe {
                    self.split(copier, &nest.loads[n..n + parts], from)
                },
                LoadMode::Pack(copier) | LoadMode::PackRows(copier) => {
                    let rows = matches!(load.mode, LoadMode::PackRows(_));
                    let axes = self.extents.len() - usize::from(rows);
                    let mut dense: Axes<isize> = smallvec![0; axes];
                    dense_strides(&self.extents[..axes], load.size, &mut dense);
                    let to = CopySide { ptr: self.slots[load.slot as usize], strides: &dense };
                    let strides = &load.place.inner[..axes];
                    let from = CopySide { ptr: from.cast_const(), strides };
                    // SAFETY: the check of the nest ensures that the load's elements exist for the whole domain; the
                    // register has room for a tile and overlaps no live one.
                    unsafe { copier.copy(&self.extents[..axes], to, from) };
                }
            }
        }
        if !packed {
            self.packed.clone_from(&self.extents);
        }
    }

    /// Packs loads whose elements alternate in memory, row by row.
    ///
    /// # Safety
    /// As for [`load`](Self::load); the loads' elements are side by side from `from` on, and their registers are equally
    /// far apart.
    unsafe fn split(&self, copier: &Copier, loads: &[LoadSpec], from: *mut u8) {
        let [load, next, ..] = loads else { return };
        let address = |load: &LoadSpec| self.slots[load.slot as usize];
        let size = load.size as isize;
        let apart = (address(next).addr() as isize).wrapping_sub(address(load).addr() as isize);
        let mut dense: Axes<isize> = smallvec![0; self.extents.len()];
        dense_strides(&self.extents, load.size, &mut dense);
        let outer = self.extents.len() - 1;
        let mut extents: Axes<usize> = self.extents.iter().copied().collect();
        let mut strides: Axes<isize> = load.place.inner.iter().copied().collect();
        extents.insert(outer, loads.len());
        dense.insert(outer, apart);
        strides.insert(outer, size);
        let to = CopySide { ptr: address(load), strides: &dense };
        let from = CopySide { ptr: from.cast_const(), strides: &strides };
        // SAFETY: guaranteed by the caller; a register has room for a tile and overlaps no live one.
        unsafe { copier.copy(&extents, to, from) };
    }

    /// Computes the present tile's value, each row where it is stored.
    ///
    /// # Safety
    /// As for [`run`](Self::run); the present tile is measured, and `out` is its address.
    pub(super) unsafe fn store_rows(&mut self, out: *mut u8) {
        let (instructions, row) = (self.due(), self.row());
        let step = self.nest.out.inner[0];
        let place = |first: usize| out.wrapping_offset((first / row) as isize * step);
        // SAFETY: guaranteed by the caller; rows of the tile are contiguous in the output, and overlap no operand.
        unsafe {
            self.load();
            match instructions {
                [first @ .., Instruction::Map(map)] => {
                    self.steps(first);
                    self.strips_of(map, row, usize::MAX, |first, strip| {
                        strip.compute(place(first))
                    });
                }
                [first @ .., Instruction::Chain(chain)] => {
                    self.steps(first);
                    self.chain(chain, Destination { first: out, stream: false }, Some(step));
                }
                all => {
                    self.steps(all);
                    let value = self.slots[self.nest.value as usize].cast_const();
                    for first in (0..self.points).step_by(row) {
                        let bytes = first * self.nest.size;
                        let from = value.wrapping_add(bytes);
                        std::ptr::copy_nonoverlapping(from, place(first), row * self.nest.size);
                    }
                }
            }
        }
    }

    /// Computes the present tile's value, and writes it with non-temporal stores.
    ///
    /// # Safety
    /// As for [`run`](Self::run); the present tile is measured, and `out` is its address.
    pub(super) unsafe fn stream(&mut self, stream: &StreamSpec, out: *mut u8) {
        let (instructions, size) = (self.due(), self.nest.size);
        let value = self.nest.value as usize;
        // SAFETY: guaranteed by the caller; strips are parts of the tile.
        unsafe {
            self.load();
            match instructions {
                [first @ .., Instruction::Chain(chain)]
                    if stream.strips && out.addr().is_multiple_of(LINE) && streams(chain.level) =>
                {
                    self.steps(first);
                    self.chain(chain, Destination { first: out, stream: true }, None);
                }
                [first @ .., Instruction::Chain(chain)] if stream.strips => {
                    self.steps(first);
                    let dst = self.slots[value];
                    let strip = Destination { first: dst, stream: false };
                    self.chain_strips(
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
                    self.strips(map, TILE_STRIP, |first, strip| {
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
                    let to = CopySide { ptr: out, strides: &self.nest.out.inner };
                    stream.copier.copy(&self.extents, to, CopySide { ptr: value, strides: &dense });
                }
            }
        }
    }

    /// Number of elements of a value in the present tile.
    fn count(&self, over: Over) -> usize {
        over.count(self.points, self.row())
    }

    /// Selects elements by a condition: if it holds everywhere, the slot becomes that of the chosen operand.
    ///
    /// # Safety
    /// As for [`step`](Self::step).
    #[inline]
    unsafe fn select(&mut self, map: &Map, register: usize) {
        let [condition, chosen, _] = map.sources.map(|source| self.slots[source.slot as usize]);
        // SAFETY: the condition is computed, one bool for each point.
        if unsafe { all_hold(condition.cast_const().cast(), self.points) } {
            self.slots[map.dst as usize] = chosen;
            return;
        }
        let dst = self.scratch.wrapping_add(register);
        self.slots[map.dst as usize] = dst;
        // SAFETY: operands are computed, one element for each point; the register has room.
        unsafe {
            self.strips(map, usize::MAX, |first, strip| strip.compute(dst.add(first * map.size)));
        }
    }

    /// Value of an affine index at the first point of the present tile.
    fn origin(&self, constant: i64, steps: &[i64]) -> i64 {
        steps.iter().enumerate().fold(constant, |sum, (a, &step)| {
            let at = self.block[a] * self.nest.geometry.loops[a].tile;
            sum.wrapping_add(step.wrapping_mul(at as i64))
        })
    }

    /// Executes one instruction.
    ///
    /// # Safety
    /// Its operands are computed for the present tile.
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
                unsafe { self.chain(chain, Destination { first: dst, stream: false }, None) };
            }
            // SAFETY: operands are computed.
            Instruction::Select { map, register } => unsafe { self.select(map, *register) },
            Instruction::Index { dst, constant, steps, inner, iota, over } => {
                let origin = self.origin(*constant, steps);
                let dst = self.slots[*dst as usize].cast::<i64>();
                let extents = if *over == Over::One { &[] } else { &self.extents[..] };
                // SAFETY: the register has one i64 for each point, or one for a splat.
                unsafe { indices(*iota, extents, inner, dst, origin) };
            }
            Instruction::Threshold { dst, op, constant, steps, inner, other } => {
                let origin = self.origin(*constant, steps);
                let other = other.as_ref().map(|other| {
                    let step = if other.over == Over::One { 0 } else { 1 };
                    (self.slots[other.slot as usize].cast_const().cast::<i64>(), step)
                });
                let dst = self.slots[*dst as usize].cast();
                // SAFETY: the register has one bool for each point; the other side is computed, an i64 for each row or
                // for all.
                unsafe { thresholds((*op, inner), &self.extents, dst, origin, &mut Others(other)) };
            }
            Instruction::Lookup(lookup) => {
                let first = self.address(&lookup.array).cast_const();
                let numbers = self.slots[lookup.numbers as usize].cast_const();
                let dst = self.slots[lookup.dst as usize];
                // SAFETY: the numbers are loaded or computed; lowering proved that the elements for valid ones exist.
                unsafe { lookup.run(&self.extents, dst, numbers, first) };
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
}

/// Contiguous elements of a value to compute.
#[derive(Clone, Copy, Debug)]
struct Strip {
    kernel: TileKernel,
    /// Number of elements.
    count: usize,
    /// The operands.
    a: *const u8,
    b: *const u8,
    c: *const u8,
}

impl Strip {
    /// Computes the strip into `dst`; returns the faults that occurred.
    ///
    /// # Safety
    /// `dst` has room for the strip, and overlaps no operand; the operands are computed.
    #[inline(always)]
    unsafe fn compute(self, dst: *mut u8) -> u32 {
        let Self { kernel, count, a, b, c } = self;
        // SAFETY: guaranteed by the caller; lowering chose the kernel for the types of the operands, and made their
        // registers large enough.
        unsafe { kernel(count, dst, a, b, c) }
    }
}

/// Writes the values of an affine index over a tile.
///
/// # Safety
/// `dst` has one element for each point.
unsafe fn indices(iota: Iota, extents: &[usize], steps: &[i64], dst: *mut i64, start: i64) {
    // SAFETY (all arms): sub-boxes of the tile.
    match extents {
        // SAFETY: the only element.
        [] => unsafe { iota(1, dst, start, 0) },
        // SAFETY: guaranteed by the caller.
        &[n] => unsafe { iota(n, dst, start, steps[0]) },
        [n, rest @ ..] => {
            let size: usize = rest.iter().product();
            for i in 0..*n {
                let start = start.wrapping_add(steps[0].wrapping_mul(i as i64));
                // SAFETY: row `i` is a sub-box, which begins `i * size` elements in.
                unsafe { indices(iota, rest, &steps[1..], dst.add(i * size), start) };
            }
        }
    }
}
