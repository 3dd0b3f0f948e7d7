//! Steps fused by blocks of rows.

use crate::check::{Layout, Other, check_sweep};
use crate::contract::{
    Context, ContractProgram, PackedSharedOperand, SharedArgument, SharedOperandGemm,
    SharedOperandPart,
};
use crate::engine::PlanRun;
use crate::engine::compiled::{CompileTarget, Compiled, compile_part};
use crate::error::{Fault, PlanError, RunError};
use crate::explain::{KernelChoice, Reason};
use crate::runtime::scratch::{Need, ScratchPool};
use crate::runtime::threads::{Workers, cut};
use crate::steps::finite::walk;
use crate::steps::{ExecutableStep, PackedInput, Program};
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::time::{
    SWEEP_PREFETCH_BYTES, SWEEP_PREFETCH_DISTANCE, SWEEP_TASKS_PER_THREAD,
};
use ijk_plan::plan::{Base, BufferId, Place, Plan, Sweep, SweepAxis, Window};
use ijk_types::DType;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

mod narrow;

use narrow::NarrowProgram;

/// A compiled sweep.
#[derive(Clone, Debug)]
pub(crate) struct SweepProgram {
    axes: Vec<SweepAxis>,
    inputs: Vec<Window>,
    outputs: Vec<Window>,
    body: Compiled,
    rest: Option<Compiled>,
    narrow: Option<NarrowProgram>,
    /// Contractions of the body that share an operand among blocks.
    shared: Vec<SharedOperand>,
}

impl SweepProgram {
    /// Compiles a sweep; also returns the buffers that it writes, each with true if it is written completely.
    pub fn new(
        sweep: &Sweep,
        buffers: &[Layout],
        target: CompileTarget,
    ) -> Result<(Self, Vec<(BufferId, bool)>), Fault> {
        let mut body = block(sweep, &sweep.body, buffers, target)?;
        let rest = sweep.rest.as_ref().map(|rest| block(sweep, rest, buffers, target));
        let rest = rest.transpose()?;
        let narrow = sweep.narrow.as_ref();
        let narrow = narrow.map(|narrow| NarrowProgram::new(sweep, narrow, buffers, target));
        let narrow = narrow.transpose()?;
        let short = rest.iter().map(|rest| Other { layouts: &rest.buffers, short: true });
        let others = short.chain(narrow.iter().flat_map(|narrow| narrow.others(sweep)));
        let others: Vec<Other<'_>> = others.collect();
        let results = check_sweep(sweep, &body.buffers, &others, buffers)?;
        fetch_ahead(sweep, &mut body, buffers);
        let Sweep { axes, inputs, outputs, .. } = sweep.clone();
        let steps = body.steps.iter().enumerate();
        let shared = steps.filter_map(|(at, step)| SharedOperand::find(sweep, &body, at, step));
        let shared: Vec<SharedOperand> = shared.collect();
        let narrow = narrow.map(|narrow| narrow.sharing(&body, &shared));
        Ok((Self { axes, inputs, outputs, body, rest, narrow, shared }, results))
    }

    /// Estimated work of a whole run, in nanoseconds on one thread.
    pub fn cost(&self) -> f64 {
        let (blocks, whole) = (self.blocks() as f64, self.body.cost());
        let Some(narrow) = &self.narrow else { return whole * blocks };
        let of = |body: &Option<usize>| body.map_or(whole, |n| narrow.bodies[n].cost());
        let along: f64 = narrow.of_blocks.iter().map(of).sum();
        along * blocks / narrow.of_blocks.len().max(1) as f64
    }

    /// The steps of a whole block.
    pub(crate) fn body(&self) -> &Compiled {
        &self.body
    }

