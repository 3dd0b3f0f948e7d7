//! AVX2 with FMA.

use super::vector::{instructions, vector};
use super::{Bits, Float, Kernel, Number, Simd, Vector};
use std::arch::x86_64::*;

/// The level with 16 registers of 32 bytes.
#[derive(Clone, Copy)]
pub struct Avx2(());

impl Avx2 {
    /// The level, if the machine supports it.
    pub fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        found.then_some(Self(()))
    }
}

#[target_feature(enable = "avx2,fma")]
#[inline]
fn vectorize<K: Kernel>(simd: Avx2, kernel: K) -> K::Output {
    kernel.run(simd)
}

impl Simd for Avx2 {
    type F32 = F32x8;
    type F64 = F64x4;
    type I32 = I32x8;
    type I64 = I64x4;
    type U8 = U8x32;
    const REGISTERS: usize = 16;
    const FUSED: bool = true;
    const SPECIAL_KERNELS: bool = true;

    #[inline(always)]
    unsafe fn assume() -> Self {
        Self(())
    }

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: the token proves that the machine has the instructions.
        unsafe { vectorize(self, kernel) }
    }
}

vector!(Avx2, F32x8, __m256, f32, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps);
vector!(Avx2, F64x4, __m256d, f64, 4, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd);
vector!(Avx2, I32x8, __m256i, i32, 8, _mm256_set1_epi32, _mm256_loadu_si256, _mm256_storeu_si256);
vector!(Avx2, I64x4, __m256i, i64, 4, _mm256_set1_epi64x, _mm256_loadu_si256, _mm256_storeu_si256);
vector!(Avx2, U8x32, __m256i, u8, 32, _mm256_set1_epi8, _mm256_loadu_si256, _mm256_storeu_si256);

macro_rules! float {
    ($name:ident, $add:ident, $sub:ident, $mul:ident, $max:ident, $min:ident, $div:ident,
     $fmadd:ident, $fnmadd:ident, $cmp:ident, $blend:ident, $andnot:ident, $set:ident,
     $sqrt:ident, $round:ident) => {
        impl Number for $name {
            instructions!(add = $add, sub = $sub, mul = $mul, max = $max, min = $min);

            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                Self(unsafe { $fmadd(self.0, factor.0, term.0) })
            }
        }

        impl $name {
            /// `self` in lanes where it is NaN, else `other`.
            #[inline(always)]
            fn nan_or(self, other: Self) -> Self {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                Self(unsafe { $blend(other.0, self.0, $cmp::<_CMP_UNORD_Q>(self.0, self.0)) })
            }
        }

        impl Float for $name {
            instructions!(div = $div);

            #[inline(always)]
            fn neg_mul_add(self, factor: Self, term: Self) -> Self {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                Self(unsafe { $fnmadd(self.0, factor.0, term.0) })
            }

            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                Self(unsafe { $andnot($set(-0.0), self.0) })
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                Self(unsafe { $sqrt(self.0) })
            }
            #[inline(always)]
            fn floor(self) -> Self {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                Self(unsafe { $round::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self.0) })
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                Self(unsafe { $round::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(self.0) })
            }
            #[inline(always)]
            fn round(self) -> Self {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                Self(unsafe { $round::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0) })
            }
            #[inline(always)]
            fn where_lt(self, right: Self, yes: Self, no: Self) -> Self {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                Self(unsafe { $blend(no.0, yes.0, $cmp::<_CMP_LT_OQ>(self.0, right.0)) })
            }
            #[inline(always)]
            fn where_le(self, right: Self, yes: Self, no: Self) -> Self {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                Self(unsafe { $blend(no.0, yes.0, $cmp::<_CMP_LE_OQ>(self.0, right.0)) })
            }
            #[inline(always)]
            fn where_eq(self, right: Self, yes: Self, no: Self) -> Self {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                Self(unsafe { $blend(no.0, yes.0, $cmp::<_CMP_EQ_OQ>(self.0, right.0)) })
            }

            // The instruction returns its second operand if either is NaN.
            #[inline(always)]
            fn max_nan(self, right: Self) -> Self {
                self.nan_or(self.max(right))
            }
            #[inline(always)]
            fn min_nan(self, right: Self) -> Self {
                self.nan_or(self.min(right))
            }
            #[inline(always)]
            fn interleave(self, right: Self) -> (Self, Self) {
                self.interleave_lanes(right)
            }
            #[inline(always)]
            fn deinterleave(self, right: Self) -> (Self, Self) {
                self.deinterleave_lanes(right)
            }
        }
    };
}

