//! Thresholds of the candidates of the tables of [`select`](crate::steps::select) that a step passed, or failed.

use super::{Reason, Relation, limit};
use crate::check::{CheckedNest, Layout, check_nest};
use crate::steps::{ExecutableStep, Program};
use ijk_kernels::tuning::order::{
    BRIEF_POINTS, BRIEF_PRODUCT_POINTS, DISJOINT_WINDOW_TAPS, SCATTER_SHORT_ROW,
    SHORT_AXES_BATCHED, SHORT_AXES_FEW, SHORT_AXES_FEW_STEPS, WINDOW_TAPS,
};
use ijk_kernels::tuning::time::PERMUTE_POINTS;
use ijk_plan::plan::{Contraction, Nest, Node, Role, Start};
use ijk_types::Reducer;

/// Reasons of a nest's kernel that follow from the nest. `least_row` is the least length of a row that is folded in
/// registers.
pub(super) fn nest_reasons(
    nest: &Nest,
    program: &Program,
    layouts: &[Layout],
    least_row: usize,
) -> Vec<Reason> {
    let Ok(checked) = check_nest(nest, layouts) else { return Vec::new() };
    let all = match program {
        Program::Pair(_) => [brief(nest, &checked), None, None],
        Program::Nest(_) => [
            too_many_taps(nest, &checked).or_else(|| fold_length(nest, &checked, least_row)),
            short_rows(nest, &checked),
            small_permutation(nest, &checked),
        ],
        _ => [None, None, None],
    };
    all.into_iter().flatten().collect()
}

/// Reasons of a contraction's kernel that follow from the contraction.
pub(super) fn contraction_reasons(task: &Contraction, program: &Program) -> Vec<Reason> {
    let [batch, m, n, k] =
        [Role::Batch, Role::M, Role::N, Role::K].map(|role| task.extent(role) as usize);
    let few = m.min(n) <= SHORT_AXES_FEW as usize && k <= SHORT_AXES_FEW_STEPS as usize;
    match program {
        Program::Contract(_) | Program::Grouped(_) => Vec::new(),
        Program::Pair(_) if few => {
            let thin = ("the smaller of m and n", m.min(n));
            let then = "packing does not pay";
            vec![
                Reason::compared(thin, Relation::AtMost, limit!(SHORT_AXES_FEW), ""),
                Reason::compared(("k", k), Relation::AtMost, limit!(SHORT_AXES_FEW_STEPS), then),
            ]
        }
        Program::Pair(_) if batch > 1 && m.max(n).max(k) > SHORT_AXES_BATCHED as usize => {
            let text = "only batches are contiguous to each other: packing would read and write each element alone";
            vec![Reason::plain(text)]
        }
        Program::Pair(_) if batch > 1 => {
            let largest = ("the largest of m, n and k", m.max(n).max(k));
            let then = "packing does not pay for batches of such matrices";
            vec![Reason::compared(largest, Relation::AtMost, limit!(SHORT_AXES_BATCHED), then)]
        }
        Program::Folds(_) => vec![Reason::plain("m or n is 1: dot products of rows")],
        _ if Contraction::supports(task.dtype, (task.map, task.then), task.reduce) => {
            let text = match m.max(n) == 1 && task.is_product_sum() {
                true => {
                    "m = n = 1, and no axis of k continues another in both operands: tiles are rows of k, or \
                     transpose an operand"
                }
                false => "m or n is 1: packing does not pay, and tiles combine values in registers",
            };
            vec![Reason::plain(text)]
        }
        program => vec![Reason::plain(format!(
            "no microkernel of contractions has this type and these operators, so a {} computes each product",
            program.name()
        ))],
    }
}

/// A nest that is too small for tiles.
fn brief(nest: &Nest, checked: &CheckedNest) -> Option<Reason> {
    let points = ("points", checked.extents.iter().product::<usize>());
    let limit = match nest.reduce.is_some() && nest.loads.len() > 1 {
        true => limit!(BRIEF_PRODUCT_POINTS),
        false => limit!(BRIEF_POINTS),
    };
    let then = "the setup of tiles would not pay";
    (points.1 <= limit.1).then(|| Reason::compared(points, Relation::AtMost, limit, then))
}

