//! Microkernels: a tile of the output, kept in registers while k runs.

#![allow(clippy::needless_range_loop, reason = "an index names the same register everywhere")]

use super::lane::{Class, Lane, Op, Pair};
use crate::lines::{prefetch, prefetch_all};
use crate::simd::{Kernel, Simd};

/// What a microkernel computes, for elements whose type it knows: `width` columns of `rows` rows.
pub(crate) struct Tile {
    /// Number of steps.
    pub(crate) k: usize,
    /// Packed: the panel, whose groups of rows follow each other `left_step` elements apart.
    /// Direct: the first row in the tensor, to which `left_offsets` leads from step to step.
    pub(crate) left: *const u8,
    /// Elements from one step of a packed panel to the next.
    pub(crate) left_step: usize,
    /// For each step, how many elements further a direct tile reads.
    pub(crate) left_offsets: *const isize,
    /// Direct: whether to fetch the rows of the next tile while computing this one.
    pub(crate) ahead: bool,
    /// Packed: what to fetch at each step for the panel after this one: lines, as bytes after the
    /// element that `left_offsets` leads to from `next`.
    pub(crate) lines: (*const isize, usize),
    /// The origin of the tensor that is packed.
    pub(crate) next: *const u8,
    /// The packed panel of columns.
    pub(crate) right: *const u8,
    /// Elements from one of its steps to the next.
    pub(crate) right_step: usize,
    /// The output's element at the first row and column 0 of `columns`; rows are neighbours.
    pub(crate) out: *mut u8,
    /// For each column, how many elements further it is written.
    pub(crate) columns: *const isize,
    /// Number of columns written, at most the microkernel's.
    pub(crate) width: usize,
    /// Number of rows written, at most the microkernel's.
    pub(crate) rows: usize,
    /// Whether to combine with what the output holds, else replace it.
    pub(crate) accumulate: bool,
    /// What the sums start from.
    pub(crate) identity: *const u8,
}

/// A compiled microkernel.
///
/// # Safety
/// The machine has its level; the tile's pointers are readable and writable as its fields say.
pub(crate) type TileFn = unsafe fn(&Tile);

/// A microkernel and its size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Groups of rows.
    pub(crate) groups: usize,
    /// Columns.
    pub(crate) columns: usize,
    /// The code.
    pub(crate) run: TileFn,
}

/// The microkernels of one pair of map and reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileSet {
    /// Those that read packed panels; the first has the size that panels are packed for.
    pub(crate) packed: &'static [Entry],
    /// Those that read rows of the left tensor where they lie.
    pub(crate) direct: &'static [Entry],
}

impl TileSet {
    /// The set for one kind of group and one pair.
    pub(crate) const fn of<L: Lane, P: Pair<L>>() -> Self {
        Self { packed: Table::<L, P>::PACKED, direct: Table::<L, P>::DIRECT }
    }

    /// Columns of the widest microkernel that reads left where it lies.
    pub(crate) fn widest(&self) -> usize {
        self.direct.iter().map(|e| e.columns).max().unwrap_or(0)
    }

    /// The packed microkernel that takes so many columns at a time where the first one takes fewer.
    pub(crate) fn wide(&self, columns: usize) -> Option<Entry> {
        let wide = self.packed.iter().find(|e| e.columns > self.packed[0].columns).copied();
        wide.filter(|e| (self.packed[0].columns + 1..=e.columns).contains(&columns))
    }
}

/// The smallest microkernel of that many groups and columns or more; the first where none is.
pub(crate) fn smallest(entries: &[Entry], groups: usize, columns: usize) -> Entry {
    let fits = |e: &&Entry| e.groups >= groups && e.columns >= columns;
    let best = entries.iter().filter(fits).min_by_key(|e| (e.columns, e.groups));
    *best.unwrap_or(&entries[0])
}

struct Table<L, P>(L, P);

macro_rules! entries {
    ($direct:literal: $($groups:literal x $columns:literal),*) => {
        &[$(Entry {
            groups: $groups,
            columns: $columns,
            run: run::<L, P, $groups, $columns, $direct>,
        }),*]
    };
}

