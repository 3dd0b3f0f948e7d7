//! Compiled plans: checked against their buffers, with a program for each step.

use crate::check::{
    CheckedNest, Layout, check_contraction, check_grouped, check_nest, check_scan, layouts,
    written_by_parts,
};
use crate::contract::ContractProgram;
use crate::error::{Fault, PlanError};
use crate::folds::{FoldsProgram, is_of_rows};
use crate::grouped::GroupedProgram;
use crate::nest::{self, Order, TileNest, order};
use crate::pair::{PairProgram, is_brief, is_crossed_dot, is_outer_product, is_thin};
use crate::permute::PermuteProgram;
use crate::probe::Costs;
use crate::scan::{RelativeProgram, ScanProgram};
use crate::scatter::ScatterProgram;
use crate::scratch::Need;
use crate::simd::Level;
use crate::sweep::SweepProgram;
use crate::tuning::time::CANCELLABLE_NANOSECONDS;
use crate::window::WindowProgram;
use ijk_plan::plan::{
    Base, BufferId, Contraction, Grouped, Load, Nest, NestAxis, Node, NodeId, Place, Plan, Role,
    Scan, Start, Step, Store, Sweep, Then,
};
use ijk_types::{BinaryOp, Monoid, Reducer, Scalar, UnaryOp};
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
}

/// Target of compilation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    /// Instruction set.
    pub(crate) level: Level,
    /// Size in bytes from which results are written with non-temporal stores.
    pub(crate) streams: usize,
    /// Estimates of the time of work.
    pub(crate) costs: &'a Costs,
}

/// Program of a step.
#[derive(Clone, Debug)]
pub(crate) enum Program {
    /// A fused loop nest, or a fill.
    Nest(Box<TileNest>),
    /// A contraction.
    Contract(Box<ContractProgram>),
    /// A grouped contraction.
    Grouped(Box<GroupedProgram>),
    /// A scan.
    Scan(Box<ScanProgram>),
    /// A scan relative to levels.
    Relative(Box<RelativeProgram>),
    /// A sum of products with many short axes.
    Pair(Box<PairProgram>),
    /// A permutation of axes.
    Permute(Box<PermuteProgram>),
    /// A fold along rows.
    Folds(Box<FoldsProgram>),
    /// A reduction over windows.
    Window(Box<WindowProgram>),
    /// A combination of elements with existing ones.
    Scatter(Box<ScatterProgram>),
    /// Steps fused by blocks of rows.
    Sweep(Box<SweepProgram>),
}

impl Program {
    /// Estimated work, in nanoseconds on one thread.
    fn cost(&self) -> f64 {
        match self {
            Self::Nest(nest) => nest.cost(),
            Self::Contract(prepared) => prepared.cost(),
            Self::Grouped(grouped) => grouped.cost(),
            Self::Scan(scan) => scan.cost(),
            Self::Relative(scan) => scan.cost(),
            Self::Pair(pair) => pair.cost(),
            Self::Permute(permute) => permute.cost(),
            Self::Folds(folds) => folds.cost(),
            Self::Window(window) => window.cost(),
            Self::Scatter(scatter) => scatter.cost(),
            Self::Sweep(sweep) => sweep.cost(),
        }
    }
}

impl Program {
    /// Upper bound of its scratch memory.
    fn need(&self) -> Need {
        match self {
            Self::Nest(nest) => nest.need(),
            Self::Contract(prepared) => prepared.need(),
            Self::Grouped(grouped) => grouped.need(),
            Self::Scan(scan) => scan.need(),
            Self::Pair(pair) => pair.need(),
            Self::Relative(_)
            | Self::Permute(_)
            | Self::Folds(_)
            | Self::Window(_)
            | Self::Scatter(_) => Need::default(),
            Self::Sweep(sweep) => sweep.need(),
        }
    }
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
        self.steps.iter().map(Program::need)
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
        results.fold(own, |sum, layout| {
            let bytes = (layout.len as u64).saturating_mul(layout.dtype.size() as u64);
            sum.saturating_add(bytes)
        })
    }
}

