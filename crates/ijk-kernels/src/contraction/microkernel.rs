//! Microkernels: a tile of the output, kept in registers throughout a block of k.
use crate::lines::{LINE, prefetch, prefetch_all, prefetch_all_far, prefetch_far};
use crate::simd::lane::Op;
use crate::simd::lane::{KernelSet, Lane, Semiring, kernel_set};
use crate::simd::{Kernel, Simd};
use crate::tuning::time::{PANEL_PREFETCH_BYTES, UNROLLED_PRODUCTS, UNROLLED_STEPS};
use std::ops::RangeBounds;

/// Arguments of a microkernel, for elements of its type: a tile of `width` columns and `rows` rows.
pub struct MicroTile {
    /// Number of steps.
    pub k: usize,
    /// Packed: the panel, whose steps are `left_step` elements apart. Direct: the first row in the tensor, from which
    /// `left_offsets` has the offset of each step.
    pub left: *const u8,
    /// Stride of k in a packed panel, in elements.
    pub left_step: usize,
    /// Offset of each step for a direct tile, in elements.
    pub left_offsets: *const isize,
    /// Direct: true to prefetch the rows of the next tile.
    pub prefetches_rows: bool,
    /// Packed: the first step of the next panel to prefetch during this tile.
    pub prefetch_start: usize,
    /// Number of steps to prefetch.
    pub prefetch_steps: usize,
    /// Lines of each step to prefetch, as byte offsets from `prefetch_base` plus the step's entry of `left_offsets`.
    pub prefetch_lines: (*const isize, usize),
    /// Origin of the tensor of the next panel.
    pub prefetch_base: *const u8,
    /// The packed panel of columns, or the first column and step in the tensor.
    pub right: *const u8,
    /// Stride of k in rhs, in elements.
    pub right_step: usize,
    /// Stride from column to column of an unpacked rhs, in elements.
    pub column_stride: isize,
    /// Offset of each step for windows, in elements.
    pub right_offsets: *const isize,
    /// The output's element at the first row and column 0 of `columns`; rows are contiguous.
    pub out: *mut u8,
    /// Offset of each column of the output, in elements.
    pub columns: *const isize,
    /// Number of columns written, at most the microkernel's.
    pub width: usize,
    /// Number of rows written, at most the microkernel's.
    pub rows: usize,
    /// True to combine with the contents of the output, false to overwrite it.
    pub accumulate: bool,
    /// Initial value of the sums.
    pub identity: *const u8,
}

/// A compiled microkernel.
///
/// # Safety
/// The machine supports the kernel's level; the tile's pointers are readable and writable as its fields say.
pub type TileFn = unsafe fn(&MicroTile);

/// A microkernel and its size.
#[derive(Clone, Copy, Debug)]
pub struct Microkernel {
    /// Number of groups of rows (mr in groups of lanes).
    pub groups: usize,
    /// Number of columns (nr).
    pub columns: usize,
    /// The compiled function.
    pub run: TileFn,
}

/// The microkernels of one pair of map and reduction.
#[derive(Clone, Copy, Debug)]
pub struct MicrokernelSet {
    /// Microkernels for packed panels; the first has the size that panels are packed for.
    pub packed: &'static [Microkernel],
    /// Microkernels for an unpacked lhs.
    pub direct: &'static [Microkernel],
    /// Microkernels for packed lhs panels and an unpacked rhs with contiguous k, with as many columns as the first of
    /// [`packed`](Self::packed).
    pub rhs_in_place: &'static [Microkernel],
    /// The same for windows, whose steps are addressed by offsets.
    pub windows: &'static [Microkernel],
}

impl MicrokernelSet {
    /// The set for one kind of lane group and one pair.
    pub const fn of<L: Lane, P: Semiring<L>>() -> Self {
        Self {
            packed: MicrokernelTable::<L, P>::PACKED,
            direct: MicrokernelTable::<L, P>::LHS_IN_PLACE,
            rhs_in_place: MicrokernelTable::<L, P>::RHS_IN_PLACE,
            windows: MicrokernelTable::<L, P>::WINDOWS,
        }
    }

    /// Columns of the widest microkernel for an unpacked lhs.
    pub fn widest(&self) -> usize {
        self.direct.iter().map(|e| e.columns).max().unwrap_or(0)
    }

