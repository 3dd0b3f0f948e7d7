//! Blocked loops as in BLIS: n by cache, k by accuracy and cache, m by cache and thread, tiles by registers.
//!
//! ```text
//! for each block of the shared operand its panels are shared by all threads
//!   for each round of blocks of k      as many as keep those panels in L3
//!     pack shared                      in parallel
//!     for each block of the other one  in parallel
//!       for each block of k            the first overwrites the output (or not), later ones accumulate
//!         for each lhs panel           packed now, and in L1, while the next one is prefetched
//!           for each rhs panel         from L2; the microkernel: a tile of the output in registers
//! ```
//!
//! A microkernel loads more of lhs than of rhs (mr > nr), so the lhs panel stays in L1 and rhs panels come from L2. If
//! a short k makes a large output, each rhs panel is multiplied by a group of lhs panels in turn, so that the output is
//! written in long contiguous runs.
//!
//! Small problems share no panels: each thread has its own columns and packs for itself. If n is large, each thread
//! packs and reads the same range of columns for as long as it has work there, since panels packed by another core come
//! from that core's caches with a higher latency than L3.
//!
//! The shared operand is rhs, or lhs if m is so small that its panels for a block of k stay in L2; tasks then pack
//! panels of rhs. If n is small, lhs is read only once, and is not packed if m is contiguous. If there are few lhs
//! panels, rhs is not packed if k is contiguous: microkernels read the columns of a tile in place.

use super::Context;
use super::block::PreparedBlock;
use super::bundle::{Bundle, Operand};
use super::join::StreamedOutput;
use super::output::{ColumnOffsets, OutputRows, TileRows};
use super::pack::Word;
use super::panel::Flags;
use super::problem::{Problem, Tensors};
use super::shape::Blocking;
use super::shared::SharedPanels;
use super::side::{PackedOperand, Panel, rows_of};
use super::stage::{OutputTile, StagedOutput};
use super::steps::{KBlock, blocks, rounds};
use super::tasks::TaskPartition;
use super::tile::{MicroTile, Microkernel, smallest};
use crate::copy::fence;
use crate::tuning::order::{BLOCK_BYTES, KC, RESIDENT_LHS_BYTES, ROUND_BYTES};
use crate::tuning::time::{
    GROUP_PANELS, OUTPUT_STRIP_BYTES, PREFETCHED_PANELS, SEPARATE_PANELS, SEPARATE_POINTS,
    TASK_PANELS, UNPACKED_LHS_ROWS,
};
use smallvec::SmallVec;
use std::ops::Range;
use std::ptr;

/// A problem with its blocking.
struct Gemm<'a> {
    problem: &'a Problem,
    tensors: Tensors,
    context: &'a Context<'a>,
    blocking: Blocking,
    left: PackedOperand<'a>,
    right: PackedOperand<'a>,
}

/// Computes one batch for the steps `ks` of k. The first block overwrites the output unless the problem accumulates.
///
/// # Safety
/// `W` has the size of an element; `tensors` point to the origins of tensors that are readable (the output: writable)
/// at all points of the problem.
pub(crate) unsafe fn gemm<W: Word>(
    problem: &Problem,
    tensors: Tensors,
    ks: Range<usize>,
    context: &Context,
) {
    let blocking = Blocking::of(problem, context.threads());
    let gemm = Gemm::new(problem, tensors, context, blocking);
    let parts = gemm.parts();
    if parts == 1 {
        // SAFETY: guaranteed by the caller.
        return unsafe { gemm.part::<W>(0..gemm.shared().len(), ks) };
    }
    let panels = gemm.right.len().div_ceil(gemm.right.width);
    let start =
        |part| (crate::threads::cut(panels, part, parts) * gemm.right.width).min(gemm.right.len());
    let blocking = blocking.in_one_range();
    context.parallel_for(parts, |part| {
        let alone = context.alone();
        let gemm = Gemm::new(problem, tensors, &alone, blocking);
        // SAFETY: guaranteed by the caller; parts differ in columns of the output.
        unsafe { gemm.part::<W>(start(part)..start(part + 1), ks.clone()) };
    });
}