/// Checks and compiles a plan.
pub(crate) fn compile(plan: &Plan, target: Target) -> Result<Compiled, PlanError> {
    let bytes = |layout: &Layout| layout.len.saturating_mul(layout.dtype.size());
    let inputs = plan.buffers.iter().filter(|buffer| matches!(buffer.place, Place::Input(_)));
    let inputs = inputs.fold(0usize, |sum, buffer| {
        let elements = buffer.shape.iter().fold(buffer.dtype.size(), |n, &x| n.saturating_mul(x));
        sum.saturating_add(elements)
    });
    compile_part(plan, target, |layout| {
        let all = inputs.saturating_add(bytes(layout));
        bytes(layout) >= target.streams && all >= target.streams.saturating_mul(2)
    })
}

/// Checks and compiles a plan whose results have initial values.
pub(crate) fn compile_continuing(plan: &Plan, target: Target) -> Result<Compiled, PlanError> {
    compile_with(plan, target, |_| false, true)
}

/// Checks and compiles a plan. `streams` selects results that are written with non-temporal stores, unless the plan
/// reads them.
pub(crate) fn compile_part(
    plan: &Plan,
    target: Target,
    streams: impl Fn(&Layout) -> bool,
) -> Result<Compiled, PlanError> {
    compile_with(plan, target, streams, false)
}

fn compile_with(
    plan: &Plan,
    target: Target,
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
    for step in 0..plan.steps.len() {
        compiler.step(&plan.steps[step..]).map_err(|fault| PlanError::Step { step, fault })?;
    }
    let last = plan.steps.len();
    compiler.initialise_results().map_err(|fault| PlanError::Step { step: last, fault })?;
    let steps = compiler.steps;
    let count = |position: fn(&Place) -> Option<usize>| {
        plan.buffers.iter().filter_map(|b| position(&b.place)).max().map_or(0, |n| n + 1)
    };
    let inputs = count(|p| if let Place::Input(n) = p { Some(*n) } else { None });
    let outputs = count(|p| if let Place::Output(n) = p { Some(*n) } else { None });
    let is_long = cost(&steps) >= CANCELLABLE_NANOSECONDS;
    let (arena, beside) = (plan.arena, 0);
    Ok(Compiled { is_long, continues, inputs, outputs, buffers, arena, beside, steps })
}

/// Estimated work of steps, in nanoseconds on one thread.
fn cost(steps: &[Program]) -> f64 {
    steps.iter().map(Program::cost).sum()
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
            Step::Scan(scan) => {
                note(scan.from.buffer);
                scan.levels.iter().for_each(|levels| note(levels.base.buffer));
            }
            Step::Sweep(sweep) => sweep.inputs.iter().for_each(|window| note(window.buffer)),
        }
    }
    read
}

/// Compiles steps in order, and ensures that values are written before they are read.
struct Compiler<'a> {
    buffers: &'a [Layout],
    target: Target<'a>,
    steps: Vec<Program>,
    /// For each buffer, true if all its elements are initialised.
    initialised: Vec<bool>,
    /// Initialised buffers in the arena: by first byte, their end and index.
    live: BTreeMap<usize, (usize, usize)>,
}

