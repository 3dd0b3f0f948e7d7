//! Split of a long folded axis, for contractions with few blocks: parts of the axis are folded concurrently, into
//! blocks of their own, and these are folded in the end.
//!
//! The decision and the number of parts depend on extents and blocks alone, so that the bits of results do not depend
//! on the number of workers.

use super::{Expr, Kernel, Operand, Stage};
use crate::aggregation::Kind;
use crate::domain::{Affine, Points, StageAxis};
use crate::formula::Fold;
use crate::{Aggregation, Formula};
use ijk_types::Reducer;

/// Number of blocks that suffice for parallelism: parts would only take memory.
const ENOUGH: usize = 8;

/// Most blocks of parts.
const MOST_BLOCKS: usize = 64;

/// Fewest panels of a part.
const FEWEST: usize = 8;

/// Most bytes of parts.
const MOST_BYTES: f64 = (1u64 << 30) as f64;

/// Least ratio of the bytes that are read for a part to those of the part.
const READ: f64 = 8.0;

/// Parts of the first folded axis.
pub(super) struct Split {
    /// Number of blocks of a part.
    each: usize,
    /// Fold of the parts.
    fold: Fold,
}

/// The split of a stage, if it is worthwhile.
pub(super) fn parts(stage: &Stage) -> Option<Split> {
    let Kernel::Contract(by) = &stage.kernel else { return None };
    let &Kind::Fold(fold @ Fold::Reduce(Reducer::Monoid(_)), _) = &by.kind else { return None };
    let size = stage.out.element.number()?.size() as f64;
    let index = || stage.operands.iter().flat_map(|operand| &operand.index);
    if !stage.points.are_plain() || index().any(|affine| !affine.is_plain()) {
        return None;
    }
    let folded = stage.axes.get(stage.kept())?.blocks();
    let blocks = stage.blocks().max(1);
    let whole = |axis: &StageAxis| axis.range(0).len() as f64;
    let block = stage.axes[..stage.kept()].iter().map(whole).product::<f64>() * size;
    let read = |operand: &Operand| {
        let own = stage.axes.iter().enumerate().filter(|(axis, _)| operand.has(*axis));
        let element = operand.expr.element().number().map_or(1, |dtype| dtype.size()) as f64;
        own.map(|(_, axis)| whole(axis)).product::<f64>() * element
    };
    let panels = stage.panels() / folded.max(1);
    let read = stage.operands.iter().map(read).sum::<f64>() * panels as f64;
    let parts = (MOST_BLOCKS / blocks).min((MOST_BYTES / (block * blocks as f64)) as usize);
    let worth = (READ * block / read).ceil() as usize;
    let each = folded.div_ceil(parts.max(1)).max(FEWEST.div_ceil(panels.max(1))).max(worth);
    (blocks < ENOUGH && each <= folded / 2).then_some(Split { each, fold })
}

/// The stage that folds parts; `made` takes the stage that makes them, and returns its result.
pub(super) fn split(stage: Stage, parts: &Split, made: impl FnOnce(Stage) -> Expr) -> Stage {
    let (kept, out, identity) = (stage.kept(), stage.out.clone(), stage.identity.clone());
    let extent = stage.axes[kept].blocks().div_ceil(parts.each);
    let axis = StageAxis { name: "part".into(), extent, block: Some(1), folded: true };
    let axes = stage.axes[..kept].iter().cloned().chain([axis.clone()]).collect();
    let kernel = Kernel::Contract(Aggregation::of(parts.fold, Formula::variable(0)));
    let expr = made(in_parts(stage, StageAxis { folded: false, ..axis }, parts.each));
    let operand = Operand { expr, index: (0..=kept).map(Affine::axis).collect() };
    let (operands, points, split) = (vec![operand], Points::default(), None);
    Stage { axes, operands, kernel, points, out, identity, split }
}

/// The stage with an additional axis, of parts.
fn in_parts(mut stage: Stage, part: StageAxis, each: usize) -> Stage {
    let kept = stage.kept();
    let terms = stage.operands.iter_mut().flat_map(|operand| &mut operand.index);
    for (_, axis) in terms.flat_map(|affine| &mut affine.terms) {
        *axis += usize::from(*axis >= kept);
    }
    stage.out.dims.push(part.extent);
    stage.out.blocks.push(part.block);
    stage.axes.insert(kept, part);
    Stage { split: Some(each), ..stage }
}
