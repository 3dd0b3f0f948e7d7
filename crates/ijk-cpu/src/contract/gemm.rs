//! The blocked loops: columns by cache, k by error and cache, rows by cache and thread, panels by
//! registers.
//!
//! ```text
//! for each block of n            right panels are shared by all threads, in L3
//!   for each block of k          KC steps; the first replaces the output (or not), later ones accumulate
//!     pack right                 in parallel
//!     for each block of m        in parallel; each packs its left panels, in L2
//!       for each right panel     in L1
//!         for each left panel    the microkernel: a tile of the output in registers
//! ```
//!
//! Where there are few columns, left is read once only, and not packed if its rows are contiguous.

use super::bundle::Operand;
use super::pack::{Source, Word};
use super::panel::{self, Flags};
use super::problem::{Problem, Tensors};
use super::tile::{Entry, Tile, smallest};
use super::{Context, KC};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

/// Bytes of left panels that stay in L2 while right panels pass.
const LEFT_BYTES: usize = 384 << 10;

/// Bytes of right panels that stay in L3 while left panels pass.
const RIGHT_BYTES: usize = 4 << 20;

/// Fewest bytes worth a task of their own when packing.
const PACK_BYTES: usize = 64 << 10;

/// Bytes of left that are read where they lie even for many columns.
const NEAR_BYTES: usize = 32 << 10;

/// Rows of a task where left is read where it lies.
const DIRECT_ROWS: usize = 8192;

/// Bytes of the largest tile.
const TILE_BYTES: usize = 2048;

/// The size of panels.
#[derive(Clone, Copy)]
struct Shape {
    /// Rows of a left panel.
    rows: usize,
    /// Columns of a right panel.
    columns: usize,
    /// Whether left is read where it lies.
    direct: bool,
    /// Whether it is too large to stay near, so that later rows are worth fetching ahead.
    far: bool,
}

impl Shape {
    fn of(problem: &Problem) -> Self {
        let (algebra, n) = (&problem.algebra, problem.n.len());
        let full = algebra.tiles.packed[0];
        let rows = full.groups * algebra.lanes;
        let widest = algebra.tiles.direct.iter().map(|e| e.columns).max().unwrap_or(0);
        let long = problem.m.run(Operand::Left) >= 2 * algebra.lanes;
        let left_len = problem.m.len().saturating_mul(problem.k.len());
        let left_bytes = left_len.saturating_mul(algebra.size);
        let once = n <= widest || widest > 0 && left_bytes <= NEAR_BYTES;
        let direct = once && long && algebra.left == panel::Prepare::Keep;
        let columns = match direct {
            true => smallest(algebra.tiles.direct, 1, n.min(widest)).columns,
            false => smallest(algebra.tiles.packed, full.groups, n.min(full.columns)).columns,
        };
        Self { rows, columns, direct, far: direct && left_bytes > LEFT_BYTES }
    }
}

/// One block of columns and steps, packed.
struct Block<'a, W> {
    problem: &'a Problem,
    tensors: Tensors,
    context: &'a Context<'a>,
    shape: Shape,
    /// For each step, the offset in left.
    steps: &'a [isize],
    unit_steps: bool,
    /// For each column, the offset in the output.
    columns: &'a [isize],
    right: Shared<W>,
    right_flags: &'a [AtomicU8],
    accumulate: bool,
}

/// A pointer that tasks share; they use disjoint parts of what it points to.
struct Shared<W>(*mut W);
// SAFETY: each use says which part is its own.
unsafe impl<W> Send for Shared<W> {}
// SAFETY: as above.
unsafe impl<W> Sync for Shared<W> {}

