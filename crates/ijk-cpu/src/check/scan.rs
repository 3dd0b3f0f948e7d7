//! Checks of one scan.

use super::layout::layout_of;
use super::{Affine, Layout, separable};
use crate::error::Fault;
use ijk_plan::plan::{Base, Place, Scan, ScanAxis};
use ijk_types::Monoid;

/// Checks a scan against the buffers of its plan: accesses are within bounds, distinct points have distinct outputs,
/// and the output does not overlap the input. Returns true if every element of the output's buffer is written.
pub(crate) fn check_scan(scan: &Scan, layouts: &[Layout]) -> Result<bool, Fault> {
    let axes: Vec<&ScanAxis> = scan.rows.iter().chain([&scan.along]).collect();
    let extents: Vec<usize> = axes.iter().map(|a| a.extent).collect();
    let points = extents.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent.max(1)));
    points.filter(|&n| isize::try_from(n).is_ok()).ok_or(Fault::TooLarge)?;
    let inside = |base: Base, strides: &[isize]| {
        let layout = layout_of(layouts, base)?;
        if layout.dtype != scan.dtype {
            return Err(Fault::Types);
        }
        let inside = layout.holds(Affine { offset: base.offset, extents: &extents, strides });
        if inside { Ok(layout) } else { Err(Fault::Bounds) }
    };
    let (from, to): (Vec<isize>, Vec<isize>) = axes.iter().map(|a| (a.from, a.to)).unzip();
    let (source, out) = (inside(scan.from, &from)?, inside(scan.to, &to)?);
    if matches!(out.place, Place::Input(_)) {
        return Err(Fault::WritesArgument);
    }
    if !scan.reduce.op().accepts().contains(scan.dtype) {
        return Err(Fault::Types);
    }
    if let Some(levels) = &scan.levels {
        if levels.rows.len() != scan.rows.len() {
            return Err(Fault::Rank);
        }
        if !scan.dtype.is_float() || scan.reduce != Monoid::Add {
            return Err(Fault::Types);
        }
        let steps: Vec<isize> = levels.rows.iter().chain([&levels.along]).copied().collect();
        if inside(levels.base, &steps)?.overlaps(out) {
            return Err(Fault::Overlap);
        }
    }
    let distinct = separable(&extents, &to).len() == extents.iter().filter(|&&n| n > 1).count();
    if !distinct || source.overlaps(out) {
        return Err(Fault::Overlap);
    }
    Ok(extents.iter().product::<usize>() == out.len)
}
