//! Grid of workers: the rows and columns of blocks of each worker of each process.

use super::super::stage::Stage;

/// Workers of several processes, the same number in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Team {
    pub(crate) processes: usize,
    /// Workers of each process.
    pub(crate) workers: usize,
}

impl Team {
    /// The workers of one process.
    pub(crate) fn alone(workers: usize) -> Self {
        Self { processes: 1, workers }
    }

    /// Workers of a stage. A stage with fewer blocks than workers is computed by one worker of each process, with all
    /// threads of its engine.
    #[must_use]
    pub(crate) fn of(self, stage: &Stage) -> Self {
        match stage.blocks() < self.all() {
            true => Self { workers: 1, ..self },
            false => self,
        }
    }

    /// Number of workers of all processes.
    pub(crate) fn all(self) -> usize {
        self.processes.saturating_mul(self.workers)
    }
}

/// Processes in rows and columns, and the workers of each of them in rows and columns.
///
/// Lines of blocks, which are rows or columns, are dealt to the rows, or the columns, of processes in turn, and those
/// of each process to its workers in turn. Workers outside the grid compute nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Rows and columns of processes.
    pub processes: [usize; 2],
    /// Rows and columns of the workers of a process.
    pub workers: [usize; 2],
}

impl Grid {
    /// Number of rows, or columns, of workers of all processes.
    pub(crate) fn lines(&self, side: usize) -> usize {
        self.processes[side].saturating_mul(self.workers[side])
    }

    /// The row, or column, of the grid of all workers to which a line is dealt.
    pub(crate) fn line(&self, side: usize, line: usize) -> usize {
        line % self.lines(side)
    }

    /// The worker in a row and a column of the grid of all workers; `each` is the number of workers of a process.
    pub(crate) fn worker(&self, lines: [usize; 2], each: usize) -> usize {
        let process = [0, 1].map(|side| lines[side] % self.processes[side]);
        let worker = [0, 1].map(|side| lines[side] / self.processes[side]);
        let process = process[0] * self.processes[1] + process[1];
        process * each + worker[0] * self.workers[1] + worker[1]
    }
}
