//! `bool`: `+` is or, `*` is and, false is less than true.

use super::{Element, Ordered};
use crate::{DType, Literal, LiteralError, Monoid, Scalar, bf16, f16};

macro_rules! casts_of_bool {
    ($($t:ident $method:ident),*) => {
        $(#[inline(always)]
        fn $method(self) -> $t {
            self.into()
        })*
    };
}

impl Element for bool {
    const DTYPE: DType = DType::Bool;
    type Real = bool;

    fn from_literal(literal: Literal) -> Result<Self, LiteralError> {
        match literal.to_integer(DType::Bool)? {
            0 => Ok(false),
            1 => Ok(true),
            n => Err(LiteralError::OutOfRange(n, DType::Bool)),
        }
    }
    #[inline(always)]
    fn into_scalar(self) -> Scalar {
        Scalar::Bool(self)
    }
    #[inline(always)]
    fn from_scalar(scalar: Scalar) -> Option<Self> {
        if let Scalar::Bool(x) = scalar { Some(x) } else { None }
    }
    #[inline(always)]
    fn same_bits(self, other: Self) -> bool {
        self == other
    }
    #[inline(always)]
    fn identity(monoid: Monoid) -> Self {
        matches!(monoid, Monoid::Mul | Monoid::Min | Monoid::And)
    }
    #[inline(always)]
    fn add(self, right: Self) -> Self {
        self | right
    }
    #[inline(always)]
    fn mul(self, right: Self) -> Self {
        self & right
    }
}

impl Ordered for bool {
    #[inline(always)]
    fn max(self, right: Self) -> Self {
        self | right
    }
    #[inline(always)]
    fn min(self, right: Self) -> Self {
        self & right
    }
    #[inline(always)]
    fn lt(self, right: Self) -> bool {
        !self & right
    }
    #[inline(always)]
    fn le(self, right: Self) -> bool {
        !self | right
    }
    #[inline(always)]
    fn beats_max(self, best: Self) -> bool {
        self & !best
    }
    #[inline(always)]
    fn beats_min(self, best: Self) -> bool {
        !self & best
    }
    #[inline(always)]
    fn to_bool(self) -> bool {
        self
    }
    casts_of_bool!(u8 to_u8, u16 to_u16, u32 to_u32, u64 to_u64, i8 to_i8, i16 to_i16);
    casts_of_bool!(i32 to_i32, i64 to_i64);
    #[inline(always)]
    fn to_f16(self) -> f16 {
        if self { f16::ONE } else { f16::ZERO }
    }
    #[inline(always)]
    fn to_bf16(self) -> bf16 {
        if self { bf16::ONE } else { bf16::ZERO }
    }
    #[inline(always)]
    fn to_f32(self) -> f32 {
        f32::from(u8::from(self))
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }
    #[inline(always)]
    fn cast_from<T: Ordered>(value: T) -> Self {
        value.to_bool()
    }
}
