//! Regions of expressions: reads their arrays and evaluates them element by element.

use super::facts::{Facts, Origin};
use super::kernel::{KernelInput, Kernels, Work};
use super::part::{Part, assign};
use super::requests::Requests;
use super::skips::is_expression_fill;
use crate::domain::{Affine, Coordinates};
use crate::formula::ValueSet;
use crate::plan::{Array, Expr, Leaf, Run};
use crate::store::{Source, together};
use crate::{Block, Error, Formula, Value};
use ijk_types::DType;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Context for computing regions.
pub(crate) struct Reader<'a> {
    pub(crate) arrays: &'a [Array],
    /// For each array, the source of its blocks.
    pub(crate) stores: &'a [Arc<dyn Source>],
    pub(crate) kernels: &'a Kernels,
    /// Facts about blocks that were read.
    pub(crate) facts: &'a Facts,
    /// For each array, its existing blocks, listed on demand.
    pub(crate) present: &'a [Present],
    /// For each array, the blocks that were asked for.
    pub(crate) requests: &'a [Requests],
    /// Elements are assumed finite unless known otherwise.
    pub(crate) finite: bool,
}

/// The existing blocks of an array, once listed; none where all may exist.
pub(crate) type Present = OnceLock<Option<HashSet<Vec<usize>>>>;

/// Facts about elements before they are read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KnownValues {
    Nothing,
    In(ValueSet),
}

/// The runs of an axis of an array in one block.
struct BlockRuns {
    block: usize,
    runs: Vec<Run>,
}

