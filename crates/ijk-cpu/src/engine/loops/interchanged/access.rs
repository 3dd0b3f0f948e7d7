//! Elements of arrays as functions of the row and the pass.

use super::super::compile::rest;
use ijk_plan::plan::loops::{FixedAxis, LoopBuffer, PassRange, PassWindow, Position};
use ijk_types::DType;
use smallvec::SmallVec;

/// Positions of which one must be in bounds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PassSpan {
    pub least: Position,
    pub greatest: Position,
    pub extent: i64,
}

impl PassSpan {
    /// Of a condition; none unless it is affine.
    pub fn of(range: &PassRange) -> Option<Self> {
        let affine = range.least.affine().and(range.greatest.affine()).is_some();
        affine.then(|| Self {
            least: range.least.clone(),
            greatest: range.greatest.clone(),
            extent: range.extent,
        })
    }

    /// Of a fixed axis of an array.
    pub fn of_axis(axis: &FixedAxis, array: &LoopBuffer) -> Option<Self> {
        let extent = i64::try_from(*array.shape.get(axis.axis)?).ok()?;
        axis.position.affine()?;
        Some(Self { least: axis.position.clone(), greatest: axis.position.clone(), extent })
    }
}

/// The first element of a window: `constant + Σ coefficient · coordinate`, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct First {
    pub constant: i64,
    /// By coordinate, without zeros.
    pub terms: SmallVec<[(u32, i64); 2]>,
}

impl First {
    /// Of a window; none unless all positions are affine.
    pub fn of(window: &PassWindow, array: &LoopBuffer) -> Option<Self> {
        let size = array.dtype.size() as i64;
        let mut first = Self { constant: 0, terms: SmallVec::new() };
        for fixed in &window.fixed {
            let stride = (*array.strides.get(fixed.axis)? as i64).checked_mul(size)?;
            let (constant, terms) = fixed.position.affine()?;
            first.constant = first.constant.checked_add(constant.checked_mul(stride)?)?;
            for &(coordinate, by) in terms {
                let by = by.checked_mul(stride)?;
                match first.terms.iter_mut().find(|(own, _)| *own == coordinate) {
                    Some((_, sum)) => *sum = sum.checked_add(by)?,
                    None => first.terms.push((coordinate, by)),
                }
            }
        }
        first.terms.retain(|(_, by)| *by != 0);
        first.terms.sort_unstable();
        Some(first)
    }

    /// Bytes from a value of a coordinate to the next.
    pub fn step(&self, coordinate: usize) -> i64 {
        let own = self.terms.iter().find(|(n, _)| *n as usize == coordinate);
        own.map_or(0, |(_, by)| *by)
    }
}

/// An access of a nest to a buffer: offset, and stride along each axis of rows, in elements.
pub(super) struct RowAccess<'a> {
    pub window: &'a PassWindow,
    /// Strides of the axes of the buffer that stands for the window.
    pub buffer: &'a [isize],
    pub offset: isize,
    pub strides: SmallVec<[isize; 4]>,
}

/// Axes of an array that its windows fix, and those that rows go along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowAxes {
    fixed: SmallVec<[usize; 4]>,
    along: SmallVec<[usize; 4]>,
}

impl RowAccess<'_> {
    /// Of an array that the loop writes: which axes of the array rows go along; none unless each row has elements of its
    /// own in every window. `rows` are the extents of the axes of rows.
    pub fn axes(&self, array: &LoopBuffer, rows: &[usize]) -> Option<RowAxes> {
        let mut fixed: SmallVec<[usize; 4]> = self.window.fixed.iter().map(|f| f.axis).collect();
        fixed.sort_unstable();
        let (shape, _) = rest(self.window, array, 1);
        let axis = |(stride, &rows): (&isize, &usize)| {
            let fits = |&a: &usize| shape[a] >= rows && self.buffer[a] == *stride;
            let mut found = (0..shape.len()).filter(fits);
            found.next().filter(|_| found.next().is_none())
        };
        let along = self.strides.iter().zip(rows).map(axis).collect::<Option<_>>()?;
        (self.offset == 0).then_some(RowAxes { fixed, along })
    }
}

impl RowAxes {
    /// Strides in bytes along the axes of rows.
    pub fn strides(&self, window: &PassWindow, array: &LoopBuffer) -> SmallVec<[isize; 4]> {
        let (_, strides) = rest(window, array, 1);
        let size = array.dtype.size() as isize;
        self.along.iter().map(|&axis| strides[axis] * size).collect()
    }
}

/// A stream before the axes of rows are chosen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StreamDraft {
    pub window: PassWindow,
    pub first: First,
    pub dtype: DType,
    /// Offset, and stride along each axis of rows, in bytes.
    pub offset: isize,
    pub strides: SmallVec<[isize; 4]>,
    /// The loop writes elements of the array.
    pub written: bool,
}

impl StreamDraft {
    /// Bytes from its element of a row to that of another stream of the same kind, which differs in constants alone.
    pub fn distance(&self, other: &Self) -> Option<i64> {
        let same = self.window.array == other.window.array
            && self.first.terms == other.first.terms
            && self.strides == other.strides;
        let own = (self.first.constant, self.offset as i64);
        let theirs = (other.first.constant, other.offset as i64);
        same.then(|| theirs.0.wrapping_add(theirs.1).wrapping_sub(own.0.wrapping_add(own.1)))
    }

    /// The same for a stream whose windows differ in the position on one axis alone, which moves with the coordinate:
    /// then elements of the array lie between theirs, from pass to pass.
    pub fn behind(&self, other: &Self, coordinate: usize) -> Option<i64> {
        let moves = |position: &Position| {
            let terms = position.affine().map_or(&[][..], |(_, terms)| terms);
            terms.iter().any(|(n, by)| *n as usize == coordinate && *by != 0)
        };
        let fixed = &self.window.fixed;
        let moving = fixed.iter().filter(|own| moves(&own.position)).count();
        let alike = fixed.iter().all(|own| {
            let theirs = other.window.fixed.iter().find(|theirs| theirs.axis == own.axis);
            let same = theirs.is_some_and(|theirs| theirs.position == own.position);
            same || (moving == 1 && theirs.is_some() && moves(&own.position))
        });
        let alike = alike && fixed.len() == other.window.fixed.len();
        self.distance(other).filter(|_| self.offset == other.offset && alike)
    }
}
