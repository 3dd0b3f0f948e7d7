//! Checks of one sweep.
//!
//! A window is a box of rows of a buffer: for each axis of the sweep, one axis of the window has the same stride and as
//! many elements as a block has rows, or more if it is only read. All windows together are then a larger box with the
//! same strides, and they are disjoint if the elements of that box are.

use super::{Affine, Layout, separable};
use crate::Few;
use crate::error::Fault;
use ijk_plan::plan::{BufferId, Narrow, Place, Sweep, SweepAxis, Window};

/// Checks a sweep against the buffers of its plan, given the layouts of its bodies: the windows of blocks are within
/// the buffers, blocks write disjoint elements, and no others read these. Returns the buffers that are written, each
/// with true if the blocks cover it.
pub(crate) fn check_sweep(
    sweep: &Sweep,
    body: &[Layout],
    others: &[Other<'_>],
    layouts: &[Layout],
) -> Result<Vec<(BufferId, bool)>, Fault> {
    check_axes(sweep)?;
    if let Some(narrow) = &sweep.narrow {
        check_choice(sweep, narrow)?;
    }
    let mut written = Vec::new();
    for own in body {
        let Some((window, output)) = window_of(sweep, own)? else { continue };
        let layout = layouts.get(window.buffer.0 as usize).ok_or(Fault::Reference)?;
        let along = rows(sweep, window, own, output)?;
        let all = WholeAxes::of(sweep, own, &along);
        if layout.dtype != own.dtype {
            return Err(Fault::Types);
        }
        if !layout.holds(Affine { offset: 0, extents: &all.0, strides: &own.strides }) {
            return Err(Fault::Bounds);
        }
        for other in others {
            check_other(sweep, own, &along, other, output)?;
        }
        if output {
            check_apart(sweep, window, own, &along, &all, layouts)?;
            written.push((window.buffer, all.0.iter().product::<usize>() == layout.len));
        }
    }
    for own in others.iter().flat_map(|other| other.layouts) {
        if window_of(sweep, own)?.is_some() && !body.iter().any(|whole| whole.place == own.place) {
            return Err(Fault::Reference);
        }
    }
    Ok(written)
}

/// The buffers of another body of a sweep.
pub(crate) struct Other<'a> {
    /// Its buffers.
    pub(crate) layouts: &'a [Layout],
    /// True if it is for blocks that are cut.
    pub(crate) short: bool,
}

/// Checks that each block along the last axis has a body, no other axis has blocks that are cut, and the buffers that
/// must be finite exist.
fn check_choice(sweep: &Sweep, narrow: &Narrow) -> Result<(), Fault> {
    let Some((last, axes)) = sweep.axes.split_last() else { return Err(Fault::Rank) };
    let whole = axes.iter().all(|axis| remainder(axis) == axis.block);
    if !whole || narrow.of_blocks.len() != last.blocks() {
        return Err(Fault::Bounds);
    }
    let body = narrow.of_blocks.iter().flatten().all(|&n| n < narrow.bodies.len());
    let inputs = narrow.finite_inputs.iter().all(|&n| n < sweep.inputs.len());
    let outputs = narrow.finite_outputs.iter().all(|&n| n < sweep.outputs.len());
    if body && inputs && outputs { Ok(()) } else { Err(Fault::Reference) }
}

/// Checks that blocks have rows, and are cut along one axis at most, if there is a body for that.
fn check_axes(sweep: &Sweep) -> Result<(), Fault> {
    if sweep.axes.iter().any(|a| a.block == 0 || a.block > a.extent) {
        return Err(Fault::Bounds);
    }
    let short = sweep.axes.iter().filter(|a| remainder(a) != a.block).count();
    let points = sweep.axes.iter().try_fold(1usize, |n, a| n.checked_mul(a.extent));
    match points {
        None => Err(Fault::TooLarge),
        Some(_) if short > 1 || (short == 1) != sweep.rest.is_some() => Err(Fault::Bounds),
        Some(_) => Ok(()),
    }
}

/// Rows of the last block.
fn remainder(axis: &SweepAxis) -> usize {
    match axis.extent % axis.block {
        0 => axis.block,
        rest => rest,
    }
}

