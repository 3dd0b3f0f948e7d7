//! Packing of operands in panels of groups.

use super::kernel::Format;
use ijk_kernels::simd::leveled;

/// An operand: its first element, and the offsets in bytes of its rows (or columns) and steps.
#[derive(Clone, Copy)]
pub(super) struct PanelSource<'a> {
    pub ptr: *const u8,
    pub rows: &'a [isize],
    pub steps: &'a [isize],
    /// Bytes of an element.
    pub size: usize,
    /// Elements are sign-extended from this many bits, where a group has wider ones.
    pub signed: bool,
    /// Bits of each element that are inverted: the sign of bytes, which adds 128.
    pub flip: u8,
}

/// Groups from one panel to the next: odd, since lines at multiples of 4096 bytes would share a set of L1.
pub(super) fn pitch(groups: usize) -> usize {
    groups | 1
}

/// Packs rows in panels, of columns or of rows; rows and steps beyond the last are 0.
///
/// # Safety
/// Every row at every step is an element; `to` has room for all groups of all panels.
pub(super) type NarrowPacking =
    unsafe fn(format: Format, source: &PanelSource<'_>, to: *mut u32) -> ();

/// Packs panels of rows at the baseline: wider levels would gather and scatter the groups of a few rows.
///
/// # Safety
/// As for [`NarrowPacking`].
pub(super) unsafe fn pack_rows<const W: usize>(
    format: Format,
    source: &PanelSource<'_>,
    to: *mut u32,
) {
    // SAFETY: guaranteed by the caller.
    unsafe { pack::<W>(format, source, to) }
}

leveled!(packing, pack, [const W: usize], [W],
    (format: Format, source: &PanelSource<'_>, to: *mut u32) -> ());

/// # Safety
/// As for [`NarrowPacking`].
#[inline(always)]
unsafe fn pack<const W: usize>(format: Format, source: &PanelSource<'_>, to: *mut u32) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match (format, source.size) {
            (Format::Bytes, _) => panels::<4, W>(source, to),
            (_, 1) => extended::<W>(source, to),
            _ => panels::<2, W>(source, to),
        }
    }
}

/// Returns true if offsets ascend by `step`.
fn ascend(offsets: &[isize], step: usize) -> bool {
    offsets.windows(2).all(|pair| pair[1] - pair[0] == step as isize)
}

/// Packs panels of `N` elements in a group, each of `4 / N` bytes.
///
/// # Safety
/// As for [`pack`].
#[inline(always)]
unsafe fn panels<const N: usize, const W: usize>(source: &PanelSource<'_>, to: *mut u32) {
    let size = 4 / N;
    let groups = source.steps.len().div_ceil(N);
    let flip = if size == 1 { u32::from_ne_bytes([source.flip; 4]) } else { 0 };
    let whole = source.steps.len() / N;
    let along = ascend(source.steps, size);
    let across = !along && ascend(source.rows, size);
    let full = if across { source.rows.len() / W } else { 0 };
    // All panels of a group before the next one: they are contiguous.
    for group in 0..if full > 0 { whole } else { 0 } {
        let steps = &source.steps[group * N..(group + 1) * N];
        let first = source.ptr.wrapping_offset(source.rows[0]);
        let rows: [*const u8; N] = std::array::from_fn(|n| first.wrapping_offset(steps[n]));
        for panel in 0..full {
            let rows = rows.map(|row| row.wrapping_add(panel * W * size));
            // SAFETY: guaranteed by the caller.
            unsafe { interleave::<N, W>(rows, flip, to.add((panel * pitch(groups) + group) * W)) };
        }
    }
    for (panel, rows) in source.rows.chunks(W).enumerate() {
        let mut first = if panel < full { whole } else { 0 };
        if let (Ok(rows), true) = (<&[isize; W]>::try_from(rows), along) {
            let from = source.ptr.wrapping_offset(source.steps[0]);
            let to = to.wrapping_add(panel * pitch(groups) * W);
            for group in (0..whole / TURNED).map(|n| n * TURNED) {
                let rows = rows.map(|row| from.wrapping_offset(row).wrapping_add(group * 4));
                // SAFETY: guaranteed by the caller.
                unsafe { turned(rows, flip, to.wrapping_add(group * W)) };
            }
            first = whole / TURNED * TURNED;
        }
        for group in first..groups {
            let steps = &source.steps[group * N..source.steps.len().min((group + 1) * N)];
            let part = PanelSource { rows, steps, ..*source };
            // SAFETY: guaranteed by the caller.
            unsafe {
                let to = to.add((panel * pitch(groups) + group) * W);
                match along && group < whole {
                    true => joined(&part, flip, to),
                    false => one_by_one(&part, flip, to),
                }
                (rows.len()..W).for_each(|n| to.add(n).write(0));
            }
        }
    }
}

/// Groups that are packed together where the steps of a row are contiguous.
const TURNED: usize = 4;

/// Packs groups of contiguous steps of each row of a full panel.
///
/// # Safety
/// Each row has `TURNED` groups; `to` has room for those of all rows.
#[inline(always)]
unsafe fn turned<const W: usize>(rows: [*const u8; W], flip: u32, to: *mut u32) {
    const { assert!(W.is_multiple_of(TURNED)) };
    for (n, block) in rows.as_chunks().0.iter().enumerate() {
        // SAFETY: guaranteed by the caller.
        unsafe { transposed(*block, flip, to.wrapping_add(n * TURNED), W) };
    }
}

/// Transposes a square of groups; the rows of the result are `step` groups apart.
///
/// # Safety
/// Each row has `TURNED` groups, and so has each of the result.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn transposed(rows: [*const u8; TURNED], flip: u32, to: *mut u32, step: usize) {
    use std::arch::x86_64::*;
    // SAFETY: guaranteed by the caller; SSE2 is part of the architecture.
    unsafe {
        let [a, b, c, d] = rows.map(|row| _mm_loadu_si128(row.cast()));
        let (ab, cd) = (_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
        let turned = [
            _mm_unpacklo_epi64(ab, cd),
            _mm_unpackhi_epi64(ab, cd),
            _mm_unpacklo_epi64(ab_high, cd_high),
            _mm_unpackhi_epi64(ab_high, cd_high),
        ];
        let flip = _mm_set1_epi32(flip as i32);
        for (group, each) in turned.into_iter().enumerate() {
            _mm_storeu_si128(to.wrapping_add(group * step).cast(), _mm_xor_si128(each, flip));
        }
    }
}

/// Transposes a square of groups; the rows of the result are `step` groups apart.
///
/// # Safety
/// Each row has `TURNED` groups, and so has each of the result.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn transposed(rows: [*const u8; TURNED], flip: u32, to: *mut u32, step: usize) {
    for (n, row) in rows.into_iter().enumerate() {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let row = row.cast::<[u32; TURNED]>().read_unaligned();
            for (group, joined) in row.into_iter().enumerate() {
                to.wrapping_add(group * step + n).write(joined ^ flip);
            }
        }
    }
}