    /// The packed microkernel wider than the first that has room for `columns` columns, if the first has not.
    pub fn wide(&self, columns: usize) -> Option<Microkernel> {
        let wide = self.packed.iter().find(|e| e.columns > self.packed[0].columns).copied();
        wide.filter(|e| (self.packed[0].columns + 1..=e.columns).contains(&columns))
    }
}

/// The smallest microkernel of those groups and columns; the first if there is none.
pub fn smallest(
    entries: &[Microkernel],
    groups: impl RangeBounds<usize>,
    columns: impl RangeBounds<usize>,
) -> Microkernel {
    let fits = |e: &&Microkernel| groups.contains(&e.groups) && columns.contains(&e.columns);
    let best = entries.iter().filter(fits).min_by_key(|e| (e.columns, e.groups));
    *best.unwrap_or(&entries[0])
}

struct MicrokernelTable<L, P>(L, P);

macro_rules! entries {
    ($from:ident: $($groups:literal x $columns:literal),*) => {
        &[$(Microkernel {
            groups: $groups,
            columns: $columns,
            run: run::<L, P, $groups, $columns, $from>,
        }),*]
    };
}

/// Sources of a microkernel's operands: both are packed.
const PANELS: u8 = 0;

/// lhs is read in place.
const LHS_IN_PLACE: u8 = 1;

/// rhs is read in place.
const RHS_IN_PLACE: u8 = 2;

/// rhs is read in place, at the offset of each step.
const WINDOWS: u8 = 3;

/// Tiles fill the registers except for the few that loads and broadcasts need. Tiles are taller than wide, since a
/// broadcast serves all groups of rows; the exception reads lhs only once for slightly more columns than the first tile
/// has ([`wide`](MicrokernelSet::wide)). Every width of a direct microkernel is also one of a packed microkernel.
impl<L: Lane, P: Semiring<L>> MicrokernelTable<L, P> {
    const PACKED: &'static [Microkernel] =
        match (L::Simd::REGISTERS / L::REGISTERS, kernel_set::<L, P>()) {
            (_, KernelSet::Rare) => entries!(PANELS: 1 x 4),
            (32.., KernelSet::Full) => entries!(PANELS: 3 x 8, 3 x 6, 3 x 4, 3 x 2, 3 x 1,
            2 x 8, 1 x 8, 1 x 4, 1 x 1, 2 x 14),
            (32.., KernelSet::Common) => entries!(PANELS: 2 x 12, 2 x 2),
            (16.., KernelSet::Full) => entries!(PANELS: 2 x 6, 2 x 4, 2 x 2, 2 x 1, 1 x 6, 1 x 2),
            (16.., KernelSet::Common) => entries!(PANELS: 2 x 6, 2 x 1),
            (_, KernelSet::Full) => entries!(PANELS: 1 x 4, 1 x 2, 1 x 1),
            (_, KernelSet::Common) => entries!(PANELS: 1 x 4),
        };

    const LHS_IN_PLACE: &'static [Microkernel] =
        match (L::Simd::REGISTERS / L::REGISTERS, kernel_set::<L, P>()) {
            (32.., KernelSet::Full) => {
                entries!(LHS_IN_PLACE: 3 x 8, 1 x 8, 4 x 6, 1 x 6, 6 x 4, 1 x 4, 8 x 2,
            2 x 2, 1 x 2, 8 x 1, 2 x 1, 1 x 1, 2 x 14, 1 x 14)
            }
            (16.., KernelSet::Full) => {
                entries!(LHS_IN_PLACE: 2 x 6, 1 x 6, 3 x 4, 1 x 4, 4 x 2, 1 x 2,
            8 x 1, 2 x 1, 1 x 1)
            }
            (_, KernelSet::Full) => entries!(LHS_IN_PLACE: 2 x 2, 1 x 2, 4 x 1, 1 x 1),
            _ => &[],
        };

    const RHS_IN_PLACE: &'static [Microkernel] =
        match (L::Simd::REGISTERS / L::REGISTERS, kernel_set::<L, P>()) {
            (32.., KernelSet::Full) => entries!(RHS_IN_PLACE: 3 x 8, 2 x 8, 1 x 8),
            (16.., KernelSet::Full) => entries!(RHS_IN_PLACE: 2 x 6, 1 x 6),
            _ => &[],
        };

