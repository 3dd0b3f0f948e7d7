//! Finding loops whose passes and rows may be interchanged.

use super::Interchanged;
use super::calls::CallBuilder;
use super::draft::Draft;
use super::layout::BlockLayout;
use ijk_kernels::simd::Level;
use ijk_plan::plan::loops::{LoopBuffer, PassLoop, PassStep, PassUpdate};

/// The program of a loop; none unless every row of a pass is a function of the same row.
pub(in crate::engine::loops) fn compile(
    own: &PassLoop,
    coordinate: usize,
    arrays: &[LoopBuffer],
    level: Level,
) -> Option<Interchanged> {
    if own.extents.len() != 1 || own.until.is_some() || own.wave.is_some() {
        return None;
    }
    let updates = own.steps.iter().map(whole).collect::<Option<Vec<_>>>()?;
    let written = updates.iter().flat_map(|update| &update.outputs);
    let written: Vec<usize> = written.map(|output| output.window.array).collect();
    let mut draft = Draft::new(arrays, &written);
    updates.iter().try_for_each(|update| draft.add(update))?;
    let layout = BlockLayout::of(&draft, (coordinate, own.descending), level)?;
    let mut calls = CallBuilder::new(&mut draft, layout, level);
    updates.iter().try_for_each(|update| calls.add(update))?;
    Some(calls.finish(coordinate))
}

/// The update that runs where no part of a step is left out.
fn whole(step: &PassStep) -> Option<&PassUpdate> {
    let update = match step {
        PassStep::Update(update) | PassStep::Fused(update, _) => update,
        PassStep::Loop(_) => return None,
    };
    let plain = update.count == 1 && update.lookups.is_empty() && update.probe.is_none();
    plain.then_some(update)
}
