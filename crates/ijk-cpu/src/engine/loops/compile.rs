//! Compilation of loops, and proof that every plan fits its windows.

use super::address::{MovingWindow, may_overlap};
use super::interchanged::{self, Interchanged};
use super::memory::LoopMemory;
use crate::check::Layout;
use crate::engine::{Compiled, Engine};
use crate::error::{Fault, PlanError};
use ijk_plan::plan::loops::{
    FixedAxis, LoopBuffer, LoopPlan, PassLoop, PassOutput, PassRange, PassSource, PassStep,
    PassUpdate, PassWindow, Wave, Written,
};
use ijk_plan::plan::{BufferId, Place, Plan};
use ijk_types::DType;

/// A loop that an [`Engine`] has checked and compiled.
#[derive(Clone, Debug)]
pub struct CompiledLoop {
    pub(super) arrays: Vec<LoopBuffer>,
    pub(super) root: PassProgram,
    pub(super) memory: LoopPlaces,
    /// Estimated nanoseconds on one thread, if all passes run.
    cost: f64,
    plans: usize,
}

/// Where things are in the memory of a loop.
#[derive(Clone, Debug, Default)]
pub(super) struct LoopPlaces {
    pub(super) memory: LoopMemory,
    /// Cells that hold coordinates, 8 bytes each.
    pub(super) cells: usize,
    /// Temporaries of one update.
    pub(super) arena: usize,
    /// Results that are copied, of one update.
    pub(super) staged: usize,
    /// Bytes of the places above, which each thread that runs passes has of its own.
    pub(super) of_pass: usize,
    /// For each array of the loop's own its place.
    pub(super) locals: Vec<Option<usize>>,
    /// For each array that updates swap the place of the second one.
    pub(super) seconds: Vec<Option<usize>>,
}

/// A compiled loop, without what it shares with others.
#[derive(Clone, Debug)]
pub(super) struct PassProgram {
    pub(super) extents: Vec<i64>,
    pub(super) descending: bool,
    pub(super) steps: Vec<StepProgram>,
    pub(super) until: Option<usize>,
    pub(super) wave: Option<WaveProgram>,
    /// Blocks of rows that run all passes by themselves.
    pub(super) interchanged: Option<Box<Interchanged>>,
}

/// Updates of the diagonals of two loops.
#[derive(Clone, Debug)]
pub(super) struct WaveProgram {
    pub(super) skew: i64,
    /// Updates start at their last pass.
    pub(super) reversed: bool,
    pub(super) blocks: Vec<UpdateProgram>,
}

/// A step of a pass.
#[derive(Clone, Debug)]
pub(super) enum StepProgram {
    Update(Box<UpdateProgram>),
    Fused(Box<UpdateProgram>, Vec<StepProgram>),
    Loop(PassProgram),
}

/// A compiled update.
#[derive(Clone, Debug)]
pub(super) struct UpdateProgram {
    /// Number of passes of a diagonal that it runs.
    pub(super) count: usize,
    pub(super) lookups: Vec<(MovingWindow, DType)>,
    pub(super) outputs: Vec<Output>,
    pub(super) body: PassBody,
    pub(super) conditions: Vec<PassRange>,
    pub(super) probe: Option<PassBody>,
    pub(super) cost: f64,
}

/// A compiled plan and what its inputs are.
#[derive(Clone, Debug)]
pub(super) struct PassBody {
    /// Number of the plan in the loop.
    pub(super) number: usize,
    pub(super) compiled: Compiled,
    pub(super) inputs: Vec<Input>,
}

/// An input of a plan.
#[derive(Clone, Debug)]
pub(super) enum Input {
    Window(MovingWindow),
    /// The cell of a coordinate.
    Cell(usize),
}

/// An output of a plan.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) window: MovingWindow,
    pub(super) written: Written,
    /// Shape and strides in elements of the window, and the size of an element.
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<isize>,
    pub(super) size: usize,
    /// Place among the results that are copied: from the address of its first element.
    pub(super) staged: usize,
}

impl CompiledLoop {
    /// Bytes that a run takes besides the arrays, on one thread.
    pub fn temporary_bytes(&self) -> u64 {
        let mut most = self.root.block_bytes();
        self.root.for_each_body(&mut |body| most = most.max(body.compiled.scratch_bytes(1)));
        most.saturating_add(self.memory.memory.bytes() as u64)
    }