    const WINDOWS: &'static [Microkernel] =
        match (L::Simd::REGISTERS / L::REGISTERS, kernel_set::<L, P>()) {
            (32.., KernelSet::Full) => entries!(WINDOWS: 3 x 8, 2 x 8, 1 x 8, 1 x 16),
            (16.., KernelSet::Full) => entries!(WINDOWS: 2 x 6, 1 x 6),
            _ => &[],
        };
}

/// One microkernel, compiled for its level.
///
/// # Safety
/// As for [`TileFn`].
unsafe fn run<L: Lane, P: Semiring<L>, const M: usize, const N: usize, const FROM: u8>(
    tile: &MicroTile,
) {
    // SAFETY: the caller guarantees that the machine supports the level.
    let simd = unsafe { L::Simd::assume() };
    simd.vectorize(MicroTileKernel::<L, P, M, N, FROM>(tile, std::marker::PhantomData));
}

struct MicroTileKernel<'a, L, P, const M: usize, const N: usize, const FROM: u8>(
    &'a MicroTile,
    std::marker::PhantomData<(L, P)>,
);

impl<L: Lane, P: Semiring<L>, const M: usize, const N: usize, const FROM: u8> Kernel
    for MicroTileKernel<'_, L, P, M, N, FROM>
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        // SAFETY: only `run` above constructs microkernels, and its caller guarantees their contract.
        unsafe {
            let sums = accumulate::<L, P, M, N, FROM>(L::Simd::assume(), self.0);
            finish::<L, P, M, N>(self.0, &sums);
        }
    }
}

/// The sums of all steps. The output is prefetched column by column, one column before each of `N` runs of steps:
/// prefetching all lines at once would stall on outstanding misses.
///
/// # Safety
/// The tile's pointers are as the fields say.
#[inline(always)]
unsafe fn accumulate<L: Lane, P: Semiring<L>, const M: usize, const N: usize, const FROM: u8>(
    simd: L::Simd,
    tile: &MicroTile,
) -> [[L; M]; N] {
    // SAFETY: the identity is readable; the tile has the steps and at least one column.
    unsafe {
        let identity = L::splat(simd, tile.identity.cast::<L::Element>().read_unaligned());
        let sums = [[identity; M]; N];
        if FROM == LHS_IN_PLACE || FROM == WINDOWS {
            for column in 0..tile.width {
                fetch_column::<L, M>(tile, column);
            }
            return match FROM {
                LHS_IN_PLACE => direct::<L, P, M, N>(simd, tile, sums),
                _ => windows::<L, P, M, N>(simd, tile, sums),
            };
        }
        let whole = (M * L::LANES, N);
        let steps = (tile.left_step, tile.right_step);
        match M * N >= UNROLLED_PRODUCTS && steps == whole && FROM == PANELS {
            true => packed::<L, P, M, N, FROM>(simd, tile, sums, whole),
            false => packed::<L, P, M, N, FROM>(simd, tile, sums, steps),
        }
    }
}

/// The sums of all steps for packed panels with the given strides, or for packed lhs panels and columns in place.
///
/// # Safety
/// As for [`accumulate`].
#[inline(always)]
unsafe fn packed<L: Lane, P: Semiring<L>, const M: usize, const N: usize, const FROM: u8>(
    simd: L::Simd,
    tile: &MicroTile,
    mut sums: [[L; M]; N],
    (left_step, right_step): (usize, usize),
) -> [[L; M]; N] {
    let mut left = tile.left.cast::<L::Element>();
    let mut right = tile.right.cast::<L::Element>();
    let unrolled = if M * N >= UNROLLED_PRODUCTS { UNROLLED_STEPS } else { 1 };
    let run = tile.k / (N * unrolled);
    let bytes = unrolled * right_step * size_of::<L::Element>();
    let apart = if FROM == RHS_IN_PLACE { tile.column_stride } else { 1 };
    let (mut fetched, last) = (tile.prefetch_start, tile.prefetch_start + tile.prefetch_steps);
    let each = tile.prefetch_steps.div_ceil(N);
    // SAFETY: `N` runs have at most all steps; each step has its rows and columns at `left` and `right`, as the fields
    // of a tile say; the tile has a column.
    unsafe {
        for column in 0..N {
            fetch_column::<L, M>(tile, column.min(tile.width - 1));
            for step in fetched..(fetched + each).min(last) {
                fetch_lines::<L>(tile, step);
            }
            fetched += each;
            for n in 0..run {
                if M * N >= UNROLLED_PRODUCTS && FROM == RHS_IN_PLACE {
                    fetch_next::<L, N>(tile, column * run + n);
                } else if M * N >= UNROLLED_PRODUCTS {
                    prefetch_all(right.cast::<u8>().wrapping_add(PANEL_PREFETCH_BYTES), bytes);
                }
                for n in 0..unrolled {
                    let (left, right) = (left.add(n * left_step), right.add(n * right_step));
                    sums = step::<L, P, M, N, FROM>(simd, sums, left, (right, apart));
                }
                left = left.wrapping_add(unrolled * left_step);
                right = right.wrapping_add(unrolled * right_step);
            }
        }
        for _ in N * run * unrolled..tile.k {
            sums = step::<L, P, M, N, FROM>(simd, sums, left, (right, apart));
            left = left.wrapping_add(left_step);
            right = right.wrapping_add(right_step);
        }
    }
    sums
}

