//! Which worker computes which blocks of a stage, in which order, and who needs what for that.

use super::done::Done;
use super::stage::{Coordinates, Kernel, Stage, StageAxis};
use std::collections::HashMap;
use std::ops::Range;

/// A stage for a number of workers, which form a grid.
///
/// Blocks of the output are in *lines*: in columns along the axes that only the second operand has, in rows
/// along the others. Rows are dealt to the rows of the grid of workers, columns to its columns, so that a part
/// of an operand goes to one row of the workers, or to one column of them.
///
/// Time goes through *rounds*, each of which computes a rectangle of blocks, as many as fit in memory at once,
/// and through the panels in each of them, in ascending order.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// Rows and columns of the workers' grid.
    pub(super) workers: (usize, usize),
    /// Axes of the output along which blocks are in different rows, and in different columns.
    pub(super) axes: [Vec<usize>; 2],
    /// How many blocks these axes have.
    pub(super) grids: [Vec<usize>; 2],
    /// For each operand, the axes of the output that it depends on.
    pub(super) reads: Vec<Vec<usize>>,
    /// How many rows and columns a round has.
    pub(super) tile: [usize; 2],
    panels: usize,
    done: Done,
    /// The rounds in which something is to be computed, if not all.
    left: Option<Vec<usize>>,
}

/// What is computed in a round, by whom, and of what.
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    /// For each worker, its blocks of the output.
    pub(crate) places: Vec<Vec<Place>>,
    /// What is read for each panel.
    pub(crate) needs: Vec<Need>,
}

/// A block of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) at: Vec<usize>,
    /// For each operand, which of the round's needs it is made of.
    pub(crate) needs: Vec<usize>,
}

/// A part of an operand that some workers need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) operand: usize,
    /// A block of the output for which it is needed.
    pub(crate) at: Vec<usize>,
    /// The workers, in the order in which they take turns at reading it.
    pub(crate) workers: Vec<usize>,
}

impl Need {
    /// Who reads it for a panel.
    pub(crate) fn reader(&self, number: usize, panel: usize) -> usize {
        self.workers[(number + panel) % self.workers.len()]
    }
}

impl Schedule {
    /// The schedule that moves the fewest bytes among those that divide the work best, where so many bytes may
    /// be there at once: blocks of the output, and the parts of `window` panels, which the workers of a
    /// process share.
    pub(crate) fn new(stage: &Stage, workers: usize, window: u64, most: Option<u64>) -> Self {
        Self::among(stage, (workers, 1), window, most)
    }

    /// The same for workers of several processes, which have as many bytes together: each worker has its own
    /// copy of the parts that it needs.
    pub(crate) fn among(
        stage: &Stage,
        (workers, processes): (usize, usize),
        window: u64,
        most: Option<u64>,
    ) -> Self {
        let has = |operand: usize, axis: usize| {
            stage.operands.get(operand).is_some_and(|operand| operand.has(axis))
        };
        let (columns, rows): (Vec<usize>, Vec<usize>) =
            (0..stage.kept()).partition(|&axis| has(1, axis) && !has(0, axis));
        let grid =
            |axes: &[usize]| axes.iter().map(|&n| stage.axes[n].blocks()).collect::<Vec<_>>();
        let grids = [grid(&rows), grid(&columns)];
        let lines = [Coordinates::count(&grids[0]), Coordinates::count(&grids[1])];
        let workers = shape(workers, lines, weights(stage));
        let [block, left, right] = bytes(stage);
        let copies = if processes > 1 { workers } else { (1, 1) };
        let (left, right) = (left * copies.1 as f64, right * copies.0 as f64);
        let fits = |rows: usize, columns: usize| {
            let (rows, columns) = (rows as f64, columns as f64);
            let parts = (rows * left + columns * right) * window as f64;
            match stage.kernel {
                // Each block is finished at once.
                Kernel::Copy | Kernel::Map(_) => false,
                Kernel::Contract(_) => {
                    most.is_none_or(|most| rows * columns * block + parts <= most as f64)
                }
            }
        };
        let operands = 0..stage.operands.len();
        let own = |operand: usize| (0..stage.kept()).filter(|&axis| has(operand, axis)).collect();
        let (tile, reads) = (tile(lines, workers, fits), operands.map(own).collect());
        Self {
            workers,
            axes: [rows, columns],
            grids,
            reads,
            tile,
            panels: stage.panels(),
            done: Done::default(),
            left: None,
        }
    }

