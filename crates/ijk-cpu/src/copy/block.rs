//! Square blocks, transposed in registers.

#![allow(clippy::needless_range_loop, reason = "an index names the same register everywhere")]

use std::marker::PhantomData;
use std::ops::Range;

/// Transposition of blocks of one element size.
pub(super) trait Block {
    /// Word as which elements are moved.
    type Word: Copy;
    /// Transposition of the remaining strips; `Self` if none remain.
    type Smaller: Block<Word = Self::Word>;
    /// Rows and columns of a block.
    const SIDE: usize;

    /// `dst[r][c] = src[c][r]`: columns of `src` and rows of `dst` are contiguous, with the given strides in bytes.
    ///
    /// # Safety
    /// Both are blocks of elements, which do not overlap, and `src` is initialised; the processor supports the
    /// instructions that the implementation names.
    unsafe fn transpose(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize);

    /// Rows of the blocks of [`split`](Self::split), and columns of those of [`join`](Self::join).
    const THIN: usize = 1;
    /// Rows of planes that these blocks split faster than other code, and columns of those that they join.
    const SPLITS: Range<usize> = 0..0;
    const JOINS: Range<usize> = 0..0;

    /// As [`transpose`](Self::transpose), for [`THIN`](Self::THIN) rows of [`SIDE`](Self::SIDE) elements.
    ///
    /// # Safety
    /// As for [`transpose`](Self::transpose), for these extents.
    unsafe fn split(_dst: *mut u8, _dst_stride: isize, _src: *const u8, _src_stride: isize) {
        unreachable!("there are no thin blocks");
    }

    /// As [`transpose`](Self::transpose), for [`SIDE`](Self::SIDE) rows of [`THIN`](Self::THIN) elements.
    ///
    /// # Safety
    /// As for [`transpose`](Self::transpose), for these extents.
    unsafe fn join(_dst: *mut u8, _dst_stride: isize, _src: *const u8, _src_stride: isize) {
        unreachable!("there are no thin blocks");
    }
}

/// Blocks of any elements, without special instructions.
pub(super) struct Plain<W, const SIDE: usize>(PhantomData<W>);

macro_rules! plain {
    ($($side:literal, then $smaller:literal;)*) => {$(
        impl<W: Copy> Block for Plain<W, $side> {
            type Word = W;
            type Smaller = Plain<W, $smaller>;
            const SIDE: usize = $side;

            #[inline(always)]
            unsafe fn transpose(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
                // SAFETY: guaranteed by the caller.
                unsafe { plain::<W, $side>(dst, dst_stride, src, src_stride) }
            }
        }
    )*};
}

plain! {
    8, then 4;
    4, then 1;
    1, then 1;
}

