//! Least and greatest elements of index arrays, from which extents follow.

use ijk_tensor::{TensorError, TensorView};
use ijk_types::{Ordered, with_ordered};
use ndarray::{ArrayViewD, Axis};

/// Least and greatest elements for each position of an axis, or of the whole array; `None` if there are no elements.
pub(super) fn ranges(
    array: &TensorView<'_>,
    axis: Option<u32>,
) -> Result<Vec<Option<(i64, i64)>>, TensorError> {
    with_ordered!(array.dtype(), T => of(&array.to_ndarray::<T>()?, axis), else Ok(Vec::new()))
}

fn of<T: Ordered>(
    array: &ArrayViewD<'_, T>,
    axis: Option<u32>,
) -> Result<Vec<Option<(i64, i64)>>, TensorError> {
    Ok(match axis {
        Some(axis) => array.axis_iter(Axis(axis as usize)).map(|part| range(&part)).collect(),
        None => vec![range(array)],
    })
}

fn range<T: Ordered>(array: &ArrayViewD<'_, T>) -> Option<(i64, i64)> {
    array.iter().fold(None, |range, &x| {
        let x = x.to_i64();
        let (least, greatest) = range.unwrap_or((x, x));
        Some((Ord::min(least, x), Ord::max(greatest, x)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    #[test]
    fn of_parts_and_of_all() {
        let a = array![[3, -1], [0, 7]];
        assert_eq!(ranges(&(&a).into(), Some(1)).unwrap(), [Some((0, 3)), Some((-1, 7))]);
        assert_eq!(ranges(&(&a).into(), None).unwrap(), [Some((-1, 7))]);
        let empty = Array2::<i64>::zeros((0, 2));
        assert_eq!(ranges(&(&empty).into(), Some(1)).unwrap(), [None, None]);
    }
}