impl F32x8 {
    #[inline(always)]
    fn interleave_lanes(self, right: Self) -> (Self, Self) {
        // SAFETY: vectors of this type exist only where the machine has the instructions.
        unsafe {
            let low = _mm256_unpacklo_ps(self.0, right.0);
            let high = _mm256_unpackhi_ps(self.0, right.0);
            (
                Self(_mm256_permute2f128_ps::<0x20>(low, high)),
                Self(_mm256_permute2f128_ps::<0x31>(low, high)),
            )
        }
    }

    #[inline(always)]
    fn deinterleave_lanes(self, right: Self) -> (Self, Self) {
        // SAFETY: vectors of this type exist only where the machine has the instructions.
        unsafe {
            let low = _mm256_permute2f128_ps::<0x20>(self.0, right.0);
            let high = _mm256_permute2f128_ps::<0x31>(self.0, right.0);
            (
                Self(_mm256_shuffle_ps::<0b10_00_10_00>(low, high)),
                Self(_mm256_shuffle_ps::<0b11_01_11_01>(low, high)),
            )
        }
    }
}

impl F64x4 {
    #[inline(always)]
    fn interleave_lanes(self, right: Self) -> (Self, Self) {
        // SAFETY: vectors of this type exist only where the machine has the instructions.
        unsafe {
            let low = _mm256_unpacklo_pd(self.0, right.0);
            let high = _mm256_unpackhi_pd(self.0, right.0);
            (
                Self(_mm256_permute2f128_pd::<0x20>(low, high)),
                Self(_mm256_permute2f128_pd::<0x31>(low, high)),
            )
        }
    }

    #[inline(always)]
    fn deinterleave_lanes(self, right: Self) -> (Self, Self) {
        // SAFETY: vectors of this type exist only where the machine has the instructions.
        unsafe {
            let low = _mm256_permute2f128_pd::<0x20>(self.0, right.0);
            let high = _mm256_permute2f128_pd::<0x31>(self.0, right.0);
            (Self(_mm256_unpacklo_pd(low, high)), Self(_mm256_unpackhi_pd(low, high)))
        }
    }
}

float!(
    F32x8,
    _mm256_add_ps,
    _mm256_sub_ps,
    _mm256_mul_ps,
    _mm256_max_ps,
    _mm256_min_ps,
    _mm256_div_ps,
    _mm256_fmadd_ps,
    _mm256_fnmadd_ps,
    _mm256_cmp_ps,
    _mm256_blendv_ps,
    _mm256_andnot_ps,
    _mm256_set1_ps,
    _mm256_sqrt_ps,
    _mm256_round_ps
);
float!(
    F64x4,
    _mm256_add_pd,
    _mm256_sub_pd,
    _mm256_mul_pd,
    _mm256_max_pd,
    _mm256_min_pd,
    _mm256_div_pd,
    _mm256_fmadd_pd,
    _mm256_fnmadd_pd,
    _mm256_cmp_pd,
    _mm256_blendv_pd,
    _mm256_andnot_pd,
    _mm256_set1_pd,
    _mm256_sqrt_pd,
    _mm256_round_pd
);

impl Number for I32x8 {
    instructions!(
        add = _mm256_add_epi32,
        sub = _mm256_sub_epi32,
        mul = _mm256_mullo_epi32,
        max = _mm256_max_epi32,
        min = _mm256_min_epi32
    );

    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        self.mul(factor).add(term)
    }
}

impl Number for I64x4 {
    instructions!(add = _mm256_add_epi64, sub = _mm256_sub_epi64);

    /// Product from 32-bit halves; the product of the high halves overflows.
    #[inline(always)]
    fn mul(self, right: Self) -> Self {
        // SAFETY: vectors of this type exist only where the machine has the instructions.
        Self(unsafe {
            let swapped = _mm256_shuffle_epi32::<0b10_11_00_01>(right.0);
            let cross = _mm256_mullo_epi32(self.0, swapped);
            let sum = _mm256_add_epi32(cross, _mm256_srli_epi64::<32>(cross));
            let low = _mm256_mul_epu32(self.0, right.0);
            _mm256_add_epi64(low, _mm256_slli_epi64::<32>(sum))
        })
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        self.mul(factor).add(term)
    }
    #[inline(always)]
    fn max(self, right: Self) -> Self {
        // SAFETY: vectors of this type exist only where the machine has the instructions.
        Self(unsafe { _mm256_blendv_epi8(right.0, self.0, _mm256_cmpgt_epi64(self.0, right.0)) })
    }
    #[inline(always)]
    fn min(self, right: Self) -> Self {
        // SAFETY: vectors of this type exist only where the machine has the instructions.
        Self(unsafe { _mm256_blendv_epi8(self.0, right.0, _mm256_cmpgt_epi64(self.0, right.0)) })
    }
}

impl Bits for U8x32 {
    instructions!(and = _mm256_and_si256, or = _mm256_or_si256, xor = _mm256_xor_si256);
}
