//! Rows that are added at computed places of a large array, region by region of it.
//!
//! Taken in their order, rows fall anywhere, and each brings its place from memory and sends it back; two threads
//! are no faster than one then. Here they are first sorted by the region they fall on, so that a region is in a
//! core's cache while all of its rows come (200,000 rows of 256 bytes into 100,000: 0.8 of the time). A region's
//! rows keep their order, so sums are the same.

use super::launch::Launch;
use super::rows::RowSpec;
use super::run::Worker;
use crate::error::RunError;
use crate::scratch::Scratch;
use crate::threads::cut;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a region: with what is added to it, it stays in the second cache.
const REGION: usize = 256 << 10;

/// Regions at most; larger arrays have larger ones.
const REGIONS: usize = 4096;

/// An array of fewer bytes stays in caches anyway.
const LARGE: usize = 2 << 20;

/// Points that are sorted at a time, which bounds the memory it takes.
const ROUND: usize = 1 << 18;

/// Whether so many bytes of rows come to so many of an array that it is worth to sort them: rows are read in
/// another order then, which costs as much as it gains where each place is met once.
fn meet_often(moved: usize, bytes: usize) -> bool {
    moved / 3 >= bytes / 2
}

/// Into which regions an array is cut, in elements.
#[derive(Clone, Debug)]
pub(super) struct Regions {
    reach: Range<i64>,
    /// Elements of a region, at least those of a row: a power of two, by its exponent.
    bits: u32,
    count: usize,
}

impl Regions {
    /// Those of the array that a nest of so many rows adds to, if it is better to go by them.
    pub(super) fn of(rows: &RowSpec, points: usize) -> Option<Self> {
        // Rows that do not count are left alone, so nothing else is written.
        if rows.fold.is_none() || rows.fill.is_some() {
            return None;
        }
        let reach = rows.reach();
        let elements = usize::try_from(reach.end.checked_sub(reach.start)?).ok()?;
        let bytes = elements.checked_mul(rows.size)?;
        let moved = points.saturating_mul(rows.length * rows.size);
        if bytes < LARGE || !meet_often(moved, bytes) {
            return None;
        }
        let each = (REGION / rows.size).max(elements.div_ceil(REGIONS)).max(rows.length);
        let bits = each.checked_next_power_of_two()?.ilog2();
        Some(Self { reach, bits, count: ((elements - 1) >> bits) + 1 })
    }

    /// Bytes of what is sorted at a time, at most: lists of rows, of which each may fall on two regions.
    pub fn bytes(&self, points: usize) -> usize {
        3 * 2 * size_of::<i64>() * points.min(2 * ROUND)
    }

    /// The elements of a region.
    fn elements(&self, region: usize) -> Range<i64> {
        let start = self.reach.start + ((region as i64) << self.bits);
        start..start.saturating_add(1 << self.bits).min(self.reach.end)
    }

    /// The one or two regions that a row of so many elements falls on, the second perhaps the first again.
    #[inline(always)]
    fn around(&self, to: i64, length: usize) -> [usize; 2] {
        let region = |at: i64| ((at - self.reach.start) >> self.bits) as usize;
        [region(to), region(to + length as i64 - 1)]
    }
}

/// Rows as a tile program lists them, instead of moving them: where each is read, and where it goes.
#[derive(Debug)]
pub(super) struct List {
    pub from: *mut i64,
    pub to: *mut i64,
    pub len: usize,
}

impl List {
    /// Adds those of so many rows that count.
    ///
    /// # Safety
    /// There is room for them; `mask`, `from` and `to` have one element for each.
    pub unsafe fn add(
        &mut self,
        points: usize,
        mask: Option<*const bool>,
        from: *const i64,
        to: *const i64,
    ) {
        for n in 0..points {
            // SAFETY: the caller's promise.
            unsafe {
                if mask.is_none_or(|mask| mask.add(n).read()) {
                    self.from.add(self.len).write(from.add(n).read());
                    self.to.add(self.len).write(to.add(n).read());
                    self.len += 1;
                }
            }
        }
    }
}

/// Two arrays of offsets, in one piece of memory.
#[derive(Clone, Copy)]
struct Offsets {
    from: *mut i64,
    to: *mut i64,
}

// SAFETY: tasks follow the pointers to elements of their own.
unsafe impl Sync for Offsets {}

impl Offsets {
    /// In memory for twice so many.
    fn new(memory: &Scratch<'_>, count: usize) -> Self {
        let from = memory.as_ptr().cast::<i64>();
        Self { from, to: from.wrapping_add(count) }
    }

    /// From an element on.
    fn at(self, n: usize) -> Self {
        Self { from: self.from.wrapping_add(n), to: self.to.wrapping_add(n) }
    }
}

