//! Checked layouts of the buffers of a plan.

use super::{Affine, Footprint};
use crate::Few;
use crate::error::{Fault, PlanError};
use ijk_plan::plan::{Base, Buffer, BufferId, Place, Plan};
use ijk_tensor::is_c_contiguous;
use ijk_types::DType;

/// A checked buffer of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Its place.
    pub place: Place,
    /// Its element type.
    pub dtype: DType,
    /// Its shape.
    pub shape: Few<usize>,
    /// Its strides, in elements.
    pub strides: Few<isize>,
    /// Number of elements.
    pub len: usize,
    /// Set of its elements; `None` if it is empty.
    pub footprint: Option<Footprint>,
    /// True if it is written with non-temporal stores: it is a large result that is evicted before it is read again,
    /// and non-temporal stores avoid reading its lines first.
    pub streams: bool,
}

impl Layout {
    /// Returns true if every point of an access is an element.
    pub fn holds(&self, access: Affine<'_>) -> bool {
        let empty = access.extents.contains(&0);
        empty || self.footprint.as_ref().is_some_and(|f| f.holds(access))
    }

    /// Returns true if the elements are contiguous in C order, in particular if there are none.
    pub fn is_c_contiguous(&self) -> bool {
        is_c_contiguous(&self.shape, &self.strides)
    }

    /// Bytes of its elements.
    pub fn bytes(&self) -> usize {
        self.len.saturating_mul(self.dtype.size())
    }

    /// Range of bytes of a temporary in the arena.
    pub fn arena_bytes(&self) -> Option<std::ops::Range<usize>> {
        match self.place {
            Place::Temporary(at) => Some(at..at + self.len * self.dtype.size()),
            _ => None,
        }
    }

    /// Returns true if two buffers may overlap. Arguments and results do not, since their views exclude it.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self.arena_bytes(), other.arena_bytes()) {
            (Some(a), Some(b)) => a.start < b.end && b.start < a.end,
            _ => self.place == other.place,
        }
    }
}

impl Layout {
    /// Of an array that is an argument.
    pub(crate) fn of_array(dtype: DType, shape: &[usize], strides: &[isize]) -> Self {
        let len = if shape.contains(&0) { 0 } else { shape.iter().product() };
        Self {
            place: Place::Input(0),
            dtype,
            shape: Few::from_slice(shape),
            strides: Few::from_slice(strides),
            len,
            footprint: None,
            streams: false,
        }
    }
}

/// Checks the buffers of a plan.
pub(crate) fn layouts(plan: &Plan) -> Result<Vec<Layout>, PlanError> {
    let mut layouts: Vec<Layout> = Vec::with_capacity(plan.buffers.len());
    for (n, buffer) in plan.buffers.iter().enumerate() {
        let id = BufferId(n as u32);
        let fail = |fault| PlanError::Buffer { buffer: id, fault };
        let taken = || layouts.iter().any(|other| other.place == buffer.place);
        if matches!(buffer.place, Place::Output(_)) && taken() {
            return Err(fail(Fault::SharedResult));
        }
        layouts.push(layout(buffer, plan.arena).map_err(fail)?);
    }
    Ok(layouts)
}

/// Checks one buffer.
fn layout(buffer: &Buffer, arena: usize) -> Result<Layout, Fault> {
    let Buffer { place, dtype, ref shape, ref strides } = *buffer;
    if shape.len() != strides.len() {
        return Err(Fault::Rank);
    }
    let len = element_count(shape, dtype)?;
    if let Place::Temporary(at) = place {
        check_temporary(buffer, at, len, arena)?;
    }
    let footprint = match len {
        0 => None,
        _ => {
            let footprint = Footprint::new(shape, strides).ok_or(Fault::Interleaved)?;
            let bytes = (footprint.span() + 1) * dtype.size() as i128;
            isize::try_from(bytes).map_err(|_| Fault::TooLarge)?;
            Some(footprint)
        }
    };
    Ok(Layout {
        place,
        dtype,
        shape: Few::from_slice(shape),
        strides: Few::from_slice(strides),
        len,
        footprint,
        streams: false,
    })
}

/// Number of elements; an error if their bytes overflow.
fn element_count(shape: &[usize], dtype: DType) -> Result<usize, Fault> {
    let grown = shape.iter().try_fold(dtype.size(), |n, &extent| n.checked_mul(extent.max(1)));
    grown.filter(|&bytes| isize::try_from(bytes).is_ok()).ok_or(Fault::TooLarge)?;
    Ok(shape.iter().product())
}

/// Checks that a temporary is C-contiguous and in the arena.
fn check_temporary(buffer: &Buffer, at: usize, len: usize, arena: usize) -> Result<(), Fault> {
    let end = at.checked_add(len * buffer.dtype.size());
    if !at.is_multiple_of(64) || end.is_none_or(|end| end > arena) {
        return Err(Fault::Arena);
    }
    match is_c_contiguous(&buffer.shape, &buffer.strides) {
        true => Ok(()),
        false => Err(Fault::Strides),
    }
}

/// The layout of the buffer that a base refers to.
pub(super) fn layout_of(layouts: &[Layout], base: Base) -> Result<&Layout, Fault> {
    layouts.get(base.buffer.0 as usize).ok_or(Fault::Reference)
}