    /// Its blocks, with reasons, for `threads` threads.
    pub(crate) fn explain(&self, threads: usize) -> KernelChoice {
        let (blocks, arena) = (self.blocks(), self.arena());
        let algorithm = match &self.narrow {
            Some(_) => "blocks of rows, with parts of some blocks skipped",
            None => "blocks of rows",
        };
        let rows = self.axes.iter().map(|axis| axis.block).product();
        let tasks = blocks.min(threads * self.tasks_per_thread());
        let text = "the steps have rows in common: what one writes is still in cache when the next reads it";
        let shared = self.shared.len();
        let packed = format!("operands of {shared} contractions are packed once for all blocks");
        KernelChoice::new(algorithm)
            .extent("blocks", blocks)
            .extent("rows", self.axes.iter().map(|axis| axis.extent).product())
            .block("block", rows, "rows")
            .holding("temporaries of a block", arena)
            .block("tasks", if threads > 1 { tasks } else { 1 }, "tasks")
            .because(Reason::plain(text))
            .because((shared > 0).then(|| Reason::plain(packed)))
    }

    /// All bodies.
    fn bodies(&self) -> impl Iterator<Item = &Compiled> {
        let narrow = self.narrow.iter().flat_map(|narrow| &narrow.bodies);
        std::iter::once(&self.body).chain(&self.rest).chain(narrow)
    }

    /// Bytes of temporaries of one block.
    pub fn arena(&self) -> usize {
        self.bodies().map(|body| body.arena).max().unwrap_or(0)
    }

    /// Scratch memory of a thread's blocks, in addition to their temporaries.
    pub fn need(&self) -> Need {
        let needs = self.bodies().flat_map(Compiled::needs);
        let each = needs.map(|need| need.shared.saturating_add(need.each)).max().unwrap_or(0);
        Need { shared: 0, each }
    }

    /// If blocks differ in work, ranges are smaller.
    fn tasks_per_thread(&self) -> usize {
        if self.narrow.is_some() { 4 * SWEEP_TASKS_PER_THREAD } else { SWEEP_TASKS_PER_THREAD }
    }

    fn blocks(&self) -> usize {
        self.axes.iter().map(SweepAxis::blocks).product()
    }

    /// Executes all blocks; returns the faults that occurred. `spare` limits the bytes of operands packed for all
    /// blocks and of temporaries of concurrent blocks; at least one block is executed in any case.
    ///
    /// # Safety
    /// `bases` are the buffers that the sweep was checked against: all elements of theirs that it reads are
    /// initialised, and no other thread accesses the outputs.
    pub unsafe fn run(
        &self,
        bases: &[*mut u8],
        workers: &Workers,
        scratch: &ScratchPool,
        spare: Option<u64>,
    ) -> Result<u32, RunError> {
        let mut spare = spare.unwrap_or(u64::MAX);
        let workers = &workers.at_most(blocks_at_once(self.arena(), spare));
        spare = spare.saturating_sub(self.arena() as u64 * workers.threads() as u64);
        let pack = self.shared.iter().map(|shared| {
            spare = spare.checked_sub(shared.bytes(self)?)?;
            // SAFETY: guaranteed by the caller.
            unsafe { shared.pack(self, bases, workers, scratch) }
        });
        let packed: Vec<_> = pack.collect();
        // SAFETY: guaranteed by the caller.
        let narrow = self.narrow.as_ref().filter(|n| unsafe { n.may_run(bases, workers) });
        let alone = &workers.at_most(1);
        let job = SweepRun { sweep: self, bases, scratch, packed: &packed, narrow, alone };
        let (blocks, faults) = (self.blocks(), AtomicU32::new(0));
        let tasks = match workers.are_worth(self.cost()) {
            true => blocks.min(workers.threads() * self.tasks_per_thread()),
            false => 1,
        };
        let failed = std::sync::OnceLock::new();
        workers.parallel_for(tasks, |task| {
            let range = cut(blocks, task, tasks)..cut(blocks, task + 1, tasks);
            // SAFETY: guaranteed by the caller; each block is assigned to one task.
            match unsafe { job.range(range) } {
                Ok(met) => drop(faults.fetch_or(met, Ordering::Relaxed)),
                Err(error) => drop(failed.set(error)),
            }
        });
        failed.into_inner().map_or(Ok(faults.into_inner()), Err)
    }
}