    /// Estimated work, in nanoseconds on one thread.
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// Number of compiled plans.
    pub fn plans(&self) -> usize {
        self.plans
    }

    /// The order in which passes run: of each loop, outer ones first.
    pub fn orders(&self) -> Vec<PassOrder> {
        let mut orders = Vec::new();
        self.root.add_orders(&mut orders);
        orders
    }
}

/// Order in which the passes of a loop run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassOrder {
    /// Pass after pass.
    Passes,
    /// A block of rows runs all passes before the next block begins.
    Rows {
        /// Number of rows of a block.
        block: usize,
    },
    /// Passes of the loop and the one in it run along diagonals.
    Diagonals,
}

/// Words for `ijk explain`.
impl std::fmt::Display for PassOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Passes => f.write_str("pass after pass"),
            Self::Rows { block: 1 } => f.write_str("each row runs through all passes"),
            Self::Rows { block } => write!(f, "{block} rows at a time run through all passes"),
            Self::Diagonals => f.write_str("passes run along diagonals of this loop and the next"),
        }
    }
}

impl PassProgram {
    /// Calls `visit` with every compiled plan.
    pub(super) fn for_each_body(&self, visit: &mut impl FnMut(&PassBody)) {
        let blocks = self.wave.iter().flat_map(|wave| &wave.blocks);
        blocks.for_each(|block| block.for_each_body(visit));
        self.steps.iter().for_each(|step| step.for_each_body(visit));
    }

    /// The coordinate of a pass, which counts from 0 in the order of the loop, if it has one axis.
    pub(super) fn coordinate(&self, pass: i64) -> i64 {
        if self.descending { self.extents[0] - 1 - pass } else { pass }
    }

    fn add_orders(&self, orders: &mut Vec<PassOrder>) {
        // A loop without axes has the steps before another one.
        if self.extents.is_empty() {
            return self.add_inner_orders(orders);
        }
        orders.push(match (&self.wave, &self.interchanged) {
            (Some(_), _) => PassOrder::Diagonals,
            (None, Some(own)) => PassOrder::Rows { block: own.block_rows() },
            (None, None) => PassOrder::Passes,
        });
        self.add_inner_orders(orders);
    }

    fn add_inner_orders(&self, orders: &mut Vec<PassOrder>) {
        for step in &self.steps {
            if let StepProgram::Loop(inner) = step {
                inner.add_orders(orders);
            }
        }
    }

    /// Bytes of a block of rows that runs all passes, of this loop or one in it.
    fn block_bytes(&self) -> u64 {
        let inner = self.steps.iter().map(|step| match step {
            StepProgram::Loop(inner) => inner.block_bytes(),
            StepProgram::Update(_) | StepProgram::Fused(..) => 0,
        });
        let own = self.interchanged.as_ref().map_or(0, |own| own.scratch_bytes());
        inner.fold(own, u64::max)
    }

    fn cost(&self) -> f64 {
        let passes: f64 = self.extents.iter().map(|&n| n as f64).product();
        passes * self.steps.iter().map(StepProgram::cost).sum::<f64>()
    }
}

impl StepProgram {
    fn for_each_body(&self, visit: &mut impl FnMut(&PassBody)) {
        match self {
            Self::Update(update) => update.for_each_body(visit),
            Self::Fused(all, parts) => {
                all.for_each_body(visit);
                parts.iter().for_each(|part| part.for_each_body(visit));
            }
            Self::Loop(inner) => inner.for_each_body(visit),
        }
    }

    fn cost(&self) -> f64 {
        match self {
            Self::Update(update) | Self::Fused(update, _) => update.cost,
            Self::Loop(inner) => inner.cost(),
        }
    }
}

impl UpdateProgram {
    /// Returns true if running it twice changes no element the second time: it reads none that it writes.
    pub(super) fn is_repeatable(&self) -> bool {
        self.outputs.iter().all(|output| output.written == Written::InPlace)
    }

    fn for_each_body(&self, visit: &mut impl FnMut(&PassBody)) {
        visit(&self.body);
        self.probe.iter().for_each(visit);
    }
}

