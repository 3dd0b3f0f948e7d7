//! Settings of an engine.

use super::Engine;
use crate::probe::{Costs, Probe};
use crate::runtime::cancel::InterruptCallback;
use crate::runtime::scratch::ScratchPool;
use crate::runtime::threads::Workers;
use ijk_kernels::simd::{Level, LevelError};
use ijk_kernels::tuning::time::{KEPT_RESULT_BYTES, LENT_MEMORY_DIVISOR, STREAMED_RESULT_BYTES};
use ijk_tensor::{TensorPool, memory_of_machine, reserve};

/// Settings of an [`Engine`].
#[derive(Clone, Debug, Default)]
pub struct EngineBuilder {
    pub(super) threads: usize,
    pub(super) level: Option<Level>,
    pub(super) memory_limit: Option<u64>,
    pub(super) kept: Option<usize>,
    pub(super) streams: Option<usize>,
    pub(super) probe: Option<Probe>,
    pub(super) interrupt: Option<InterruptCallback>,
}

impl EngineBuilder {
    /// Number of threads including the caller's; by default 0, which means as many as the machine offers this process.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Instruction set; by default [`Level::preferred`].
    pub fn level(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Limit in bytes for results and temporaries of a run: fewer blocks of a sweep are executed concurrently if they
    /// would exceed it, but at least one. Results do not depend on it. A single block that exceeds it is not detected
    /// here but in planning.
    pub fn memory_limit(mut self, bytes: Option<u64>) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Limit in bytes for dropped results that are kept for new ones. The default is 256 MiB, or the memory limit if
    /// that is less; without a limit, in addition an eighth of the machine's memory, whose pages the operating system
    /// may reclaim at any time.
    pub fn keep(mut self, bytes: usize) -> Self {
        self.kept = Some(bytes);
        self
    }

    /// Size in bytes from which a result that the plan does not read again is written with non-temporal stores; 16 MiB
    /// by default. Results do not depend on it.
    pub fn stream_from(mut self, bytes: usize) -> Self {
        self.streams = Some(bytes);
        self
    }

    /// Rates of the machine, from which the work that is worth dividing among threads is derived; by default
    /// [`Probe::typical`]. Results do not depend on it.
    pub fn probe(mut self, probe: Probe) -> Self {
        self.probe = Some(probe);
        self
    }

    /// Callback that returns true to cancel a run. The thread that started the run calls it about every 20 ms during
    /// longer runs. In a child process that is forked during the call, the run is cancelled.
    pub fn interrupt(mut self, ask: fn() -> bool) -> Self {
        self.interrupt = Some(ask);
        self
    }

    /// The level that the engine would have.
    ///
    /// # Errors
    /// If the environment requests a level that the machine does not support.
    pub fn chosen_level(&self) -> Result<Level, LevelError> {
        self.level.map_or_else(Level::preferred, Ok)
    }

    /// Builds the engine. If the environment requests instructions that the machine does not support, every run fails
    /// with [`RunError::Level`](crate::RunError::Level).
    pub fn build(self) -> Engine {
        // Planning may need it before the first run.
        reserve::is_there();
        let level = self.chosen_level();
        let (refused, level) = (level.clone().err(), level.unwrap_or_else(|_| Level::best()));
        let probe = self.probe.unwrap_or_else(|| Probe::typical(level, self.threads));
        let costs = Costs::new(&probe);
        let most = self.memory_limit.and_then(|limit| usize::try_from(limit).ok());
        let results = match self.kept.or(most.map(|most| most.min(KEPT_RESULT_BYTES))) {
            Some(kept) => TensorPool::new(kept),
            None => {
                let lent = memory_of_machine().map_or(0, |bytes| bytes / LENT_MEMORY_DIVISOR);
                TensorPool::lending(KEPT_RESULT_BYTES, usize::try_from(lent).unwrap_or(0))
            }
        };
        Engine {
            level,
            refused,
            workers: Workers::new(self.threads).for_work_from(costs.worth_threads()),
            costs,
            interrupt: self.interrupt,
            scratch: ScratchPool::new(),
            results,
            memory_limit: self.memory_limit,
            streams: self.streams.unwrap_or(STREAMED_RESULT_BYTES),
        }
    }
}
