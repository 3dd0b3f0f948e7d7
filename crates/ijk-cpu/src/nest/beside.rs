//! Nests that write different elements of one array over the same tiles: the parts of vectors, say, that boxes compute.
//!
//! Each box reads the same operands and writes a part of each cache line. One after another, they would stream both from
//! memory as often as there are boxes; here they take turns, a few tiles at a time, which stay in cache.

use super::launch::{Launch, OUT_OF_MEMORY, settled};
use super::program::{Instruction, LoadMode, LoadSpec, Sink, Slot, TileNest};
use super::run::Worker;
use crate::check::Layout;
use crate::copy::fence;
use crate::error::RunError;
use crate::explain::KernelChoice;
use crate::runtime::scratch::Need;
use crate::steps::{ExecutableStep, Program, StepRun};
use ijk_kernels::tuning::time::BESIDE_BYTES;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Nests that take turns.
#[derive(Clone, Debug)]
pub(crate) struct BesideProgram {
    nests: Vec<TileNest>,
    /// For each nest, its loads that an earlier one packs, too.
    given: Vec<Vec<Given>>,
}

/// A load that another nest has packed, and its slots in both.
#[derive(Clone, Copy, Debug)]
struct Given {
    load: usize,
    own: Slot,
    by: (usize, Slot),
}

/// The programs of a plan, with adjacent nests that may take turns as one.
pub(crate) fn joined(programs: Vec<Program>, buffers: &[Layout]) -> Vec<Program> {
    let mut all: Vec<Program> = Vec::with_capacity(programs.len());
    for program in programs {
        let Program::Nest(nest) = program else {
            all.push(program);
            continue;
        };
        match all.pop() {
            Some(Program::Beside(mut others)) if others.admits(&nest, buffers) => {
                others.push(*nest);
                all.push(Program::Beside(others));
            }
            Some(Program::Nest(first)) if first.takes_turns_with(&nest, buffers) => {
                let mut pair = BesideProgram { nests: vec![*first], given: vec![Vec::new()] };
                pair.push(*nest);
                all.push(Program::Beside(Box::new(pair)));
            }
            before => all.extend(before.into_iter().chain([Program::Nest(nest)])),
        }
    }
    all
}

impl BesideProgram {
    /// Tells whether another nest may take turns with all of these.
    fn admits(&self, nest: &TileNest, buffers: &[Layout]) -> bool {
        self.nests.iter().all(|other| other.takes_turns_with(nest, buffers))
    }

    /// Adds a nest.
    fn push(&mut self, nest: TileNest) {
        self.given.push(given(&self.nests, &nest));
        self.nests.push(nest);
    }

    /// Executes the tiles of some blocks.
    ///
    /// # Safety
    /// As for [`ExecutableStep::run`]; no other thread works on these blocks, or on others that write common elements of
    /// the output; `memory` has the scratch bytes of all nests.
    unsafe fn take(&self, run: &Launch<'_>, blocks: Range<usize>, memory: *mut u8) -> u32 {
        let mut at = memory;
        let mut workers: SmallVec<[Worker<'_>; 4]> = SmallVec::new();
        for nest in &self.nests {
            // SAFETY: guaranteed by the caller; each worker has its own part of the memory.
            workers.push(unsafe { Worker::new((nest, run.workers), run.bases, at) });
            at = at.wrapping_add(nest.scratch.next_multiple_of(64));
        }
        for (n, given) in self.given.iter().enumerate() {
            for &Given { load, own, by: (nest, slot) } in given {
                let packed = workers[nest].packed_at(slot);
                workers[n].take_load(load, own, packed);
            }
        }
        for block in blocks {
            for worker in &mut workers {
                // SAFETY: guaranteed by the caller; the nests write different elements, and earlier ones have packed what
                // later ones take of this tile.
                unsafe { worker.run(block..block + 1) };
            }
            if run.workers.have_ended() {
                break;
            }
        }
        fence();
        workers.iter().fold(0, |all, worker| all | worker.faults)
    }

    /// Bytes of scratch memory of a thread.
    fn scratch(&self) -> usize {
        self.nests.iter().map(|nest| nest.scratch.next_multiple_of(64)).sum()
    }
}

/// The loads of a nest that others pack in the same way before it, and keep.
fn given(others: &[TileNest], nest: &TileNest) -> Vec<Given> {
    let same = |load: &LoadSpec| {
        others.iter().enumerate().find_map(|(n, other)| {
            let equal = |other: &&LoadSpec| other.packs_as(load);
            let found = other.loads.iter().find(equal)?;
            other.keeps(found.slot).then_some((n, found.slot))
        })
    };
    let mut all = Vec::new();
    let mut at = 0;
    while at < nest.loads.len() {
        // Loads that one copy packs are given together or not at all.
        let parts = match nest.loads[at].mode {
            LoadMode::Split(_, parts) => parts,
            _ => 1,
        };
        let group = at..at + parts;
        let one = |load: usize| {
            let own = &nest.loads[load];
            same(own).map(|by| Given { load, own: own.slot, by })
        };
        if let Some(group) = group.map(one).collect::<Option<Vec<_>>>() {
            all.extend(group);
        }
        at += parts;
    }
    all
}

impl LoadSpec {
    /// Tells whether both are packed, from the same place to as many elements.
    fn packs_as(&self, other: &Self) -> bool {
        let by_row = |load: &Self| matches!(load.mode, LoadMode::PackRows(_));
        let packed = |load: &Self| !matches!(load.mode, LoadMode::Direct);
        let same = (&self.place, self.size) == (&other.place, other.size);
        same && packed(self) && packed(other) && by_row(self) == by_row(other)
    }
}

impl TileNest {
    /// Tells whether both write different elements of one large array over the same tiles, and neither reads it.
    fn takes_turns_with(&self, other: &Self, buffers: &[Layout]) -> bool {
        let out = &buffers[self.out.buffer];
        let same = (self.out.buffer, self.size, self.parallel)
            == (other.out.buffer, other.size, other.parallel);
        same && out.bytes() >= BESIDE_BYTES
            && (&self.blocks, &self.out.strides) == (&other.blocks, &other.out.strides)
            && self.has_tiles_of(other)
            && self.is_apart(other)
            && [self, other].into_iter().all(|nest| nest.stores_apart(out, buffers))
    }

