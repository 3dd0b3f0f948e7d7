//! Plain dense arrays.

use ijk_types::{DType, Scalar, UnaryOp, scalar};

/// A dense array in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Element type of every scalar.
    pub dtype: DType,
    /// Extent of each axis.
    pub shape: Vec<usize>,
    /// The elements, the last axis fastest.
    pub data: Vec<Scalar>,
}

impl Value {
    /// An array with all elements equal.
    pub fn full(dtype: DType, shape: &[usize], element: Scalar) -> Self {
        let data = vec![element; shape.iter().product()];
        Self { dtype, shape: shape.to_vec(), data }
    }

    /// Returns true if both have the same type, shape and elements, in the sense of [`same_bits`].
    pub fn same(&self, other: &Self) -> bool {
        self.dtype == other.dtype
            && self.shape == other.shape
            && self.data.iter().zip(&other.data).all(|(&x, &y)| same_bits(x, y))
    }
}

/// Position of an index in C order.
pub(crate) fn position(shape: &[usize], index: impl IntoIterator<Item = usize>) -> usize {
    shape.iter().zip(index).fold(0, |at, (&extent, i)| at * extent + i)
}

/// An integer as an `i64`, wrapped.
pub(crate) fn as_i64(x: Scalar) -> Option<i64> {
    match scalar::unary(UnaryOp::Cast(DType::I64), x) {
        Ok(Scalar::I64(x)) => Some(x),
        _ => None,
    }
}

/// The value of a scalar of an integer type, wrapped.
pub(crate) fn integer(x: Scalar) -> Option<i64> {
    if x.dtype().is_integer() { as_i64(x) } else { None }
}

/// Zero of an element type.
pub(crate) fn zero(dtype: DType) -> Scalar {
    Scalar::zero(dtype)
}

/// Returns true if two scalars are bitwise equal, except that all NaNs are equal (Rust does not specify sign and
/// payload of a computed NaN).
pub fn same_bits(x: Scalar, y: Scalar) -> bool {
    match (x, y) {
        (Scalar::F32(a), Scalar::F32(b)) => same_f64(a.into(), b.into()),
        (Scalar::F64(a), Scalar::F64(b)) => same_f64(a, b),
        (Scalar::F16(_), Scalar::F16(_)) | (Scalar::BF16(_), Scalar::BF16(_)) => {
            same_f64(x.as_f64(), y.as_f64())
        }
        (Scalar::C64(a), Scalar::C64(b)) => {
            same_f64(a.re.into(), b.re.into()) && same_f64(a.im.into(), b.im.into())
        }
        (Scalar::C128(a), Scalar::C128(b)) => same_f64(a.re, b.re) && same_f64(a.im, b.im),
        _ => x == y,
    }
}

fn same_f64(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}
