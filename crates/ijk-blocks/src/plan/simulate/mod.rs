//! Simulation of a block plan, without data: bytes moved and held, and time.
//!
//! The plan and the [`Schedule`] are those of a run, but blocks are not visited. Workers are dealt rows and columns of
//! blocks in turn, so that the needs of a round are a product of those of its rows and those of its columns
//! ([`lines`]), and equal rounds and panels are counted once ([`traffic`]).

mod bound;
mod display;
mod lines;
mod traffic;

pub use bound::Bound;

use super::{BlockPlan, From, Grid, Schedule, Stage, Team};
use crate::Error;
use traffic::Traffic;

/// Machines of a simulation, all alike, each with a network connection and a share of the stores.
#[derive(Clone, Debug, PartialEq)]
pub struct Machines {
    /// Number of machines.
    pub machines: usize,
    /// Workers of each machine.
    pub workers: usize,
    /// Limit of the bytes of blocks on each: see [`Executor::memory_limit`](crate::Executor::memory_limit).
    pub memory: Option<u64>,
    /// Operations of a worker per second.
    pub operations: f64,
    /// Bytes that a machine receives per second, while it sends as many.
    pub network: f64,
    /// Bytes that a machine reads from stores, or writes to them, per second.
    pub disk: f64,
}

impl Default for Machines {
    /// One machine of one worker: 100 GF/s, 1.25 GB/s (10 Gbit/s) of network, 1 GB/s of disk.
    fn default() -> Self {
        Self {
            machines: 1,
            workers: 1,
            memory: None,
            operations: 100e9,
            network: 1.25e9,
            disk: 1e9,
        }
    }
}

/// Predicted behaviour of a plan on [`Machines`]; displays as text of several lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The machines.
    pub machines: Machines,
    /// The stages, in the order in which they run.
    pub stages: Vec<Simulated>,
}

impl Simulation {
    /// Seconds of all stages, one after another.
    pub fn seconds(&self) -> f64 {
        self.stages.iter().map(|stage| stage.seconds).sum()
    }

    /// Greatest number of bytes on a machine at a time.
    pub fn memory(&self) -> f64 {
        self.stages.iter().map(|stage| stage.memory.most).fold(0.0, f64::max)
    }
}

/// Predicted behaviour of a stage. Bytes are those of elements; panels that missing blocks would skip are counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// The stage as the plan prints it.
    pub stage: String,
    /// Rows and columns of machines and of their workers; none where blocks are computed one after another, each by all
    /// workers of one machine.
    pub grid: Option<Grid>,
    /// Number of rounds.
    pub rounds: u64,
    /// Number of panels of a block.
    pub panels: u64,
    /// Bytes that each machine receives from others, once for all of its workers; on average it sends as many.
    pub moved: Spread,
    /// Bytes that workers read for other workers, on any machine.
    pub exchanged: f64,
    /// Bytes that each machine reads from stores.
    pub read: Spread,
    /// Bytes of finished blocks.
    pub written: Spread,
    /// Greatest number of bytes on each machine at a time: blocks in progress, parts of operands within the window, and
    /// results of earlier stages that are read again.
    pub memory: Spread,
    /// Operations on elements by all workers.
    pub operations: f64,
    /// Computing time of the worker with most work.
    pub compute_seconds: f64,
    /// Network time of the machine with most traffic.
    pub network_seconds: f64,
    /// Storage time of the machine that reads and writes most.
    pub disk_seconds: f64,
    /// Time of the stage: a panel is computed while those within the window are read and moved.
    pub seconds: f64,
    /// Lower bound of the moved bytes, where it is known: for contractions of two operands.
    pub bound: Option<Bound>,
}

/// A quantity of each machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// Of the machine with most.
    pub most: f64,
    /// On average.
    pub mean: f64,
}

impl Spread {
    fn of(all: &[f64]) -> Self {
        let most = all.iter().copied().fold(0.0, f64::max);
        Self { most, mean: all.iter().sum::<f64>() / all.len().max(1) as f64 }
    }
}

