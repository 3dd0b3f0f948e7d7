//! Sets of the elements of arrays, and bounds checks of affine accesses.

use crate::Few;
use smallvec::SmallVec;

/// The set of offsets `{ Σ stride · index }` of an array's elements, as a mixed-radix system.
///
/// Digits are sorted by descending stride. The stride of each digit exceeds the span of all smaller ones, so that every
/// offset has at most one decomposition. Axes whose elements interleave without gaps (C order, windows, broadcasts) are
/// one digit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// The smallest offset.
    least: i128,
    /// Digits, largest stride first.
    digits: SmallVec<[Digit; 2]>,
}

/// `step · 0, step · 1, …, step · last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digit {
    step: i128,
    last: i128,
}

/// An affine map of a box: `offset + Σ stride · index`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affine<'a> {
    /// Offset of the origin.
    pub offset: isize,
    /// Extents of the box.
    pub extents: &'a [usize],
    /// Strides along them.
    pub strides: &'a [isize],
}

impl Affine<'_> {
    /// The smallest and the largest offset of a nonempty box.
    pub fn range(&self) -> (i128, i128) {
        let (mut low, mut high) = (self.offset as i128, self.offset as i128);
        for (&extent, &stride) in self.extents.iter().zip(self.strides) {
            let reach = stride as i128 * (extent as i128 - 1);
            low += reach.min(0);
            high += reach.max(0);
        }
        (low, high)
    }
}

/// Rows with gaps between them, and a run that must lie in one: without division, since each row that is gathered from
/// an array is checked.
#[derive(Clone, Copy)]
struct Rows {
    /// Distance of rows, and the reciprocal, rounded up, times 2⁶⁴.
    step: u64,
    reciprocal: u64,
    /// The greatest offset from the first element.
    span: u64,
    /// The greatest place in a row where the run begins.
    last: u64,
    /// Added to offsets.
    shift: i64,
}

impl Rows {
    /// The rows of a footprint; `None` if it is not one of rows, or is too large.
    fn of(footprint: &Footprint, origin: i64, run: usize) -> Option<Self> {
        let [Digit { step, last: rows }, Digit { step: 1, last }] = footprint.digits[..] else {
            return None;
        };
        let shift = i64::try_from(i128::from(origin) - footprint.least).ok()?;
        let span = u64::try_from(step * rows + last).ok()?;
        let (step, last) = (u64::try_from(step).ok()?, u64::try_from(last).ok()?);
        let last = last.checked_sub(run as u64 - 1)?;
        let small = shift.unsigned_abs() < 1 << 62 && span < 1 << 62;
        small.then_some(Self { step, reciprocal: u64::MAX / step + 1, span, last, shift })
    }

