//! Bytes moved and operations computed in the rounds of a stage.

use super::super::expr::Expr;
use super::super::schedule::{Grid, Schedule};
use super::super::stage::{Kernel, Operand, Stage};
use super::Machines;
use super::lines::{self, Ends, NeedGroup, Needs};
use crate::Error;
use crate::aggregation::Kind;
use crate::formula::{Formula, FormulaNode};

/// Work and traffic of a stage for each machine, and its time.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    pub(super) grid: Option<Grid>,
    pub(super) rounds: u64,
    pub(super) moved: Vec<f64>,
    pub(super) exchanged: f64,
    pub(super) read: Vec<f64>,
    pub(super) written: Vec<f64>,
    pub(super) memory: Vec<f64>,
    pub(super) operations: f64,
    pub(super) compute_seconds: f64,
    pub(super) network_seconds: f64,
    pub(super) disk_seconds: f64,
    pub(super) seconds: f64,
}

/// A panel of a round: operations of each worker, bytes of each machine.
struct PanelCost {
    operations: Vec<f64>,
    moved: Vec<f64>,
    read: Vec<f64>,
    /// Bytes of parts in memory at a time.
    held: Vec<f64>,
    exchanged: f64,
}

struct Model<'a> {
    stage: &'a Stage,
    schedule: &'a Schedule,
    machines: &'a Machines,
    /// Number of panels in flight.
    window: u64,
    /// Bytes that each machine holds throughout the stage.
    held: &'a [f64],
    /// Returns true if an array is on the machines, and in no store.
    local: &'a dyn Fn(usize) -> bool,
}

impl Traffic {
    pub(super) fn new(
        stage: &Stage,
        schedule: &Schedule,
        machines: &Machines,
        window: u64,
        held: &[f64],
        local: &dyn Fn(usize) -> bool,
    ) -> Result<Self, Error> {
        let model = Model { stage, schedule, machines, window, held, local };
        let zeros = model.zeros();
        let mut all = Self {
            grid: (schedule.team.all() > 1).then_some(schedule.grid),
            moved: zeros.clone(),
            read: zeros.clone(),
            written: zeros,
            memory: held.to_vec(),
            ..Self::default()
        };
        let panels = lines::panels(stage);
        let sides = [0, 1].map(|side| lines::rounds(stage, schedule, side));
        let [all_rows, all_columns] = sides;
        let (all_rows, all_columns) = (all_rows?, all_columns?);
        for (rows, row_rounds) in &all_rows {
            for (columns, column_rounds) in &all_columns {
                let rounds = row_rounds.saturating_mul(*column_rounds);
                all.round(&model, [rows, columns], rounds, &panels);
            }
        }
        Ok(all)
    }

    /// Adds equal rounds.
    fn round(&mut self, model: &Model, sides: [&Needs; 2], rounds: u64, panels: &[(Ends, u64)]) {
        let Model { window, held, .. } = *model;
        let first = self.rounds == 0;
        self.rounds = self.rounds.saturating_add(rounds);
        let times = rounds as f64;
        let written = model.written(sides);
        let mut parts = vec![0.0; held.len()];
        let mut finish = most(&written) / model.machines.disk;
        self.disk_seconds += finish * times;
        for (n, &(ends, count)) in panels.iter().enumerate() {
            let (step, count) = (model.step(sides, ends), count as f64);
            let compute = most(&step.operations) / model.machines.operations;
            let network = most(&step.moved) / model.machines.network;
            let disk = most(&step.read) / model.machines.disk;
            let wait = network.max(disk);
            self.seconds += compute.max(wait) * count * times;
            if first && n == 0 {
                // The first panel is waited for, and the last one is computed after all traffic.
                self.seconds += compute.min(wait);
            }
            if n + 1 == panels.len() {
                // Workers write the blocks that they computed, while the next round's first panel is read.
                self.seconds += ((compute + finish).max(wait) - compute.max(wait)) * times;
                finish = 0.0;
            }
            self.compute_seconds += compute * count * times;
            self.network_seconds += network * count * times;
            self.disk_seconds += disk * count * times;
            self.operations += step.operations.iter().sum::<f64>() * count * times;
            self.exchanged += step.exchanged * count * times;
            add(&mut self.moved, &step.moved, count * times);
            add(&mut self.read, &step.read, count * times);
            let window = window.min(self.rounds.saturating_mul(count as u64)) as f64;
            let here = parts.iter_mut().zip(&step.held);
            here.for_each(|(most, held)| *most = f64::max(*most, held * window));
        }
        self.seconds += finish * times;
        add(&mut self.written, &written, times);
        let now =
            held.iter().zip(&written).zip(&parts).map(|((held, own), parts)| held + own + parts);
        self.memory.iter_mut().zip(now).for_each(|(most, now)| *most = most.max(now));
    }
}