/// # Safety
/// As for [`Block::transpose`], for blocks of `N` by `N` elements.
#[inline(always)]
unsafe fn plain<W: Copy, const N: usize>(
    dst: *mut u8,
    dst_stride: isize,
    src: *const u8,
    src_stride: isize,
) {
    // SAFETY: guaranteed by the caller, for each row and column of the block.
    unsafe {
        let mut columns = [src.cast::<[W; N]>().read(); N];
        for c in 1..N {
            columns[c] = src.offset(c as isize * src_stride).cast::<[W; N]>().read();
        }
        for r in 0..N {
            let mut row = columns[r];
            for c in 0..N {
                row[c] = columns[c][r];
            }
            dst.offset(r as isize * dst_stride).cast::<[W; N]>().write(row);
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Lines4, Lines8, Registers4, Registers8};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Block, Plain};
    use std::arch::x86_64::*;
    use std::ops::Range;

    /// Elements of 4 bytes by `avx2`.
    pub(in super::super) struct Registers4;

    /// Elements of 8 bytes by `avx2`.
    pub(in super::super) struct Registers8;

    impl Block for Registers4 {
        type Word = u32;
        type Smaller = Plain<u32, 4>;
        const SIDE: usize = 8;

        #[inline(always)]
        unsafe fn transpose(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
            // SAFETY: guaranteed by the caller.
            unsafe { eight(dst, dst_stride, src, src_stride) }
        }
    }

    impl Block for Registers8 {
        type Word = [u32; 2];
        type Smaller = Plain<[u32; 2], 1>;
        const SIDE: usize = 4;

        #[inline(always)]
        unsafe fn transpose(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
            // SAFETY: guaranteed by the caller.
            unsafe { four(dst, dst_stride, src, src_stride) }
        }
    }

    /// Elements of 4 bytes by `avx512f`, whole cache lines at a time.
    pub(in super::super) struct Lines4;

    /// Elements of 8 bytes by `avx512f`, whole cache lines at a time.
    pub(in super::super) struct Lines8;

    impl Block for Lines4 {
        type Word = u32;
        type Smaller = Registers4;
        const SIDE: usize = 16;

        #[inline(always)]
        unsafe fn transpose(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
            // SAFETY: guaranteed by the caller.
            unsafe { sixteen_lines(dst, dst_stride, src, src_stride) }
        }

        const THIN: usize = 4;
        const SPLITS: Range<usize> = 4..16;
        const JOINS: Range<usize> = 9..16;

        #[inline(always)]
        unsafe fn split(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
            // SAFETY: guaranteed by the caller.
            unsafe { split_four(dst, dst_stride, src, src_stride) }
        }

        #[inline(always)]
        unsafe fn join(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
            // SAFETY: guaranteed by the caller.
            unsafe { join_four(dst, dst_stride, src, src_stride) }
        }
    }

    impl Block for Lines8 {
        type Word = [u32; 2];
        type Smaller = Registers8;
        const SIDE: usize = 8;

        #[inline(always)]
        unsafe fn transpose(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
            // SAFETY: guaranteed by the caller.
            unsafe { eight_lines(dst, dst_stride, src, src_stride) }
        }

        const THIN: usize = 2;
        const SPLITS: Range<usize> = 4..8;

        #[inline(always)]
        unsafe fn split(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
            // SAFETY: guaranteed by the caller.
            unsafe { split_two(dst, dst_stride, src, src_stride) }
        }
    }

    /// # Safety
    /// As for [`Block::transpose`], for blocks of 16 by 16 elements of 4 bytes.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn sixteen_lines(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
        // SAFETY: columns `c < 16` of 64 bytes each.
        let load =
            |c: usize| unsafe { _mm512_loadu_ps(src.offset(c as isize * src_stride).cast()) };
        // `fours[n][r]` has rows `r`, `r + 4`, `r + 8` and `r + 12` of columns `4 * n` to `4 * n + 3`.
        let four = |n: usize| fours_in_lanes(std::array::from_fn(|c| load(4 * n + c)));
        let fours: [[__m512; 4]; 4] = std::array::from_fn(four);
        for r in 0..4 {
            let quarters = std::array::from_fn(|n| _mm512_castps_si512(fours[n][r]));
            for (n, row) in quarters_to_rows(quarters).into_iter().enumerate() {
                let row_at = dst.wrapping_offset((r + 4 * n) as isize * dst_stride);
                // SAFETY: row `r + 4 * n` of 16, of 64 bytes.
                unsafe { _mm512_storeu_si512(row_at.cast(), row) };
            }
        }
    }

    /// Transposes blocks of 4 by 4 elements of 4 bytes, one in each 128-bit lane: element `c` of result `r` is element
    /// `r` of `x[c]`.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn fours_in_lanes(x: [__m512; 4]) -> [__m512; 4] {
        let low = [_mm512_unpacklo_ps(x[0], x[1]), _mm512_unpacklo_ps(x[2], x[3])];
        let high = [_mm512_unpackhi_ps(x[0], x[1]), _mm512_unpackhi_ps(x[2], x[3])];
        [
            _mm512_shuffle_ps::<0x44>(low[0], low[1]),
            _mm512_shuffle_ps::<0xEE>(low[0], low[1]),
            _mm512_shuffle_ps::<0x44>(high[0], high[1]),
            _mm512_shuffle_ps::<0xEE>(high[0], high[1]),
        ]
    }

    /// The same for blocks of 2 by 2 elements of 8 bytes.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn twos_in_lanes(x: [__m512i; 2]) -> [__m512i; 2] {
        [_mm512_unpacklo_epi64(x[0], x[1]), _mm512_unpackhi_epi64(x[0], x[1])]
    }

    /// 128 bits each from four addresses, `step` bytes apart, in the lanes of a register: such loads need no shuffles.
    ///
    /// # Safety
    /// They are readable.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn lanes_from(first: *const u8, step: isize) -> __m512i {
        // SAFETY: guaranteed by the caller.
        let load = |n: isize| unsafe { _mm_loadu_si128(first.offset(n * step).cast()) };
        let low = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(load(0)), load(1));
        _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(low, load(2)), load(3))
    }

    /// Stores the 128-bit lanes of a register at four addresses, `step` bytes apart.
    ///
    /// # Safety
    /// They are writable.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn lanes_to(first: *mut u8, step: isize, lanes: __m512i) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            _mm_storeu_si128(first.cast(), _mm512_castsi512_si128(lanes));
            _mm_storeu_si128(first.offset(step).cast(), _mm512_extracti32x4_epi32::<1>(lanes));
            _mm_storeu_si128(first.offset(2 * step).cast(), _mm512_extracti32x4_epi32::<2>(lanes));
            _mm_storeu_si128(first.offset(3 * step).cast(), _mm512_extracti32x4_epi32::<3>(lanes));
        }
    }

    /// # Safety
    /// As for [`Block::split`], for 4 rows of 16 elements of 4 bytes.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn split_four(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
        let x = std::array::from_fn(|c| {
            // SAFETY: columns `c`, `c + 4`, `c + 8` and `c + 12` of 16 bytes each.
            _mm512_castsi512_ps(unsafe {
                lanes_from(src.offset(c as isize * src_stride), 4 * src_stride)
            })
        });
        for (r, row) in fours_in_lanes(x).into_iter().enumerate() {
            // SAFETY: row `r` of 4, of 64 bytes.
            unsafe { _mm512_storeu_ps(dst.offset(r as isize * dst_stride).cast(), row) };
        }
    }

    /// # Safety
    /// As for [`Block::join`], for 16 rows of 4 elements of 4 bytes.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn join_four(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
        // SAFETY: columns `c < 4` of 64 bytes each.
        let load =
            |c: usize| unsafe { _mm512_loadu_ps(src.offset(c as isize * src_stride).cast()) };
        for (r, rows) in fours_in_lanes(std::array::from_fn(load)).into_iter().enumerate() {
            let to = dst.wrapping_offset(r as isize * dst_stride);
            // SAFETY: rows `r`, `r + 4`, `r + 8` and `r + 12`, of 16 bytes each.
            unsafe { lanes_to(to, 4 * dst_stride, _mm512_castps_si512(rows)) };
        }
    }

    /// # Safety
    /// As for [`Block::split`], for 2 rows of 8 elements of 8 bytes.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn split_two(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
        let x = std::array::from_fn(|c| {
            // SAFETY: columns `c`, `c + 2`, `c + 4` and `c + 6` of 16 bytes each.
            unsafe { lanes_from(src.offset(c as isize * src_stride), 2 * src_stride) }
        });
        for (r, row) in twos_in_lanes(x).into_iter().enumerate() {
            // SAFETY: row `r` of 2, of 64 bytes.
            unsafe { _mm512_storeu_si512(dst.offset(r as isize * dst_stride).cast(), row) };
        }
    }

    /// # Safety
    /// As for [`Block::transpose`], for blocks of 8 by 8 elements of 8 bytes.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn eight_lines(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
        // SAFETY: columns `c < 8` of 64 bytes each.
        let load =
            |c: usize| unsafe { _mm512_loadu_pd(src.offset(c as isize * src_stride).cast()) };
        let x: [__m512d; 8] = std::array::from_fn(load);
        for r in 0..2 {
            // Pairs of columns: each 128-bit lane has their elements of row `r`, `r + 2`, `r + 4`, `r + 6`.
            let quarters = std::array::from_fn(|n| {
                let (a, b) = (x[2 * n], x[2 * n + 1]);
                let pair = if r == 0 { _mm512_unpacklo_pd(a, b) } else { _mm512_unpackhi_pd(a, b) };
                _mm512_castpd_si512(pair)
            });
            for (n, row) in quarters_to_rows(quarters).into_iter().enumerate() {
                let row_at = dst.wrapping_offset((r + 2 * n) as isize * dst_stride);
                // SAFETY: row `r + 2 * n` of 8, of 64 bytes.
                unsafe { _mm512_storeu_si512(row_at.cast(), row) };
            }
        }
    }

    /// Transposes 128-bit lanes of registers: lane `c` of result `r` is lane `r` of `x[c]`.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn quarters_to_rows(x: [__m512i; 4]) -> [__m512i; 4] {
        let low = |a, b| _mm512_shuffle_i32x4::<0x88>(a, b);
        let high = |a, b| _mm512_shuffle_i32x4::<0xDD>(a, b);
        // Even lanes of two registers each, then odd ones.
        let (even, odd) =
            ([low(x[0], x[1]), low(x[2], x[3])], [high(x[0], x[1]), high(x[2], x[3])]);
        [low(even[0], even[1]), low(odd[0], odd[1]), high(even[0], even[1]), high(odd[0], odd[1])]
    }

    /// # Safety
    /// As for [`Block::transpose`], for blocks of 8 by 8 elements of 4 bytes.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn eight(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
        // SAFETY: columns `c < 8` of 32 bytes each.
        let load = |c: isize| unsafe { _mm256_loadu_ps(src.offset(c * src_stride).cast()) };
        let x: [__m256; 8] = std::array::from_fn(|c| load(c as isize));
        // Pairs of columns, then fours: each half of a register has four columns' elements of a row.
        let pairs: [__m256; 8] = std::array::from_fn(|n| {
            let (a, b) = (x[n & !1], x[n | 1]);
            if n & 1 == 0 { _mm256_unpacklo_ps(a, b) } else { _mm256_unpackhi_ps(a, b) }
        });
        let fours: [__m256; 8] = std::array::from_fn(|n| {
            let (a, b) = (pairs[n / 4 * 4 + n % 4 / 2], pairs[n / 4 * 4 + n % 4 / 2 + 2]);
            if n & 1 == 0 {
                _mm256_shuffle_ps::<0x44>(a, b)
            } else {
                _mm256_shuffle_ps::<0xEE>(a, b)
            }
        });
        for r in 0..4 {
            let low = _mm256_permute2f128_ps::<0x20>(fours[r], fours[r + 4]);
            let high = _mm256_permute2f128_ps::<0x31>(fours[r], fours[r + 4]);
            // SAFETY: rows `r` and `r + 4` of 8, of 32 bytes each.
            unsafe {
                _mm256_storeu_ps(dst.offset(r as isize * dst_stride).cast(), low);
                _mm256_storeu_ps(dst.offset((r as isize + 4) * dst_stride).cast(), high);
            }
        }
    }

    /// # Safety
    /// As for [`Block::transpose`], for blocks of 4 by 4 elements of 8 bytes.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn four(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
        // SAFETY: columns `c < 4` of 32 bytes each.
        let load = |c: isize| unsafe { _mm256_loadu_pd(src.offset(c * src_stride).cast()) };
        let x: [__m256d; 4] = std::array::from_fn(|c| load(c as isize));
        let (a, b) = (_mm256_unpacklo_pd(x[0], x[1]), _mm256_unpackhi_pd(x[0], x[1]));
        let (c, d) = (_mm256_unpacklo_pd(x[2], x[3]), _mm256_unpackhi_pd(x[2], x[3]));
        let rows = [
            _mm256_permute2f128_pd::<0x20>(a, c),
            _mm256_permute2f128_pd::<0x20>(b, d),
            _mm256_permute2f128_pd::<0x31>(a, c),
            _mm256_permute2f128_pd::<0x31>(b, d),
        ];
        for (r, row) in rows.into_iter().enumerate() {
            // SAFETY: row `r` of 4, of 32 bytes.
            unsafe { _mm256_storeu_pd(dst.offset(r as isize * dst_stride).cast(), row) };
        }
    }
}
