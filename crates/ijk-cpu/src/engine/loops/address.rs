//! Addresses of windows as functions of the coordinates of a pass.

use crate::error::Fault;
use ijk_plan::plan::loops::{FixedAxis, LoopBuffer, PassRange, PassWindow, Position};
use smallvec::SmallVec;

/// A window of an array, whose address moves with the pass.
#[derive(Clone, Debug)]
pub(super) struct MovingWindow {
    pub(super) array: usize,
    fixed: SmallVec<[MovingAxis; 2]>,
}

/// An axis at one position.
#[derive(Clone, Debug)]
struct MovingAxis {
    position: Position,
    /// From the position in the first pass of a diagonal to that in the last.
    reach: i64,
    /// Number of positions.
    extent: i64,
    /// Stride in bytes.
    stride: isize,
}

impl MovingWindow {
    /// Of an array, at positions of fewer than `coordinates` coordinates, for `count` passes of a diagonal.
    pub(super) fn new(
        window: &PassWindow,
        arrays: &[LoopBuffer],
        (coordinates, count): (usize, usize),
    ) -> Result<Self, Fault> {
        let array = arrays.get(window.array).ok_or(Fault::Reference)?;
        let size = array.dtype.size() as isize;
        let axis = |own: &FixedAxis| {
            let (extent, stride) = array.shape.get(own.axis).zip(array.strides.get(own.axis))?;
            let known = own.position.coordinates() <= coordinates;
            let extent = i64::try_from(*extent).ok()?;
            let reach = own.slope.checked_mul(i64::try_from(count).ok()? - 1)?;
            let position = own.position.clone();
            known.then_some(MovingAxis { position, reach, extent, stride: stride * size })
        };
        let fixed = window.fixed.iter().map(axis).collect::<Option<_>>().ok_or(Fault::Bounds)?;
        Ok(Self { array: window.array, fixed })
    }

    /// Offset in bytes of its first element; none where a position is out of bounds in some pass of the diagonal.
    #[inline]
    pub(super) fn offset(&self, coordinates: &[i64]) -> Option<isize> {
        let mut offset = 0isize;
        for axis in &self.fixed {
            let at = axis.position.at(coordinates);
            let last = at.wrapping_add(axis.reach);
            if at < 0 || at >= axis.extent || last < 0 || last >= axis.extent {
                return None;
            }
            offset += at as isize * axis.stride;
        }
        Some(offset)
    }
}

/// Returns true unless windows of `count` passes of a diagonal have no element in common.
pub(super) fn may_overlap(a: &PassWindow, b: &PassWindow, count: usize) -> bool {
    if a.array != b.array {
        return false;
    }
    // The windows meet if one distance between two passes makes their positions equal at every axis.
    let mut further = None;
    for own in &a.fixed {
        let other = b.fixed.iter().find(|other| other.axis == own.axis);
        let Some(other) = other.filter(|other| other.slope == own.slope) else { continue };
        let both = own.position.affine().zip(other.position.affine());
        let Some((c, d)) = both.and_then(|((c, own), (d, other))| (own == other).then_some((c, d)))
        else {
            continue;
        };
        let apart = c.wrapping_sub(d);
        match (own.slope, apart) {
            (0, 0) => {}
            (0, _) => return false,
            (slope, _) if apart % slope != 0 => return false,
            (slope, _) => match further.replace(apart / slope) {
                Some(passes) if passes != apart / slope => return false,
                _ => {}
            },
        }
    }
    further.is_none_or(|passes| passes.unsigned_abs() < count as u64)
}

/// Returns true if a position of a range is in bounds.
#[inline]
pub(super) fn holds(range: &PassRange, coordinates: &[i64]) -> bool {
    let (least, greatest) = (range.least.at(coordinates), range.greatest.at(coordinates));
    least.max(0) <= greatest.min(range.extent - 1)
}