impl BlockPlan {
    /// Simulates the plan on machines, from their rates alone: every block exists, messages have no latency, and the
    /// worker that reads a part for others changes from panel to panel, evenly. Results of stages that later stages
    /// read stay on the machines that made them.
    ///
    /// # Errors
    /// [`Error::TooManyBlocks`] where a run would never end.
    ///
    /// ```
    /// use ijk_blocks::{BigTensor, BlockPlan, ElementType, Machines, Outline};
    /// let side = 1_000_000;
    /// let outline = |name| Outline::new(name, [side; 2], [Some(4096); 2], ijk_types::DType::F32);
    /// let (u, v) = (BigTensor::from_source(outline("u"))?, BigTensor::from_source(outline("v"))?);
    /// let plan = BlockPlan::new(&u.matmul(&v)?);
    /// let machines = Machines { machines: 1000, memory: Some(64 << 30), ..Machines::default() };
    /// let simulation = plan.simulate(&machines)?;
    /// let product = &simulation.stages[0];
    /// let grid = product.grid.unwrap();
    /// assert_eq!((grid.processes, product.panels), ([31, 31], 245));
    /// assert_eq!(product.operations, 2e18);
    /// assert!(simulation.memory() < (64u64 << 30) as f64);
    /// // Nobody could do with less than the bound.
    /// let bound = product.bound.as_ref().unwrap();
    /// assert!(bound.ratio > 1.0 && bound.ratio < 3.0);
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    pub fn simulate(&self, machines: &Machines) -> Result<Simulation, Error> {
        let mut held = vec![0.0; machines.machines.max(1)];
        let mut stages = Vec::with_capacity(self.stages.len());
        for (number, stage) in self.stages.iter().enumerate() {
            let traffic = self.traffic(stage, machines, &held)?;
            if number + 1 < self.stages.len() {
                held.iter_mut().zip(&traffic.written).for_each(|(held, written)| *held += written);
            }
            stages.push(self.simulated(number, machines, &traffic));
        }
        Ok(Simulation { machines: machines.clone(), stages })
    }

    fn traffic(&self, stage: &Stage, on: &Machines, held: &[f64]) -> Result<Traffic, Error> {
        let (machines, window) = (on.machines.max(1), crate::run::WINDOW);
        let all = Team { processes: machines, workers: on.workers.max(1) };
        let team = all.of(stage);
        let alone = team.all() == 1;
        // Block by block, if alone.
        let schedule = Schedule::new(stage, team, window, if alone { Some(0) } else { on.memory });
        let mut on = on.clone();
        on.operations *= (all.workers / team.workers) as f64;
        let local = |array: usize| matches!(self.arrays[array].from, From::Stage(_));
        Traffic::new(stage, &schedule, &on, window, held, &local)
    }

    fn simulated(&self, number: usize, machines: &Machines, traffic: &Traffic) -> Simulated {
        let stage = &self.stages[number];
        let io: Vec<f64> = (0..traffic.moved.len())
            .map(|n| traffic.moved[n] + traffic.read[n] + traffic.written[n])
            .collect();
        let memory = Spread::of(&traffic.memory);
        let limit = machines.memory.map_or(memory.most, |bytes| bytes as f64);
        let bound = bound::bound(stage, machines.machines, limit, Spread::of(&io).most);
        Simulated {
            stage: self.line(number),
            grid: traffic.grid,
            rounds: traffic.rounds,
            panels: stage.panels() as u64,
            moved: Spread::of(&traffic.moved),
            exchanged: traffic.exchanged,
            read: Spread::of(&traffic.read),
            written: Spread::of(&traffic.written),
            memory,
            operations: traffic.operations,
            compute_seconds: traffic.compute_seconds,
            network_seconds: traffic.network_seconds,
            disk_seconds: traffic.disk_seconds,
            seconds: traffic.seconds,
            bound,
        }
    }
}

#[cfg(test)]
mod tests;
