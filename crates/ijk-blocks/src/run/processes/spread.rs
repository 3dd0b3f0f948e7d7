//! The blocks of a stage, each of which is where it was computed.

use super::links::Desk;
use crate::plan::Schedule;
use crate::run::flow::Crew;
use crate::store::{Source, Store};
use crate::{Block, StoreError, Type, Value};
use std::fmt;
use std::sync::Arc;

/// Assignment of the blocks of a stage to processes.
#[derive(Clone, Debug)]
pub(in crate::run) struct Homes {
    pub(super) schedule: Schedule,
    pub(super) crew: Crew,
}

impl Homes {
    /// The process that has a block.
    pub(in crate::run) fn process(&self, at: &[usize]) -> usize {
        self.schedule.process(self.schedule.owner(at))
    }
}

/// A source of blocks of this process and the others, who are asked for theirs.
pub(super) struct Spread {
    pub(super) own: Arc<dyn Store>,
    pub(super) process: usize,
    pub(super) stage: usize,
    pub(super) homes: Arc<Homes>,
    pub(super) desk: Arc<Desk>,
}

impl Source for Spread {
    fn ty(&self) -> &Type {
        Source::ty(&*self.own)
    }

    fn fill(&self) -> Value {
        Source::fill(&*self.own)
    }

    fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        match self.homes.process(at) {
            process if process == self.process => self.own.read(at),
            process => self.desk.ask(process, self.stage, at),
        }
    }

    fn name(&self) -> String {
        format!("s{}", self.stage)
    }
}

impl fmt::Debug for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}
