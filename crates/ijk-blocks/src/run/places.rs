//! Where the blocks of a plan's arrays are.

use crate::plan::{Array, BlockPlan, From, Stage};
use crate::store::{MemoryStore, Scratch, Sink, Source, Store};
use crate::{Block, Error, Value};
use std::sync::Arc;

/// How many bytes an intermediate result may have before it goes to a scratch; none go there without one.
#[derive(Clone, Copy)]
pub(super) struct Room<'a>(pub(super) Option<(&'a dyn Scratch, u64)>);

impl Room<'_> {
    /// Where the blocks of each stage are; those of the last go elsewhere.
    pub(super) fn stores(self, plan: &BlockPlan) -> Result<Vec<Arc<dyn Store>>, Error> {
        let last = plan.stages.len().saturating_sub(1);
        let store = |(number, stage): (usize, &Stage)| -> Result<Arc<dyn Store>, Error> {
            let is_between = number < last && stage.out.element.number().is_some();
            if let Some((scratch, most)) = self.0.filter(|_| is_between)
                && super::bytes(&stage.out) > most
            {
                return Ok(scratch.store(&stage.out, &fill(stage))?);
            }
            Ok(Arc::new(memory(stage)))
        };
        plan.stages.iter().enumerate().map(store).collect()
    }
}

/// Where the blocks of a plan's arrays are.
pub(super) struct Places {
    /// For each array, what is read.
    pub(super) sources: Vec<Arc<dyn Source>>,
    /// For each stage, what is written.
    pub(super) sinks: Vec<Arc<dyn Sink>>,
}

impl Places {
    /// Stages but the last go to these stores.
    pub(super) fn new(plan: &BlockPlan, sink: Arc<dyn Sink>, stores: &[Arc<dyn Store>]) -> Self {
        Self::spread(plan, sink, stores, |stage| Arc::clone(&stores[stage]) as Arc<dyn Source>)
    }

    /// The same where blocks of stages come from elsewhere, too.
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
        Self { sources: plan.arrays.iter().map(source).collect(), sinks }
    }
}

/// A store of a stage's blocks in memory.
pub(super) fn memory(stage: &Stage) -> MemoryStore {
    MemoryStore::with_fill(stage.out.clone(), fill(stage))
}

/// Hands a finished block to where it goes; one to which nothing was added is missing there, too, if that
/// means the same.
pub(super) fn deliver(
    stage: &Stage,
    sink: &dyn Sink,
    at: &[usize],
    block: Option<Arc<Block>>,
) -> Result<(), Error> {
    let fill = fill(stage);
    let block = match block {
        None if sink.fill().as_ref() != Some(&fill) => {
            Some(Arc::new(Block::full(&fill, &stage.out.block_shape(at))?))
        }
        block => block,
    };
    Ok(sink.write(at, block)?)
}

/// The elements of blocks of a stage to which nothing was added.
fn fill(stage: &Stage) -> Value {
    stage.identity.clone().unwrap_or_else(|| Value::zero(&stage.out.element))
}
