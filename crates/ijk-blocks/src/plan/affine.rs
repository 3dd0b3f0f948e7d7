//! Where a point of a stage reads along an axis of an operand.

use std::ops::Range;

/// `constant + Σ coefficient · axis` of a stage's axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Affine {
    pub(crate) constant: i64,
    /// Coefficients, not 0, of axes that ascend.
    pub(crate) terms: Vec<(i64, usize)>,
}

impl Affine {
    /// An axis alone.
    pub(crate) fn axis(axis: usize) -> Self {
        Self { constant: 0, terms: vec![(1, axis)] }
    }

    /// The axis that it is.
    pub(crate) fn as_axis(&self) -> Option<usize> {
        match (&self.terms[..], self.constant) {
            (&[(1, axis)], 0) => Some(axis),
            _ => None,
        }
    }

    /// Whether it depends on an axis.
    pub(crate) fn has(&self, axis: usize) -> bool {
        self.terms.iter().any(|(_, other)| *other == axis)
    }

    /// The positions from the least to the greatest where the axes have these ranges; none where one of
    /// these is empty.
    pub(crate) fn range(&self, ranges: &[Range<usize>]) -> Range<usize> {
        let (mut least, mut greatest) = (self.constant, self.constant);
        for &(coefficient, axis) in &self.terms {
            let range = &ranges[axis];
            if range.is_empty() {
                return 0..0;
            }
            let ends = [range.start, range.end - 1].map(|end| coefficient * end as i64);
            least += ends[0].min(ends[1]);
            greatest += ends[0].max(ends[1]);
        }
        debug_assert!(least >= 0);
        least.max(0) as usize..(greatest + 1).max(0) as usize
    }

    /// The same for positions that count from the start of [`Self::range`], and axes that count from the
    /// starts of their ranges.
    #[must_use]
    pub(crate) fn within(&self, ranges: &[Range<usize>]) -> Self {
        let starts = self.terms.iter().map(|&(c, axis)| c * ranges[axis].start as i64);
        let constant = self.constant + starts.sum::<i64>() - self.range(ranges).start as i64;
        let empty = self.terms.iter().any(|&(_, axis)| ranges[axis].is_empty());
        Self { constant: if empty { 0 } else { constant }, terms: self.terms.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_all_positions() {
        let affine = Affine { constant: 9, terms: vec![(2, 0), (-1, 1)] };
        let ranges = [2..4, 3..6];
        assert_eq!(affine.range(&ranges), 8..13);
        let within = affine.within(&ranges);
        // The first of axis 0 with the last of axis 1 is the least: 0 + 2·0 - 1·2.
        assert_eq!(within.constant, 2);
        assert_eq!(affine.range(&[2..2, 3..6]), 0..0);
        assert_eq!(Affine::axis(1).within(&ranges), Affine::axis(1));
    }
}
