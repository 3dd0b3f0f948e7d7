//! Runs of lowered programs.

use super::memory::Most;
use super::program::CheckedProgram;
use super::ranges::ranges;
use super::ready::Ready;
use super::segments::{self, Segment, SegmentKey, SegmentStage};
use super::{Outputs, faults, memory};
use crate::cache::PlanCache;
use crate::engine::planning;
use crate::prepared::{Prepared, PreparedLoop};
use crate::{Engine, Error, Views};
use ijk_cpu::{Fault, LoopArgument, RunError};
use ijk_ir::et::LoopStage;
use ijk_plan::PlanError;
use ijk_tensor::{Tensor, TensorView};
use smallvec::SmallVec;
use std::sync::Arc;

/// The current version of an array.
pub(crate) enum Version<'b, 'a> {
    Bound(&'b TensorView<'a>),
    Owned(Tensor),
}

impl Version<'_, '_> {
    pub(crate) fn view(&self) -> TensorView<'_> {
        match self {
            Self::Bound(view) => (*view).clone(),
            Self::Owned(tensor) => tensor.view(),
        }
    }

    /// Bytes that the run allocated for it.
    pub(crate) fn held(&self) -> u64 {
        match self {
            Self::Bound(_) => 0,
            Self::Owned(tensor) => memory::taken(tensor),
        }
    }

    pub(crate) fn into_tensor(self) -> Result<Tensor, Error> {
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
    let warnings = Arc::default();
    Ok((Outputs { names, arrays, warnings }, ready))
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
        for stage in &self.stages {
            let (stage, plans) = match stage {
                SegmentStage::Run(stage, plans) => (stage, plans),
                SegmentStage::Loop(stage, plans) => {
                    let done = run_loop(engine, (stage, plans), versions, most);
                    done.map_err(|error| faults::located_in_loop(checked, &stage.program, error))?;
                    continue;
                }
            };
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

/// Runs a loop on the present versions, which it changes.
pub(crate) fn run_loop(
    engine: &Engine,
    (stage, plans): (&LoopStage, &PlanCache<PreparedLoop>),
    versions: &mut [Option<Version<'_, '_>>],
    most: Option<Most>,
) -> Result<(), Error> {
    let arrays = || stage.program.arrays.iter().zip(&stage.arrays);
    let mut owned: Vec<(usize, Tensor)> = Vec::new();
    for (array, surface) in arrays() {
        if let Some(at) = surface.filter(|_| array.changes)
            && let Some(version) = versions[at].take()
        {
            let nanoseconds = version.view().len() as f64;
            owned.push((at, engine.at_length(nanoseconds, || version.into_tensor())?));
        }
    }
    let changed: u64 = owned.iter().map(|(_, tensor)| memory::taken(tensor)).sum();
    let held = versions.iter().flatten().map(Version::held).sum::<u64>().saturating_add(changed);
    let kept = |at: usize| versions[at].as_ref().map(Version::view);
    let views: Vec<Option<TensorView<'_>>> =
        arrays().map(|(_, surface)| surface.and_then(kept)).collect();
    let fits = |bytes| memory::loop_fits(stage, bytes, held, most);
    let run = |views: &[Option<TensorView<'_>>], owned: &mut [(usize, Tensor)]| {
        let mut changing = owned.iter_mut();
        let mut arguments = Vec::new();
        for ((array, surface), view) in arrays().zip(views) {
            match view {
                Some(view) => arguments.push(LoopArgument::Read(view)),
                None if surface.is_some() && array.changes => {
                    arguments.extend(changing.next().map(|(_, t)| LoopArgument::Changed(t)));
                }
                None => {}
            }
        }
        engine.run_loop(&stage.program, plans, &mut arguments, fits)
    };
    let done = match run(&views, &mut owned) {
        // Only hand-made strides interleave: such arrays are copied.
        Err(error) if interleaves(&error) => {
            let copy = |view: &Option<TensorView<'_>>| view.as_ref().map(TensorView::to_tensor);
            let copies = views.iter().map(|view| copy(view).transpose());
            let copies = copies.collect::<Result<Vec<_>, _>>()?;
            let views: Vec<_> = copies.iter().map(|copy| copy.as_ref().map(Tensor::view)).collect();
            run(&views, &mut owned)
        }
        done => done,
    };
    done?;
    drop(views);
    for (at, tensor) in owned {
        versions[at] = Some(Version::Owned(tensor));
    }
    Ok(())
}

fn interleaves(error: &Error) -> bool {
    let Error::Run(RunError::Plan(ijk_cpu::PlanError::Buffer { fault, .. })) = error else {
        return false;
    };
    *fault == Fault::Interleaved
}
