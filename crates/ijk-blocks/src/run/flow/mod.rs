//! Dataflow of a stage: workers read parts of operands for each other, and multiply them as they arrive.
//!
//! Each worker runs two operators ([`source`], [`multiply`]). A timestamp is a panel of a round of the [`Schedule`]. A
//! source puts the parts that its worker reads at a time into the [`panel_cache`] of its process, and sends each once
//! to every other process that needs it, whose receiver puts it into its own cache. A source runs at most a window
//! ahead of the frontier, so that the parts in flight are bounded by the window, however long the folded axis is. When
//! the frontier has passed a time, its panel is folded into the blocks of the output that the worker owns, in ascending
//! order of time. After the last panel of a round its blocks are delivered to their sink.
//!
//! No thread spins: a throttled source sleeps until the window moves, and an idle worker parks.

mod bytes;
mod message;
mod multiply;
mod panel_cache;
mod source;
mod subset;

use super::Failure;
use super::compute::Computer;
use super::kernel::Kernels;
use super::processes::Owners;
use super::requests::Ahead;
use super::skips::Skips;
use super::sparse::Sparse;
use super::stores::{BlockStores, send};
use crate::plan::{BlockPlan, From, Need, Schedule, Stage};
use crate::progress::Progress;
use crate::store::Outgoing;
use crate::{Block, Error};
use panel_cache::PanelCache;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
pub(super) use subset::WorkerSubset;
use timely::dataflow::operators::Probe;
use timely::dataflow::operators::probe::Handle;
use timely::worker::Worker;

/// Number of panels in flight: one is multiplied while the next is read.
pub(crate) const WINDOW: u64 = 2;

/// Time that an operator runs before it yields to the others.
const QUANTUM: Duration = Duration::from_millis(20);

/// Time that an idle worker sleeps before it checks for a failure.
const NAP: Duration = Duration::from_millis(50);

/// Interval at which an operator looks for what is on its way.
const LOOK: Duration = Duration::from_millis(1);

/// A stage and the resources of its computation.
pub(super) struct Job {
    pub(super) plan: Arc<BlockPlan>,
    pub(super) block_stores: Arc<BlockStores>,
    pub(super) kernels: Arc<Kernels>,
    pub(super) stage: usize,
    pub(super) skips: Skips,
    pub(super) schedule: Schedule,
    /// Work list, if not all panels are computed.
    pub(super) sparse: Option<Arc<Sparse>>,
    pub(super) subset: WorkerSubset,
    /// For each stage, the owners of its blocks; empty in one process.
    pub(super) owners: Vec<Arc<Owners>>,
    /// Parts and blocks that may be on their way beside the panels of the window and the blocks of a round.
    pub(super) ahead: Ahead,
}

/// State shared by the operators of all workers of a process.
pub(super) struct StageState {
    job: Job,
    cache: PanelCache,
    failure: Arc<Failure>,
    progress: Arc<Progress>,
}

impl StageState {
    pub(super) fn new(job: Job, failure: &Arc<Failure>, progress: &Arc<Progress>) -> Self {
        let (failure, progress) = (Arc::clone(failure), Arc::clone(progress));
        let cache = PanelCache::new(job.schedule.workers());
        Self { job, cache, failure, progress }
    }

    fn stage(&self) -> &Stage {
        &self.job.plan.stages[self.job.stage]
    }

