//! The engine compiles plans, and executes them on arrays.

use crate::check::Layout;
use crate::compiled::{CompileTarget, Compiled, compile, compile_continuing};
use crate::error::{PlanError, RunError, Side};
use crate::nest::fault;
use crate::probe::{Costs, Probe};
use crate::runtime::cancel::{CancelToken, InterruptCallback};
use crate::runtime::scratch::ScratchPool;
use crate::runtime::threads::Workers;
use crate::simd::{Level, LevelError};
use crate::steps::{ExecutableStep, PackedInput, StepRun};
use crate::tuning::time::{KEPT_RESULT_BYTES, LENT_MEMORY_DIVISOR, STREAMED_RESULT_BYTES};
use ijk_plan::plan::{Place, Plan};
use ijk_tensor::reserve;
use ijk_tensor::{Tensor, TensorPool, TensorView, TensorViewMut, memory_of_machine};
use ijk_types::DType;
use smallvec::SmallVec;
use std::borrow::Borrow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Executes plans. Owns its threads, which start on demand, and the memory that it reuses between runs; any number of
/// threads may use one engine at the same time.
///
/// Results are bitwise equal for any number of threads.
#[derive(Debug)]
pub struct Engine {
    level: Level,
    streams: usize,
    /// Error of a requested level that does not exist; nothing runs then.
    refused: Option<LevelError>,
    workers: Workers,
    costs: Costs,
    interrupt: Option<InterruptCallback>,
    scratch: ScratchPool,
    results: TensorPool,
    memory_limit: Option<u64>,
}

/// Settings of an [`Engine`].
#[derive(Clone, Debug, Default)]
pub struct EngineBuilder {
    threads: usize,
    level: Option<Level>,
    memory_limit: Option<u64>,
    kept: Option<usize>,
    streams: Option<usize>,
    probe: Option<Probe>,
    interrupt: Option<InterruptCallback>,
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
    /// with [`RunError::Level`].
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

impl Default for Engine {
    fn default() -> Self {
        EngineBuilder::default().build()
    }
}

impl Engine {
    /// A builder for an engine with other settings than [`Engine::default`].
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.workers.threads()
    }

    /// Instruction set.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Checks that the machine supports the requested level.
    ///
    /// # Errors
    /// If it does not: nothing runs then.
    pub fn check_level(&self) -> Result<(), LevelError> {
        self.refused.clone().map_or(Ok(()), Err)
    }

