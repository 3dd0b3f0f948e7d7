//! Element types of values: which a number takes, which two have in common.

use ijk_types::DType;

/// The element type of a value. Numbers of the program, ranks, extents and positions are *weak*: they take the type of
/// the other operand. So are arrays of such values alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A weak INT.
    Integer,
    /// A weak INT of an array. It takes the types of floating-point numbers, which have its elements but for rounding,
    /// and not those of narrow integers, which may not have them.
    Integers,
    /// A weak FLOAT.
    Float,
    /// Of an array.
    Of(DType),
}

impl Kind {
    /// The type that the value is computed in: i64 and f64 for weak ones.
    pub fn dtype(self) -> DType {
        match self {
            Self::Integer | Self::Integers => DType::I64,
            Self::Float => DType::F64,
            Self::Of(t) => t,
        }
    }

    /// Returns true for a bool or an integer.
    pub fn is_whole(self) -> bool {
        is_whole(self.dtype())
    }

    /// Common kind of two values.
    pub fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Integer, Self::Integer) => Self::Integer,
            (Self::Of(t), Self::Of(u)) => Self::Of(t.promoted(u)),
            (Self::Of(t), Self::Integer) | (Self::Integer, Self::Of(t)) => {
                Self::Of(if t == DType::Bool { DType::I64 } else { t })
            }
            (Self::Integers, Self::Integer | Self::Integers) | (Self::Integer, Self::Integers) => {
                Self::Integers
            }
            (Self::Of(t), Self::Integers) | (Self::Integers, Self::Of(t)) => {
                Self::Of(if is_whole(t) { t.promoted(DType::I64) } else { t })
            }
            (Self::Of(t), Self::Float) | (Self::Float, Self::Of(t)) => {
                Self::Of(if is_whole(t) { DType::F64 } else { t })
            }
            _ => Self::Float,
        }
    }

    /// The same as that of an array's elements.
    pub fn stored(self) -> Self {
        if self == Self::Integer { Self::Integers } else { self }
    }

    /// The same where it is a FLOAT, else that which its quotients have.
    pub fn inexact(self) -> Self {
        match self {
            Self::Integer | Self::Integers => Self::Float,
            kind if kind.is_whole() => Self::Of(DType::F64),
            kind => kind,
        }
    }

    /// The same, an INT where it is a bool.
    pub fn number(self) -> Self {
        if self == Self::Of(DType::Bool) { Self::Of(DType::I64) } else { self }
    }
}

fn is_whole(t: DType) -> bool {
    t == DType::Bool || t.is_integer()
}

#[cfg(test)]
mod tests {
    use super::*;
    use DType::*;

    #[test]
    fn weak_numbers_take_the_others_type() {
        assert_eq!(Kind::Integer.with(Kind::Of(F32)), Kind::Of(F32));
        assert_eq!(Kind::Integer.with(Kind::Of(Bool)), Kind::Of(I64));
        assert_eq!(Kind::Float.with(Kind::Of(I32)), Kind::Of(F64));
        assert_eq!(Kind::Float.with(Kind::Of(C64)), Kind::Of(C64));
        assert_eq!(Kind::Float.with(Kind::Integer), Kind::Float);
        assert_eq!(Kind::Integers.with(Kind::Of(F32)), Kind::Of(F32));
        assert_eq!(Kind::Integers.with(Kind::Of(U8)), Kind::Of(I64));
        assert_eq!(Kind::Of(U64).with(Kind::Integers), Kind::Of(F64));
        assert_eq!(Kind::Integers.with(Kind::Integer), Kind::Integers);
        assert_eq!(Kind::Integers.with(Kind::Float), Kind::Float);
        assert_eq!(Kind::Integer.inexact(), Kind::Float);
        assert_eq!(Kind::Of(Bool).inexact(), Kind::Of(F64));
        assert_eq!(Kind::Of(F32).inexact(), Kind::Of(F32));
    }
}
