//! Plans of loops: a plan for each update, whose buffers move from pass to pass.

mod invariant;
mod waves;

use super::Plan;
use crate::{Layout, PlanError, c_strides};
use ijk_ir::core::{
    self, Atom, IndexExpr, Instance, LoopProgram, Program, Update, UpdateInput, Window,
};
use ijk_types::DType;
use smallvec::SmallVec;
use std::cell::RefCell;

/// A loop planned for the element types, shapes and strides of one application.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopPlan {
    /// Arrays of the loop.
    pub arrays: Vec<LoopBuffer>,
    /// The outermost loop.
    pub root: PassLoop,
}

/// An array of a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopBuffer {
    /// Its element type.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Stride of each axis, in elements.
    pub strides: Vec<isize>,
    /// True if the loop changes elements; it is in C order then.
    pub changes: bool,
    /// True for one that starts with zeros and that nothing outside of the loop has.
    pub local: bool,
}

/// One loop.
#[derive(Clone, Debug, PartialEq)]
pub struct PassLoop {
    /// Its letters.
    pub names: Vec<String>,
    /// Number of values of each axis, the last fastest.
    pub extents: Vec<u64>,
    /// True if the passes run in reverse order.
    pub descending: bool,
    /// Steps of a pass.
    pub steps: Vec<PassStep>,
    /// Array of one bool that, where it is true after a pass, ends the loop.
    pub until: Option<usize>,
    /// Diagonals of the loop and the one in it, if they run along them.
    pub wave: Option<Wave>,
}

/// Two loops that run along diagonals: passes with equal `skew · i + j`, where both count from 0 in the order of their
/// loops. Passes of a diagonal are independent.
#[derive(Clone, Debug, PartialEq)]
pub struct Wave {
    /// Factor of the outer coordinate.
    pub skew: i64,
    /// True if the passes of an update have decreasing `i`, from its last pass to its first.
    pub reversed: bool,
    /// Updates for numbers of passes with consecutive `i`, largest first. Where one is left out, so are some of its
    /// passes; then fewer run at a time.
    pub blocks: Vec<PassUpdate>,
}

/// A step of a pass.
#[derive(Clone, Debug, PartialEq)]
pub enum PassStep {
    /// Runs a plan on windows.
    Update(Box<PassUpdate>),
    /// One update for several; where it is left out, those run.
    Fused(Box<PassUpdate>, Vec<PassStep>),
    /// A loop in the loop.
    Loop(PassLoop),
}

/// A plan whose inputs and outputs are windows.
#[derive(Clone, Debug, PartialEq)]
pub struct PassUpdate {
    /// Number of passes that it runs, along a diagonal; 1 otherwise. Windows that move along the diagonal have a first
    /// axis of this extent.
    pub count: usize,
    /// The plan of a pass.
    pub plan: Plan,
    /// Elements of arrays of integers: coordinates after those of the pass.
    pub lookups: Vec<PassWindow>,
    /// For each input of the plan what it is.
    pub inputs: Vec<PassSource>,
    /// For each output of the plan where it is written.
    pub outputs: Vec<PassOutput>,
    /// The update is left out where one does not hold.
    pub conditions: Vec<PassRange>,
    /// A plan of one bool: where it is false, the update is left out.
    pub probe: Option<(Plan, Vec<PassSource>)>,
}

/// A range of positions of which one must be in bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct PassRange {
    /// The least.
    pub least: Position,
    /// The greatest.
    pub greatest: Position,
    /// The extent.
    pub extent: i64,
}

/// An input of an update.
#[derive(Clone, Debug, PartialEq)]
pub enum PassSource {
    /// Elements of an array.
    Window(PassWindow),
    /// The coordinate of that number, an i64.
    Coordinate(usize),
}

/// An output of an update.
#[derive(Clone, Debug, PartialEq)]
pub struct PassOutput {
    /// Where it is written.
    pub window: PassWindow,
    /// Way of writing, since the update may read the same elements.
    pub written: Written,
}

/// Way in which an output is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The update reads none of its elements.
    InPlace,
    /// To a second array, which takes the place of the first after the update.
    Swapped,
    /// To memory of its own in C order, from which it is copied after the update.
    Copied,
}