/// Computes one batch from given panels of all rows of an operand and all steps. Their width is that of
/// [`width`](super::shape::width).
///
/// # Safety
/// As for [`gemm`]; the panels hold the packed operand.
pub(crate) unsafe fn with_panels<W: Word>(
    problem: &Problem,
    tensors: Tensors,
    (operand, panels): (Operand, &SharedPanels),
    context: &Context,
) {
    let blocking = Blocking::with_panels(problem, operand);
    // SAFETY: guaranteed by the caller.
    unsafe { Gemm::new(problem, tensors, context, blocking).round::<W>(panels) };
}

/// Computes one batch of a problem that is one [`PreparedBlock`].
///
/// # Safety
/// As for [`gemm`].
pub(crate) unsafe fn block<W: Word>(
    problem: &Problem,
    tensors: Tensors,
    block: &PreparedBlock,
    context: &Context,
) {
    let gemm = Gemm::new(problem, tensors, context, block.blocking);
    let (side, round) = (gemm.right, &block.round);
    let range = 0..side.len();
    let flags = SharedPanels::flags(side, &range, round);
    let elements = range.len().next_multiple_of(side.width) * problem.k.len();
    let Some(memory) = context.take(elements * size_of::<W>()) else { return };
    let (memory, within) = (memory.as_ptr(), None);
    let shared = SharedPanels { side, range, round, memory, flags: &flags, within };
    let rows = 0..gemm.left.len();
    // SAFETY: the scratch has room for the panels; the caller guarantees the rest.
    unsafe {
        shared.pack::<W>(context);
        gemm.packed::<W>(&shared, (gemm.left, rows), 0..shared.panels(), &block.columns);
    }
}

/// Blocking of the shared operand: the part of it that is packed at a time.
pub(super) struct SharedBlock {
    join: Option<StreamedOutput>,
    /// Rows (or columns) come in multiples of `unit`,
    unit: usize,
    /// at most `widest` of them.
    widest: usize,
    /// Most steps of k.
    pub(super) most: usize,
    /// Size of that part in bytes.
    pub(super) bytes: usize,
}

impl SharedBlock {
    /// Blocking for `rows` rows (or columns) of the shared operand and `ks` steps.
    pub(super) fn of(
        problem: &Problem,
        blocking: &Blocking,
        rows: usize,
        ks: usize,
        size: usize,
    ) -> Self {
        let steps = blocking.block(ks);
        let widest = (ROUND_BYTES / (KC * size)).min(BLOCK_BYTES / (steps * size).max(1)).max(1);
        let join = StreamedOutput::of(problem, blocking);
        let own = if blocking.shares_lhs { blocking.mr } else { blocking.nr };
        let unit = join.map_or(own, |join| join.columns);
        let widest = (widest * blocking.ranges).next_multiple_of(unit);
        let width = rows.min(widest).next_multiple_of(unit);
        // Whole cache lines along the other axis of k justify more scratch memory.
        let bytes = if problem.tile.is_some() { 2 * ROUND_BYTES } else { ROUND_BYTES };
        let most = (bytes / (width * size).max(1)).max(steps.max(KC));
        let bytes = width.saturating_mul(most.min(ks)).saturating_mul(size);
        Self { join, unit, widest, most, bytes }
    }
}

/// One value for each lhs panel of a group.
type PanelGroup<T> = SmallVec<[T; GROUP_PANELS]>;

/// The rows and columns of the output that a task writes.
struct TileOutput<'a> {
    rows: &'a OutputRows<'a>,
    columns: &'a ColumnOffsets,
}

/// Lines to prefetch during a tile: byte offsets from the element at the origin plus the offset of a step.
struct PrefetchLines {
    from: *const u8,
    lines: Vec<isize>,
}

