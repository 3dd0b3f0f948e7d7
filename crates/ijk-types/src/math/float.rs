//! Properties of a floating-point format that the algorithms depend on.

use super::tables;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// `f32` or `f64`: arithmetic, bit tricks that vectorise everywhere, and the tables of polynomials.
pub trait Float:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    const ZERO: Self;
    const HALF: Self;
    const ONE: Self;
    const TWO: Self;
    const INFINITY: Self;
    const NAN: Self;
    const MIN_POSITIVE: Self;
    const LOG2_E: Self;
    const TWO_OVER_PI: Self;
    const SQRT_HALF: Self;
    const SQRT_2: Self;

    const LN_2: [Self; 2];
    const HALF_PI: [Self; 3];
    const PI: [Self; 2];
    const EXPM1: &'static [Self];
    const LN: &'static [Self];
    const SIN: &'static [Self];
    const COS: &'static [Self];
    const SINH: &'static [Self];
    const ERF: &'static [Self];
    const TAIL: &'static [Self];
    const NORMAL: &'static [Self];
    const ATAN: &'static [Self];

    /// 1.5 times the power of two from which on the least bit is worth 1: adding it rounds to an
    /// integer, which then stands in the low bits.
    const MAGIC: Self;
    /// The same, and so much more that 2 stands in the low bits for half of the least number.
    const MAGIC_OR_NONE: Self;
    /// A power of two that makes every subnormal normal, and its exponent.
    const LIFT: (Self, Self);
    /// Beyond these `exp` is infinite, 0; `expm1` is -1; `erf` is 1; `gelu(-x)` is 0.
    const EXP_MAX: Self;
    const EXP_MIN: Self;
    const EXPM1_MIN: Self;
    const SINH_MAX: Self;
    const ERF_MAX: Self;
    const GELU_MAX: Self;
    /// Up to there `Φ(x) - ½` cancels little enough.
    const GELU_SMALL: Self;
    /// Where the centre of the fit of the scaled tail of Φ is.
    const TAIL_CENTRE: Self;

    fn mul_add(self, factor: Self, term: Self) -> Self;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    fn trunc(self) -> Self;
    fn floor(self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn is_sign_negative(self) -> bool;
    fn is_nan(self) -> bool;

    /// Two factors with the product 2^n, for `k = MAGIC + n`, n at most a little beyond the range
    /// of exponents: neither overflows, and a last product by the second rounds once.
    fn power_of_two_pair(k: Self) -> (Self, Self);
    /// The same for `k = MAGIC_OR_NONE + n`, n at least two below the exponent of half the least number; for the
    /// two below it the first factor is 0. Products below the normal numbers take some processors a hundred cycles,
    /// and `exp(-inf)` is what masks are made of.
    fn power_of_two_or_none(k: Self) -> (Self, Self);
    /// 2^n for `k = MAGIC + n`, n an exponent of normal numbers.
    fn power_of_two(k: Self) -> Self;
    /// Bit `n` of the integer of `k = MAGIC + integer`.
    fn bit(k: Self, n: u32) -> bool;
    /// `x` with its sign changed where bit 1 of `k`'s integer is set.
    fn negate_by_bit_1(x: Self, k: Self) -> Self;
    /// For a positive normal `x = m 2^e` with m in [√½, √2): (e, m, 2^-e), the last 0 where e is
    /// the greatest exponent or beyond.
    fn split(x: Self) -> (Self, Self, Self);
}