/// Computes one batch for the steps `ks` of k (a first block replaces what the output
/// holds, unless the problem accumulates).
///
/// # Safety
/// `W` has the size of an element; `tensors` point to the origin of tensors that may be read
/// (written) at all of the problem's points.
pub(crate) unsafe fn gemm<W: Word>(
    problem: &Problem,
    tensors: Tensors,
    ks: Range<usize>,
    context: &Context,
) {
    let shape = Shape::of(problem);
    let most = (RIGHT_BYTES / (KC * size_of::<W>())).max(1).next_multiple_of(shape.columns);
    let longest = ks.len().min(KC);
    let widest = problem.n.len().min(most).next_multiple_of(shape.columns);
    let right = context.scratch.take(widest * longest * size_of::<W>());
    let right = right.as_ptr().cast::<W>();
    for columns in blocks(0..problem.n.len(), most, shape.columns) {
        for steps in blocks(ks.clone(), KC, 1) {
            let accumulate = problem.accumulate || steps.start > ks.start;
            // SAFETY: the scratch has room for the largest block; the rest is the caller's
            // promise.
            unsafe {
                step::<W>(problem, tensors, context, shape, &columns, steps, right, accumulate)
            };
        }
    }
}

/// Cuts a range into blocks of nearly equal length, at most `most`, all but the last a multiple of
/// `unit`. An empty range is one empty block.
fn blocks(all: Range<usize>, most: usize, unit: usize) -> impl Iterator<Item = Range<usize>> {
    let count = all.len().div_ceil(most).max(1);
    let length = all.len().div_ceil(count).next_multiple_of(unit).max(1);
    let count = all.len().div_ceil(length).max(1);
    (0..count).map(move |n| {
        let start = all.start + n * length;
        start..(start + length).min(all.end)
    })
}

/// One block of columns and steps.
///
/// # Safety
/// As for [`gemm`]; `right` has room for the block's panels.
#[allow(clippy::too_many_arguments)]
unsafe fn step<W: Word>(
    problem: &Problem,
    tensors: Tensors,
    context: &Context,
    shape: Shape,
    columns: &Range<usize>,
    ks: Range<usize>,
    right: *mut W,
    accumulate: bool,
) {
    let offsets = |bundle: &super::bundle::Bundle, operand, range: &Range<usize>| {
        let mut out = vec![0; range.len()];
        bundle.offsets(operand, range.start, &mut out);
        out
    };
    let steps_left = offsets(&problem.k, Operand::Left, &ks);
    let steps_right = offsets(&problem.k, Operand::Right, &ks);
    let source = Source {
        base: tensors.right.cast::<W>(),
        operand: Operand::Right,
        bundle: &problem.n,
        steps: &steps_right,
        unit_steps: problem.k.is_run(Operand::Right, ks.start, ks.len()),
    };
    let panels = columns.len().div_ceil(shape.columns);
    let right_flags: Vec<AtomicU8> = (0..panels).map(|_| AtomicU8::new(0)).collect();
    let block = Block {
        problem,
        tensors,
        context,
        shape,
        steps: &steps_left,
        unit_steps: problem.k.is_run(Operand::Left, ks.start, ks.len()),
        columns: &offsets(&problem.n, Operand::Out, columns),
        right: Shared(right),
        right_flags: &right_flags,
        accumulate,
    };
    // SAFETY: the caller's promise; packing ends before rows begin.
    unsafe {
        block.pack_right(&source, columns.start, &offsets(&problem.n, Operand::Right, columns));
        block.all_rows();
    }
}