/// Checks and compiles a loop.
pub(super) fn compile(engine: &Engine, plan: &LoopPlan) -> Result<CompiledLoop, PlanError> {
    let arrays = plan.arrays.clone();
    let mut compiler = LoopCompiler {
        engine,
        arrays: &arrays,
        coordinates: 0,
        arena: 0,
        staged: 0,
        swapped: vec![false; arrays.len()],
        plans: 0,
    };
    let sound = |array: &LoopBuffer| {
        array.shape.len() == array.strides.len()
            && (!array.changes || array.strides == in_order(&array.shape))
    };
    if !arrays.iter().all(sound) {
        return Err(fault(Fault::Strides));
    }
    let root = compiler.looped(&plan.root, 0)?;
    let memory = compiler.places().ok_or_else(|| fault(Fault::TooLarge))?;
    let (cost, plans) = (root.cost(), compiler.plans);
    Ok(CompiledLoop { arrays, root, memory, cost, plans })
}

fn fault(fault: Fault) -> PlanError {
    PlanError::Step { step: 0, fault }
}

struct LoopCompiler<'c> {
    engine: &'c Engine,
    arrays: &'c [LoopBuffer],
    /// Most coordinates of an update, lookups included.
    coordinates: usize,
    /// Most bytes of the temporaries of an update,
    arena: usize,
    /// and of its results that are copied.
    staged: usize,
    swapped: Vec<bool>,
    plans: usize,
}