impl Reader<'_> {
    /// The elements of an expression at positions of its axes; `None` where all blocks that they come from are missing,
    /// and all of them are the expression's fill.
    pub(crate) fn region(
        &self,
        expr: &Expr,
        ranges: &[Range<usize>],
    ) -> Result<Option<Part>, Error> {
        match expr {
            Expr::Leaf(leaf) => self.leaf(leaf, ranges),
            Expr::Formula { formula, operands, of, .. } => {
                let parts = operands.iter().map(|operand| self.region(operand, ranges));
                let parts: Vec<Option<Part>> = parts.collect::<Result<_, _>>()?;
                if is_expression_fill(expr, &parts, self.facts, self.finite) {
                    return Ok(None);
                }
                let doubtful = parts.iter().any(|part| part.as_ref().is_none_or(Part::is_doubtful));
                let part = self.formula(formula, operands, parts, ranges, *of)?;
                let part = part.from(Origin::region(expr, ranges));
                Ok(Some(if doubtful { part.doubted() } else { part }))
            }
            Expr::Closure { closure, operand, .. } => {
                let part = self.region(operand, ranges)?;
                let part = present(part, operand)?;
                let block = super::guarded(&closure.0.name(), || closure.0.apply(&*part.dense()?))?;
                Ok(Some(Part::whole(block, part.axes)))
            }
        }
    }

    fn leaf(&self, leaf: &Leaf, ranges: &[Range<usize>]) -> Result<Option<Part>, Error> {
        let ty = &self.arrays[leaf.array].ty;
        let axes: Vec<usize> = leaf.axes.iter().map(|(axis, _)| *axis).collect();
        let runs =
            leaf.axes.iter().enumerate().map(|(n, (axis, along))| {
                along.runs(ranges[*axis].clone(), ty.dims[n], ty.blocks[n])
            });
        let runs: Vec<Vec<Run>> = runs.collect();
        let shape: Vec<usize> = axes.iter().map(|&axis| ranges[axis].len()).collect();
        if shape.contains(&0) {
            let zero = Value::zero(&leaf.element);
            return Ok(Some(Part::whole(Block::full(&zero, &shape)?, axes)));
        }
        let one: Option<Vec<&Run>> = runs
            .iter()
            .map(|runs| <&[Run; 1]>::try_from(&runs[..]).ok().map(|[run]| run))
            .collect();
        let Some(one) = one else { return self.assembled(leaf, &runs, &shape, axes) };
        let at: Vec<usize> = one.iter().map(|run| run.block).collect();
        let window: Vec<_> = one.iter().map(|run| run.within.clone()).collect();
        let Some(block) = self.read(leaf.array, &at)? else { return Ok(None) };
        let origin = Origin::block(leaf.array, &at, &window);
        Ok(Some(Part::new(block, window, axes).from(origin)))
    }

    /// A region of several pieces.
    fn assembled(
        &self,
        leaf: &Leaf,
        runs: &[Vec<Run>],
        shape: &[usize],
        axes: Vec<usize>,
    ) -> Result<Option<Part>, Error> {
        let groups: Vec<Vec<BlockRuns>> = runs.iter().map(|runs| grouped(runs)).collect();
        let counts: Vec<usize> = groups.iter().map(Vec::len).collect();
        let mut all: Option<Block> = None;
        for at in Coordinates::all(&counts) {
            let here: Vec<&BlockRuns> =
                at.iter().zip(&groups).map(|(&n, groups)| &groups[n]).collect();
            let place: Vec<usize> = here.iter().map(|group| group.block).collect();
            let Some(block) = self.read(leaf.array, &place)? else { continue };
            if all.is_none() {
                let fill = leaf.fill.clone().unwrap_or_else(|| Value::zero(&leaf.element));
                all = Some(Block::full(&fill, shape)?);
            }
            let Some(all) = &mut all else { continue };
            let counts: Vec<usize> = here.iter().map(|group| group.runs.len()).collect();
            for at in Coordinates::all(&counts) {
                let runs = at.iter().zip(&here).map(|(&n, group)| &group.runs[n]);
                let (to, from): (Vec<usize>, Vec<Range<usize>>) =
                    runs.map(|run| (run.at, run.within.clone())).unzip();
                assign(all, &to, &block, &from);
            }
        }
        Ok(all.map(|block| Part::whole(block, axes)))
    }

    /// The existing blocks of an array, if they can be listed.
    pub(crate) fn present(&self, array: usize) -> Result<Option<&HashSet<Vec<usize>>>, Error> {
        let present = &self.present[array];
        if let Some(known) = present.get() {
            return Ok(known.as_ref());
        }
        let found = self.stores[array].present()?;
        let found = found.map(|blocks| blocks.into_iter().collect());
        Ok(present.get_or_init(|| found).as_ref())
    }

    /// Lists the blocks of the arrays of some expressions that are far away, of all arrays at a time.
    pub(crate) fn list<'b>(&self, exprs: impl Iterator<Item = &'b Expr>) -> Result<(), Error> {
        let mut far: Vec<usize> = exprs
            .flat_map(|expr| expr.leaves())
            .map(|leaf| leaf.array)
            .filter(|&array| self.stores[array].is_far())
            .collect();
        far.sort_unstable();
        far.dedup();
        let listed = together::each(true, &far, |&array| self.present(array).map(drop));
        listed.into_iter().collect()
    }

    /// Returns true if a block is known to be missing.
    pub(crate) fn is_missing(&self, array: usize, at: &[usize]) -> bool {
        self.present[array]
            .get()
            .is_some_and(|known| known.as_ref().is_some_and(|present| !present.contains(at)))
    }

    /// Facts, before anything is read, about the elements of an expression at positions of its axes: none where all
    /// blocks that they come from are known to be missing.
    pub(crate) fn known(&self, expr: &Expr, ranges: &[Range<usize>]) -> Option<KnownValues> {
        let of = |leaf: &Leaf| -> Option<KnownValues> {
            let ty = &self.arrays[leaf.array].ty;
            let runs = leaf.axes.iter().enumerate();
            let runs = runs.map(|(n, (axis, along))| {
                along.runs(ranges[*axis].clone(), ty.dims[n], ty.blocks[n])
            });
            let runs: Vec<Vec<Run>> = runs.collect();
            if runs.iter().any(Vec::is_empty) {
                return Some(KnownValues::Nothing);
            }
            let counts: Vec<usize> = runs.iter().map(Vec::len).collect();
            let block = |n: &[usize]| -> Vec<usize> {
                n.iter().zip(&runs).map(|(&n, runs)| runs[n].block).collect()
            };
            let is_there = |n: &[usize]| !self.is_missing(leaf.array, &block(n));
            if !Coordinates::all(&counts).any(|n| is_there(&n)) {
                return None;
            }
            let one: Option<Vec<&Run>> = runs
                .iter()
                .map(|runs| <&[Run; 1]>::try_from(&runs[..]).ok().map(|[run]| run))
                .collect();
            let origin = one.map(|one| {
                let at: Vec<usize> = one.iter().map(|run| run.block).collect();
                let window: Vec<_> = one.iter().map(|run| run.within.clone()).collect();
                Origin::block(leaf.array, &at, &window)
            });
            Some(origin.map_or(KnownValues::Nothing, |origin| self.remembered(&origin)))
        };
        match expr {
            Expr::Leaf(leaf) => of(leaf),
            _ if expr.fill().is_none() => Some(KnownValues::Nothing),
            _ => {
                let is_there = expr.leaves().into_iter().any(|leaf| of(leaf).is_some());
                is_there.then(|| self.remembered(&Origin::region(expr, ranges)))
            }
        }
    }

    fn remembered(&self, origin: &Origin) -> KnownValues {
        self.facts.get(origin).map_or(KnownValues::Nothing, KnownValues::In)
    }

    /// A block of an array, checked for its shape and type.
    pub(crate) fn read(&self, array: usize, at: &[usize]) -> Result<Option<Arc<Block>>, Error> {
        if self.is_missing(array, at) {
            return Ok(None);
        }
        let (ty, store) = (&self.arrays[array].ty, &self.stores[array]);
        let block = match self.requests[array].take(at) {
            Some(incoming) => incoming.block()?,
            None => store.read(at)?,
        };
        let Some(block) = block else { return Ok(None) };
        let (shape, found) = (ty.block_shape(at), block.shape());
        if found != shape || block.element_type() != ty.element {
            let element = block.element_type();
            let cause =
                format!("it is {found:?} of {element}, and should be {shape:?} of {}", ty.element);
            return Err(crate::StoreError::of_block(&store.name(), at, cause).into());
        }
        Ok(Some(block))
    }

    fn formula(
        &self,
        formula: &Formula,
        operands: &[Expr],
        parts: Vec<Option<Part>>,
        ranges: &[Range<usize>],
        of: DType,
    ) -> Result<Part, Error> {
        let parts = parts.into_iter().zip(operands).map(|(part, operand)| present(part, operand));
        let parts: Vec<Part> = parts.collect::<Result<_, _>>()?;
        let extents: Vec<usize> = ranges.iter().map(Range::len).collect();
        let kept = extents.len();
        let work = Work { formula, extents: &extents, kept, reducer: None, of, target: None };
        let own = |part: &Part| part.axes.iter().map(|&axis| Affine::axis(axis)).collect();
        let inputs: Vec<KernelInput> =
            parts.iter().filter_map(|part| Some((part.numbers()?, own(part)))).collect();
        let tensor = self.kernels.compute(work, &inputs)?;
        Ok(Part::whole(Block::Numbers(tensor), (0..kept).collect()))
    }
}

/// A region of an expression, filled where it is missing.
pub(crate) fn present(part: Option<Part>, of: &Expr) -> Result<Part, Error> {
    match part {
        Some(part) => Ok(part),
        None => {
            let fill = of.fill().unwrap_or_else(|| Value::zero(&of.element()));
            Ok(Part::everywhere(&fill)?)
        }
    }
}

/// Runs by their blocks, in order of first occurrence.
fn grouped(runs: &[Run]) -> Vec<BlockRuns> {
    let mut groups: Vec<BlockRuns> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for run in runs {
        let place = *places.entry(run.block).or_insert_with(|| {
            groups.push(BlockRuns { block: run.block, runs: Vec::new() });
            groups.len() - 1
        });
        groups[place].runs.push(run.clone());
    }
    groups
}