    /// The same schedule for the blocks that are not done.
    #[must_use]
    pub(crate) fn without(mut self, done: &Done) -> Self {
        if done.is_empty() {
            return self;
        }
        let [rows, columns] = self.rounds();
        let is_left = |number: &usize| {
            let [rows, columns] = self.lines(*number);
            let mut lines = rows.flat_map(|row| columns.clone().map(move |column| [row, column]));
            lines.any(|lines| !done.has(&self.at(lines)))
        };
        self.left = Some((0..rows.saturating_mul(columns)).filter(is_left).collect());
        self.done = done.clone();
        self
    }

    /// How many times there are: each is a panel of a round, one at least.
    pub(crate) fn times(&self) -> u64 {
        let [rows, columns] = self.rounds().map(|n| n as u64);
        let rounds = self.left.as_ref().map_or(rows.saturating_mul(columns), |n| n.len() as u64);
        rounds.saturating_mul(self.panels.max(1) as u64)
    }

    /// How many rounds there are from row to row, and from column to column.
    fn rounds(&self) -> [usize; 2] {
        [0, 1].map(|side| Coordinates::count(&self.grids[side]).div_ceil(self.tile[side]))
    }

    /// The panel of a time; none where nothing is folded.
    pub(crate) fn panel(&self, time: u64) -> Option<usize> {
        let panel = (time % self.panels.max(1) as u64) as usize;
        (self.panels > 0).then_some(panel)
    }

    /// Whether a round begins at a time, and whether it ends there.
    pub(crate) fn ends(&self, time: u64) -> (bool, bool) {
        let panels = self.panels.max(1) as u64;
        (time.is_multiple_of(panels), (time + 1).is_multiple_of(panels))
    }

    /// The rows and columns of a round.
    fn lines(&self, number: usize) -> [Range<usize>; 2] {
        let across = self.rounds()[1].max(1);
        [(0, number / across), (1, number % across)].map(|(side, n)| {
            let (lines, tile) = (Coordinates::count(&self.grids[side]), self.tile[side]);
            (n * tile).min(lines)..(n * tile).saturating_add(tile).min(lines)
        })
    }

    /// The round of a time.
    pub(crate) fn round(&self, time: u64) -> Round {
        let number = (time / self.panels.max(1) as u64) as usize;
        let number = self.left.as_ref().map_or(number, |left| left[number]);
        let [rows, columns] = self.lines(number);
        let workers = self.workers.0 * self.workers.1;
        let mut round = Round { places: vec![Vec::new(); workers], needs: Vec::new() };
        let mut known: HashMap<(usize, Vec<usize>), usize> = HashMap::new();
        for lines in rows.clone().flat_map(|row| columns.clone().map(move |column| [row, column])) {
            let worker = self.worker(lines);
            let at = self.at(lines);
            if self.done.has(&at) {
                continue;
            }
            let needs = self.reads.iter().enumerate().map(|(operand, axes)| {
                let key = axes.iter().map(|&axis| at[axis]).collect();
                let number = *known.entry((operand, key)).or_insert_with(|| {
                    round.needs.push(Need { operand, at: at.clone(), workers: Vec::new() });
                    round.needs.len() - 1
                });
                let workers = &mut round.needs[number].workers;
                if !workers.contains(&worker) {
                    workers.push(worker);
                }
                number
            });
            let needs = needs.collect();
            round.places[worker].push(Place { at, needs });
        }
        round
    }

    /// The worker that computes a block.
    pub(crate) fn owner(&self, at: &[usize]) -> usize {
        let line = |axes: &[usize], grid: &[usize]| {
            axes.iter().zip(grid).fold(0, |line, (&axis, &blocks)| line * blocks + at[axis])
        };
        let [row, column] = [0, 1].map(|n| line(&self.axes[n], &self.grids[n]));
        self.worker([row, column])
    }

    /// The worker whose row and column these lines are dealt to.
    fn worker(&self, lines: [usize; 2]) -> usize {
        lines[0] % self.workers.0 * self.workers.1 + lines[1] % self.workers.1
    }