/// Sizes fill the registers but for the few that steps need; more rows than columns, since a
/// load serves all of a group, but for one that reads left only once where a few columns more than the
/// first has are all there are ([`wide`](TileSet::wide)). Every width of a direct microkernel is one of a
/// packed one.
impl<L: Lane, P: Pair<L>> Table<L, P> {
    const PACKED: &'static [Entry] = match (L::Simd::REGISTERS / L::REGISTERS, P::CLASS) {
        (_, Class::Rare) => entries!(false: 1 x 4),
        (32.., Class::Rich) => entries!(false: 3 x 8, 3 x 6, 3 x 4, 3 x 2, 3 x 1,
            2 x 8, 1 x 8, 1 x 4, 1 x 1, 2 x 14),
        (32.., Class::Common) => entries!(false: 2 x 12, 2 x 2),
        (16.., Class::Rich) => entries!(false: 2 x 6, 2 x 4, 2 x 2, 2 x 1, 1 x 6, 1 x 2),
        (16.., Class::Common) => entries!(false: 2 x 6, 2 x 1),
        (_, Class::Rich) => entries!(false: 1 x 4, 1 x 2, 1 x 1),
        (_, Class::Common) => entries!(false: 1 x 4),
    };

    const DIRECT: &'static [Entry] = match (L::Simd::REGISTERS / L::REGISTERS, P::CLASS) {
        (32.., Class::Rich) => entries!(true: 3 x 8, 1 x 8, 4 x 6, 1 x 6, 6 x 4, 1 x 4, 8 x 2,
            2 x 2, 1 x 2, 8 x 1, 2 x 1, 1 x 1, 2 x 14, 1 x 14),
        (16.., Class::Rich) => entries!(true: 2 x 6, 1 x 6, 3 x 4, 1 x 4, 4 x 2, 1 x 2,
            8 x 1, 2 x 1, 1 x 1),
        (_, Class::Rich) => entries!(true: 2 x 2, 1 x 2, 4 x 1, 1 x 1),
        _ => &[],
    };
}

/// One microkernel, with the instructions of its level.
///
/// # Safety
/// As for [`TileFn`].
unsafe fn run<L: Lane, P: Pair<L>, const M: usize, const N: usize, const DIRECT: bool>(
    tile: &Tile,
) {
    // SAFETY: the caller says that the machine has the level.
    let simd = unsafe { L::Simd::assume() };
    simd.vectorize(Microkernel::<L, P, M, N, DIRECT>(tile, std::marker::PhantomData));
}

struct Microkernel<'a, L, P, const M: usize, const N: usize, const DIRECT: bool>(
    &'a Tile,
    std::marker::PhantomData<(L, P)>,
);

impl<L: Lane, P: Pair<L>, const M: usize, const N: usize, const DIRECT: bool> Kernel
    for Microkernel<'_, L, P, M, N, DIRECT>
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        // SAFETY: `run` above is the one place that makes microkernels, and its caller promised
        // what these ask.
        unsafe {
            let sums = accumulate::<L, P, M, N, DIRECT>(L::Simd::assume(), self.0);
            finish::<L, P, M, N>(self.0, &sums);
        }
    }
}

/// The sums of all steps. Lines of the next panel are asked for between runs of steps: a loop in
/// every step would move all sums to memory and back.
#[inline(always)]
unsafe fn accumulate<L: Lane, P: Pair<L>, const M: usize, const N: usize, const DIRECT: bool>(
    simd: L::Simd,
    tile: &Tile,
) -> [[L; M]; N] {
    // SAFETY: the identity is readable; the tile has the steps.
    unsafe {
        let identity = L::splat(simd, tile.identity.cast::<L::Element>().read_unaligned());
        let mut sums = [[identity; M]; N];
        if DIRECT {
            (0..tile.width).for_each(|column| fetch_column::<L, M>(tile, column));
            return steps::<L, P, M, N, DIRECT>(simd, tile, sums, (0, tile.k));
        }
        let run = if tile.lines.1 == 0 { RUN } else { FETCHED };
        let each = tile.width.div_ceil(tile.k.div_ceil(run).max(1));
        let (mut first, mut column) = (0, 0);
        while first < tile.k {
            let end = (first + run).min(tile.k);
            if tile.lines.1 != 0 {
                (first..end).for_each(|k| fetch_lines::<L>(tile, k));
            }
            let columns = (column + each).min(tile.width);
            while column < columns {
                fetch_column::<L, M>(tile, column);
                column += 1;
            }
            sums = steps::<L, P, M, N, DIRECT>(simd, tile, sums, (first, end));
            first = end;
        }
        sums
    }
}

/// Steps for which lines of the next panel are asked for at a time.
const FETCHED: usize = 8;

/// Steps for which lines of the output are asked for at a time: all at once would wait for each other.
const RUN: usize = 32;

/// Steps after which rows are read that are asked for now: a packed left panel comes from L2, slower than
/// the products take it where two of them end in a cycle (239 for 220 GFLOP/s there).
const AHEAD: usize = 8;

/// Steps that are written one after another where they have so many products or more: what counts them takes
/// its turns from what multiplies.
const UNROLLED: usize = 2;
const MANY: usize = 20;