/// A reduction over windows with too many taps.
fn too_many_taps(nest: &Nest, checked: &CheckedNest) -> Option<Reason> {
    let operands = !nest.loads.is_empty()
        && nest.loads.len() <= 2
        && matches!(nest.body.last(), Some(Node::Load(_) | Node::Binary(..)));
    if !operands || !matches!(nest.reduce, Some(Reducer::Monoid(_))) || nest.store.offset.is_some()
    {
        return None;
    }
    let axes = |reduced: bool| {
        (0..nest.axes.len())
            .filter(move |&a| nest.axes[a].reduced == reduced && checked.extents[a] > 1)
    };
    let taps: usize = axes(true).map(|a| checked.extents[a]).product();
    let overlap = nest.loads.iter().any(|load| {
        let step = |a: usize| load.strides[a].unsigned_abs();
        axes(false).any(|p| {
            axes(true).any(|k| {
                let reach = step(k) * (checked.extents[k] - 1);
                step(p) > 0 && step(k) > 0 && step(p) <= reach && step(p).is_multiple_of(step(k))
            })
        })
    });
    let limit = if overlap { limit!(WINDOW_TAPS) } else { limit!(DISJOINT_WINDOW_TAPS) };
    let rows = axes(false).any(|a| nest.store.strides[a] == 1);
    let then = "they are reduced in tiles, not as the taps of a window";
    if !overlap && taps > 4 * DISJOINT_WINDOW_TAPS {
        return None;
    }
    (rows && taps > limit.1).then(|| Reason::compared(("taps", taps), Relation::Above, limit, then))
}

/// Rows that are too short to be folded in registers.
fn fold_length(nest: &Nest, checked: &CheckedNest, least_row: usize) -> Option<Reason> {
    let folded = (0..nest.axes.len()).filter(|&a| nest.axes[a].reduced);
    let dense = |a: usize| nest.loads.first().is_some_and(|load| load.strides[a] == 1);
    let folds = matches!(nest.reduce, Some(Reducer::Monoid(_)))
        && nest.start == Start::Covered
        && nest.store.offset.is_none()
        && folded.clone().any(|a| dense(a) && checked.extents[a] > 1);
    let length = ("the row", folded.map(|a| checked.extents[a]).product::<usize>());
    let then = "it is reduced in tiles, not by a fold in registers";
    (folds && length.1 < least_row)
        .then(|| Reason::compared(length, Relation::Below, ("least_row", least_row), then))
}

/// A combination with existing elements along rows that are too short.
fn short_rows(nest: &Nest, checked: &CheckedNest) -> Option<Reason> {
    let combines = nest.start == Start::Existing
        && matches!(nest.body[..], [Node::Load(_)])
        && nest.store.offset.is_none()
        && !nest.sequential
        && (0..nest.axes.len()).any(|a| checked.extents[a] > 1 && !checked.separable.contains(&a));
    let longest = checked.extents.iter().copied().max().unwrap_or(0);
    let then = "rows are too short to fill vectors";
    (combines && longest < SCATTER_SHORT_ROW).then(|| {
        let limit = limit!(SCATTER_SHORT_ROW);
        Reason::compared(("the longest row", longest), Relation::Below, limit, then)
    })
}

/// A permutation that is too small for blocks.
fn small_permutation(nest: &Nest, checked: &CheckedNest) -> Option<Reason> {
    let ([Node::Load(0)], [load], None) = (&nest.body[..], &nest.loads[..], nest.reduce) else {
        return None;
    };
    let along = |strides: &[isize]| {
        (0..nest.axes.len()).find(|&a| strides[a] == 1 && checked.extents[a] > 1)
    };
    let permutes = nest.store.offset.is_none()
        && along(&nest.store.strides).is_some()
        && along(&load.strides).is_some_and(|a| along(&nest.store.strides) != Some(a));
    let points = ("elements", checked.extents.iter().product::<usize>());
    let then = "loops copy them faster than blocks of cache lines";
    (permutes && points.1 < PERMUTE_POINTS)
        .then(|| Reason::compared(points, Relation::Below, limit!(PERMUTE_POINTS), then))
}