/// A part of an array: some axes fixed, the others whole.
#[derive(Clone, Debug, PartialEq)]
pub struct PassWindow {
    /// The array.
    pub array: usize,
    /// The fixed axes. Where one is out of bounds, the update is left out.
    pub fixed: Vec<FixedAxis>,
}

/// An axis at one position.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedAxis {
    /// The axis.
    pub axis: usize,
    /// Where it is fixed.
    pub position: Position,
    /// Change of the position from one pass of a diagonal to the next.
    pub slope: i64,
}

/// A position as a function of the coordinates of a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Position(Form);

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Affine { constant: i64, terms: SmallVec<[(u32, i64); 2]> },
    Other(Box<IndexExpr>),
}

impl Position {
    fn of(e: &IndexExpr) -> Self {
        let mut terms = SmallVec::new();
        for (coefficient, atom) in &e.terms {
            match atom {
                Atom::Axis(axis) => terms.push((axis.0, *coefficient)),
                _ => return Self(Form::Other(Box::new(e.clone()))),
            }
        }
        Self(Form::Affine { constant: e.constant, terms })
    }

    /// Its value, wrapping on overflow.
    ///
    /// # Panics
    /// If there are fewer coordinates than it names.
    pub fn at(&self, coordinates: &[i64]) -> i64 {
        match &self.0 {
            Form::Affine { constant, terms } => terms.iter().fold(*constant, |sum, &(n, by)| {
                sum.wrapping_add(coordinates[n as usize].wrapping_mul(by))
            }),
            Form::Other(e) => e.eval(coordinates),
        }
    }

    /// The constant and the coefficients of coordinates, where it is a sum of multiples of them.
    pub fn affine(&self) -> Option<(i64, &[(u32, i64)])> {
        match &self.0 {
            Form::Affine { constant, terms } => Some((*constant, terms)),
            Form::Other(_) => None,
        }
    }

    /// One more than the greatest number of a coordinate that it names.
    pub fn coordinates(&self) -> usize {
        match &self.0 {
            Form::Affine { terms, .. } => {
                terms.iter().map(|(n, _)| *n as usize + 1).max().unwrap_or(0)
            }
            Form::Other(e) => {
                let mut most = 0;
                e.for_each_axis(&mut |axis| most = most.max(axis.0 as usize + 1));
                most
            }
        }
    }
}

/// Options of planning a loop.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoopOptions {
    /// Limit of bytes of an update.
    pub memory_limit: Option<u64>,
    /// As of [`Layout::strict`].
    pub strict: bool,
}

/// Plans a loop; `strides` are those of its arrays that are not local, in order.
///
/// # Errors
/// As for [`crate::plan()`].
pub fn plan_loop(
    program: &LoopProgram,
    strides: &[Vec<isize>],
    options: LoopOptions,
) -> Result<LoopPlan, PlanError> {
    let expected = program.arrays.iter().filter(|array| !array.local).count();
    if expected != strides.len() {
        return Err(PlanError::Layout { expected, found: strides.len() });
    }
    let mut strides = strides.iter();
    let mut arrays = Vec::new();
    for array in &program.arrays {
        let own = if array.local { None } else { strides.next().cloned() };
        arrays.push(LoopBuffer {
            dtype: array.dtype,
            shape: array.shape.iter().map(|&n| n as usize).collect(),
            strides: own.unwrap_or_else(|| c_strides(&array.shape)),
            changes: array.changes,
            local: array.local,
        });
    }
    let hoists = program.root.passes() > 1 && options.memory_limit.is_none();
    let (before, own) = (RefCell::default(), RefCell::default());
    let planner = Planner { arrays: &arrays, options, hoists, before, own };
    let root = planner.looped(&program.root, 0)?;
    let (before, own) = (planner.before.into_inner(), planner.own.into_inner());
    arrays.extend(own);
    let root = if before.is_empty() { root } else { PassLoop::once(before, root) };
    Ok(LoopPlan { arrays, root })
}

impl PassLoop {
    /// Steps before a loop: a loop without axes, which has one pass.
    fn once(mut steps: Vec<PassStep>, inner: Self) -> Self {
        steps.push(PassStep::Loop(inner));
        let (names, extents) = (Vec::new(), Vec::new());
        Self { names, extents, descending: false, steps, until: None, wave: None }
    }
}

