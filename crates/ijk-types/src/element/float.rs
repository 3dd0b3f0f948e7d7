//! `f32` and `f64`; the functions are those of [`crate::math`].

use super::{Element, Inexact, Number, Ordered, OrderedNumber, Real};
use crate::math::{double, single};
use crate::{DType, Literal, LiteralError, Monoid, Scalar, ScalarError, bf16, f16};

macro_rules! forward {
    ($module:ident: $($function:ident)*) => {
        $(#[inline(always)]
        fn $function(self) -> Self {
            $module::$function(self)
        })*
    };
}

macro_rules! float {
    ($t:ident, $variant:ident, $to:ident, $module:ident) => {
        impl Element for $t {
            const DTYPE: DType = DType::$variant;
            type Real = $t;

            fn from_literal(literal: Literal) -> Result<Self, LiteralError> {
                Ok(match literal {
                    Literal::Integer(n) => n as $t,
                    Literal::Float(x) => x as $t,
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
                    Monoid::Add => 0.0,
                    Monoid::Mul => 1.0,
                    Monoid::Max | Monoid::LogAddExp => $t::NEG_INFINITY,
                    Monoid::Min => $t::INFINITY,
                    Monoid::And | Monoid::Or => super::no_monoid(monoid, Self::DTYPE),
                }
            }
            #[inline(always)]
            fn add(self, right: Self) -> Self {
                self + right
            }
            #[inline(always)]
            fn mul(self, right: Self) -> Self {
                self * right
            }
        }

        impl Ordered for $t {
            #[inline(always)]
            fn max(self, right: Self) -> Self {
                let greater = if self > right { self } else { right };
                if self.is_nan() { self } else { greater }
            }
            #[inline(always)]
            fn min(self, right: Self) -> Self {
                let less = if self < right { self } else { right };
                if self.is_nan() { self } else { less }
            }
            #[inline(always)]
            fn lt(self, right: Self) -> bool {
                self < right
            }
            #[inline(always)]
            fn le(self, right: Self) -> bool {
                self <= right
            }
            #[inline(always)]
            fn beats_max(self, best: Self) -> bool {
                self > best || (self.is_nan() && !best.is_nan())
            }
            #[inline(always)]
            fn beats_min(self, best: Self) -> bool {
                self < best || (self.is_nan() && !best.is_nan())
            }
            #[inline(always)]
            fn to_bool(self) -> bool {
                self != 0.0
            }
            casts!($to, $t);
        }

        impl Number for $t {
            #[inline(always)]
            fn sub(self, right: Self) -> Self {
                self - right
            }
            #[inline(always)]
            fn div(self, right: Self) -> Result<Self, ScalarError> {
                Ok(self / right)
            }
            #[inline(always)]
            fn pow(self, right: Self) -> Result<Self, ScalarError> {
                Ok($module::pow(self, right))
            }
            #[inline(always)]
            fn neg(self) -> Self {
                -self
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }
            no_imaginary_part!();
        }

        impl OrderedNumber for $t {
            #[inline(always)]
            fn sign(self) -> Self {
                let above = if self > 0.0 { 1.0 } else { self };
                if self < 0.0 { -1.0 } else { above }
            }
            #[inline(always)]
            fn modulo(self, right: Self) -> Result<Self, ScalarError> {
                Ok($module::modulo(self, right))
            }
        }

        impl Inexact for $t {
            forward!($module: exp ln sin cos tan tanh sinh cosh);
            #[inline(always)]
            fn log(self, right: Self) -> Self {
                $module::ln(right) / $module::ln(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
        }

        impl Real for $t {
            forward!($module: erf sigmoid gelu log1p expm1);
            #[inline(always)]
            fn floor(self) -> Self {
                self.floor()
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                self.ceil()
            }
            #[inline(always)]
            fn round(self) -> Self {
                self.round_ties_even()
            }
            #[inline(always)]
            fn atan2(self, x: Self) -> Self {
                $module::atan2(self, x)
            }
            #[inline(always)]
            fn floor_div(self, right: Self) -> Self {
                $module::floor_div(self, right)
            }
            #[inline(always)]
            fn hypot(self, right: Self) -> Self {
                $module::hypot(self, right)
            }
            #[inline(always)]
            fn log_add_exp(self, right: Self) -> Self {
                $module::log_add_exp(self, right)
            }
        }
    };
}

float!(f32, F32, to_f32, single);
float!(f64, F64, to_f64, double);
