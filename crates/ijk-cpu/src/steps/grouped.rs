//! Contractions whose rhs is looked up by row.
//!
//! Rows are sorted by their index, in a stable order. Tiles of a few rows of one group are copied to contiguous memory,
//! contracted with the group's operand, and copied to the output. The result of a tile does not depend on its thread.
//! computes does not depend on who computes it.

use crate::contract::{Context, ContractProgram};
use crate::error::{Fault, RunError};
use crate::explain::{KernelChoice, Reason};
use crate::origin::Origin;
use crate::probe::Costs;
use crate::runtime::scratch::{Need, ScratchPool};
use crate::runtime::threads::{Workers, cut};
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::order::GROUPED_TILES;
use ijk_kernels::tuning::time::GROUPED_TASKS_PER_THREAD;
use ijk_plan::plan::{Base, BufferId, Contraction, ContractionAxis, Grouped, Role};
use ijk_types::{DType, Scalar, scalar};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::AtomicUsize;

/// A prepared grouped contraction.
#[derive(Clone, Debug)]
pub(crate) struct GroupedProgram {
    /// Contractions of tiles by number of rows, on contiguous copies.
    tiles: Vec<(usize, ContractProgram)>,
    /// Axes of rows.
    rows: Vec<GroupedRowAxis>,
    /// Elements of a row in the left operand, and in the output.
    left: RowElements,
    out: RowElements,
    a: Origin,
    b: Origin,
    c: Origin,
    index: Origin,
    index_dtype: DType,
    first: i64,
    groups: usize,
    /// Stride of groups in bytes.
    step: isize,
    identity: IdentityBytes,
    level: Level,
    cost: f64,
}

/// An axis of the rows.
#[derive(Clone, Copy, Debug)]
struct GroupedRowAxis {
    extent: usize,
    /// Strides in bytes in the left operand, the output, and the index.
    steps: [isize; 3],
}

/// The elements of a row in an array, outermost axis first.
#[derive(Clone, Debug)]
struct RowElements {
    /// Bytes of an element.
    size: usize,
    /// Extents, and strides in bytes.
    axes: Vec<(usize, isize)>,
}

/// The bytes of an element.
#[derive(Clone, Copy, Debug)]
struct IdentityBytes([u8; 16]);

/// Rows of one group.
struct GroupTile {
    group: usize,
    /// Range of the sorted rows.
    rows: Range<usize>,
}

impl GroupedProgram {
    /// Prepares a checked contraction.
    pub(crate) fn new(task: &Grouped, level: Level, costs: &Costs) -> Result<Self, Fault> {
        let each = &task.each;
        let size = each.dtype.size();
        if each.axes.iter().any(|axis| axis.extent == 0) {
            return Err(Fault::Bounds);
        }
        let bytes = |step: isize, size: usize| step.wrapping_mul(size as isize);
        let index = task.index_dtype.size();
        let rows = each.axes.iter().zip(&task.index_steps).filter(|(axis, _)| axis.role == Role::M);
        let rows = rows.map(|(axis, &step)| GroupedRowAxis {
            extent: axis.extent,
            steps: [bytes(axis.a, size), bytes(axis.c, size), bytes(step, index)],
        });
        let rows: Vec<GroupedRowAxis> = rows.collect();
        let count: usize = rows.iter().map(|row| row.extent).product();
        let prepare = |rows: usize| {
            let prepared =
                ContractProgram::new(&tile(each, rows), level, costs).ok_or(Fault::Types)?;
            Ok((rows, prepared))
        };
        let tiles = GROUPED_TILES.into_iter().map(prepare).collect::<Result<Vec<_>, Fault>>()?;
        let cost =
            tiles[0].1.cost() * (count as f64 / GROUPED_TILES[0] as f64 + task.groups as f64 / 4.0);
        Ok(Self {
            tiles,
            rows,
            left: RowElements::new(each, size, |axis| axis.a),
            out: RowElements::new(each, size, |axis| axis.c),
            a: Origin::new(each.a, size),
            b: Origin::new(each.b, size),
            c: Origin::new(each.c, size),
            index: Origin::new(task.index, index),
            index_dtype: task.index_dtype,
            first: task.first,
            groups: task.groups,
            step: bytes(task.step, size),
            identity: IdentityBytes::of(scalar::identity(each.reduce, each.dtype)),
            level,
            cost,
        })
    }

