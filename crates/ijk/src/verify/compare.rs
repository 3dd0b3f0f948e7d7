//! Comparison of results with those of a reference.

use ijk_tensor::{Tensor, TensorError};
use ijk_types::{DType, bf16, f16};
use std::fmt;

/// Difference of two arrays.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// The shapes differ.
    Shape {
        /// Of the program's result.
        ours: Vec<usize>,
        /// Of the framework's.
        theirs: Vec<usize>,
    },
    /// The element types cannot be compared.
    DType {
        /// Of the program's result.
        ours: DType,
        /// Of the framework's.
        theirs: DType,
    },
    /// Elements differ by more than the bound of the rounding error.
    Elements {
        /// Number of elements.
        count: usize,
        /// Index of the first.
        index: Vec<usize>,
        /// The program's.
        ours: String,
        /// The framework's.
        theirs: String,
        /// Bound of their difference.
        bound: f64,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape { ours, theirs } => {
                write!(f, "the shape is {ours:?} here and {theirs:?} there")
            }
            Self::DType { ours, theirs } => {
                write!(f, "the element type is {ours} here and {theirs} there")
            }
            Self::Elements { count, index, ours, theirs, bound } => {
                let more = match count {
                    1 => "one element differs".into(),
                    n => format!("{n} elements differ, the first"),
                };
                write!(f, "{more} at {index:?}: {ours} here and {theirs} there")?;
                if *bound > 0.0 { write!(f, ", allowed are {bound:.1e}") } else { Ok(()) }
            }
        }
    }
}

/// Compares a result with the other one: integers exactly, floats within `bound` epsilons of the
/// coarser type. Returns the greatest error relative to its bound.
pub(super) fn compare(
    ours: &Tensor,
    theirs: &Tensor,
    bound: Option<&Tensor>,
    epsilon: f64,
) -> Result<Result<f64, Difference>, TensorError> {
    let (a, b) = (ours.dtype(), theirs.dtype());
    if ours.shape() != theirs.shape() {
        let (ours, theirs) = (ours.shape().to_vec(), theirs.shape().to_vec());
        return Ok(Err(Difference::Shape { ours, theirs }));
    }
    if a.is_complex() || b.is_complex() {
        return Ok(Err(Difference::DType { ours: a, theirs: b }));
    }
    let exact = |t: DType| !t.is_float();
    if exact(a) && exact(b) {
        let (x, y) = (ours.cast(DType::I64)?, theirs.cast(DType::I64)?);
        return Ok(integers(slice(&x), slice(&y)).map_err(|(count, n)| {
            elements(ours, count, n, slice::<i64>(&x)[n], slice::<i64>(&y)[n], 0.0)
        }));
    }
    let (x, y) = (ours.cast(DType::F64)?, theirs.cast(DType::F64)?);
    let epsilon = epsilon.max(epsilon_of(a)).max(epsilon_of(b));
    let allowed = |n: usize| bound.map_or(0.0, |b| slice::<f64>(b)[n].max(0.0) * epsilon);
    Ok(floats(slice(&x), slice(&y), &allowed).map_err(|(count, n)| {
        elements(ours, count, n, slice::<f64>(&x)[n], slice::<f64>(&y)[n], allowed(n))
    }))
}

/// The distance from 1 to the next number; 0 for types that are exact.
pub(super) fn epsilon_of(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => f16::EPSILON.into(),
        DType::BF16 => bf16::EPSILON.into(),
        DType::F32 => f32::EPSILON.into(),
        DType::F64 => f64::EPSILON,
        _ => 0.0,
    }
}

fn slice<T: ijk_types::Element>(tensor: &Tensor) -> &[T] {
    tensor.as_slice::<T>().expect("of that type")
}

fn integers(x: &[i64], y: &[i64]) -> Result<f64, (usize, usize)> {
    tally((0..x.len()).filter(|&n| x[n] != y[n]))
}

