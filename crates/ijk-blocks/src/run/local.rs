//! One block after another, each with all threads of the engine.

use super::compute::Computer;
use super::kernel::Kernels;
use super::places::{Places, deliver};
use super::read::Reader;
use crate::Error;
use crate::plan::{BlockPlan, Coordinates, Done};
use crate::progress::Progress;

/// Computes a stage.
pub(super) fn run(
    plan: &BlockPlan,
    number: usize,
    done: &Done,
    places: &Places,
    kernels: &Kernels,
    progress: &Progress,
) -> Result<(), Error> {
    let stage = &plan.stages[number];
    let reader = Reader { arrays: &plan.arrays, stores: &places.sources, kernels };
    let computer = Computer { stage, reader };
    for at in Coordinates::all(&stage.out.grid()).filter(|at| !done.has(at)) {
        let mut block = None;
        for panel in 0..stage.panels() {
            let ranges = stage.ranges(&at, panel);
            if !stage.misses(&ranges) {
                let parts = (0..stage.operands.len()).map(|n| computer.operand(n, &ranges));
                block = computer.add(block, parts.collect::<Result<_, _>>()?, &ranges)?;
            }
            progress.operated(stage.operations_at(&ranges));
        }
        deliver(stage, &*places.sinks[number], &at, block)?;
        progress.computed();
    }
    Ok(())
}