/// Compiles the plan of a block, whose operands are windows of other arrays.
fn block(
    sweep: &Sweep,
    plan: &Plan,
    buffers: &[Layout],
    target: CompileTarget,
) -> Result<Compiled, Fault> {
    let streams = |layout: &Layout| {
        let Place::Output(n) = layout.place else { return false };
        let whole = sweep.outputs.get(n).and_then(|w| buffers.get(w.buffer.0 as usize));
        whole.is_some_and(|whole| whole.streams)
    };
    compile_part(plan, target, streams).map_err(|error| match error {
        PlanError::Buffer { fault, .. } | PlanError::Step { fault, .. } => fault,
    })
}

/// Makes blocks prefetch the next block's part of large buffers, in the last step that reads the buffer: the first step
/// of a block is bound by memory, later ones by arithmetic, so that both overlap.
fn fetch_ahead(sweep: &Sweep, body: &mut Compiled, buffers: &[Layout]) {
    let Some(axis) = sweep.axes.last() else { return };
    for (n, window) in sweep.inputs.iter().enumerate() {
        let Some(whole) = buffers.get(window.buffer.0 as usize) else { continue };
        let size = whole.dtype.size();
        let step = window.strides.last().map_or(0, |stride| stride * (axis.block * size) as isize);
        let near = (1..=SWEEP_PREFETCH_DISTANCE).contains(&step.unsigned_abs());
        if !near || whole.len * size < SWEEP_PREFETCH_BYTES {
            continue;
        }
        for at in (0..body.buffers.len()).filter(|&at| body.buffers[at].place == Place::Input(n)) {
            body.steps.iter_mut().rev().any(|program| program.fetch_ahead(at, step));
        }
    }
}

/// A sweep with its buffers and execution environment.
struct SweepRun<'a> {
    sweep: &'a SweepProgram,
    bases: &'a [*mut u8],
    scratch: &'a ScratchPool,
    /// Panels of each shared operand, if scratch memory sufficed.
    packed: &'a [Option<PackedSharedOperand<'a>>],
    /// Bodies with less work, if the data permits them.
    narrow: Option<&'a NarrowProgram>,
    alone: &'a Workers,
}

// SAFETY: the pointers are dereferenced for blocks only, which `SweepProgram::run` assigns to one task each; different
// blocks write different elements, and none that another reads.
unsafe impl Sync for SweepRun<'_> {}

