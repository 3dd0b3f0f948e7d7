//! Programs in i with loops: run step by step.

use crate::cache::PlanCache;
use crate::engine::planning;
use crate::et::memory::{self, Most};
use crate::et::run::{Version, run_loop};
use crate::explain::ExplainedPlan;
use crate::prepared::{Prepared, PreparedLoop, extents, instantiate};
use crate::recent::Recent;
use crate::{Engine, Error, Program, Views};
use ijk_cpu::{PassOrder, RunError};
use ijk_ir::core as ir;
use ijk_ir::et::{LoopStage, Stage};
use ijk_ir::staged::{StagedStep, StagedWork, stages};
use ijk_plan::plan::loops::{PassLoop, PassStep};
use ijk_plan::{LoopOptions, PlanError, c_strides};
use ijk_tensor::{Tensor, TensorView};
use ijk_types::DType;

/// Types and shapes of the arguments.
type ArgumentTypes = Vec<(DType, Vec<u64>)>;

/// The steps of a program by types and shapes of arguments.
pub(crate) type StagedCache = Recent<ArgumentTypes, StagedProgram>;

/// The steps for some types and shapes, with their plans.
pub(crate) struct StagedProgram {
    steps: Vec<PlannedStep>,
}

struct PlannedStep {
    work: PlannedWork,
    /// Arrays that nothing reads after it.
    dead: Vec<usize>,
}

enum PlannedWork {
    Run(Box<Stage>, PlanCache),
    Pass(Vec<(usize, usize)>),
    Loop(Box<LoopStage>, PlanCache<PreparedLoop>),
}

impl StagedProgram {
    fn new(program: &ir::Program, signature: &ArgumentTypes) -> Result<Self, Error> {
        let instance = instantiate(program, signature)?;
        let planned = |StagedStep { work, dead }| {
            let work = match work {
                StagedWork::Run(stage) => PlannedWork::Run(stage, PlanCache::default()),
                StagedWork::Pass(pairs) => PlannedWork::Pass(pairs),
                StagedWork::Loop(stage) => PlannedWork::Loop(stage, PlanCache::default()),
            };
            PlannedStep { work, dead }
        };
        Ok(Self { steps: stages(program, &instance).into_iter().map(planned).collect() })
    }
}

/// Applies a program with loops.
pub(crate) fn apply(
    engine: &Engine,
    program: &Program,
    inputs: &[TensorView<'_>],
) -> Result<Vec<Tensor>, Error> {
    let lowered = program.lowered();
    let signature: ArgumentTypes = inputs.iter().map(|i| (i.dtype(), extents(i.shape()))).collect();
    let make = || StagedProgram::new(lowered, &signature);
    let make = || engine.at_length(planning(lowered.statements.len()), make);
    let staged = program.staged().get(&signature, make)?;
    let mut versions: Vec<Option<Version<'_, '_>>> =
        (0..lowered.arrays.len()).map(|_| None).collect();
    for (id, input) in lowered.inputs.iter().zip(inputs) {
        versions[id.0 as usize] = Some(Version::Bound(input));
    }
    let mut run = StagedRun { engine, lowered, versions };
    for step in &staged.steps {
        run.step(step)?;
    }
    run.results()
}

struct StagedRun<'r, 'b, 'a> {
    engine: &'r Engine,
    lowered: &'r ir::Program,
    /// For each array of the program its elements, if it has any now.
    versions: Vec<Option<Version<'b, 'a>>>,
}

