//! One block after another, each with all threads of the engine.

use super::compute::Computer;
use super::places::{Places, deliver};
use super::sparse::Sparse;
use crate::Error;
use crate::plan::{Coordinates, Done};
use crate::progress::Progress;

/// Computes a stage; of what lacks blocks what there is to compute.
pub(super) fn run(
    computer: &Computer,
    number: usize,
    done: &Done,
    sparse: Option<&Sparse>,
    places: &Places,
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
        deliver(stage, &*places.sinks[number], at, block)?;
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