impl SweepRun<'_> {
    /// Executes a range of blocks.
    ///
    /// # Safety
    /// As for [`SweepProgram::run`]; no other task executes these blocks.
    unsafe fn range(&self, blocks: Range<usize>) -> Result<u32, RunError> {
        let sweep = self.sweep;
        let (bytes, scratch) = (sweep.arena(), &self.scratch.part());
        let arena = scratch.try_take(bytes).ok_or(RunError::OutOfMemory(bytes))?;
        let mut at: SmallVec<[usize; 4]> = SmallVec::from_elem(0, sweep.axes.len());
        let mut faults = 0;
        for block in blocks {
            if self.alone.have_ended() {
                break;
            }
            self.seek(block, &mut at);
            // SAFETY: guaranteed by the caller; only this task accesses the arena.
            unsafe {
                let short = sweep.axes.iter().zip(&at).any(|(a, &n)| (n + 1) * a.block > a.extent);
                if let Some(met) = self.narrow((&at, short), (arena.as_ptr(), scratch))? {
                    faults |= met;
                    continue;
                }
                let (compiled, packed) = match &sweep.rest {
                    Some(rest) if short => (rest, SmallVec::new()),
                    _ => (&sweep.body, self.packed(&at)),
                };
                faults |= self.block((compiled, &packed), &at, (arena.as_ptr(), scratch))?;
            }
        }
        Ok(faults)
    }

    /// Executes the narrow body of a block, if it has one; `None` if the whole body is to be executed.
    ///
    /// # Safety
    /// As for [`range`](Self::range); the arena has room for the temporaries of a block.
    unsafe fn narrow(
        &self,
        (at, short): (&[usize], bool),
        memory: (*mut u8, &ScratchPool),
    ) -> Result<Option<u32>, RunError> {
        let Some(narrow) = self.narrow else { return Ok(None) };
        let found = at.last().and_then(|&n| narrow.body(n));
        let Some((compiled, parts)) = found else { return Ok(None) };
        let packed = if short { SmallVec::new() } else { self.parts(at, parts) };
        // SAFETY: guaranteed by the caller.
        let faults = unsafe { self.block((compiled, &packed), at, memory) }?;
        let (sweep, level) = (self.sweep, narrow.level);
        let outputs = compiled.buffers.iter().filter(|layout| match layout.place {
            Place::Output(n) => narrow.finite_outputs.contains(&n),
            _ => false,
        });
        let mut finite = outputs.map(|layout| {
            let Place::Output(n) = layout.place else { return true };
            let base = sweep.window(&sweep.outputs[n], layout.dtype, self.bases, at);
            // SAFETY: the block has written its window of the buffer, which only it accesses.
            self.alone.have_ended() || unsafe { walk(layout, base, level) }
        });
        Ok(finite.all(|finite| finite).then_some(faults))
    }

    /// Executes the steps of a block.
    ///
    /// # Safety
    /// As for [`narrow`](Self::narrow); the body is one of that block.
    unsafe fn block(
        &self,
        (compiled, packed): (&Compiled, &[PackedInput<'_>]),
        at: &[usize],
        (arena, scratch): (*mut u8, &ScratchPool),
    ) -> Result<u32, RunError> {
        let sweep = self.sweep;
        let window = |w, layout: &Layout| sweep.window(w, layout.dtype, self.bases, at);
        let base = |layout: &Layout| match layout.place {
            Place::Input(n) => window(&sweep.inputs[n], layout),
            Place::Output(n) => window(&sweep.outputs[n], layout),
            Place::Temporary(start) => arena.wrapping_add(start),
        };
        let bases: SmallVec<[*mut u8; 16]> = compiled.buffers.iter().map(base).collect();
        let run = PlanRun { workers: self.alone, scratch, compiled, bases: &bases, packed };
        // SAFETY: the windows are within their buffers, and only this task accesses the arena.
        unsafe { run.steps() }
    }

    /// The position of a block along each axis.
    fn seek(&self, mut block: usize, at: &mut [usize]) {
        for (axis, at) in self.sweep.axes.iter().zip(at).rev() {
            *at = block % axis.blocks();
            block /= axis.blocks();
        }
    }

    /// Panels for a block that is not cut.
    fn packed(&self, at: &[usize]) -> SmallVec<[PackedInput<'_>; 2]> {
        let each = self.sweep.shared.iter().zip(self.packed);
        let each = each.filter_map(|(shared, panels)| {
            let origin = shared.origin(self.sweep, at);
            let (step, panels) = (shared.step, panels.as_ref()?);
            Some(PackedInput { step, panels, origin, part: None })
        });
        each.collect()
    }

    /// Parts of these panels for a narrow body.
    fn parts<'p>(
        &'p self,
        at: &[usize],
        parts: &'p [Option<SharedOperandPart>],
    ) -> SmallVec<[PackedInput<'p>; 2]> {
        let mut all = self.packed(at);
        all.retain_mut(|packed| {
            let shared = self.sweep.shared.iter().zip(parts);
            let own = shared.filter(|(shared, _)| shared.step == packed.step);
            packed.part = own.filter_map(|(_, part)| part.as_ref()).next();
            packed.part.is_some()
        });
        all
    }
}

impl SweepProgram {
    /// Address of a block's window of a buffer.
    fn window(&self, window: &Window, dtype: DType, bases: &[*mut u8], at: &[usize]) -> *mut u8 {
        let axes = self.axes.iter().zip(at).zip(&window.strides);
        let rows: isize = axes.map(|((a, &n), &stride)| (n * a.block) as isize * stride).sum();
        bases[window.buffer.0 as usize].wrapping_offset(rows * dtype.size() as isize)
    }
}

/// An operand of a contraction of the body that several blocks share.
#[derive(Clone, Debug)]
struct SharedOperand {
    /// Index of the step that contracts it.
    step: usize,
    contraction: SharedOperandGemm,
    /// Its window.
    window: Window,
    /// Offset of the contraction's origin in the window, in elements.
    offset: isize,
    dtype: DType,
    level: Level,
}