    /// Its algorithm and blocking, with reasons, for `threads` threads.
    pub(crate) fn explain(&self, threads: usize) -> KernelChoice {
        let tile = GROUPED_TILES[0];
        let rows = self.count();
        let choice = KernelChoice::new("tiles of rows of one group")
            .extent("rows", rows)
            .extent("groups", self.groups)
            .block("tile", tile, "rows")
            .holding("copies of the rows", self.copies());
        let tasks = (rows / tile + self.groups).min(threads * GROUPED_TASKS_PER_THREAD).max(1);
        let (_, whole) = &self.tiles[0];
        let each = format!("a tile of {tile} rows is computed as a {}", whole.name());
        let choice = choice.block("tasks", tasks, "tasks").because(Reason::plain(each));
        choice.because(Reason::plain(format!(
            "rows are sorted by group; the last tile of a group has {GROUPED_TILES:?} rows, the fewest that suffice"
        )))
    }

    /// Estimated work, in nanoseconds on one thread.
    pub(crate) fn cost(&self) -> f64 {
        self.cost
    }

    fn count(&self) -> usize {
        self.rows.iter().map(|row| row.extent).product()
    }

    /// Upper bound of its scratch memory: the order of the rows, and a tile of copies for each thread.
    pub(crate) fn need(&self) -> Need {
        let order = self.count().saturating_mul(size_of::<usize>());
        let starts = self.groups.saturating_mul(2 * size_of::<usize>() + size_of::<GroupTile>());
        let tiles = (self.count() / GROUPED_TILES[0]).saturating_mul(size_of::<GroupTile>());
        let own = self.tiles.iter().map(|(_, prepared)| prepared.need());
        let own = own.map(|need| need.shared.saturating_add(need.each)).max().unwrap_or(0);
        Need {
            shared: order.saturating_add(starts).saturating_add(tiles) as u64,
            each: own.saturating_add(self.copies() as u64),
        }
    }

    /// Bytes of the copies of a tile.
    fn copies(&self) -> usize {
        self.left.bytes().saturating_add(self.out.bytes()).saturating_mul(GROUPED_TILES[0])
    }

    /// Executes the contraction.
    ///
    /// # Safety
    /// `bases` are the buffers that the contraction was checked against: all elements of theirs that it reads are
    /// initialised, and no other thread accesses the output.
    pub(crate) unsafe fn run(
        &self,
        bases: &[*mut u8],
        workers: &Workers,
        scratch: &ScratchPool,
    ) -> Result<(), RunError> {
        let refused = AtomicUsize::new(0);
        // SAFETY: guaranteed by the caller.
        let (order, tiles) = unsafe { self.sorted(self.index.of(bases)) }?;
        let job = GroupedRun { program: self, bases, order: &order, tiles: &tiles };
        let tasks = match workers.are_worth(self.cost) {
            true => tiles.len().min(workers.threads() * GROUPED_TASKS_PER_THREAD).max(1),
            false => 1,
        };
        let alone = &workers.at_most(1);
        workers.parallel_for(tasks, |task| {
            let range = cut(tiles.len(), task, tasks)..cut(tiles.len(), task + 1, tasks);
            let context = Context::new(self.level, alone, scratch, &refused);
            // SAFETY: guaranteed by the caller; each row is in one tile, and each tile is assigned to one task.
            unsafe { job.range(range, &context) };
        });
        Context::new(self.level, alone, scratch, &refused).settle()
    }

