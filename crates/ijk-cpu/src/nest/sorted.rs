//! Parallel combination of rows at computed destinations of an array.
//!
//! Threads list parts of the rows, and test if destinations are in ascending order. If so, rows with a common
//! destination are adjacent, and each thread moves those of its part. Otherwise, in the order of rows, each row of a
//! large array moves its destination between memory and cache, and memory bandwidth limits all threads. So rows are
//! first sorted by the region of their destination, which stays in a core's L2 while all of its rows are combined; for
//! a smaller array, by the thread whose part the destination is in. Rows with a common destination keep their order, so
//! that sums are the same.

use super::launch::{Launch, OUT_OF_MEMORY, part_of};
use super::program::Instruction;
use super::rows::{List, RowSpec, Table};
use super::run::Worker;
use crate::error::RunError;
use crate::scratch::Scratch;
use crate::threads::cut;
use ijk_kernels::tuning::time::TASKS_PER_THREAD;
use ijk_kernels::tuning::time::{
    FEW_THREADS, LISTED_POINTS, MANY_THREADS, SORTED_ARRAY_BYTES, SORTED_ARRAY_BYTES_OF_FEW,
    SORTED_REGION_BYTES, SORTED_REGIONS, SORTED_REUSE, SORTED_ROWS,
};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// Returns true if the ratio of moved bytes to array bytes is high enough for sorting: rows are then read in another
/// order, which costs as much as it gains if each destination occurs once.
fn meet_often(moved: usize, bytes: usize) -> bool {
    moved / SORTED_REUSE[0] >= bytes / SORTED_REUSE[1]
}

/// Limit in bytes for lists: of rows, which may then be sorted, and each of which may overlap two regions.
pub(super) fn bytes(rows: &RowSpec, points: usize) -> usize {
    3 * Table::bytes(rows, points.min(2 * LISTED_POINTS))
}

/// Partition of an array into regions of elements of nearly equal length.
#[derive(Clone, Debug)]
pub(super) struct Regions {
    reach: Range<i64>,
    count: usize,
    /// Regions per element, as a fraction of 2⁶⁴: a multiplication yields the region of an element.
    scale: u64,
}

impl Regions {
    /// The regions of the array that a nest of `points` rows adds to: of the size of L2 if sorting by them pays,
    /// otherwise one for each thread. `None` if the array is too small.
    pub(super) fn of(rows: &RowSpec, points: usize, threads: usize) -> Option<Self> {
        let reach = rows.reach();
        let elements = usize::try_from(reach.end.checked_sub(reach.start)?).ok()?;
        let bytes = elements.checked_mul(rows.size)?;
        let moved = points.saturating_mul(rows.length * rows.size);
        let large =
            if threads < MANY_THREADS { SORTED_ARRAY_BYTES_OF_FEW } else { SORTED_ARRAY_BYTES };
        let count = match bytes >= large && meet_often(moved, bytes) {
            true => (bytes / SORTED_REGION_BYTES).clamp(threads, SORTED_REGIONS.max(threads)),
            false => threads,
        };
        Self::cut(reach, count, rows.length)
    }

    /// `count` regions, if each is longer than a row, so that a row overlaps at most two.
    fn cut(reach: Range<i64>, count: usize, length: usize) -> Option<Self> {
        let elements = usize::try_from(reach.end.checked_sub(reach.start)?).ok()?;
        if count < 2 || elements / count <= length {
            return None;
        }
        let scale = u64::try_from(((count as u128) << 64) / elements as u128).ok()?;
        Some(Self { reach, count, scale })
    }

    /// The elements of a region.
    fn elements(&self, region: usize) -> Range<i64> {
        let scale = u128::from(self.scale);
        let bound = |region: usize| match region {
            _ if region >= self.count => self.reach.end,
            _ => self.reach.start + ((region as u128) << 64).div_ceil(scale) as i64,
        };
        bound(region)..bound(region + 1)
    }

