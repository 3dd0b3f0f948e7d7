//! Index statements over block tensors: the common form of `einsum` and programs in i.

mod einsum;
mod fit;
mod program;

pub use program::{apply, apply_instance, apply_program};

use crate::domain::{Affine, Points, StageAxis};
use crate::types::compatible;
use crate::{BigTensor, Formula, Problem, Type, TypeError};
use ijk_types::Reducer;
use std::borrow::Cow;

/// At each point of some axes, maps the operands' elements, and folds along the last axes.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    /// Name in printed terms: `einsum(ij,jk->ik)`.
    pub(crate) name: String,
    /// Axes of the result, in its order, then those that are folded.
    pub(crate) axes: Vec<StageAxis>,
    /// For each operand, the map of points to positions on each of its axes.
    pub(crate) index: Vec<Vec<Affine>>,
    /// The operands' types.
    pub(crate) types: Vec<Type>,
    /// Map of an element of each operand.
    pub(crate) formula: Formula,
    /// Fold; none where the result has all axes.
    pub(crate) reducer: Option<Reducer>,
    /// Computed output positions, and conditions on points.
    pub(crate) points: Points,
}

/// Names of operands in messages.
const NAMES: [&str; 6] = ["u", "v", "w", "x", "y", "z"];

/// Name of an operand in messages.
fn name(operand: usize) -> Cow<'static, str> {
    NAMES.get(operand).copied().unwrap_or("an operand").into()
}

/// Operands in messages: their names and types.
type OperandTypes = Vec<(Cow<'static, str>, Type)>;

/// An axis of an operand, and its blocks.
#[derive(Clone, Copy, Debug)]
struct AxisUse {
    operand: usize,
    axis: usize,
    block: Option<usize>,
}

/// The block of an index that is an axis of several operands, if they are compatible.
fn common_block(
    rule: &str,
    index: &str,
    places: &[AxisUse],
    operands: &OperandTypes,
) -> Result<Option<usize>, Box<TypeError>> {
    let mut first: Option<AxisUse> = None;
    for &place in places {
        let Some(met) = first.filter(|met| met.block.is_some()) else {
            first = Some(place);
            continue;
        };
        if compatible(met.block, place.block).is_none() {
            let name = |met: AxisUse| operands[met.operand].0.clone();
            let places = [met, place].map(|met| (name(met), met.axis, met.block));
            let problem = Problem::Index { index: index.into(), places };
            let mut blocks = operands[place.operand].1.blocks.clone();
            blocks[place.axis] = met.block;
            let hint = crate::error::reblock_hint(&name(place), &blocks);
            return Err(TypeError::named(rule, operands.clone(), problem).with_hint(hint));
        }
    }
    Ok(first.and_then(|met| met.block))
}

/// The operands of a rule, as its messages show them.
fn types(operands: &[&BigTensor]) -> OperandTypes {
    operands.iter().enumerate().map(|(n, of)| (name(n), of.ty().clone())).collect()
}
