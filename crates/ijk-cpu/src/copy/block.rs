//! Square blocks, transposed in registers.

#![allow(clippy::needless_range_loop, reason = "an index names the same register everywhere")]

use std::marker::PhantomData;

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
    }

    /// # Safety
    /// As for [`Block::transpose`], for blocks of 16 by 16 elements of 4 bytes.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn sixteen_lines(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
        // SAFETY: columns `c < 16` of 64 bytes each.
        let load =
            |c: usize| unsafe { _mm512_loadu_ps(src.offset(c as isize * src_stride).cast()) };
        let x: [__m512; 16] = std::array::from_fn(load);
        // Within 128-bit lanes: pairs of columns, then fours: `fours[4 * n + r]` has rows `r`, `r + 4`, `r + 8` and `r
        // + 12` of columns `4 * n` to `4 * n + 3`.
        let pairs: [__m512; 16] = std::array::from_fn(|n| {
            let (a, b) = (x[n & !1], x[n | 1]);
            if n & 1 == 0 { _mm512_unpacklo_ps(a, b) } else { _mm512_unpackhi_ps(a, b) }
        });
        let fours: [__m512; 16] = std::array::from_fn(|n| {
            let (a, b) = (pairs[n / 4 * 4 + n % 4 / 2], pairs[n / 4 * 4 + n % 4 / 2 + 2]);
            if n & 1 == 0 {
                _mm512_shuffle_ps::<0x44>(a, b)
            } else {
                _mm512_shuffle_ps::<0xEE>(a, b)
            }
        });
        for r in 0..4 {
            let quarters = std::array::from_fn(|n| _mm512_castps_si512(fours[4 * n + r]));
            for (n, row) in quarters_to_rows(quarters).into_iter().enumerate() {
                let row_at = dst.wrapping_offset((r + 4 * n) as isize * dst_stride);
                // SAFETY: row `r + 4 * n` of 16, of 64 bytes.
                unsafe { _mm512_storeu_si512(row_at.cast(), row) };
            }
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