/// The greatest error relative to its bound, or the number of elements beyond it with the first one.
fn floats(x: &[f64], y: &[f64], allowed: &dyn Fn(usize) -> f64) -> Result<f64, (usize, usize)> {
    let same = |n: usize| x[n] == y[n] || x[n].is_nan() && y[n].is_nan();
    let within = |n: usize| (x[n] - y[n]).abs() <= allowed(n) && allowed(n).is_finite();
    tally((0..x.len()).filter(|&n| !same(n) && !within(n)))?;
    let differing = (0..x.len()).filter(|&n| !same(n));
    Ok(differing.map(|n| (x[n] - y[n]).abs() / allowed(n)).fold(0.0, f64::max))
}

fn tally(mut differing: impl Iterator<Item = usize>) -> Result<f64, (usize, usize)> {
    match differing.next() {
        Some(first) => Err((1 + differing.count(), first)),
        None => Ok(0.0),
    }
}

#[cold]
fn elements<T: fmt::Debug>(
    of: &Tensor,
    count: usize,
    n: usize,
    ours: T,
    theirs: T,
    bound: f64,
) -> Difference {
    let index = index(of.shape(), n);
    let (ours, theirs) = (format!("{ours:?}"), format!("{theirs:?}"));
    Difference::Elements { count, index, ours, theirs, bound }
}

/// The index of the n-th element in C order.
pub(super) fn index(shape: &[usize], n: usize) -> Vec<usize> {
    let mut index = Vec::new();
    shape.iter().rev().fold(n, |rest, &extent| {
        index.push(rest % extent);
        rest / extent
    });
    index.reverse();
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f64]) -> Tensor {
        Tensor::from_vec(values.to_vec(), &[values.len()]).unwrap()
    }

    fn compare_with(ours: &Tensor, theirs: &Tensor, bound: f64) -> Result<f64, Difference> {
        let bound = floats(&vec![bound; ours.len()]);
        compare(ours, theirs, Some(&bound), f64::EPSILON).unwrap()
    }

    #[test]
    fn floats_within_the_bound() {
        let one = floats(&[1.0, f64::NAN, f64::INFINITY]);
        assert_eq!(compare_with(&one, &one, 0.0), Ok(0.0));
        let near = floats(&[1.0 + f64::EPSILON, f64::NAN, f64::INFINITY]);
        assert_eq!(compare_with(&one, &near, 2.0), Ok(0.5));
        let far = compare_with(&one, &near, 0.5).unwrap_err();
        assert!(matches!(far, Difference::Elements { count: 1, ref index, .. } if *index == [0]));
        let other = floats(&[1.0, 2.0, f64::NEG_INFINITY]);
        let far = compare_with(&one, &other, f64::INFINITY).unwrap_err();
        assert!(far.to_string().contains("2 elements differ, the first at [1]"), "{far}");
    }

    #[test]
    fn the_coarser_type_counts() {
        let ours = floats(&[0.1]);
        let theirs = Tensor::from_vec(vec![0.1f32], &[1]).unwrap();
        assert!(compare_with(&ours, &theirs, 1.0).is_ok());
    }

    #[test]
    fn integers_exactly() {
        let ours = Tensor::from_vec(vec![1i64 << 60, 5], &[2]).unwrap();
        let theirs = Tensor::from_vec(vec![(1i64 << 60) + 1, 5], &[2]).unwrap();
        assert!(compare_with(&ours, &theirs, 1e9).is_err());
        let bools = Tensor::from_vec(vec![true, false], &[2]).unwrap();
        let ints = Tensor::from_vec(vec![1i32, 0], &[2]).unwrap();
        assert_eq!(compare_with(&bools, &ints, 0.0), Ok(0.0));
        assert_eq!(compare_with(&bools, &floats(&[1.0, 0.0]), 0.0), Ok(0.0));
    }

    #[test]
    fn shapes_must_agree() {
        let row = Tensor::from_vec(vec![1.0, 2.0], &[1, 2]).unwrap();
        let difference = compare_with(&row, &floats(&[1.0, 2.0]), 1.0).unwrap_err();
        assert_eq!(difference.to_string(), "the shape is [1, 2] here and [2] there");
    }
}
