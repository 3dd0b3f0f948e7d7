//! Computes the blocks of a term.

mod collect;
mod compute;
mod failure;
mod flow;
mod kernel;
mod local;
mod part;
mod places;
mod processes;
mod read;

pub(crate) use flow::WINDOW;

use crate::cluster::Cluster;
use crate::plan::{BlockPlan, Coordinates, Done, Schedule, Team};
use crate::progress::Progress;
use crate::store::{MemoryStore, Scratch, Sink, Source};
use crate::{BigTensor, Block, Error, Type, Value};
use failure::Failure;
use ijk_cpu::{Engine, RunError};
use kernel::Kernels;
use places::{Places, Room};
use processes::{Given, Goal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What computes block tensors: how many workers, how much is collected. Cheap to clone.
///
/// Results are the same, bit for bit, for any number of workers and threads: a block of a result is made of
/// panels in ascending order, whoever computes it.
///
/// ```
/// use ijk_blocks::{BigTensor, Executor};
/// let u = BigTensor::lit((0..10_000).map(f64::from), [100, 100], [Some(16), Some(32)])?;
/// let executor = Executor::new().collect_limit(10_000);
/// let error = executor.collect(&u).unwrap_err();
/// assert!(error.to_string().contains("has 80000 bytes, but at most 10000 are collected"));
/// # Ok::<(), ijk_blocks::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Executor {
    engine: Arc<Engine>,
    /// What a worker of several computes with.
    single: Arc<Engine>,
    workers: usize,
    limit: u64,
    memory: Option<u64>,
    scratch: Option<Arc<dyn Scratch>>,
    cluster: Option<Arc<Cluster>>,
    progress: Arc<Progress>,
    stop: Option<Arc<AtomicBool>>,
}

/// Most bytes that are collected unless another limit is given: 4 GiB.
const COLLECTED: u64 = 4 << 30;

impl Default for Executor {
    fn default() -> Self {
        Self::new()
    }
}

impl Executor {
    /// All threads of the machine.
    pub fn new() -> Self {
        Self::on(Arc::new(Engine::default()))
    }

    /// The threads of an engine.
    pub fn on(engine: Arc<Engine>) -> Self {
        let single = Arc::new(Engine::builder().threads(1).level(engine.level()).build());
        let workers = engine.threads();
        let (memory, scratch, cluster, progress) = (None, None, None, Arc::default());
        let (limit, stop) = (COLLECTED, None);
        Self { engine, single, workers, limit, memory, scratch, cluster, progress, stop }
    }

    /// So many threads, or all of the machine if 0, with the instructions that the environment asks for.
    ///
    /// # Errors
    /// If it asks for instructions that the machine has not.
    pub fn with_threads(threads: usize) -> Result<Self, Error> {
        let engine = Engine::builder().threads(threads).build();
        engine.check_level().map_err(RunError::from)?;
        Ok(Self::on(Arc::new(engine)))
    }

    /// How many workers there are, each with a thread of its own; by default as many as the engine has
    /// threads. What has fewer blocks than there are workers is computed block by block, with all threads of
    /// the engine.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// Computes together with other processes, each with so many workers as this one.
    ///
    /// All of them have to collect or write the same terms in the same order, with sources and sinks that read
    /// and write the same blocks; literals are in all of them. A block of a result is written by the process
    /// that computes it, and what is collected goes to process 0: the others get a block without elements.
    /// Closures, which nobody can compare, are refused.
    #[must_use]
    pub fn cluster(mut self, cluster: Arc<Cluster>) -> Self {
        self.cluster = Some(cluster);
        self
    }

