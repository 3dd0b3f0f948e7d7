//! How a round's panels are cut into tasks.

use crate::threads::TASKS_PER_THREAD;
use std::ops::Range;

/// Fewest panels of a block, where there are several blocks for each thread: a shared panel, which comes from
/// L3, is read for each of them.
const FEWEST: usize = 2;

/// How a round is cut into tasks: panels of one side, and of the shared one where those are few.
pub(crate) struct Cut {
    panels: usize,
    blocks: usize,
    shared: usize,
    splits: usize,
}

impl Cut {
    /// Blocks of `most` panels at most, as many for each thread; several if there are enough, so that a slow
    /// one does not keep the others waiting.
    pub(crate) fn new(panels: usize, most: usize, shared: usize, threads: usize) -> Self {
        let several =
            if threads > 1 { (panels / FEWEST).min(TASKS_PER_THREAD * threads) } else { 1 };
        let blocks = panels.div_ceil(most.max(1)).max(several);
        let blocks = blocks.next_multiple_of(threads).min(panels);
        let splits = if blocks < threads { threads.div_ceil(blocks).min(shared) } else { 1 };
        Self { panels, blocks, shared, splits }
    }

    pub(crate) fn tasks(&self) -> usize {
        self.blocks * self.splits
    }

    /// A task's panels, and those shared ones that they meet.
    pub(crate) fn task(&self, task: usize) -> (Range<usize>, Range<usize>) {
        let part = |n: usize, of: usize, all: usize| n * all / of..(n + 1) * all / of;
        let (block, split) = (task / self.splits, task % self.splits);
        (part(block, self.blocks, self.panels), part(split, self.splits, self.shared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_cover_all_panels_evenly() {
        for panels in 1..40 {
            for (most, shared, threads) in [(1, 1, 1), (8, 3, 2), (8, 30, 7), (100, 2, 3)] {
                let cut = Cut::new(panels, most, shared, threads);
                let mut met = vec![0; panels * shared];
                for task in 0..cut.tasks() {
                    let (own, part) = cut.task(task);
                    assert!(own.len() <= most);
                    own.for_each(|p| part.clone().for_each(|s| met[p * shared + s] += 1));
                }
                assert!(met.iter().all(|&n| n == 1));
            }
        }
    }
}
