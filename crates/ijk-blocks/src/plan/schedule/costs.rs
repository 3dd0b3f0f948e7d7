//! Bytes that a stage moves and holds on a grid of workers, as a function of the number of lines of blocks of a round.
//!
//! Estimates, for comparing grids and rounds: the lines that have a part of an operand in common count as if a round
//! began with the first of them.

use super::super::stage::{Kernel, Stage};
use super::grid::Grid;
use crate::domain::{Coordinates, StageAxis};

/// Sizes of a stage's output blocks and of the parts they are computed from.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    /// Number of blocks of the axes of rows and of columns.
    pub(super) grids: [Vec<usize>; 2],
    /// Bytes of a block of the output.
    pub(super) block: f64,
    pub(super) panels: f64,
    pub(super) operands: Vec<OperandCost>,
    /// Number of panels in memory at once.
    pub(super) window: f64,
    /// Most bytes in a process.
    pub(super) most: Option<u64>,
    /// Number of rows that suffice for a round, whatever fits, if all workers have work: parts of a folded axis share
    /// no operands.
    pub(super) rows: usize,
    /// Blocks of a round stay in memory until its end; otherwise each is finished at once.
    pub(super) stay: bool,
}

/// The parts of an operand.
#[derive(Clone, Debug)]
pub(super) struct OperandCost {
    /// Bytes of each.
    pub(super) bytes: f64,
    /// Bytes of memory that each takes.
    pub(super) held: f64,
    /// For each axis of rows and of columns, whether the operand depends on it.
    pub(super) has: [Vec<bool>; 2],
}

impl Costs {
    pub(super) fn new(
        stage: &Stage,
        axes: &[Vec<usize>; 2],
        window: u64,
        most: Option<u64>,
    ) -> Self {
        let size = |element: &crate::ElementType| element.number().map_or(64, |t| t.size()) as f64;
        let whole = |axis: &StageAxis| axis.range(0).len() as f64;
        let parts = |(number, operand): (usize, &super::super::Operand)| {
            let own = stage.axes.iter().enumerate().filter(|(axis, _)| operand.has(*axis));
            let bytes = own.map(|(_, axis)| whole(axis)).product::<f64>();
            let has = [0, 1]
                .map(|side| axes[side].iter().map(|&axis| stage.reads(number, axis)).collect());
            let bytes = bytes * size(&operand.expr.element());
            OperandCost { bytes, held: bytes, has }
        };
        let blocks =
            |side: usize| axes[side].iter().map(|&axis| stage.axes[axis].blocks()).collect();
        let block = stage.axes[..stage.kept()].iter().map(whole).product::<f64>();
        Self {
            grids: [0, 1].map(blocks),
            block: block * size(&stage.out.element),
            panels: stage.panels() as f64,
            operands: stage.operands.iter().enumerate().map(parts).collect(),
            window: window as f64,
            most,
            rows: if stage.split.is_some() { 1 } else { usize::MAX },
            stay: matches!(stage.kernel, Kernel::Contract(_)),
        }
    }

    /// Number of rows and columns of blocks.
    pub(super) fn lines(&self) -> [usize; 2] {
        [0, 1].map(|side| Coordinates::count(&self.grids[side]))
    }

    /// Blocks of the worker with most.
    pub(super) fn work(&self, grid: &Grid) -> usize {
        let most = |side: usize| self.lines()[side].div_ceil(grid.lines(side));
        most(0).saturating_mul(most(1))
    }

    /// Bytes that holders of lines receive, from stores and from each other, for rounds of that many lines.
    pub(super) fn moved(&self, holders: [usize; 2], tile: [usize; 2]) -> f64 {
        let lines = self.lines();
        let rounds = |side: usize| lines[side].div_ceil(tile[side].max(1)) as f64;
        let each = self.operands.iter().map(|parts| {
            let come = |side: usize| {
                let (has, grid) = (&parts.has[side], &self.grids[side]);
                distinct(has, grid, tile[side]) * sharers(has, grid, tile[side], holders[side])
            };
            parts.bytes * come(0) * come(1)
        });
        each.sum::<f64>() * self.panels * rounds(0) * rounds(1)
    }

    /// Bytes of a round of that many lines in a process.
    pub(super) fn bytes(&self, grid: &Grid, tile: [usize; 2]) -> f64 {
        let own = |side: usize| tile[side].div_ceil(grid.processes[side]) as f64;
        own(0) * own(1) * self.block + self.parts(grid, tile) * self.window
    }

    /// Bytes of the parts of a panel in a process.
    pub(super) fn parts(&self, grid: &Grid, tile: [usize; 2]) -> f64 {
        let own = |side: usize| tile[side].div_ceil(grid.processes[side]) as f64;
        let held = |parts: &OperandCost| {
            let come = |side: usize| {
                own(side).min(distinct(&parts.has[side], &self.grids[side], tile[side]))
            };
            parts.held * come(0) * come(1)
        };
        self.operands.iter().map(held).sum()
    }

    /// Returns true if a round of that many lines fits in the memory of a process.
    pub(super) fn fits(&self, grid: &Grid, tile: [usize; 2]) -> bool {
        self.stay && self.most.is_none_or(|most| self.bytes(grid, tile) <= most as f64)
    }