/// The sums after some further steps.
///
/// # Safety
/// The tile has those steps, and its pointers are as the fields say.
#[inline(always)]
unsafe fn steps<L: Lane, P: Pair<L>, const M: usize, const N: usize, const DIRECT: bool>(
    simd: L::Simd,
    tile: &Tile,
    mut sums: [[L; M]; N],
    (first, end): (usize, usize),
) -> [[L; M]; N] {
    let start = tile.left.cast::<L::Element>();
    let mut left = if DIRECT { start } else { start.wrapping_add(first * tile.left_step) };
    let mut right = tile.right.cast::<L::Element>().wrapping_add(first * tile.right_step);
    let unit = P::unit(simd, sums[0][0]);
    let mut rows = [unit; M];
    let mut step = |k: usize| {
        // SAFETY: step k < tile.k has its rows and columns behind `left` and `right`, as the fields of a
        // tile say.
        unsafe {
            if DIRECT {
                left = start.offset(*tile.left_offsets.add(k));
                if tile.ahead {
                    fetch::<L, M>(left, 1);
                }
            } else {
                fetch::<L, M>(left, AHEAD);
            }
            for m in 0..M {
                let from = left.add(m * L::LANES);
                rows[m] = if DIRECT { L::read(from) } else { L::load(from) };
            }
            for n in 0..N {
                let column = L::splat(simd, *right.add(n));
                for m in 0..M {
                    sums[n][m] = P::step_by(unit, sums[n][m], rows[m], column);
                }
            }
            if !DIRECT {
                left = left.add(tile.left_step);
            }
            right = right.add(tile.right_step);
        }
    };
    let mut k = first;
    if !DIRECT && M * N >= MANY {
        while k + UNROLLED <= end {
            (0..UNROLLED).for_each(|n| step(k + n));
            k += UNROLLED;
        }
    }
    (k..end).for_each(step);
    sums
}

/// Asks for the lines of a column of the output.
///
/// # Safety
/// The tile has that column, and its pointers are as the fields say.
#[inline(always)]
unsafe fn fetch_column<L: Lane, const M: usize>(tile: &Tile, column: usize) {
    // SAFETY: the caller's promise.
    let offset = unsafe { *tile.columns.add(column) };
    let first = tile.out.cast::<L::Element>().wrapping_offset(offset).cast_const().cast::<u8>();
    prefetch_all(first, M * L::LANES * size_of::<L::Element>());
}

/// Asks for a step's lines of the next panel.
///
/// # Safety
/// The tile has that step, and its pointers are as the fields say.
#[inline(always)]
unsafe fn fetch_lines<L: Lane>(tile: &Tile, k: usize) {
    let (lines, count) = tile.lines;
    for n in 0..count {
        // SAFETY: the caller's promise.
        let (step, line) = unsafe { (*tile.left_offsets.add(k), *lines.add(n)) };
        let bytes = step.wrapping_mul(size_of::<L::Element>() as isize).wrapping_add(line);
        prefetch(tile.next.wrapping_offset(bytes));
    }
}

/// Asks for `M` groups of rows, so many times as many further on: for those after a tile's, which the next
/// one will read, or those of a later step.
#[inline(always)]
fn fetch<L: Lane, const M: usize>(left: *const L::Element, ahead: usize) {
    let rows = M * L::LANES * size_of::<L::Element>();
    prefetch_all(left.cast::<u8>().wrapping_add(ahead * rows), rows);
}

/// Writes a tile's sums.
#[inline(always)]
unsafe fn finish<L: Lane, P: Pair<L>, const M: usize, const N: usize>(
    tile: &Tile,
    sums: &[[L; M]; N],
) {
    for n in 0..N {
        if n < tile.width {
            // SAFETY: columns below `width` have an offset, rows below `rows` are neighbours there.
            unsafe {
                let out = tile.out.cast::<L::Element>().wrapping_offset(*tile.columns.add(n));
                for m in 0..M {
                    let count = tile.rows.saturating_sub(m * L::LANES).min(L::LANES);
                    put::<L, P>(sums[n][m], out.wrapping_add(m * L::LANES), count, tile.accumulate);
                }
            }
        }
    }
}

/// Writes `count` elements of a group.
#[inline(always)]
unsafe fn put<L: Lane, P: Pair<L>>(sum: L, out: *mut L::Element, count: usize, accumulate: bool) {
    // SAFETY: `count` elements are writable, and readable where they accumulate.
    unsafe {
        match (count == L::LANES, accumulate) {
            (true, true) => P::Combine::apply(L::read(out), sum).write(out),
            (true, false) => sum.write(out),
            (false, true) => {
                P::Combine::apply(L::read_partial(out, count), sum).write_partial(out, count)
            }
            (false, false) => sum.write_partial(out, count),
        }
    }
}
