//! How a round's panels are cut into tasks.

use std::ops::Range;

/// What is left of the panels is cut into so many blocks for each thread when the next one is taken.
const SHARES: usize = 2;

/// Tasks for each thread, at least, where there are panels enough.
const TASKS: usize = 4;

/// Fewest shared panels that a task meets: for each range of them, the other panels are packed.
const FEWEST_SHARED: usize = 16;

/// The last panels, one for each thread, are cut into so many tasks: while one is computed whole, the other
/// threads may have nothing left to do.
const LAST_SPLITS: usize = 2;

/// How a round is cut into tasks: panels of one side, and the shared ones that they meet.
pub(crate) struct Cut {
    tasks: Vec<(Range<usize>, Range<usize>)>,
}

impl Cut {
    /// Blocks of `most` panels at most, each with some of the shared panels where blocks are few.
    pub(crate) fn new(panels: usize, most: usize, shared: usize, threads: usize) -> Self {
        let blocks = blocks(panels, most.max(1), threads);
        let wanted = (TASKS * threads).div_ceil(blocks.len().max(1));
        let fewest = if blocks.len() < threads { 1 } else { FEWEST_SHARED };
        let most_splits = if threads > 1 { (shared / fewest).max(1) } else { 1 };
        let mut tasks = Vec::new();
        for (n, block) in blocks.iter().enumerate() {
            let last = blocks.len() - n <= threads && block.len() == 1;
            let wanted = if last { wanted.max(LAST_SPLITS) } else { wanted };
            let splits = wanted.min(most_splits);
            let start = |part: usize| part * shared / splits;
            tasks.extend((0..splits).map(|part| (block.clone(), start(part)..start(part + 1))));
        }
        Self { tasks }
    }

    pub(crate) fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// A task's panels, and those shared ones that they meet.
    pub(crate) fn task(&self, task: usize) -> (Range<usize>, Range<usize>) {
        self.tasks[task].clone()
    }
}

/// Blocks of `most` panels at most: ever smaller ones, so that no thread is left with much to do when
/// there is nothing for the others.
fn blocks(panels: usize, most: usize, threads: usize) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < panels {
        let left = panels - start;
        let share = if threads > 1 { left / (SHARES * threads) } else { left };
        let end = start + share.clamp(1, most).min(left);
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

    #[test]
    fn the_last_panels_are_cut() {
        let shared = |threads| {
            let cut = Cut::new(11, 4, 64, threads);
            (0..cut.tasks()).map(|n| cut.task(n).1.len()).collect::<Vec<_>>()
        };
        assert_eq!(shared(1), [64; 3]);
        assert_eq!(shared(2)[..7], [64; 7]);
        assert_eq!(shared(2)[7..], [32; 4]);
    }
}
