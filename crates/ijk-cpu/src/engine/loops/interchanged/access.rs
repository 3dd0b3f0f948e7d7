//! Elements of arrays as functions of the row and the pass.

use super::super::compile::rest;
use ijk_plan::plan::loops::{LoopBuffer, PassWindow, Position};
use ijk_types::DType;
use smallvec::SmallVec;

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
    pub dtype: DType,
    /// Offset, and stride along each axis of rows, in bytes.
    pub offset: isize,
    pub strides: SmallVec<[isize; 4]>,
    /// The loop writes elements of the array.
    pub written: bool,
}

impl StreamDraft {
    /// Passes, in increasing order of a coordinate, by which the elements of another stream are behind its own: those of
    /// the same array and rows, at another position on one axis. Elements of the array lie between them.
    pub fn behind(&self, other: &Self, coordinate: usize) -> Option<i64> {
        let (own, theirs) = (&self.window, &other.window);
        let same = own.array == theirs.array && own.fixed.len() == theirs.fixed.len();
        if !same || self.strides != other.strides || self.offset != other.offset {
            return None;
        }
        let (mut moving, mut apart) = (0, None);
        for fixed in &own.fixed {
            let other = theirs.fixed.iter().find(|other| other.axis == fixed.axis)?;
            moving += usize::from(step(&fixed.position, coordinate) != 0);
            if fixed.position != other.position && apart.replace((fixed, other)).is_some() {
                return None;
            }
        }
        match apart {
            None => Some(0),
            Some((fixed, other)) => {
                let ((from, terms), (to, others)) =
                    fixed.position.affine().zip(other.position.affine())?;
                let by = step(&fixed.position, coordinate);
                let distance = to.checked_sub(from)?;
                let whole = moving == 1 && terms == others && by != 0 && distance % by == 0;
                whole.then(|| distance / by)
            }
        }
    }

    /// Returns true if its elements change with a coordinate.
    pub fn moves(&self, coordinate: usize) -> bool {
        self.window.fixed.iter().any(|fixed| step(&fixed.position, coordinate) != 0)
    }
}

/// The change of a position from a value of a coordinate to the next.
fn step(position: &Position, coordinate: usize) -> i64 {
    let terms = position.affine().map_or(&[][..], |(_, terms)| terms);
    terms.iter().filter(|(n, _)| *n as usize == coordinate).map(|(_, by)| by).sum()
}