impl<W: Word> Block<'_, W> {
    /// Elements of a right panel.
    fn right_len(&self) -> usize {
        self.steps.len() * self.shape.columns
    }

    /// Packs all right panels; `offsets` are those of the columns in right.
    ///
    /// # Safety
    /// As for [`step`].
    unsafe fn pack_right(&self, source: &Source<W>, first: usize, offsets: &[isize]) {
        let panels = self.right_flags.len();
        let bytes = (self.right_len() * size_of::<W>()).max(1);
        let each = PACK_BYTES.div_ceil(bytes);
        let source = SharedSource(source);
        self.context.parallel_for(panels.div_ceil(each), |task| {
            for panel in task * each..((task + 1) * each).min(panels) {
                let start = panel * self.shape.columns;
                let rows = &offsets[start..(start + self.shape.columns).min(offsets.len())];
                // SAFETY: the caller's promise; this panel is this task's own.
                let flags = unsafe {
                    let to = self.right.0.add(panel * self.right_len());
                    source.get().pack(
                        self.context.level,
                        first + start,
                        rows,
                        to,
                        self.shape.columns,
                    );
                    let (to, count) = (to.cast(), self.right_len());
                    let Problem { dtype, algebra, .. } = self.problem;
                    panel::prepare(self.context.level, *dtype, algebra.right, to, count);
                    self.scan(to, count)
                };
                self.right_flags[panel].store(flags.bits(), Ordering::Relaxed);
            }
        });
    }

    /// # Safety
    /// The panel holds that many elements.
    unsafe fn scan(&self, panel: *const u8, count: usize) -> Flags {
        match self.problem.algebra.guarded {
            // SAFETY: the caller's promise.
            true => unsafe { panel::scan(self.context.level, self.problem.dtype, panel, count) },
            false => Flags::NONE,
        }
    }

    /// Computes all rows.
    ///
    /// # Safety
    /// As for [`step`]; the right panels are packed.
    unsafe fn all_rows(&self) {
        let (m, threads) = (self.problem.m.len(), self.context.threads());
        let panels = self.right_flags.len();
        let most = match self.shape.direct {
            true => DIRECT_ROWS,
            false => LEFT_BYTES / (self.steps.len().max(1) * size_of::<W>()),
        };
        let unit = self.shape.rows;
        let most = (most / unit).max(1) * unit;
        let count = m.div_ceil(most).next_multiple_of(threads);
        let length = m.div_ceil(count).next_multiple_of(unit);
        let count = m.div_ceil(length);
        let splits = if count < threads { threads.div_ceil(count).min(panels) } else { 1 };
        self.context.parallel_for(count * splits, |task| {
            let (rows, part) = (task / splits * length, task % splits);
            let rows = rows..(rows + length).min(m);
            let part = part * panels / splits..(part + 1) * panels / splits;
            // SAFETY: the caller's promise; tasks differ in rows or columns of the output.
            unsafe {
                match self.shape.direct {
                    true => self.direct_rows(rows),
                    false => self.packed_rows(rows, part),
                }
            }
        });
    }

    /// Packs the left panels of some rows, then computes those rows for some right panels.
    ///
    /// # Safety
    /// As for [`all_rows`](Self::all_rows).
    unsafe fn packed_rows(&self, rows: Range<usize>, right: Range<usize>) {
        let width = self.shape.rows;
        let len = self.steps.len() * width;
        let panels = rows.len().div_ceil(width);
        let left = self.context.scratch.take(panels * len * size_of::<W>());
        let left = left.as_ptr().cast::<W>();
        let mut flags = Vec::with_capacity(panels);
        for panel in 0..panels {
            let start = rows.start + panel * width;
            let count = (rows.end - start).min(width);
            // SAFETY: the scratch has room for the panels.
            flags.push(unsafe { self.pack_left(start, count, left.add(panel * len)) });
        }
        for column in right {
            for (panel, &flags) in flags.iter().enumerate() {
                let start = rows.start + panel * width;
                let count = (rows.end - start).min(width);
                // SAFETY: both panels are packed.
                unsafe {
                    let left = left.add(panel * len).cast();
                    let entry = self.entry(column, flags, count);
                    self.tile(entry, start, count, left, column);
                }
            }
        }
    }

    /// Packs one left panel of `count` rows.
    ///
    /// # Safety
    /// As for [`step`]; `to` has room for the panel.
    unsafe fn pack_left(&self, start: usize, count: usize, to: *mut W) -> Flags {
        let source = Source {
            base: self.tensors.left.cast::<W>(),
            operand: Operand::Left,
            bundle: &self.problem.m,
            steps: self.steps,
            unit_steps: self.unit_steps,
        };
        let mut offsets = [0; MAX_ROWS];
        let offsets = &mut offsets[..count];
        self.problem.m.offsets(Operand::Left, start, offsets);
        let len = self.steps.len() * self.shape.rows;
        let (level, Problem { dtype, algebra, .. }) = (self.context.level, self.problem);
        // SAFETY: the caller's promise.
        unsafe {
            source.pack(level, start, offsets, to, self.shape.rows);
            panel::prepare(level, *dtype, algebra.left, to.cast(), len);
            panel::split(level, algebra.split, to.cast(), len);
            self.scan(to.cast(), len)
        }
    }

    /// The columns of a right panel.
    fn width(&self, column: usize) -> usize {
        (self.columns.len() - column * self.shape.columns).min(self.shape.columns)
    }

    /// The microkernel for `rows` packed rows and a right panel.
    fn entry(&self, column: usize, left: Flags, rows: usize) -> Entry {
        let algebra = &self.problem.algebra;
        let right = Flags::from_bits(self.right_flags[column].load(Ordering::Relaxed));
        let fast = algebra.guarded && (algebra.nan_free)(left, right);
        let entries = if fast { algebra.fast.packed } else { algebra.tiles.packed };
        let (first, width) = (entries[0], self.width(column));
        match rows == first.groups * algebra.lanes && width == first.columns {
            true => first,
            false => smallest(entries, rows.div_ceil(algebra.lanes), width),
        }
    }

    /// Computes some rows from left where it lies, run by run.
    ///
    /// # Safety
    /// As for [`all_rows`](Self::all_rows).
    unsafe fn direct_rows(&self, rows: Range<usize>) {
        let m = &self.problem.m;
        let run = m.run(Operand::Left);
        let mut start = rows.start;
        while start < rows.end {
            let end = (start + run - start % run).min(rows.end);
            // SAFETY: the rows are in the tensor.
            unsafe {
                let first = m.offset(Operand::Left, start);
                let first = self.tensors.left.cast::<W>().offset(first);
                self.direct_run(start..end, first);
            }
            start = end;
        }
    }

    /// Computes neighbouring rows, the first of which is `left`.
    ///
    /// # Safety
    /// As for [`all_rows`](Self::all_rows).
    unsafe fn direct_run(&self, rows: Range<usize>, left: *const W) {
        let algebra = &self.problem.algebra;
        let of_width = |e: &&Entry| e.columns == self.shape.columns;
        let mut start = rows.start;
        while start < rows.end {
            let groups = (rows.end - start) / algebra.lanes;
            let entries = algebra.tiles.direct.iter().filter(of_width);
            let entry = entries.filter(|e| e.groups <= groups).max_by_key(|e| e.groups);
            let Some(&entry) = entry else { break };
            let count = entry.groups * algebra.lanes;
            for column in 0..self.right_flags.len() {
                // SAFETY: `count` rows remain.
                unsafe {
                    let left = left.add(start - rows.start);
                    self.tile(entry, start, count, left.cast(), column);
                }
            }
            start += count;
        }
        // SAFETY: the caller's promise.
        unsafe { self.direct_tail(start..rows.end) };
    }

    /// Fewer rows than a group: packed.
    ///
    /// # Safety
    /// As for [`all_rows`](Self::all_rows).
    unsafe fn direct_tail(&self, rows: Range<usize>) {
        if rows.is_empty() {
            return;
        }
        let panel = self.context.scratch.take(self.steps.len() * self.shape.rows * size_of::<W>());
        let panel = panel.as_ptr().cast::<W>();
        // SAFETY: the scratch holds a panel.
        unsafe {
            let flags = self.pack_left(rows.start, rows.len(), panel);
            for column in 0..self.right_flags.len() {
                let entry = self.entry(column, flags, rows.len());
                self.tile(entry, rows.start, rows.len(), panel.cast(), column);
            }
        }
    }

    /// Computes one tile: `count` rows from `start` on, all columns of a right panel.
    ///
    /// # Safety
    /// `left` is a packed panel, or the first row for a direct microkernel.
    unsafe fn tile(
        &self,
        entry: Entry,
        start: usize,
        count: usize,
        left: *const u8,
        column: usize,
    ) {
        let first = column * self.shape.columns;
        let columns = &self.columns[first..first + self.width(column)];
        // SAFETY: the panel is there.
        let right = unsafe { self.right.0.add(column * self.right_len()) };
        let m = &self.problem.m;
        let mut tile = Tile {
            k: self.steps.len(),
            left,
            left_step: self.shape.rows,
            left_offsets: self.steps.as_ptr(),
            ahead: self.shape.far,
            right: right.cast_const().cast(),
            right_step: self.shape.columns,
            out: self.tensors.out,
            columns: columns.as_ptr(),
            width: columns.len(),
            rows: count,
            accumulate: self.accumulate,
            identity: self.problem.algebra.identity.0.as_ptr(),
        };
        // SAFETY: the microkernel's level is the context's; the output has these rows and columns.
        unsafe {
            if m.is_run(Operand::Out, start, count) {
                let first = m.offset(Operand::Out, start);
                tile.out = self.tensors.out.cast::<W>().offset(first).cast();
                (entry.run)(&tile);
            } else {
                let mut rows = [0; MAX_ROWS];
                m.offsets(Operand::Out, start, &mut rows[..count]);
                scattered::<W>(entry, tile, &rows[..count], columns);
            }
        }
    }
}

