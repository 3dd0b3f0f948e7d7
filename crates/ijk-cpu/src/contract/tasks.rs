//! How a round's panels are cut into tasks.

use std::ops::Range;

/// What is left of the panels is cut into so many blocks for each thread when the next one is taken.
const SHARES: usize = 2;

/// Tasks for each thread, at least, where there are panels enough.
const TASKS: usize = 4;

/// Fewest shared panels that a task meets: for each range of them, the other panels are packed.
const FEWEST_SHARED: usize = 16;

/// How a round is cut into tasks: panels of one side, and of the shared one where those are few.
pub(crate) struct Cut {
    blocks: Vec<Range<usize>>,
    shared: usize,
    splits: usize,
}

impl Cut {
    /// Blocks of `most` panels at most: ever smaller ones, so that no thread is left with much to do when
    /// there is nothing for the others.
    pub(crate) fn new(panels: usize, most: usize, shared: usize, threads: usize) -> Self {
        let most = most.max(1);
        let mut blocks = Vec::new();
        let mut start = 0;
        while start < panels {
            let left = panels - start;
            let share = if threads > 1 { left / (SHARES * threads) } else { left };
            let end = start + share.clamp(1, most).min(left);
            blocks.push(start..end);
            start = end;
        }
        let wanted = (TASKS * threads).div_ceil(blocks.len().max(1));
        let fewest = if blocks.len() < threads { 1 } else { FEWEST_SHARED };
        let splits = if threads > 1 { wanted.min(shared / fewest).max(1) } else { 1 };
        Self { blocks, shared, splits }
    }

    pub(crate) fn tasks(&self) -> usize {
        self.blocks.len() * self.splits
    }

    /// A task's panels, and those shared ones that they meet.
    pub(crate) fn task(&self, task: usize) -> (Range<usize>, Range<usize>) {
        let (block, split) = (task / self.splits, task % self.splits);
        let part = |n: usize| n * self.shared / self.splits;
        (self.blocks[block].clone(), part(split)..part(split + 1))
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