impl LoopCompiler<'_> {
    fn looped(&mut self, own: &PassLoop, around: usize) -> Result<PassProgram, PlanError> {
        let coordinates = around + own.extents.len();
        self.coordinates = self.coordinates.max(coordinates);
        let extents = own.extents.iter().map(|&n| i64::try_from(n));
        let extents = extents.collect::<Result<_, _>>().map_err(|_| fault(Fault::TooLarge))?;
        let flag = |at: &usize| {
            let array = self.arrays.get(*at);
            array.is_some_and(|a| a.local && a.dtype == DType::Bool && a.shape.is_empty())
        };
        if own.until.as_ref().is_some_and(|at| !flag(at)) {
            return Err(fault(Fault::Types));
        }
        let steps = own.steps.iter().map(|step| self.step(step, coordinates));
        let steps = steps.collect::<Result<_, _>>()?;
        let wave = own.wave.as_ref().map(|wave| self.wave(own, wave, coordinates));
        // Rows along a diagonal may interleave; then passes run in the order of the loops.
        let wave = match wave.transpose() {
            Err(PlanError::Buffer { fault: Fault::Interleaved, .. }) => None,
            wave => wave?,
        };
        let interchanged = interchanged::compile(own, around, self.arrays, self.engine.level());
        let interchanged = interchanged.map(Box::new);
        let (descending, until) = (own.descending, own.until);
        Ok(PassProgram { extents, descending, steps, until, wave, interchanged })
    }

    /// Compiles the updates of diagonals of a loop and the one in it.
    fn wave(
        &mut self,
        own: &PassLoop,
        wave: &Wave,
        coordinates: usize,
    ) -> Result<WaveProgram, PlanError> {
        let inner = match &own.steps[..] {
            [PassStep::Loop(inner)] => inner,
            _ => return Err(fault(Fault::Reference)),
        };
        let plain = |own: &PassLoop| own.extents.len() == 1 && own.until.is_none();
        if !plain(own) || !plain(inner) || wave.skew < 1 {
            return Err(fault(Fault::Reference));
        }
        let blocks = wave.blocks.iter().map(|block| self.update(block, coordinates + 1));
        let blocks = blocks.collect::<Result<_, _>>()?;
        Ok(WaveProgram { skew: wave.skew, reversed: wave.reversed, blocks })
    }

    fn step(&mut self, step: &PassStep, coordinates: usize) -> Result<StepProgram, PlanError> {
        Ok(match step {
            PassStep::Update(update) => {
                StepProgram::Update(Box::new(self.update(update, coordinates)?))
            }
            PassStep::Fused(all, parts) => {
                let all = Box::new(self.update(all, coordinates)?);
                let parts = parts.iter().map(|part| self.step(part, coordinates));
                StepProgram::Fused(all, parts.collect::<Result<_, _>>()?)
            }
            PassStep::Loop(inner) => StepProgram::Loop(self.looped(inner, coordinates)?),
        })
    }

    fn update(
        &mut self,
        update: &PassUpdate,
        coordinates: usize,
    ) -> Result<UpdateProgram, PlanError> {
        let mut lookups = Vec::new();
        for (n, window) in update.lookups.iter().enumerate() {
            lookups.push(self.lookup(window, coordinates + n).map_err(fault)?);
        }
        let all = coordinates + lookups.len();
        self.coordinates = self.coordinates.max(all);
        let known_to = (all, update.count);
        let known =
            |range: &PassRange| range.least.coordinates().max(range.greatest.coordinates()) <= all;
        if !update.conditions.iter().all(known) {
            return Err(fault(Fault::Bounds));
        }
        let body = self.body(&update.plan, &update.inputs, known_to)?;
        if update.outputs.iter().any(|output| races(update, output)) {
            return Err(fault(Fault::Overlap));
        }
        let mut outputs = Vec::new();
        let mut staged = 0usize;
        for (position, output) in update.outputs.iter().enumerate() {
            let layout = body.compiled.result(position).ok_or_else(|| fault(Fault::Reference))?;
            let own = self.output(output, layout, known_to, &mut staged).map_err(fault)?;
            outputs.push(own);
        }
        if body.compiled.outputs != outputs.len() {
            return Err(fault(Fault::Reference));
        }
        self.staged = self.staged.max(staged);
        let probe = update.probe.as_ref();
        let probe = probe.map(|(plan, inputs)| self.body(plan, inputs, known_to)).transpose()?;
        let flag = |body: &PassBody| {
            let result = body.compiled.result(0);
            let one = result.is_some_and(|r| r.dtype == DType::Bool && r.len == 1);
            one && body.compiled.outputs == 1
        };
        if probe.as_ref().is_some_and(|probe| !flag(probe)) {
            return Err(fault(Fault::Types));
        }
        let costs = body.compiled.cost() + probe.as_ref().map_or(0.0, |p| p.compiled.cost());
        let conditions = update.conditions.clone();
        Ok(UpdateProgram {
            count: update.count,
            lookups,
            outputs,
            body,
            conditions,
            probe,
            cost: costs,
        })
    }

    fn lookup(
        &self,
        window: &PassWindow,
        coordinates: usize,
    ) -> Result<(MovingWindow, DType), Fault> {
        let array = self.arrays.get(window.array).ok_or(Fault::Reference)?;
        let mut axes: Vec<usize> = window.fixed.iter().map(|fixed| fixed.axis).collect();
        axes.sort_unstable();
        axes.dedup();
        if axes.len() != array.shape.len() || !array.dtype.is_integer() {
            return Err(Fault::Types);
        }
        Ok((MovingWindow::new(window, self.arrays, (coordinates, 1))?, array.dtype))
    }

    fn output(
        &mut self,
        output: &PassOutput,
        layout: &Layout,
        known_to: (usize, usize),
        staged: &mut usize,
    ) -> Result<Output, Fault> {
        let (window, written) = (&output.window, output.written);
        let array = self.arrays.get(window.array).ok_or(Fault::Reference)?;
        if !array.changes {
            return Err(Fault::WritesArgument);
        }
        let (shape, strides) = rest(window, array, known_to.1);
        match written {
            Written::Copied => fits(layout, array.dtype, &shape, &in_order(&shape))?,
            _ => fits(layout, array.dtype, &shape, &strides)?,
        }
        let size = array.dtype.size();
        let mut at = 0;
        match written {
            Written::InPlace => {}
            Written::Swapped if window.fixed.is_empty() => self.swapped[window.array] = true,
            Written::Swapped => return Err(Fault::Overlap),
            Written::Copied => {
                at = *staged;
                let bytes = shape.iter().try_fold(size, |bytes, &n| bytes.checked_mul(n));
                let next = bytes.and_then(|n| at.checked_add(n.checked_next_multiple_of(64)?));
                *staged = next.ok_or(Fault::TooLarge)?;
            }
        }
        let window = MovingWindow::new(window, self.arrays, known_to)?;
        Ok(Output { window, written, shape, strides, size, staged: at })
    }

    fn body(
        &mut self,
        plan: &Plan,
        inputs: &[PassSource],
        known_to: (usize, usize),
    ) -> Result<PassBody, PlanError> {
        let compiled = self.engine.compile(plan)?;
        self.arena = self.arena.max(compiled.arena);
        for (n, layout) in compiled.buffers.iter().enumerate() {
            if let Place::Input(position) = layout.place {
                let source = inputs.get(position).ok_or_else(|| fault(Fault::Reference))?;
                let fail = |fault| PlanError::Buffer { buffer: BufferId(n as u32), fault };
                self.input_fits(layout, source, known_to.1).map_err(fail)?;
            }
        }
        let input = |source: &PassSource| match source {
            PassSource::Window(window) => {
                MovingWindow::new(window, self.arrays, known_to).map(Input::Window)
            }
            PassSource::Coordinate(n) if *n < known_to.0 => Ok(Input::Cell(*n)),
            PassSource::Coordinate(_) => Err(Fault::Reference),
        };
        let inputs = inputs.iter().map(input).collect::<Result<_, _>>().map_err(fault)?;
        let number = self.plans;
        self.plans += 1;
        Ok(PassBody { number, compiled, inputs })
    }

    fn input_fits(&self, layout: &Layout, source: &PassSource, count: usize) -> Result<(), Fault> {
        match source {
            PassSource::Window(window) => {
                let array = self.arrays.get(window.array).ok_or(Fault::Reference)?;
                let (shape, strides) = rest(window, array, count);
                fits(layout, array.dtype, &shape, &strides)
            }
            PassSource::Coordinate(_) => fits(layout, DType::I64, &[], &[]),
        }
    }

    /// LoopPlaces of everything that a run needs.
    fn places(&self) -> Option<LoopPlaces> {
        let mut memory = LoopMemory::default();
        let cells = memory.add(self.coordinates.checked_mul(8)?)?;
        let (arena, staged) = (memory.add(self.arena)?, memory.add(self.staged)?);
        let of_pass = memory.bytes();
        let (mut locals, mut seconds) = (Vec::new(), Vec::new());
        for (array, swapped) in self.arrays.iter().zip(&self.swapped) {
            let bytes = || {
                let size = array.dtype.size();
                array.shape.iter().try_fold(size, |bytes, &n| bytes.checked_mul(n))
            };
            locals.push(if array.local { Some(memory.add(bytes()?)?) } else { None });
            seconds.push(if *swapped { Some(memory.add(bytes()?)?) } else { None });
        }
        Some(LoopPlaces { memory, cells, arena, staged, of_pass, locals, seconds })
    }
}

