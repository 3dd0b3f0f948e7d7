//! Two loops along diagonals.
//!
//! Passes are tiles of rows by diagonals. A diagonal of a tile is a few updates, whose strided windows stay in L1 from one
//! diagonal to the next. A tile reads what tiles of the same or earlier rows and diagonals wrote, so those with equal sums
//! of indices run in parallel.

use super::compile::{PassProgram, UpdateProgram, WaveProgram};
use super::run::{LoopRun, Outcome};
use crate::error::RunError;
use ijk_kernels::tuning::time::{WAVE_DIAGONALS, WAVE_ROWS};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Two loops and their updates of diagonals.
pub(super) struct WaveRun<'w> {
    pub(super) wave: &'w WaveProgram,
    pub(super) outer: &'w PassProgram,
    pub(super) inner: &'w PassProgram,
    /// Number of coordinates of loops around them.
    pub(super) around: usize,
}

/// Rows and diagonals that run together.
struct PassTile {
    rows: Range<i64>,
    diagonals: Range<i64>,
}

impl WaveRun<'_> {
    /// The coordinates of a pass, which count from 0 in the order of the loops.
    fn coordinates(&self, outer: i64, inner: i64) -> [i64; 2] {
        [self.outer.coordinate(outer), self.inner.coordinate(inner)]
    }

    fn rows(&self) -> i64 {
        self.outer.extents[0]
    }

    fn columns(&self) -> i64 {
        self.inner.extents[0]
    }

    /// Number of diagonals of some rows, from the first of all on.
    fn diagonals(&self, rows: i64) -> i64 {
        self.wave.skew * (rows - 1) + self.columns()
    }

    /// The outer coordinates of the passes of a diagonal.
    fn passes(&self, diagonal: i64) -> Range<i64> {
        let skew = self.wave.skew;
        let first = (diagonal - (self.columns() - 1)).max(0);
        let first = first / skew + i64::from(first % skew != 0);
        first..(diagonal / skew).min(self.rows() - 1) + 1
    }

    /// Returns true for the first or last pass of a loop, where updates are most often left out.
    fn is_end(&self, diagonal: i64, outer: i64) -> bool {
        let inner = diagonal - self.wave.skew * outer;
        let ends = |at: i64, extent: i64| at == 0 || at == extent - 1;
        ends(outer, self.rows()) || ends(inner, self.columns())
    }

    /// The tiles of a front, which are independent; `rows` at a time.
    fn front(&self, front: i64, rows: i64) -> Vec<PassTile> {
        let bands = pieces(self.rows(), rows);
        let tile = |band: i64| {
            let rows = band * rows..((band + 1) * rows).min(self.rows());
            let start = (front - band) * WAVE_DIAGONALS;
            let own = self.wave.skew * rows.start..self.diagonals(rows.end);
            let diagonals = start.max(own.start)..(start + WAVE_DIAGONALS).min(own.end);
            (!diagonals.is_empty()).then_some(PassTile { rows, diagonals })
        };
        (0..bands.min(front + 1)).filter_map(tile).collect()
    }

    /// Estimated nanoseconds of all passes, and of the longest update.
    fn costs(&self) -> [f64; 2] {
        let largest = self.wave.blocks.first();
        let [cost, count] = largest.map_or([0.0, 1.0], |b| [b.cost, b.count as f64]);
        [self.rows() as f64 * self.columns() as f64 * cost / count, cost]
    }
}

impl<'r> LoopRun<'r> {
    /// Runs all passes of two loops, tile by tile.
    ///
    /// # Safety
    /// As for [`Self::passes`].
    pub(super) unsafe fn diagonals(&mut self, loops: &WaveRun<'r>) -> Result<(), RunError> {
        if loops.rows() == 0 || loops.columns() == 0 {
            return Ok(());
        }
        self.coordinates.extend([0, 0]);
        let [all, longest] = loops.costs();
        let workers = self.workers;
        // Long updates divide their own work.
        let divides = workers.are_worth(all) && !workers.are_worth(longest);
        let mut others = Vec::new();
        if divides {
            let memory = (1..workers.threads()).map_while(|_| self.pass_memory());
            others.extend(memory);
        }
        let runs = others.iter().map(|memory| self.with_memory(memory.as_ptr())).collect();
        let threads = others.len() as i64 + 1;
        let rows = pieces(loops.rows(), 2 * threads).clamp(WAVE_ROWS / 4, WAVE_ROWS);
        let diagonals = loops.diagonals(loops.rows());
        let fronts = pieces(loops.rows(), rows) + pieces(diagonals, WAVE_DIAGONALS) - 1;
        let tiles = (0..fronts).map(|front| loops.front(front, rows));
        let done = match threads {
            // SAFETY: guaranteed by the caller.
            1 => tiles.flatten().try_for_each(|tile| unsafe { self.tile(loops, &tile) }),
            // SAFETY: as above.
            _ => unsafe { self.fronts(loops, tiles, runs) },
        };
        self.coordinates.truncate(loops.around);
        done
    }

