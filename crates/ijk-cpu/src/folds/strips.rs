//! The elements of a row: strips of contiguous elements, with gaps between them.

use super::kernel::{LEAST, StripAxis};
use crate::Few;
use ijk_kernels::tuning::order::{ROW_FOLD_APART, ROW_FOLD_NEAR_BYTES, ROW_FOLD_STRIP};

/// The strips of each row.
#[derive(Clone, Debug)]
pub(super) struct Strips {
    /// Elements of a strip.
    pub(super) length: usize,
    /// Axes of strips, innermost last.
    pub(super) axes: Vec<StripAxis>,
}

impl Strips {
    /// The strips along some axes, of which `inner` is innermost.
    pub(super) fn new(inner: StripAxis, mut outer: Few<StripAxis>) -> Option<Self> {
        outer.sort_by_key(|(_, steps)| steps.map(isize::unsigned_abs).into_iter().max());
        let mut joined: Few<StripAxis> = Few::from_iter([inner]);
        for axis in outer {
            let last = joined.last_mut()?;
            let extent = isize::try_from(last.0).ok()?;
            match last.1.map(|step| step.checked_mul(extent)) == axis.1.map(Some) {
                true => last.0 = last.0.checked_mul(axis.0)?,
                false => joined.push(axis),
            }
        }
        let axes = joined[1..].iter().rev().copied().collect();
        Some(Self { length: joined[0].0, axes })
    }

    /// Number of strips of a row.
    pub(super) fn count(&self) -> usize {
        self.axes.iter().map(|&(extent, _)| extent).product()
    }

    /// Number of elements of a row.
    pub(super) fn elements(&self) -> usize {
        self.length * self.count()
    }

    /// Returns true if folding them one after another is fast: they are not too short, and are long, in cache, or have
    /// no elements of other rows between them. `rows` are the axes of rows, with their strides; elements have `size`
    /// bytes.
    pub(super) fn are_near(&self, rows: &[(usize, [isize; 3])], size: usize) -> bool {
        let far = self.axes.iter().map(|(_, [x, _])| x.unsigned_abs()).max();
        let apart = |(_, [x, ..]): &(usize, [isize; 3])| *x == 0 || Some(x.unsigned_abs()) >= far;
        let count = rows.iter().fold(1, |n: usize, (extent, _)| n.saturating_mul(*extent));
        let bytes = count.saturating_mul(self.elements()).saturating_mul(size);
        let held = self.length >= LEAST && bytes <= ROW_FOLD_NEAR_BYTES;
        let long = self.length >= ROW_FOLD_APART || held || rows.iter().all(apart);
        self.axes.is_empty() || self.length >= ROW_FOLD_STRIP && long
    }
}
