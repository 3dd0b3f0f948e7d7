//! Sets of numbers that mostly follow one another.

use std::ops::Range;

/// Ascending ranges of numbers that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spans(Vec<Range<u64>>);

impl Spans {
    pub(super) fn contains(&self, number: u64) -> bool {
        let after = self.0.partition_point(|span| span.start <= number);
        after > 0 && number < self.0[after - 1].end
    }

    /// Number of positions.
    #[cfg(test)]
    pub(super) fn len(&self) -> u64 {
        self.0.iter().map(|span| span.end - span.start).sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.0.iter().cloned()
    }
}

impl FromIterator<Range<u64>> for Spans {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(spans: I) -> Self {
        let mut all: Vec<_> = spans.into_iter().filter(|span| span.start < span.end).collect();
        all.sort_by_key(|span| span.start);
        let mut merged: Vec<Range<u64>> = Vec::new();
        for span in all {
            match merged.last_mut() {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => merged.push(span),
            }
        }
        Self(merged)
    }
}

impl FromIterator<u64> for Spans {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        numbers.into_iter().filter(|&number| number < u64::MAX).map(|n| n..n + 1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_their_ranges() {
        let spans: Spans = [7, 3, 4, 4, 9, 5].into_iter().collect();
        assert_eq!(spans.iter().collect::<Vec<_>>(), [3..6, 7..8, 9..10]);
        assert_eq!(spans.len(), 5);
        let found: Vec<u64> = (0..12).filter(|&n| spans.contains(n)).collect();
        assert_eq!(found, [3, 4, 5, 7, 9]);
        assert!(!Spans::default().contains(0));
    }
}