fn most(all: &[f64]) -> f64 {
    all.iter().copied().fold(0.0, f64::max)
}

fn add(to: &mut [f64], more: &[f64], times: f64) {
    to.iter_mut().zip(more).for_each(|(to, more)| *to += more * times);
}

impl Model<'_> {
    fn zeros(&self) -> Vec<f64> {
        vec![0.0; self.schedule.team.processes]
    }

    fn machine(&self, worker: usize) -> usize {
        self.schedule.process(worker)
    }

    /// Bytes of the blocks of a round on each machine.
    fn written(&self, sides: [&Needs; 2]) -> Vec<f64> {
        let mut written = self.zeros();
        let size = bytes(&self.stage.out.element);
        let output = self.stage.operands.len();
        self.pairs(sides, output, |workers, ends, count| {
            let block = self.points(0..self.stage.kept(), ends) * size;
            for worker in workers {
                written[self.machine(worker)] += block * count;
            }
        });
        written
    }

    /// One panel of a round.
    fn step(&self, sides: [&Needs; 2], panel: Ends) -> PanelCost {
        let mut step = PanelCost {
            operations: vec![0.0; self.schedule.team.all()],
            moved: self.zeros(),
            read: self.zeros(),
            held: self.zeros(),
            exchanged: 0.0,
        };
        let (each, output) = (self.operations(), self.stage.operands.len());
        self.pairs(sides, output, |workers, ends, count| {
            let points = self.visited(ends | panel);
            for worker in workers {
                step.operations[worker] += points * each * count;
            }
        });
        for (number, operand) in self.stage.operands.iter().enumerate() {
            self.pairs(sides, number, |workers, ends, count| {
                let part = PartCost::new(self, operand, ends | panel);
                part.add(self, &workers, count, &mut step);
            });
        }
        step
    }

    /// Pairs the needs of a round's rows with those of its columns: the workers that need parts that are alike, and the
    /// number of parts.
    fn pairs(&self, sides: [&Needs; 2], of: usize, mut each: impl FnMut(Vec<usize>, Ends, f64)) {
        for rows in &sides[0][of] {
            for columns in &sides[1][of] {
                let Schedule { grid, team, .. } = self.schedule;
                let worker = |row: usize| {
                    let all = columns.workers.iter();
                    all.map(move |&column| grid.worker([row, column], team.workers))
                };
                let mut workers: Vec<usize> =
                    rows.workers.iter().flat_map(|&row| worker(row)).collect();
                // Workers of one machine are then neighbours in the list.
                workers.sort_unstable();
                let NeedGroup { ends, count, .. } = columns;
                each(workers, rows.ends | ends, rows.count as f64 * *count as f64);
            }
        }
    }

    /// The points of a block along some axes.
    fn points(&self, axes: std::ops::Range<usize>, ends: Ends) -> f64 {
        axes.map(|axis| lines::extent(self.stage, axis, ends) as f64).product()
    }

    /// The points that a worker visits for a block in a panel.
    fn visited(&self, ends: Ends) -> f64 {
        let extent = |axis| self.stage.extent(axis, lines::extent(self.stage, axis, ends));
        (0..self.stage.axes.len()).map(|axis| extent(axis) as f64).product()
    }

    /// Operations on elements at a point of the stage.
    fn operations(&self) -> f64 {
        match &self.stage.kernel {
            Kernel::Copy => 0.0,
            Kernel::Map(formula) => operations(formula),
            Kernel::Contract(by) => match &by.kind {
                Kind::Fold(_, formula) => operations(formula) + 1.0,
                Kind::Closures(_) => 2.0,
            },
        }
    }
}

