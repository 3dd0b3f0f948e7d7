//! Steps that run together, block of rows by block of rows.

use crate::check::{Layout, check_sweep};
use crate::compiled::{Compiled, compile};
use crate::engine::Run;
use crate::error::{Fault, PlanError, RunError};
use crate::scratch::ScratchPool;
use crate::simd::Level;
use crate::threads::Workers;
use ijk_plan::plan::{BufferId, Place, Plan, Sweep, SweepAxis, Window};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Ranges of blocks for each thread, so that a slow one does not keep the others waiting.
const TASKS_PER_THREAD: usize = 8;

/// A compiled sweep.
#[derive(Clone, Debug)]
pub(crate) struct SweepProgram {
    axes: Vec<SweepAxis>,
    inputs: Vec<Window>,
    outputs: Vec<Window>,
    body: Compiled,
    rest: Option<Compiled>,
}

impl SweepProgram {
    /// Compiles a sweep; also gives the buffers it writes, and whether it writes all of each.
    pub fn new(
        sweep: &Sweep,
        buffers: &[Layout],
        level: Level,
    ) -> Result<(Self, Vec<(BufferId, bool)>), Fault> {
        let body = block(&sweep.body, level)?;
        let rest = sweep.rest.as_ref().map(|rest| block(rest, level)).transpose()?;
        let short = rest.as_ref().map(|rest| &rest.buffers[..]);
        let results = check_sweep(sweep, &body.buffers, short, buffers)?;
        let Sweep { axes, inputs, outputs, .. } = sweep.clone();
        Ok((Self { axes, inputs, outputs, body, rest }, results))
    }

    /// Estimated work of a whole run, in nanoseconds on one thread.
    pub fn cost(&self) -> f64 {
        self.body.cost() * self.blocks() as f64
    }

    fn blocks(&self) -> usize {
        self.axes.iter().map(SweepAxis::blocks).product()
    }

    /// Runs all blocks; gives the faults met.
    ///
    /// # Safety
    /// `bases` are the buffers that the sweep was checked against: all elements of theirs that it
    /// reads are initialised, and nobody else accesses the outputs.
    pub unsafe fn run(
        &self,
        bases: &[*mut u8],
        workers: &Workers,
        scratch: &ScratchPool,
    ) -> Result<u32, RunError> {
        let job = Job { sweep: self, bases, scratch, alone: &Workers::new(1) };
        let (blocks, faults) = (self.blocks(), AtomicU32::new(0));
        let tasks = match self.cost() < WORTH_THREADS {
            true => 1,
            false => blocks.min(workers.threads() * TASKS_PER_THREAD),
        };
        let failed = std::sync::OnceLock::new();
        workers.parallel_for(tasks, |task| {
            let cut = |task: usize| (blocks as u128 * task as u128 / tasks as u128) as usize;
            // SAFETY: the caller's promises; each block goes to one task.
            match unsafe { job.range(cut(task)..cut(task + 1)) } {
                Ok(met) => drop(faults.fetch_or(met, Ordering::Relaxed)),
                Err(error) => drop(failed.set(error)),
            }
        });
        failed.into_inner().map_or(Ok(faults.into_inner()), Err)
    }
}

/// Work below this many nanoseconds stays on the caller's thread.
const WORTH_THREADS: f64 = 60_000.0;

/// Compiles the plan of a block.
fn block(plan: &Plan, level: Level) -> Result<Compiled, Fault> {
    compile(plan, level).map_err(|error| match error {
        PlanError::Buffer { fault, .. } | PlanError::Step { fault, .. } => fault,
    })
}

/// A sweep with what it runs on.
struct Job<'a> {
    sweep: &'a SweepProgram,
    bases: &'a [*mut u8],
    scratch: &'a ScratchPool,
    alone: &'a Workers,
}

// SAFETY: the pointers are followed for blocks only, which `SweepProgram::run` gives to one task
// each; different blocks write different elements, and none that another reads.
unsafe impl Sync for Job<'_> {}

impl Job<'_> {
    /// Runs some blocks, one after another.
    ///
    /// # Safety
    /// As for [`SweepProgram::run`]; nobody else runs these blocks.
    unsafe fn range(&self, blocks: Range<usize>) -> Result<u32, RunError> {
        let sweep = self.sweep;
        let bytes = sweep.rest.iter().fold(sweep.body.arena, |n, rest| n.max(rest.arena));
        let arena = self.scratch.try_take(bytes).ok_or(RunError::OutOfMemory(bytes))?;
        let mut at: SmallVec<[usize; 4]> = SmallVec::from_elem(0, sweep.axes.len());
        let mut faults = 0;
        for block in blocks {
            self.seek(block, &mut at);
            let short = sweep.axes.iter().zip(&at).any(|(a, &n)| (n + 1) * a.block > a.extent);
            let compiled = match &sweep.rest {
                Some(rest) if short => rest,
                _ => &sweep.body,
            };
            let base = |layout: &Layout| match layout.place {
                Place::Input(n) => self.window(&sweep.inputs[n], layout, &at),
                Place::Output(n) => self.window(&sweep.outputs[n], layout, &at),
                Place::Temporary(start) => arena.as_ptr().wrapping_add(start),
            };
            let bases: SmallVec<[*mut u8; 16]> = compiled.buffers.iter().map(base).collect();
            let run = Run { workers: self.alone, scratch: self.scratch, compiled, bases: &bases };
            // SAFETY: the windows lie in their buffers, the arena is this task's own.
            faults |= unsafe { run.steps() }?;
        }
        Ok(faults)
    }

    /// The position of a block along each axis.
    fn seek(&self, mut block: usize, at: &mut [usize]) {
        for (axis, at) in self.sweep.axes.iter().zip(at).rev() {
            *at = block % axis.blocks();
            block /= axis.blocks();
        }
    }

    /// The first element of a window.
    fn window(&self, window: &Window, layout: &Layout, at: &[usize]) -> *mut u8 {
        let axes = self.sweep.axes.iter().zip(at).zip(&window.strides);
        let rows: isize = axes.map(|((a, &n), &stride)| (n * a.block) as isize * stride).sum();
        let base = self.bases[window.buffer.0 as usize];
        base.wrapping_offset(rows * layout.dtype.size() as isize)
    }
}