    /// The largest rectangle of lines that fits, in whole rounds of the grid; its sides are in the ratio that moves the
    /// fewest bytes.
    pub(super) fn tile(&self, grid: &Grid) -> [usize; 2] {
        let (lines, workers) = (self.lines(), [0, 1].map(|side| grid.lines(side)));
        let part = |operand: usize| self.operands.get(operand).map_or(0.0, |parts| parts.bytes);
        let mut tile = [0, 1].map(|side| workers[side].min(lines[side]));
        loop {
            let larger = [0, 1].map(|side| {
                let mut next = tile;
                next[side] = larger(tile[side], workers[side]).min(lines[side]);
                let is_enough = side == 0 && tile[side] >= self.rows;
                (tile[side] < lines[side] && !is_enough && self.fits(grid, next)).then_some(next)
            });
            let own = |side: usize| tile[side].div_ceil(grid.processes[side]) as f64;
            // Twice as many columns halve how often parts of the first operand come.
            let widens = part(0) * own(0) >= part(1) * own(1);
            tile = match larger {
                [None, None] => return tile.map(|lines| lines.max(1)),
                [_, Some(wider)] if widens => wider,
                [Some(taller), _] => taller,
                [None, Some(wider)] => wider,
            };
        }
    }
}

/// Number of parts of an operand in that many neighbouring lines.
fn distinct(has: &[bool], grid: &[usize], lines: usize) -> f64 {
    let own = strides(grid).zip(has).filter(|(_, has)| **has);
    let met = own.map(|((stride, blocks), _)| blocks.min(lines.div_ceil(stride)) as f64);
    met.product::<f64>().min(lines as f64)
}

/// Number of holders that need each part, where lines are dealt to `holders` in turn.
fn sharers(has: &[bool], grid: &[usize], lines: usize, holders: usize) -> f64 {
    let others = strides(grid).zip(has).filter(|(_, has)| !**has);
    let met = others.map(|((stride, blocks), _)| {
        let lines = blocks.min(lines.div_ceil(stride));
        lines.min(holders / gcd(stride, holders)) as f64
    });
    met.product::<f64>().min(holders as f64)
}

/// For each axis, how many lines its neighbouring blocks are apart, and how many blocks it has.
fn strides(grid: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    (0..grid.len()).map(|n| (Coordinates::count(&grid[n + 1..]).max(1), grid[n]))
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}

/// An eighth more, in multiples of the workers: growing takes few steps however many lines there are.
fn larger(lines: usize, workers: usize) -> usize {
    lines.saturating_add((lines / 8).max(1).saturating_add(workers - 1) / workers * workers)
}

#[cfg(test)]
mod tests {
    use super::super::tests::product;
    use super::*;

    const ONE: Grid = Grid { processes: [1, 1], workers: [2, 2] };

    #[test]
    fn rounds_hold_no_more_than_fits() {
        // Parts are nothing beside blocks.
        let held = |most: u64| {
            let mut costs = product([8, 9], [1e-3, 1e-3]);
            costs.most = Some(most);
            costs.tile(&ONE)
        };
        assert_eq!(held(u64::MAX), [8, 9]);
        assert_eq!(held(17), [4, 4]);
        assert_eq!(held(1), [2, 2]);
        let tall = Grid { processes: [1, 1], workers: [4, 1] };
        assert_eq!(product([1 << 60, 1], [1.0, 1.0]).tile(&tall), [1 << 60, 1]);
        assert_eq!(product([0, 8], [1.0, 1.0]).tile(&ONE), [1, 8]);
    }

    #[test]
    fn what_each_process_has_of_a_round_is_near_a_square() {
        let mut costs = product([64, 64], [1.0, 1.0]);
        costs.most = Some(70);
        assert_eq!(costs.tile(&Grid { processes: [1, 4], workers: [1, 1] }), [7, 28]);
        // Parts of the first operand are larger, and so come less often.
        let mut costs = product([64, 64], [4.0, 1.0]);
        costs.most = Some(100);
        let [rows, columns] = costs.tile(&ONE);
        assert!(columns > 2 * rows, "{rows} {columns}");
    }

    #[test]
    fn parts_come_to_all_who_need_them() {
        let costs = product([8, 6], [10.0, 1.0]);
        // 8 parts go to 3 columns of processes, 6 to 2 rows of them.
        assert_eq!(costs.moved([2, 3], [8, 6]), 8.0 * 3.0 * 10.0 + 6.0 * 2.0);
        // Two rounds of columns: parts of the first operand come twice.
        assert_eq!(costs.moved([2, 3], [8, 3]), 2.0 * 8.0 * 3.0 * 10.0 + 6.0 * 2.0);
        // Five batches of four rows, whose columns have parts in common.
        let rows = |has: [bool; 2], grid: [usize; 2], holders| {
            (distinct(&has, &grid, 20), sharers(&has, &grid, 20, holders))
        };
        assert_eq!(rows([true, true], [5, 4], 2), (20.0, 1.0));
        assert_eq!(rows([true, false], [5, 4], 2), (5.0, 2.0));
        assert_eq!(rows([true, false], [5, 4], 6), (5.0, 4.0));
        // Batches are dealt in turn: each has the same process for all of its rows.
        assert_eq!(rows([false, true], [4, 5], 5), (5.0, 1.0));
        assert_eq!(rows([false, true], [4, 5], 3), (5.0, 3.0));
    }
}
