//! A plan on the workers of several processes.
//!
//! All stages run in one dataflow program, one after another: a stage has ended when all of its blocks are
//! where they go. The blocks of a stage that is read by a later one stay in the process that computed them, and
//! whoever reads one that it does not have asks for it ([`spread`], [`links`]); so nothing is kept twice, and
//! no more is under way than somebody waits for. A result that is collected is asked for by process 0.

mod done;
mod ear;
mod line;
mod links;
mod message;
mod outbox;
mod spread;

pub(super) use spread::Homes;

use super::Failure;
use super::flow::{self, Crew, Shared};
use super::kernel::Kernels;
use super::places::{self, Places, Room};
use super::skips::Skips;
use crate::Error;
use crate::cluster::{Cluster, ClusterError, Peer, Terms};
use crate::plan::{BlockPlan, Coordinates, Done, Schedule, Team};
use crate::progress::Progress;
use crate::run::failure::{Others, Report};
use crate::store::{MemoryStore, Sink, Source, Store};
use line::{Line, Shore};
use links::Links;
use message::Message;
use outbox::Outbox;
use spread::Spread;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use timely::communication::allocator::ProcessBuilder;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::{AllocatorBuilder, Hooks};

/// Plan of a run with its resources.
pub(super) struct Given<'a> {
    pub(super) cluster: &'a Arc<Cluster>,
    pub(super) plan: &'a Arc<BlockPlan>,
    /// Kernels with all threads, and with one.
    pub(super) kernels: [Arc<Kernels>; 2],
    /// Workers of each process.
    pub(super) workers: usize,
    pub(super) memory: Option<u64>,
    pub(super) room: Room<'a>,
    /// Elements are assumed finite unless known otherwise.
    pub(super) finite: bool,
    pub(super) strict: bool,
    /// The level of instructions.
    pub(super) simd: &'static str,
    pub(super) progress: &'a Arc<Progress>,
}

/// Where the result goes.
pub(super) enum Goal {
    Sink(Arc<dyn Sink>),
    /// All of it into this store of process 0.
    Collect(Arc<MemoryStore>),
}

/// Computes a plan together with the other processes of a cluster; how many blocks of the result were there.
pub(super) fn run(given: &Given, goal: Goal) -> Result<usize, Error> {
    if let Some(what) = given.plan.closure() {
        return Err(ClusterError::Closure { what }.into());
    }
    let (terms, found) = (given.terms()?, done::found(given, &goal));
    let peers = given.cluster.connect(&terms)?;
    let done = done::agree(given, found, &peers)?;
    if given.plan.stages.last().is_none_or(|last| !done.is_empty() && done.is_all(last)) {
        given.progress.begin(0, 0, 0);
        return Ok(done.len());
    }
    let homes = given.homes(&done);
    let session = Session::open(given, &goal, &done, peers).map_err(ClusterError::Connections)?;
    session.compute(given, goal, &homes)?;
    Ok(done.len())
}

impl Given<'_> {
    fn terms(&self) -> Result<Terms, Error> {
        let (workers, memory, simd) = (self.workers, self.memory, self.simd);
        let finite = if self.finite { "\nassumed to be finite" } else { "" };
        let strict = if self.strict { "\ncomputed as it is written" } else { "" };
        let assumed = format!("{finite}{strict}");
        Ok(Terms { workers, memory, simd, plan: self.plan.identity()? + &assumed })
    }

    /// Owners of the blocks of each stage.
    fn homes(&self, done: &Done) -> Vec<Arc<Homes>> {
        let all = Team { processes: self.cluster.processes(), workers: self.workers };
        let home = |stage: usize| {
            let of = &self.plan.stages[stage];
            let team = all.of(of);
            let crew = Crew::every(all.workers / team.workers);
            let schedule = Schedule::new(of, team, flow::WINDOW, self.memory);
            let last = stage + 1 == self.plan.stages.len();
            let schedule = if last { schedule.without(done) } else { schedule };
            Arc::new(Homes { schedule, crew })
        };
        (0..self.plan.stages.len()).map(home).collect()
    }
}