    /// Runs fronts one after another, with the tiles of each in parallel: on this thread, and in `runs`.
    ///
    /// # Safety
    /// As for [`Self::passes`].
    unsafe fn fronts(
        &mut self,
        loops: &WaveRun<'r>,
        fronts: impl Iterator<Item = Vec<PassTile>>,
        mut runs: Vec<LoopRun<'r>>,
    ) -> Result<(), RunError> {
        let workers = self.workers.at_most(runs.len() + 1);
        // No other pass uses the memory of this run meanwhile.
        runs.push(self.with_memory(self.memory()));
        let runs = Mutex::new(runs.into_iter().map(TileRun).collect::<Vec<_>>());
        let failed = Mutex::new(None);
        for tiles in fronts {
            workers.parallel_for(tiles.len(), |n| {
                let Some(mut run) = locked(&runs).pop() else {
                    unreachable!("as many runs as threads")
                };
                // SAFETY: guaranteed by the caller; tiles of a front share no element that one of them writes, and each
                // run has its own memory.
                if let Err(error) = unsafe { run.0.tile(loops, &tiles[n]) } {
                    *locked(&failed) = Some(error);
                }
                locked(&runs).push(run);
            });
            if let Some(error) = locked(&failed).take() {
                return Err(error);
            }
            if workers.have_ended() {
                return Err(RunError::Interrupted);
            }
        }
        Ok(())
    }

    /// Runs the passes of a tile, diagonal by diagonal.
    ///
    /// # Safety
    /// As for [`Self::passes`].
    unsafe fn tile(&mut self, loops: &WaveRun<'r>, tile: &PassTile) -> Result<(), RunError> {
        for diagonal in tile.diagonals.clone() {
            let all = loops.passes(diagonal);
            let passes = all.start.max(tile.rows.start)..all.end.min(tile.rows.end);
            // SAFETY: guaranteed by the caller.
            unsafe { self.diagonal(loops, diagonal, passes) }?;
        }
        if self.workers.have_ended() { Err(RunError::Interrupted) } else { Ok(()) }
    }

    /// Runs the passes of a diagonal with these outer coordinates. Ends of the loops run by themselves, since a block in
    /// which one pass is left out runs in smaller ones.
    ///
    /// # Safety
    /// As for [`Self::passes`].
    unsafe fn diagonal(
        &mut self,
        loops: &WaveRun<'r>,
        diagonal: i64,
        mut passes: Range<i64>,
    ) -> Result<(), RunError> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if !passes.is_empty() && loops.is_end(diagonal, passes.start) {
                self.pass_of(loops, diagonal, passes.start)?;
                passes.start += 1;
            }
            if !passes.is_empty() && loops.is_end(diagonal, passes.end - 1) {
                passes.end -= 1;
                self.pass_of(loops, diagonal, passes.end)?;
            }
            self.strip(loops, diagonal, passes, &loops.wave.blocks)
        }
    }

    /// Runs passes of a diagonal, as many at a time as blocks have. The last block runs passes again that ran before if
    /// that saves several smaller ones.
    ///
    /// # Safety
    /// As for [`Self::passes`].
    unsafe fn strip(
        &mut self,
        loops: &WaveRun<'r>,
        diagonal: i64,
        passes: Range<i64>,
        blocks: &'r [UpdateProgram],
    ) -> Result<(), RunError> {
        let mut next = passes.start;
        for (n, block) in blocks.iter().enumerate() {
            let size = block.count as i64;
            while passes.end - next > 0 {
                let left = passes.end - next;
                let again = block.is_repeatable() && 2 * left > size;
                if left < size && !(again && passes.end - passes.start >= size) {
                    break;
                }
                let first = next.min(passes.end - size);
                let start = if loops.wave.reversed { first + size - 1 } else { first };
                self.move_to(loops, diagonal, start);
                // SAFETY: guaranteed by the caller.
                if let Outcome::LeftOut = unsafe { self.update(block) }? {
                    // Passes before these may be such that only accumulate.
                    // SAFETY: as above.
                    unsafe { self.strip(loops, diagonal, next..first + size, &blocks[n + 1..]) }?;
                }
                next = first + size;
            }
        }
        // SAFETY: guaranteed by the caller.
        (next..passes.end).try_for_each(|at| unsafe { self.pass_of(loops, diagonal, at) })
    }

    /// Runs one pass of both loops.
    ///
    /// # Safety
    /// As for [`Self::passes`].
    unsafe fn pass_of(
        &mut self,
        loops: &WaveRun<'r>,
        diagonal: i64,
        at: i64,
    ) -> Result<(), RunError> {
        self.move_to(loops, diagonal, at);
        // SAFETY: guaranteed by the caller.
        loops.inner.steps.iter().try_for_each(|step| unsafe { self.step(step) })
    }

    fn move_to(&mut self, loops: &WaveRun<'r>, diagonal: i64, at: i64) {
        let pass = loops.coordinates(at, diagonal - loops.wave.skew * at);
        for (n, value) in pass.into_iter().enumerate() {
            self.coordinates[loops.around + n] = value;
            self.set_cell(loops.around + n);
        }
    }
}

/// Number of pieces of a size that cover a number of passes.
fn pieces(passes: i64, size: i64) -> i64 {
    (passes - 1) / size + 1
}

/// Waits for a lock; a panic of another thread changes nothing that it guards.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of a thread that runs tiles.
struct TileRun<'r>(LoopRun<'r>);

// SAFETY: its pointers are to arrays that the run borrows, of which threads access different elements, and to memory of
// its own.
unsafe impl Send for TileRun<'_> {}
