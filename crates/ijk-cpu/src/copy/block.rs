//! Square blocks, transposed in registers.

use std::marker::PhantomData;

/// How blocks of one element size are transposed.
pub(super) trait Block {
    /// The elements move as this.
    type Word: Copy;
    /// Rows and columns of a block.
    const SIDE: usize;

    /// `dst[r][c] = src[c][r]`: columns of `src` and rows of `dst` are contiguous, and lie that
    /// many bytes from each other.
    ///
    /// # Safety
    /// Both are blocks of elements, which do not overlap, `src` initialised; the processor has the
    /// instructions that the implementation names.
    unsafe fn transpose(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize);
}

/// Blocks of any elements, by no special instruction.
pub(super) struct Plain<W, const SIDE: usize>(PhantomData<W>);

impl<W: Copy, const N: usize> Block for Plain<W, N> {
    type Word = W;
    const SIDE: usize = N;

    #[inline(always)]
    unsafe fn transpose(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
        // SAFETY: the caller's promise, for each row and column of the block.
        unsafe {
            let columns: [[W; N]; N] = std::array::from_fn(|c| {
                src.offset(c as isize * src_stride).cast::<[W; N]>().read()
            });
            for (r, row) in (0..N).map(|r| (r, columns.map(|column| column[r]))) {
                dst.offset(r as isize * dst_stride).cast::<[W; N]>().write(row);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Registers4, Registers8};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Block;
    use std::arch::x86_64::*;

    /// Elements of 4 bytes by `avx2`.
    pub(in super::super) struct Registers4;

    /// Elements of 8 bytes by `avx2`.
    pub(in super::super) struct Registers8;

    impl Block for Registers4 {
        type Word = u32;
        const SIDE: usize = 8;

        #[inline(always)]
        unsafe fn transpose(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
            // SAFETY: the caller's promise.
            unsafe { eight(dst, dst_stride, src, src_stride) }
        }
    }

    impl Block for Registers8 {
        type Word = [u32; 2];
        const SIDE: usize = 4;

        #[inline(always)]
        unsafe fn transpose(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
            // SAFETY: the caller's promise.
            unsafe { four(dst, dst_stride, src, src_stride) }
        }
    }

    /// # Safety
    /// That of [`Block::transpose`], for blocks of 8 by 8 elements of 4 bytes.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn eight(dst: *mut u8, dst_stride: isize, src: *const u8, src_stride: isize) {
        // SAFETY: columns `c < 8` of 32 bytes each.
        let load = |c: isize| unsafe { _mm256_loadu_ps(src.offset(c * src_stride).cast()) };
        let x: [__m256; 8] = std::array::from_fn(|c| load(c as isize));
        // Pairs of columns, then fours: each half of a register holds a row's elements of four.
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
    /// That of [`Block::transpose`], for blocks of 4 by 4 elements of 8 bytes.
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
