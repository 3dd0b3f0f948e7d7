//! Element types and sets of them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum DType {
    /// `bool`, one byte, 0 or 1.
    Bool,
    /// 32-bit signed integer, wrapping.
    I32,
    /// 64-bit signed integer, wrapping.
    I64,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// Complex number of two `f32`.
    C64,
    /// Complex number of two `f64`.
    C128,
    /// 8-bit unsigned integer, wrapping.
    U8,
    /// 16-bit unsigned integer, wrapping.
    U16,
    /// 32-bit unsigned integer, wrapping.
    U32,
    /// 64-bit unsigned integer, wrapping.
    U64,
    /// 8-bit signed integer, wrapping.
    I8,
    /// 16-bit signed integer, wrapping.
    I16,
    /// IEEE binary16; every operation is one of [`F32`](Self::F32), rounded.
    F16,
    /// The upper half of a binary32; every operation is one of [`F32`](Self::F32), rounded.
    BF16,
}

impl DType {
    /// Every element type: kind by kind, narrow ones first.
    pub const ALL: [DType; 15] = [
        Self::Bool,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::F16,
        Self::BF16,
        Self::F32,
        Self::F64,
        Self::C64,
        Self::C128,
    ];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Self::Bool | Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::BF16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::C64 => 8,
            Self::C128 => 16,
        }
    }

    /// The name as programs and messages write it: `f32`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::C64 => "c64",
            Self::C128 => "c128",
        }
    }

    /// The element type of that [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// The element type whose discriminant is `code`.
    pub fn from_code(code: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|&t| t as usize == code)
    }

    /// The type that NumPy 2 promotes two to; `bf16` as `f16`, and `f32` for the two of them.
    ///
    /// ```
    /// use ijk_types::DType::*;
    /// assert_eq!([U8.promoted(I8), U64.promoted(I64), BF16.promoted(F16)], [I16, F64, F32]);
    /// assert_eq!([U8.promoted(F16), I16.promoted(F16), I32.promoted(F32)], [F16, F32, F64]);
    /// ```
    pub fn promoted(self, other: Self) -> Self {
        let (a, b) = (self, other);
        match (a, b) {
            _ if a == b || b == Self::Bool => a,
            (Self::Bool, _) => b,
            _ if a.is_integer() && b.is_integer() => a.promoted_integer(b),
            _ if a.is_complex() || b.is_complex() => match a.real().promoted(b.real()) {
                Self::F64 => Self::C128,
                _ => Self::C64,
            },
            _ if a.is_integer() => a.least_float(b),
            _ if b.is_integer() => b.least_float(a),
            _ if a.size() == b.size() => Self::F32,
            _ if a.size() > b.size() => a,
            _ => b,
        }
    }

    /// The common type of two integers: `f64` where no integer holds both.
    fn promoted_integer(self, other: Self) -> Self {
        if self.is_unsigned() == other.is_unsigned() {
            return if self.size() >= other.size() { self } else { other };
        }
        let (unsigned, signed) = if self.is_unsigned() { (self, other) } else { (other, self) };
        match unsigned.size() {
            n if n < signed.size() => signed,
            1 => Self::I16,
            2 => Self::I32,
            4 => Self::I64,
            _ => Self::F64,
        }
    }

    /// The common type of this integer and a floating-point number.
    fn least_float(self, float: Self) -> Self {
        match self.size() {
            1 => float,
            2 if float.size() <= 4 => Self::F32,
            _ => Self::F64,
        }
    }

    /// The type of the real part: `f32` for `c64`, `f64` for `c128`, else the type itself.
    pub const fn real(self) -> Self {
        match self {
            Self::C64 => Self::F32,
            Self::C128 => Self::F64,
            other => other,
        }
    }

    /// Returns true for the complex types.
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::C64 | Self::C128)
    }

    /// Returns true for integers, signed or not.
    pub const fn is_integer(self) -> bool {
        self.is_signed_integer() || self.is_unsigned()
    }

    /// Returns true for `i8 i16 i32 i64`.
    pub const fn is_signed_integer(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Returns true for `u8 u16 u32 u64`.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// Returns true for `f16 bf16 f32 f64`.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32 | Self::F64)
    }

    /// The type in which engines compute with elements of this one: `i32` for integers of up to 16 bits, `i64` for
    /// `u32` and, bit for bit, `u64`, `f32` for `f16` and `bf16`; else the type itself.
    pub const fn lanes(self) -> Self {
        match self {
            Self::U8 | Self::U16 | Self::I8 | Self::I16 => Self::I32,
            Self::U32 | Self::U64 => Self::I64,
            Self::F16 | Self::BF16 => Self::F32,
            other => other,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of element types: what an operator accepts, what a type variable may still be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TypeSet(u16);

impl TypeSet {
    /// No type.
    pub const NONE: Self = Self(0);
    /// `bool` alone.
    pub const BOOL: Self = Self::only(DType::Bool);
    /// `i64` alone.
    pub const I64: Self = Self::only(DType::I64);
    /// Signed and unsigned integers.
    pub const INTEGER: Self = Self::of(&[
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
    ]);
    /// `f16 bf16 f32 f64`.
    pub const REAL: Self = Self::of(&[DType::F16, DType::BF16, DType::F32, DType::F64]);
    /// `c64 c128`.
    pub const COMPLEX: Self = Self::of(&[DType::C64, DType::C128]);
    /// Floating-point and complex numbers.
    pub const INEXACT: Self = Self::REAL.union(Self::COMPLEX);
    /// Integers and floating-point numbers.
    pub const ORDERED_NUMBER: Self = Self::INTEGER.union(Self::REAL);
    /// Every type but the complex ones: there is a total order (but for NaN).
    pub const ORDERED: Self = Self::ORDERED_NUMBER.union(Self::BOOL);
    /// Every type but `bool`: there is subtraction.
    pub const NUMBER: Self = Self::INTEGER.union(Self::INEXACT);
    /// Every type.
    pub const ALL: Self = Self::NUMBER.union(Self::BOOL);

    /// The set of one type.
    pub const fn only(t: DType) -> Self {
        Self(1 << t as u16)
    }

    /// The set of some types.
    pub const fn of(types: &[DType]) -> Self {
        let (mut set, mut at) = (Self::NONE, 0);
        while at < types.len() {
            set = set.union(Self::only(types[at]));
            at += 1;
        }
        set
    }

    /// The types for which `keep` holds.
    pub fn filter(self, keep: impl Fn(DType) -> bool) -> Self {
        self.iter().filter(|&t| keep(t)).fold(Self::NONE, |s, t| s.union(Self::only(t)))
    }

    /// Types in both sets.
    pub const fn intersect(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Types in either set.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if `t` is in the set.
    pub const fn contains(self, t: DType) -> bool {
        self.0 & Self::only(t).0 != 0
    }

    /// Returns true if every type of this set is in `other`.
    pub const fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Returns true if no type is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The one type of the set, where there is exactly one.
    pub fn single(self) -> Option<DType> {
        let mut types = self.iter();
        types.next().filter(|_| types.next().is_none())
    }

    /// Names of the types: of one each, or short ones of whole kinds, as `bool int float complex`.
    pub fn kinds(self) -> Vec<&'static str> {
        self.named(["int", "float", "complex"])
    }

    /// Names of the types; where the set has all integers, floating-point or complex numbers, that of the kind.
    fn named(self, kinds: [&'static str; 3]) -> Vec<&'static str> {
        let sets = [Self::INTEGER, Self::REAL, Self::COMPLEX];
        let whole = |t| {
            let found = sets.iter().position(|of| of.contains(t) && of.is_subset(self));
            found.map(|kind| kinds[kind])
        };
        let mut names: Vec<&str> = Vec::new();
        for t in self.iter() {
            let name = whole(t).unwrap_or(t.name());
            if names.last() != Some(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The types of the set, in the order of [`DType::ALL`].
    pub fn iter(self) -> impl Iterator<Item = DType> {
        DType::ALL.into_iter().filter(move |&t| self.contains(t))
    }
}

impl fmt::Display for TypeSet {
    /// The names of the types, or of kinds that are in the set as a whole.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> =
            self.named(["integers", "floating-point numbers", "complex numbers"]);
        f.write_str(&names.join(", "))
    }
}

impl fmt::Debug for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}
