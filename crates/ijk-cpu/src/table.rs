//! Tables of the offsets of all points of some axes.

/// The sum of strides for each point of axes, outermost first: an axis has an extent, and strides in `N` tensors.
pub(crate) fn offsets<const N: usize>(
    axes: impl DoubleEndedIterator<Item = (usize, [isize; N])>,
) -> Vec<[isize; N]> {
    let mut table = vec![[0; N]];
    // Each axis repeats the table of its inner ones.
    for (extent, steps) in axes.rev() {
        let inner = table.len();
        table.truncate(inner * extent.min(1));
        table.reserve(inner * extent.saturating_sub(1));
        for n in 1..extent as isize {
            for at in 0..inner {
                let before = table[at];
                table.push(std::array::from_fn(|k| before[k] + n * steps[k]));
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_those_of_the_points_in_order() {
        let axes = [(2, [10, 0, 1]), (3, [-1, 2, 0])];
        let expected = [[0, 0, 0], [-1, 2, 0], [-2, 4, 0], [10, 0, 1], [9, 2, 1], [8, 4, 1]];
        assert_eq!(offsets(axes.into_iter()), expected);
        assert_eq!(offsets::<2>([].into_iter()), [[0, 0]]);
        assert!(offsets([(0, [1]), (3, [1])].into_iter()).is_empty());
    }
}
