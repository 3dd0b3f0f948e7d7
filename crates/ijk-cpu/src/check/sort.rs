//! Checks of one order.

use super::layout::layout_of;
use super::{Affine, Layout, separable};
use crate::error::Fault;
use ijk_plan::plan::{Place, ScanAxis, Sort};
use ijk_types::DType;

/// Checks an order against the buffers of its plan: accesses are within bounds, distinct places have distinct outputs,
/// there are no more places than values, and the output does not overlap the input. Returns true if every element of the
/// output's buffer is written.
pub(crate) fn check_sort(sort: &Sort, layouts: &[Layout]) -> Result<bool, Fault> {
    let with = |last: &ScanAxis, step: fn(&ScanAxis) -> isize| {
        let axes = || sort.rows.iter().chain([last]);
        let extents: Vec<usize> = axes().map(|axis| axis.extent).collect();
        let strides: Vec<isize> = axes().map(step).collect();
        let points = extents.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent.max(1)));
        let fits = points.is_some_and(|n| isize::try_from(n).is_ok());
        if fits { Ok((extents, strides)) } else { Err(Fault::TooLarge) }
    };
    let (read, from) = with(&sort.values, |axis| axis.from)?;
    let (written, to) = with(&sort.places, |axis| axis.to)?;
    let (source, out) = (layout_of(layouts, sort.from)?, layout_of(layouts, sort.to)?);
    let gives = if sort.order.positions { DType::I64 } else { sort.dtype };
    if source.dtype != sort.dtype || out.dtype != gives || sort.dtype.is_complex() {
        return Err(Fault::Types);
    }
    let (a, b) = (sort.from.offset, sort.to.offset);
    let inside = source.holds(Affine { offset: a, extents: &read, strides: &from })
        && out.holds(Affine { offset: b, extents: &written, strides: &to });
    if !inside || sort.places.extent > sort.values.extent {
        return Err(Fault::Bounds);
    }
    if matches!(out.place, Place::Input(_)) {
        return Err(Fault::WritesArgument);
    }
    let distinct = separable(&written, &to).len() == written.iter().filter(|&&n| n > 1).count();
    if !distinct || source.overlaps(out) {
        return Err(Fault::Overlap);
    }
    Ok(written.iter().product::<usize>() == out.len)
}
