//! Contiguous elements that are written a few elements apart: by stores of some lanes of a vector, since other threads
//! may write what lies between.

use super::kernel::{at, strided};
use std::arch::x86_64::*;

macro_rules! spread {
    ($plane:ident, $row:ident, $word:ty, $lanes:literal, $mask:ty, $load:ident, $permute:ident, $store:ident) => {
        /// # Safety
        /// As for [`Plane`](super::kernel::Plane), with the condition of [`Planes::spread`](super::kernel::Planes).
        #[target_feature(enable = "avx512f")]
        pub(super) unsafe fn $plane(
            [rows, columns]: [usize; 2],
            dst: *mut u8,
            dst_strides: [isize; 2],
            src: *const u8,
            src_strides: [isize; 2],
        ) {
            const SIZE: isize = size_of::<$word>() as isize;
            const { assert!(size_of::<[$word; $lanes]>() == size_of::<__m512i>()) };
            for r in 0..rows {
                let to = at::<$word>(dst, dst_strides, r, 0).cast_mut();
                let from = at::<$word>(src, src_strides, r, 0);
                // SAFETY: row `r`; its columns are contiguous in `src`, and `N` elements apart in `dst`.
                unsafe {
                    match dst_strides[1] / SIZE {
                        2 => $row::<2>(columns, to, from),
                        3 => $row::<3>(columns, to, from),
                        _ => $row::<4>(columns, to, from),
                    }
                }
            }
        }

        /// Copies contiguous elements to places that are `N` elements apart.
        ///
        /// # Safety
        /// Both sides have `columns` elements, and none is on both; no other thread accesses those of `dst`.
        #[target_feature(enable = "avx512f")]
        unsafe fn $row<const N: usize>(columns: usize, dst: *mut $word, src: *const $word) {
            // The places of a vector's elements are in `N` vectors.
            let lanes = |part: usize| (0..$lanes).map(move |lane| part * $lanes + lane);
            let element = |part| {
                let mut elements = [0; $lanes];
                lanes(part).zip(&mut elements).for_each(|(place, to)| *to = (place / N) as $word);
                // SAFETY: the array is as long as the register.
                unsafe { $load(elements.as_ptr().cast()) }
            };
            let written = |part| {
                lanes(part)
                    .rev()
                    .fold(0, |mask: $mask, place| mask << 1 | <$mask>::from(place % N == 0))
            };
            let parts: [_; N] = std::array::from_fn(|part| (element(part), written(part)));
            let whole = columns / $lanes * $lanes;
            for column in (0..whole).step_by($lanes) {
                // SAFETY: a vector of elements, and of their places those that the mask selects.
                unsafe {
                    let values = $load(src.add(column).cast());
                    for (part, (element, written)) in parts.into_iter().enumerate() {
                        let to = dst.wrapping_add(column * N + part * $lanes);
                        $store(to.cast(), written, $permute(element, values));
                    }
                }
            }
            let steps = [0, (N * size_of::<$word>()) as isize];
            // SAFETY: the columns that remain.
            unsafe {
                let (to, from) = (dst.wrapping_add(whole * N), src.wrapping_add(whole));
                let steps = (steps, [0, size_of::<$word>() as isize]);
                strided::<$word>([1, columns - whole], to.cast(), steps.0, from.cast(), steps.1);
            }
        }
    };
}

spread!(
    spread4,
    row4,
    i32,
    16,
    u16,
    _mm512_loadu_epi32,
    _mm512_permutexvar_epi32,
    _mm512_mask_storeu_epi32
);
spread!(
    spread8,
    row8,
    i64,
    8,
    u8,
    _mm512_loadu_epi64,
    _mm512_permutexvar_epi64,
    _mm512_mask_storeu_epi64
);