    /// The one or two regions that a row of `length` elements overlaps; the second may equal the first.
    #[inline(always)]
    fn around(&self, to: i64, length: usize) -> [usize; 2] {
        let region = |at: i64| {
            let at = u128::from((at - self.reach.start) as u64);
            ((at * u128::from(self.scale)) >> 64) as usize
        };
        [region(to), region(to + length as i64 - 1)]
    }
}

/// The list of one task.
struct Listed {
    table: Table,
    len: AtomicUsize,
    /// True if destinations are in ascending order.
    ascends: AtomicBool,
}

impl Listed {
    fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Destinations of its rows.
    ///
    /// # Safety
    /// The list is complete.
    unsafe fn places(&self) -> &[i64] {
        // SAFETY: guaranteed by the caller.
        unsafe { self.table.places(self.len()) }
    }
}

/// Returns true if the destinations of all lists are in ascending order.
///
/// # Safety
/// All lists are complete.
unsafe fn ascend(lists: &[Listed]) -> bool {
    let mut last = i64::MIN;
    lists.iter().all(|list| {
        // SAFETY: guaranteed by the caller.
        let places = unsafe { list.places() };
        let ascends = list.ascends.load(Ordering::Relaxed);
        let follows = places.first().is_none_or(|&first| first >= last);
        last = places.last().copied().unwrap_or(last);
        ascends && follows
    })
}

