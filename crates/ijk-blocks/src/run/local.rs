//! Execution of a stage block by block, each with all threads of the engine.

use super::compute::Computer;
use super::requests::Ahead;
use super::sending::Sending;
use super::sparse::Sparse;
use super::stores::{BlockStores, send};
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
    ahead: Ahead,
    progress: &Progress,
) -> Result<(), Error> {
    let mut coming = PanelRequests::new(computer, blocks(computer, done, sparse), ahead);
    let mut sending = Sending::default();
    for (at, panels) in blocks(computer, done, sparse) {
        let (stage, mut block, mut operations) = (computer.stage, None, 0);
        for panel in panels {
            coming.request()?;
            let ranges = stage.ranges(&at, panel);
            if !stage.misses(&ranges)
                && let Some(parts) = computer.parts(&ranges)?
            {
                block = computer.add(block, parts, &ranges)?;
            }
            let here = stage.operations_at(&ranges);
            operations += here;
            progress.operated(here);
        }
        progress.operated(stage.operations(&at).saturating_sub(operations));
        sending.add(send(stage, &*block_stores.sinks[number], &at, block)?, progress);
        sending.shrink(ahead.blocks as usize, progress)?;
    }
    sending.shrink(0, progress)
}

/// The blocks to compute, and the panels of each.
type PanelsOfBlocks<'a> = Box<dyn Iterator<Item = (Vec<usize>, Panels)> + 'a>;

type Panels = Box<dyn Iterator<Item = usize>>;

fn blocks<'a>(
    computer: &'a Computer,
    done: &'a Done,
    sparse: Option<&'a Sparse>,
) -> PanelsOfBlocks<'a> {
    match sparse {
        None => {
            let (grid, panels) = (computer.stage.out.grid(), computer.stage.panels());
            let all = (0..Coordinates::count(&grid)).map(move |n| Coordinates::of(&grid, n));
            let left = all.filter(|at| !done.has(at));
            Box::new(left.map(move |at| (at, Box::new(0..panels) as _)))
        }
        Some(sparse) => {
            let left = sparse.blocks.iter().filter(|at| !done.has(at));
            Box::new(left.map(|at| (at.clone(), Box::new(sparse.panels(at).into_iter()) as _)))
        }
    }
}

/// Panels in the order in which they are computed, to be asked for.
struct PanelRequests<'a> {
    computer: &'a Computer<'a>,
    /// None where nothing can be asked for.
    blocks: Option<PanelsOfBlocks<'a>>,
    /// The block whose panels are next.
    block: Option<(Vec<usize>, Panels)>,
    /// Panels to prefetch at the next call, in addition to one for each call.
    due: u64,
}

impl<'a> PanelRequests<'a> {
    fn new(computer: &'a Computer<'a>, blocks: PanelsOfBlocks<'a>, ahead: Ahead) -> Self {
        let blocks = ahead.is_far.then_some(blocks);
        Self { computer, blocks, block: None, due: ahead.panels }
    }

    /// Asks for the panel that is computed next, and for some behind it.
    fn request(&mut self) -> Result<(), Error> {
        for _ in 0..=std::mem::take(&mut self.due) {
            let Some((at, panel)) = self.next() else { return Ok(()) };
            let ranges = self.computer.stage.ranges(&at, panel);
            if !self.computer.stage.misses(&ranges) {
                self.computer.request_all(&ranges)?;
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Option<(Vec<usize>, usize)> {
        loop {
            if let Some((at, panels)) = &mut self.block
                && let Some(panel) = panels.next()
            {
                return Some((at.clone(), panel));
            }
            self.block = Some(self.blocks.as_mut()?.next()?);
        }
    }
}