    /// Tells whether it stores values that it does not read, and nothing in it is invariant from tile to tile.
    fn stores_apart(&self, out: &Layout, buffers: &[Layout]) -> bool {
        let stores = matches!(
            self.sink,
            Sink::Direct | Sink::Store { .. } | Sink::StoreRows | Sink::Stream(_)
        );
        let apart = |buffer: usize| !buffers[buffer].overlaps(out);
        let gathers_apart = self.instructions.iter().all(|each| match each {
            Instruction::Gather { array, .. } => apart(array.buffer),
            Instruction::Lookup(lookup) => apart(lookup.array.buffer),
            _ => true,
        });
        stores
            && self.geometry.reduced.is_empty()
            && self.standing <= self.fixed
            && self.one_tile.is_none()
            && self.loads.iter().all(|load| apart(load.place.buffer))
            && gathers_apart
    }

    /// Tells whether nothing else is stored in the register of a slot.
    fn keeps(&self, slot: Slot) -> bool {
        let register = self.registers.iter().find(|(own, _)| *own == slot);
        register
            .is_some_and(|(_, at)| self.registers.iter().filter(|own| own.1 == *at).count() == 1)
    }

    /// Tells whether both have the same tiles in the same order.
    fn has_tiles_of(&self, other: &Self) -> bool {
        let sides = |nest: &Self| -> SmallVec<[(usize, usize); 8]> {
            nest.geometry.loops.iter().map(|each| (each.axis.extent, each.tile)).collect()
        };
        let (a, b) = (&self.geometry, &other.geometry);
        sides(self) == sides(other) && (&a.kept, &a.inner) == (&b.kept, &b.inner)
    }

    /// Tells whether nests over the same domain, whose outputs have the same strides, write different elements.
    fn is_apart(&self, other: &Self) -> bool {
        let loops = self.geometry.loops.iter().zip(&self.out.strides);
        let mut axes: SmallVec<[(u128, u128); 8]> = loops
            .map(|(each, &stride)| (stride.unsigned_abs() as u128, each.axis.extent as u128))
            .collect();
        axes.sort_unstable_by(|a, b| b.cmp(a));
        let apart = self.out.offset.abs_diff(other.out.offset);
        !may_be(apart as i128, &axes)
    }
}

/// Tells whether a number may be a sum of a multiple of each stride by less than its extent, of either sign. Strides are
/// in descending order.
fn may_be(number: i128, axes: &[(u128, u128)]) -> bool {
    let Some((&(stride, extent), rest)) = axes.split_first() else { return number == 0 };
    let span = rest.iter().fold(0, |sum, &(stride, extent)| sum + stride * (extent - 1)) as i128;
    let (stride, most) = (stride as i128, extent as i128 - 1);
    if stride == 0 {
        return may_be(number, rest);
    }
    let least = (number - span).div_euclid(stride).max(-most);
    let greatest = (number + span).div_euclid(stride).min(most);
    // Strides that are not nested have many ways.
    greatest - least > 4 || (least..=greatest).any(|times| may_be(number - times * stride, rest))
}

impl ExecutableStep for BesideProgram {
    fn name(&self) -> &'static str {
        "nest"
    }

    fn cost(&self) -> f64 {
        self.nests.iter().map(TileNest::cost).sum()
    }

    fn explain(&self, _threads: usize) -> KernelChoice {
        self.nests[0].explain()
    }

    fn need(&self) -> Need {
        Need { shared: 0, each: self.scratch() as u64 }
    }

    unsafe fn run(&self, run: &StepRun<'_>) -> Result<u32, RunError> {
        let &StepRun { bases, workers, scratch, .. } = run;
        let nest = &self.nests[0];
        let launch = Launch { nest, bases, workers, scratch };
        let [divisible, rest] = nest.block_counts();
        let faults = AtomicU32::new(0);
        workers.parallel_ranges(divisible, self.cost(), |range| {
            // The whole of it, which threads may share.
            let launch = &launch;
            let own = match launch.scratch.try_take(self.scratch()) {
                // SAFETY: guaranteed by the caller; blocks of different tasks differ in a loop that separates elements
                // of the output, and only this task accesses the memory.
                Some(memory) => unsafe {
                    self.take(launch, range.start * rest..range.end * rest, memory.as_ptr())
                },
                None => OUT_OF_MEMORY,
            };
            faults.fetch_or(own, Ordering::Relaxed);
        });
        settled(faults, self.scratch())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_boxes_are_apart() {
        let triples = [(12, 1000)];
        assert!(!may_be(4, &triples) && !may_be(8, &triples));
        assert!(may_be(0, &triples) && may_be(12, &triples) && !may_be(12_000, &triples));
        // Rows of two planes, and rows that overlap.
        let planes = [(800, 50), (4, 100)];
        assert!(!may_be(400, &planes) && may_be(396, &planes) && may_be(804, &planes));
        assert!(may_be(0, &[(0, 7), (0, 3)]) && !may_be(4, &[(0, 7)]));
    }
}
