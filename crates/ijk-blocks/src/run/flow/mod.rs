//! A stage as a dataflow: workers that read parts of operands for each other, and multiply as these arrive.
//!
//! Each worker runs two operators ([`source`], [`multiply`]). Time is that of the [`Schedule`]: a panel of a
//! round. A source puts what its worker reads at a time on the [`shelf`] of its process, and sends it once to each
//! other process that needs it, where whoever receives it does the same. It does so only while that time is
//! within a window of the least one that somebody still computes; so what is under way is bounded by the window,
//! however long the folded axis is. When all of a time has arrived, its panel is folded into the blocks of the
//! output that the worker owns, in ascending order of time, and after the last panel of a round these go to
//! their sink.
//!
//! Nobody spins: a throttled source sleeps until the window moves, and a worker without anything to do parks.

mod bytes;
mod crew;
mod multiply;
mod parcel;
mod shelf;
mod source;

use super::Failure;
use super::compute::Computer;
use super::kernel::Kernels;
use super::places::{Places, deliver};
use super::processes::Homes;
use super::skips::Skips;
use super::sparse::Sparse;
use crate::plan::{BlockPlan, From, Need, Schedule, Stage};
use crate::progress::Progress;
use crate::{Block, Error};
pub(super) use crew::Crew;
use shelf::Shelf;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use timely::dataflow::operators::Probe;
use timely::dataflow::operators::probe::Handle;
use timely::worker::Worker;

/// So many panels are under way at a time: one is multiplied while the next is read.
pub(crate) const WINDOW: u64 = 2;

/// An operator works so long at a time; then the others have their turn.
const QUANTUM: Duration = Duration::from_millis(20);

/// Time that an idle worker sleeps before it checks for a failure.
const NAP: Duration = Duration::from_millis(50);

/// A stage that is to be computed.
pub(super) struct Job {
    pub(super) plan: Arc<BlockPlan>,
    pub(super) places: Arc<Places>,
    pub(super) kernels: Arc<Kernels>,
    pub(super) stage: usize,
    pub(super) skips: Skips,
    pub(super) schedule: Schedule,
    /// Work list, if not all panels are computed.
    pub(super) sparse: Option<Arc<Sparse>>,
    pub(super) crew: Crew,
    /// For each stage, where its blocks are; none in one process.
    pub(super) homes: Vec<Arc<Homes>>,
}

/// State shared by the operators of all workers of a process.
pub(super) struct Shared {
    job: Job,
    shelf: Shelf,
    failure: Arc<Failure>,
    progress: Arc<Progress>,
}

impl Shared {
    pub(super) fn new(job: Job, failure: &Arc<Failure>, progress: &Arc<Progress>) -> Self {
        let (failure, progress) = (Arc::clone(failure), Arc::clone(progress));
        let shelf = Shelf::new(job.schedule.workers());
        Self { job, shelf, failure, progress }
    }

    fn stage(&self) -> &Stage {
        &self.job.plan.stages[self.job.stage]
    }

    fn computer(&self) -> Computer<'_> {
        let Job { plan, places, kernels, skips, .. } = &self.job;
        Computer { stage: self.stage(), reader: places.reader(plan, kernels, skips), skips }
    }

    fn deliver(&self, at: &[usize], block: Option<Arc<Block>>) -> Result<(), Error> {
        deliver(self.stage(), &*self.job.places.sinks[self.job.stage], at, block)?;
        self.progress.computed();
        Ok(())
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
        if self.job.homes.is_empty() {
            return None;
        }
        let (plan, operand) = (&self.job.plan, &self.stage().operands[need.operand]);
        let ranges = operand.ranges(&self.stage().ranges(&need.at, panel));
        operand.expr.leaves().into_iter().find_map(|leaf| {
            let array = &plan.arrays[leaf.array];
            let From::Stage(stage) = array.from else { return None };
            Some(self.job.homes[stage].process(&leaf.first(&array.ty, &ranges)?))
        })
    }
}

/// Runs a job on so many workers, each with a thread.
pub(super) fn run(job: Job, workers: usize, progress: &Arc<Progress>) -> Result<(), Error> {
    let shared = Arc::new(Shared::new(job, &Arc::default(), progress));
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
            // Workers that were started before one that the system refused wait for it.
            own.failure
                .set(Error::Worker(format!("a worker's thread could not be started: {message}")));
            own.failure.take().map_or(Ok(()), Err)
        }
    }
}

/// Runs one worker until the stage is complete or a worker failed. It does not panic: the others would wait for it
/// forever.
pub(super) fn work(worker: &mut Worker, shared: &Arc<Shared>) {
    let compute = || run_stage(worker, shared);
    if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(compute)) {
        shared.failure.set(Error::Worker(super::panic_text(&*panic)));
    }
    // A failed dataflow never completes, and the worker would wait for it.
    for dataflow in worker.installed_dataflows() {
        worker.drop_dataflow(dataflow);
    }
}

fn run_stage(worker: &mut Worker, shared: &Arc<Shared>) {
    // The least time that somebody still computes; beyond all others in the end.
    let least = Rc::new(Cell::new(0));
    let (probe, source) = worker.dataflow::<u64, _, _>(|scope| {
        let (parcels, source) = source::source(scope, Arc::clone(shared), Rc::clone(&least));
        let finished = multiply::multiply(parcels, Arc::clone(shared));
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

/// A share of a worker's time.
struct Quantum(Instant);

impl Quantum {
    fn begin() -> Self {
        Self(Instant::now())
    }

    fn is_over(&self) -> bool {
        self.0.elapsed() >= QUANTUM
    }
}