    /// The rows in the order of their groups, those without a group last, and their tiles.
    ///
    /// # Safety
    /// The index is readable for every row.
    unsafe fn sorted(&self, index: *const u8) -> Result<(Vec<usize>, Vec<GroupTile>), RunError> {
        let (count, none) = (self.count(), self.groups);
        let group = |row: usize| {
            let from = index.wrapping_offset(self.offset(row, 2));
            // SAFETY: guaranteed by the caller.
            let number = unsafe {
                match self.index_dtype {
                    DType::I32 => i64::from(from.cast::<i32>().read_unaligned()),
                    _ => from.cast::<i64>().read_unaligned(),
                }
            };
            let group = i128::from(number) - i128::from(self.first);
            usize::try_from(group).map_or(none, |group| group.min(none))
        };
        let mut starts = zeros(none.saturating_add(2))?;
        (0..count).for_each(|row| starts[group(row) + 1] += 1);
        (0..=none).for_each(|n| starts[n + 1] += starts[n]);
        let mut order = zeros(count)?;
        let mut next = starts.clone();
        for row in 0..count {
            let place = &mut next[group(row)];
            order[*place] = row;
            *place += 1;
        }
        let mut tiles = Vec::new();
        let most = count / GROUPED_TILES[0] + none + 1;
        tiles.try_reserve_exact(most).map_err(|_| RunError::OutOfMemory(most))?;
        for group in 0..=none {
            let rows = starts[group]..starts[group + 1];
            let starts = rows.clone().step_by(GROUPED_TILES[0]);
            tiles.extend(starts.map(|start| {
                let end = (start + GROUPED_TILES[0]).min(rows.end);
                GroupTile { group, rows: start..end }
            }));
        }
        Ok((order, tiles))
    }

    /// Offset of a row in bytes from the origin of an array.
    fn offset(&self, mut row: usize, array: usize) -> isize {
        let mut offset = 0;
        for axis in self.rows.iter().rev() {
            offset += (row % axis.extent) as isize * axis.steps[array];
            row /= axis.extent;
        }
        offset
    }
}

/// `count` zeros.
fn zeros(count: usize) -> Result<Vec<usize>, RunError> {
    let mut all = Vec::new();
    let bytes = count.saturating_mul(size_of::<usize>());
    all.try_reserve_exact(count).map_err(|_| RunError::OutOfMemory(bytes))?;
    all.resize(count, 0);
    Ok(all)
}

/// The contraction of a tile of `rows` rows, which are contiguous in the copies.
fn tile(each: &Contraction, rows: usize) -> Contraction {
    let (mut left, mut out) = (1, 1);
    let mut axes: Vec<ContractionAxis> = Vec::new();
    for axis in each.axes.iter().rev().filter(|axis| axis.role != Role::M) {
        let mut own = axis.clone();
        for (step, dense) in [(&mut own.a, &mut left), (&mut own.c, &mut out)] {
            if *step != 0 {
                *step = *dense;
                *dense *= axis.extent as isize;
            }
        }
        axes.push(own);
    }
    let row = ContractionAxis {
        name: "row".to_owned(),
        role: Role::M,
        extent: rows,
        a: left,
        b: 0,
        c: out,
    };
    axes.push(row);
    axes.reverse();
    let base = |n| Base { buffer: BufferId(n), offset: 0 };
    Contraction { a: base(0), b: base(1), c: base(2), axes, ..each.clone() }
}

impl RowElements {
    fn new(each: &Contraction, size: usize, step: fn(&ContractionAxis) -> isize) -> Self {
        let own = each.axes.iter().filter(|axis| axis.role != Role::M && step(axis) != 0);
        let mut axes: Vec<(usize, isize)> = Vec::new();
        for axis in own {
            let step = step(axis).wrapping_mul(size as isize);
            match axes.last_mut() {
                // Axes that are nested contiguously are merged.
                Some(outer) if outer.1 == step.wrapping_mul(axis.extent as isize) => {
                    *outer = (outer.0 * axis.extent, step);
                }
                _ => axes.push((axis.extent, step)),
            }
        }
        Self { size, axes }
    }

    /// Bytes of all elements of a row.
    fn bytes(&self) -> usize {
        self.axes.iter().fold(self.size, |n, axis| n.saturating_mul(axis.0))
    }

    /// Calls `f` with each contiguous run: its offset in bytes in the array and in a contiguous copy, and its number of
    /// bytes.
    fn for_each_run(&self, mut f: impl FnMut(isize, usize, usize)) {
        let (inner, outer) = match self.axes.split_last() {
            Some((&(extent, step), outer)) if step == self.size as isize => (extent, outer),
            _ => (1, &self.axes[..]),
        };
        let length = inner * self.size;
        let runs: usize = outer.iter().map(|axis| axis.0).product();
        for run in 0..runs {
            let (mut rest, mut offset) = (run, 0);
            for &(extent, step) in outer.iter().rev() {
                offset += (rest % extent) as isize * step;
                rest /= extent;
            }
            f(offset, run * length, length);
        }
    }
}