/// The sums of all steps for an unpacked lhs.
///
/// # Safety
/// The tile's pointers are as the fields say.
#[inline(always)]
unsafe fn direct<L: Lane, P: Semiring<L>, const M: usize, const N: usize>(
    simd: L::Simd,
    tile: &MicroTile,
    mut sums: [[L; M]; N],
) -> [[L; M]; N] {
    let start = tile.left.cast::<L::Element>();
    let mut right = tile.right.cast::<L::Element>();
    for k in 0..tile.k {
        // SAFETY: step k has its rows at its offset, and its columns at `right`.
        unsafe {
            let left = start.offset(*tile.left_offsets.add(k));
            if tile.prefetches_rows {
                fetch::<L, M>(left);
            }
            sums = step::<L, P, M, N, LHS_IN_PLACE>(simd, sums, left, (right, 1));
            right = right.add(tile.right_step);
        }
    }
    sums
}

/// The sums of all steps for a packed lhs panel and windows in place. Strides of 1 and 2 are constants, so that
/// addresses are immediate operands and need no registers.
///
/// # Safety
/// The tile's pointers are as the fields say.
#[inline(always)]
unsafe fn windows<L: Lane, P: Semiring<L>, const M: usize, const N: usize>(
    simd: L::Simd,
    tile: &MicroTile,
    sums: [[L; M]; N],
) -> [[L; M]; N] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match tile.column_stride {
            1 => windows_apart::<L, P, M, N>(simd, tile, sums, 1),
            2 => windows_apart::<L, P, M, N>(simd, tile, sums, 2),
            apart => windows_apart::<L, P, M, N>(simd, tile, sums, apart),
        }
    }
}

/// The same for windows with stride `apart`.
///
/// # Safety
/// As for [`windows`].
#[inline(always)]
unsafe fn windows_apart<L: Lane, P: Semiring<L>, const M: usize, const N: usize>(
    simd: L::Simd,
    tile: &MicroTile,
    mut sums: [[L; M]; N],
    apart: isize,
) -> [[L; M]; N] {
    let mut left = tile.left.cast::<L::Element>();
    let start = tile.right.cast::<L::Element>();
    for k in 0..tile.k {
        // SAFETY: step k has its rows at `left`, and its columns at its offset.
        unsafe {
            let right = start.offset(*tile.right_offsets.add(k));
            sums = step::<L, P, M, N, WINDOWS>(simd, sums, left, (right, apart));
            left = left.add(tile.left_step);
        }
    }
    sums
}

/// The sums after a further step.
///
/// # Safety
/// `M` groups of rows are readable at `left`, and `N` elements of stride `apart` at `right`.
#[inline(always)]
unsafe fn step<L: Lane, P: Semiring<L>, const M: usize, const N: usize, const FROM: u8>(
    simd: L::Simd,
    mut sums: [[L; M]; N],
    left: *const L::Element,
    (right, apart): (*const L::Element, isize),
) -> [[L; M]; N] {
    let unit = P::unit(simd, sums[0][0]);
    let mut rows = [unit; M];
    // SAFETY: guaranteed by the caller.
    unsafe {
        for m in 0..M {
            let from = left.add(m * L::LANES);
            rows[m] = if FROM == LHS_IN_PLACE { L::read(from) } else { L::load(from) };
        }
        for n in 0..N {
            let column = L::splat(simd, *right.offset(n as isize * apart));
            for m in 0..M {
                sums[n][m] = P::step_by(unit, sums[n][m], rows[m], column);
            }
        }
    }
    sums
}