    /// Tells how far it is while it computes; one computation at a time.
    #[must_use]
    pub fn observed(mut self, progress: Arc<Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// Most bytes that blocks in memory should take, in each process: those that are being computed, and those of two panels
    /// that they are computed from. A block for every worker is computed at a time, whatever the limit. What is
    /// collected comes on top; so does the result of a contraction that is computed with again, unless there is a
    /// [scratch](Self::scratch).
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Where the results of contractions go that are computed with again, if they are large: more than an eighth
    /// of the memory limit, in each process. Without a limit they stay in memory.
    #[must_use]
    pub fn scratch(mut self, scratch: Arc<dyn Scratch>) -> Self {
        self.scratch = Some(scratch);
        self
    }

    /// The same, unless there is one.
    #[cfg(feature = "zarr")]
    pub(crate) fn scratch_or(mut self, scratch: Arc<dyn Scratch>) -> Self {
        self.scratch.get_or_insert(scratch);
        self
    }

    /// Ends computations soon after the flag is set, with [`RunError::Interrupted`](ijk_cpu::RunError): before
    /// the next panel is read or computed.
    ///
    /// ```
    /// # use ijk_blocks::{BigTensor, Executor};
    /// let u = BigTensor::lit([1.0, 2.0], [2], [Some(1)])?;
    /// let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    /// let error = Executor::new().stop(stop).collect(&u).unwrap_err();
    /// assert_eq!(error.to_string(), "interrupted");
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    #[must_use]
    pub fn stop(mut self, flag: Arc<AtomicBool>) -> Self {
        self.stop = Some(flag);
        self
    }

    /// Most bytes of a result that is [collected](Self::collect); 4 GiB by default.
    #[must_use]
    pub fn collect_limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// How many threads it has.
    pub fn threads(&self) -> usize {
        self.engine.threads()
    }

    /// The level of instructions that it computes with: results depend on it, in their last bits.
    pub fn simd(&self) -> &'static str {
        self.engine.level().name()
    }

    /// Computes a tensor as one block.
    ///
    /// # Errors
    /// [`Error::Limit`] where it is too large, before anything is computed; else whatever fails.
    pub fn collect(&self, tensor: &BigTensor) -> Result<Block, Error> {
        let ty = tensor.ty();
        let bytes = bytes(ty);
        if bytes > self.limit {
            return Err(Error::Limit { of: Box::new(ty.clone()), bytes, limit: self.limit });
        }
        let plan = Arc::new(BlockPlan::new(tensor));
        let store = Arc::new(
            plan.stages.last().map_or_else(|| MemoryStore::new(ty.clone()), places::memory),
        );
        if let Some(cluster) = &self.cluster {
            self.together(cluster, &plan, Goal::Collect(Arc::clone(&store)))?;
            if cluster.process() > 0 {
                return Ok(Block::full(&Value::zero(&ty.element), &[0])?);
            }
        } else {
            self.run(&plan, Arc::<MemoryStore>::clone(&store))?;
        }
        whole(&store, ty)
    }

    /// Computes a tensor, block by block, into a sink of its type: blocks that are
    /// [done](Sink::is_done) are not computed again.
    ///
    /// # Errors
    /// [`Error::Sink`] if the sink is of another type; else whatever fails. Blocks that were written stay.
    pub fn write(&self, tensor: &BigTensor, sink: Arc<dyn Sink>) -> Result<(), Error> {
        self.complete(tensor, sink).map(drop)
    }

    /// The same; how many blocks were done before.
    pub(crate) fn complete(&self, tensor: &BigTensor, sink: Arc<dyn Sink>) -> Result<usize, Error> {
        if sink.ty() != tensor.ty() {
            let [expected, found] = [tensor.ty(), sink.ty()].map(|ty| Box::new(ty.clone()));
            return Err(Error::Sink { expected, found });
        }
        let plan = Arc::new(BlockPlan::new(tensor));
        match &self.cluster {
            Some(cluster) => self.together(cluster, &plan, Goal::Sink(sink)),
            None => self.run(&plan, sink),
        }
    }

    /// What ends computations early.
    #[cfg(feature = "zarr")]
    pub(crate) fn stopped_by(&self) -> Option<&AtomicBool> {
        self.stop.as_deref()
    }

    /// What computes with all threads, and with one.
    fn kernels(&self) -> [Arc<Kernels>; 2] {
        let kernels = |engine: &Arc<Engine>| {
            Arc::new(Kernels::new(Arc::clone(engine)).until(self.stop.clone()))
        };
        [&self.engine, &self.single].map(kernels)
    }

    /// The other processes that it computes with.
    #[cfg(feature = "zarr")]
    pub(crate) fn processes(&self) -> Option<&Cluster> {
        self.cluster.as_deref()
    }