    #[inline(always)]
    fn contain(self, offset: i64) -> bool {
        // The shift is small: what wraps is no offset of an element.
        let at = offset.wrapping_add(self.shift) as u64;
        // The quotient or one more.
        let row = ((u128::from(at) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = at.wrapping_sub(row.wrapping_mul(self.step));
        let rest = rest.min(rest.wrapping_add(self.step));
        at <= self.span && rest <= self.last
    }
}

impl Footprint {
    /// The elements of an array; `None` if they interleave in a way that is not representable.
    ///
    /// The array has no axis of extent 0.
    pub fn new(shape: &[usize], strides: &[isize]) -> Option<Self> {
        let mut least = 0;
        let mut axes = Few::new();
        for (&extent, &stride) in shape.iter().zip(strides) {
            let last = extent as i128 - 1;
            least += (stride as i128 * last).min(0);
            if stride != 0 && last > 0 {
                axes.push(Digit { step: (stride as i128).abs(), last });
            }
        }
        axes.sort_by_key(|axis| axis.step);
        let mut digits: SmallVec<[Digit; 2]> = SmallVec::new();
        let mut span = 0;
        for axis in axes {
            match digits.last_mut() {
                Some(top) if top.absorbs(axis) => top.last += axis.step / top.step * axis.last,
                _ if axis.step <= span => return None,
                _ => digits.push(axis),
            }
            span += axis.step * axis.last;
        }
        digits.reverse();
        Some(Self { least, digits })
    }

    /// Distance from the smallest to the largest offset.
    pub fn span(&self) -> i128 {
        self.digits.iter().map(|digit| digit.step * digit.last).sum()
    }

    /// Returns true if every point of a box is an element, in particular if the box is empty.
    pub fn holds(&self, access: Affine<'_>) -> bool {
        if access.extents.contains(&0) {
            return true;
        }
        if let &[Digit { step: 1, last }] = &self.digits[..] {
            let (low, high) = access.range();
            return low >= self.least && high <= self.least + last;
        }
        let Some(origin) = self.decompose(access.offset as i128) else { return false };
        let (mut low, mut high) = (origin.clone(), origin.clone());
        for (&extent, &stride) in access.extents.iter().zip(access.strides) {
            if extent == 1 {
                continue;
            }
            let Some(next) = self.decompose(access.offset as i128 + stride as i128) else {
                return false;
            };
            for d in 0..origin.len() {
                let reach = (next[d] - origin[d]) * (extent as i128 - 1);
                low[d] += reach.min(0);
                high[d] += reach.max(0);
            }
        }
        let within = |d: usize| low[d] >= 0 && high[d] <= self.digits[d].last;
        (0..origin.len()).all(within)
    }

    /// Returns true if an offset and the `run` - 1 following ones, `run` ≥ 1, are contiguous elements. In 64 bits,
    /// without decomposition into digits: this is called for each computed position in an array with gaps.
    pub fn contains_run(&self, offset: i64, run: usize) -> bool {
        let Ok(mut rest) = u64::try_from(i128::from(offset) - self.least) else { return false };
        let mut follow = 0;
        for digit in &self.digits {
            follow = 0;
            // An axis whose stride exceeds any offset has index 0.
            let Ok(step) = u64::try_from(digit.step) else { continue };
            let place = if step == 1 { rest } else { rest / step };
            if i128::from(place) > digit.last {
                return false;
            }
            rest -= place * step;
            if step == 1 {
                follow = (digit.last - i128::from(place)) as u64;
            }
        }
        rest == 0 && run as u64 <= follow.saturating_add(1)
    }

    /// Returns true if [`contains_run`](Self::contains_run) holds for each of some offsets, with `origin` added.
    pub fn contains_runs(&self, offsets: &[i64], origin: i64, run: usize) -> bool {
        if let Some(rows) = Rows::of(self, origin, run) {
            return offsets.iter().fold(true, |all, &offset| all & rows.contain(offset));
        }
        let place = |&offset: &i64| offset.checked_add(origin);
        offsets.iter().map(place).all(|at| at.is_some_and(|at| self.contains_run(at, run)))
    }

    /// Length of the contiguous runs of the array.
    pub fn longest_run(&self) -> usize {
        match self.digits.last() {
            Some(Digit { step: 1, last }) => usize::try_from(last + 1).unwrap_or(usize::MAX),
            _ => 1,
        }
    }

    /// The smallest and largest offset, if all offsets between them are elements.
    pub fn dense(&self) -> Option<(i64, i64)> {
        let last = match self.digits[..] {
            [] => 0,
            [Digit { step: 1, last }] => last,
            _ => return None,
        };
        Some((i64::try_from(self.least).ok()?, i64::try_from(self.least + last).ok()?))
    }

    /// The digits of an offset, if it is that of an element.
    fn decompose(&self, offset: i128) -> Option<Few<i128>> {
        let mut rest = offset - self.least;
        let mut index = Few::new();
        for digit in &self.digits {
            let i = rest.div_euclid(digit.step);
            if i < 0 || i > digit.last {
                return None;
            }
            index.push(i);
            rest -= i * digit.step;
        }
        (rest == 0).then_some(index)
    }
}

impl Digit {
    /// Returns true if both are together one digit with the same stride.
    fn absorbs(self, axis: Digit) -> bool {
        axis.step % self.step == 0 && axis.step / self.step <= self.last + 1
    }
}

/// Axes that separate elements: two points that differ in one of them never are the same element. Axes are considered
/// in ascending order of strides.
pub(crate) fn separable(extents: &[usize], strides: &[isize]) -> Few<usize> {
    let mut order: Few<usize> = (0..extents.len()).filter(|&a| extents[a] > 1).collect();
    order.sort_by_key(|&a| strides[a].unsigned_abs());
    let mut span = 0u128;
    let mut safe = Few::new();
    for a in order {
        let stride = strides[a].unsigned_abs() as u128;
        if stride <= span {
            safe.clear();
        } else {
            safe.push(a);
        }
        span = span.saturating_add(stride.saturating_mul(extents[a] as u128 - 1));
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(f: &Footprint, offset: isize, extents: &[usize], strides: &[isize]) -> bool {
        f.holds(Affine { offset, extents, strides })
    }

    #[test]
    fn dense_arrays_hold_what_stays_within() {
        let f = Footprint::new(&[3, 4], &[4, 1]).unwrap();
        assert_eq!(f.dense(), Some((0, 11)));
        assert!(holds(&f, 0, &[4, 3], &[1, 4]));
        assert!(holds(&f, 0, &[3], &[5]), "the diagonal");
        assert!(!holds(&f, 1, &[4, 3], &[1, 4]));
        assert!(holds(&f, 100, &[0], &[1]), "no points");
    }

    #[test]
    fn gaps_are_no_elements() {
        let f = Footprint::new(&[5, 3], &[10, 2]).unwrap();
        assert_eq!(f.dense(), None);
        assert!(holds(&f, 0, &[3, 5], &[2, 10]));
        assert!(holds(&f, 4, &[3], &[8]), "anti-diagonal");
        assert!(!holds(&f, 0, &[4], &[2]));
        assert!(!holds(&f, 0, &[2], &[1]));
        assert!(f.contains_run(24, 1) && !f.contains_run(25, 1) && !f.contains_run(8, 1));
    }

    #[test]
    fn elements_are_contained_and_nothing_else() {
        let arrays: [(&[usize], &[isize]); 8] = [
            (&[5, 3], &[10, 2]),
            (&[5, 3], &[10, 1]),
            (&[2, 4, 3], &[-50, 10, -1]),
            (&[5, 3], &[-10, 2]),
            (&[4, 2, 3], &[40, -9, 3]),
            (&[3, 4], &[0, -7]),
            (&[], &[]),
            (&[2, 3], &[1 << 40, 5]),
        ];
        for (shape, strides) in arrays {
            let f = Footprint::new(shape, strides).unwrap();
            let mut offsets = vec![0i64];
            for (&extent, &stride) in shape.iter().zip(strides) {
                let steps = (0..extent as i64).map(|n| n * stride as i64);
                offsets = steps.flat_map(|s| offsets.iter().map(move |o| o + s)).collect();
            }
            for offset in (-300..300).chain((1 << 40) - 300..(1 << 40) + 300) {
                for run in 1..5 {
                    let inside = (offset..offset + run as i64).all(|o| offsets.contains(&o));
                    let inside = inside && (run == 1 || f.longest_run() > 1);
                    assert_eq!(f.contains_run(offset, run), inside, "{strides:?} {offset} {run}");
                    let shifted = f.contains_runs(&[offset - 7], 7, run);
                    assert_eq!(shifted, inside, "{strides:?} {offset} {run}");
                }
            }
            assert!(!f.contains_run(i64::MIN, 1) && !f.contains_run(i64::MAX, 1));
        }
    }

    #[test]
    fn reversed_broadcast_and_windows() {
        let reversed = Footprint::new(&[4], &[-1]).unwrap();
        assert_eq!(reversed.dense(), Some((-3, 0)));
        let broadcast = Footprint::new(&[4, 3], &[0, 2]).unwrap();
        assert!(holds(&broadcast, 0, &[3], &[2]) && !holds(&broadcast, 0, &[4], &[2]));
        let windows = Footprint::new(&[5, 3], &[1, 1]).unwrap();
        assert_eq!(windows.dense(), Some((0, 6)));
        assert_eq!(Footprint::new(&[2, 3], &[3, 2]), None);
    }

    #[test]
    fn separable_axes() {
        assert_eq!(separable(&[3, 4], &[4, 1])[..], [1, 0]);
        assert_eq!(separable(&[3, 4], &[1, 1])[..], [0usize; 0]);
        assert_eq!(separable(&[7, 3, 4], &[6, 1, -1])[..], [0]);
        assert_eq!(separable(&[7, 3], &[0, 1])[..], [1], "a stride of 0 tells nothing apart");
    }
}
