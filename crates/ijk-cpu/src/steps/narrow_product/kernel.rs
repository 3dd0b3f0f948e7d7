//! Microkernels over groups: a group is 4 bytes, 2 integers or 2 `bf16` of consecutive steps, joined in 32 bits.
//!
//! A panel of the left operand has `ROWS` groups for each group of steps, one of the right `COLUMNS`. A microkernel
//! multiplies two panels, and writes the sums of a tile of `ROWS` by `COLUMNS`.

use super::pack::{NarrowPacking, NarrowSums, pack_rows, packing, summing};
use ijk_kernels::simd::{Level, leveled};

/// Rows of a tile.
pub(super) const ROWS: usize = 12;
/// Columns of a tile: two registers of the widest level.
pub(super) const COLUMNS: usize = 32;
/// Sums of a tile, as bits of `i32` or `f32`.
pub(super) type Tile = [[u32; COLUMNS]; ROWS];

/// Elements of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Four bytes, of the left operand unsigned, of the right signed.
    Bytes,
    /// Two `i16`.
    Words,
    /// Two `bf16`.
    Halves,
}

impl Format {
    /// Steps in a group.
    pub(super) fn steps(self) -> usize {
        if self == Self::Bytes { 4 } else { 2 }
    }

    /// The sum of two elements of the output.
    #[inline(always)]
    pub(super) fn sum(self, x: u32, y: u32) -> u32 {
        match self {
            Self::Halves => (f32::from_bits(x) + f32::from_bits(y)).to_bits(),
            _ => x.wrapping_add(y),
        }
    }
}

/// Where the sums of a tile start: each at the sum of what belongs to its row and to its column.
#[derive(Clone, Copy)]
pub(super) struct TileStart<'a> {
    pub rows: &'a [i32; ROWS],
    pub columns: &'a [i32; COLUMNS],
}

/// Multiplies two panels of `groups` groups of steps.
///
/// # Safety
/// `left` has `groups * ROWS` groups and `right` `groups * COLUMNS`, aligned to 4 bytes. The processor has the
/// instructions of the kernel.
pub(super) type NarrowMicrokernel = unsafe fn(
    groups: usize,
    left: *const u32,
    right: *const u32,
    start: TileStart<'_>,
    out: &mut Tile,
) -> ();

/// The sum with the products of two groups.
pub(crate) trait Dot {
    fn dot(sum: u32, left: u32, right: u32) -> u32;
}

/// Writes the rows of a tile to contiguous elements each, or adds them: `rows` has their offsets from `to` in bytes.
///
/// # Safety
/// There are as many elements, aligned to 4 bytes.
pub(super) type StoreTile =
    unsafe fn(tile: &Tile, to: *mut u8, rows: &[[isize; 2]], adds: bool, format: Format) -> ();

leveled!(store_tile_at, store_tile, [], [],
    (tile: &Tile, to: *mut u8, rows: &[[isize; 2]], adds: bool, format: Format) -> ());

/// # Safety
/// As for [`StoreTile`].
#[inline(always)]
unsafe fn store_tile(tile: &Tile, to: *mut u8, rows: &[[isize; 2]], adds: bool, format: Format) {
    for (sums, row) in tile.iter().zip(rows) {
        let to = to.wrapping_offset(row[1]).cast::<[u32; COLUMNS]>();
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut values = *sums;
            if adds {
                let old = to.read();
                values
                    .iter_mut()
                    .zip(old)
                    .for_each(|(value, old)| *value = format.sum(old, *value));
            }
            to.write(values);
        }
    }
}

/// The functions of a product, for a level.
#[derive(Clone, Copy, Debug)]
pub(super) struct NarrowKernels {
    pub multiply: NarrowMicrokernel,
    pub pack_rows: NarrowPacking,
    pub pack_columns: NarrowPacking,
    pub sums_of_rows: NarrowSums,
    pub sums_of_columns: NarrowSums,
    pub store_tile: StoreTile,
}

/// The format in which elements are multiplied, and the functions.
pub(super) fn kernels(format: Format, level: Level) -> (Format, NarrowKernels) {
    let (format, multiply) = choose(format, level);
    let kernels = NarrowKernels {
        multiply,
        pack_rows: pack_rows::<ROWS>,
        pack_columns: packing::<COLUMNS>(level),
        sums_of_rows: summing::<ROWS, false>(level),
        sums_of_columns: summing::<COLUMNS, true>(level),
        store_tile: store_tile_at(level),
    };
    (format, kernels)
}

struct WordDot;
struct HalfDot;

impl Dot for WordDot {
    #[inline(always)]
    fn dot(sum: u32, left: u32, right: u32) -> u32 {
        let low = |x: u32| i32::from(x as i16);
        let high = |x: u32| x as i32 >> 16;
        let products = (low(left) * low(right)).wrapping_add(high(left) * high(right));
        sum.wrapping_add(products as u32)
    }
}

impl Dot for HalfDot {
    #[inline(always)]
    fn dot(sum: u32, left: u32, right: u32) -> u32 {
        let low = |x: u32| f32::from_bits(x << 16);
        let high = |x: u32| f32::from_bits(x & 0xffff_0000);
        let sum = low(left).mul_add(low(right), f32::from_bits(sum));
        high(left).mul_add(high(right), sum).to_bits()
    }
}