    /// The block in a row and a column.
    fn at(&self, lines: [usize; 2]) -> Vec<usize> {
        let mut at = vec![0; self.axes[0].len() + self.axes[1].len()];
        for ((axes, grid), line) in self.axes.iter().zip(&self.grids).zip(lines) {
            let places = Coordinates::of(grid, line);
            axes.iter().zip(places).for_each(|(&axis, place)| at[axis] = place);
        }
        at
    }
}

/// Bytes of a block of a stage's output, and of the parts of its first two operands that it is made of in one
/// panel.
fn bytes(stage: &Stage) -> [f64; 3] {
    let size = |element: &crate::ElementType| element.number().map_or(64, |t| t.size()) as f64;
    let whole = |axis: &StageAxis| axis.range(0).len() as f64;
    let block = stage.axes[..stage.kept()].iter().map(whole).product::<f64>();
    let part = |operand: usize| {
        let Some(operand) = stage.operands.get(operand) else { return 0.0 };
        let axes = stage.axes.iter().enumerate().filter(|(n, _)| operand.has(*n));
        axes.map(|(_, axis)| whole(axis)).product::<f64>() * size(&operand.expr.element())
    };
    [block * size(&stage.out.element), part(0), part(1)]
}

/// Bytes that a panel of each operand has in all lines.
fn weights(stage: &Stage) -> [f64; 2] {
    [0, 1].map(|operand| {
        let Some(operand) = stage.operands.get(operand) else { return 0.0 };
        let size = operand.expr.element().number().map_or(64, |dtype| dtype.size());
        let axes = stage.axes.iter().enumerate().filter(|(axis, _)| operand.has(*axis));
        axes.map(|(_, axis)| axis.extent as f64).product::<f64>() * size as f64
    })
}

/// The grid of workers: the least work for the one that has most, then the fewest bytes.
fn shape(workers: usize, lines: [usize; 2], weights: [f64; 2]) -> (usize, usize) {
    let divisors = (1..=workers.max(1)).filter(|rows| workers.max(1).is_multiple_of(*rows));
    let shapes = divisors.map(|rows| (rows, workers.max(1) / rows));
    let cost = |&(rows, columns): &(usize, usize)| {
        let most = lines[0].div_ceil(rows).saturating_mul(lines[1].div_ceil(columns));
        // Each part of the first operand goes to a row of workers, one of whom has it already.
        let moved = weights[0] * (columns - 1) as f64 + weights[1] * (rows - 1) as f64;
        (most, moved)
    };
    let best = shapes.min_by(|l, r| {
        let ((l_most, l_moved), (r_most, r_moved)) = (cost(l), cost(r));
        l_most.cmp(&r_most).then(l_moved.total_cmp(&r_moved))
    });
    best.unwrap_or((1, 1))
}

/// The largest rectangle of blocks that fits, in whole rounds of the workers' shape: squares move the fewest
/// bytes.
fn tile(
    lines: [usize; 2],
    workers: (usize, usize),
    fits: impl Fn(usize, usize) -> bool,
) -> [usize; 2] {
    let [mut rows, mut columns] = [workers.0.min(lines[0]), workers.1.min(lines[1])];
    loop {
        let wider = larger(columns, workers.1).min(lines[1]);
        let taller = larger(rows, workers.0).min(lines[0]);
        let widens = columns < lines[1] && fits(rows, wider);
        let grows = rows < lines[0] && fits(taller, columns);
        match (widens, grows) {
            (true, false) => columns = wider,
            (true, true) if columns <= rows => columns = wider,
            (_, true) => rows = taller,
            (false, false) => return [rows.max(1), columns.max(1)],
        }
    }
}