/// Rows of the largest tile: 8 groups of 16, or 2 of 64.
const MAX_ROWS: usize = 128;

/// Computes a tile whose rows are not neighbours in the output, by way of one where they are.
///
/// # Safety
/// As for the microkernel, with rows of the output at `rows`.
unsafe fn scattered<W: Word>(entry: Entry, mut tile: Tile, rows: &[isize], columns: &[isize]) {
    let mut dense = MaybeUninit::<Dense>::uninit();
    let dense = dense.as_mut_ptr().cast::<W>();
    let out = tile.out.cast::<W>();
    let mut starts = [0; MAX_COLUMNS];
    for (n, start) in starts.iter_mut().enumerate().take(columns.len()) {
        *start = (n * rows.len()) as isize;
    }
    assert!(rows.len() * columns.len() * size_of::<W>() <= TILE_BYTES);
    let at = |r: usize, c: usize| rows[r] + columns[c];
    // SAFETY: the dense tile has room; the output has these rows and columns.
    unsafe {
        if tile.accumulate {
            for c in 0..columns.len() {
                for r in 0..rows.len() {
                    dense.add(c * rows.len() + r).write(out.offset(at(r, c)).read());
                }
            }
        }
        (tile.out, tile.columns) = (dense.cast(), starts.as_ptr());
        (entry.run)(&tile);
        for c in 0..columns.len() {
            for r in 0..rows.len() {
                out.offset(at(r, c)).write(dense.add(c * rows.len() + r).read());
            }
        }
    }
}

/// Columns of the widest tile.
const MAX_COLUMNS: usize = 16;

#[repr(align(64))]
struct Dense(#[allow(dead_code)] [u8; TILE_BYTES]);

/// A source that tasks read together.
struct SharedSource<'a, 'b, W>(&'a Source<'b, W>);

impl<'a, 'b, W> SharedSource<'a, 'b, W> {
    fn get(&self) -> &'a Source<'b, W> {
        self.0
    }
}

// SAFETY: a source is only read.
unsafe impl<W> Sync for SharedSource<'_, '_, W> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_a_range() {
        for len in 0..200 {
            for most in [1, 7, 32, 64] {
                let mut at = 5;
                for block in blocks(5..5 + len, most, 1) {
                    assert_eq!(block.start, at);
                    assert!(block.len() <= most);
                    at = block.end;
                }
                assert_eq!(at, 5 + len);
            }
        }
    }
}