/// # Safety
/// As for [`NarrowMicrokernel`].
#[inline(always)]
unsafe fn plain<D: Dot>(
    groups: usize,
    left: *const u32,
    right: *const u32,
    start: TileStart<'_>,
    out: &mut Tile,
) {
    for (row, sums) in out.iter_mut().enumerate() {
        for (sum, column) in sums.iter_mut().zip(start.columns) {
            *sum = start.rows[row].wrapping_add(*column) as u32;
        }
        for group in 0..groups {
            // SAFETY: within the panels.
            unsafe {
                let x = left.add(group * ROWS + row).read();
                let right = right.add(group * COLUMNS);
                for (column, sum) in sums.iter_mut().enumerate() {
                    *sum = D::dot(*sum, x, right.add(column).read());
                }
            }
        }
    }
}

leveled!(plain_at, plain, [D: Dot], [D],
    (groups: usize, left: *const u32, right: *const u32, start: TileStart<'_>, out: &mut Tile) -> ());

/// The format in which integers of a byte are multiplied, and the microkernel of a format.
fn choose(format: Format, level: Level) -> (Format, NarrowMicrokernel) {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = wide::choose(format, level) {
        return (format, kernel);
    }
    match format {
        Format::Bytes | Format::Words => (Format::Words, plain_at::<WordDot>(level)),
        Format::Halves => (Format::Halves, plain_at::<HalfDot>(level)),
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    //! Kernels of AVX-512 VNNI and BF16.

    use super::{COLUMNS, Format, NarrowMicrokernel, ROWS, Tile, TileStart};
    use ijk_kernels::simd::{Kind, Level};
    use std::arch::x86_64::*;

    /// The kernel of a format, if the level and the processor have its instruction.
    pub(super) fn choose(format: Format, level: Level) -> Option<NarrowMicrokernel> {
        if level.kind() != Kind::Avx512 {
            return None;
        }
        let vnni = is_x86_feature_detected!("avx512vnni");
        match format {
            Format::Bytes => vnni.then_some(bytes as NarrowMicrokernel),
            Format::Words => vnni.then_some(words as NarrowMicrokernel),
            Format::Halves => {
                is_x86_feature_detected!("avx512bf16").then_some(halves as NarrowMicrokernel)
            }
        }
    }

    macro_rules! microkernel {
        ($name:ident, $features:literal, $group:ident, $dot:ident, $start:expr, $cast:expr) => {
            /// # Safety
            /// As for [`NarrowMicrokernel`].
            #[target_feature(enable = $features)]
            unsafe fn $name(
                groups: usize,
                left: *const u32,
                right: *const u32,
                start: TileStart<'_>,
                out: &mut Tile,
            ) {
                let (rows, columns) = (start.rows, start.columns.as_ptr().cast::<u32>());
                // SAFETY: these are two registers.
                let columns = unsafe { [integers(columns), integers(columns.add(COLUMNS / 2))] };
                let mut sums = [[$start(columns[0]); 2]; ROWS];
                for (sums, &row) in sums.iter_mut().zip(rows) {
                    let row = _mm512_set1_epi32(row);
                    sums[0] = $start(_mm512_add_epi32(row, columns[0]));
                    sums[1] = $start(_mm512_add_epi32(row, columns[1]));
                }
                for group in 0..groups {
                    // SAFETY: within the panels.
                    unsafe {
                        let right = right.add(group * COLUMNS);
                        let y = [$group(right), $group(right.add(COLUMNS / 2))];
                        let left = left.add(group * ROWS);
                        for (row, sums) in sums.iter_mut().enumerate() {
                            let x = $cast(_mm512_set1_epi32(left.add(row).read() as i32));
                            sums[0] = $dot(sums[0], x, y[0]);
                            sums[1] = $dot(sums[1], x, y[1]);
                        }
                    }
                }
                // SAFETY: both have the size of a tile.
                unsafe { std::ptr::copy_nonoverlapping(sums.as_ptr().cast(), out, 1) };
            }
        };
    }

    /// # Safety
    /// `from` has a register of groups.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn integers(from: *const u32) -> __m512i {
        // SAFETY: guaranteed by the caller.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    /// # Safety
    /// `from` has a register of groups.
    #[target_feature(enable = "avx512f,avx512bf16")]
    #[inline]
    unsafe fn pairs(from: *const u32) -> __m512bh {
        // SAFETY: guaranteed by the caller; both are 64 bytes.
        unsafe { std::mem::transmute(integers(from)) }
    }

    /// The register as pairs of `bf16`.
    #[inline(always)]
    fn as_pairs(register: __m512i) -> __m512bh {
        // SAFETY: both are 64 bytes.
        unsafe { std::mem::transmute(register) }
    }

    microkernel!(
        bytes,
        "avx512f,avx512vnni",
        integers,
        _mm512_dpbusd_epi32,
        std::convert::identity,
        std::convert::identity
    );
    microkernel!(
        words,
        "avx512f,avx512vnni",
        integers,
        _mm512_dpwssd_epi32,
        std::convert::identity,
        std::convert::identity
    );
    microkernel!(
        halves,
        "avx512f,avx512bf16",
        pairs,
        _mm512_dpbf16_ps,
        _mm512_castsi512_ps,
        as_pairs
    );
}
