//! NEON, the baseline of aarch64.

use super::vector::{instructions, vector};
use super::{Bits, Float, Kernel, Number, Simd, Vector};
use std::arch::aarch64::*;

/// The level with 32 registers of 16 bytes.
#[derive(Clone, Copy)]
pub struct Neon(());

impl Simd for Neon {
    type F32 = F32x4;
    type F64 = F64x2;
    type I32 = I32x4;
    type I64 = I64x2;
    type U8 = U8x16;
    const REGISTERS: usize = 32;
    const FUSED: bool = true;
    const SPECIAL_KERNELS: bool = true;

    #[inline(always)]
    unsafe fn assume() -> Self {
        Self(())
    }

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        // Part of the baseline: no target feature has to be enabled.
        kernel.run(self)
    }
}

vector!(Neon, F32x4, float32x4_t, f32, 4, vdupq_n_f32, vld1q_f32, vst1q_f32);
vector!(Neon, F64x2, float64x2_t, f64, 2, vdupq_n_f64, vld1q_f64, vst1q_f64);
vector!(Neon, I32x4, int32x4_t, i32, 4, vdupq_n_s32, vld1q_s32, vst1q_s32);
vector!(Neon, I64x2, int64x2_t, i64, 2, vdupq_n_s64, vld1q_s64, vst1q_s64);
vector!(Neon, U8x16, uint8x16_t, u8, 16, vdupq_n_u8, vld1q_u8, vst1q_u8);

macro_rules! float {
    ($name:ident, $add:ident, $sub:ident, $mul:ident, $max:ident, $min:ident, $div:ident,
     $fma:ident, $fms:ident, $abs:ident, $zip1:ident, $zip2:ident, $uzp1:ident, $uzp2:ident,
     $sqrt:ident, $floor:ident, $ceil:ident, $round:ident, $lt:ident, $le:ident, $eq:ident, $select:ident) => {
        impl Number for $name {
            instructions!(add = $add, sub = $sub, mul = $mul, max = $max, min = $min);

            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                // SAFETY: every processor of this architecture has the instruction.
                Self(unsafe { $fma(term.0, self.0, factor.0) })
            }
        }

        impl Float for $name {
            // The instructions for maximum and minimum return NaN if either operand is NaN.
            instructions!(div = $div, max_nan = $max, min_nan = $min);

            #[inline(always)]
            fn neg_mul_add(self, factor: Self, term: Self) -> Self {
                // SAFETY: every processor of this architecture has the instruction.
                Self(unsafe { $fms(term.0, self.0, factor.0) })
            }

            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: every processor of this architecture has the instruction.
                Self(unsafe { $abs(self.0) })
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: every processor of this architecture has the instruction.
                Self(unsafe { $sqrt(self.0) })
            }

            #[inline(always)]
            fn floor(self) -> Self {
                // SAFETY: every processor of this architecture has the instruction.
                Self(unsafe { $floor(self.0) })
            }

            #[inline(always)]
            fn ceil(self) -> Self {
                // SAFETY: every processor of this architecture has the instruction.
                Self(unsafe { $ceil(self.0) })
            }

            #[inline(always)]
            fn round(self) -> Self {
                // SAFETY: every processor of this architecture has the instruction.
                Self(unsafe { $round(self.0) })
            }

            #[inline(always)]
            fn where_lt(self, right: Self, yes: Self, no: Self) -> Self {
                // SAFETY: every processor of this architecture has the instructions.
                Self(unsafe { $select($lt(self.0, right.0), yes.0, no.0) })
            }

            #[inline(always)]
            fn where_le(self, right: Self, yes: Self, no: Self) -> Self {
                // SAFETY: every processor of this architecture has the instructions.
                Self(unsafe { $select($le(self.0, right.0), yes.0, no.0) })
            }

            #[inline(always)]
            fn where_eq(self, right: Self, yes: Self, no: Self) -> Self {
                // SAFETY: every processor of this architecture has the instructions.
                Self(unsafe { $select($eq(self.0, right.0), yes.0, no.0) })
            }

            #[inline(always)]
            fn interleave(self, right: Self) -> (Self, Self) {
                // SAFETY: every processor of this architecture has the instructions.
                unsafe { (Self($zip1(self.0, right.0)), Self($zip2(self.0, right.0))) }
            }

            #[inline(always)]
            fn deinterleave(self, right: Self) -> (Self, Self) {
                // SAFETY: every processor of this architecture has the instructions.
                unsafe { (Self($uzp1(self.0, right.0)), Self($uzp2(self.0, right.0))) }
            }
        }
    };
}

float!(
    F32x4, vaddq_f32, vsubq_f32, vmulq_f32, vmaxq_f32, vminq_f32, vdivq_f32, vfmaq_f32, vfmsq_f32,
    vabsq_f32, vzip1q_f32, vzip2q_f32, vuzp1q_f32, vuzp2q_f32, vsqrtq_f32, vrndmq_f32, vrndpq_f32,
    vrndnq_f32, vcltq_f32, vcleq_f32, vceqq_f32, vbslq_f32
);
float!(
    F64x2, vaddq_f64, vsubq_f64, vmulq_f64, vmaxq_f64, vminq_f64, vdivq_f64, vfmaq_f64, vfmsq_f64,
    vabsq_f64, vzip1q_f64, vzip2q_f64, vuzp1q_f64, vuzp2q_f64, vsqrtq_f64, vrndmq_f64, vrndpq_f64,
    vrndnq_f64, vcltq_f64, vcleq_f64, vceqq_f64, vbslq_f64
);

impl Number for I32x4 {
    instructions!(
        add = vaddq_s32,
        sub = vsubq_s32,
        mul = vmulq_s32,
        max = vmaxq_s32,
        min = vminq_s32
    );

    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: every processor of this architecture has the instruction.
        Self(unsafe { vmlaq_s32(term.0, self.0, factor.0) })
    }
}

impl Number for I64x2 {
    instructions!(add = vaddq_s64, sub = vsubq_s64);

    /// Product from 32-bit halves; the product of the high halves overflows.
    #[inline(always)]
    fn mul(self, right: Self) -> Self {
        // SAFETY: every processor of this architecture has the instructions.
        Self(unsafe {
            let swapped = vrev64q_s32(vreinterpretq_s32_s64(right.0));
            let cross = vmulq_s32(vreinterpretq_s32_s64(self.0), swapped);
            let sum = vreinterpretq_u64_s64(vshlq_n_s64::<32>(vpaddlq_s32(cross)));
            let low = |x| vmovn_u64(vreinterpretq_u64_s64(x));
            vreinterpretq_s64_u64(vmlal_u32(sum, low(self.0), low(right.0)))
        })
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        self.mul(factor).add(term)
    }
    #[inline(always)]
    fn max(self, right: Self) -> Self {
        // SAFETY: every processor of this architecture has the instructions.
        Self(unsafe { vbslq_s64(vcgtq_s64(self.0, right.0), self.0, right.0) })
    }
    #[inline(always)]
    fn min(self, right: Self) -> Self {
        // SAFETY: every processor of this architecture has the instructions.
        Self(unsafe { vbslq_s64(vcgtq_s64(self.0, right.0), right.0, self.0) })
    }
}

impl Bits for U8x16 {
    instructions!(and = vandq_u8, or = vorrq_u8, xor = veorq_u8);
}