/// Prefetches the lines of a column of the output.
///
/// # Safety
/// The tile has that column, and its pointers are as the fields say.
#[inline(always)]
unsafe fn fetch_column<L: Lane, const M: usize>(tile: &MicroTile, column: usize) {
    // SAFETY: guaranteed by the caller.
    let offset = unsafe { *tile.columns.add(column) };
    let first = tile.out.cast::<L::Element>().wrapping_offset(offset).cast_const().cast::<u8>();
    prefetch_all(first, M * L::LANES * size_of::<L::Element>());
}

/// Prefetches lines of the next tile's unpacked columns during the run of steps of index `run`: after the last run,
/// each line has been prefetched once.
#[inline(always)]
fn fetch_next<L: Lane, const N: usize>(tile: &MicroTile, run: usize) {
    let size = size_of::<L::Element>();
    let lines = N * UNROLLED_STEPS * size / LINE;
    for n in 0..lines {
        let line = run * lines + n;
        let column = ((N + line % N) as isize).wrapping_mul(tile.column_stride);
        let first = tile.right.cast::<L::Element>().wrapping_offset(column).cast::<u8>();
        prefetch(first.wrapping_add(line / N * LINE));
    }
}

/// Prefetches the lines of a step of the next panel.
///
/// # Safety
/// The tile has that step, and its pointers are as the fields say.
#[inline(always)]
unsafe fn fetch_lines<L: Lane>(tile: &MicroTile, k: usize) {
    let (lines, count) = tile.prefetch_lines;
    for n in 0..count {
        // SAFETY: guaranteed by the caller.
        let (step, line) = unsafe { (*tile.left_offsets.add(k), *lines.add(n)) };
        let bytes = step.wrapping_mul(size_of::<L::Element>() as isize).wrapping_add(line);
        prefetch_far(tile.prefetch_base.wrapping_offset(bytes));
    }
}

/// Prefetches the `M` groups of rows after a tile's, for the next tile.
#[inline(always)]
fn fetch<L: Lane, const M: usize>(left: *const L::Element) {
    let rows = M * L::LANES * size_of::<L::Element>();
    prefetch_all_far(left.cast::<u8>().wrapping_add(rows), rows);
}

/// Writes a tile's sums.
///
/// # Safety
/// The tile's pointers are as the fields say.
#[inline(always)]
unsafe fn finish<L: Lane, P: Semiring<L>, const M: usize, const N: usize>(
    tile: &MicroTile,
    sums: &[[L; M]; N],
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match (tile.rows == M * L::LANES, tile.accumulate) {
            (true, true) => columns::<L, P, M, N, true, true>(tile, sums),
            (true, false) => columns::<L, P, M, N, true, false>(tile, sums),
            (false, true) => columns::<L, P, M, N, false, true>(tile, sums),
            (false, false) => columns::<L, P, M, N, false, false>(tile, sums),
        }
    }
}

/// Writes the columns of a tile: whole ones if `WHOLE`, otherwise some of their rows.
///
/// # Safety
/// As for [`finish`].
#[inline(always)]
unsafe fn columns<
    L: Lane,
    P: Semiring<L>,
    const M: usize,
    const N: usize,
    const WHOLE: bool,
    const ACCUMULATE: bool,
>(
    tile: &MicroTile,
    sums: &[[L; M]; N],
) {
    for n in 0..N {
        if n < tile.width {
            // SAFETY: columns below `width` have an offset, rows below `rows` are contiguous there.
            unsafe {
                let out = tile.out.cast::<L::Element>().wrapping_offset(*tile.columns.add(n));
                for m in 0..M {
                    let rest = tile.rows.saturating_sub(m * L::LANES).min(L::LANES);
                    let count = if WHOLE { L::LANES } else { rest };
                    put::<L, P>(sums[n][m], out.wrapping_add(m * L::LANES), count, ACCUMULATE);
                }
            }
        }
    }
}

/// Writes `count` elements of a group.
///
/// # Safety
/// `count` elements are writable, and readable if `accumulate`.
#[inline(always)]
unsafe fn put<L: Lane, P: Semiring<L>>(
    sum: L,
    out: *mut L::Element,
    count: usize,
    accumulate: bool,
) {
    // SAFETY: `count` elements are writable, and readable if they accumulate.
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
