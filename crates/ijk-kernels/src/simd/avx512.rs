//! AVX-512 (F, BW, DQ, VL).

use super::vector::{instructions, vector};
use super::{Bits, Float, Kernel, Number, Simd, Vector};
use std::arch::x86_64::*;

/// The level with 32 registers of 64 bytes.
#[derive(Clone, Copy)]
pub struct Avx512(());

impl Avx512 {
    /// The level, if the machine supports it.
    pub fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma");
        found.then_some(Self(()))
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
#[inline]
fn vectorize<K: Kernel>(simd: Avx512, kernel: K) -> K::Output {
    kernel.run(simd)
}

impl Simd for Avx512 {
    type F32 = F32x16;
    type F64 = F64x8;
    type I32 = I32x16;
    type I64 = I64x8;
    type U8 = U8x64;
    const REGISTERS: usize = 32;
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

/// Defines a vector type with masked partial loads and stores.
macro_rules! masked {
    ($name:ident, $register:ty, $t:ty, $lanes:literal, $mask:ty, $splat:ident, $load:ident,
     $store:ident, $maskz_load:ident, $mask_load:ident, $mask_store:ident) => {
        vector!(Avx512, $name, $register, $t, $lanes, $splat, $load, $store, {
            #[inline(always)]
            unsafe fn load_partial(from: *const $t, count: usize) -> Self {
                // SAFETY: as for `load`; masked-out lanes are not accessed.
                Self(unsafe { $maskz_load(low_bits(count) as $mask, from.cast()) })
            }
            #[inline(always)]
            unsafe fn load_partial_or(self, from: *const $t, count: usize) -> Self {
                // SAFETY: as for `load`; masked-out lanes are not accessed.
                Self(unsafe { $mask_load(self.0, low_bits(count) as $mask, from.cast()) })
            }
            #[inline(always)]
            unsafe fn store_partial(self, to: *mut $t, count: usize) {
                // SAFETY: as for `store`; masked-out lanes are not accessed.
                unsafe { $mask_store(to.cast(), low_bits(count) as $mask, self.0) }
            }
            #[inline(always)]
            unsafe fn stream(self, to: *mut $t) {
                // SAFETY: as for `store`; the caller guarantees the alignment; registers of all types have the same
                // size.
                unsafe { _mm512_stream_si512(to.cast(), std::mem::transmute_copy(&self.0)) }
            }
        });
    };
}

/// The mask of the first `count` ≤ 64 lanes.
#[inline(always)]
fn low_bits(count: usize) -> u64 {
    u64::MAX.checked_shr(64 - count as u32).unwrap_or(0)
}

masked!(
    F32x16,
    __m512,
    f32,
    16,
    u16,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_maskz_loadu_ps,
    _mm512_mask_loadu_ps,
    _mm512_mask_storeu_ps
);
masked!(
    F64x8,
    __m512d,
    f64,
    8,
    u8,
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_maskz_loadu_pd,
    _mm512_mask_loadu_pd,
    _mm512_mask_storeu_pd
);
masked!(
    I32x16,
    __m512i,
    i32,
    16,
    u16,
    _mm512_set1_epi32,
    _mm512_loadu_epi32,
    _mm512_storeu_epi32,
    _mm512_maskz_loadu_epi32,
    _mm512_mask_loadu_epi32,
    _mm512_mask_storeu_epi32
);
masked!(
    I64x8,
    __m512i,
    i64,
    8,
    u8,
    _mm512_set1_epi64,
    _mm512_loadu_epi64,
    _mm512_storeu_epi64,
    _mm512_maskz_loadu_epi64,
    _mm512_mask_loadu_epi64,
    _mm512_mask_storeu_epi64
);
masked!(
    U8x64,
    __m512i,
    u8,
    64,
    u64,
    _mm512_set1_epi8,
    _mm512_loadu_epi8,
    _mm512_storeu_epi8,
    _mm512_maskz_loadu_epi8,
    _mm512_mask_loadu_epi8,
    _mm512_mask_storeu_epi8
);

macro_rules! float {
    ($name:ident, $add:ident, $sub:ident, $mul:ident, $max:ident, $min:ident, $div:ident,
     $fmadd:ident, $fnmadd:ident, $cmp:ident, $mask_max:ident, $mask_min:ident, $abs:ident,
     $sqrt:ident, $round:ident, $blend:ident, $permute:ident, $index:expr) => {
        impl Number for $name {
            instructions!(add = $add, sub = $sub, mul = $mul, max = $max, min = $min);

            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                Self(unsafe { $fmadd(self.0, factor.0, term.0) })
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
                Self(unsafe { $abs(self.0) })
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
                Self(unsafe { $blend($cmp::<_CMP_LT_OQ>(self.0, right.0), no.0, yes.0) })
            }
            #[inline(always)]
            fn where_le(self, right: Self, yes: Self, no: Self) -> Self {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                Self(unsafe { $blend($cmp::<_CMP_LE_OQ>(self.0, right.0), no.0, yes.0) })
            }
            #[inline(always)]
            fn where_eq(self, right: Self, yes: Self, no: Self) -> Self {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                Self(unsafe { $blend($cmp::<_CMP_EQ_OQ>(self.0, right.0), no.0, yes.0) })
            }

            // The instruction returns its second operand if either is NaN; the mask keeps the first operand if that is
            // NaN.
            #[inline(always)]
            fn max_nan(self, right: Self) -> Self {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                Self(unsafe {
                    $mask_max(self.0, $cmp::<_CMP_ORD_Q>(self.0, self.0), self.0, right.0)
                })
            }
            #[inline(always)]
            fn min_nan(self, right: Self) -> Self {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                Self(unsafe {
                    $mask_min(self.0, $cmp::<_CMP_ORD_Q>(self.0, self.0), self.0, right.0)
                })
            }
            #[inline(always)]
            fn interleave(self, right: Self) -> (Self, Self) {
                let n = Self::LANES as i64;
                let index = |at: i64| at / 2 + at % 2 * n;
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                unsafe {
                    (
                        Self($permute(self.0, $index(index, 0), right.0)),
                        Self($permute(self.0, $index(index, n), right.0)),
                    )
                }
            }
            #[inline(always)]
            fn deinterleave(self, right: Self) -> (Self, Self) {
                // SAFETY: vectors of this type exist only where the machine has the instructions.
                unsafe {
                    (
                        Self($permute(self.0, $index(|at| 2 * at, 0), right.0)),
                        Self($permute(self.0, $index(|at| 2 * at + 1, 0), right.0)),
                    )
                }
            }
        }
    };
}

/// `f(start), f(start + 1), …` as 16 lanes; a constant after inlining.
#[inline(always)]
unsafe fn index32(f: impl Fn(i64) -> i64, start: i64) -> __m512i {
    let mut lanes = [0; 16];
    for lane in 0..16 {
        lanes[lane] = f(start + lane as i64) as i32;
    }
    // SAFETY: the array is as wide as the register; the caller guarantees the level.
    unsafe { _mm512_loadu_epi32(lanes.as_ptr()) }
}

/// `f(start), f(start + 1), …` as 8 lanes.
#[inline(always)]
unsafe fn index64(f: impl Fn(i64) -> i64, start: i64) -> __m512i {
    let mut lanes = [0; 8];
    for lane in 0..8 {
        lanes[lane] = f(start + lane as i64);
    }
    // SAFETY: the array is as wide as the register; the caller guarantees the level.
    unsafe { _mm512_loadu_epi64(lanes.as_ptr()) }
}

float!(
    F32x16,
    _mm512_add_ps,
    _mm512_sub_ps,
    _mm512_mul_ps,
    _mm512_max_ps,
    _mm512_min_ps,
    _mm512_div_ps,
    _mm512_fmadd_ps,
    _mm512_fnmadd_ps,
    _mm512_cmp_ps_mask,
    _mm512_mask_max_ps,
    _mm512_mask_min_ps,
    _mm512_abs_ps,
    _mm512_sqrt_ps,
    _mm512_roundscale_ps,
    _mm512_mask_blend_ps,
    _mm512_permutex2var_ps,
    index32
);
float!(
    F64x8,
    _mm512_add_pd,
    _mm512_sub_pd,
    _mm512_mul_pd,
    _mm512_max_pd,
    _mm512_min_pd,
    _mm512_div_pd,
    _mm512_fmadd_pd,
    _mm512_fnmadd_pd,
    _mm512_cmp_pd_mask,
    _mm512_mask_max_pd,
    _mm512_mask_min_pd,
    _mm512_abs_pd,
    _mm512_sqrt_pd,
    _mm512_roundscale_pd,
    _mm512_mask_blend_pd,
    _mm512_permutex2var_pd,
    index64
);

macro_rules! integer {
    ($name:ident, $($op:ident = $intrinsic:ident),*) => {
        impl Number for $name {
            instructions!($($op = $intrinsic),*);

            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                self.mul(factor).add(term)
            }
        }
    };
}

integer!(
    I32x16,
    add = _mm512_add_epi32,
    sub = _mm512_sub_epi32,
    mul = _mm512_mullo_epi32,
    max = _mm512_max_epi32,
    min = _mm512_min_epi32
);
integer!(
    I64x8,
    add = _mm512_add_epi64,
    sub = _mm512_sub_epi64,
    mul = _mm512_mullo_epi64,
    max = _mm512_max_epi64,
    min = _mm512_min_epi64
);

impl Bits for U8x64 {
    instructions!(and = _mm512_and_si512, or = _mm512_or_si512, xor = _mm512_xor_si512);
}
