//! Running a lowered program.

use super::memory::Most;
use super::program::Inner;
use super::ranges::ranges;
use super::segments::{self, Case, Segment};
use super::{Outputs, faults, memory};
use crate::{Engine, Error, Views};
use ijk_ir::et::Checked;
use ijk_plan::PlanError;
use ijk_plan::plan::Plan;
use ijk_tensor::{Tensor, TensorView};

/// The current version of an array.
enum Version<'a> {
    Bound(TensorView<'a>),
    Owned(Tensor),
}

impl Version<'_> {
    fn view(&self) -> TensorView<'_> {
        match self {
            Self::Bound(view) => view.clone(),
            Self::Owned(tensor) => tensor.view(),
        }
    }

    /// Bytes that the run holds for it.
    fn held(&self) -> u64 {
        match self {
            Self::Bound(_) => 0,
            Self::Owned(tensor) => memory::taken(tensor),
        }
    }

    fn into_tensor(self) -> Result<Tensor, Error> {
        match self {
            Self::Bound(view) => Ok(view.to_tensor()?),
            Self::Owned(tensor) => Ok(tensor),
        }
    }
}

/// Runs a program on what is bound to its arrays.
pub(super) fn run(
    engine: &Engine,
    program: &Inner,
    bound: Vec<Option<TensorView<'_>>>,
    mut case: Case,
    memory: Option<u64>,
) -> Result<Outputs, Error> {
    let checked = &program.checked;
    let mut versions: Vec<Option<Version<'_>>> =
        bound.into_iter().map(|view| view.map(Version::Bound)).collect();
    let most = Most::of(memory, engine.memory_limit());
    loop {
        let segment = program.segments.get(&case, || segments::lower(checked, &case))?;
        segment.run(engine, checked, &mut versions, most)?;
        let Some(wanted) = segment.then else { break };
        let array = versions[wanted.array].as_ref().expect("it is asked for when it has elements");
        case.told.push(ranges(&array.view(), wanted.axis)?);
    }
    let mut arrays = Vec::new();
    for &at in checked.outputs.iter().chain(&case.kept) {
        let name = &checked.arrays[at].name;
        if !arrays.iter().any(|(own, _)| own == name)
            && let Some(version) = versions[at].take()
        {
            arrays.push((name.clone(), version.into_tensor()?));
        }
    }
    Ok(Outputs { arrays })
}

impl Segment {
    /// Runs the stages one after another.
    fn run(
        &self,
        engine: &Engine,
        checked: &Checked,
        versions: &mut [Option<Version<'_>>],
        most: Option<Most>,
    ) -> Result<(), Error> {
        for (stage, plans) in &self.stages {
            let view = |&array: &usize| versions[array].as_ref().map(Version::view);
            let inputs: Views<'_> = stage.inputs.iter().filter_map(view).collect();
            let held = versions.iter().flatten().map(Version::held).sum();
            let fits = |plan: &Plan| memory::fits(stage, plan.temporary_bytes(), held, most);
            let (program, instance) = (&stage.program, &stage.instance);
            let results = engine.run_instance(program, instance, plans, &inputs, fits);
            let results = results.map_err(|error| match error {
                Error::Plan(PlanError::MemoryLimit { temporaries, .. }) => {
                    memory::fits(stage, temporaries, held, most).err().unwrap_or(error)
                }
                error => faults::located(checked, stage, error),
            })?;
            drop(inputs);
            for (&array, result) in stage.outputs.iter().zip(results) {
                versions[array] = Some(Version::Owned(result));
            }
        }
        Ok(())
    }
}
