//! Ranges of integer types, and scalars in the wide type.

use ijk_types::{DType, Scalar, UnaryOp, scalar};

/// The least and the greatest value of an integer type, or of bool.
pub(crate) fn bounds(t: DType) -> [i128; 2] {
    let bits = 8 * t.size() as u32;
    match t {
        DType::Bool => [0, 1],
        _ if t.is_unsigned() => [0, (1 << bits) - 1],
        _ => [-(1 << (bits - 1)), (1 << (bits - 1)) - 1],
    }
}

/// An integer in the wide type of a narrow one.
pub(super) fn integer(value: i128, narrow: DType) -> Scalar {
    match narrow.lanes() {
        DType::I32 => Scalar::I32(value as i32),
        _ => Scalar::I64(value as i64),
    }
}

/// A scalar of a narrow type in the wide one.
pub(super) fn widened(value: Scalar) -> Scalar {
    let wide = value.dtype().lanes();
    scalar::unary(UnaryOp::Cast(wide), value).unwrap_or(value)
}
