//! Execution of block plans.

mod budget;
mod collect;
mod compute;
mod facts;
mod failure;
mod flow;
mod kernel;
mod local;
mod part;
mod processes;
mod read;
mod requests;
mod sending;
mod single;
mod skips;
mod sparse;
mod stores;
mod whole;

pub(crate) use budget::largest;
pub(crate) use flow::WINDOW;

use crate::cluster::Cluster;
use crate::domain::Coordinates;
use crate::plan::{BlockPlan, Done};
use crate::progress::Progress;
use crate::store::{MemoryStore, Scratch, Sink, Source};
use crate::{BigTensor, Block, Error, Type, Value};
use budget::{Budget, MemoryUse};
use failure::Failure;
use ijk_cpu::{Engine, RunError};
use kernel::Kernels;
use processes::{Destination, RunContext};
use single::LocalRun;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use stores::{BlockStores, SpillPolicy};
use whole::WholeArray;

/// Computes block tensors with a number of workers and a memory limit. Cheap to clone.
///
/// Results are the same, bit for bit, for any number of workers and threads: a block of a result is folded over its
/// panels in ascending order, whichever worker computes it.
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
    /// Engine of a worker where there are several.
    single: Arc<Engine>,
    workers: usize,
    limit: u64,
    memory: Option<u64>,
    /// Bytes that the caller holds.
    beside: u64,
    finite: bool,
    strict: bool,
    scratch: Option<Arc<dyn Scratch>>,
    cluster: Option<Arc<Cluster>>,
    progress: Arc<Progress>,
    stop: Option<Arc<AtomicBool>>,
}

/// Default limit of the bytes of a collected result: 4 GiB.
const COLLECTED: u64 = 4 << 30;

impl Default for Executor {
    fn default() -> Self {
        Self::new()
    }
}

impl Executor {
    /// An executor with all threads of the machine.
    pub fn new() -> Self {
        Self::on(Arc::new(Engine::default()))
    }

    /// An executor with the threads of an engine.
    pub fn on(engine: Arc<Engine>) -> Self {
        let single = Arc::new(Engine::builder().threads(1).level(engine.level()).build());
        let workers = engine.threads();
        let (memory, scratch, cluster, progress) = (None, None, None, Arc::default());
        let (limit, beside, finite, strict, stop) = (COLLECTED, 0, false, false, None);
        Self {
            engine,
            single,
            workers,
            limit,
            memory,
            beside,
            finite,
            strict,
            scratch,
            cluster,
            progress,
            stop,
        }
    }

    /// An executor with `threads` threads, or all of the machine if 0, and the instruction set that the environment
    /// selects.
    ///
    /// # Errors
    /// If the environment selects instructions that the machine lacks.
    pub fn with_threads(threads: usize) -> Result<Self, Error> {
        let engine = Engine::builder().threads(threads).build();
        engine.check_level().map_err(RunError::from)?;
        Ok(Self::on(Arc::new(engine)))
    }

    /// Sets the number of workers, each with a thread of its own; by default the number of threads of the engine. A
    /// stage with fewer blocks than workers is computed block by block, with all threads of the engine.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// Computes together with other processes, each with as many workers as this one.
    ///
    /// All of them have to collect or write the same terms in the same order, with sources and sinks that read and
    /// write the same blocks; literals are in all of them. A block of a result is written by the process that computes
    /// it. Process 0 gets a collected result: the others get a block without elements. Closures are refused, since
    /// processes cannot compare them.
    #[must_use]
    pub fn cluster(mut self, cluster: Arc<Cluster>) -> Self {
        self.cluster = Some(cluster);
        self
    }