impl StagedRun<'_, '_, '_> {
    fn most(&self) -> Option<Most> {
        Most::of(None, self.engine.memory_limit())
    }

    /// Bytes of the arrays that the run has allocated.
    fn held(&self) -> u64 {
        self.versions.iter().flatten().map(Version::held).fold(0, u64::saturating_add)
    }

    fn step(&mut self, step: &PlannedStep) -> Result<(), Error> {
        match &step.work {
            PlannedWork::Run(stage, plans) => self.run(stage, plans)?,
            PlannedWork::Pass(pairs) => self.pass(pairs, &step.dead)?,
            PlannedWork::Loop(stage, plans) => {
                let most = self.most();
                run_loop(self.engine, (stage, plans), &mut self.versions, most)?;
            }
        }
        for &array in &step.dead {
            self.versions[array] = None;
        }
        Ok(())
    }

    fn run(&mut self, stage: &Stage, plans: &PlanCache) -> Result<(), Error> {
        if stage.outputs.is_empty() {
            return Ok(());
        }
        let (held, most) = (self.held(), self.most());
        let view = |&array: &usize| self.versions[array].as_ref().map(Version::view);
        let inputs: Views<'_> = stage.inputs.iter().filter_map(view).collect();
        let fits =
            |prepared: &Prepared| memory::fits(stage, prepared.temporary_bytes(), held, most);
        let (program, instance) = (&stage.program, &stage.instance);
        let results = self.engine.run_instance(program, instance, plans, &inputs, &[], fits);
        let (results, _) = results.map_err(|error| match error {
            Error::Plan(PlanError::MemoryLimit { temporaries, .. }) => {
                memory::fits(stage, temporaries, held, most).err().unwrap_or(error)
            }
            error => error,
        })?;
        drop(inputs);
        for (&array, result) in stage.outputs.iter().zip(results) {
            self.versions[array] = Some(Version::Owned(result));
        }
        Ok(())
    }

    /// Gives arrays the elements of others: those that nothing else reads are moved.
    fn pass(&mut self, pairs: &[(usize, usize)], dead: &[usize]) -> Result<(), Error> {
        for (n, &(from, to)) in pairs.iter().enumerate() {
            let again = pairs[n + 1..].iter().any(|(other, _)| *other == from);
            let moved = dead.contains(&from) && !again;
            let version = if moved { self.versions[from].take() } else { self.copied(from)? };
            self.versions[to] = version;
        }
        Ok(())
    }

    /// A copy of an array, if there is memory for it.
    fn copied<'b, 'a>(&self, from: usize) -> Result<Option<Version<'b, 'a>>, Error> {
        let Some(version) = &self.versions[from] else { return Ok(None) };
        let view = version.view();
        let bytes = (view.len() as u64).saturating_mul(view.dtype().size() as u64);
        let needed = self.held().saturating_add(bytes);
        let span = self.lowered.arrays[from].span;
        memory::copy_fits(&self.lowered.source, span.into(), needed, self.most())?;
        let copy = self.engine.at_length(view.len() as f64, || view.to_tensor())?;
        Ok(Some(Version::Owned(copy)))
    }

    fn results(mut self) -> Result<Vec<Tensor>, Error> {
        let mut outputs = Vec::new();
        for (n, id) in self.lowered.outputs.iter().enumerate() {
            let at = id.0 as usize;
            let again = self.lowered.outputs[n + 1..].contains(id);
            let version = if again { self.copied(at)? } else { self.versions[at].take() };
            if let Some(version) = version {
                let nanoseconds = version.view().len() as f64;
                outputs.push(self.engine.at_length(nanoseconds, || version.into_tensor())?);
            }
        }
        Ok(outputs)
    }
}

/// The plans of a program with loops for arguments of these strides, and the order in which passes run.
pub(crate) fn explain(
    engine: &Engine,
    program: &ir::Program,
    instance: &ir::Instance,
    strides: &[Vec<isize>],
) -> Result<Vec<ExplainedPlan>, Error> {
    let strides_of = |array: usize| {
        let given = program.inputs.iter().position(|id| id.0 as usize == array);
        let given = given.and_then(|n| strides.get(n).cloned());
        given.unwrap_or_else(|| c_strides(&instance.shapes[array]))
    };
    let mut parts = Vec::new();
    for step in stages(program, instance) {
        match step.work {
            StagedWork::Run(stage) => {
                let inputs = stage.inputs.iter().map(|&array| strides_of(array)).collect();
                parts.push(engine.explained(&stage.program, &stage.instance, Some(inputs))?);
            }
            StagedWork::Pass(_) => {}
            StagedWork::Loop(stage) => {
                let arrays = stage.arrays.iter().flatten();
                let strides: Vec<_> = arrays.map(|&array| strides_of(array)).collect();
                explain_loop(engine, &stage.program, &strides, &mut parts)?;
            }
        }
    }
    Ok(parts)
}

/// Adds the plans of a loop for arrays of these strides.
pub(crate) fn explain_loop(
    engine: &Engine,
    program: &ir::LoopProgram,
    strides: &[Vec<isize>],
    parts: &mut Vec<ExplainedPlan>,
) -> Result<(), Error> {
    let (memory_limit, strict) = (engine.memory_limit(), engine.is_strict());
    let plan = ijk_plan::plan_loop(program, strides, LoopOptions { memory_limit, strict })?;
    let compiled = engine.cpu().compile_loop(&plan).map_err(RunError::from)?;
    let mut orders = compiled.orders().into_iter();
    add_plans(engine, &plan.root, ("", 1), &mut orders, parts);
    Ok(())
}

fn add_plans(
    engine: &Engine,
    own: &PassLoop,
    (around, runs): (&str, u64),
    orders: &mut impl Iterator<Item = PassOrder>,
    parts: &mut Vec<ExplainedPlan>,
) {
    // Plans that run before a loop.
    let once = own.extents.is_empty();
    let passes = own.extents.iter().fold(1, |n: u64, &extent| n.saturating_mul(extent));
    let order = match once {
        true => String::new(),
        false => orders.next().map_or(String::new(), |order| order.to_string()),
    };
    let reverse = if own.descending { " in reverse order" } else { "" };
    let until = if own.until.is_some() { "at most " } else { "" };
    let heading = match once {
        true => String::from("before the first pass"),
        false => format!("{around}{until}{passes} passes{reverse}, {order}"),
    };
    let runs = runs.saturating_mul(passes);
    for step in &own.steps {
        let (update, beside) = match step {
            PassStep::Loop(inner) => {
                let around = if once { String::new() } else { format!("{heading}; in each ") };
                add_plans(engine, inner, (&around, runs), orders, parts);
                continue;
            }
            PassStep::Update(update) => (update, ""),
            PassStep::Fused(update, _) => (update, " (one after another where one is left out)"),
        };
        let plan = engine.explained_plan(update.plan.clone());
        parts.push(ExplainedPlan { heading: format!("{heading}{beside}"), passes: runs, ..plan });
    }
}