/// Connections to all other processes, with their threads.
struct Session {
    links: Links,
    lines: Vec<Option<TcpStream>>,
    failure: Arc<Failure>,
    shore: Arc<Shore>,
    /// This process's blocks of each stage.
    stores: Vec<Arc<dyn Store>>,
}

impl Session {
    fn open(
        given: &Given,
        goal: &Goal,
        done: &Done,
        peers: Vec<Option<Peer>>,
    ) -> std::io::Result<Self> {
        let (stores, wrong) = stores(given, goal);
        let (lines, streams): (Vec<_>, Vec<_>) =
            peers.into_iter().map(|peer| peer.map(|peer| (peer.data, peer.link)).unzip()).unzip();
        let (mut told, mut outboxes) = (Vec::new(), Vec::new());
        for (line, link) in lines.iter().zip(&streams) {
            let (Some(line), Some(link)) = (line, link) else {
                outboxes.push(None);
                continue;
            };
            line.set_read_timeout(None)?;
            line.set_write_timeout(None)?;
            link.set_write_timeout(Some(links::SILENCE))?;
            let outbox = Outbox::new(link.try_clone()?);
            told.push((line.try_clone()?, Arc::clone(&outbox)));
            outboxes.push(Some(outbox));
        }
        let others = Peers { cluster: Arc::clone(given.cluster), told };
        let failure = Arc::new(Failure::among(others));
        outboxes.iter().flatten().for_each(|outbox| outbox.fails(&failure));
        let last = given.plan.stages.last();
        let left = given.plan.blocks().saturating_sub(done.len() as u64);
        let operations = last.map_or(0, |last| done.operations(last));
        let operations = given.plan.operations().saturating_sub(operations);
        given.progress.begin(left, operations, given.cluster.processes());
        let shore = Arc::new(Shore::new(Arc::clone(&failure), Arc::clone(given.progress)));
        let told = (&failure, given.progress);
        let links = Links::start(streams, outboxes, told, stores.clone())?;
        if let Some(error) = wrong {
            failure.set(error);
        }
        Ok(Self { links, lines, failure, shore, stores })
    }

    fn compute(mut self, given: &Given, goal: Goal, homes: &[Arc<Homes>]) -> Result<(), Error> {
        let process = given.cluster.process();
        let spread = |stage: usize| -> Arc<dyn Source> {
            Arc::new(Spread {
                own: Arc::clone(&self.stores[stage]),
                process,
                stage,
                homes: Arc::clone(&homes[stage]),
                desk: Arc::clone(&self.links.desk),
            })
        };
        let last = homes.len() - 1;
        let sink: Arc<dyn Sink> = match &goal {
            Goal::Sink(sink) => Arc::clone(sink),
            Goal::Collect(store) => Arc::<MemoryStore>::clone(store),
        };
        let places = Arc::new(Places::spread(given.plan, sink, &self.stores, spread));
        let stages =
            (0..homes.len()).map(|stage| Arc::new(self.stage(given, &places, homes, stage)));
        let stages = stages.collect();
        let ended = dataflow(std::mem::take(&mut self.lines), given, &self.shore, stages);
        if let Err(error) = ended {
            self.failure.set(error);
        }
        if let Goal::Sink(sink) = &goal
            && !self.failure.is_set()
        {
            // Before the others are told that this process is done.
            sink.finish().unwrap_or_else(|error| self.failure.set(error.into()));
        }
        if let Goal::Collect(store) = &goal
            && process == 0
            && !self.failure.is_set()
        {
            let gathered = gather(store, spread(last).as_ref(), &homes[last]);
            gathered.unwrap_or_else(|error| self.failure.set(error));
        }
        self.links.finish();
        let failed = self.failure.is_set().then(|| links::reason(&self.failure));
        self.links.close();
        match failed {
            None => Ok(()),
            Some(error) => Err(error.unwrap_or_else(|| Error::Worker("nobody says why".into()))),
        }
    }

