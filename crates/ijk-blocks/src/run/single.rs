//! Execution of a plan in one process.

use super::budget::Budget;
use super::compute::Computer;
use super::flow::{self, WINDOW};
use super::kernel::Kernels;
use super::local;
use super::requests::{Ahead, sources};
use super::skips::Skips;
use super::sparse::Sparse;
use super::stores::{self, BlockStores};
use crate::Error;
use crate::plan::{BlockPlan, Done, Schedule, Stage, Team};
use crate::progress::Progress;
use crate::store::Sink;
use std::sync::Arc;

/// A plan with the resources of its execution.
pub(super) struct LocalRun<'a> {
    pub(super) plan: &'a Arc<BlockPlan>,
    pub(super) block_stores: Arc<BlockStores>,
    /// Kernels with all threads, and with one.
    pub(super) kernels: [Arc<Kernels>; 2],
    pub(super) budget: Budget,
    pub(super) workers: usize,
    /// Elements are assumed finite unless known otherwise.
    pub(super) finite: bool,
    pub(super) progress: &'a Arc<Progress>,
}

impl LocalRun<'_> {
    /// Computes a stage, but for the blocks that are done.
    pub(super) fn stage(&self, number: usize, done: &Done) -> Result<(), Error> {
        let Self { plan, block_stores, kernels: [all, one], .. } = self;
        let stage = &plan.stages[number];
        let skips = Skips::new(stage, self.finite);
        let reader = block_stores.reader(plan, all, &skips);
        let computer = Computer { stage, reader, skips: &skips };
        let sparse = Sparse::new(&computer)?.map(Arc::new);
        if let Some(sparse) = &sparse {
            self.pass_over(stage, done, sparse, &*block_stores.sinks[number])?;
        } else {
            check_count(stage, done)?;
        }
        let Some(schedule) = self.schedule(number) else {
            return local::run(
                &computer,
                number,
                done,
                sparse.as_deref(),
                block_stores,
                self.ahead(number, None),
                self.progress,
            );
        };
        let schedule = schedule.without(done);
        let schedule = match &sparse {
            Some(sparse) => schedule.of(&sparse.blocks, |at| sparse.panels(at)),
            None => schedule,
        };
        if schedule.times() == 0 {
            return Ok(());
        }
        let ahead = self.ahead(number, Some(&schedule));
        let (plan, block_stores) = (Arc::clone(plan), Arc::clone(block_stores));
        let kernels = Arc::clone(one);
        let (subset, owners) = (flow::WorkerSubset::every(1), Vec::new());
        let (stage, workers) = (number, schedule.workers());
        let job = flow::Job {
            plan,
            block_stores,
            kernels,
            stage,
            skips,
            schedule,
            sparse,
            subset,
            owners,
            ahead,
        };
        flow::run(job, workers, self.progress)
    }

    /// The schedule of a stage for as many workers as have work and fit in memory; none for one worker, which computes
    /// block by block.
    fn schedule(&self, number: usize) -> Option<Schedule> {
        let Self { plan, budget, .. } = self;
        let stage = &plan.stages[number];
        let team = Team::alone(self.workers).of(stage);
        let parts = Budget::parts(plan, stage);
        let schedule = |workers: usize| {
            let most = budget.most(plan, number, workers);
            let team = Team { workers, ..team };
            let schedule = Schedule::with_parts(stage, team, WINDOW, most, &parts);
            most.is_none_or(|most| schedule.bytes() <= most as f64).then_some(schedule)
        };
        let fewer = std::iter::successors(Some(team.workers), |n| Some(n / 2));
        fewer.take_while(|&workers| workers > 1).find_map(schedule)
    }

    /// Parts and blocks that may be on their way beside a schedule, or beside one block and its panel.
    fn ahead(&self, number: usize, schedule: Option<&Schedule>) -> Ahead {
        let Self { plan, block_stores, budget, .. } = self;
        let stage = &plan.stages[number];
        let (spare, pieces) = match schedule {
            Some(schedule) => {
                let most = budget.most(plan, number, schedule.workers());
                (most.map(|most| most as f64 - schedule.bytes()), schedule.pieces())
            }
            None => {
                let parts = Budget::parts(plan, stage).into_iter().fold(0, u64::saturating_add);
                let pieces = [parts, super::largest(&stage.out)].map(|bytes| bytes as f64);
                (budget.spare(plan, number), pieces)
            }
        };
        let read = sources(stage, &block_stores.sources);
        Ahead::new(read, &*block_stores.sinks[number], spare, pieces)
    }

    /// Finishes the blocks of a stage without panels to compute.
    fn pass_over(
        &self,
        stage: &Stage,
        done: &Done,
        sparse: &Sparse,
        sink: &dyn Sink,
    ) -> Result<(), Error> {
        let left = sparse.blocks.iter().filter(|at| !done.has(at));
        let (count, operations) = left.fold((0usize, 0u64), |(count, sum), at| {
            (count + 1, sum.saturating_add(stage.operations(at)))
        });
        let others = stage.blocks().saturating_sub(done.len()).saturating_sub(count);
        let all = stage.all_operations().saturating_sub(done.operations(stage));
        self.progress.passed(others as u64, all.saturating_sub(operations));
        let grid = stage.out.grid();
        let number = |at: &[usize]| at.iter().zip(&grid).fold(0, |n, (at, blocks)| n * blocks + at);
        if stage.blocks() == usize::MAX {
            // Number of blocks exceeds the range of numbers.
            return Ok(());
        }
        let mut start = 0;
        let mut skip = |end: usize, next: usize| {
            let gap = start..end;
            start = next;
            if gap.is_empty() { Ok(()) } else { stores::leave_out(stage, sink, gap) }
        };
        let mut all: Vec<usize> = sparse.blocks.iter().map(|at| number(at)).collect();
        if !done.is_empty() {
            all.extend(done.places().map(number));
            all.sort_unstable();
        }
        all.into_iter().try_for_each(|number| skip(number, number + 1))?;
        skip(stage.blocks(), stage.blocks())
    }
}

/// Greatest number of panels of blocks that are visited one by one: more would take too long.
const MOST: usize = 1 << 36;

/// Checks the number of panels of a stage.
fn check_count(stage: &Stage, done: &Done) -> Result<(), Error> {
    let blocks = stage.blocks().saturating_sub(done.len());
    match blocks.saturating_mul(stage.panels().max(1)) {
        panels if panels > MOST => Err(Error::Endless { blocks, panels, most: MOST }),
        _ => Ok(()),
    }
}
