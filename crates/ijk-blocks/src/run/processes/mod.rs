//! Execution of a plan on the workers of several processes.
//!
//! All stages run in one timely computation, one after another: a stage ends when all of its blocks are delivered. The
//! blocks of a stage that a later one reads stay in the process that computed them, and other processes request them
//! ([`owners`], [`links`]). So no block is stored twice, and the blocks in flight are those that a worker waits for.
//! Process 0 requests the blocks of a collected result.

mod data_stream;
mod done;
mod links;
mod message;
mod outbox;
mod owners;
mod poller;

pub(super) use owners::Owners;

use super::Failure;
use super::flow::{self, StageState, WorkerSubset};
use super::kernel::Kernels;
use super::requests::Ahead;
use super::skips::Skips;
use super::stores::{self, BlockStores, SpillPolicy};
use crate::Error;
use crate::cluster::{Cluster, ClusterError, Peer, Terms};
use crate::domain::Coordinates;
use crate::plan::{BlockPlan, Done, Schedule, Team};
use crate::progress::Progress;
use crate::run::failure::{Others, Report};
use crate::store::{MemoryStore, Sink, Source, Store};
use data_stream::{DataStream, StreamContext};
use links::Links;
use message::Message;
use outbox::Outbox;
use owners::DistributedSource;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use timely::communication::allocator::ProcessBuilder;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::{AllocatorBuilder, Hooks};

/// Plan of a run with its resources.
pub(super) struct RunContext<'a> {
    pub(super) cluster: &'a Arc<Cluster>,
    pub(super) plan: &'a Arc<BlockPlan>,
    /// Kernels with all threads, and with one.
    pub(super) kernels: [Arc<Kernels>; 2],
    /// Workers of each process.
    pub(super) workers: usize,
    pub(super) memory: Option<u64>,
    pub(super) spill: SpillPolicy<'a>,
    /// Elements are assumed finite unless known otherwise.
    pub(super) finite: bool,
    pub(super) strict: bool,
    /// The instruction set.
    pub(super) simd: &'static str,
    pub(super) progress: &'a Arc<Progress>,
}

/// Destination of the result.
pub(super) enum Destination {
    Sink(Arc<dyn Sink>),
    /// All blocks go into this store of process 0.
    Collect(Arc<MemoryStore>),
}

/// Computes a plan together with the other processes of a cluster; returns the number of blocks that were finished
/// before.
pub(super) fn run(context: &RunContext, destination: Destination) -> Result<usize, Error> {
    if let Some(what) = context.plan.closure() {
        return Err(ClusterError::Closure { what }.into());
    }
    let (terms, found) = (context.terms()?, done::found(context, &destination));
    let peers = context.cluster.connect(&terms)?;
    let done = done::agree(context, found, &peers)?;
    if context.plan.stages.last().is_none_or(|last| !done.is_empty() && done.is_all(last)) {
        context.progress.begin(0, 0, 0);
        return Ok(done.len());
    }
    let owners = context.owners(&done);
    let session =
        Session::open(context, &destination, &done, peers).map_err(ClusterError::Connections)?;
    session.compute(context, destination, &owners)?;
    Ok(done.len())
}

impl RunContext<'_> {
    fn terms(&self) -> Result<Terms, Error> {
        let (workers, memory, simd) = (self.workers, self.memory, self.simd);
        let finite = if self.finite { "\nassumed to be finite" } else { "" };
        let strict = if self.strict { "\ncomputed as it is written" } else { "" };
        let assumed = format!("{finite}{strict}");
        Ok(Terms { workers, memory, simd, plan: self.plan.identity()? + &assumed })
    }

    /// Owners of the blocks of each stage.
    fn owners(&self, done: &Done) -> Vec<Arc<Owners>> {
        let all = Team { processes: self.cluster.processes(), workers: self.workers };
        let owners = |stage: usize| {
            let of = &self.plan.stages[stage];
            let team = all.of(of);
            let subset = WorkerSubset::every(all.workers / team.workers);
            let schedule = Schedule::new(of, team, flow::WINDOW, self.memory);
            let last = stage + 1 == self.plan.stages.len();
            let schedule = if last { schedule.without(done) } else { schedule };
            Arc::new(Owners { schedule, subset })
        };
        (0..self.plan.stages.len()).map(owners).collect()
    }
}

/// Connections to all other processes, with their threads.
struct Session {
    links: Links,
    data: Vec<Option<TcpStream>>,
    failure: Arc<Failure>,
    shared: Arc<StreamContext>,
    /// This process's blocks of each stage.
    stores: Vec<Arc<dyn Store>>,
}

impl Session {
    fn open(
        context: &RunContext,
        destination: &Destination,
        done: &Done,
        peers: Vec<Option<Peer>>,
    ) -> std::io::Result<Self> {
        let (stores, wrong) = stores(context, destination);
        let (data, links): (Vec<_>, Vec<_>) =
            peers.into_iter().map(|peer| peer.map(|peer| (peer.data, peer.link)).unzip()).unzip();
        let (mut told, mut outboxes) = (Vec::new(), Vec::new());
        for (stream, link) in data.iter().zip(&links) {
            let (Some(stream), Some(link)) = (stream, link) else {
                outboxes.push(None);
                continue;
            };
            stream.set_read_timeout(None)?;
            stream.set_write_timeout(None)?;
            link.set_write_timeout(Some(links::PEER_TIMEOUT))?;
            let outbox = Outbox::new(link.try_clone()?);
            told.push((stream.try_clone()?, Arc::clone(&outbox)));
            outboxes.push(Some(outbox));
        }
        let others = Peers { cluster: Arc::clone(context.cluster), told };
        let failure = Arc::new(Failure::among(others));
        outboxes.iter().flatten().for_each(|outbox| outbox.fails(&failure));
        let last = context.plan.stages.last();
        let left = context.plan.blocks().saturating_sub(done.len() as u64);
        let operations = last.map_or(0, |last| done.operations(last));
        let operations = context.plan.operations().saturating_sub(operations);
        context.progress.begin(left, operations, context.cluster.processes());
        let shared =
            Arc::new(StreamContext::new(Arc::clone(&failure), Arc::clone(context.progress)));
        let links = Links::start(links, outboxes, &shared, stores.clone())?;
        if let Some(error) = wrong {
            failure.set(error);
        }
        Ok(Self { links, data, failure, shared, stores })
    }

