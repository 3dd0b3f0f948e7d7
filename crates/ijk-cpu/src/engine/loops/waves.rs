//! Two loops along diagonals.

use super::compile::{PassProgram, UpdateProgram, WaveProgram};
use super::run::{LoopRun, Outcome};
use crate::error::RunError;

/// Two loops and their updates of diagonals.
pub(super) struct WaveRun<'w> {
    pub(super) wave: &'w WaveProgram,
    pub(super) outer: &'w PassProgram,
    pub(super) inner: &'w PassProgram,
    /// Number of coordinates of loops around them.
    pub(super) around: usize,
}

impl WaveRun<'_> {
    /// The coordinates of a pass, which count from 0 in the order of the loops.
    fn coordinates(&self, outer: i64, inner: i64) -> [i64; 2] {
        [self.outer.coordinate(outer), self.inner.coordinate(inner)]
    }
}

impl LoopRun<'_> {
    /// Runs all passes of two loops, diagonal by diagonal.
    ///
    /// # Safety
    /// As for [`Self::passes`].
    pub(super) unsafe fn diagonals(&mut self, loops: &WaveRun<'_>) -> Result<(), RunError> {
        let (rows, columns) = (loops.outer.extents[0], loops.inner.extents[0]);
        if rows == 0 || columns == 0 {
            return Ok(());
        }
        let skew = loops.wave.skew;
        self.coordinates.extend([0, 0]);
        for diagonal in 0..skew * (rows - 1) + columns {
            let first = (diagonal - (columns - 1)).max(0);
            let first = first / skew + i64::from(first % skew != 0);
            let last = (diagonal / skew).min(rows - 1);
            // SAFETY: guaranteed by the caller.
            unsafe { self.diagonal(loops, diagonal, first, last) }?;
            if self.workers.have_ended() {
                return Err(RunError::Interrupted);
            }
        }
        self.coordinates.truncate(loops.around);
        Ok(())
    }

    /// Runs the passes of a diagonal with these outer coordinates. Its ends run by themselves: they are where updates
    /// are left out.
    ///
    /// # Safety
    /// As for [`Self::passes`].
    unsafe fn diagonal(
        &mut self,
        loops: &WaveRun<'_>,
        diagonal: i64,
        first: i64,
        last: i64,
    ) -> Result<(), RunError> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if first > last {
                return Ok(());
            }
            self.pass_of(loops, diagonal, first)?;
            if last > first + 1 {
                self.strip(loops, diagonal, (first + 1, last - first - 1), &loops.wave.blocks)?;
            }
            if last > first { self.pass_of(loops, diagonal, last) } else { Ok(()) }
        }
    }

    /// Runs `count` passes of a diagonal from an outer coordinate on, as many at a time as blocks have.
    ///
    /// # Safety
    /// As for [`Self::passes`].
    unsafe fn strip(
        &mut self,
        loops: &WaveRun<'_>,
        diagonal: i64,
        (mut first, mut count): (i64, i64),
        blocks: &[UpdateProgram],
    ) -> Result<(), RunError> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            for (n, block) in blocks.iter().enumerate() {
                let size = block.count as i64;
                while count >= size {
                    let start = if loops.wave.reversed { first + size - 1 } else { first };
                    self.move_to(loops, diagonal, start);
                    if let Outcome::LeftOut = self.update(block)? {
                        self.strip(loops, diagonal, (first, size), &blocks[n + 1..])?;
                    }
                    first += size;
                    count -= size;
                }
            }
            (first..first + count).try_for_each(|at| self.pass_of(loops, diagonal, at))
        }
    }

    /// Runs one pass of both loops.
    ///
    /// # Safety
    /// As for [`Self::passes`].
    unsafe fn pass_of(
        &mut self,
        loops: &WaveRun<'_>,
        diagonal: i64,
        at: i64,
    ) -> Result<(), RunError> {
        self.move_to(loops, diagonal, at);
        // SAFETY: guaranteed by the caller.
        loops.inner.steps.iter().try_for_each(|step| unsafe { self.step(step) })
    }

    fn move_to(&mut self, loops: &WaveRun<'_>, diagonal: i64, at: i64) {
        let pass = loops.coordinates(at, diagonal - loops.wave.skew * at);
        for (n, value) in pass.into_iter().enumerate() {
            self.coordinates[loops.around + n] = value;
            self.set_cell(loops.around + n);
        }
    }
}
