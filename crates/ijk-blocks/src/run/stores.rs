//! Storage of the blocks of a plan's arrays.

use super::facts::Facts;
use super::kernel::Kernels;
use super::read::{Present, Reader};
use super::requests::Requests;
use super::skips::Skips;
use crate::domain::Coordinates;
use crate::plan::{Array, BlockPlan, From, Stage};
use crate::store::{MemoryStore, Outgoing, Scratch, Sink, Source, Store};
use crate::{Block, Error, Value};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Policy for large intermediate results: those above the size in bytes go to scratch storage; without one, none do.
#[derive(Clone, Copy)]
pub(super) struct SpillPolicy<'a>(pub(super) Option<(&'a dyn Scratch, u64)>);

/// Storage of the blocks of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Residence {
    Memory,
    Scratch,
    /// The destination of the result.
    Sink,
}

/// Ratio of the bytes of all intermediate results in memory to those of one.
const TOGETHER: u64 = 2;

impl SpillPolicy<'_> {
    /// Storage of the blocks of each stage.
    pub(super) fn residences(self, plan: &BlockPlan) -> Vec<Residence> {
        let last = plan.stages.len().saturating_sub(1);
        let mut left = self.0.map_or(u64::MAX, |(_, most)| most.saturating_mul(TOGETHER));
        let kept = |(number, stage): (usize, &Stage)| {
            let bytes = super::bytes(&stage.out);
            match self.0 {
                _ if number == last => Residence::Sink,
                Some((_, most))
                    if (bytes > most || bytes > left) && stage.out.element.number().is_some() =>
                {
                    Residence::Scratch
                }
                _ => {
                    left = left.saturating_sub(bytes);
                    Residence::Memory
                }
            }
        };
        plan.stages.iter().enumerate().map(kept).collect()
    }

    /// The stores of the stages; that of the last one is not used.
    pub(super) fn stores(self, plan: &BlockPlan) -> Result<Vec<Arc<dyn Store>>, Error> {
        let store = |(stage, kept): (&Stage, Residence)| -> Result<Arc<dyn Store>, Error> {
            match (self.0, kept) {
                (Some((scratch, _)), Residence::Scratch) => {
                    Ok(scratch.store(&stage.out, &fill(stage))?)
                }
                _ => Ok(Arc::new(memory(stage))),
            }
        };
        plan.stages.iter().zip(self.residences(plan)).map(store).collect()
    }
}

/// Sources and sinks of the blocks of a plan's arrays.
pub(super) struct BlockStores {
    /// For each array, its source.
    pub(super) sources: Vec<Arc<dyn Source>>,
    /// For each stage, its sink.
    pub(super) sinks: Vec<Arc<dyn Sink>>,
    /// For each array, its existing blocks.
    pub(super) present: Vec<Present>,
    /// For each array, the blocks that were asked for.
    pub(super) requests: Vec<Requests>,
    /// Facts about blocks that were read.
    pub(super) facts: Facts,
}

impl BlockStores {
    /// Stages but the last write to these stores.
    pub(super) fn new(plan: &BlockPlan, sink: Arc<dyn Sink>, stores: &[Arc<dyn Store>]) -> Self {
        Self::spread(plan, sink, stores, |stage| Arc::clone(&stores[stage]) as Arc<dyn Source>)
    }

    /// The same with other sources for the blocks of stages.
    pub(super) fn spread(
        plan: &BlockPlan,
        sink: Arc<dyn Sink>,
        stores: &[Arc<dyn Store>],
        made: impl Fn(usize) -> Arc<dyn Source>,
    ) -> Self {
        let between = &stores[..stores.len().saturating_sub(1)];
        let between = between.iter().map(|store| Arc::clone(store) as Arc<dyn Sink>);
        let sinks = between.chain([sink]).collect();
        let source = |array: &Array| match &array.from {
            From::Source(source) => Arc::clone(source),
            From::Stage(stage) => made(*stage),
        };
        let sources = plan.arrays.iter().map(source).collect();
        let present = plan.arrays.iter().map(|_| Present::default()).collect();
        let requests = plan.arrays.iter().map(|_| Requests::default()).collect();
        Self { sources, sinks, present, requests, facts: Facts::default() }
    }

    /// The same for a run that a flag stops.
    pub(super) fn stopped_by(mut self, flag: Option<&Arc<AtomicBool>>) -> Self {
        for source in &mut self.sources {
            if let Some(until) = flag.and_then(|flag| source.until(flag)) {
                *source = until;
            }
        }
        self
    }

    /// Reader of a stage's operands.
    pub(super) fn reader<'a>(
        &'a self,
        plan: &'a BlockPlan,
        kernels: &'a Kernels,
        skips: &Skips,
    ) -> Reader<'a> {
        let Self { sources, present, requests, facts, .. } = self;
        let (arrays, finite) = (&plan.arrays[..], skips.finite());
        Reader { arrays, stores: sources, kernels, facts, present, requests, finite }
    }
}

/// A store of a stage's blocks in memory.
pub(super) fn memory(stage: &Stage) -> MemoryStore {
    MemoryStore::with_fill(stage.out.clone(), fill(stage))
}

/// Delivers a finished block to its sink, or begins to. A block to which nothing was added is omitted, if missing blocks
/// of the sink have the same elements.
pub(super) fn send(
    stage: &Stage,
    sink: &dyn Sink,
    at: &[usize],
    block: Option<Arc<Block>>,
) -> Result<Option<Box<dyn Outgoing>>, Error> {
    let block = match block {
        None if !means_the_same(stage, sink) => {
            Some(Arc::new(Block::full(&fill(stage), &stage.out.block_shape(at))?))
        }
        block => block,
    };
    Ok(sink.send(at, block)?)
}

/// Finishes the blocks of these numbers, of which nothing had to be computed, in one call where the sink may omit them.
pub(super) fn leave_out(
    stage: &Stage,
    sink: &dyn Sink,
    numbers: Range<usize>,
) -> Result<(), Error> {
    if means_the_same(stage, sink) {
        return Ok(sink.leave_out(numbers)?);
    }
    let grid = stage.out.grid();
    let all = numbers.map(|n| Coordinates::of(&grid, n));
    for at in all {
        // One at a time: no memory is set aside for more.
        if let Some(outgoing) = send(stage, sink, &at, None)? {
            outgoing.end()?;
        }
    }
    Ok(())
}

/// Returns true if a missing block of a sink equals a block of the stage to which nothing was added.
fn means_the_same(stage: &Stage, sink: &dyn Sink) -> bool {
    match (sink.fill(), fill(stage)) {
        (Some(Value::Number(own)), Value::Number(fill)) => own.same_bits(fill),
        (own, fill) => own.as_ref() == Some(&fill),
    }
}

/// The elements of blocks of a stage to which nothing was added.
pub(super) fn fill(stage: &Stage) -> Value {
    stage.identity.clone().unwrap_or_else(|| Value::zero(&stage.out.element))
}