struct Planner<'p> {
    arrays: &'p [LoopBuffer],
    options: LoopOptions,
    /// True if what no pass changes is computed before the first. Its arrays count against no limit, so there is none.
    hoists: bool,
    before: RefCell<Vec<PassStep>>,
    /// Arrays that are computed before the first pass; they follow the others.
    own: RefCell<Vec<LoopBuffer>>,
}

impl Planner<'_> {
    fn looped(&self, own: &core::Loop, around: usize) -> Result<PassLoop, PlanError> {
        let wave = waves::wavefront(own, around, self.arrays);
        let wave = wave.map(|wave| self.wave(&wave)).transpose()?;
        let wave = wave.filter(|wave| !wave.blocks.is_empty());
        let inner = around + own.axes.len();
        let steps = own.steps.iter().map(|step| self.step(step, inner));
        Ok(PassLoop {
            names: own.axes.iter().map(|axis| axis.name.clone()).collect(),
            extents: own.axes.iter().map(|axis| axis.extent).collect(),
            descending: own.descending,
            steps: steps.collect::<Result<_, _>>()?,
            until: own.until,
            wave,
        })
    }

    /// The updates of diagonals.
    fn wave(&self, wave: &waves::Wavefront<'_>) -> Result<Wave, PlanError> {
        let mut blocks = Vec::new();
        for count in wave.counts() {
            let Some(update) = wave.lifted(count) else { break };
            blocks.push(self.update(&update, Some((wave, count)))?);
        }
        Ok(Wave { skew: wave.skew, reversed: wave.reversed, blocks })
    }

    fn step(&self, step: &core::LoopStep, around: usize) -> Result<PassStep, PlanError> {
        Ok(match step {
            core::LoopStep::Update(update) => {
                PassStep::Update(Box::new(self.update(update, None)?))
            }
            core::LoopStep::Fused(all, parts) => {
                let parts = parts.iter().map(|part| self.step(part, around));
                let parts = parts.collect::<Result<_, _>>()?;
                PassStep::Fused(Box::new(self.update(all, None)?), parts)
            }
            core::LoopStep::Loop(inner) => PassStep::Loop(self.looped(inner, around)?),
        })
    }

    fn update(&self, update: &Update, along: Along<'_, '_>) -> Result<PassUpdate, PlanError> {
        let wave = along.map(|(wave, _)| wave);
        let window = |own: &Window| window(own, wave);
        let source = |own: &UpdateInput| source(own, wave);
        let written: Vec<Written> = update.outputs.iter().map(|own| written(update, own)).collect();
        let outputs = update.outputs.iter().zip(&written);
        let outputs = outputs.map(|(own, &written)| PassOutput { window: window(own), written });
        let outputs: Vec<PassOutput> = outputs.collect();
        let targets: Vec<_> = update.outputs.iter().zip(written).collect();
        let (program, instance) = (&update.program, &update.instance);
        let layout = self.layout(program, instance, &update.inputs, &targets, along);
        let mut inputs: Vec<PassSource> = update.inputs.iter().map(source).collect();
        let plan = match self.hoists && along.is_none() {
            true => {
                let same = self.same(&update.inputs);
                self.split(invariant::plan(program, instance, &layout, &same)?, &mut inputs)
            }
            false => crate::plan(program, instance, &layout)?,
        };
        let probe = update.probe.as_ref().map(|probe| {
            let (program, instance) = (&probe.program, &probe.instance);
            let layout = self.layout(program, instance, &probe.inputs, &[], None);
            let plan = crate::plan(program, instance, &layout)?;
            Ok::<_, PlanError>((plan, probe.inputs.iter().map(source).collect()))
        });
        let range = |condition: &core::PassCondition| PassRange {
            least: Position::of(&condition.least),
            greatest: Position::of(&condition.greatest),
            extent: i64::try_from(condition.extent).unwrap_or(i64::MAX),
        };
        Ok(PassUpdate {
            count: along.map_or(1, |(_, count)| count as usize),
            plan,
            lookups: update.lookups.iter().map(window).collect(),
            inputs,
            outputs,
            conditions: update.conditions.iter().map(range).collect(),
            probe: probe.transpose()?,
        })
    }

    /// For each input that it is the same in every pass: all of an array that no pass changes.
    fn same(&self, inputs: &[UpdateInput]) -> Vec<bool> {
        let same = |input: &UpdateInput| match input {
            UpdateInput::Window(own) => own.is_whole() && !self.arrays[own.array].changes,
            UpdateInput::Coordinate(_) => false,
        };
        inputs.iter().map(same).collect()
    }

    /// Adds the plans of what is computed before the first pass; their results are further inputs of each pass.
    fn split(&self, split: invariant::SplitPlan, inputs: &mut Vec<PassSource>) -> Plan {
        for invariant::PlanBefore { plan, inputs: read, arrays } in split.before {
            let read = read.into_iter().map(|n| inputs[n].clone()).collect();
            let mut outputs = Vec::new();
            for array in arrays {
                let own = self.arrays.len() + self.own.borrow().len();
                self.own.borrow_mut().push(LoopBuffer {
                    dtype: array.dtype,
                    strides: c_strides(&array.shape),
                    shape: array.shape.iter().map(|&n| n as usize).collect(),
                    changes: true,
                    local: true,
                });
                let window = PassWindow { array: own, fixed: Vec::new() };
                inputs.push(PassSource::Window(window.clone()));
                outputs.push(PassOutput { window, written: Written::InPlace });
            }
            self.before.borrow_mut().push(PassStep::Update(Box::new(PassUpdate {
                count: 1,
                plan,
                lookups: Vec::new(),
                inputs: read,
                outputs,
                conditions: Vec::new(),
                probe: None,
            })));
        }
        split.pass
    }

    fn layout(
        &self,
        program: &Program,
        instance: &Instance,
        inputs: &[UpdateInput],
        outputs: &[(&Window, Written)],
        along: Along<'_, '_>,
    ) -> Layout {
        let strides = |window: &Window| {
            let first = along.and_then(|(wave, _)| wave.stride(window, self.arrays));
            let rest = window.shape(&self.arrays[window.array].strides);
            first.into_iter().chain(rest).collect::<Vec<isize>>()
        };
        let input = |source: &UpdateInput| match source {
            UpdateInput::Window(window) => strides(window),
            UpdateInput::Coordinate(_) => Vec::new(),
        };
        let inputs = inputs.iter().map(input).collect();
        let own = |(n, id): (usize, &ijk_ir::core::ArrayId)| match outputs.get(n) {
            Some((window, Written::InPlace | Written::Swapped)) => strides(window),
            _ => c_strides(&instance.shapes[id.0 as usize]),
        };
        let outputs: Vec<Vec<isize>> = program.outputs.iter().enumerate().map(own).collect();
        let layout = Layout::new(inputs, outputs, self.options.memory_limit);
        Layout { strict: self.options.strict, ..layout }
    }
}

