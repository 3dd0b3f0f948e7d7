//! Integers: arithmetic wraps, division rounds down.

use super::{Element, Number, Ordered, OrderedNumber};
use crate::{DType, Literal, LiteralError, Monoid, Scalar, ScalarError, bf16, f16};

macro_rules! integer {
    ($t:ident, $variant:ident, $to:ident) => {
        impl Element for $t {
            const DTYPE: DType = DType::$variant;
            type Real = $t;

            fn from_literal(literal: Literal) -> Result<Self, LiteralError> {
                let n = literal.to_integer(Self::DTYPE)?;
                $t::try_from(n).map_err(|_| LiteralError::OutOfRange(n, Self::DTYPE))
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
                self == other
            }
            #[inline(always)]
            fn identity(monoid: Monoid) -> Self {
                match monoid {
                    Monoid::Add => 0,
                    Monoid::Mul => 1,
                    Monoid::Max => $t::MIN,
                    Monoid::Min => $t::MAX,
                    Monoid::And | Monoid::Or | Monoid::LogAddExp => {
                        super::no_monoid(monoid, Self::DTYPE)
                    }
                }
            }
            #[inline(always)]
            fn add(self, right: Self) -> Self {
                self.wrapping_add(right)
            }
            #[inline(always)]
            fn mul(self, right: Self) -> Self {
                self.wrapping_mul(right)
            }
        }

        impl Ordered for $t {
            #[inline(always)]
            fn max(self, right: Self) -> Self {
                Ord::max(self, right)
            }
            #[inline(always)]
            fn min(self, right: Self) -> Self {
                Ord::min(self, right)
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
                self > best
            }
            #[inline(always)]
            fn beats_min(self, best: Self) -> bool {
                self < best
            }
            #[inline(always)]
            fn to_bool(self) -> bool {
                self != 0
            }
            casts!($to, f32);
        }

        impl Number for $t {
            #[inline(always)]
            fn sub(self, right: Self) -> Self {
                self.wrapping_sub(right)
            }
            #[inline(always)]
            fn div(self, right: Self) -> Result<Self, ScalarError> {
                if right == 0 {
                    return Err(ScalarError::DivisionByZero);
                }
                let quotient = self.wrapping_div(right);
                let rest = self.wrapping_rem(right);
                let below = rest != 0 && Sign::is_negative(rest) != Sign::is_negative(right);
                Ok(quotient - $t::from(below))
            }
            #[inline(always)]
            fn pow(self, right: Self) -> Result<Self, ScalarError> {
                if Sign::is_negative(right) {
                    return Err(ScalarError::NegativePower);
                }
                let (mut result, mut square, mut exponent) = (1, self, right);
                while exponent > 0 {
                    let factor = if exponent & 1 == 1 { square } else { 1 };
                    result = $t::wrapping_mul(result, factor);
                    square = square.wrapping_mul(square);
                    exponent >>= 1;
                }
                Ok(result)
            }
            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn abs(self) -> Self {
                Sign::abs(self)
            }
            no_imaginary_part!();
        }

        impl OrderedNumber for $t {
            #[inline(always)]
            fn sign(self) -> Self {
                Sign::signum(self)
            }
            #[inline(always)]
            fn modulo(self, right: Self) -> Result<Self, ScalarError> {
                if right == 0 {
                    return Err(ScalarError::DivisionByZero);
                }
                let rest = self.wrapping_rem(right);
                let below = rest != 0 && Sign::is_negative(rest) != Sign::is_negative(right);
                Ok(rest + if below { right } else { 0 })
            }
        }
    };
}

/// The functions that differ by signedness.
trait Sign: Copy {
    fn is_negative(self) -> bool;
    fn abs(self) -> Self;
    fn signum(self) -> Self;
}

macro_rules! signs {
    ($($signed:ident $unsigned:ident),*) => {$(
        impl Sign for $signed {
            #[inline(always)]
            fn is_negative(self) -> bool {
                self < 0
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.wrapping_abs()
            }
            #[inline(always)]
            fn signum(self) -> Self {
                <$signed>::signum(self)
            }
        }
        impl Sign for $unsigned {
            #[inline(always)]
            fn is_negative(self) -> bool {
                false
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self
            }
            #[inline(always)]
            fn signum(self) -> Self {
                Ord::min(self, 1)
            }
        }
    )*};
}

signs!(i8 u8, i16 u16, i32 u32, i64 u64);

integer!(u8, U8, to_u8);
integer!(u16, U16, to_u16);
integer!(u32, U32, to_u32);
integer!(u64, U64, to_u64);
integer!(i8, I8, to_i8);
integer!(i16, I16, to_i16);
integer!(i32, I32, to_i32);
integer!(i64, I64, to_i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_rounds_down_and_wraps() {
        for (a, b, quotient, rest) in
            [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, -3, -2, 0)]
        {
            assert_eq!(Number::div(a, b), Ok(quotient));
            assert_eq!(a.modulo(b), Ok(rest));
        }
        assert_eq!(Number::div(i32::MIN, -1), Ok(i32::MIN));
        assert_eq!(i64::MIN.modulo(-1), Ok(0));
        assert_eq!(Number::div(1, 0), Err(ScalarError::DivisionByZero));
        assert_eq!(1.modulo(0), Err(ScalarError::DivisionByZero));
    }

    #[test]
    fn powers_wrap() {
        assert_eq!(Number::pow(3, 4), Ok(81));
        assert_eq!(Number::pow(0, 0), Ok(1));
        assert_eq!(Number::pow(2, 32), Ok(0));
        assert_eq!(Number::pow(-1, i64::MAX), Ok(-1));
        assert_eq!(Number::pow(2, -1), Err(ScalarError::NegativePower));
    }

    #[test]
    fn unsigned_numbers_have_no_sign() {
        assert_eq!(Number::div(250u8, 7), Ok(35));
        assert_eq!(u64::MAX.modulo(10), Ok(5));
        assert_eq!(Number::pow(3u8, 255), Ok(171));
        assert_eq!((Number::neg(1u16), Number::abs(200u8)), (u16::MAX, 200));
        assert_eq!((OrderedNumber::sign(200u8), OrderedNumber::sign(0u8)), (1, 0));
        assert_eq!(Number::recip(0u32), Err(ScalarError::DivisionByZero));
        assert_eq!((Number::recip(1u32), Number::recip(2u32)), (Ok(1), Ok(0)));
    }

    #[test]
    fn the_least_integer_wraps() {
        assert_eq!(Number::abs(i32::MIN), i32::MIN);
        assert_eq!(Number::neg(i64::MIN), i64::MIN);
    }
}
