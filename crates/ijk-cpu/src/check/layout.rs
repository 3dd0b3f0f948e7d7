//! What is known of each buffer of a plan.

use super::{Affine, Footprint};
use crate::Few;
use crate::error::{Fault, PlanError};
use ijk_plan::plan::{Base, Buffer, BufferId, Place, Plan};
use ijk_tensor::is_c_contiguous;
use ijk_types::DType;

/// A buffer of a plan, checked.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Where it lives.
    pub place: Place,
    /// Its element type.
    pub dtype: DType,
    /// Its shape.
    pub shape: Few<usize>,
    /// Its strides, in elements.
    pub strides: Few<isize>,
    /// Number of elements.
    pub len: usize,
    /// Which offsets are elements; `None` where there is none.
    pub footprint: Option<Footprint>,
    /// Whether what is written should go past the caches: it is a large result, which nobody reads
    /// before other data have taken its place, and lines that are not written through a cache need
    /// not be read first.
    pub streams: bool,
}

impl Layout {
    /// Whether every point of an access falls on an element.
    pub fn holds(&self, access: Affine<'_>) -> bool {
        let empty = access.extents.contains(&0);
        empty || self.footprint.as_ref().is_some_and(|f| f.holds(access))
    }

    /// Whether the elements lie densely in C order; always, where there is none.
    pub fn is_c_contiguous(&self) -> bool {
        is_c_contiguous(&self.shape, &self.strides)
    }

    /// For a temporary, its bytes in the arena.
    pub fn arena_bytes(&self) -> Option<std::ops::Range<usize>> {
        match self.place {
            Place::Temporary(at) => Some(at..at + self.len * self.dtype.size()),
            _ => None,
        }
    }

    /// Whether two buffers may share bytes. Arguments and results never do: the views see to it.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self.arena_bytes(), other.arena_bytes()) {
            (Some(a), Some(b)) => a.start < b.end && b.start < a.end,
            _ => self.place == other.place,
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

/// The number of elements, where they and their bytes can be counted.
fn element_count(shape: &[usize], dtype: DType) -> Result<usize, Fault> {
    let grown = shape.iter().try_fold(dtype.size(), |n, &extent| n.checked_mul(extent.max(1)));
    grown.filter(|&bytes| isize::try_from(bytes).is_ok()).ok_or(Fault::TooLarge)?;
    Ok(shape.iter().product())
}

/// Whether a temporary is C-contiguous and in the arena.
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