impl Compiler<'_> {
    /// Compiles the first of `steps`.
    fn step(&mut self, steps: &[Step]) -> Result<(), Fault> {
        let Some(step) = steps.first() else { return Ok(()) };
        match step {
            Step::Fill(buffer, value) => self.fill(*buffer, *value),
            Step::Nest(nest) => self.nest(nest, steps),
            Step::Contract(contraction) => self.contract(contraction, steps),
            Step::Grouped(grouped) => self.grouped(grouped, steps),
            Step::Scan(scan) => self.scan(scan),
            Step::Sweep(sweep) => self.sweep(sweep),
        }
    }

    fn sweep(&mut self, sweep: &Sweep) -> Result<(), Fault> {
        let (program, results) = SweepProgram::new(sweep, self.buffers, self.target)?;
        sweep.inputs.iter().try_for_each(|window| self.ready(window.buffer))?;
        for &(buffer, covered) in &results {
            if !covered {
                self.ready(buffer)?;
            }
        }
        self.steps.push(Program::Sweep(Box::new(program)));
        results.iter().for_each(|(buffer, _)| self.wrote(*buffer));
        Ok(())
    }

    /// Compiles a fill of a buffer.
    fn fill(&mut self, buffer: BufferId, value: Scalar) -> Result<(), Fault> {
        let layout = self.buffers.get(buffer.0 as usize).ok_or(Fault::Reference)?;
        let nest = constant_nest(buffer, layout, value);
        let checked = check_nest(&nest, self.buffers)?;
        if layout.len > 0 {
            self.push_nest(&nest, &checked)?;
        }
        self.wrote(buffer);
        Ok(())
    }

    fn nest(&mut self, nest: &Nest, steps: &[Step]) -> Result<(), Fault> {
        let checked = check_nest(nest, self.buffers)?;
        let out = nest.store.base.buffer;
        for load in &nest.loads {
            self.ready(load.base.buffer)?;
        }
        for node in &nest.body {
            if let Node::Gather { base, .. } = node {
                self.ready(base.buffer)?;
            }
        }
        let level = self.target.level;
        let streams = self.buffers[out.0 as usize].streams;
        if (is_brief(nest, &checked) || (!streams && is_outer_product(nest, &checked)))
            && let Some(pair) = PairProgram::new(nest, &checked, level)
            && WindowProgram::new(nest, &checked, level).is_none()
        {
            if !checked.covers {
                self.ready_for_part(out, steps)?;
            }
            self.pair(pair, out);
            return Ok(());
        }
        let identity = starts_from(nest, &checked).filter(|_| nest.start == Start::Covered);
        match identity {
            Some(identity) if order(nest, &checked) == Order::Points => self.fill(out, identity)?,
            _ if checked.covers => {}
            _ if checked.in_place => self.require(out)?,
            _ => self.ready_for_part(out, steps)?,
        }
        let empty = |reduced: bool| {
            nest.axes.iter().any(|axis| axis.reduced == reduced && axis.extent == 0)
        };
        if empty(false) {
            return Ok(());
        }
        if !empty(true) {
            self.push_nest(nest, &checked)?;
        } else if let Some(identity) = identity {
            let nest = without_reduced(nest, identity);
            let checked = check_nest(&nest, self.buffers)?;
            self.push_nest(&nest, &checked)?;
        }
        self.wrote(out);
        Ok(())
    }

    fn contract(&mut self, task: &Contraction, steps: &[Step]) -> Result<(), Fault> {
        let covers = check_contraction(task, self.buffers)?;
        self.ready(task.a.buffer)?;
        self.ready(task.b.buffer)?;
        if task.accumulate {
            self.ready(task.c.buffer)?;
        } else if !covers {
            self.ready_for_part(task.c.buffer, steps)?;
        }
        let empty = task.axes.iter().any(|axis| axis.extent == 0);
        let supported = Contraction::supports(task.dtype, (task.map, task.then), task.reduce);
        if empty || !supported || is_crossed_dot(task) {
            return self.nest(&contraction_nest(task), steps);
        }
        if let Some(folds) = self.folds(task)? {
            self.steps.push(Program::Folds(Box::new(folds)));
            self.wrote(task.c.buffer);
            return Ok(());
        }
        let level = self.target.level;
        let prepared = ContractProgram::new(task, level, self.target.costs).ok_or(Fault::Types)?;
        if !prepared.is_settled() && is_thin(task) {
            let nest = contraction_nest(task);
            let checked = check_nest(&nest, self.buffers)?;
            if let Some(pair) = PairProgram::new(&nest, &checked, level) {
                self.pair(pair, task.c.buffer);
                return Ok(());
            }
        }
        self.steps.push(Program::Contract(Box::new(prepared)));
        self.wrote(task.c.buffer);
        Ok(())
    }

    /// The fold along rows that is equivalent to a batch of dot products, if the layout suits the kernel.
    fn folds(&self, task: &Contraction) -> Result<Option<FoldsProgram>, Fault> {
        if !is_of_rows(task) {
            return Ok(None);
        }
        let nest = contraction_nest(task);
        let checked = check_nest(&nest, self.buffers)?;
        Ok(FoldsProgram::new(&nest, &checked, self.target.level))
    }

    fn grouped(&mut self, task: &Grouped, steps: &[Step]) -> Result<(), Fault> {
        let covers = check_grouped(task, self.buffers)?;
        for base in [task.each.a, task.each.b, task.index] {
            self.ready(base.buffer)?;
        }
        if !covers {
            self.ready_for_part(task.each.c.buffer, steps)?;
        }
        let program = GroupedProgram::new(task, self.target.level, self.target.costs)?;
        self.steps.push(Program::Grouped(Box::new(program)));
        self.wrote(task.each.c.buffer);
        Ok(())
    }

    fn pair(&mut self, pair: PairProgram, out: BufferId) {
        self.steps.push(Program::Pair(Box::new(pair)));
        self.wrote(out);
    }

    fn scan(&mut self, scan: &Scan) -> Result<(), Fault> {
        let covers = check_scan(scan, self.buffers)?;
        self.ready(scan.from.buffer)?;
        if let Some(levels) = &scan.levels {
            self.ready(levels.base.buffer)?;
        }
        if !covers {
            self.ready(scan.to.buffer)?;
        }
        if scan.along.extent > 0 && scan.rows.iter().all(|axis| axis.extent > 0) {
            let level = self.target.level;
            self.steps.push(match &scan.levels {
                Some(levels) => {
                    Program::Relative(Box::new(RelativeProgram::new(scan, levels, level)?))
                }
                None => Program::Scan(Box::new(ScanProgram::new(scan, level)?)),
            });
        }
        self.wrote(scan.to.buffer);
        Ok(())
    }

    fn push_nest(&mut self, nest: &Nest, checked: &CheckedNest) -> Result<(), Fault> {
        let level = self.target.level;
        if let Some(program) = WindowProgram::new(nest, checked, level) {
            self.steps.push(Program::Window(Box::new(program)));
            return Ok(());
        }
        if let Some(program) = ScatterProgram::new(nest, checked, level) {
            self.steps.push(Program::Scatter(Box::new(program)));
            return Ok(());
        }
        if let Some(program) = PermuteProgram::new(nest, checked, self.buffers, level) {
            self.steps.push(Program::Permute(Box::new(program)));
            return Ok(());
        }
        if let Some(program) = FoldsProgram::new(nest, checked, level) {
            self.steps.push(Program::Folds(Box::new(program)));
            return Ok(());
        }
        let program = nest::compile(nest, checked, self.buffers, level)?;
        self.steps.push(Program::Nest(Box::new(program)));
        Ok(())
    }

    /// Ensures that all elements of a buffer are initialised, by zeros if no step wrote them. Sound plans do not need
    /// that; if it cannot be proved, it costs a fill.
    fn ready(&mut self, buffer: BufferId) -> Result<(), Fault> {
        let n = buffer.0 as usize;
        let layout = self.buffers.get(n).ok_or(Fault::Reference)?;
        if self.initialised[n] || layout.len == 0 {
            return Ok(());
        }
        let zero = ijk_types::scalar::identity(Monoid::Add, layout.dtype);
        self.fill(buffer, zero)
    }

    /// The same before the first of `steps`, which writes a part of the buffer: no fill is needed if the steps write
    /// the rest before it is read.
    fn ready_for_part(&mut self, buffer: BufferId, steps: &[Step]) -> Result<(), Fault> {
        let n = buffer.0 as usize;
        if !self.initialised[n] && written_by_parts(steps, n, self.buffers) {
            self.initialised[n] = true;
        }
        self.ready(buffer)
    }

    /// Fails unless a buffer is initialised: a fill would overwrite the elements that the step reads.
    fn require(&self, buffer: BufferId) -> Result<(), Fault> {
        if self.initialised[buffer.0 as usize] { Ok(()) } else { Err(Fault::Overlap) }
    }

    /// Marks a buffer as initialised, and buffers that overlap it as uninitialised.
    fn wrote(&mut self, buffer: BufferId) {
        let n = buffer.0 as usize;
        self.initialised[n] = true;
        let Some(bytes) = self.buffers[n].arena_bytes().filter(|bytes| !bytes.is_empty()) else {
            return;
        };
        // Initialised buffers are disjoint, so their ends are in the order of their starts.
        while let Some((&start, &(end, other))) = self.live.range(..bytes.end).next_back() {
            if end <= bytes.start {
                break;
            }
            self.initialised[other] = other == n;
            self.live.remove(&start);
        }
        self.live.insert(bytes.start, (bytes.end, n));
    }

    /// Fills results that no step wrote with zeros.
    fn initialise_results(&mut self) -> Result<(), Fault> {
        for (n, layout) in self.buffers.iter().enumerate() {
            if matches!(layout.place, Place::Output(_)) {
                self.ready(BufferId(n as u32))?;
            }
        }
        Ok(())
    }
}

