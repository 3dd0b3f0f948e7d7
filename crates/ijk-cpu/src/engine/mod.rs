//! The engine compiles plans, and executes them on arrays.

mod allocate;
mod builder;
pub(crate) mod compiled;
mod compiler;
mod loops;
mod run;

pub use allocate::Results;
pub use builder::EngineBuilder;
pub use compiled::Compiled;
pub use loops::{CompiledLoop, LoopArgument, PassOrder};
pub(crate) use run::PlanRun;

use crate::check::Layout;
use crate::error::{PlanError, RunError, Side};
use crate::explain::Explainer;
use crate::nest::fault;
use crate::probe::Costs;
use crate::runtime::cancel::{CancelToken, InterruptCallback};
use crate::runtime::scratch::ScratchPool;
use crate::runtime::threads::Workers;
use compiled::{CompileTarget, compile, compile_continuing};
use ijk_kernels::simd::{Level, LevelError};
use ijk_plan::plan::{Place, Plan};
use ijk_tensor::{Tensor, TensorPool, TensorView, TensorViewMut, reserve};
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
        compile(plan, CompileTarget { level, streams, costs, explains: false })
    }

    /// Compiles a plan whose results have initial values, for [`Engine::execute_onto`]: steps that accumulate add to
    /// them.
    ///
    /// # Errors
    /// As for [`Engine::compile`].
    pub fn compile_onto(&self, plan: &Plan) -> Result<Compiled, PlanError> {
        let Self { level, streams, ref costs, .. } = *self;
        compile_continuing(plan, CompileTarget { level, streams, costs, explains: false })
    }

    /// Explains how this engine executes plans.
    pub fn explainer(&self) -> Explainer {
        Explainer::new((self.level, self.streams), &self.costs, self.threads())
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
        fault_error(faults)
    }
}

/// The error that the faults of a run mean.
fn fault_error(faults: u32) -> Result<(), RunError> {
    match faults {
        0 => Ok(()),
        bits if bits & fault::OFFSET != 0 => Err(RunError::OutOfBounds),
        bits if bits & fault::DIVISION != 0 => Err(RunError::DivisionByZero),
        bits if bits & fault::RANGE != 0 => Err(RunError::EmptyRange),
        _ => Err(RunError::NegativePower),
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