/// Packs a group of contiguous steps of each row.
///
/// # Safety
/// As for [`pack`], for one group.
#[inline(always)]
unsafe fn joined(source: &PanelSource<'_>, flip: u32, to: *mut u32) {
    let from = source.ptr.wrapping_offset(source.steps[0]);
    for (n, &row) in source.rows.iter().enumerate() {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let joined = from.wrapping_offset(row).cast::<u32>().read_unaligned();
            to.add(n).write(joined ^ flip);
        }
    }
}

/// Packs a group of any steps of each row; it may be partial.
///
/// # Safety
/// As for [`pack`], for one group.
#[inline(always)]
unsafe fn one_by_one(source: &PanelSource<'_>, flip: u32, to: *mut u32) {
    let size = source.size;
    for (n, &row) in source.rows.iter().enumerate() {
        let from = source.ptr.wrapping_offset(row);
        let each = source.steps.iter().enumerate().map(|(n, &step)| {
            // SAFETY: guaranteed by the caller.
            let bits = unsafe { element(from.wrapping_offset(step), size) } ^ flip;
            (bits & (u32::MAX >> (32 - 8 * size))) << (8 * size * n)
        });
        // SAFETY: guaranteed by the caller.
        unsafe { to.add(n).write(each.fold(0, |group, bits| group | bits)) };
    }
}

