//! Nests of one tile, as lists of calls.
//!
//! A [`Worker`](super::run::Worker) finds the extents, addresses and rows of each tile. If a nest has one, they are known
//! when it is compiled, and finding them takes longer than a short tile.

use super::program::*;
use crate::Few;
use crate::copy::{Copier, CopySide, dense_strides};
use ijk_kernels::simd::Level;
use ijk_kernels::tile::{self, ChainRows, Destination, Fold, Link, TileKernel};
use ijk_types::DType;
use smallvec::SmallVec;
use std::ops::Range;

/// Most calls of an instruction, which are one for each row of some tiles.
const MOST_ROWS: usize = 16;

/// The calls of a nest that has one tile.
#[derive(Clone, Debug)]
pub(super) struct OneTile {
    calls: Vec<TileCall>,
    /// Number of leading calls that read constants only.
    fixed: usize,
    constants: Vec<[u64; 2]>,
}

/// An address that is known but for its origin.
#[derive(Clone, Copy, Debug)]
enum At {
    /// Bytes from the first element of a buffer.
    Buffer(usize, isize),
    Constant(usize),
    /// Bytes from the start of scratch memory.
    Scratch(usize),
}

impl At {
    fn offset(self, bytes: isize) -> Self {
        match self {
            Self::Buffer(buffer, at) => Self::Buffer(buffer, at.wrapping_add(bytes)),
            Self::Constant(_) => self,
            Self::Scratch(at) => Self::Scratch(at.wrapping_add_signed(bytes)),
        }
    }
}

/// A call of a kernel.
#[derive(Clone, Debug)]
enum TileCall {
    Map { kernel: TileKernel, count: usize, dst: At, sources: [At; 3] },
    Chain(Box<ChainCall>),
    Index { iota: Iota, count: usize, dst: At, start: i64, step: i64 },
    Copy(Box<CopyCall>),
    Fold(Box<FoldCall>),
}

/// A fold of values into accumulators, which it initialises.
#[derive(Clone, Debug)]
struct FoldCall {
    start: [u64; 2],
    splat: TileKernel,
    outputs: usize,
    fold: Fold,
    rows: usize,
    length: usize,
    acc: At,
    values: At,
}

/// A call of a chain.
#[derive(Clone, Debug)]
struct ChainCall {
    level: Level,
    dtype: DType,
    rows: ChainRows,
    dst: At,
    /// Links, whose operands are to be set.
    links: Vec<(Link, [At; 3])>,
}

// SAFETY: the operands of the links are null.
unsafe impl Send for ChainCall {}
// SAFETY: as for `Send`.
unsafe impl Sync for ChainCall {}

/// A copy of a box.
#[derive(Clone, Debug)]
struct CopyCall {
    copier: Copier,
    extents: Few<usize>,
    to: (At, Few<isize>),
    from: (At, Few<isize>),
}