impl Launch<'_> {
    /// All rows of a nest, region by region.
    ///
    /// # Safety
    /// That of [`run`](Self::run); the nest moves rows as `rows` says.
    pub(super) unsafe fn run_sorted(
        &self,
        rows: &RowSpec,
        regions: &Regions,
    ) -> Result<u32, RunError> {
        let blocks: usize = self.nest.blocks.iter().product();
        let tile: usize = self.nest.geometry.loops.iter().map(|l| l.tile).product();
        let round = (ROUND / tile.max(1)).max(1);
        let faults = AtomicU32::new(0);
        for start in (0..blocks).step_by(round) {
            let blocks = start..blocks.min(start + round);
            // SAFETY: the caller's promise.
            unsafe { self.round(rows, regions, (blocks, tile), &faults)? };
            if faults.load(Ordering::Relaxed) != 0 {
                break;
            }
        }
        self.settle(faults)
    }

    /// Some blocks of rows.
    ///
    /// # Safety
    /// As for [`run_sorted`](Self::run_sorted).
    unsafe fn round(
        &self,
        rows: &RowSpec,
        regions: &Regions,
        (blocks, tile): (Range<usize>, usize),
        faults: &AtomicU32,
    ) -> Result<(), RunError> {
        let room = |count: usize| {
            let bytes = 2 * count * size_of::<i64>();
            self.scratch.try_take(bytes).ok_or(RunError::OutOfMemory(bytes))
        };
        let parts = self.workers.threads().min(blocks.len());
        let part = |n: usize| cut(blocks.len(), n, parts);
        let memory = room(blocks.len() * tile)?;
        let listed = Offsets::new(&memory, blocks.len() * tile);
        // Each part lists its rows, and counts those of each region.
        let lists: Vec<Part> = (0..parts).map(|_| Part::new(regions)).collect();
        self.each(parts, |n| {
            let own = blocks.start + part(n)..blocks.start + part(n + 1);
            let at = listed.at(part(n) * tile);
            // SAFETY: the caller's promise; each part has its own room, and nothing is moved.
            unsafe {
                self.work(faults, |worker: &mut Worker<'_>| {
                    worker.list = Some(List { from: at.from, to: at.to, len: 0 });
                    worker.run(own);
                    let len = worker.list.take().map_or(0, |list| list.len);
                    let to = std::slice::from_raw_parts(at.to, len);
                    lists[n].count(regions, rows.length, to);
                });
            }
        });
        if faults.load(Ordering::Relaxed) != 0 {
            return Ok(());
        }
        let bounds = bounds(regions, &lists);
        let total = bounds[regions.count];
        let memory = room(total)?;
        let sorted = Offsets::new(&memory, total);
        self.each(parts, |n| {
            let at = listed.at(part(n) * tile);
            // SAFETY: the rows that the part listed; the places of each part and region are apart.
            unsafe { lists[n].sort(regions, rows.length, at, sorted) };
        });
        // A run that has ended left parts out, here or before; it stays ended.
        if self.workers.have_ended() {
            return Ok(());
        }
        let base = |(buffer, offset): (usize, isize)| self.bases[buffer].wrapping_offset(offset);
        let bases = Bases {
            source: base(rows.source),
            out: base((self.nest.out.buffer, self.nest.out.offset)),
        };
        let bases = &bases;
        self.each(regions.count, |region| {
            let range = bounds[region]..bounds[region + 1];
            let (each, own) = (rows.at_a_time(), regions.elements(region));
            for first in range.clone().step_by(each).take_while(|_| !self.workers.have_ended()) {
                let (at, count) = (sorted.at(first), each.min(range.end - first));
                // SAFETY: all parts were sorted, and all offsets checked when they were listed; regions are
                // apart.
                unsafe { rows.run(count, None, at.from, at.to, bases.source, bases.out, &own) };
            }
        });
        Ok(())
    }
}

/// Where rows are read, and where they go.
struct Bases {
    source: *const u8,
    out: *mut u8,
}

// SAFETY: only pointers; whoever follows them answers for that.
unsafe impl Sync for Bases {}

/// What one task has listed: for each region, first how many rows fall on it, then where they go.
struct Part {
    places: Vec<AtomicU32>,
    len: AtomicU32,
}

impl Part {
    fn new(regions: &Regions) -> Self {
        let places = (0..regions.count).map(|_| AtomicU32::new(0)).collect();
        Self { places, len: AtomicU32::new(0) }
    }

    /// Counts rows that go to these places.
    fn count(&self, regions: &Regions, length: usize, to: &[i64]) {
        let mut counts = vec![0; regions.count];
        for &to in to {
            let [first, last] = regions.around(to, length);
            counts[first] += 1;
            if last != first {
                counts[last] += 1;
            }
        }
        self.len.store(to.len() as u32, Ordering::Relaxed);
        self.places.iter().zip(counts).for_each(|(place, n)| place.store(n, Ordering::Relaxed));
    }

    /// Brings the rows it has listed where those of their regions are, in their order.
    ///
    /// # Safety
    /// `listed` has them; `sorted` has room for all rows of all parts, and nobody else writes this part's.
    unsafe fn sort(&self, regions: &Regions, length: usize, listed: Offsets, sorted: Offsets) {
        let next = |place: &AtomicU32| place.load(Ordering::Relaxed) as usize;
        let mut places: Vec<usize> = self.places.iter().map(next).collect();
        for n in 0..self.len.load(Ordering::Relaxed) as usize {
            // SAFETY: the caller's promise.
            unsafe {
                let (from, to) = (listed.from.add(n).read(), listed.to.add(n).read());
                let mut put = |region: usize| {
                    sorted.from.add(places[region]).write(from);
                    sorted.to.add(places[region]).write(to);
                    places[region] += 1;
                };
                let [first, last] = regions.around(to, length);
                put(first);
                if last != first {
                    put(last);
                }
            }
        }
    }
}

/// Where the rows of each region begin, and their end; parts learn where theirs begin.
fn bounds(regions: &Regions, parts: &[Part]) -> Vec<usize> {
    let mut bounds = Vec::with_capacity(regions.count + 1);
    let mut at = 0;
    for region in 0..regions.count {
        bounds.push(at as usize);
        for part in parts {
            at += part.places[region].swap(at, Ordering::Relaxed);
        }
    }
    bounds.push(at as usize);
    bounds
}
