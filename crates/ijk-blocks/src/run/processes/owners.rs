//! Owners of the blocks of a stage: each block stays in the process that computed it.

use super::links::PeerChannels;
use crate::plan::Schedule;
use crate::run::flow::WorkerSubset;
use crate::store::{Source, Store};
use crate::{Block, StoreError, Type, Value};
use std::fmt;
use std::sync::Arc;

/// Assignment of the blocks of a stage to processes.
#[derive(Clone, Debug)]
pub(in crate::run) struct Owners {
    pub(super) schedule: Schedule,
    pub(super) subset: WorkerSubset,
}

impl Owners {
    /// The process that owns a block.
    pub(in crate::run) fn process(&self, at: &[usize]) -> usize {
        self.schedule.process(self.schedule.owner(at))
    }
}

/// Source of the blocks of all processes: those of others are requested.
pub(super) struct DistributedSource {
    pub(super) own: Arc<dyn Store>,
    pub(super) process: usize,
    pub(super) stage: usize,
    pub(super) owners: Arc<Owners>,
    pub(super) channels: Arc<PeerChannels>,
}

impl Source for DistributedSource {
    fn ty(&self) -> &Type {
        Source::ty(&*self.own)
    }

    fn fill(&self) -> Value {
        Source::fill(&*self.own)
    }

    fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        match self.owners.process(at) {
            process if process == self.process => self.own.read(at),
            process => self.channels.request(process, self.stage, at),
        }
    }

    fn name(&self) -> String {
        format!("s{}", self.stage)
    }
}

impl fmt::Debug for DistributedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}