    fn compute(
        mut self,
        context: &RunContext,
        destination: Destination,
        owners: &[Arc<Owners>],
    ) -> Result<(), Error> {
        let process = context.cluster.process();
        let spread = |stage: usize| -> Arc<dyn Source> {
            Arc::new(DistributedSource {
                own: Arc::clone(&self.stores[stage]),
                process,
                stage,
                owners: Arc::clone(&owners[stage]),
                channels: Arc::clone(&self.links.channels),
            })
        };
        let last = owners.len() - 1;
        let sink: Arc<dyn Sink> = match &destination {
            Destination::Sink(sink) => Arc::clone(sink),
            Destination::Collect(store) => Arc::<MemoryStore>::clone(store),
        };
        let block_stores = BlockStores::spread(context.plan, sink, &self.stores, spread);
        let block_stores = Arc::new(block_stores.stopped_by(context.kernels[0].flag()));
        let stages = (0..owners.len())
            .map(|stage| Arc::new(self.stage(context, &block_stores, owners, stage)));
        let stages = stages.collect();
        let ended = dataflow(std::mem::take(&mut self.data), context, &self.shared, stages);
        if let Err(error) = ended {
            self.failure.set(error);
        }
        if let Destination::Sink(sink) = &destination
            && !self.failure.is_set()
        {
            // Before the others learn that this process is done.
            sink.finish().unwrap_or_else(|error| self.failure.set(error.into()));
        }
        if let Destination::Collect(store) = &destination
            && process == 0
            && !self.failure.is_set()
        {
            let gathered = gather(store, spread(last).as_ref(), &owners[last]);
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
        context: &RunContext,
        block_stores: &Arc<BlockStores>,
        owners: &[Arc<Owners>],
        stage: usize,
    ) -> StageState {
        let [all, one] = &context.kernels;
        let Owners { schedule, subset, .. } = &*owners[stage];
        let kernels = Arc::clone(if subset.is_everybody() { one } else { all });
        let job = flow::Job {
            plan: Arc::clone(context.plan),
            block_stores: Arc::clone(block_stores),
            kernels,
            stage,
            skips: Skips::new(&context.plan.stages[stage], context.finite),
            schedule: schedule.clone(),
            sparse: None,
            subset: *subset,
            owners: owners.to_vec(),
            ahead: Ahead::default(),
        };
        StageState::new(job, &self.failure, context.progress)
    }
}

/// Runs stages on the workers of this process.
fn dataflow(
    data: Vec<Option<TcpStream>>,
    context: &RunContext,
    shared: &Arc<StreamContext>,
    stages: Vec<Arc<StageState>>,
) -> Result<(), Error> {
    let data =
        data.into_iter().map(|stream| Some(DataStream::new(stream?, Arc::clone(shared)))).collect();
    let mut hooks = Hooks::default();
    // Unused buffers are freed, but for two.
    hooks.refill.limit = Some(2);
    let (workers, process) = (context.workers, context.cluster.process());
    let own = ProcessBuilder::new_typed_vector(workers, hooks.refill.clone(), None);
    let (builders, sockets) =
        initialize_networking_from_sockets::<DataStream>(own, data, process, workers, hooks)
            .map_err(ClusterError::Connections)?;
    let builders = builders.into_iter().map(AllocatorBuilder::Tcp).collect();
    let config = timely::WorkerConfig::default();
    let started = timely::execute::execute_from(builders, Box::new(()), config, move |worker| {
        stages.iter().for_each(|stage| flow::work(worker, stage));
    });
    let ended = started.map(|workers| workers.join().into_iter().collect::<Result<Vec<()>, _>>());
    shared.leave();
    drop(sockets);
    ended.and_then(|ended| ended).map(drop).map_err(Error::Worker)
}

/// The stores of the stages; that of the last one if it is collected. If they cannot be made, the error, with stores in
/// memory: then nothing is computed, but requests are answered until all processes know of the error.
fn stores(context: &RunContext, destination: &Destination) -> (Vec<Arc<dyn Store>>, Option<Error>) {
    let (mut stores, wrong) = match context.spill.stores(context.plan) {
        Ok(stores) => (stores, None),
        Err(error) => {
            let memory = |stage| -> Arc<dyn Store> { Arc::new(stores::memory(stage)) };
            (context.plan.stages.iter().map(memory).collect(), Some(error))
        }
    };
    if let (Destination::Collect(store), Some(last)) = (destination, stores.last_mut()) {
        *last = Arc::<MemoryStore>::clone(store);
    }
    (stores, wrong)
}

/// Requests all blocks that other processes have.
fn gather(to: &MemoryStore, from: &dyn Source, owners: &Owners) -> Result<(), Error> {
    for at in Coordinates::all(&Source::ty(to).grid()) {
        if owners.process(&at) != 0
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
        for (stream, _) in &self.told {
            // It may be broken already.
            stream.shutdown(Shutdown::Both).unwrap_or(());
        }
    }
}
