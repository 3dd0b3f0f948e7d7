//! Plain dense arrays.

use ijk_types::{C64, C128, DType, Scalar};

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

/// Zero of an element type.
pub(crate) fn zero(dtype: DType) -> Scalar {
    match dtype {
        DType::Bool => Scalar::Bool(false),
        DType::I32 => Scalar::I32(0),
        DType::I64 => Scalar::I64(0),
        DType::F32 => Scalar::F32(0.0),
        DType::F64 => Scalar::F64(0.0),
        DType::C64 => Scalar::C64(C64::new(0.0, 0.0)),
        DType::C128 => Scalar::C128(C128::new(0.0, 0.0)),
    }
}

/// Returns true if two scalars are bitwise equal, except that all NaNs are equal (Rust does not specify sign and
/// payload of a computed NaN).
pub fn same_bits(x: Scalar, y: Scalar) -> bool {
    match (x, y) {
        (Scalar::F32(a), Scalar::F32(b)) => same_f64(a.into(), b.into()),
        (Scalar::F64(a), Scalar::F64(b)) => same_f64(a, b),
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
