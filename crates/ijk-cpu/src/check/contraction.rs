//! Checks of one contraction.

use super::layout::layout_of;
use super::{Affine, Layout, separable};
use crate::error::Fault;
use ijk_plan::plan::{Base, Contraction, ContractionAxis, Grouped, Place, Role};
use ijk_types::DType;

/// Checks a contraction against the buffers of its plan: accesses are within bounds, strides agree with the roles of
/// axes, distinct outputs are distinct elements, and the output is not an operand. Returns true if every element of the
/// output's buffer is written.
pub(crate) fn check_contraction(task: &Contraction, layouts: &[Layout]) -> Result<bool, Fault> {
    let extents: Vec<usize> = task.axes.iter().map(|a| a.extent).collect();
    let points = extents.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent.max(1)));
    points.filter(|&n| isize::try_from(n).is_ok()).ok_or(Fault::TooLarge)?;
    check_operand(task, layouts, task.a, &extents, |a| a.a)?;
    check_operand(task, layouts, task.b, &extents, |a| a.b)?;
    let out = layout_of(layouts, task.c)?;
    if matches!(out.place, Place::Input(_)) {
        return Err(Fault::WritesArgument);
    }
    let outputs: Vec<usize> =
        task.axes.iter().map(|a| if a.role == Role::K { 1 } else { a.extent }).collect();
    check_operand(task, layouts, task.c, &outputs, |a| a.c)?;
    check_types(task)?;
    if !task.axes.iter().all(keeps_role) {
        return Err(Fault::Bounds);
    }
    let strides: Vec<isize> = task.axes.iter().map(|a| a.c).collect();
    let distinct =
        separable(&outputs, &strides).len() == outputs.iter().filter(|&&n| n > 1).count();
    let shares = |base| layout_of(layouts, base).map(|layout| layout.overlaps(out));
    if !distinct || shares(task.a)? || shares(task.b)? {
        return Err(Fault::Overlap);
    }
    Ok(outputs.iter().product::<usize>() == out.len)
}

/// Checks a grouped contraction: every group's operand is within bounds, every row has an index, and the output does
/// not overlap the indices.
pub(crate) fn check_grouped(task: &Grouped, layouts: &[Layout]) -> Result<bool, Fault> {
    let Grouped { each, index, index_steps, .. } = task;
    let covers = check_contraction(each, layouts)?;
    if index_steps.len() != each.axes.len() {
        return Err(Fault::Rank);
    }
    let rows = each.axes.iter().zip(index_steps);
    if rows.into_iter().any(|(axis, &step)| axis.role != Role::M && step != 0) || each.accumulate {
        return Err(Fault::Bounds);
    }
    let (extents, steps): (Vec<usize>, Vec<isize>) =
        each.axes.iter().map(|axis| (axis.extent, axis.b)).unzip();
    let with = |more, all: &[_]| all.iter().copied().chain([more]).collect::<Vec<_>>();
    let groups = with(task.groups, &extents);
    let strides: Vec<isize> = steps.iter().copied().chain([task.step]).collect();
    let right = layout_of(layouts, each.b)?;
    let right = right.holds(Affine { offset: each.b.offset, extents: &groups, strides: &strides });
    let own = layout_of(layouts, *index)?;
    if own.dtype != task.index_dtype || !matches!(own.dtype, DType::I32 | DType::I64) {
        return Err(Fault::Types);
    }
    let read = Affine { offset: index.offset, extents: &extents, strides: index_steps };
    if !right || !own.holds(read) {
        return Err(Fault::Bounds);
    }
    if own.overlaps(layout_of(layouts, each.c)?) {
        return Err(Fault::Overlap);
    }
    Ok(covers)
}

/// Checks that an operand is within its buffer.
fn check_operand(
    task: &Contraction,
    layouts: &[Layout],
    base: Base,
    extents: &[usize],
    step: fn(&ContractionAxis) -> isize,
) -> Result<(), Fault> {
    let layout = layout_of(layouts, base)?;
    let strides: Vec<isize> = task.axes.iter().map(step).collect();
    if layout.dtype != task.dtype {
        return Err(Fault::Types);
    }
    let inside = layout.holds(Affine { offset: base.offset, extents, strides: &strides });
    if inside { Ok(()) } else { Err(Fault::Bounds) }
}

/// Checks that map and monoid support the element type, and the map returns it.
fn check_types(task: &Contraction) -> Result<(), Fault> {
    let t = task.dtype;
    let maps = task.map.accepts().contains(t) && task.map.result().of(t) == t;
    if maps && task.reduce.op().accepts().contains(t) { Ok(()) } else { Err(Fault::Types) }
}

/// Checks that an operand without an axis has stride 0 along it.
fn keeps_role(axis: &ContractionAxis) -> bool {
    axis.extent <= 1
        || match axis.role {
            Role::Batch => true,
            Role::M => axis.b == 0,
            Role::N => axis.a == 0,
            Role::K => axis.c == 0,
        }
}