    /// Reports progress while it computes; one computation at a time.
    #[must_use]
    pub fn observed(mut self, progress: Arc<Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// Sets the memory limit of a computation, in each process: for blocks in progress, parts of operands and the
    /// blocks that they are read from, buffers of codecs, intermediate results that do not go to a
    /// [scratch](Self::scratch), and a result that is collected. The size of rounds and the number of workers adapt to
    /// the limit. Where not even one block at a time fits, nothing is computed.
    ///
    /// The limit excludes the memory of the program itself, some megabytes for code, threads and the scratch of
    /// kernels; so it does arguments that are in memory already, and a [`MemoryStore`] that is written.
    ///
    /// ```
    /// # use ijk_blocks::{BigTensor, Executor};
    /// let u = BigTensor::lit((0..64).map(f64::from), [8, 8], [Some(2), Some(2)])?;
    /// let error = Executor::new().memory_limit(100).collect(&u).unwrap_err();
    /// assert!(error.to_string().starts_with("at least 544 bytes of memory are needed, but the limit is 100"));
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Subtracts bytes that the caller holds from the [memory limit](Self::memory_limit): other results that were
    /// collected.
    #[must_use]
    pub fn beside(mut self, bytes: u64) -> Self {
        self.beside = bytes;
        self
    }

    /// Sets the storage of large intermediate results: those of more than an eighth of the memory limit, in each
    /// process, or a quarter together. Without a limit they stay in memory.
    #[must_use]
    pub fn scratch(mut self, scratch: Arc<dyn Scratch>) -> Self {
        self.scratch = Some(scratch);
        self
    }

    /// Sets the storage of intermediate results, unless it is set.
    #[cfg(feature = "zarr")]
    pub(crate) fn scratch_or(mut self, scratch: Arc<dyn Scratch>) -> Self {
        self.scratch.get_or_insert(scratch);
        self
    }

    /// Asserts that no element is infinite or NaN that products would have to check: products skip missing blocks
    /// regardless of the other operands, which then need not be read.
    ///
    /// Without it, results are those with all blocks stored.
    ///
    /// ```
    /// # use ijk_blocks::{BigTensor, Executor};
    /// let u = BigTensor::lit([f64::INFINITY, 1.0], [2], [Some(1)])?;
    /// let nothing = BigTensor::zeros(ijk_types::DType::F64, [2], [Some(1)])?;
    /// let product = u.contract(&nothing, 0, 0)?;
    /// let value = |executor: Executor| executor.collect(&product).map(|block| block.values().remove(0));
    /// assert_eq!(value(Executor::new())?.to_string(), "nan");
    /// assert_eq!(value(Executor::new().assume_finite(true))?.to_string(), "0.0");
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    #[must_use]
    pub fn assume_finite(mut self, finite: bool) -> Self {
        self.finite = finite;
        self
    }

    /// Disables reassociation: factors of a reduced value are multiplied as they are written, and not in any
    /// order or behind the reduction. It may take many times as long.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// True if factors of reduced values are not reassociated.
    #[cfg(feature = "zarr")]
    pub(crate) fn is_strict(&self) -> bool {
        self.strict
    }

    /// Returns true if elements are assumed to be finite.
    #[cfg(feature = "zarr")]
    pub(crate) fn is_finite(&self) -> bool {
        self.finite
    }

    /// Interrupts computations soon after the flag is set, with [`RunError::Interrupted`](ijk_cpu::RunError): before
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

    /// Limit of the bytes of a [collected](Self::collect) result; 4 GiB by default.
    #[must_use]
    pub fn collect_limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.engine.threads()
    }