/// Shape and strides of a window in `count` passes of a diagonal.
pub(super) fn rest(
    window: &PassWindow,
    array: &LoopBuffer,
    count: usize,
) -> (Vec<usize>, Vec<isize>) {
    let (mut shape, mut strides) = (Vec::new(), Vec::new());
    if window.fixed.iter().any(|fixed| fixed.slope != 0) {
        let of = |axis: usize| array.strides.get(axis).copied().unwrap_or(0);
        let stride = |fixed: &FixedAxis| (fixed.slope as isize).wrapping_mul(of(fixed.axis));
        shape.push(count);
        strides.push(window.fixed.iter().map(stride).sum());
    }
    for (axis, (&extent, &stride)) in array.shape.iter().zip(&array.strides).enumerate() {
        if !window.fixed.iter().any(|fixed| fixed.axis == axis) {
            shape.push(extent);
            strides.push(stride);
        }
    }
    (shape, strides)
}

/// Strides in C order.
fn in_order(shape: &[usize]) -> Vec<isize> {
    let shape: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
    ijk_plan::c_strides(&shape)
}

/// Checks that a buffer of a plan is that of a window.
fn fits(layout: &Layout, dtype: DType, shape: &[usize], strides: &[isize]) -> Result<(), Fault> {
    if layout.dtype != dtype {
        return Err(Fault::Types);
    }
    let same = shape.iter().zip(strides).zip(&layout.strides);
    let same = layout.len == 0 || same.into_iter().all(|((&n, s), own)| n == 1 || s == own);
    if *shape == layout.shape[..] && same { Ok(()) } else { Err(Fault::Bounds) }
}

/// Returns true if an output is written in place of what the update may read.
fn races(update: &PassUpdate, output: &PassOutput) -> bool {
    output.written == Written::InPlace
        && update.inputs.iter().any(|input| match input {
            PassSource::Window(read) => may_overlap(read, &output.window, update.count),
            PassSource::Coordinate(_) => false,
        })
}
