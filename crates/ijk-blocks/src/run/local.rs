//! Execution of a stage block by block, each with all threads of the engine.

use super::compute::Computer;
use super::sparse::Sparse;
use super::stores::{BlockStores, deliver};
use crate::Error;
use crate::domain::Coordinates;
use crate::plan::Done;
use crate::progress::Progress;

/// Computes all blocks of a stage, or those of its sparse work list.
pub(super) fn run(
    computer: &Computer,
    number: usize,
    done: &Done,
    sparse: Option<&Sparse>,
    block_stores: &BlockStores,
    progress: &Progress,
) -> Result<(), Error> {
    let compute = |at: &[usize], panels: &mut dyn Iterator<Item = usize>| {
        let (stage, mut block, mut operations) = (computer.stage, None, 0);
        for panel in panels {
            let ranges = stage.ranges(at, panel);
            if !stage.misses(&ranges)
                && let Some(parts) = computer.parts(&ranges)?
            {
                block = computer.add(block, parts, &ranges)?;
            }
            let here = stage.operations_at(&ranges);
            operations += here;
            progress.operated(here);
        }
        progress.operated(stage.operations(at).saturating_sub(operations));
        deliver(stage, &*block_stores.sinks[number], at, block)?;
        progress.computed();
        Ok(())
    };
    match sparse {
        None => {
            let (grid, panels) = (computer.stage.out.grid(), computer.stage.panels());
            let mut all = Coordinates::all(&grid).filter(|at| !done.has(at));
            all.try_for_each(|at| compute(&at, &mut (0..panels)))
        }
        Some(sparse) => {
            let mut all = sparse.blocks.iter().filter(|at| !done.has(at));
            all.try_for_each(|at| compute(at, &mut sparse.panels(at).into_iter()))
        }
    }
}
