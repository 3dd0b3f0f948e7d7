//! Schedule of a stage: the worker that computes each block, the order of blocks, and the parts that workers need.

mod choose;
mod costs;
mod grid;

use super::done::Done;
use super::stage::Stage;
use crate::domain::Coordinates;
use costs::Costs;
pub use grid::Grid;
pub(crate) use grid::Team;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// A stage for the workers of some processes, which form a [`Grid`].
///
/// Blocks of the output are in *lines*: in columns along the axes that only the second operand has, in rows along the
/// others. Rows are dealt to the rows of the grid, columns to its columns, so that a part of an operand goes to one row
/// of processes, or to one column of them, and there to one row or column of workers.
///
/// Time counts *rounds*, each of which computes a rectangle of blocks, as many as fit in memory at once, and in each of
/// them the panels, in ascending order.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub(super) team: Team,
    pub(super) grid: Grid,
    /// Bytes of a round in a process.
    bytes: f64,
    /// Bytes of the parts of a panel, and of a block of the output.
    pieces: [f64; 2],
    /// Axes of the output along which blocks are in different rows, and in different columns.
    pub(super) axes: [Vec<usize>; 2],
    /// Number of blocks of these axes.
    pub(super) grids: [Vec<usize>; 2],
    /// For each operand, the axes of the output that it depends on.
    pub(super) reads: Vec<Vec<usize>>,
    /// Number of rows and columns of a round.
    pub(super) tile: [usize; 2],
    panels: usize,
    done: Done,
    /// The rounds with work, if not all.
    left: Option<Vec<usize>>,
    /// Blocks and panels to compute, if not all.
    steps: Option<Arc<SparseRounds>>,
}

/// Rounds of some blocks and panels.
#[derive(Debug, Default)]
struct SparseRounds {
    rounds: Vec<SparseRound>,
    /// The time at which each round begins, and at which the last ends.
    starts: Vec<u64>,
}

/// A round of some blocks and panels.
#[derive(Debug, Default)]
struct SparseRound {
    blocks: Vec<Vec<usize>>,
    panels: Vec<usize>,
}

/// Work of a round: the blocks of each worker and the parts that they need.
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    /// For each worker, its blocks of the output.
    pub(crate) places: Vec<Vec<Place>>,
    /// Parts that are read for each panel.
    pub(crate) needs: Vec<Need>,
}

/// A block of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) at: Vec<usize>,
    /// For each operand, its number among the round's needs.
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
    /// Worker that reads the part for a panel.
    pub(crate) fn reader(&self, number: usize, panel: usize) -> usize {
        self.workers[(number + panel) % self.workers.len()]
    }
}

impl Schedule {
    /// The schedule that moves the fewest bytes among those that balance the work best, within `most` bytes in a
    /// process: blocks of the output, and the parts of `window` panels, which the workers of a process share.
    pub(crate) fn new(stage: &Stage, team: Team, window: u64, most: Option<u64>) -> Self {
        Self::with_parts(stage, team, window, most, &[])
    }