impl Launch<'_> {
    /// Executes a nest whose rows are combined with the output: several threads list rows, and then move those of their
    /// parts of the output, so that elements are combined in the order of rows for any number of threads.
    ///
    /// # Safety
    /// As for [`run`](Self::run); the nest moves rows as `rows` says.
    pub(super) unsafe fn run_listed(&self, rows: &RowSpec) -> Result<u32, RunError> {
        let blocks: usize = self.nest.blocks.iter().product();
        let faults = AtomicU32::new(0);
        // SAFETY: guaranteed by the caller; of its blocks, the first is processed before the others.
        unsafe {
            if self.workers.threads() > FEW_THREADS || !self.is_brief(rows) {
                self.rounds(rows, 0..blocks, &faults)?;
            } else if self.rounds(rows, 0..1, &faults)? {
                self.rounds(rows, 1..blocks, &faults)?;
            } else {
                self.work(&faults, |worker| worker.run(1..blocks));
            }
        }
        self.settle(faults)
    }

    /// Executes a nest whose sums are rounded: in parts, or in the order of rows if the destinations of the first block
    /// are in ascending order.
    ///
    /// # Safety
    /// As for [`run_listed`](Self::run_listed).
    pub(super) unsafe fn run_sums(&self, rows: &RowSpec) -> Result<u32, RunError> {
        let blocks: usize = self.nest.blocks.iter().product();
        let faults = AtomicU32::new(0);
        // SAFETY: guaranteed by the caller; the first block is processed before the others.
        unsafe {
            let ascends = self.rounds(rows, 0..blocks.min(1), &faults)?;
            let failed = faults.load(Ordering::Relaxed) != 0 || self.workers.have_ended();
            match self.copies(rows).filter(|_| !ascends && blocks > 1) {
                _ if failed => {}
                Some(copies) => return self.run_copies(&copies, 1..blocks),
                None if self.is_large() => drop(self.rounds(rows, 1..blocks, &faults)?),
                None => self.work(&faults, |worker| worker.run(1..blocks)),
            }
        }
        self.settle(faults)
    }

    /// Lists and moves the rows of some blocks, as many at a time as there is memory for; returns true if their
    /// destinations are in ascending order each time.
    ///
    /// # Safety
    /// As for [`run_listed`](Self::run_listed).
    unsafe fn rounds(
        &self,
        rows: &RowSpec,
        blocks: Range<usize>,
        faults: &AtomicU32,
    ) -> Result<bool, RunError> {
        let tile: usize = self.nest.geometry.loops.iter().map(|l| l.tile).product();
        let round = (LISTED_POINTS / tile.max(1)).max(1);
        let mut ascends = true;
        for start in blocks.clone().step_by(round) {
            let blocks = start..blocks.end.min(start + round);
            // SAFETY: guaranteed by the caller.
            ascends &= unsafe { self.round(rows, (blocks, tile), faults)? };
            if faults.load(Ordering::Relaxed) != 0 {
                break;
            }
        }
        Ok(ascends)
    }

    /// Tells whether rows are read in order and combined in one call, so that there is little to divide among threads.
    fn is_brief(&self, rows: &RowSpec) -> bool {
        let gathers = |each: &Instruction| {
            matches!(each, Instruction::Gather { .. } | Instruction::Lookup(_))
        };
        rows.many.is_some()
            && rows.sources.iter().all(|source| source.readable.is_none())
            && !self.nest.instructions.iter().any(gathers)
    }

    /// Executes some blocks of rows; returns true if their destinations are in ascending order.
    ///
    /// # Safety
    /// As for [`run_listed`](Self::run_listed).
    unsafe fn round(
        &self,
        rows: &RowSpec,
        (blocks, tile): (Range<usize>, usize),
        faults: &AtomicU32,
    ) -> Result<bool, RunError> {
        let parts = (self.workers.threads() * TASKS_PER_THREAD).min(blocks.len());
        let part = |n: usize| cut(blocks.len(), n, parts);
        let memory = self.room(rows, blocks.len() * tile)?;
        let listed = Table::new(rows, blocks.len() * tile, memory.as_ptr());
        let list = |n: usize| Listed {
            table: listed.from(part(n) * tile),
            len: AtomicUsize::new(0),
            ascends: AtomicBool::new(false),
        };
        let lists: Vec<Listed> = (0..parts).map(list).collect();
        self.each(parts, |n| {
            let own = blocks.start + part(n)..blocks.start + part(n + 1);
            // SAFETY: guaranteed by the caller; each part has its own room, and nothing is moved.
            unsafe {
                self.work(faults, |worker: &mut Worker<'_>| {
                    worker.list = Some(List::new(lists[n].table.clone()));
                    worker.run(own);
                    let (len, ascends) = worker.list.take().map_or((0, true), List::finish);
                    lists[n].len.store(len, Ordering::Relaxed);
                    lists[n].ascends.store(ascends, Ordering::Relaxed);
                });
            }
        });
        // A cancelled run leaves parts out, here or later; it stays cancelled.
        if faults.load(Ordering::Relaxed) != 0 || self.workers.have_ended() {
            return Ok(true);
        }
        // SAFETY: all offsets were checked when they were listed; the caller guarantees the rest.
        unsafe {
            let ascends = ascend(&lists);
            match Regions::of(rows, self.points(), self.workers.threads()) {
                _ if ascends => self.move_ascending(rows, &lists, faults),
                Some(regions) if regions.count > self.workers.threads().min(MANY_THREADS) => {
                    self.move_regions(rows, &regions, &lists, faults)?;
                }
                // With few threads, selecting the rows of each is faster than sorting.
                _ if self.workers.threads() < MANY_THREADS => match self.columns(rows) {
                    Some(columns) => self.move_columns(rows, &lists, columns),
                    None => self.move_parts(rows, &lists, faults),
                },
                _ => self.move_parts(rows, &lists, faults),
            }
            Ok(ascends)
        }
    }

    /// Memory for `count` rows.
    fn room(&self, rows: &RowSpec, count: usize) -> Result<Scratch<'_>, RunError> {
        let bytes = Table::bytes(rows, count);
        self.scratch.try_take(bytes).ok_or(RunError::OutOfMemory(bytes))
    }

    /// Moves rows whose destinations are in ascending order: each task has the destinations between the first ones of
    /// two lists, whose rows are in the first of these lists or before.
    ///
    /// # Safety
    /// As for [`move_rows`](Self::move_rows); lists ascend.
    unsafe fn move_ascending(&self, rows: &RowSpec, lists: &[Listed], faults: &AtomicU32) {
        let reach = rows.reach();
        let mut bounds = vec![reach.end; lists.len() + 1];
        for (n, list) in lists.iter().enumerate().rev() {
            // SAFETY: lists are complete.
            bounds[n] = unsafe { list.places() }.first().copied().unwrap_or(bounds[n + 1]);
        }
        bounds[0] = reach.start;
        self.each(lists.len(), |n| {
            let own = bounds[n]..bounds[n + 1];
            let before = own.start.saturating_sub(rows.length as i64);
            for list in lists[..=n].iter().filter(|_| !own.is_empty()) {
                // SAFETY: guaranteed by the caller; parts of the output are disjoint.
                unsafe {
                    let first = list.places().partition_point(|&to| to <= before);
                    let table = list.table.from(first);
                    self.move_rows(rows, (&table, list.len() - first), &own, faults);
                }
            }
        });
    }

    /// Number of elements of each row for a thread, if rows can be split by columns.
    fn columns(&self, rows: &RowSpec) -> Option<usize> {
        let out = self.nest.row_bases(rows, self.bases).out;
        let bytes = (rows.reach().start as isize).wrapping_mul(rows.size as isize);
        rows.columns_of(out.wrapping_offset(bytes), self.workers.threads())
    }

    /// Moves all rows on each thread, `columns` elements of each row.
    ///
    /// # Safety
    /// As for [`move_rows`](Self::move_rows); [`columns`](Self::columns) returned `columns`.
    unsafe fn move_columns(&self, rows: &RowSpec, lists: &[Listed], columns: usize) {
        let bases = self.nest.row_bases(rows, self.bases);
        self.each(rows.length / columns, |part| {
            let own = part * columns..(part + 1) * columns;
            for list in lists {
                let each = rows.at_a_time();
                for first in (0..list.len()).step_by(each) {
                    let batch = list.table.from(first).batch(each.min(list.len() - first));
                    // SAFETY: guaranteed by the caller; offsets were checked when rows were listed, and parts are
                    // disjoint.
                    unsafe { rows.run_columns(&batch, &bases, own.clone()) };
                    if self.workers.have_ended() {
                        return;
                    }
                }
            }
        });
    }

    /// Moves all rows on each thread, of which each selects those of its part of the output.
    ///
    /// # Safety
    /// As for [`move_rows`](Self::move_rows).
    unsafe fn move_parts(&self, rows: &RowSpec, lists: &[Listed], faults: &AtomicU32) {
        let parts = self.workers.threads();
        self.each(parts, |part| {
            let own = part_of(&rows.reach(), part, parts);
            for list in lists {
                // SAFETY: guaranteed by the caller; parts are disjoint.
                unsafe { self.move_rows(rows, (&list.table, list.len()), &own, faults) };
            }
        });
    }

    /// Moves rows region by region.
    ///
    /// # Safety
    /// As for [`move_rows`](Self::move_rows).
    unsafe fn move_regions(
        &self,
        rows: &RowSpec,
        regions: &Regions,
        lists: &[Listed],
        faults: &AtomicU32,
    ) -> Result<(), RunError> {
        let parts: Vec<Part> = lists.iter().map(|_| Part::new(regions)).collect();
        self.each(parts.len(), |n| {
            // SAFETY: the list is complete.
            parts[n].count(regions, rows.length, unsafe { lists[n].places() });
        });
        let bounds = bounds(regions, &parts);
        let total = bounds[regions.count];
        let memory = self.room(rows, total)?;
        let sorted = Table::new(rows, total, memory.as_ptr());
        self.each(parts.len(), |n| {
            // SAFETY: these are the rows that the part listed; the positions of each part and region are disjoint.
            unsafe { parts[n].sort(regions, rows.length, &lists[n], &sorted) };
        });
        if self.workers.have_ended() {
            return Ok(());
        }
        self.each(regions.count, |region| {
            let range = bounds[region]..bounds[region + 1];
            let (table, own) = (sorted.from(range.start), regions.elements(region));
            // SAFETY: all parts are sorted; regions are disjoint.
            unsafe { self.move_rows(rows, (&table, range.len()), &own, faults) };
        });
        Ok(())
    }

    /// Moves `count` rows of a table, as far as they are inside the elements `own`.
    ///
    /// # Safety
    /// As for [`run`](Self::run); the rows are listed, and no other thread accesses these elements.
    unsafe fn move_rows(
        &self,
        rows: &RowSpec,
        (table, count): (&Table, usize),
        own: &Range<i64>,
        faults: &AtomicU32,
    ) {
        let Some(registers) = self.scratch.try_take(rows.program.bytes()) else {
            faults.fetch_or(OUT_OF_MEMORY, Ordering::Relaxed);
            return;
        };
        let bases = self.nest.row_bases(rows, self.bases);
        let each = rows.at_a_time();
        for first in (0..count).step_by(each).take_while(|_| !self.workers.have_ended()) {
            let batch = table.from(first).batch(each.min(count - first));
            // SAFETY: guaranteed by the caller; offsets were checked when rows were listed.
            unsafe { rows.run(&batch, &bases, own, registers.as_ptr()) };
        }
    }
}

