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
}

impl DType {
    /// Every element type, in the order of the enum.
    pub const ALL: [DType; 7] =
        [Self::Bool, Self::I32, Self::I64, Self::F32, Self::F64, Self::C64, Self::C128];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 | Self::C64 => 8,
            Self::C128 => 16,
        }
    }

    /// The name as programs and messages write it: `f32`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I32 => "i32",
            Self::I64 => "i64",
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

    /// Returns true for `i32` and `i64`.
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::I32 | Self::I64)
    }

    /// Returns true for `f32` and `f64`.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of element types: what an operator accepts, what a type variable may still be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TypeSet(u8);

impl TypeSet {
    /// No type.
    pub const NONE: Self = Self(0);
    /// Every type.
    pub const ALL: Self = Self(0b111_1111);
    /// `bool` alone.
    pub const BOOL: Self = Self::only(DType::Bool);
    /// `i64` alone.
    pub const I64: Self = Self::only(DType::I64);
    /// Every type but `bool`: there is subtraction.
    pub const NUMBER: Self = Self(Self::ALL.0 & !Self::BOOL.0);
    /// Every type but the complex ones: there is a total order (but for NaN).
    pub const ORDERED: Self = Self(0b001_1111);
    /// `i32 i64 f32 f64`.
    pub const ORDERED_NUMBER: Self = Self(Self::ORDERED.0 & !Self::BOOL.0);
    /// `f32 f64`.
    pub const REAL: Self = Self(0b001_1000);
    /// `f32 f64 c64 c128`.
    pub const INEXACT: Self = Self(0b111_1000);

    /// The set of one type.
    pub const fn only(t: DType) -> Self {
        Self(1 << t as u8)
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

    /// The types of the set, in the order of [`DType`].
    pub fn iter(self) -> impl Iterator<Item = DType> {
        DType::ALL.into_iter().filter(move |&t| self.contains(t))
    }
}

impl fmt::Display for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, t) in self.iter().enumerate() {
            write!(f, "{}{t}", if n == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl fmt::Debug for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}