/// The identity of a nest's monoid.
fn starts_from(nest: &Nest, checked: &CheckedNest) -> Option<Scalar> {
    match (nest.reduce, checked.types.last()) {
        (Some(Reducer::Monoid(monoid)), Some(&t)) => Some(ijk_types::scalar::identity(monoid, t)),
        _ => None,
    }
}

/// Returns true if a nest may combine values with its output one by one, which must be initialised with the identity.
fn combines_in_place(nest: &Nest) -> bool {
    nest.sequential || nest.store.offset.is_some()
}

/// A nest that stores one value to all elements of a buffer.
fn constant_nest(buffer: BufferId, layout: &Layout, value: Scalar) -> Nest {
    let axis =
        |&extent: &usize| NestAxis { name: String::new(), extent, reduced: false, collides: false };
    let base = Base { buffer, offset: 0 };
    Nest {
        axes: layout.shape.iter().map(axis).collect(),
        loads: Vec::new(),
        body: vec![Node::Const(value)],
        store: Store { base, dtype: layout.dtype, strides: layout.strides.to_vec(), offset: None },
        reduce: None,
        start: Start::Covered,
        sequential: false,
        span: Default::default(),
    }
}

/// A nest that stores a value to all outputs of another one.
fn without_reduced(nest: &Nest, value: Scalar) -> Nest {
    let kept = || nest.axes.iter().zip(&nest.store.strides).filter(|(axis, _)| !axis.reduced);
    Nest {
        axes: kept().map(|(axis, _)| axis.clone()).collect(),
        loads: Vec::new(),
        body: vec![Node::Const(value)],
        store: Store {
            strides: kept().map(|(_, &stride)| stride).collect(),
            offset: None,
            ..nest.store.clone()
        },
        reduce: None,
        ..nest.clone()
    }
}

