//! Task partition of a round's panels.

use crate::contract::run::context::Context;
use crate::runtime::threads::cut;
use ijk_kernels::tuning::time::{
    LAST_SPLITS, LEAST_TASKS_PER_THREAD, TASK_SHARED_PANELS, TASK_SHARES,
};
use std::ops::Range;

/// Tasks of a round: each multiplies a range of panels by a range of the shared ones.
pub(crate) struct TaskPartition {
    tasks: Vec<(Range<usize>, Range<usize>)>,
    /// True if threads take tasks in this order, false if each first takes a contiguous part of them.
    in_order: bool,
}

impl TaskPartition {
    /// Blocks of at most `most` panels, each by a range of the shared panels if blocks are few.
    pub(crate) fn new(panels: usize, most: usize, shared: usize, threads: usize) -> Self {
        let shares = if threads > 1 { TASK_SHARES * threads } else { 1 };
        let blocks = blocks(panels, most.max(1), shares);
        let wanted = (LEAST_TASKS_PER_THREAD * threads).div_ceil(blocks.len().max(1));
        let fewest = if blocks.len() < threads { 1 } else { TASK_SHARED_PANELS };
        let most_splits = if threads > 1 { (shared / fewest).max(1) } else { 1 };
        let mut tasks = Vec::new();
        for (n, block) in blocks.iter().enumerate() {
            let last = blocks.len() - n <= threads && block.len() == 1;
            let wanted = if last { wanted.max(LAST_SPLITS) } else { wanted };
            let splits = wanted.min(most_splits);
            tasks.extend((0..splits).map(|part| (block.clone(), range(shared, part, splits))));
        }
        Self { tasks, in_order: true }
    }

    /// Blocks of at most `most` panels, for each range of the shared panels.
    pub(crate) fn by_ranges(panels: usize, most: usize, shared: usize, ranges: usize) -> Self {
        let blocks = blocks(panels, most.max(1), TASK_SHARES);
        let tasks = (0..ranges).flat_map(|part| {
            let shared = range(shared, part, ranges);
            blocks.iter().map(move |block| (block.clone(), shared.clone()))
        });
        Self { tasks: tasks.collect(), in_order: false }
    }

    /// Calls `body` with each task in parallel: its panels, and its shared panels.
    pub(crate) fn run(&self, context: &Context, body: impl Fn(Range<usize>, Range<usize>) + Sync) {
        let body = |task: usize| {
            let (panels, shared) = self.tasks[task].clone();
            body(panels, shared);
        };
        match self.in_order {
            true => context.parallel_in_order(self.tasks.len(), body),
            false => context.parallel_for(self.tasks.len(), body),
        }
    }
}

/// The range of index `part` out of `parts` of the shared panels.
fn range(shared: usize, part: usize, parts: usize) -> Range<usize> {
    cut(shared, part, parts)..cut(shared, part + 1, parts)
}

/// Blocks of at most `most` panels, and at most one of `shares` of the remaining ones: they become smaller towards the
/// end, so that threads finish at about the same time.
fn blocks(panels: usize, most: usize, shares: usize) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < panels {
        let left = panels - start;
        let end = start + (left / shares).clamp(1, most);
        blocks.push(start..end);
        start = end;
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_cover_all_panels_evenly() {
        for panels in 1..40 {
            for (most, shared, threads) in
                [(1, 1, 1), (8, 3, 2), (8, 30, 7), (8, 64, 2), (100, 2, 3)]
            {
                let ranges = TaskPartition::by_ranges(panels, most, shared, threads);
                for cut in [TaskPartition::new(panels, most, shared, threads), ranges] {
                    let mut met = vec![0; panels * shared];
                    for (own, part) in cut.tasks {
                        assert!(own.len() <= most);
                        own.for_each(|p| part.clone().for_each(|s| met[p * shared + s] += 1));
                    }
                    assert!(met.iter().all(|&n| n == 1));
                }
            }
        }
    }

    #[test]
    fn the_last_panels_are_cut() {
        let shared = |threads| {
            let cut = TaskPartition::new(11, 4, 64, threads);
            cut.tasks.iter().map(|(_, shared)| shared.len()).collect::<Vec<_>>()
        };
        assert_eq!(shared(1), [64; 3]);
        assert_eq!(shared(2)[..7], [64; 7]);
        assert_eq!(shared(2)[7..], [32; 4]);
    }
}