impl OneTile {
    /// The calls of a nest; none if it has several tiles, or a tile depends on more than the origins of buffers.
    pub(super) fn of(nest: &TileNest) -> Option<Self> {
        let one = nest.blocks.iter().all(|&blocks| blocks == 1);
        let sinks = match &nest.sink {
            Sink::Direct | Sink::Store { .. } | Sink::StoreRows => true,
            Sink::Reduce(spec) => folds_once(nest, spec),
            _ => false,
        };
        if !one || !sinks {
            return None;
        }
        let extents: Few<usize> =
            nest.geometry.inner.iter().map(|&a| nest.geometry.loops[a].axis.extent).collect();
        let mut slots: SmallVec<[At; 16]> = SmallVec::from_elem(At::Scratch(0), nest.slots);
        for (n, &(slot, _)) in nest.constants.iter().enumerate() {
            slots[slot as usize] = At::Constant(n);
        }
        for &(slot, at) in &nest.registers {
            slots[slot as usize] = At::Scratch(at);
        }
        let mut list =
            Listing { nest, points: extents.iter().product(), extents, slots, calls: vec![] };
        let (fixed, rest) = nest.instructions.split_at(nest.fixed);
        list.all(fixed)?;
        let fixed = list.calls.len();
        let out = At::Buffer(nest.out.buffer, nest.out.offset);
        if let Sink::Store { copier, moved: true } = nest.sink {
            let load = &nest.loads.first()?.place;
            let from = (At::Buffer(load.buffer, load.offset), &load.inner[..]);
            list.copy(copier, 0..list.extents.len(), (out, &nest.out.inner), from);
        } else {
            list.loads();
            list.slots[OUT as usize] = out;
            match (&nest.sink, rest) {
                (Sink::StoreRows, [first @ .., Instruction::Map(map)]) => {
                    list.all(first)?;
                    list.rows(map, list.row(), |row, _| {
                        out.offset(row as isize * nest.out.inner[0])
                    })?;
                }
                (Sink::StoreRows, [first @ .., Instruction::Chain(chain)]) => {
                    list.all(first)?;
                    list.chain(chain, out, Some(nest.out.inner[0]));
                }
                (Sink::StoreRows, _) => return None,
                (_, all) => list.all(all)?,
            }
            match &nest.sink {
                Sink::Store { copier, .. } => {
                    let all = 0..list.extents.len();
                    let dense = list.dense(all.clone(), nest.size);
                    let from = (list.slots[nest.value as usize], &dense[..]);
                    list.copy(*copier, all, (out, &nest.out.inner), from);
                }
                Sink::Reduce(spec) => list.fold(spec, out)?,
                _ => {}
            }
        }
        let constants = nest.constants.iter().map(|&(_, bits)| bits).collect();
        Some(Self { calls: list.calls, fixed, constants })
    }

    /// Makes the calls that read constants only, whose results later runs with the same memory may share.
    ///
    /// # Safety
    /// `scratch` has the nest's scratch bytes, aligned to 64, which nothing else accesses.
    pub(super) unsafe fn prepare(&self, scratch: *mut u8) -> u32 {
        // SAFETY: guaranteed by the caller; these calls read no buffer.
        unsafe { self.calls(&self.calls[..self.fixed], &[], scratch) }
    }

    /// Makes the other calls; returns the faults that occurred.
    ///
    /// # Safety
    /// As for [`Launch::run`](super::Launch::run); the memory [is prepared](Self::prepare).
    pub(super) unsafe fn run(&self, bases: &[*mut u8], scratch: *mut u8) -> u32 {
        // SAFETY: guaranteed by the caller.
        unsafe { self.calls(&self.calls[self.fixed..], bases, scratch) }
    }

    /// # Safety
    /// As for [`run`](Self::run); the calls are those of this tile, in order.
    unsafe fn calls(&self, calls: &[TileCall], bases: &[*mut u8], scratch: *mut u8) -> u32 {
        let address = |at: At| match at {
            At::Buffer(buffer, offset) => bases[buffer].wrapping_offset(offset),
            At::Constant(n) => self.constants[n].as_ptr().cast_mut().cast(),
            At::Scratch(offset) => scratch.wrapping_add(offset),
        };
        let mut faults = 0;
        for call in calls {
            // SAFETY: guaranteed by the caller: the check of the nest ensures that the elements exist for the whole
            // domain, registers have room for a tile, and operands are computed by the order of calls.
            unsafe {
                match call {
                    TileCall::Map { kernel, count, dst, sources: [a, b, c] } => {
                        let (a, b, c) = (address(*a), address(*b), address(*c));
                        faults |= kernel(*count, address(*dst), a, b, c);
                    }
                    TileCall::Chain(chain) => {
                        let mut links: SmallVec<[Link; LONGEST]> = SmallVec::new();
                        for &(link, [a, b, c]) in &chain.links {
                            let operands = [a, b, c];
                            links.push(Link {
                                operands: operands.map(|at| address(at).cast_const()),
                                ..link
                            });
                        }
                        let to = Destination { first: address(chain.dst), stream: false };
                        tile::chain(chain.level, chain.dtype, chain.rows, to, &mut links);
                    }
                    TileCall::Index { iota, count, dst, start, step } => {
                        iota(*count, address(*dst).cast(), *start, *step);
                    }
                    TileCall::Fold(of) => {
                        let (acc, start) = (address(of.acc), of.start.as_ptr().cast());
                        (of.splat)(of.outputs, acc, start, start, start);
                        (of.fold)(of.rows, of.length, acc, address(of.values).cast_const());
                    }
                    TileCall::Copy(copy) => {
                        let to = CopySide { ptr: address(copy.to.0), strides: &copy.to.1 };
                        let from = address(copy.from.0).cast_const();
                        let from = CopySide { ptr: from, strides: &copy.from.1 };
                        copy.copier.copy(&copy.extents, to, from);
                    }
                }
            }
        }
        faults
    }
}

