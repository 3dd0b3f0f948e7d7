//! `f16` and `bf16`: every operation is that of `f32`, rounded to nearest, ties to even.

use super::{Element, Inexact, Number, Ordered, OrderedNumber, Real};
use crate::math::half::Narrow;
use crate::{DType, Literal, LiteralError, Monoid, Scalar, ScalarError, bf16, f16};

/// Functions of one operand that are those of `f32`.
macro_rules! rounded {
    ($bound:ident, $widen:ident, $narrow:ident: $($function:ident)*) => {
        $(#[inline]
        fn $function(self) -> Self {
            $bound::$function(self.$widen()).$narrow()
        })*
    };
}

/// Casts by way of `f32`, which is exact.
macro_rules! widened {
    ($($t:ident $method:ident),*) => {
        $(#[inline]
        fn $method(self) -> $t {
            self.to_f32().$method()
        })*
    };
}

macro_rules! half {
    ($t:ident, $variant:ident, $to:ident, $widen:ident, $narrow:ident) => {
        impl Element for $t {
            const DTYPE: DType = DType::$variant;
            type Real = $t;

            fn from_literal(literal: Literal) -> Result<Self, LiteralError> {
                Ok(match literal {
                    Literal::Integer(n) => (n as f32).$narrow(),
                    Literal::Float(x) => x.$narrow(),
                })
            }
            #[inline(always)]
            fn into_scalar(self) -> Scalar {
                Scalar::$variant(self)
            }
            #[inline(always)]
            fn from_scalar(scalar: Scalar) -> Option<Self> {
                if let Scalar::$variant(x) = scalar { Some(x) } else { None }
            }
            #[inline(always)]
            fn same_bits(self, other: Self) -> bool {
                self.to_bits() == other.to_bits()
            }
            #[inline(always)]
            fn identity(monoid: Monoid) -> Self {
                match monoid {
                    Monoid::Add => $t::ZERO,
                    Monoid::Mul => $t::ONE,
                    Monoid::Max | Monoid::LogAddExp => $t::NEG_INFINITY,
                    Monoid::Min => $t::INFINITY,
                    Monoid::And | Monoid::Or => super::no_monoid(monoid, Self::DTYPE),
                }
            }
            #[inline]
            fn add(self, right: Self) -> Self {
                (self.to_f32() + right.to_f32()).$narrow()
            }
            #[inline]
            fn mul(self, right: Self) -> Self {
                (self.to_f32() * right.to_f32()).$narrow()
            }
        }

        impl Ordered for $t {
            #[inline]
            fn max(self, right: Self) -> Self {
                Ordered::max(self.to_f32(), right.to_f32()).$narrow()
            }
            #[inline]
            fn min(self, right: Self) -> Self {
                Ordered::min(self.to_f32(), right.to_f32()).$narrow()
            }
            #[inline]
            fn lt(self, right: Self) -> bool {
                self.to_f32() < right.to_f32()
            }
            #[inline]
            fn le(self, right: Self) -> bool {
                self.to_f32() <= right.to_f32()
            }
            #[inline]
            fn beats_max(self, best: Self) -> bool {
                self.to_f32().beats_max(best.to_f32())
            }
            #[inline]
            fn beats_min(self, best: Self) -> bool {
                self.to_f32().beats_min(best.to_f32())
            }
            #[inline]
            fn to_bool(self) -> bool {
                self.to_f32() != 0.0
            }
            widened!(u8 to_u8, u16 to_u16, u32 to_u32, u64 to_u64, i8 to_i8, i16 to_i16);
            widened!(i32 to_i32, i64 to_i64, f64 to_f64, f16 to_f16, bf16 to_bf16);
            #[inline(always)]
            fn to_f32(self) -> f32 {
                crate::math::half::$widen(self)
            }
            #[inline(always)]
            fn cast_from<T: Ordered>(value: T) -> Self {
                value.$to()
            }
        }

        impl Number for $t {
            #[inline]
            fn sub(self, right: Self) -> Self {
                (self.to_f32() - right.to_f32()).$narrow()
            }
            #[inline]
            fn div(self, right: Self) -> Result<Self, ScalarError> {
                Ok((self.to_f32() / right.to_f32()).$narrow())
            }
            #[inline]
            fn pow(self, right: Self) -> Result<Self, ScalarError> {
                Ok(Number::pow(self.to_f32(), right.to_f32())?.$narrow())
            }
            rounded!(Number, to_f32, $narrow: neg abs);
            no_imaginary_part!();
        }

        impl OrderedNumber for $t {
            rounded!(OrderedNumber, to_f32, $narrow: sign);
            #[inline]
            fn modulo(self, right: Self) -> Result<Self, ScalarError> {
                Ok(self.to_f32().modulo(right.to_f32())?.$narrow())
            }
        }

        impl Inexact for $t {
            rounded!(Inexact, to_f32, $narrow: exp ln sqrt sin cos tan tanh sinh cosh);
            #[inline]
            fn log(self, right: Self) -> Self {
                Inexact::log(self.to_f32(), right.to_f32()).$narrow()
            }
        }

        impl Real for $t {
            rounded!(Real, to_f32, $narrow: floor ceil round erf sigmoid gelu log1p expm1);
            #[inline]
            fn atan2(self, x: Self) -> Self {
                Real::atan2(self.to_f32(), x.to_f32()).$narrow()
            }
            #[inline]
            fn floor_div(self, right: Self) -> Self {
                self.to_f32().floor_div(right.to_f32()).$narrow()
            }
            #[inline]
            fn hypot(self, right: Self) -> Self {
                Real::hypot(self.to_f32(), right.to_f32()).$narrow()
            }
            #[inline]
            fn log_add_exp(self, right: Self) -> Self {
                Real::log_add_exp(self.to_f32(), right.to_f32()).$narrow()
            }
        }
    };
}

half!(f16, F16, to_f16, widen_f16, narrow_f16);
half!(bf16, BF16, to_bf16, widen_bf16, narrow_bf16);