impl IdentityBytes {
    fn of(value: Scalar) -> Self {
        Self(value.to_ne_bytes())
    }
}

/// A program with its buffers.
struct GroupedRun<'a> {
    program: &'a GroupedProgram,
    bases: &'a [*mut u8],
    /// Rows by group.
    order: &'a [usize],
    tiles: &'a [GroupTile],
}

// SAFETY: the pointers are dereferenced for rows of tiles, each of which one task has; operands are only read.
unsafe impl Sync for GroupedRun<'_> {}

impl GroupedRun<'_> {
    /// Computes a range of tiles.
    ///
    /// # Safety
    /// As for [`GroupedProgram::run`]; no other task has these tiles.
    unsafe fn range(&self, tiles: Range<usize>, context: &Context<'_>) {
        let program = self.program;
        let Some(copies) = context.take(program.copies()) else { return };
        let left = copies.as_ptr();
        let out = left.wrapping_add(program.left.bytes() * GROUPED_TILES[0]);
        for tile in &self.tiles[tiles] {
            if context.have_ended() {
                return;
            }
            let rows = &self.order[tile.rows.clone()];
            // SAFETY: guaranteed by the caller; the copies have room for a tile.
            unsafe {
                match tile.group < program.groups {
                    true => self.tile((tile.group, rows), (left, out), context),
                    false => rows.iter().for_each(|&row| self.clear(row)),
                }
            }
        }
    }

    /// Computes the rows of a tile.
    ///
    /// # Safety
    /// As for [`range`](Self::range); the copies have room for a tile.
    unsafe fn tile(
        &self,
        (group, rows): (usize, &[usize]),
        (left, out): (*mut u8, *mut u8),
        context: &Context<'_>,
    ) {
        let program = self.program;
        let fits = program.tiles.iter().rev().find(|(most, _)| *most >= rows.len());
        let Some((most, prepared)) = fits else { return };
        let GroupedProgram { a, b, c, left: piece, out: result, .. } = program;
        let right = b.of(self.bases).wrapping_offset(group as isize * program.step);
        // SAFETY: the rows are elements of the arrays; copies have room for a tile, and rows beyond it are zeros, whose
        // results are not read.
        unsafe {
            for (n, &row) in rows.iter().enumerate() {
                let from = a.of(self.bases).wrapping_offset(program.offset(row, 0));
                let to = left.wrapping_add(n * piece.bytes());
                piece.for_each_run(|offset, at, length| {
                    copy(from.wrapping_offset(offset), to.wrapping_add(at), length);
                });
            }
            let used = rows.len() * piece.bytes();
            ptr::write_bytes(left.add(used), 0, most * piece.bytes() - used);
            prepared.run(left, right, out, context);
            for (n, &row) in rows.iter().enumerate() {
                let to = c.of(self.bases).wrapping_offset(program.offset(row, 1));
                let from = out.wrapping_add(n * result.bytes());
                result.for_each_run(|offset, at, length| {
                    copy(from.wrapping_add(at), to.wrapping_offset(offset), length);
                });
            }
        }
    }

    /// Sets a row to the identity.
    ///
    /// # Safety
    /// As for [`range`](Self::range).
    unsafe fn clear(&self, row: usize) {
        let program = self.program;
        let to = program.c.of(self.bases).wrapping_offset(program.offset(row, 1));
        program.out.for_each_run(|offset, _, length| {
            for at in (0..length).step_by(program.out.size) {
                let to = to.wrapping_offset(offset).wrapping_add(at);
                // SAFETY: only this task accesses the elements of the row.
                unsafe { copy(program.identity.0.as_ptr(), to, program.out.size) };
            }
        });
    }
}

/// Copies bytes.
///
/// # Safety
/// `length` bytes are readable at `from` and writable at `to`, and do not overlap.
unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe { ptr::copy_nonoverlapping(from, to, length) };
}
