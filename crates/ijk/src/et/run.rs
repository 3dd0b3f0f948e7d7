//! Runs of lowered programs.

use super::memory::Most;
use super::program::CheckedProgram;
use super::ranges::ranges;
use super::ready::Ready;
use super::segments::{self, Segment, SegmentKey};
use super::{Outputs, faults, memory};
use crate::engine::planning;
use crate::prepared::Prepared;
use crate::{Engine, Error, Views};
use ijk_plan::PlanError;
use ijk_tensor::{Tensor, TensorView};
use smallvec::SmallVec;
use std::sync::Arc;

/// The current version of an array.
enum Version<'b, 'a> {
    Bound(&'b TensorView<'a>),
    Owned(Tensor),
}

impl Version<'_, '_> {
    fn view(&self) -> TensorView<'_> {
        match self {
            Self::Bound(view) => (*view).clone(),
            Self::Owned(tensor) => tensor.view(),
        }
    }

    /// Bytes that the run allocated for it.
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

/// Runs a program on bound arrays. Returns also the run for the cache, if it can be cached.
pub(super) fn run(
    engine: &Engine,
    program: &CheckedProgram,
    bound: &[Option<&TensorView<'_>>],
    mut case: SegmentKey,
    most: Option<Most>,
) -> Result<(Outputs, Option<Ready>), Error> {
    let checked = &program.checked;
    let mut versions: Vec<_> = bound.iter().map(|view| view.map(Version::Bound)).collect();
    let (segment, last) = loop {
        let lower = || segments::lower(checked, &case);
        let lower = || engine.at_length(planning(checked.arrays.len()), lower);
        let segment = program.segments.get(&case, lower)?;
        let last = segment.run(engine, program, &mut versions, most)?;
        let Some(wanted) = segment.then else { break (segment, last) };
        let array = versions[wanted.array].as_ref().expect("it is asked for when it has elements");
        let view = array.view();
        case.ranges.push(engine.at_length(view.len() as f64, || ranges(&view, wanted.axis))?);
    };
    let (mut given, mut arrays) = (Vec::new(), SmallVec::new());
    for &at in checked.outputs.iter().chain(&case.kept) {
        if let Some(version) = versions[at].take() {
            given.push(at);
            let nanoseconds = version.view().len() as f64;
            arrays.push(Some(engine.at_length(nanoseconds, || version.into_tensor())?));
        }
    }
    let once = case.ranges.is_empty();
    let last = last.filter(|_| once);
    let ready = last.and_then(|prepared| Ready::new(checked, &segment, &prepared, &given));
    let names = given.iter().map(|&at| checked.arrays[at].name.clone()).collect();
    Ok((Outputs { names, arrays }, ready))
}

impl Segment {
    /// Runs the stages one after another and returns the plan of the last one.
    fn run(
        &self,
        engine: &Engine,
        CheckedProgram { checked, in_indices, .. }: &CheckedProgram,
        versions: &mut [Option<Version<'_, '_>>],
        most: Option<Most>,
    ) -> Result<Option<Arc<Prepared>>, Error> {
        let mut last = None;
        for (stage, plans) in &self.stages {
            let view = |&array: &usize| versions[array].as_ref().map(Version::view);
            let inputs: Views<'_> = stage.inputs.iter().filter_map(view).collect();
            let held = versions.iter().flatten().map(Version::held).sum();
            let fits =
                |prepared: &Prepared| memory::fits(stage, prepared.temporary_bytes(), held, most);
            let (program, instance) = (&stage.program, &stage.instance);
            let own = (0..stage.inputs.len()).filter(|&at| in_indices.contains(&stage.inputs[at]));
            let own: SmallVec<[usize; 4]> = own.collect();
            let results = engine.run_instance(program, instance, plans, &inputs, &own, fits);
            let (results, prepared) = results.map_err(|error| match error {
                Error::Plan(PlanError::MemoryLimit { temporaries, .. }) => {
                    memory::fits(stage, temporaries, held, most).err().unwrap_or(error)
                }
                error => faults::located(checked, stage, error),
            })?;
            drop(inputs);
            for (&array, result) in stage.outputs.iter().zip(results) {
                versions[array] = Some(Version::Owned(result));
            }
            last = Some(prepared);
        }
        Ok(last)
    }
}
