//! Microkernels over groups: a group is 4 bytes, 2 integers or 2 `bf16` of consecutive steps, joined in 32 bits.
//!
//! A panel of the left operand has `ROWS` groups for each group of steps, one of the right `COLUMNS`. A microkernel
//! multiplies two panels, and writes the sums of a tile of `ROWS` by `COLUMNS`.

use super::pack::{NarrowPacking, NarrowSums, pack_rows, packing, summing};
use crate::simd::{Level, leveled};

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

/// Multiplies two panels of `groups` groups of steps.
///
/// # Safety
/// `left` has `groups * ROWS` groups and `right` `groups * COLUMNS`, aligned to 4 bytes. The processor has the
/// instructions of the kernel.
pub(super) type NarrowMicrokernel =
    unsafe fn(groups: usize, left: *const u32, right: *const u32, out: &mut Tile);

/// The sum with the products of two groups.
pub(crate) trait Dot {
    fn dot(sum: u32, left: u32, right: u32) -> u32;
}

/// Writes a row of a tile to contiguous elements, or adds it to them.
///
/// # Safety
/// `to` has as many elements, aligned to 4 bytes.
pub(super) type StoreRow =
    unsafe fn(sums: &[u32; COLUMNS], to: *mut u32, adds: bool, format: Format) -> ();

leveled!(store_row_at, store_row, [], [],
    (sums: &[u32; COLUMNS], to: *mut u32, adds: bool, format: Format) -> ());

/// # Safety
/// As for [`StoreRow`].
#[inline(always)]
unsafe fn store_row(sums: &[u32; COLUMNS], to: *mut u32, adds: bool, format: Format) {
    let to = to.cast::<[u32; COLUMNS]>();
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut values = *sums;
        if adds {
            let old = to.read();
            values.iter_mut().zip(old).for_each(|(value, old)| *value = format.sum(old, *value));
        }
        to.write(values);
    }
}

/// Adds to each sum of a tile what belongs to its row and its column.
///
/// # Safety
/// The processor has the instructions of the level.
pub(super) type Shift = unsafe fn(tile: &mut Tile, rows: &[i32], columns: &[i32]);

leveled!(shift_at, shift, [], [], (tile: &mut Tile, rows: &[i32], columns: &[i32]) -> ());

/// # Safety
/// As for [`Shift`].
#[inline(always)]
unsafe fn shift(tile: &mut Tile, rows: &[i32], columns: &[i32]) {
    for (sums, row) in tile.iter_mut().zip(rows) {
        for (sum, column) in sums.iter_mut().zip(columns) {
            *sum = sum.wrapping_add(row.wrapping_add(*column) as u32);
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
    pub store_row: StoreRow,
    pub shift: Shift,
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
        store_row: store_row_at(level),
        shift: shift_at(level),
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
unsafe fn plain<D: Dot>(groups: usize, left: *const u32, right: *const u32, out: &mut Tile) {
    for (row, sums) in out.iter_mut().enumerate() {
        *sums = [0; COLUMNS];
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
    (groups: usize, left: *const u32, right: *const u32, out: &mut Tile) -> ());

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

    use super::{COLUMNS, Format, NarrowMicrokernel, ROWS, Tile};
    use crate::simd::{Kind, Level};
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
        ($name:ident, $features:literal, $zero:expr, $group:ident, $dot:ident, $cast:expr) => {
            /// # Safety
            /// As for [`NarrowMicrokernel`].
            #[target_feature(enable = $features)]
            unsafe fn $name(groups: usize, left: *const u32, right: *const u32, out: &mut Tile) {
                let mut sums = [[$zero; 2]; ROWS];
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
        _mm512_setzero_si512(),
        integers,
        _mm512_dpbusd_epi32,
        std::convert::identity
    );
    microkernel!(
        words,
        "avx512f,avx512vnni",
        _mm512_setzero_si512(),
        integers,
        _mm512_dpwssd_epi32,
        std::convert::identity
    );
    microkernel!(
        halves,
        "avx512f,avx512bf16",
        _mm512_setzero_ps(),
        pairs,
        _mm512_dpbf16_ps,
        as_pairs
    );
}