    /// The instruction set: the last bits of results depend on it.
    pub fn simd(&self) -> &'static str {
        self.engine.level().name()
    }

    /// Computes a tensor as one block.
    ///
    /// # Errors
    /// [`Error::Limit`] where it is too large, before anything is computed; other errors of the computation.
    pub fn collect(&self, tensor: &BigTensor) -> Result<Block, Error> {
        let ty = tensor.ty();
        let bytes = bytes(ty);
        if bytes > self.limit {
            return Err(Error::Limit { of: Box::new(ty.clone()), bytes, limit: self.limit });
        }
        let plan = Arc::new(BlockPlan::new(tensor));
        let Some(cluster) = &self.cluster else {
            // Before anything is allocated.
            self.check_collect(tensor)?;
            let fill = plan.stages.last().map_or_else(|| Value::zero(&ty.element), stores::fill);
            let all = Arc::new(WholeArray::new(ty.clone(), fill)?);
            self.run(&plan, Arc::<WholeArray>::clone(&all), bytes)?;
            return all.finished();
        };
        self.check_collect(tensor)?;
        let store = plan.stages.last().map_or_else(|| MemoryStore::new(ty.clone()), stores::memory);
        let store = Arc::new(store);
        self.together(cluster, &plan, Destination::Collect(Arc::clone(&store)))?;
        if cluster.process() > 0 {
            return Ok(Block::full(&Value::zero(&ty.element), &[0])?);
        }
        whole(&store, ty)
    }

    /// Checks that a tensor can be [collected](Self::collect) within the memory limit; nothing is computed.
    ///
    /// # Errors
    /// [`Error::Memory`] if it cannot.
    pub fn check_collect(&self, tensor: &BigTensor) -> Result<(), Error> {
        // The first of several processes holds blocks, and the array that they are assembled in.
        let times = if self.cluster.is_some() { 2 } else { 1 };
        let result = bytes(tensor.ty()).saturating_mul(times);
        self.budget(&BlockPlan::new(tensor), MemoryUse { held: result, writing: 0 }).map(drop)
    }

    /// Checks that a tensor can be computed into a sink that takes `writing` bytes to write a block.
    #[cfg(feature = "zarr")]
    pub(crate) fn check_write(&self, tensor: &BigTensor, writing: u64) -> Result<(), Error> {
        self.budget(&BlockPlan::new(tensor), MemoryUse { held: 0, writing }).map(drop)
    }

    /// Budget of a plan, with the memory of its result.
    fn budget(&self, plan: &BlockPlan, result: MemoryUse) -> Result<Budget, Error> {
        let processes = self.cluster.as_ref().map_or(1, |cluster| cluster.processes());
        let kept = self.spill_policy(processes).residences(plan);
        let held = result.held.saturating_add(self.beside);
        Budget::new(plan, self.memory, &kept, processes, MemoryUse { held, ..result })
    }

    /// Computes a tensor, block by block, into a sink of its type: blocks that are
    /// [done](Sink::is_done) are not computed again.
    ///
    /// # Errors
    /// [`Error::Sink`] if the sink is of another type; other errors of the computation. Blocks that were written stay.
    pub fn write(&self, tensor: &BigTensor, sink: Arc<dyn Sink>) -> Result<(), Error> {
        self.complete(tensor, sink).map(drop)
    }

    /// The same; returns the number of blocks that were finished before.
    pub(crate) fn complete(&self, tensor: &BigTensor, sink: Arc<dyn Sink>) -> Result<usize, Error> {
        if sink.ty() != tensor.ty() {
            let [expected, found] = [tensor.ty(), sink.ty()].map(|ty| Box::new(ty.clone()));
            return Err(Error::Sink { expected, found });
        }
        let plan = Arc::new(BlockPlan::new(tensor));
        match &self.cluster {
            Some(cluster) => {
                self.budget(&plan, MemoryUse { held: 0, writing: sink.writing() })?;
                self.together(cluster, &plan, Destination::Sink(sink))
            }
            None => self.run(&plan, sink, 0),
        }
    }

    /// Flag that ends computations early.
    #[cfg(feature = "zarr")]
    pub(crate) fn stopped_by(&self) -> Option<&Arc<AtomicBool>> {
        self.stop.as_ref()
    }

    /// Kernels with all threads, and with one.
    fn kernels(&self) -> [Arc<Kernels>; 2] {
        let kernels = |engine: &Arc<Engine>| {
            Arc::new(Kernels::new(Arc::clone(engine), self.strict).until(self.stop.clone()))
        };
        [&self.engine, &self.single].map(kernels)
    }

    /// The cluster of processes, if there is one.
    #[cfg(feature = "zarr")]
    pub(crate) fn processes(&self) -> Option<&Cluster> {
        self.cluster.as_deref()
    }

    fn together(
        &self,
        cluster: &Arc<Cluster>,
        plan: &Arc<BlockPlan>,
        destination: Destination,
    ) -> Result<usize, Error> {
        let (workers, memory, progress) = (self.workers, self.memory, &self.progress);
        let (kernels, simd) = (self.kernels(), self.simd());
        let spill = self.spill_policy(cluster.processes());
        let (finite, strict) = (self.finite, self.strict);
        let context = RunContext {
            cluster,
            plan,
            kernels,
            workers,
            memory,
            spill,
            finite,
            strict,
            simd,
            progress,
        };
        processes::run(&context, destination)
    }

    /// Memory for intermediate results, shared by that many processes.
    fn spill_policy(&self, processes: usize) -> SpillPolicy<'_> {
        let most = |limit: u64| (limit / 8).saturating_mul(processes as u64);
        SpillPolicy(self.scratch.as_deref().zip(self.memory.map(most)))
    }

    /// Computes a plan in this process, into a sink that takes `writing` bytes to write a block.
    fn run(&self, plan: &Arc<BlockPlan>, sink: Arc<dyn Sink>, result: u64) -> Result<usize, Error> {
        let Some(last) = plan.stages.last() else { return Ok(0) };
        let before = Done::new(last, &*sink);
        if before.is_all(last) {
            self.progress.begin(0, 0, 0);
            sink.finish()?;
            return Ok(before.len());
        }
        let budget = self.budget(plan, MemoryUse { held: result, writing: sink.writing() })?;
        let stores = self.spill_policy(1).stores(plan)?;
        let block_stores = BlockStores::new(plan, Arc::clone(&sink), &stores);
        let block_stores = Arc::new(block_stores.stopped_by(self.stop.as_ref()));
        let (kernels, workers, finite) = (self.kernels(), self.workers, self.finite);
        let progress = &self.progress;
        let run = LocalRun { plan, block_stores, kernels, budget, workers, finite, progress };
        let operations = plan.operations().saturating_sub(before.operations(last));
        self.progress.begin(plan.blocks().saturating_sub(before.len() as u64), operations, 0);
        for number in 0..plan.stages.len() {
            let done = if number + 1 == plan.stages.len() { &before } else { &Done::default() };
            run.stage(number, done)?;
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
    /// Computes the tensor with all threads of the machine, as one block: see [`Executor::collect`].
    ///
    /// # Errors
    /// If it has more than 4 GiB; other errors of the computation.
    pub fn collect(&self) -> Result<Block, Error> {
        Executor::new().collect(self)
    }

    /// Computes the tensor with all threads of the machine into a sink of its type: see [`Executor::write`].
    ///
    /// # Errors
    /// Errors of the computation.
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

/// Result of a user's closure, or the error that it panicked.
fn guarded<T>(what: &str, run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    result.unwrap_or_else(|panic| {
        Err(Error::Panic { what: what.into(), message: panic_text(&*panic) })
    })
}

/// Message of a panic.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".into())
}