impl SharedOperand {
    /// The operand of a step that most blocks share.
    fn find(sweep: &Sweep, body: &Compiled, step: usize, program: &Program) -> Option<Self> {
        let Program::Contract(prepared) = program else { return None };
        let ContractProgram { task, level, .. } = &**prepared;
        let candidate = |same: SharedArgument, base: Base| {
            let Place::Input(n) = body.buffers[base.buffer.0 as usize].place else { return None };
            let (window, offset) = (sweep.inputs[n].clone(), base.offset);
            let blocks: usize = along(&sweep.axes, &window, true).map(|(_, a)| full(a)).product();
            (blocks > 1).then_some((blocks, same, window, offset))
        };
        let candidates =
            [candidate(SharedArgument::A, task.a), candidate(SharedArgument::B, task.b)];
        let best = candidates.into_iter().flatten().max_by_key(|&(blocks, ..)| blocks);
        let (_, same, window, offset) = best?;
        let contraction = SharedOperandGemm::new(task, *level, same)?;
        Some(Self { step, contraction, window, offset, dtype: task.dtype, level: *level })
    }

    /// Bytes of the operand packed for all blocks that are not cut; `None` on overflow.
    fn bytes(&self, sweep: &SweepProgram) -> Option<u64> {
        let own = along(&sweep.axes, &self.window, false);
        let count = own.fold(1, |n: usize, (_, axis)| n.saturating_mul(full(axis)));
        Some(self.contraction.all_bytes(count)? as u64)
    }

    /// Packs the operand for all blocks that are not cut.
    ///
    /// # Safety
    /// As for [`SweepProgram::run`].
    unsafe fn pack<'a>(
        &'a self,
        sweep: &SweepProgram,
        bases: &[*mut u8],
        workers: &'a Workers,
        scratch: &'a ScratchPool,
    ) -> Option<PackedSharedOperand<'a>> {
        let own: SmallVec<[(usize, usize); 4]> =
            along(&sweep.axes, &self.window, false).map(|(n, a)| (n, full(a))).collect();
        let count: usize = own.iter().map(|&(_, blocks)| blocks).product();
        let origin = |mut number: usize| {
            let mut at: SmallVec<[usize; 4]> = SmallVec::from_elem(0, sweep.axes.len());
            for &(axis, blocks) in own.iter().rev() {
                at[axis] = number % blocks;
                number /= blocks;
            }
            let window = sweep.window(&self.window, self.dtype, bases, &at);
            window.wrapping_offset(self.offset * self.dtype.size() as isize).cast_const()
        };
        let origins: Vec<*const u8> = (0..count).map(origin).collect();
        // Without scratch memory for it, each block packs the operand.
        let refused = AtomicUsize::new(0);
        let context = Context::new(self.level, workers, scratch, &refused);
        // SAFETY: guaranteed by the caller; blocks that are not cut have these operands.
        unsafe { PackedSharedOperand::new(&self.contraction, &origins, &context, scratch) }
    }

    /// Index of the origin for a block.
    fn origin(&self, sweep: &SweepProgram, at: &[usize]) -> usize {
        let own = along(&sweep.axes, &self.window, false);
        own.fold(0, |number, (n, axis)| number * full(axis) + at[n])
    }
}

/// The axes along which all blocks share a window, or those along which they do not.
fn along<'a>(
    axes: &'a [SweepAxis],
    window: &'a Window,
    same: bool,
) -> impl Iterator<Item = (usize, &'a SweepAxis)> {
    let own = move |n: usize| (window.strides[n] == 0) == same;
    axes.iter().enumerate().filter(move |(n, _)| own(*n))
}

/// Number of blocks with temporaries of `arena` bytes that fit at a time, at least one.
fn blocks_at_once(arena: usize, spare: u64) -> usize {
    let fit = spare.checked_div(arena as u64).unwrap_or(u64::MAX);
    usize::try_from(fit).unwrap_or(usize::MAX).max(1)
}

/// Number of blocks along an axis that are not cut.
fn full(axis: &SweepAxis) -> usize {
    axis.extent / axis.block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_fit() {
        assert_eq!(blocks_at_once(100, u64::MAX), usize::MAX / 100);
        assert_eq!(blocks_at_once(0, 0), usize::MAX);
        assert_eq!(blocks_at_once(100, 350), 3);
        // Planning ensures that one fits.
        assert_eq!(blocks_at_once(100, 0), 1);
    }
}
