//! `Complex32` and `Complex64`; the functions are those of [`crate::math::complex`].

use super::{Element, Inexact, Number};
use crate::math::{complex, double, single};
use crate::{C64, C128, DType, Literal, LiteralError, Monoid, Scalar, ScalarError};

macro_rules! forward {
    ($lift:ident: $($function:ident)*) => {
        $(#[inline]
        fn $function(self) -> Self {
            complex::$lift(complex::$function, self)
        })*
    };
}

macro_rules! complex {
    ($t:ident, $real:ident, $variant:ident, $module:ident, $div:ident, $lift:ident, $lift2:ident) => {
        impl Element for $t {
            const DTYPE: DType = DType::$variant;
            type Real = $real;

            fn from_literal(literal: Literal) -> Result<Self, LiteralError> {
                $real::from_literal(literal).map(Self::from)
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
                self.re.same_bits(other.re) && self.im.same_bits(other.im)
            }
            #[inline(always)]
            fn identity(monoid: Monoid) -> Self {
                match monoid {
                    Monoid::Add => Self::new(0.0, 0.0),
                    Monoid::Mul => Self::new(1.0, 0.0),
                    _ => super::no_monoid(monoid, Self::DTYPE),
                }
            }
            #[inline(always)]
            fn add(self, right: Self) -> Self {
                Self::new(self.re + right.re, self.im + right.im)
            }
            #[inline(always)]
            fn mul(self, right: Self) -> Self {
                Self::new(
                    self.re * right.re - self.im * right.im,
                    self.re * right.im + self.im * right.re,
                )
            }
        }

        impl Number for $t {
            #[inline(always)]
            fn sub(self, right: Self) -> Self {
                Self::new(self.re - right.re, self.im - right.im)
            }
            #[inline]
            fn div(self, right: Self) -> Result<Self, ScalarError> {
                Ok(complex::$div(self, right))
            }
            #[inline]
            fn pow(self, right: Self) -> Result<Self, ScalarError> {
                Ok(complex::$lift2(complex::pow, self, right))
            }
            #[inline(always)]
            fn neg(self) -> Self {
                Self::new(-self.re, -self.im)
            }
            #[inline(always)]
            fn abs(self) -> $real {
                $module::hypot(self.re, self.im)
            }
            #[inline(always)]
            fn conj(self) -> Self {
                Self::new(self.re, -self.im)
            }
            #[inline(always)]
            fn re(self) -> $real {
                self.re
            }
            #[inline(always)]
            fn im(self) -> $real {
                self.im
            }
        }

        impl Inexact for $t {
            forward!($lift: exp ln sqrt sin cos tan tanh sinh cosh);
            #[inline]
            fn log(self, right: Self) -> Self {
                complex::$lift2(complex::log, self, right)
            }
        }
    };
}

complex!(C64, f32, C64, single, div_single, lift_single, lift2_single);
complex!(C128, f64, C128, double, div, lift_double, lift2_double);
