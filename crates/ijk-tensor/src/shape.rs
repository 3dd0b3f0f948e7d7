//! Arithmetic on shapes and strides, checked.

use crate::TensorError;
use ijk_types::DType;
use smallvec::SmallVec;
use std::ops::Range;

/// Extents, one for each axis; short ones are stored in line.
pub type Shape = SmallVec<[usize; 6]>;

/// For each axis, the distance of neighbours in elements; short lists are stored in line.
pub type Strides = SmallVec<[isize; 6]>;

/// The number of elements of a shape.
///
/// # Errors
/// If it, or its size in bytes, or the product of the extents other than 0, exceeds `isize::MAX`.
/// The last makes sure that strides of empty arrays do not overflow either.
pub fn element_count(dtype: DType, shape: &[usize]) -> Result<usize, TensorError> {
    let too_large = || TensorError::TooLarge(shape.into());
    shape
        .iter()
        .try_fold(dtype.size(), |bytes, &n| bytes.checked_mul(n.max(1)))
        .filter(|&bytes| isize::try_from(bytes).is_ok())
        .ok_or_else(too_large)?;
    Ok(shape.iter().product())
}

/// The strides of a C-contiguous array: the last axis is dense. Axes of extent 0 count as 1.
///
/// Takes shapes that [`element_count`] accepts; others wrap.
pub fn c_strides(shape: &[usize]) -> Strides {
    let mut strides: Strides = smallvec::smallvec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].wrapping_mul(shape[axis].max(1) as isize);
    }
    strides
}

/// Returns true if elements are dense in C order. Axes of extent 1 do not count, and empty arrays are dense.
///
/// Takes shapes that [`element_count`] accepts.
///
/// ```
/// use ijk_tensor::is_c_contiguous;
/// assert!(is_c_contiguous(&[2, 1, 4], &[4, 99, 1]));
/// assert!(!is_c_contiguous(&[2, 3], &[1, 2]));
/// ```
pub fn is_c_contiguous(shape: &[usize], strides: &[isize]) -> bool {
    let mut dense = 1;
    shape.contains(&0)
        || shape.iter().zip(strides).rev().all(|(&extent, &stride)| {
            let fits = extent == 1 || stride == dense;
            dense *= extent as isize;
            fits
        })
}

/// The distance in elements from the first element to that of an index within the shape.
///
/// # Panics
/// If the index has another rank, or is out of bounds.
pub(crate) fn offset_of(index: &[usize], shape: &[usize], strides: &[isize]) -> isize {
    let inside = index.len() == shape.len() && index.iter().zip(shape).all(|(i, n)| i < n);
    assert!(inside, "index {index:?} is out of bounds for shape {shape:?}");
    index.iter().zip(strides).map(|(&i, &stride)| i as isize * stride).sum()
}

/// Slice at a position of an axis: its offset, shape and strides.
///
/// # Panics
/// If there is no such axis or position.
pub(crate) fn at(
    shape: &[usize],
    strides: &[isize],
    axis: usize,
    position: usize,
) -> (isize, Shape, Strides) {
    let rank = shape.len();
    assert!(axis < rank, "there is no axis {axis} in shape {shape:?}");
    let inside = position < shape[axis];
    assert!(inside, "position {position} is out of bounds for axis {axis} of shape {shape:?}");
    let offset = (position as isize).wrapping_mul(strides[axis]);
    let (mut shape, mut strides) = (Shape::from_slice(shape), Strides::from_slice(strides));
    shape.remove(axis);
    strides.remove(axis);
    // Where there are no elements, strides need not lead anywhere.
    let offset = if shape.contains(&0) { 0 } else { offset };
    (offset, shape, strides)
}

/// Where the elements at some positions of each axis start, and the extents they have.
///
/// # Panics
/// If there are more or fewer ranges than axes, or one ends beyond its axis or before it starts.
pub(crate) fn part(shape: &[usize], strides: &[isize], ranges: &[Range<usize>]) -> (isize, Shape) {
    assert_eq!(ranges.len(), shape.len(), "one range for each axis of shape {shape:?}");
    let (mut offset, mut extents) = (0isize, Shape::new());
    for (axis, range) in ranges.iter().enumerate() {
        let inside = range.start <= range.end && range.end <= shape[axis];
        assert!(inside, "{range:?} is no part of axis {axis} of shape {shape:?}");
        offset = offset.wrapping_add((range.start as isize).wrapping_mul(strides[axis]));
        extents.push(range.len());
    }
    // Where there are no elements, strides need not lead anywhere.
    (if extents.contains(&0) { 0 } else { offset }, extents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_an_axis() {
        let (offset, shape, strides) = at(&[2, 3, 4], &[12, -4, 1], 1, 2);
        assert_eq!((offset, &shape[..], &strides[..]), (-8, &[2, 4][..], &[12, 1][..]));
        assert_eq!(at(&[3, 0], &[isize::MAX, 1], 0, 2).0, 0);
    }

    #[test]
    fn counts_are_checked() {
        assert_eq!(element_count(DType::F64, &[2, 3]), Ok(6));
        assert_eq!(element_count(DType::F64, &[]), Ok(1));
        assert_eq!(element_count(DType::F64, &[4, 0]), Ok(0));
        assert!(element_count(DType::Bool, &[usize::MAX, 2]).is_err());
        assert!(element_count(DType::Bool, &[usize::MAX, 0, usize::MAX]).is_err());
        assert!(element_count(DType::C128, &[isize::MAX as usize / 8]).is_err());
    }

    #[test]
    fn c_order() {
        assert_eq!(c_strides(&[2, 3, 4])[..], [12, 4, 1]);
        assert_eq!(c_strides(&[2, 0, 4])[..], [4, 4, 1]);
        assert!(c_strides(&[]).is_empty());
        assert!(is_c_contiguous(&[2, 1, 4], &[4, 99, 1]));
        assert!(!is_c_contiguous(&[2, 3], &[1, 2]));
        assert!(is_c_contiguous(&[], &[]));
    }
}