    fn together(
        &self,
        cluster: &Arc<Cluster>,
        plan: &Arc<BlockPlan>,
        goal: Goal,
    ) -> Result<usize, Error> {
        let (workers, memory, progress) = (self.workers, self.memory, &self.progress);
        let (kernels, simd) = (self.kernels(), self.simd());
        let room = self.room(cluster.processes());
        let given = Given { cluster, plan, kernels, workers, memory, room, simd, progress };
        processes::run(&given, goal)
    }

    /// How much of an intermediate result stays in memory, if so many processes share it.
    fn room(&self, processes: usize) -> Room<'_> {
        let most = |limit: u64| (limit / 8).saturating_mul(processes as u64);
        Room(self.scratch.as_deref().zip(self.memory.map(most)))
    }

    fn run(&self, plan: &Arc<BlockPlan>, sink: Arc<dyn Sink>) -> Result<usize, Error> {
        let Some(last) = plan.stages.last() else { return Ok(0) };
        let before = Done::new(last, &*sink);
        if before.is_all(last) {
            self.progress.begin(0, 0, 0);
            return Ok(before.len());
        }
        let stores = self.room(1).stores(plan)?;
        let places = Arc::new(Places::new(plan, Arc::clone(&sink), &stores));
        let [all, one] = self.kernels();
        let operations = plan.operations().saturating_sub(before.operations(last));
        self.progress.begin(plan.blocks().saturating_sub(before.len() as u64), operations, 0);
        for (number, stage) in plan.stages.iter().enumerate() {
            let done = if number + 1 == plan.stages.len() { &before } else { &Done::default() };
            let team = Team::alone(self.workers).of(stage);
            if team.all() == 1 {
                local::run(plan, number, done, &places, &all, &self.progress)?;
                continue;
            }
            let schedule = Schedule::new(stage, team, WINDOW, self.memory).without(done);
            let (plan, places, kernels) = (Arc::clone(plan), Arc::clone(&places), Arc::clone(&one));
            let (crew, homes) = (flow::Crew::every(1), Vec::new());
            let stage = number;
            let job = flow::Job { plan, places, kernels, stage, schedule, crew, homes };
            flow::run(job, self.workers, &self.progress)?;
        }
        sink.finish()?;
        Ok(before.len())
    }
}

/// Bytes of all elements.
fn bytes(ty: &Type) -> u64 {
    let size = ty.element.number().map_or(size_of::<Value>(), |dtype| dtype.size());
    ty.len().map_or(u64::MAX, |n| (n as u64).saturating_mul(size as u64))
}

impl BigTensor {
    /// Computes it with all threads of the machine, as one block: see [`Executor::collect`].
    ///
    /// # Errors
    /// If it has more than 4 GiB; else whatever fails.
    pub fn collect(&self) -> Result<Block, Error> {
        Executor::new().collect(self)
    }

    /// Computes it with all threads of the machine into a sink of its type: see [`Executor::write`].
    ///
    /// # Errors
    /// Whatever fails.
    pub fn write(&self, sink: Arc<dyn Sink>) -> Result<(), Error> {
        Executor::new().write(self, sink)
    }
}

/// All blocks of a store as one.
fn whole(store: &MemoryStore, ty: &Type) -> Result<Block, Error> {
    let grid = ty.grid();
    if let Some(block) = store.read(&vec![0; ty.rank()])?
        && block.shape() == ty.dims
    {
        // The store's only block.
        return Ok((*block).clone());
    }
    let mut all = Block::full(&Source::fill(store), &ty.dims)?;
    for at in Coordinates::all(&grid) {
        let Some(block) = store.read(&at)? else { continue };
        let start: Vec<usize> = at
            .iter()
            .zip(ty.dims.iter().zip(&ty.blocks))
            .map(|(&at, (&extent, &block))| crate::types::block_range(extent, block, at).start)
            .collect();
        let window: Vec<_> = block.shape().iter().map(|&extent| 0..extent).collect();
        part::assign(&mut all, &start, &block, &window);
    }
    Ok(all)
}

/// What a user's closure gives, or the error that it panicked.
fn guarded<T>(what: &str, run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    result.unwrap_or_else(|panic| {
        Err(Error::Panic { what: what.into(), message: panic_text(&*panic) })
    })
}

/// What a panic says.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".into())
}
