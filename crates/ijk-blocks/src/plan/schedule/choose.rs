//! The grid of workers of a stage.

use super::costs::Costs;
use super::grid::{Grid, Team};
use std::cmp::Ordering;

/// Grids whose greatest share of work exceeds the best by at most this fraction are compared by the bytes that they
/// move.
const SLACK: usize = 16;

/// Order of grids, by cost.
struct Rank {
    grid: Grid,
    tile: [usize; 2],
    /// Bytes that come to processes.
    moved: f64,
    work: usize,
    /// Processes that compute nothing.
    idle: usize,
    /// Bytes that come to workers.
    shared: f64,
}

/// The grid, and how many rows and columns of blocks a round has: of the grids that balance work, the one that
/// moves the fewest bytes into processes, then into workers.
pub(super) fn choose(costs: &Costs, team: Team) -> (Grid, [usize; 2]) {
    let all: Vec<Grid> = grids(costs.lines(), team).collect();
    let least = all.iter().map(|grid| costs.work(grid)).min().unwrap_or_default();
    let enough = least.saturating_add(least / SLACK);
    let ranks = all.into_iter().filter(|grid| costs.work(grid) <= enough).map(|grid| {
        let tile = costs.tile(&grid);
        let [rows, columns] = grid.processes;
        let idle = team.processes - rows * columns;
        let moved = costs.moved(grid.processes, tile);
        let shared = costs.moved([0, 1].map(|side| grid.lines(side)), tile);
        Rank { grid, tile, moved, work: costs.work(&grid), idle, shared }
    });
    let best = ranks.min_by(Rank::cmp);
    let one = Grid { processes: [1, 1], workers: [1, 1] };
    best.map_or_else(|| (one, costs.tile(&one)), |best| (best.grid, best.tile))
}

impl Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        let moved = self.moved.total_cmp(&other.moved);
        let work = self.work.cmp(&other.work).then(self.idle.cmp(&other.idle));
        moved.then(work).then(self.shared.total_cmp(&other.shared))
    }
}

/// All grids that fit in the number of workers, and are minimal: with fewer workers, the greatest share would grow.
fn grids(lines: [usize; 2], team: Team) -> impl Iterator<Item = Grid> {
    let tall = shares(lines[0], team.processes).flat_map(move |processes| {
        let own = lines[0].div_ceil(processes);
        shares(own, team.workers).map(move |workers| (processes, workers))
    });
    tall.map(move |(processes, workers)| {
        let wide = fewest(lines[1], team.processes / processes);
        let own = lines[1].div_ceil(wide);
        let columns = fewest(own, team.workers / workers);
        Grid { processes: [processes, wide], workers: [workers, columns] }
    })
}

/// Numbers of shares, at most `most`, into which lines are dealt: of those with equal greatest shares the least only.
fn shares(lines: usize, most: usize) -> impl Iterator<Item = usize> {
    let more = move |&shares: &usize| {
        let next = lines.div_ceil(lines.div_ceil(shares).checked_sub(1).filter(|&n| n > 0)?);
        (next <= most).then_some(next)
    };
    std::iter::successors(Some(1), more)
}

/// The least number of shares that makes the greatest one no greater than with `most` of them.
fn fewest(lines: usize, most: usize) -> usize {
    let lines = lines.max(1);
    lines.div_ceil(lines.div_ceil(most.max(1)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::product;
    use super::*;

    fn shape(team: (usize, usize), lines: [usize; 2], parts: [f64; 2]) -> [[usize; 2]; 2] {
        let team = Team { processes: team.0, workers: team.1 };
        let (grid, _) = choose(&product(lines, parts), team);
        [grid.processes, grid.workers]
    }

    #[test]
    fn grids_of_workers_balance_work_then_bytes() {
        let one = |workers, lines, parts| shape((1, workers), lines, parts)[1];
        assert_eq!(one(4, [8, 8], [1.0, 1.0]), [2, 2]);
        assert_eq!(one(4, [1, 8], [1.0, 1.0]), [1, 4]);
        assert_eq!(one(2, [8, 8], [1.0, 9.0]), [1, 2]);
        assert_eq!(one(2, [8, 8], [9.0, 1.0]), [2, 1]);
        // Two in a row are as fast as three, and six as seven.
        assert_eq!(one(3, [2, 2], [1.0, 1.5]), [1, 2]);
        assert_eq!(one(7, [8, 9], [1.0, 1.0]), [2, 3]);
        assert_eq!(one(4, [0, 8], [1.0, 1.0]), [1, 4]);
    }

    #[test]
    fn grids_of_processes_move_the_fewest_bytes() {
        assert_eq!(shape((4, 4), [16, 16], [1.0, 1.0]), [[2, 2], [2, 2]]);
        assert_eq!(shape((2, 8), [16, 16], [1.0, 1.0]), [[1, 2], [4, 2]]);
        assert_eq!(shape((2, 8), [16, 16], [9.0, 1.0])[0], [2, 1]);
        // Strips would be balanced better, but hardly so.
        assert_eq!(shape((1000, 1), [245, 245], [1.0, 1.0])[0], [31, 31]);
        assert_eq!(shape((1000, 8), [245, 245], [1.0, 1.0])[0], [31, 31]);
        // A grid that moves less does not win by much more work.
        assert_eq!(shape((3, 2), [12, 12], [1.0, 1.0])[0], [1, 3]);
        assert_eq!(shape((7, 1), [100, 100], [1.0, 1.0])[0], [1, 7]);
    }

    #[test]
    fn shares_are_all_that_differ() {
        let all = |lines, most| shares(lines, most).collect::<Vec<_>>();
        assert_eq!(all(10, 10), [1, 2, 3, 4, 5, 10]);
        assert_eq!(all(10, 4), [1, 2, 3, 4]);
        assert_eq!((all(0, 4), all(1, 4)), (vec![1], vec![1]));
        assert_eq!(
            [(10, 9), (10, 3), (0, 5), (3, 0)].map(|(n, most)| fewest(n, most)),
            [5, 3, 1, 1]
        );
    }
}