    fn stage(
        &self,
        given: &Given,
        places: &Arc<Places>,
        homes: &[Arc<Homes>],
        stage: usize,
    ) -> Shared {
        let [all, one] = &given.kernels;
        let Homes { schedule, crew, .. } = &*homes[stage];
        let kernels = Arc::clone(if crew.is_everybody() { one } else { all });
        let job = flow::Job {
            plan: Arc::clone(given.plan),
            places: Arc::clone(places),
            kernels,
            stage,
            skips: Skips::new(&given.plan.stages[stage], given.finite),
            schedule: schedule.clone(),
            sparse: None,
            crew: *crew,
            homes: homes.to_vec(),
        };
        Shared::new(job, &self.failure, given.progress)
    }
}

/// Runs stages on the workers of this process.
fn dataflow(
    lines: Vec<Option<TcpStream>>,
    given: &Given,
    shore: &Arc<Shore>,
    stages: Vec<Arc<Shared>>,
) -> Result<(), Error> {
    let lines = lines.into_iter().map(|line| Some(Line::new(line?, Arc::clone(shore)))).collect();
    let mut hooks = Hooks::default();
    // Buffers that nobody uses need not all be kept.
    hooks.refill.limit = Some(2);
    let (workers, process) = (given.workers, given.cluster.process());
    let own = ProcessBuilder::new_typed_vector(workers, hooks.refill.clone(), None);
    let (builders, sockets) =
        initialize_networking_from_sockets::<Line>(own, lines, process, workers, hooks)
            .map_err(ClusterError::Connections)?;
    let builders = builders.into_iter().map(AllocatorBuilder::Tcp).collect();
    let config = timely::WorkerConfig::default();
    let started = timely::execute::execute_from(builders, Box::new(()), config, move |worker| {
        stages.iter().for_each(|stage| flow::work(worker, stage));
    });
    let ended = started.map(|workers| workers.join().into_iter().collect::<Result<Vec<()>, _>>());
    shore.leave();
    drop(sockets);
    ended.and_then(|ended| ended).map(drop).map_err(Error::Worker)
}

/// Where stages keep their blocks, the last one if it is collected. If there is no room for them, why; then
/// nothing is computed, but what the others ask for is answered until they know.
fn stores(given: &Given, goal: &Goal) -> (Vec<Arc<dyn Store>>, Option<Error>) {
    let (mut stores, wrong) = match given.room.stores(given.plan) {
        Ok(stores) => (stores, None),
        Err(error) => {
            let memory = |stage| -> Arc<dyn Store> { Arc::new(places::memory(stage)) };
            (given.plan.stages.iter().map(memory).collect(), Some(error))
        }
    };
    if let (Goal::Collect(store), Some(last)) = (goal, stores.last_mut()) {
        *last = Arc::<MemoryStore>::clone(store);
    }
    (stores, wrong)
}

/// Asks for all blocks that other processes have.
fn gather(to: &MemoryStore, from: &dyn Source, homes: &Homes) -> Result<(), Error> {
    for at in Coordinates::all(&Source::ty(to).grid()) {
        if homes.process(&at) != 0
            && let Some(block) = from.read(&at)?
        {
            to.write(&at, Some(block))?;
        }
    }
    Ok(())
}

/// Propagation of a failure to other processes.
struct Peers {
    cluster: Arc<Cluster>,
    told: Vec<(TcpStream, Arc<Outbox>)>,
}

impl Others for Peers {
    fn process(&self) -> usize {
        self.cluster.process()
    }

    fn name(&self, process: usize) -> String {
        self.cluster.name_of(process)
    }

    fn tell(&self, report: &Report) {
        for (_, outbox) in &self.told {
            outbox.put(Message::Failed(report.clone()));
        }
    }

    fn stop(&self) {
        for (line, _) in &self.told {
            // It may be broken already.
            line.shutdown(Shutdown::Both).unwrap_or(());
        }
    }
}