/// Returns true if a reduction is one fold: of values that no chain folds in registers, and that are nowhere in the
/// output's array.
fn folds_once(nest: &TileNest, spec: &ReduceSpec) -> bool {
    let apart = nest.loads.iter().all(|load| load.place.buffer != nest.out.buffer);
    let plain = spec.chunks == 1 && spec.needed.is_none() && spec.existing.is_none();
    apart && plain && spec.rows.is_none() && spec.chain.is_none()
}

/// The calls of a nest while they are found.
struct Listing<'a> {
    nest: &'a TileNest,
    /// Of the tile.
    extents: Few<usize>,
    points: usize,
    slots: SmallVec<[At; 16]>,
    calls: Vec<TileCall>,
}

impl Listing<'_> {
    /// Points of a row.
    fn row(&self) -> usize {
        self.extents.last().copied().unwrap_or(1)
    }

    /// Number of elements of a value.
    fn count(&self, over: Over) -> usize {
        over.count(self.points, self.row())
    }

    /// The strides of a register with elements of `size` bytes for each point of some axes.
    fn dense(&self, axes: Range<usize>, size: usize) -> Few<isize> {
        let mut strides = Few::from_elem(0, axes.len());
        dense_strides(&self.extents[axes], size, &mut strides);
        strides
    }

    /// Sets the slots of loads, and packs those that are not read in place.
    fn loads(&mut self) {
        for load in &self.nest.loads {
            let from = At::Buffer(load.place.buffer, load.place.offset);
            let (copier, axes) = match load.mode {
                LoadMode::Direct => {
                    self.slots[load.slot as usize] = from;
                    continue;
                }
                LoadMode::Pack(copier) | LoadMode::Split(copier, _) | LoadMode::Beside(copier) => {
                    (copier, self.extents.len())
                }
                LoadMode::PackRows(copier) => (copier, self.extents.len() - 1),
            };
            let dense = self.dense(0..axes, load.size);
            let to = (self.slots[load.slot as usize], &dense[..]);
            self.copy(copier, 0..axes, to, (from, &load.place.inner[..axes]));
        }
    }

    /// Copies a box of some axes.
    fn copy(
        &mut self,
        copier: Copier,
        axes: Range<usize>,
        to: (At, &[isize]),
        from: (At, &[isize]),
    ) {
        let side = |(at, strides): (At, &[isize])| (at, Few::from_slice(strides));
        let extents = Few::from_slice(&self.extents[axes]);
        let (to, from) = (side(to), side(from));
        self.calls.push(TileCall::Copy(Box::new(CopyCall { copier, extents, to, from })));
    }

    /// Adds a fold of the value, into the output if its elements are contiguous.
    fn fold(&mut self, spec: &ReduceSpec, out: At) -> Option<()> {
        let ReduceKernels::Fold(kernels) = &spec.reducer else { return None };
        let kept = self.nest.geometry.kept_inside();
        let dense = self.dense(kept.clone(), spec.size);
        let outputs: usize = self.extents[kept.clone()].iter().product();
        let each = self.points / outputs.max(1);
        let (fold, rows, length) = match self.nest.geometry.along {
            true => (kernels.along, outputs, each),
            false if each <= spec.capacity => (kernels.down, each, outputs),
            false => return None,
        };
        let in_place = dense == spec.out;
        let acc = if in_place { out } else { At::Scratch(spec.accumulators) };
        let (start, splat) = (spec.start, spec.splat);
        let values = self.slots[self.nest.value as usize];
        let call = FoldCall { start, splat, outputs, fold, rows, length, acc, values };
        self.calls.push(TileCall::Fold(Box::new(call)));
        if !in_place {
            self.copy(spec.copier, kept, (out, &spec.out), (acc, &dense));
        }
        Some(())
    }

    /// Adds instructions; none if one is not a call of known operands.
    fn all(&mut self, instructions: &[Instruction]) -> Option<()> {
        instructions.iter().try_for_each(|instruction| self.instruction(instruction))
    }

    fn instruction(&mut self, instruction: &Instruction) -> Option<()> {
        match instruction {
            Instruction::Map(map) => self.map(map, self.slots[map.dst as usize]),
            Instruction::Select { map, register } => {
                self.slots[map.dst as usize] = At::Scratch(*register);
                self.map(map, At::Scratch(*register))
            }
            Instruction::Chain(chain) => {
                self.chain(chain, self.slots[chain.dst as usize], None);
                Some(())
            }
            Instruction::Index { dst, constant, inner, iota, over, .. } => {
                let (extents, dst) = (self.extents.clone(), self.slots[*dst as usize]);
                let extents = if *over == Over::One { &[] } else { &extents[..] };
                self.index(*iota, (extents, inner), dst, *constant)
            }
            Instruction::Threshold { .. } | Instruction::Gather { .. } | Instruction::Lookup(_) => {
                None
            }
        }
    }

    /// Adds the values of an affine index, as [`Worker`](super::run::Worker) computes them.
    fn index(
        &mut self,
        iota: Iota,
        (extents, steps): (&[usize], &[i64]),
        dst: At,
        start: i64,
    ) -> Option<()> {
        let (count, step) = match *extents {
            [] => (1, 0),
            [n] => (n, steps[0]),
            [n, ref rest @ ..] => {
                let size = rest.iter().product::<usize>() * size_of::<i64>();
                return (0..(n <= MOST_ROWS).then_some(n)?).try_for_each(|i| {
                    let start = start.wrapping_add(steps[0].wrapping_mul(i as i64));
                    let dst = dst.offset((i * size) as isize);
                    self.index(iota, (rest, &steps[1..]), dst, start)
                });
            }
        };
        self.calls.push(TileCall::Index { iota, count, dst, start, step });
        Some(())
    }

    /// Adds a kernel.
    fn map(&mut self, map: &Map, dst: At) -> Option<()> {
        let length = if map.is_by_row() { self.row() } else { self.count(map.over) };
        self.rows(map, length, |_, start| dst.offset((start * map.size) as isize))
    }

    /// Adds a kernel, by rows of a length: `place` has the destination of each, by its number and its first element.
    fn rows(&mut self, map: &Map, length: usize, place: impl Fn(usize, usize) -> At) -> Option<()> {
        let all = self.count(map.over);
        if all > length.saturating_mul(MOST_ROWS) {
            return None;
        }
        for (row, start) in (0..all).step_by(length.max(1)).enumerate() {
            let source = |source: Source| {
                let at = source.at(map.over, start, row).0;
                self.slots[source.slot as usize].offset(at as isize)
            };
            let (dst, sources) = (place(row, start), map.sources.map(source));
            self.calls.push(TileCall::Map { kernel: map.kernel, count: length, dst, sources });
        }
        Some(())
    }

    /// Adds a chain: `step` bytes lie between the rows of the destination, none if its elements are contiguous.
    fn chain(&mut self, chain: &Chain, dst: At, step: Option<isize>) {
        let by_row = step.is_some() || chain.is_by_row();
        let length = if by_row { self.row() } else { self.points };
        let dense = (length * chain.dtype.size()) as isize;
        let count = self.points / length.max(1);
        let rows = ChainRows { count, length, step: step.unwrap_or(dense) };
        let links = chain.links.iter().map(|link| {
            let rows = link.sources.map(|s| if count > 1 { s.row_step(length) } else { 0 });
            let own = link.at([std::ptr::null(); 3], rows);
            (own, link.sources.map(|source| self.slots[source.slot as usize]))
        });
        let links = links.collect();
        let (level, dtype) = (chain.level, chain.dtype);
        self.calls.push(TileCall::Chain(Box::new(ChainCall { level, dtype, rows, dst, links })));
    }
}