/// An eighth more, in multiples of the workers: growing takes few steps however many lines there are.
fn larger(lines: usize, workers: usize) -> usize {
    lines.saturating_add((lines / 8).max(1).saturating_add(workers - 1) / workers * workers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BigTensor, BlockPlan};
    use ijk_types::DType;
    use std::collections::HashSet;

    fn schedule(dims: [usize; 3], workers: usize, most: Option<u64>) -> (Stage, Schedule) {
        let zeros = |rows, columns| {
            BigTensor::zeros(DType::F64, [rows, columns], [Some(2), Some(2)]).unwrap()
        };
        let product = zeros(dims[0], dims[1]).matmul(&zeros(dims[1], dims[2])).unwrap();
        let stage = BlockPlan::new(&product).stages.pop().unwrap();
        let schedule = Schedule::new(&stage, workers, 1, most);
        (stage, schedule)
    }

    #[test]
    fn every_block_is_computed_once_and_everybody_has_what_it_needs() {
        for (dims, workers, most) in [
            ([10, 6, 8], 1, None),
            ([10, 6, 8], 4, None),
            ([10, 7, 9], 6, Some(200)),
            ([2, 20, 2], 4, None),
            ([9, 3, 2], 3, Some(1)),
        ] {
            let (stage, schedule) = schedule(dims, workers, most);
            let mut computed: HashMap<Vec<usize>, usize> = HashMap::new();
            for time in 0..schedule.times() {
                let round = schedule.round(time);
                let mut needed = HashSet::new();
                for (worker, places) in round.places.iter().enumerate() {
                    for place in places {
                        assert_eq!(schedule.owner(&place.at), worker);
                        needed.extend(place.needs.iter().map(|&need| (worker, need)));
                        *computed.entry(place.at.clone()).or_default() += 1;
                        for (operand, &need) in place.needs.iter().enumerate() {
                            let need = &round.needs[need];
                            let axis = if operand == 0 { 0 } else { 1 };
                            assert_eq!((need.operand, need.at[axis]), (operand, place.at[axis]));
                        }
                    }
                }
                let sent = round.needs.iter().enumerate();
                let sent = sent.flat_map(|(n, need)| need.workers.iter().map(move |&w| (w, n)));
                assert_eq!(sent.collect::<HashSet<_>>(), needed, "{dims:?} {workers} {time}");
            }
            assert_eq!(computed.len(), stage.blocks());
            assert!(computed.values().all(|&panels| panels == stage.panels()));
        }
    }

    #[test]
    fn what_is_done_is_not_computed_again() {
        let (stage, schedule) = schedule([10, 6, 8], 2, Some(100));
        assert!(schedule.times() > stage.panels() as u64, "several rounds");
        let done: Done = (0..5).flat_map(|i| [vec![i, 0], vec![i, 2]]).collect();
        let left = schedule.clone().without(&done);
        let places = |schedule: &Schedule| -> HashSet<Vec<usize>> {
            let rounds = (0..schedule.times()).map(|time| schedule.round(time));
            rounds
                .flat_map(|round| round.places.into_iter().flatten())
                .map(|place| place.at)
                .collect()
        };
        let all = places(&schedule);
        assert_eq!(places(&left), all.into_iter().filter(|at| !done.has(at)).collect());
        let one = schedule.clone().without(&[vec![4, 3]].into_iter().collect());
        assert_eq!(one.times(), schedule.times());
        let all = (0..20).map(|n| vec![n / 4, n % 4]).collect();
        assert_eq!(schedule.without(&all).times(), 0);
    }

    #[test]
    fn grids_balance_work_then_bytes() {
        assert_eq!(shape(4, [8, 8], [1.0, 1.0]), (2, 2));
        assert_eq!(shape(4, [1, 8], [1.0, 1.0]), (1, 4));
        assert_eq!(shape(2, [8, 8], [1.0, 9.0]), (1, 2));
        assert_eq!(shape(2, [8, 8], [9.0, 1.0]), (2, 1));
        assert_eq!(shape(3, [2, 2], [1.0, 1.0]), (1, 3));
    }

    #[test]
    fn rounds_hold_no_more_than_fits() {
        let held = |most: usize| tile([8, 9], (2, 2), |rows, columns| rows * columns <= most);
        assert_eq!(held(usize::MAX), [8, 9]);
        assert_eq!(held(16), [4, 4]);
        assert_eq!(held(1), [2, 2]);
        assert_eq!(tile([1 << 60, 1], (4, 1), |_, _| true), [1 << 60, 1]);
        assert_eq!(tile([0, 8], (2, 2), |_, _| true), [1, 8]);
    }

    #[test]
    fn absurd_numbers_of_blocks_are_counted() {
        let side = 1 << 50;
        let zeros = BigTensor::zeros(DType::F64, [side, side], [Some(1), Some(1)]).unwrap();
        let stage = BlockPlan::new(&zeros.matmul(&zeros).unwrap()).stages.pop().unwrap();
        let schedule = Schedule::new(&stage, 4, 2, Some(1 << 20));
        assert_eq!((stage.blocks(), schedule.times()), (usize::MAX, u64::MAX));
        assert_eq!(schedule.round(0).places.len(), 4);
    }
}
