//! Element types of values: promotion, and literals that adapt to it.

use ijk_types::DType;

/// The element type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub dtype: DType,
    /// True if the value adapts to the type of the other operand: literals, extents, ranks, positions and functions of
    /// those only.
    pub weak: bool,
}

impl Type {
    pub const fn strong(dtype: DType) -> Self {
        Self { dtype, weak: false }
    }

    pub const fn weak(dtype: DType) -> Self {
        Self { dtype, weak: true }
    }

    /// The common type of two values.
    pub fn join(self, other: Self) -> Self {
        match (self.weak, other.weak) {
            (false, false) => Self::strong(promote(self.dtype, other.dtype)),
            (true, true) => Self::weak(promote(self.dtype, other.dtype)),
            (true, false) => Self::strong(adapt(self.dtype, other.dtype)),
            (false, true) => Self::strong(adapt(other.dtype, self.dtype)),
        }
    }
}

/// The smaller type that holds both: bool < i32 < i64 < f32 < f64 < c64 < c128.
fn promote(x: DType, y: DType) -> DType {
    match (x, y) {
        (DType::F64, DType::C64) | (DType::C64, DType::F64) => DType::C128,
        _ => x.max(y),
    }
}

/// The common type of a weak INT or FLOAT and another type.
fn adapt(weak: DType, other: DType) -> DType {
    let whole = other == DType::Bool || other.is_integer();
    match weak {
        DType::I64 if other == DType::Bool => DType::I64,
        DType::I64 => other,
        _ if whole => DType::F64,
        _ => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DType::*;

    #[test]
    fn promotion_is_a_table() {
        let strong = |x, y| Type::strong(x).join(Type::strong(y)).dtype;
        assert_eq!([strong(Bool, I32), strong(I64, F32), strong(F64, C64)], [I32, F32, C128]);
        assert_eq!(strong(F32, C64), C64);
        let int = |x| Type::weak(I64).join(Type::strong(x)).dtype;
        assert_eq!([int(Bool), int(I32), int(F32), int(C64)], [I64, I32, F32, C64]);
        let float = |x| Type::strong(x).join(Type::weak(F64)).dtype;
        assert_eq!([float(Bool), float(I32), float(F32), float(C64)], [F64, F64, F32, C64]);
    }
}
