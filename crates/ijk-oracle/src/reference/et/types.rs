//! Element types of values: promotion, and literals that adapt to it.

use ijk_types::DType;

/// The element type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub dtype: DType,
    /// True if the value adapts to the type of the other operand: literals, extents, ranks, positions and functions of
    /// those only, also where they are elements of an array.
    pub weak: bool,
    /// True for weak INTs of an array, which adapt to floating-point numbers only.
    pub array: bool,
}

/// Arrays whose elements are weak, with their types.
#[derive(Clone, Debug, Default)]
pub(crate) struct WeakArrays(std::collections::BTreeMap<String, Type>);

impl WeakArrays {
    /// The type of the elements of an array of this element type.
    pub fn type_of(&self, name: &str, dtype: DType) -> Type {
        self.0.get(name).copied().unwrap_or(Type::strong(dtype))
    }

    /// Notes the type of an array's elements.
    pub fn note(&mut self, name: &str, t: Type) {
        self.0.remove(name);
        self.0.extend(t.weak.then(|| (name.to_owned(), t)));
    }
}

impl Type {
    pub const fn strong(dtype: DType) -> Self {
        Self { dtype, weak: false, array: false }
    }

    pub const fn weak(dtype: DType) -> Self {
        Self { dtype, weak: true, array: false }
    }

    /// The type of an array's elements that have this one.
    pub fn stored(self) -> Self {
        Self { array: self.weak && self.dtype == DType::I64, ..self }
    }

    /// The common type of two values.
    pub fn join(self, other: Self) -> Self {
        match (self.weak, other.weak) {
            (false, false) => Self::strong(promote(self.dtype, other.dtype)),
            (true, true) => {
                let dtype = promote(self.dtype, other.dtype);
                Self { array: self.array || other.array, ..Self::weak(dtype) }
            }
            (true, false) => Self::strong(adapt(self, other.dtype)),
            (false, true) => Self::strong(adapt(other, self.dtype)),
        }
    }
}

/// The first type to which both can be cast safely.
fn promote(x: DType, y: DType) -> DType {
    use DType::*;
    let order = [Bool, U8, I8, U16, I16, U32, I32, U64, I64, F16, BF16, F32, F64, C64, C128];
    let both = |to: &DType| is_safe(x, *to) && is_safe(y, *to);
    order.into_iter().find(both).expect("a complex type holds all")
}

/// NumPy's safe casts, in which `f64` takes every integer; `bf16` is like `f16`.
fn is_safe(from: DType, to: DType) -> bool {
    use DType::*;
    let (narrow, wide) = (from.size(), to.size());
    match (from, to) {
        _ if from == to || from == Bool => true,
        (U8 | U16 | U32 | U64, U8 | U16 | U32 | U64) => narrow <= wide,
        (U8 | U16 | U32 | U64, I8 | I16 | I32 | I64) => narrow < wide,
        (I8 | I16 | I32 | I64, I8 | I16 | I32 | I64) => narrow <= wide,
        (U8 | I8, F16 | BF16 | F32 | F64) => true,
        (U16 | I16, F32 | F64) => true,
        (U32 | I32 | U64 | I64, F64) => true,
        (F16 | BF16, F32 | F64) | (F32, F64) => true,
        (C64, C128) => true,
        (C64 | C128, _) => false,
        (real, C64) => is_safe(real, F32),
        (real, C128) => is_safe(real, F64),
        _ => false,
    }
}

/// The common type of a weak INT or FLOAT and another type.
fn adapt(weak: Type, other: DType) -> DType {
    let whole = other == DType::Bool || other.is_integer();
    match weak.dtype {
        DType::I64 if weak.array && whole => promote(DType::I64, other),
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
        assert_eq!([strong(Bool, I32), strong(I64, F32), strong(F64, C64)], [I32, F64, C128]);
        assert_eq!([strong(F16, BF16), strong(U8, BF16), strong(U64, I8)], [F32, BF16, F64]);
        for (x, y) in DType::ALL.into_iter().flat_map(|x| DType::ALL.map(|y| (x, y))) {
            assert_eq!(strong(x, y), x.promoted(y), "{x} {y}");
        }
        assert_eq!(strong(F32, C64), C64);
        let int = |x| Type::weak(I64).join(Type::strong(x)).dtype;
        assert_eq!([int(Bool), int(I32), int(F32), int(C64)], [I64, I32, F32, C64]);
        let float = |x| Type::strong(x).join(Type::weak(F64)).dtype;
        assert_eq!([float(Bool), float(I32), float(F32), float(C64)], [F64, F64, F32, C64]);
    }
}