/// Joins `N` rows of `W` contiguous elements in groups.
///
/// # Safety
/// Each row has `W` elements, `to` as many groups.
#[inline(always)]
unsafe fn interleave<const N: usize, const W: usize>(
    rows: [*const u8; N],
    flip: u32,
    to: *mut u32,
) {
    // Values instead of addresses: nothing written can be what is read.
    let mut groups = [flip; W];
    for (at, row) in rows.into_iter().enumerate() {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match N {
                4 => {
                    let row = row.cast::<[u8; W]>().read();
                    groups.iter_mut().zip(row).for_each(|(g, x)| *g ^= u32::from(x) << (8 * at));
                }
                _ => {
                    let row = row.cast::<[u16; W]>().read_unaligned();
                    groups.iter_mut().zip(row).for_each(|(g, x)| *g ^= u32::from(x) << (16 * at));
                }
            }
        }
    }
    // SAFETY: guaranteed by the caller.
    unsafe { to.cast::<[u32; W]>().write(groups) };
}

/// The bits of an element of one or two bytes.
///
/// # Safety
/// It is readable.
#[inline(always)]
unsafe fn element(from: *const u8, size: usize) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match size {
            1 => from.read().into(),
            _ => from.cast::<u16>().read_unaligned().into(),
        }
    }
}

/// Packs panels of bytes as pairs of `i16`.
///
/// # Safety
/// As for [`pack`].
#[inline(always)]
unsafe fn extended<const W: usize>(source: &PanelSource<'_>, to: *mut u32) {
    let wide = |byte: u8| match source.signed {
        true => byte as i8 as i16 as u16,
        false => byte.into(),
    };
    let groups = source.steps.len().div_ceil(2);
    for (panel, rows) in source.rows.chunks(W).enumerate() {
        for (group, steps) in source.steps.chunks(2).enumerate() {
            for n in 0..W {
                let mut joined = 0;
                if let Some(&row) = rows.get(n) {
                    for (at, &step) in steps.iter().enumerate() {
                        // SAFETY: guaranteed by the caller.
                        let byte = unsafe { source.ptr.wrapping_offset(row + step).read() };
                        joined |= u32::from(wide(byte)) << (16 * at);
                    }
                }
                // SAFETY: guaranteed by the caller.
                unsafe { to.add((panel * pitch(groups) + group) * W + n).write(joined) };
            }
        }
    }
}

/// Sums of the bytes of each row of a panel: of the left operand unsigned, of the right signed.
///
/// # Safety
/// The panel has `groups` groups of `sums.len()` rows, which is its width.
pub(super) type NarrowSums = unsafe fn(panel: *const u32, groups: usize, sums: &mut [i32]) -> ();

leveled!(summing, sum, [const W: usize, const SIGNED: bool], [W, SIGNED],
    (panel: *const u32, groups: usize, sums: &mut [i32]) -> ());

/// # Safety
/// As for [`NarrowSums`].
#[inline(always)]
unsafe fn sum<const W: usize, const SIGNED: bool>(
    panel: *const u32,
    groups: usize,
    sums: &mut [i32],
) {
    let mut all = [0i32; W];
    for group in 0..groups {
        // SAFETY: guaranteed by the caller.
        let row = unsafe { panel.add(group * W).cast::<[u32; W]>().read() };
        for (sum, x) in all.iter_mut().zip(row) {
            *sum += match SIGNED {
                true => {
                    let x = x as i32;
                    (x << 24 >> 24) + (x << 16 >> 24) + (x << 8 >> 24) + (x >> 24)
                }
                false => ((x & 0xff) + (x >> 8 & 0xff) + (x >> 16 & 0xff) + (x >> 24)) as i32,
            };
        }
    }
    sums.iter_mut().zip(all).for_each(|(sum, own)| *sum = own);
}