/// The diagonal that an update runs along, and how many passes of it.
type Along<'w, 'p> = Option<(&'w waves::Wavefront<'p>, u64)>;

/// Way in which an output is written, by what its update reads.
fn written(update: &Update, own: &Window) -> Written {
    let reads = update.inputs.iter().any(|input| match input {
        UpdateInput::Window(read) => read.may_overlap(own),
        UpdateInput::Coordinate(_) => false,
    });
    match (reads, own.is_whole()) {
        (false, _) => Written::InPlace,
        (true, true) => Written::Swapped,
        (true, false) => Written::Copied,
    }
}

fn source(source: &UpdateInput, wave: Option<&waves::Wavefront<'_>>) -> PassSource {
    match source {
        UpdateInput::Window(own) => PassSource::Window(window(own, wave)),
        UpdateInput::Coordinate(axis) => PassSource::Coordinate(axis.0 as usize),
    }
}

fn window(own: &Window, wave: Option<&waves::Wavefront<'_>>) -> PassWindow {
    let fixed = own.fixed.iter().enumerate().filter_map(|(axis, e)| {
        let e = e.as_ref()?;
        let slope = wave.map_or(0, |wave| wave.slope(e));
        Some(FixedAxis { axis, position: Position::of(e), slope })
    });
    PassWindow { array: own.array, fixed: fixed.collect() }
}