    fn computer(&self) -> Computer<'_> {
        let Job { plan, block_stores, kernels, skips, .. } = &self.job;
        Computer { stage: self.stage(), reader: block_stores.reader(plan, kernels, skips), skips }
    }

    fn send(
        &self,
        at: &[usize],
        block: Option<Arc<Block>>,
    ) -> Result<Option<Box<dyn Outgoing>>, Error> {
        send(self.stage(), &*self.job.block_stores.sinks[self.job.stage], at, block)
    }

    /// Number of panels in flight.
    fn window(&self) -> u64 {
        WINDOW + self.job.ahead.panels
    }

    /// Worker that reads a part for a panel: workers take turns, those of the process that has it first.
    fn reader(&self, need: &Need, number: usize, panel: usize) -> usize {
        let Some(home) = self.home(need, panel) else { return need.reader(number, panel) };
        let near = |place: &&usize| self.job.schedule.process(**place) == home;
        let near: Vec<usize> = need.workers.iter().filter(near).copied().collect();
        match near.is_empty() {
            true => need.reader(number, panel),
            false => near[(number + panel) % near.len()],
        }
    }

    /// Returns true if a part may exist for a panel.
    fn may_be_there(&self, need: &Need, panel: usize) -> bool {
        let panels = self.job.sparse.as_ref().and_then(|sparse| sparse.of(need.operand, &need.at));
        panels.is_none_or(|panels| panels.binary_search(&panel).is_ok())
    }

    /// Returns true if a part is known to be listed for a panel: one of an operand that decides which panels are
    /// computed.
    fn is_there(&self, need: &Need, panel: usize) -> bool {
        let panels = self.job.sparse.as_ref().and_then(|sparse| sparse.of(need.operand, &need.at));
        panels.is_some_and(|panels| panels.binary_search(&panel).is_ok())
    }

    /// The process that has the first block of a part, if a stage has made it.
    fn home(&self, need: &Need, panel: usize) -> Option<usize> {
        if self.job.owners.is_empty() {
            return None;
        }
        let (plan, operand) = (&self.job.plan, &self.stage().operands[need.operand]);
        let ranges = operand.ranges(&self.stage().ranges(&need.at, panel));
        operand.expr.leaves().into_iter().find_map(|leaf| {
            let array = &plan.arrays[leaf.array];
            let From::Stage(stage) = array.from else { return None };
            Some(self.job.owners[stage].process(&leaf.first(&array.ty, &ranges)?))
        })
    }
}

/// Runs a job on `workers` workers, each with a thread.
pub(super) fn run(job: Job, workers: usize, progress: &Arc<Progress>) -> Result<(), Error> {
    let shared = Arc::new(StageState::new(job, &Arc::default(), progress));
    let own = Arc::clone(&shared);
    let started = timely::execute(timely::Config::process(workers), move |worker| {
        work(worker, &shared);
    });
    match started {
        Ok(guards) => {
            let ended: Result<Vec<()>, String> = guards.join().into_iter().collect();
            own.failure.take().map_or(Ok(()), Err)?;
            ended.map(drop).map_err(Error::Worker)
        }
        Err(message) => {
            // The workers that were started wait for one that the system refused.
            own.failure
                .set(Error::Worker(format!("a worker's thread could not be started: {message}")));
            own.failure.take().map_or(Ok(()), Err)
        }
    }
}

/// Runs one worker until the stage is complete or a worker failed. It does not panic: the others would wait for it
/// forever.
pub(super) fn work(worker: &mut Worker, shared: &Arc<StageState>) {
    let compute = || run_stage(worker, shared);
    if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(compute)) {
        shared.failure.set(Error::Worker(super::panic_text(&*panic)));
    }
    // A failed dataflow never completes, and the worker would wait for it.
    for dataflow in worker.installed_dataflows() {
        worker.drop_dataflow(dataflow);
    }
}

fn run_stage(worker: &mut Worker, shared: &Arc<StageState>) {
    // The least time in progress at any worker; the greatest value at the end.
    let least = Rc::new(Cell::new(0));
    let (probe, source) = worker.dataflow::<u64, _, _>(|scope| {
        let (messages, source) = source::source(scope, Arc::clone(shared), Rc::clone(&least));
        let finished = multiply::multiply(messages, Arc::clone(shared));
        let (probe, _): (Handle<u64>, _) = finished.probe();
        (probe, source)
    });
    while !probe.done() && !shared.failure.is_set() {
        worker.step_or_park(Some(NAP));
        let now = probe.with_frontier(|frontier| frontier.first().copied());
        let now = now.unwrap_or(u64::MAX);
        if now != least.replace(now) {
            source.activate();
        }
    }
}

/// Time slice of an operator.
struct Quantum(Instant);

impl Quantum {
    fn begin() -> Self {
        Self(Instant::now())
    }

    fn is_over(&self) -> bool {
        self.0.elapsed() >= QUANTUM
    }
}