impl PrefetchLines {
    /// The lines of some rows.
    fn of(side: PackedOperand, rows: Range<usize>, from: *const u8) -> Self {
        Self { from, lines: side.lines(rows) }
    }

    fn nothing() -> Self {
        Self { from: ptr::null(), lines: Vec::new() }
    }
}

impl<'a> Gemm<'a> {
    fn new(
        problem: &'a Problem,
        tensors: Tensors,
        context: &'a Context<'a>,
        blocking: Blocking,
    ) -> Self {
        let left = PackedOperand::new(problem, tensors, Operand::Left, blocking.mr)
            .read_in_place(blocking.unpacked_lhs.map(|lhs| lhs.in_place()));
        let right = PackedOperand::new(problem, tensors, Operand::Right, blocking.nr)
            .read_in_place(blocking.unpacked_rhs.map(|rhs| rhs.in_place(blocking.nr)));
        Self { problem, tensors, context, blocking, left, right }
    }

    /// The operand whose panels are packed first and shared by threads.
    fn shared(&self) -> PackedOperand<'a> {
        if self.blocking.shares_lhs { self.left } else { self.right }
    }

    /// Number of parts into which columns are cut for threads that share no panels. For small problems, packing lhs in
    /// each thread takes less time than moving a shared panel between cores.
    fn parts(&self) -> usize {
        let Blocking { direct, shares_lhs, .. } = self.blocking;
        let threads = self.context.threads();
        // The rounds of a k-tile depend on the number of columns, and so would the order of summation; joined columns
        // are not cut either.
        let joins = StreamedOutput::of(self.problem, &self.blocking).is_some();
        let any = !(direct || shares_lhs || self.problem.tile.is_some() || joins);
        let few = self.problem.points() <= SEPARATE_POINTS;
        let wide = self.right.len() >= SEPARATE_PANELS * threads * self.right.width;
        if any && few && wide { threads } else { 1 }
    }

    /// Computes the products of a range of the shared operand.
    ///
    /// # Safety
    /// As for [`gemm`].
    unsafe fn part<W: Word>(&self, range: Range<usize>, ks: Range<usize>) {
        let Self { problem, context, blocking, .. } = *self;
        let side = self.shared();
        let room = SharedBlock::of(problem, &blocking, range.len(), ks.len(), size_of::<W>());
        let SharedBlock { join, unit, widest, most, bytes } = room;
        let Some(memory) = context.take(bytes) else { return };
        for range in blocks(range, widest, unit) {
            for round in rounds(problem, blocking, ks.clone(), most) {
                if context.have_ended() {
                    return;
                }
                let flags = SharedPanels::flags(side, &range, &round);
                let memory = memory.as_ptr().cast();
                let range = range.clone();
                let (round, flags) = (&round, &flags[..]);
                let shared = SharedPanels { side, range, round, memory, flags, within: None };
                // SAFETY: the scratch has room for the largest block and round; the caller guarantees the rest.
                unsafe {
                    shared.pack::<W>(context);
                    match join {
                        Some(join) => self.joined::<W>(&shared, &join),
                        None => self.round::<W>(&shared),
                    }
                }
            }
        }
    }

    /// Computes the products of a packed block of the shared operand.
    ///
    /// # Safety
    /// As for [`gemm`]; the shared panels are packed.
    unsafe fn round<W: Word>(&self, shared: &SharedPanels) {
        let Blocking { direct, shares_lhs, ranges, group, .. } = self.blocking;
        let other = if shares_lhs { self.right } else { self.left };
        let strip = other.width * (shared.range.len() / ranges).max(1) * size_of::<W>();
        let most = match (direct, shares_lhs) {
            (true, _) => UNPACKED_LHS_ROWS / other.width,
            (_, true) => {
                RESIDENT_LHS_BYTES / (shared.longest().max(1) * size_of::<W>()) / other.width
            }
            _ if group > 1 => TASK_PANELS,
            _ => (OUTPUT_STRIP_BYTES / strip).min(TASK_PANELS),
        };
        let threads = self.context.threads();
        if let Some(stage) = self.stage(shared) {
            let parts = stage.parts(other.len());
            return self.context.parallel_for(parts.len(), |n| {
                // SAFETY: guaranteed by the caller; parts differ in rows of the output.
                unsafe { self.staged::<W>(shared, (&stage, parts[n].clone()), most) };
            });
        }
        let panels = other.len().div_ceil(other.width);
        let cut = match ranges {
            1 => TaskPartition::new(panels, most, shared.panels(), threads),
            _ => TaskPartition::by_ranges(panels, most, shared.panels(), ranges),
        };
        let columns = (!shares_lhs).then(|| ColumnOffsets::new(self.problem, &shared.range));
        cut.run(self.context, |panels, part| {
            let rows = rows_of(&(0..other.len()), other.width, panels);
            // SAFETY: guaranteed by the caller; tasks differ in rows or columns of the output.
            unsafe {
                match &columns {
                    Some(columns) => self.rows::<W>(shared, rows, part, columns),
                    None => self.columns::<W>(shared, rows, part),
                }
            }
        });
    }

    /// Computes the products of a block of columns by parts whose runs are joined and streamed to the output.
    ///
    /// # Safety
    /// As for [`round`](Self::round); the round is one block of k.
    unsafe fn joined<W: Word>(&self, shared: &SharedPanels, join: &StreamedOutput) {
        let Self { problem, context, left, .. } = *self;
        let Some(steps) = shared.round.blocks.first() else { return };
        let dense = problem.dense(join.rows);
        let out = OutputRows::few(&dense);
        let parts = left.len().div_ceil(join.rows);
        context.parallel_in_order(parts, |part| {
            let all = self.tensors;
            let rows = part * join.rows..((part + 1) * join.rows).min(left.len());
            let room = join.rows.next_multiple_of(left.width) * steps.len();
            let memory = context.take(join.bytes(size_of::<W>()));
            let panels = context.take(room * size_of::<W>());
            let (Some(memory), Some(panels)) = (memory, panels) else { return };
            let pack = |panel: usize| {
                let to = panels.as_ptr().cast::<W>();
                let to = to.wrapping_add(panel * steps.len() * left.width);
                // SAFETY: the scratch has room for the panels; the caller guarantees the rest.
                unsafe { left.pack(context, steps, left.rows(&rows, panel), to) }
            };
            let own: Vec<Panel> = (0..rows.len().div_ceil(left.width)).map(pack).collect();
            for start in shared.range.clone().step_by(join.columns) {
                if context.have_ended() {
                    break;
                }
                let columns = start..start + join.columns;
                let before = (rows.start + columns.start * join.rows) * size_of::<W>();
                let tensors = Tensors { out: memory.as_ptr().wrapping_sub(before), ..all };
                let gemm = Gemm::new(&dense, tensors, context, self.blocking);
                let out = TileOutput { rows: &out, columns: &ColumnOffsets::new(&dense, &columns) };
                let first = (start - shared.range.start) / shared.side.width;
                let some = first..first + join.columns / shared.side.width;
                let common = shared.some::<W>(0, &some);
                // SAFETY: guaranteed by the caller; parts differ in rows of the output, and the memory has room for
                // one.
                unsafe {
                    own.iter().for_each(|&l| gemm.strip::<W>(steps, l, &common, &out));
                    let from = memory.as_ptr().cast_const();
                    let ranges = (rows.clone(), columns);
                    join.put((problem, context.level), ranges, all.out, from);
                }
            }
            fence();
        });
    }

    /// The staging of rows in scratch memory, if the output is faster to write from there.
    fn stage(&self, shared: &SharedPanels) -> Option<StagedOutput> {
        let (threads, level) = (self.context.threads(), self.context.level);
        let rows = !self.blocking.shares_lhs;
        rows.then(|| StagedOutput::of(self.problem, &shared.range, (threads, level))).flatten()
    }

    /// Computes some rows in scratch memory, `most` panels at a time, and moves them to the output.
    ///
    /// # Safety
    /// As for [`round`](Self::round).
    unsafe fn staged<W: Word>(
        &self,
        shared: &SharedPanels,
        (stage, rows): (&StagedOutput, Range<usize>),
        most: usize,
    ) {
        // SAFETY: guaranteed by the caller; the part has room for the rows.
        unsafe {
            self.by_part(shared, stage, (rows.clone(), shared.range.clone()), |gemm, columns| {
                for rows in blocks(rows, most.max(1) * gemm.left.width, gemm.left.width) {
                    gemm.rows::<W>(shared, rows, 0..shared.panels(), columns);
                }
            });
        }
    }

    /// Computes some columns for a range of shared panels. Windows are computed in scratch memory, since the rows are
    /// not contiguous in an output whose columns are.
    ///
    /// # Safety
    /// As for [`round`](Self::round).
    unsafe fn columns<W: Word>(
        &self,
        shared: &SharedPanels,
        columns: Range<usize>,
        part: Range<usize>,
    ) {
        // SAFETY: guaranteed by the caller; the part has room for the columns.
        unsafe {
            if self.blocking.unpacked_rhs.is_some_and(|rhs| rhs.windows) {
                let stage = StagedOutput::of_all_rows(self.problem);
                let ranges = (shared.rows_of(part.clone()), columns.clone());
                self.by_part(shared, &stage, ranges, |gemm, all| {
                    gemm.packed::<W>(shared, (gemm.right, columns), part, all);
                });
            } else {
                let all = ColumnOffsets::new(self.problem, &columns);
                self.packed::<W>(shared, (self.right, columns), part, &all);
            }
        }
    }

    /// Computes some rows and columns in scratch memory, and moves them to the output.
    ///
    /// # Safety
    /// As for [`round`](Self::round); `compute` computes all of them.
    unsafe fn by_part(
        &self,
        shared: &SharedPanels,
        stage: &StagedOutput,
        (rows, columns): (Range<usize>, Range<usize>),
        compute: impl FnOnce(&Gemm, &ColumnOffsets),
    ) {
        let ranges = (rows, columns.clone());
        let part = OutputTile::new((self.problem, stage), self.tensors.out, ranges, self.context);
        let Some(part) = part else { return };
        let dense = part.dense();
        let tensors = Tensors { out: part.origin(), ..self.tensors };
        let gemm = Gemm::new(&dense, tensors, self.context, self.blocking);
        let columns = ColumnOffsets::new(&dense, &columns);
        // SAFETY: guaranteed by the caller.
        unsafe {
            if shared.round.blocks.first().is_some_and(|steps| steps.accumulate) {
                part.get();
            }
            compute(&gemm, &columns);
            part.put();
        }
    }

    /// Computes some rows for a range of shared panels.
    ///
    /// # Safety
    /// As for [`round`](Self::round).
    unsafe fn rows<W: Word>(
        &self,
        shared: &SharedPanels,
        rows: Range<usize>,
        part: Range<usize>,
        columns: &ColumnOffsets,
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.blocking.direct {
                true => self.direct_rows::<W>(shared, rows, part, columns),
                false => self.packed::<W>(shared, (self.left, rows), part, columns),
            }
        }
    }

    /// Packs the panels of the other operand for some rows (or columns), and multiplies them by a range of shared
    /// panels, block of k by block of k.
    ///
    /// # Safety
    /// As for [`round`](Self::round).
    unsafe fn packed<W: Word>(
        &self,
        shared: &SharedPanels,
        (other, rows): (PackedOperand, Range<usize>),
        part: Range<usize>,
        columns: &ColumnOffsets,
    ) {
        let out = match self.blocking.shares_lhs {
            true => OutputRows::new(self.problem, &shared.range),
            false => OutputRows::new(self.problem, &rows),
        };
        let out = TileOutput { rows: &out, columns };
        let panels = rows.len().div_ceil(other.width);
        let Blocking { shares_lhs, group, .. } = self.blocking;
        let (room, fetches) = if shares_lhs { (panels, false) } else { (group, self.fetches()) };
        let elements = room * shared.longest() * other.width;
        let Some(memory) = self.context.take(elements * size_of::<W>()) else { return };
        let memory = memory.as_ptr().cast::<W>();
        let blocks = &shared.round.blocks;
        // A single thread has all panels, so the operands of the next batch are known.
        let next = self.tensors.next.filter(|_| self.context.threads() == 1 && blocks.len() == 1);
        for (block, steps) in blocks.iter().enumerate() {
            let pack = |panel: usize| {
                let to = memory.wrapping_add(panel % room * steps.len() * other.width);
                // SAFETY: the scratch has room for the panels; the caller guarantees the rest.
                unsafe { other.pack(self.context, steps, other.rows(&rows, panel), to) }
            };
            let common = shared.some::<W>(block, &part);
            if shares_lhs {
                let own: Vec<Panel> = (0..panels).map(pack).collect();
                for &left in common.iter().take_while(|_| !self.context.have_ended()) {
                    // SAFETY: the panels are packed; the caller guarantees the rest.
                    unsafe { self.strip::<W>(steps, left, &own, &out) };
                }
                continue;
            }
            let ahead = |panel: usize| match next {
                _ if panel + room < panels && fetches => {
                    PrefetchLines::of(other, other.rows(&rows, panel + room), self.tensors.left)
                }
                Some([next, _]) if rows.end == other.len() && panel + 1 == panels => {
                    PrefetchLines::of(other, other.rows(&(0..other.len()), 0), next)
                }
                _ => PrefetchLines::nothing(),
            };
            for start in (0..panels).step_by(room) {
                if self.context.have_ended() {
                    return;
                }
                let group = start..(start + room).min(panels);
                let lefts: PanelGroup<_> = group.map(|panel| (pack(panel), ahead(panel))).collect();
                // SAFETY: the panels are packed; the caller guarantees the rest.
                unsafe { self.strips::<W>(steps, &lefts, &common, &out) };
            }
        }
    }

    /// Computes the tiles of one lhs panel by several rhs panels.
    ///
    /// # Safety
    /// As for [`round`](Self::round); the panels are packed.
    unsafe fn strip<W: Word>(
        &self,
        steps: &KBlock,
        left: Panel,
        right: &[Panel],
        out: &TileOutput,
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.strips::<W>(steps, &[(left, PrefetchLines::nothing())], right, out) };
    }

    /// Computes the tiles of several lhs panels by several rhs panels, with prefetch. The lhs panels form the inner
    /// loop, since their tiles are adjacent in the output.
    ///
    /// # Safety
    /// As for [`round`](Self::round); the panels are packed.
    unsafe fn strips<W: Word>(
        &self,
        steps: &KBlock,
        left: &[(Panel, PrefetchLines)],
        right: &[Panel],
        out: &TileOutput,
    ) {
        let each = steps.len().div_ceil(right.len().max(1));
        let mut tiles: PanelGroup<_> =
            left.iter().map(|left| self.tile(steps, left, out)).collect();
        let mut entries = PanelGroup::<Microkernel>::new();
        for (n, panel) in right.iter().enumerate() {
            // Selecting a microkernel takes longer than a few of its steps, so it is done once for panels of the same
            // kind.
            if n == 0 || !panel.is_like(&right[n - 1]) {
                entries = left.iter().map(|(left, _)| self.entry(left, panel)).collect();
            }
            for (((_, ahead), (place, tile)), &entry) in left.iter().zip(&mut tiles).zip(&entries) {
                let all = if ahead.lines.is_empty() { 0 } else { steps.len() };
                tile.fetched = (n * each).min(all);
                tile.fetches = ((n + 1) * each).min(all) - tile.fetched;
                // SAFETY: guaranteed by the caller.
                unsafe { self.compute::<W>(entry, tile, panel, (*place, out.columns)) };
            }
        }
    }

    /// Returns true if the next lhs panel is prefetched during a tile: with several batches, if lhs is far larger than
    /// the output, if it is out of cache and k is short, if it is packed again for each range of columns, or if columns
    /// are closer to each other in the output than rows.
    fn fetches(&self) -> bool {
        let distance = |bundle: &Bundle, n: usize| {
            let far = bundle.offset(Operand::Out, n.min(bundle.len().saturating_sub(1)));
            far.unsigned_abs()
        };
        let Problem { m, n, k, .. } = self.problem;
        let batches = self.tensors.next.is_some();
        let soon = self.blocking.out_of_l2 && n.len() <= PREFETCHED_PANELS * self.blocking.nr;
        batches
            || soon
            || self.blocking.ranges > 1
            || k.len() / 2 >= n.len()
            || distance(n, self.blocking.nr) < distance(m, self.blocking.mr)
    }

    /// The microkernel for an lhs and an rhs panel.
    fn entry(&self, left: &Panel, right: &Panel) -> Microkernel {
        let algebra = &self.problem.algebra;
        // The microkernel must not write beyond panels that are filled up.
        let groups = left.count.div_ceil(algebra.lanes)..=self.blocking.mr / algebra.lanes;
        let columns = right.count..=self.blocking.nr;
        if right.in_place {
            let windows = self.blocking.unpacked_rhs.is_some_and(|rhs| rhs.windows);
            let entries = if windows { algebra.tiles.windows } else { algebra.tiles.rhs_in_place };
            return smallest(entries, groups, columns);
        }
        let fast = algebra.guarded && (algebra.nan_free)(left.flags, right.flags);
        let entries = if fast { algebra.fast.packed } else { algebra.tiles.packed };
        let first = entries[0];
        match left.count == first.groups * algebra.lanes && right.count == first.columns {
            true => first,
            false => smallest(entries, groups, columns),
        }
    }

    /// Computes some rows from an unpacked lhs, one contiguous run at a time.
    ///
    /// # Safety
    /// As for [`round`](Self::round).
    unsafe fn direct_rows<W: Word>(
        &self,
        shared: &SharedPanels,
        rows: Range<usize>,
        part: Range<usize>,
        columns: &ColumnOffsets,
    ) {
        let out = TileOutput { rows: &OutputRows::few(self.problem), columns };
        let m = &self.problem.m;
        let run = m.run(Operand::Left);
        for (block, steps) in shared.round.blocks.iter().enumerate() {
            let right = shared.some::<W>(block, &part);
            let mut start = rows.start;
            while start < rows.end && !self.context.have_ended() {
                let end = (start + run - start % run).min(rows.end);
                // SAFETY: the rows are in the tensor.
                unsafe {
                    let first = m.offset(Operand::Left, start);
                    let first = self.tensors.left.cast::<W>().offset(first);
                    self.direct_run::<W>(steps, &right, start..end, first, &out);
                }
                start = end;
            }
        }
    }

    /// Computes contiguous rows of an unpacked lhs, the first of which is at `left`.
    ///
    /// # Safety
    /// As for [`round`](Self::round).
    unsafe fn direct_run<W: Word>(
        &self,
        steps: &KBlock,
        right: &[Panel],
        rows: Range<usize>,
        left: *const W,
        out: &TileOutput,
    ) {
        let algebra = &self.problem.algebra;
        let of_width = |e: &&Microkernel| e.columns == self.blocking.nr;
        let mut start = rows.start;
        while start < rows.end {
            let groups = (rows.end - start) / algebra.lanes;
            let entries = algebra.tiles.direct.iter().filter(of_width);
            let entry = entries.filter(|e| e.groups <= groups).max_by_key(|e| e.groups);
            let Some(&entry) = entry else { break };
            let count = entry.groups * algebra.lanes;
            // SAFETY: `count` rows remain.
            let data = unsafe { left.add(start - rows.start) };
            let flags = Flags::NONE;
            let left = Panel { data: data.cast(), start, count, flags, in_place: false };
            let (place, mut tile) = self.tile(steps, &(left, PrefetchLines::nothing()), out);
            for right in right {
                // SAFETY: the rows are there; the panel is packed.
                unsafe { self.compute::<W>(entry, &mut tile, right, (place, out.columns)) };
            }
            start += count;
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.direct_tail::<W>(steps, right, start..rows.end, out) };
    }

    /// Computes the remaining rows, fewer than a group of lanes, from a packed panel.
    ///
    /// # Safety
    /// As for [`round`](Self::round).
    unsafe fn direct_tail<W: Word>(
        &self,
        steps: &KBlock,
        right: &[Panel],
        rows: Range<usize>,
        out: &TileOutput,
    ) {
        if rows.is_empty() {
            return;
        }
        let bytes = steps.len() * self.left.width * size_of::<W>();
        let Some(panel) = self.context.take(bytes) else { return };
        // SAFETY: the scratch holds a panel; the caller guarantees the rest.
        unsafe {
            let to = panel.as_ptr().cast::<W>();
            let left = self.left.pack(self.context, steps, rows, to);
            self.strip::<W>(steps, left, right, out);
        }
    }

    /// The arguments that all tiles of an lhs panel (packed, or rows in place) have in common, and their place in the
    /// output.
    fn tile<'o>(
        &self,
        steps: &KBlock,
        (left, ahead): &(Panel, PrefetchLines),
        out: &'o TileOutput,
    ) -> (TileRows<'o>, MicroTile) {
        let tile = MicroTile {
            k: steps.len(),
            left: left.data,
            left_step: match self.blocking.unpacked_lhs {
                Some(lhs) if left.in_place => lhs.step,
                _ => self.blocking.mr,
            },
            left_offsets: steps.offsets(Operand::Left).as_ptr(),
            ahead: self.blocking.out_of_l2,
            fetched: 0,
            fetches: 0,
            lines: (ahead.lines.as_ptr(), ahead.lines.len()),
            next: ahead.from,
            right: ptr::null(),
            right_step: self.blocking.nr,
            right_apart: self.blocking.unpacked_rhs.map_or(1, |rhs| rhs.apart),
            right_offsets: steps.offsets(Operand::Right).as_ptr(),
            out: self.tensors.out,
            columns: ptr::null(),
            width: 0,
            rows: left.count,
            accumulate: steps.accumulate,
            identity: self.problem.algebra.identity.0.as_ptr(),
        };
        (TileRows::new(out.rows, left.start, left.count), tile)
    }

    /// Computes the tile of an lhs panel by an rhs panel.
    ///
    /// # Safety
    /// As for [`gemm`]; the microkernel reads such panels.
    #[inline(always)]
    unsafe fn compute<W: Word>(
        &self,
        entry: Microkernel,
        tile: &mut MicroTile,
        right: &Panel,
        (place, columns): (TileRows, &ColumnOffsets),
    ) {
        let columns = columns.at(right.start, right.count);
        tile.right = right.data;
        tile.right_step = if right.in_place { 1 } else { self.blocking.nr };
        (tile.columns, tile.width) = (columns.as_ptr(), columns.len());
        // SAFETY: the microkernel's level is the context's; the output has these rows and columns.
        unsafe { place.write::<W>(self.tensors, entry, tile, columns) };
    }
}