    /// The same with the bytes of the operands' parts given: less where they are in memory already, more where they are
    /// views of larger blocks.
    pub(crate) fn with_parts(
        stage: &Stage,
        team: Team,
        window: u64,
        most: Option<u64>,
        parts: &[u64],
    ) -> Self {
        let has = |operand: usize, axis: usize| stage.reads(operand, axis);
        let (columns, mut rows): (Vec<usize>, Vec<usize>) =
            (0..stage.kept()).partition(|&axis| has(1, axis) && !has(0, axis));
        // Parts of a folded axis come one after another: they have nothing in common.
        rows.sort_by_key(|&axis| stage.parts() != Some(axis));
        let axes = [rows, columns];
        let mut costs = Costs::new(stage, &axes, window, most);
        for (own, &bytes) in costs.operands.iter_mut().zip(parts) {
            own.held = bytes as f64;
        }
        let (grid, tile) = choose::choose(&costs, team);
        let own = |operand: usize| (0..stage.kept()).filter(|&axis| has(operand, axis)).collect();
        Self {
            team,
            grid,
            bytes: costs.bytes(&grid, tile),
            pieces: [costs.parts(&grid, tile), costs.block],
            axes,
            reads: (0..stage.operands.len()).map(own).collect(),
            grids: costs.grids,
            tile,
            panels: stage.panels(),
            done: Done::default(),
            left: None,
            steps: None,
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

    /// The same schedule for some blocks, less those that are done, and for the panels of each that `panels` lists.
    #[must_use]
    pub(crate) fn of(
        mut self,
        blocks: &[Vec<usize>],
        panels: impl Fn(&[usize]) -> Vec<usize>,
    ) -> Self {
        let mut rounds: BTreeMap<usize, (Vec<Vec<usize>>, BTreeSet<usize>)> = BTreeMap::new();
        for at in blocks.iter().filter(|at| !self.done.has(at)) {
            let (blocks, all) = rounds.entry(self.round_of(at)).or_default();
            blocks.push(at.clone());
            if all.len() < self.panels {
                all.extend(panels(at));
            }
        }
        let mut steps = SparseRounds { rounds: Vec::with_capacity(rounds.len()), starts: vec![0] };
        for (blocks, panels) in rounds.into_values() {
            let panels: Vec<usize> = panels.into_iter().collect();
            let start = steps.starts.last().copied().unwrap_or_default();
            steps.starts.push(start + panels.len() as u64);
            steps.rounds.push(SparseRound { blocks, panels });
        }
        self.steps = Some(Arc::new(steps));
        self
    }

    /// The number of the round in which a block is computed.
    fn round_of(&self, at: &[usize]) -> usize {
        let [row, column] = self.lines_of(at);
        let [_, across] = self.rounds();
        (row / self.tile[0]) * across.max(1) + column / self.tile[1]
    }

    /// The round of a time and its number within that.
    fn step(steps: &SparseRounds, time: u64) -> (&SparseRound, usize) {
        let number = steps.starts.partition_point(|&start| start <= time).saturating_sub(1);
        (&steps.rounds[number], (time - steps.starts[number]) as usize)
    }

    /// Number of times: each is a panel of a round, and there is at least one.
    pub(crate) fn times(&self) -> u64 {
        if let Some(steps) = &self.steps {
            return steps.starts.last().copied().unwrap_or_default();
        }
        let [rows, columns] = self.rounds().map(|n| n as u64);
        let rounds = self.left.as_ref().map_or(rows.saturating_mul(columns), |n| n.len() as u64);
        rounds.saturating_mul(self.panels.max(1) as u64)
    }

    /// Number of rounds along the rows and along the columns.
    fn rounds(&self) -> [usize; 2] {
        [0, 1].map(|side| Coordinates::count(&self.grids[side]).div_ceil(self.tile[side]))
    }

    /// The panel of a time; none where nothing is folded.
    pub(crate) fn panel(&self, time: u64) -> Option<usize> {
        if let Some(steps) = &self.steps {
            let (step, number) = Self::step(steps, time);
            return Some(step.panels[number]);
        }
        let panel = (time % self.panels.max(1) as u64) as usize;
        (self.panels > 0).then_some(panel)
    }

    /// Returns (is the first of a round, is the last of a round).
    pub(crate) fn ends(&self, time: u64) -> (bool, bool) {
        if let Some(steps) = &self.steps {
            let (step, number) = Self::step(steps, time);
            return (number == 0, number + 1 == step.panels.len());
        }
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
        if let Some(steps) = &self.steps {
            return self.round_with(Self::step(steps, time).0.blocks.iter().cloned());
        }
        let number = (time / self.panels.max(1) as u64) as usize;
        let number = self.left.as_ref().map_or(number, |left| left[number]);
        let [rows, columns] = self.lines(number);
        let lines = rows.flat_map(|row| columns.clone().map(move |column| [row, column]));
        self.round_with(lines.map(|lines| self.at(lines)).filter(|at| !self.done.has(at)))
    }

    /// The round of some blocks.
    fn round_with(&self, blocks: impl Iterator<Item = Vec<usize>>) -> Round {
        let mut round = Round { places: vec![Vec::new(); self.team.all()], needs: Vec::new() };
        let mut known: HashMap<(usize, Vec<usize>), usize> = HashMap::new();
        for at in blocks {
            let worker = self.owner(&at);
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

    /// Workers that receive a part for a panel, one in each process but `but`: the workers of a process that need it
    /// take turns.
    pub(crate) fn receivers(&self, need: &Need, but: usize, turn: usize) -> Vec<usize> {
        let mut workers = need.workers.clone();
        workers.sort_unstable();
        let by_process = workers.chunk_by(|&l, &r| self.process(l) == self.process(r));
        let others = by_process.filter(|here| self.process(here[0]) != but);
        others.map(|here| here[turn % here.len()]).collect()
    }

    /// The worker that computes a block.
    pub(crate) fn owner(&self, at: &[usize]) -> usize {
        self.worker(self.lines_of(at))
    }

    /// The row and the column of a block.
    fn lines_of(&self, at: &[usize]) -> [usize; 2] {
        let line = |axes: &[usize], grid: &[usize]| {
            axes.iter().zip(grid).fold(0, |line, (&axis, &blocks)| line * blocks + at[axis])
        };
        [0, 1].map(|n| line(&self.axes[n], &self.grids[n]))
    }

    /// Bytes of blocks and parts that are in a process at a time.
    pub(crate) fn bytes(&self) -> f64 {
        self.bytes
    }

    /// Bytes of the parts of a panel in a process, and of a block of the output.
    pub(crate) fn pieces(&self) -> [f64; 2] {
        self.pieces
    }

    /// Number of workers of each process.
    pub(crate) fn workers(&self) -> usize {
        self.team.workers
    }

    /// The process of a worker.
    pub(crate) fn process(&self, worker: usize) -> usize {
        worker / self.team.workers.max(1)
    }

    /// The worker to whom a row and a column are dealt.
    fn worker(&self, lines: [usize; 2]) -> usize {
        self.grid.worker([0, 1].map(|side| self.grid.line(side, lines[side])), self.team.workers)
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

#[cfg(test)]
mod tests {
    use super::costs::OperandCost;
    use super::*;
    use crate::{BigTensor, BlockPlan};
    use ijk_types::DType;
    use std::collections::HashSet;

    /// The costs of a matrix product of `rows` by `columns` blocks, with parts of these sizes.
    pub(super) fn product(lines: [usize; 2], parts: [f64; 2]) -> Costs {
        let part = |n: usize| OperandCost {
            bytes: parts[n],
            held: parts[n],
            has: [vec![n == 0], vec![n == 1]],
        };
        Costs {
            grids: lines.map(|lines| vec![lines]),
            block: 1.0,
            panels: 1.0,
            operands: vec![part(0), part(1)],
            window: 1.0,
            most: None,
            rows: usize::MAX,
            stay: true,
        }
    }

    fn schedule(dims: [usize; 3], team: Team, most: Option<u64>) -> (Stage, Schedule) {
        let zeros = |rows, columns| {
            BigTensor::zeros(DType::F64, [rows, columns], [Some(2), Some(2)]).unwrap()
        };
        let product = zeros(dims[0], dims[1]).matmul(&zeros(dims[1], dims[2])).unwrap();
        let stage = BlockPlan::new(&product).stages.pop().unwrap();
        let schedule = Schedule::new(&stage, team, 1, most);
        (stage, schedule)
    }

    #[test]
    fn every_block_is_computed_once_and_everybody_has_what_it_needs() {
        for (dims, processes, workers, most) in [
            ([10, 6, 8], 1, 1, None),
            ([10, 6, 8], 1, 4, None),
            ([10, 6, 8], 2, 2, None),
            ([10, 7, 9], 1, 6, Some(200)),
            ([10, 7, 9], 3, 2, Some(100)),
            ([18, 7, 19], 5, 4, Some(100)),
            ([2, 20, 2], 1, 4, None),
            ([9, 3, 2], 1, 3, Some(1)),
        ] {
            let (stage, schedule) = schedule(dims, Team { processes, workers }, most);
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
        let (stage, schedule) = schedule([10, 6, 8], Team::alone(2), Some(100));
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
    fn absurd_numbers_of_blocks_are_counted() {
        let side = 1 << 50;
        let zeros = BigTensor::zeros(DType::F64, [side, side], [Some(1), Some(1)]).unwrap();
        let stage = BlockPlan::new(&zeros.matmul(&zeros).unwrap()).stages.pop().unwrap();
        let schedule = Schedule::new(&stage, Team::alone(4), 2, Some(1 << 20));
        assert_eq!((stage.blocks(), schedule.times()), (usize::MAX, u64::MAX));
        assert_eq!(schedule.round(0).places.len(), 4);
        let many = Schedule::new(&stage, Team { processes: 1000, workers: 8 }, 2, Some(1 << 20));
        assert_eq!(many.times(), u64::MAX);
    }

    #[test]
    fn a_process_has_its_share_of_rows_and_columns() {
        let (_, schedule) = schedule([32, 4, 32], Team { processes: 4, workers: 4 }, None);
        let round = schedule.round(0);
        for process in 0..4 {
            let own = |places: &&Vec<Place>| places.len() == 16;
            let workers = &round.places[4 * process..4 * (process + 1)];
            assert_eq!(workers.iter().filter(own).count(), 4, "all workers have as much to do");
            let needs = round.needs.iter();
            let here = |need: &&Need| need.workers.iter().any(|&w| schedule.process(w) == process);
            assert_eq!(needs.filter(here).count(), 8 + 8, "half of the rows and of the columns");
        }
    }
}