/// A part of an operand in one panel.
struct PartCost {
    /// Bytes sent.
    bytes: f64,
    /// Bytes of its arrays in stores, and of those on the machines.
    stored: f64,
    local: f64,
    /// Operations to compute it.
    operations: f64,
}

impl PartCost {
    fn new(model: &Model, operand: &Operand, ends: Ends) -> Self {
        let spans: Vec<f64> =
            operand.index.iter().map(|affine| span(affine, model, ends)).collect();
        let expr = &operand.expr;
        let elements = match expr {
            Expr::Leaf(leaf) => leaf.axes.iter().map(|(axis, _)| spans[*axis]).product::<f64>(),
            _ => spans.iter().product(),
        };
        let (mut stored, mut local) = (0.0, 0.0);
        for leaf in expr.leaves() {
            let elements = leaf.axes.iter().map(|(axis, _)| spans[*axis]).product::<f64>();
            let array = if (model.local)(leaf.array) { &mut local } else { &mut stored };
            *array += elements * bytes(&leaf.element);
        }
        let operations = elementwise(expr) * elements;
        Self { bytes: elements * bytes(&expr.element()), stored, local, operations }
    }

    /// Adds `count` parts, each of which one of the workers that need it reads for the others, in turn.
    fn add(&self, model: &Model, workers: &[usize], count: f64, step: &mut PanelCost) {
        let (all, machines) = (workers.len() as f64, step.moved.len() as f64);
        step.exchanged += self.bytes * (all - 1.0) * count;
        for here in workers.chunk_by(|&l, &r| model.machine(l) == model.machine(r)) {
            let machine = model.machine(here[0]);
            let share = here.len() as f64 / all;
            // It comes once to each machine.
            let from_others = self.bytes * (1.0 - share);
            // A part of an array on the machines is sent by the machine that made it.
            let made_elsewhere = self.local * share * (1.0 - 1.0 / machines);
            step.moved[machine] += (from_others + made_elsewhere) * count;
            step.read[machine] += self.stored * share * count;
            step.held[machine] += self.bytes * count;
            for &worker in here {
                step.operations[worker] += self.operations * count / all;
            }
        }
    }
}

/// Number of positions along an axis of an operand among which a block of the stage reads.
fn span(affine: &crate::domain::Affine, model: &Model, ends: Ends) -> f64 {
    let most = affine.extent.map_or(f64::INFINITY, |extent| extent as f64);
    if !affine.rest.is_empty() {
        return most;
    }
    let mut span = 1.0;
    for &(coefficient, axis) in &affine.terms {
        match lines::extent(model.stage, axis, ends) {
            0 => return 0.0,
            extent => span += coefficient.unsigned_abs() as f64 * (extent - 1) as f64,
        }
    }
    f64::min(span, most)
}

fn bytes(element: &crate::ElementType) -> f64 {
    // Lists have any length.
    element.number().map_or(64, |dtype| dtype.size()) as f64
}

/// Number of operators of a formula.
fn operations(formula: &Formula) -> f64 {
    let is_operator =
        |node: &&FormulaNode| !matches!(node, FormulaNode::Variable(_) | FormulaNode::Number(_));
    formula.nodes.iter().filter(is_operator).count() as f64
}

/// Operations to compute an element of an expression.
fn elementwise(expr: &Expr) -> f64 {
    match expr {
        Expr::Leaf(_) => 0.0,
        Expr::Formula { formula, operands, .. } => {
            operations(formula) + operands.iter().map(elementwise).sum::<f64>()
        }
        Expr::Closure { operand, .. } => 1.0 + elementwise(operand),
    }
}