/// For each region, the number of rows of one task that overlap it; then their positions in the sorted table.
struct Part(Vec<AtomicU32>);

impl Part {
    fn new(regions: &Regions) -> Self {
        Self((0..regions.count).map(|_| AtomicU32::new(0)).collect())
    }

    /// Counts rows by the regions of their destinations.
    fn count(&self, regions: &Regions, length: usize, to: &[i64]) {
        let mut counts = vec![0; regions.count];
        for &to in to {
            let [first, last] = regions.around(to, length);
            counts[first] += 1;
            if last != first {
                counts[last] += 1;
            }
        }
        self.0.iter().zip(counts).for_each(|(place, n)| place.store(n, Ordering::Relaxed));
    }

    /// Copies its listed rows to the positions of their regions, in order.
    ///
    /// # Safety
    /// The list is complete; `sorted` has room for all rows of all parts, and no other thread writes this part's.
    unsafe fn sort(&self, regions: &Regions, length: usize, listed: &Listed, sorted: &Table) {
        let next = |place: &AtomicU32| place.load(Ordering::Relaxed);
        let mut next: Vec<u32> = self.0.iter().map(next).collect();
        let (mut places, mut rows) = ([0; 2 * SORTED_ROWS], [0; 2 * SORTED_ROWS]);
        // SAFETY: guaranteed by the caller.
        let to = unsafe { listed.places() };
        for (chunk, to) in to.chunks(SORTED_ROWS).enumerate() {
            let mut count = 0;
            let mut put = |row: usize, region: usize| {
                (places[count], rows[count]) = (next[region], (chunk * SORTED_ROWS + row) as u32);
                next[region] += 1;
                count += 1;
            };
            for (row, &to) in to.iter().enumerate() {
                let [first, last] = regions.around(to, length);
                put(row, first);
                if last != first {
                    put(row, last);
                }
            }
            // SAFETY: guaranteed by the caller; rows and positions are those of the list.
            unsafe { sorted.bring(&places[..count], &listed.table, &rows[..count]) };
        }
    }
}