    /// Calls the interrupt callback; returns true to cancel. For work between runs, a few ms at a time.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.is_some_and(|ask| ask())
    }

    /// Pool of the memory of dropped results.
    pub(crate) fn results(&self) -> &TensorPool {
        &self.results
    }

    /// Frees memory that is kept for later runs.
    pub fn release_memory(&self) {
        self.results.clear();
        self.scratch.clear();
    }

    /// Checks and compiles a plan, for any number of runs.
    ///
    /// # Errors
    /// If the plan is inconsistent, or accesses elements outside of its buffers: [`PlanError`].
    pub fn compile(&self, plan: &Plan) -> Result<Compiled, PlanError> {
        let Self { level, streams, ref costs, .. } = *self;
        compile(plan, CompileTarget { level, streams, costs })
    }

    /// Compiles a plan whose results have initial values, for [`Engine::execute_onto`]: steps that accumulate add to
    /// them.
    ///
    /// # Errors
    /// As for [`Engine::compile`].
    pub fn compile_onto(&self, plan: &Plan) -> Result<Compiled, PlanError> {
        let Self { level, streams, ref costs, .. } = *self;
        compile_continuing(plan, CompileTarget { level, streams, costs })
    }

    /// Compiles and executes a plan.
    ///
    /// `inputs` and `outputs` are the buffers of [`Place::Input`] and [`Place::Output`], by position. After success
    /// every element of the outputs is initialised.
    ///
    /// # Errors
    /// [`RunError`]; the outputs may then be partly written.
    pub fn run(
        &self,
        plan: &Plan,
        inputs: &[TensorView<'_>],
        outputs: &mut [TensorViewMut<'_>],
    ) -> Result<(), RunError> {
        self.execute(&self.compile(plan)?, inputs, outputs)
    }

    /// Executes a compiled plan as [`Engine::run`] does, without checking it again.
    ///
    /// # Errors
    /// [`RunError`]; the outputs may then be partly written.
    pub fn execute(
        &self,
        compiled: &Compiled,
        inputs: &[TensorView<'_>],
        outputs: &mut [TensorViewMut<'_>],
    ) -> Result<(), RunError> {
        check_count(Side::Result, compiled.outputs, outputs.len())?;
        if compiled.continues {
            return Err(RunError::Continues);
        }
        // SAFETY: results that are not read may be uninitialised.
        unsafe { self.execute_into(compiled, inputs, outputs, None) }
    }

    /// The engine for runs that a flag cancels, with [`RunError::Interrupted`].
    pub fn until<'a>(&'a self, stop: Option<&'a Arc<AtomicBool>>) -> Stoppable<'a> {
        Stoppable { engine: self, stop }
    }

    /// Executes a compiled plan on results with initial values: one of [`Engine::compile_onto`] adds to them.
    ///
    /// # Errors
    /// [`RunError`]; the results may then be partly written.
    pub fn execute_onto(
        &self,
        compiled: &Compiled,
        inputs: &[TensorView<'_>],
        results: &mut [&mut Tensor],
    ) -> Result<(), RunError> {
        self.until(None).execute_onto(compiled, inputs, results)
    }

    fn execute_onto_until(
        &self,
        compiled: &Compiled,
        inputs: &[TensorView<'_>],
        results: &mut [&mut Tensor],
        stop: Option<&Arc<AtomicBool>>,
    ) -> Result<(), RunError> {
        check_count(Side::Result, compiled.outputs, results.len())?;
        let mut outputs: Vec<_> = results.iter_mut().map(|tensor| tensor.view_mut()).collect();
        // SAFETY: all elements of a tensor are initialised.
        unsafe { self.execute_into(compiled, inputs, &mut outputs, stop) }
    }

    /// Executes a compiled plan with all of its results.
    ///
    /// # Safety
    /// If the plan continues its results, their elements are initialised.
    unsafe fn execute_into(
        &self,
        compiled: &Compiled,
        inputs: &[TensorView<'_>],
        outputs: &mut [TensorViewMut<'_>],
        stop: Option<&Arc<AtomicBool>>,
    ) -> Result<(), RunError> {
        let mut written = |layout: &Layout, position: usize| {
            let view = &mut outputs[position];
            let found = (view.dtype(), view.shape(), view.strides());
            check_view(layout, Side::Result, position, found)?;
            Ok(view.as_mut_ptr())
        };
        // SAFETY: the views are borrowed for the call, and checked; elements that are read are initialised, which the
        // caller guarantees for results.
        unsafe { self.execute_at(compiled, inputs, &mut written, stop) }
    }

    /// Executes a compiled plan on arguments; `written` returns the addresses of results by position.
    ///
    /// # Safety
    /// `written` returns pointers to the elements of the result's layout, which no other thread accesses before this
    /// returns.
    pub(crate) unsafe fn execute_at<'a>(
        &self,
        compiled: &Compiled,
        inputs: &[impl Borrow<TensorView<'a>>],
        written: &mut dyn FnMut(&Layout, usize) -> Result<*mut u8, RunError>,
        stop: Option<&Arc<AtomicBool>>,
    ) -> Result<(), RunError> {
        self.check_level()?;
        if !reserve::is_there() {
            return Err(RunError::OutOfMemory(reserve::BYTES));
        }
        check_count(Side::Argument, compiled.inputs, inputs.len())?;
        let arena = match compiled.arena {
            0 => None,
            bytes => Some(self.scratch.try_take(bytes).ok_or(RunError::OutOfMemory(bytes))?),
        };
        let arena = arena.as_ref().map_or(std::ptr::null_mut(), |memory| memory.as_ptr());
        let mut bases: SmallVec<[*mut u8; 16]> = SmallVec::new();
        for layout in &compiled.buffers {
            bases.push(match layout.place {
                Place::Input(position) => read(layout, position, inputs[position].borrow())?,
                Place::Output(position) => written(layout, position)?,
                Place::Temporary(at) => arena.wrapping_add(at),
            });
        }
        // SAFETY: the arguments have the elements that the plan was checked against, for as long as they are borrowed;
        // the caller guarantees the results; temporaries are in the arena, which only this run accesses.
        unsafe { self.run_on(compiled, &bases, stop) }
    }

    /// Executes a compiled plan on its buffers.
    ///
    /// # Safety
    /// `bases` are the addresses of the plan's buffers: arguments that no thread writes, results and temporaries that
    /// no other thread accesses before this returns.
    unsafe fn run_on(
        &self,
        compiled: &Compiled,
        bases: &[*mut u8],
        stop: Option<&Arc<AtomicBool>>,
    ) -> Result<(), RunError> {
        // The level of a plan compiled by another engine is one of this machine, too.
        let may_end = compiled.is_long && (self.interrupt.is_some() || stop.is_some());
        let cancel = || self.workers.watched(CancelToken::new(self.interrupt, stop.cloned()));
        let watched = may_end.then(cancel);
        let (workers, scratch) = (watched.as_ref().unwrap_or(&self.workers), &self.scratch);
        let spare = self.memory_limit.map(|limit| limit.saturating_sub(compiled.bytes()));
        // As many threads as the memory limit has room for; planning ensures at least one.
        let fewer = spare.filter(|&spare| compiled.scratch_bytes(workers.threads()) > spare);
        let fewer = fewer.map(|spare| {
            let fits = |threads: &usize| compiled.scratch_bytes(*threads) <= spare;
            workers.at_most((1..workers.threads()).rev().find(fits).unwrap_or(1))
        });
        let workers = fewer.as_ref().unwrap_or(workers);
        let run = PlanRun { workers, scratch, compiled, bases, packed: &[] };
        // SAFETY: guaranteed by the caller; compilation ensures that elements are written before they are read.
        let faults = unsafe { run.steps_within(spare) }?;
        if workers.have_ended() {
            return Err(RunError::Interrupted);
        }
        match faults {
            0 => Ok(()),
            bits if bits & fault::OFFSET != 0 => Err(RunError::OutOfBounds),
            bits if bits & fault::DIVISION != 0 => Err(RunError::DivisionByZero),
            bits if bits & fault::RANGE != 0 => Err(RunError::EmptyRange),
            _ => Err(RunError::NegativePower),
        }
    }
}

/// An engine for runs that a flag cancels: see [`Engine::until`].
#[derive(Clone, Copy, Debug)]
pub struct Stoppable<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) stop: Option<&'a Arc<AtomicBool>>,
}

impl Stoppable<'_> {
    /// Same as [`Engine::execute_onto`].
    ///
    /// # Errors
    /// As for [`Engine::execute_onto`].
    pub fn execute_onto(
        &self,
        compiled: &Compiled,
        inputs: &[TensorView<'_>],
        results: &mut [&mut Tensor],
    ) -> Result<(), RunError> {
        self.engine.execute_onto_until(compiled, inputs, results, self.stop)
    }
}

/// A compiled plan with its arrays.
pub(crate) struct PlanRun<'a> {
    pub(crate) workers: &'a Workers,
    pub(crate) scratch: &'a ScratchPool,
    pub(crate) compiled: &'a Compiled,
    /// Address of the first element of each buffer.
    pub(crate) bases: &'a [*mut u8],
    /// Operands of contractions that are packed already.
    pub(crate) packed: &'a [PackedInput<'a>],
}

// SAFETY: one thread at a time dereferences the pointers, except what a step divides among workers.
unsafe impl Send for PlanRun<'_> {}
// SAFETY: as for `Send`.
unsafe impl Sync for PlanRun<'_> {}

impl PlanRun<'_> {
    /// Executes all steps, up to the first that faults.
    ///
    /// # Safety
    /// `bases` are the addresses of the buffers that the plan was checked against.
    pub(crate) unsafe fn steps(&self) -> Result<u32, RunError> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.steps_within(None) }
    }

    /// Executes all steps. `spare` limits the bytes of sweeps in addition to results and the arena; at least one block
    /// is executed in any case.
    ///
    /// # Safety
    /// As for [`Self::steps`].
    unsafe fn steps_within(&self, spare: Option<u64>) -> Result<u32, RunError> {
        let &Self { workers, scratch, compiled, bases, packed } = self;
        for (at, step) in compiled.steps.iter().enumerate() {
            let packed = packed.iter().find(|packed| packed.step == at);
            let run = StepRun { bases, workers, scratch, spare, packed };
            // SAFETY: guaranteed by the caller; accesses and the distinctness of outputs were checked, and previous
            // steps wrote the elements that this one reads.
            let faults = unsafe { step.run(&run) }?;
            // A cancelled step has not written all elements that later ones read.
            if faults != 0 || workers.have_ended() {
                return Ok(faults);
            }
        }
        Ok(0)
    }
}

/// Checks the number of arrays.
fn check_count(side: Side, expected: usize, found: usize) -> Result<(), RunError> {
    if expected == found { Ok(()) } else { Err(RunError::Count { side, expected, found }) }
}

/// Address of an argument, after checking its layout.
fn read(layout: &Layout, position: usize, view: &TensorView<'_>) -> Result<*mut u8, RunError> {
    let found = (view.dtype(), view.shape(), view.strides());
    check_view(layout, Side::Argument, position, found)?;
    Ok(view.as_ptr().cast_mut())
}

/// Checks that a view has the type, shape and strides of the plan's buffer.
fn check_view(
    layout: &Layout,
    side: Side,
    position: usize,
    (dtype, shape, strides): (DType, &[usize], &[isize]),
) -> Result<(), RunError> {
    if dtype != layout.dtype {
        return Err(RunError::DType { side, position, expected: layout.dtype, found: dtype });
    }
    let same_strides = || {
        let axes = shape.iter().zip(strides).zip(&layout.strides);
        layout.len == 0 || axes.into_iter().all(|((&n, s), expected)| n == 1 || s == expected)
    };
    if *shape != layout.shape[..] || !same_strides() {
        return Err(RunError::Layout { side, position });
    }
    Ok(())
}