/// The window of a body's buffer, and true if it is written.
fn window_of<'a>(sweep: &'a Sweep, own: &Layout) -> Result<Option<(&'a Window, bool)>, Fault> {
    let window = match own.place {
        Place::Temporary(_) => return Ok(None),
        Place::Input(n) => sweep.inputs.get(n).map(|window| (window, false)),
        Place::Output(n) => sweep.outputs.get(n).map(|window| (window, true)),
    };
    let (window, output) = window.ok_or(Fault::Reference)?;
    match window.strides.len() == sweep.axes.len() {
        true => Ok(Some((window, output))),
        false => Err(Fault::Rank),
    }
}

/// For each axis of the sweep, the axis of a window along the same rows; `None` if all blocks share the window.
fn rows(
    sweep: &Sweep,
    window: &Window,
    own: &Layout,
    output: bool,
) -> Result<Vec<Option<usize>>, Fault> {
    let mut along: Vec<Option<usize>> = Vec::new();
    for (axis, &stride) in sweep.axes.iter().zip(&window.strides) {
        let steps = |p: usize| own.strides[p] == stride && !along.contains(&Some(p));
        let all = 0..own.shape.len();
        let exact = all.clone().find(|&p| steps(p) && own.shape[p] == axis.block);
        let wider = |p: &usize| !output && steps(*p) && own.shape[*p] >= axis.block;
        let found = exact.or_else(|| all.clone().find(wider));
        if stride != 0 && found.is_none() {
            return Err(Fault::Bounds);
        }
        along.push(found.filter(|_| stride != 0));
    }
    Ok(along)
}

/// Shape of the union of all blocks' windows.
struct WholeAxes(Few<usize>);

impl WholeAxes {
    fn of(sweep: &Sweep, own: &Layout, along: &[Option<usize>]) -> Self {
        let mut shape = own.shape.clone();
        for (axis, p) in sweep.axes.iter().zip(along) {
            p.iter().for_each(|&p| shape[p] = shape[p].saturating_add(axis.extent - axis.block));
        }
        Self(shape)
    }
}

/// Checks that other bodies have the same windows, except the rows that blocks lack at the end. Windows that all blocks
/// share may be smaller.
fn check_other(
    sweep: &Sweep,
    own: &Layout,
    along: &[Option<usize>],
    other: &Other<'_>,
    output: bool,
) -> Result<(), Fault> {
    let mut shape = own.shape.clone();
    for (axis, p) in sweep.axes.iter().zip(along).filter(|_| other.short) {
        p.iter().for_each(|&p| shape[p] -= axis.block - remainder(axis));
    }
    let inside = |short: &Layout| match output {
        true => short.shape == shape,
        false => short.shape.iter().zip(&shape).all(|(n, most)| n <= most),
    };
    let same = |short: &&Layout| short.place == own.place;
    let fits = |short: &Layout| {
        short.shape.len() == shape.len()
            && short.strides == own.strides
            && short.dtype == own.dtype
            && inside(short)
    };
    if output && !other.layouts.iter().any(|layout| same(&layout)) {
        return Err(Fault::Reference);
    }
    if other.layouts.iter().filter(same).all(fits) { Ok(()) } else { Err(Fault::Bounds) }
}

/// Checks that blocks write disjoint elements, of a buffer without other windows.
fn check_apart(
    sweep: &Sweep,
    window: &Window,
    own: &Layout,
    along: &[Option<usize>],
    all: &WholeAxes,
    layouts: &[Layout],
) -> Result<(), Fault> {
    let layout = &layouts[window.buffer.0 as usize];
    if matches!(layout.place, Place::Input(_)) {
        return Err(Fault::WritesArgument);
    }
    let shared = sweep.axes.iter().zip(along).any(|(a, p)| a.blocks() > 1 && p.is_none());
    let distinct = all.0.iter().filter(|&&n| n > 1).count();
    if shared || separable(&all.0, &own.strides).len() != distinct {
        return Err(Fault::Overlap);
    }
    let others = sweep.inputs.iter().chain(sweep.outputs.iter().filter(|&w| w != window));
    for other in others {
        let other = layouts.get(other.buffer.0 as usize).ok_or(Fault::Reference)?;
        if other.overlaps(layout) {
            return Err(Fault::Overlap);
        }
    }
    let twice = sweep.outputs.iter().filter(|&w| w == window).count() > 1;
    if twice { Err(Fault::SharedResult) } else { Ok(()) }
}
