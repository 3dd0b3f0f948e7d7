//! Compiled plans: checked against their buffers, with a program for each step.

use crate::check::{Layout, layouts};
use crate::engine::compiler::Compiler;
use crate::error::PlanError;
use crate::nest;
use crate::probe::Costs;
use crate::runtime::scratch::Need;
use crate::steps::{ExecutableStep, Program, combines_in_place};
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::time::CANCELLABLE_NANOSECONDS;
use ijk_plan::plan::{BufferId, Node, Place, Plan, Start, Step};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// A plan that an [`Engine`](crate::Engine) has checked and compiled; made by
/// [`Engine::compile`](crate::Engine::compile), run by [`Engine::execute`](crate::Engine::execute).
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Number of arguments; an argument may have several buffers, or none.
    pub(crate) inputs: usize,
    /// Number of results.
    pub(crate) outputs: usize,
    /// Its buffers.
    pub(crate) buffers: Vec<Layout>,
    /// Bytes of the arena.
    pub(crate) arena: usize,
    /// Bytes that the caller uses and that count against the memory limit.
    pub(crate) beside: u64,
    /// True if the run may take so long that it has to be cancellable.
    pub(crate) is_long: bool,
    /// True if the plan reads the initial values of its results.
    pub(crate) continues: bool,
    /// Programs in order of execution.
    pub(crate) steps: Vec<Program>,
    /// For each step of the plan the number of programs up to its last one, if it is compiled for an explanation.
    pub(crate) ends: Vec<usize>,
}

/// Target of compilation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompileTarget<'a> {
    /// Instruction set.
    pub(crate) level: Level,
    /// Size in bytes from which results are written with non-temporal stores.
    pub(crate) streams: usize,
    /// Estimates of the time of work.
    pub(crate) costs: &'a Costs,
    /// True for a plan that is explained, and not run.
    pub(crate) explains: bool,
}

impl Compiled {
    /// The plan, for a caller that uses `bytes` bytes which count against the engine's memory limit.
    #[must_use]
    pub fn beside(self, bytes: u64) -> Self {
        Self { beside: bytes, ..self }
    }

    /// Upper bound of the bytes of scratch memory that count against a memory limit with `threads` threads; up to 256
    /// KiB for each thread, which its cache holds, do not.
    pub fn scratch_bytes(&self, threads: usize) -> u64 {
        self.needs().map(|need| need.counted(threads)).max().unwrap_or(0)
    }

    /// Scratch memory of each step.
    pub(crate) fn needs(&self) -> impl Iterator<Item = Need> + '_ {
        self.steps.iter().map(ExecutableStep::need)
    }

    /// Name of the kernel of each step, in order of execution.
    pub fn kernels(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.steps.iter().map(ExecutableStep::name)
    }

    /// Estimated work of all steps, in nanoseconds on one thread.
    pub fn cost(&self) -> f64 {
        cost(&self.steps)
    }

    /// The layout of the result at a position.
    pub(crate) fn result(&self, position: usize) -> Option<&Layout> {
        self.buffers.iter().find(|buffer| buffer.place == Place::Output(position))
    }

    /// Bytes of the results, of the arena, and of the caller: those of a run that do not depend on threads.
    pub(crate) fn bytes(&self) -> u64 {
        let results = self.buffers.iter().filter(|b| matches!(b.place, Place::Output(_)));
        let own = self.beside.saturating_add(self.arena as u64);
        results.fold(own, |sum, layout| sum.saturating_add(layout.bytes() as u64))
    }
}

/// Checks and compiles a plan.
pub(crate) fn compile(plan: &Plan, target: CompileTarget) -> Result<Compiled, PlanError> {
    let inputs = plan.buffers.iter().filter(|buffer| matches!(buffer.place, Place::Input(_)));
    let inputs = inputs.fold(0usize, |sum, buffer| {
        let elements = buffer.shape.iter().fold(buffer.dtype.size(), |n, &x| n.saturating_mul(x));
        sum.saturating_add(elements)
    });
    compile_part(plan, target, |layout| {
        let all = inputs.saturating_add(layout.bytes());
        layout.bytes() >= target.streams && all >= target.streams.saturating_mul(2)
    })
}