/// The nest that is equivalent to a contraction.
fn contraction_nest(task: &Contraction) -> Nest {
    let axis = |a: &ijk_plan::plan::ContractionAxis| NestAxis {
        name: a.name.clone(),
        extent: a.extent,
        reduced: a.role == Role::K,
        collides: false,
    };
    let load = |base, step: fn(&ijk_plan::plan::ContractionAxis) -> isize| Load {
        base,
        dtype: task.dtype,
        strides: task.axes.iter().map(step).collect(),
    };
    let mut body = vec![Node::Load(0), Node::Load(1), Node::Binary(task.map, NodeId(0), NodeId(1))];
    body.extend(task.then.map(|then| match then {
        Then::Square => Node::Binary(BinaryOp::Mul, NodeId(2), NodeId(2)),
        Then::Abs => Node::Unary(UnaryOp::Abs, NodeId(2)),
    }));
    Nest {
        axes: task.axes.iter().map(axis).collect(),
        loads: vec![load(task.a, |a| a.a), load(task.b, |a| a.b)],
        body,
        store: Store {
            base: task.c,
            dtype: task.dtype,
            strides: task.axes.iter().map(|a| a.c).collect(),
            offset: None,
        },
        reduce: Some(Reducer::Monoid(task.reduce)),
        start: if task.accumulate { Start::Existing } else { Start::Covered },
        sequential: false,
        span: task.span,
    }
}
