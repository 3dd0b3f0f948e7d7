//! Ranges cut into pieces.

use std::ops::Range;

/// Cuts a range at multiples of `length`.
pub(crate) fn cut_at(range: &Range<usize>, length: usize) -> impl Iterator<Item = Range<usize>> {
    let (mut at, end) = (range.start, range.end);
    std::iter::from_fn(move || {
        let next = (at - at % length).saturating_add(length).min(end);
        let piece = at..next;
        at = next;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Cuts a range into blocks of nearly equal length, at most `most` rounded up to a multiple of `unit`; all but the last
/// are such multiples. An empty range is one empty block.
pub(crate) fn blocks(
    all: Range<usize>,
    most: usize,
    unit: usize,
) -> impl Iterator<Item = Range<usize>> {
    let length = even(all.len(), most, unit);
    pieces(all, length)
}

/// Length of such blocks.
pub(crate) fn even(len: usize, most: usize, unit: usize) -> usize {
    let count = len.div_ceil(most).max(1);
    len.div_ceil(count).next_multiple_of(unit).max(1)
}

/// Cuts a range into pieces of that length; the last may be shorter.
pub(crate) fn pieces(all: Range<usize>, length: usize) -> impl Iterator<Item = Range<usize>> {
    let count = all.len().div_ceil(length).max(1);
    (0..count).map(move |n| {
        let start = all.start + n * length;
        start..(start + length).min(all.end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_a_range() {
        for len in 0..200 {
            for most in [1, 7, 32, 64] {
                let mut at = 5;
                for block in blocks(5..5 + len, most, 1) {
                    assert_eq!(block.start, at);
                    assert!(block.len() <= most);
                    at = block.end;
                }
                assert_eq!(at, 5 + len);
            }
        }
    }
}