/// Checks and compiles a plan whose results have initial values.
pub(crate) fn compile_continuing(
    plan: &Plan,
    target: CompileTarget,
) -> Result<Compiled, PlanError> {
    compile_with(plan, target, |_| false, true)
}

/// Checks and compiles a plan. `streams` selects results that are written with non-temporal stores, unless the plan
/// reads them.
pub(crate) fn compile_part(
    plan: &Plan,
    target: CompileTarget,
    streams: impl Fn(&Layout) -> bool,
) -> Result<Compiled, PlanError> {
    compile_with(plan, target, streams, false)
}

fn compile_with(
    plan: &Plan,
    target: CompileTarget,
    streams: impl Fn(&Layout) -> bool,
    continues: bool,
) -> Result<Compiled, PlanError> {
    let mut buffers = layouts(plan)?;
    let read = read(plan);
    for (n, layout) in buffers.iter_mut().enumerate() {
        let last = matches!(layout.place, Place::Output(_)) && !read[n];
        layout.streams = last && streams(layout);
    }
    let holds_values = |place: &Place| match place {
        Place::Input(_) => true,
        Place::Output(_) => continues,
        Place::Temporary(_) => false,
    };
    let mut compiler = Compiler {
        buffers: &buffers,
        target,
        steps: Vec::new(),
        initialised: buffers.iter().map(|b| holds_values(&b.place)).collect(),
        live: BTreeMap::new(),
    };
    let mut ends = Vec::new();
    for step in 0..plan.steps.len() {
        compiler.step(&plan.steps[step..]).map_err(|fault| PlanError::Step { step, fault })?;
        if target.explains {
            ends.push(compiler.steps.len());
        }
    }
    let last = plan.steps.len();
    compiler.initialise_results().map_err(|fault| PlanError::Step { step: last, fault })?;
    let steps = match target.explains {
        true => compiler.steps,
        false => nest::joined(compiler.steps, &buffers),
    };
    let count = |position: fn(&Place) -> Option<usize>| {
        plan.buffers.iter().filter_map(|b| position(&b.place)).max().map_or(0, |n| n + 1)
    };
    let inputs = count(|p| if let Place::Input(n) = p { Some(*n) } else { None });
    let outputs = count(|p| if let Place::Output(n) = p { Some(*n) } else { None });
    let is_long = cost(&steps) >= CANCELLABLE_NANOSECONDS;
    let (arena, beside) = (plan.arena, 0);
    Ok(Compiled { is_long, continues, inputs, outputs, buffers, arena, beside, steps, ends })
}

/// Estimated work of steps, in nanoseconds on one thread.
fn cost(steps: &[Program]) -> f64 {
    steps.iter().map(ExecutableStep::cost).sum()
}

/// For each buffer, true if steps of a plan read it.
fn read(plan: &Plan) -> SmallVec<[bool; 16]> {
    let mut read = SmallVec::from_elem(false, plan.buffers.len());
    let mut note = |buffer: BufferId| {
        if let Some(read) = read.get_mut(buffer.0 as usize) {
            *read = true;
        }
    };
    for step in &plan.steps {
        match step {
            Step::Fill(..) => {}
            Step::Nest(nest) => {
                nest.loads.iter().for_each(|load| note(load.base.buffer));
                for node in &nest.body {
                    if let Node::Gather { base, .. } = node {
                        note(base.buffer);
                    }
                }
                if nest.start == Start::Existing || combines_in_place(nest) {
                    note(nest.store.base.buffer);
                }
            }
            Step::Contract(task) => {
                note(task.a.buffer);
                note(task.b.buffer);
                if task.accumulate {
                    note(task.c.buffer);
                }
            }
            Step::Grouped(task) => {
                note(task.each.a.buffer);
                note(task.each.b.buffer);
                note(task.index.buffer);
            }
            Step::Sort(sort) => note(sort.from.buffer),
            Step::Scan(scan) => {
                note(scan.from.buffer);
                scan.levels.iter().for_each(|levels| note(levels.base.buffer));
            }
            Step::Sweep(sweep) => sweep.inputs.iter().for_each(|window| note(window.buffer)),
        }
    }
    read
}