/// Start of the rows of each region, and their end; sets the start of each part.
fn bounds(regions: &Regions, parts: &[Part]) -> Vec<usize> {
    let mut bounds = Vec::with_capacity(regions.count + 1);
    let mut at = 0;
    for region in 0..regions.count {
        bounds.push(at as usize);
        for part in parts {
            at += part.0[region].swap(at, Ordering::Relaxed);
        }
    }
    bounds.push(at as usize);
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_have_all_elements_and_rows_fall_on_neighbours() {
        for (reach, count, length) in [(-7..1000, 3, 5), (0..64, 7, 8), (5..100_003, 4096, 20)] {
            let regions = Regions::cut(reach.clone(), count, length).unwrap();
            let bounds: Vec<_> = (0..count).map(|n| regions.elements(n)).collect();
            assert_eq!((bounds[0].start, bounds[count - 1].end), (reach.start, reach.end));
            assert!(bounds.windows(2).all(|pair| pair[0].end == pair[1].start));
            for to in reach.start..=reach.end - length as i64 {
                let [first, last] = regions.around(to, length);
                assert!(bounds[first].contains(&to) && last - first < 2);
                assert!(bounds[last].contains(&(to + length as i64 - 1)));
            }
        }
        assert!(Regions::cut(0..64, 8, 8).is_none() && Regions::cut(0..64, 1, 8).is_none());
    }
}
