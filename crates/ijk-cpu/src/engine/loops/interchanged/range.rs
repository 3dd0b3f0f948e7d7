//! Passes in which no update is left out.

use super::Interchanged;
use crate::engine::loops::compile::PassProgram;
use ijk_plan::plan::loops::PassRange;
use smallvec::SmallVec;
use std::ops::Range;

impl Interchanged {
    /// The passes of its loop, counted in their order, in which every update runs. `coordinates` are those of the loops
    /// around.
    pub(in crate::engine::loops) fn range(
        &self,
        coordinates: &[i64],
        looped: &PassProgram,
    ) -> Range<i64> {
        let mut at: SmallVec<[i64; 8]> = coordinates.into();
        let mut range = (0, i128::from(looped.extents[0]));
        for own in &self.ranges {
            let mut value = |pass: i64| {
                at.truncate(coordinates.len());
                at.push(looped.coordinate(pass));
                bounds(own, &at)
            };
            let (first, second) = (value(0), value(1));
            for (first, second) in first.into_iter().zip(second) {
                range = not_negative(range, i128::from(first), i128::from(second));
            }
        }
        match range {
            (start, end) if start < end => start as i64..end as i64,
            _ => 0..0,
        }
    }
}

/// Numbers that are not negative where a range is in bounds; affine functions of each coordinate.
fn bounds(own: &PassRange, coordinates: &[i64]) -> [i64; 4] {
    let (least, greatest) = (own.least.at(coordinates), own.greatest.at(coordinates));
    let last = own.extent.wrapping_sub(1);
    [greatest, last.wrapping_sub(least), greatest.wrapping_sub(least), last]
}

/// The part of a range of passes in which an affine function, with these values in the first two passes, is not
/// negative.
fn not_negative((start, end): (i128, i128), first: i128, second: i128) -> (i128, i128) {
    let slope = second - first;
    match slope {
        0 if first < 0 => (start, start),
        0 => (start, end),
        1.. => (
            start.max((-first).div_euclid(slope) + i128::from((-first).rem_euclid(slope) != 0)),
            end,
        ),
        _ => (start, end.min(first.div_euclid(-slope) + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::not_negative;

    #[test]
    fn ranges_of_affine_functions() {
        let all = |first: i128, second: i128| {
            let slope = second - first;
            let good: Vec<i128> = (0..20).filter(|n| first + n * slope >= 0).collect();
            let (start, end) = not_negative((0, 20), first, second);
            let found: Vec<i128> = (start.max(0)..end.min(20)).collect();
            assert_eq!(found, good, "{first} {second}");
        };
        for first in -15..15 {
            for second in -15..15 {
                all(first, second);
            }
        }
    }
}
