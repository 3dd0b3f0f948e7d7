//! One block after another, each with all threads of the engine.

use super::compute::Computer;
use super::kernel::Kernels;
use super::part::points;
use super::read::Reader;
use super::{Places, deliver};
use crate::Error;
use crate::plan::BlockPlan;

/// Computes all stages.
pub(super) fn run(plan: &BlockPlan, places: &Places, kernels: &Kernels) -> Result<(), Error> {
    for (stage, sink) in plan.stages.iter().zip(&places.sinks) {
        let reader = Reader { arrays: &plan.arrays, stores: &places.sources, kernels };
        let computer = Computer::new(stage, reader);
        for at in points(&stage.out.grid()) {
            let mut block = None;
            for panel in 0..stage.panels() {
                let ranges = stage.ranges(&at, panel);
                let parts = (0..stage.operands.len()).map(|n| computer.operand(n, &ranges));
                block = computer.add(block, parts.collect::<Result<_, _>>()?, &ranges)?;
            }
            deliver(stage, &**sink, &at, block)?;
        }
    }
    Ok(())
}