macro_rules! float {
    ($t:ident, $module:ident, $bits:ident, $mantissa:literal, $bias:literal, { $($constants:tt)* }) => {
        impl Float for $t {
            const ZERO: Self = 0.0;
            const HALF: Self = 0.5;
            const ONE: Self = 1.0;
            const TWO: Self = 2.0;
            const INFINITY: Self = $t::INFINITY;
            const NAN: Self = $t::NAN;
            const MIN_POSITIVE: Self = $t::MIN_POSITIVE;
            const LOG2_E: Self = std::$t::consts::LOG2_E;
            const TWO_OVER_PI: Self = std::$t::consts::FRAC_2_PI;
            const SQRT_HALF: Self = std::$t::consts::FRAC_1_SQRT_2;
            const SQRT_2: Self = std::$t::consts::SQRT_2;

            const LN_2: [Self; 2] = tables::$module::LN_2;
            const HALF_PI: [Self; 3] = tables::$module::HALF_PI;
            const PI: [Self; 2] = tables::$module::PI;
            const EXPM1: &'static [Self] = &tables::$module::EXPM1;
            const LN: &'static [Self] = &tables::$module::LN;
            const SIN: &'static [Self] = &tables::$module::SIN;
            const COS: &'static [Self] = &tables::$module::COS;
            const SINH: &'static [Self] = &tables::$module::SINH;
            const ERF: &'static [Self] = &tables::$module::ERF;
            const TAIL: &'static [Self] = &tables::$module::TAIL;
            const NORMAL: &'static [Self] = &tables::$module::NORMAL;
            const ATAN: &'static [Self] = &tables::$module::ATAN;

            const MAGIC: Self = 1.5 * (1u64 << $mantissa) as $t;
            const MAGIC_OR_NONE: Self = Self::MAGIC + ($bias + $mantissa + 2) as $t;
            const LIFT: (Self, Self) = ((1u64 << ($mantissa + 1)) as $t, ($mantissa + 1) as $t);
            $($constants)*

            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                $t::mul_add(self, factor, term)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $t::abs(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                $t::trunc(self)
            }
            #[inline(always)]
            fn floor(self) -> Self {
                $t::floor(self)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                $t::copysign(self, sign)
            }
            #[inline(always)]
            fn is_sign_negative(self) -> bool {
                $t::is_sign_negative(self)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                $t::is_nan(self)
            }

            #[inline(always)]
            fn power_of_two_pair(k: Self) -> (Self, Self) {
                // Twice the bias more than n, so that halves are biased exponents and no shift has
                // to be arithmetic (AVX2 lacks that one for 64 bits).
                let twice =
                    k.to_bits().wrapping_sub(Self::MAGIC.to_bits()).wrapping_add(2 * $bias);
                let first = twice >> 1;
                let second = twice.wrapping_sub(first);
                ($t::from_bits(first << $mantissa), $t::from_bits(second << $mantissa))
            }
            #[inline(always)]
            fn power_of_two_or_none(k: Self) -> (Self, Self) {
                // Bits above those of n are shifted out.
                let first = k.to_bits() >> 1;
                let least = (Self::MAGIC_OR_NONE - Self::MAGIC) as $bits;
                let second = k.to_bits().wrapping_sub(first).wrapping_add(2 * $bias - least);
                ($t::from_bits(first << $mantissa), $t::from_bits(second << $mantissa))
            }
            #[inline(always)]
            fn power_of_two(k: Self) -> Self {
                let n = k.to_bits().wrapping_sub(Self::MAGIC.to_bits());
                $t::from_bits(n.wrapping_add($bias) << $mantissa)
            }
            #[inline(always)]
            fn bit(k: Self, n: u32) -> bool {
                k.to_bits() & (1 << n) != 0
            }
            #[inline(always)]
            fn negate_by_bit_1(x: Self, k: Self) -> Self {
                let sign = (k.to_bits() & 2) << ($bits::BITS - 2);
                $t::from_bits(x.to_bits() ^ sign)
            }
            #[inline(always)]
            fn split(x: Self) -> (Self, Self, Self) {
                let one = ($bias as $bits) << $mantissa;
                let shifted = x.to_bits().wrapping_sub(Self::SQRT_HALF.to_bits()).wrapping_add(one);
                let biased = shifted >> $mantissa;
                let exponent = $t::from_bits(Self::MAGIC.to_bits() + biased)
                    - (Self::MAGIC + $bias as $t);
                let mantissa = x.to_bits().wrapping_sub(biased << $mantissa).wrapping_add(one);
                let inverse = (2 * $bias as $bits).saturating_sub(biased) << $mantissa;
                (exponent, $t::from_bits(mantissa), $t::from_bits(inverse))
            }
        }
    };
}

float!(f32, single, u32, 23, 127, {
    const EXP_MAX: Self = 89.0;
    const EXP_MIN: Self = -105.0;
    const EXPM1_MIN: Self = -20.0;
    const SINH_MAX: Self = 90.0;
    const ERF_MAX: Self = 4.0;
    const GELU_MAX: Self = 14.8;
    const GELU_SMALL: Self = 0.6;
    const TAIL_CENTRE: Self = 4.0;
});

float!(f64, double, u64, 52, 1023, {
    const EXP_MAX: Self = 710.0;
    const EXP_MIN: Self = -746.0;
    const EXPM1_MIN: Self = -40.0;
    const SINH_MAX: Self = 711.0;
    const ERF_MAX: Self = 6.0;
    const GELU_MAX: Self = 39.0;
    const GELU_SMALL: Self = 0.6;
    const TAIL_CENTRE: Self = 4.0;
});
