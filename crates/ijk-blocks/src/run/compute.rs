//! Blocks of a stage's output, panel by panel.

use super::facts::Origin;
use super::kernel::{KernelInput, Target, Work};
use super::part::Part;
use super::read::{KnownValues, Reader, present};
use super::skips::{PartState, Skips, Verdict};
use crate::aggregation::{Contracts, Extents, Kind};
use crate::domain::{Affine, Coordinates};
use crate::formula::{Fold, Formula, ValueSet};
use crate::plan::{Expr, Kernel, Operand, Stage};
use crate::{Block, Error, Value};
use ijk_types::{DType, Reducer};
use std::ops::Range;
use std::sync::Arc;

/// A stage with the context of its computation.
pub(crate) struct Computer<'a> {
    pub(crate) stage: &'a Stage,
    pub(crate) reader: Reader<'a>,
    pub(crate) skips: &'a Skips,
}

/// A part of an operand, and the affine map of points of the stage to its elements.
struct Placed {
    part: Part,
    /// For each axis of the part's block.
    index: Vec<Affine>,
}

impl Computer<'_> {
    /// Part of an operand for these ranges of the stage's axes.
    pub(crate) fn operand(
        &self,
        operand: usize,
        ranges: &[Range<usize>],
    ) -> Result<Option<Part>, Error> {
        self.reader.kernels.goes_on()?;
        let operand = &self.stage.operands[operand];
        self.reader.region(&operand.expr, &operand.ranges(ranges))
    }

    /// Asks for the part of an operand that is read soon.
    pub(crate) fn request(&self, operand: usize, ranges: &[Range<usize>]) -> Result<(), Error> {
        let operand = &self.stage.operands[operand];
        self.reader.request(&operand.expr, &operand.ranges(ranges))
    }

    /// Asks for the parts of a panel, unless it is known to add nothing.
    pub(crate) fn request_all(&self, ranges: &[Range<usize>]) -> Result<(), Error> {
        if self.is_known_to_add_nothing(ranges) {
            return Ok(());
        }
        (0..self.stage.operands.len()).try_for_each(|n| self.request(n, ranges))
    }

    /// Returns true if a part can be read without waiting for what was asked for.
    pub(crate) fn is_there(&self, operand: usize, ranges: &[Range<usize>]) -> bool {
        let operand = &self.stage.operands[operand];
        self.reader.is_there(&operand.expr, &operand.ranges(ranges))
    }

    /// Ends the transfer of a part that was asked for, and is of no use.
    pub(crate) fn forget(&self, operand: usize, ranges: &[Range<usize>]) {
        let operand = &self.stage.operands[operand];
        self.reader.forget(&operand.expr, &operand.ranges(ranges));
    }

    /// The parts of a panel; none where it is known to add nothing before they are read.
    pub(crate) fn parts(
        &self,
        ranges: &[Range<usize>],
    ) -> Result<Option<Vec<Option<Part>>>, Error> {
        if self.is_known_to_add_nothing(ranges) {
            (0..self.stage.operands.len()).for_each(|n| self.forget(n, ranges));
            return Ok(None);
        }
        let parts = (0..self.stage.operands.len()).map(|n| self.operand(n, ranges));
        parts.collect::<Result<_, _>>().map(Some)
    }

    /// Returns true if a panel adds nothing, by facts known before its parts are read.
    fn is_known_to_add_nothing(&self, ranges: &[Range<usize>]) -> bool {
        let operands = self.stage.operands.iter();
        let known = |operand: &Operand| self.reader.known(&operand.expr, &operand.ranges(ranges));
        self.adds_nothing(&operands.map(known).collect::<Vec<_>>())
    }

    /// Returns true if an operand's part adds nothing where all others are missing, by facts known before it is read.
    pub(crate) fn is_known_to_be_harmless(&self, operand: usize, ranges: &[Range<usize>]) -> bool {
        let mut known = vec![None; self.stage.operands.len()];
        let of = &self.stage.operands[operand];
        known[operand] = self.reader.known(&of.expr, &of.ranges(ranges));
        self.adds_nothing(&known)
    }

    fn adds_nothing(&self, known: &[Option<KnownValues>]) -> bool {
        let state = |known: &Option<KnownValues>| match known {
            None => PartState::Missing,
            Some(_) => PartState::Present,
        };
        let states: Vec<PartState> = known.iter().map(state).collect();
        match self.skips.verdict(&states) {
            Verdict::Always => true,
            Verdict::Never => false,
            Verdict::Depends => {
                let of = |(n, known): (usize, &Option<KnownValues>)| match known {
                    None => Some(self.skips.missing(n)),
                    Some(KnownValues::In(values)) => Some(*values),
                    Some(KnownValues::Nothing) => None,
                };
                let all: Option<Vec<ValueSet>> = known.iter().enumerate().map(of).collect();
                all.is_some_and(|all| self.skips.holds(&all))
            }
        }
    }

    /// Returns true if an operand is one block that adds nothing where all others are missing.
    pub(crate) fn is_harmless(&self, operand: usize) -> Result<bool, Error> {
        let Expr::Leaf(leaf) = &self.stage.operands[operand].expr else { return Ok(false) };
        let ty = &self.reader.arrays[leaf.array].ty;
        let at = vec![0; ty.rank()];
        if Coordinates::count(&ty.grid()) != 1 {
            return Ok(false);
        }
        let Some(block) = self.reader.read(leaf.array, &at)? else { return Ok(false) };
        let window = crate::wire::whole(block.shape());
        let origin = Origin::block(leaf.array, &at, &window);
        let part = Part::new(block, window, (0..ty.rank()).collect()).from(origin);
        let values = |n: usize| match n == operand {
            true => self.reader.facts.of(&part),
            false => self.skips.missing(n),
        };
        let all = (0..self.stage.operands.len()).map(values);
        Ok(self.skips.holds(&all.collect::<Vec<_>>()))
    }

    /// Adds a panel to a block of the output; `None` is a block to which nothing was added.
    ///
    /// Panels come in ascending order. Those that cannot change the block are skipped.
    pub(crate) fn add(
        &self,
        before: Option<Arc<Block>>,
        parts: Vec<Option<Part>>,
        ranges: &[Range<usize>],
    ) -> Result<Option<Arc<Block>>, Error> {
        if self.stage.misses(ranges) || self.skips.skips(&parts, self.reader.facts) {
            return Ok(before);
        }
        self.reader.kernels.goes_on()?;
        let parts = self.placed(parts, ranges)?;
        let block = match &self.stage.kernel {
            Kernel::Copy => self.copied(&parts[0], ranges),
            Kernel::Map(formula) => self.folded(before, &parts, ranges, formula, None),
            Kernel::Contract(by) => match &by.kind {
                Kind::Fold(Fold::Reduce(reducer), formula) => {
                    self.folded(before, &parts, ranges, formula, Some(*reducer))
                }
                Kind::Fold(Fold::Collect, formula) => {
                    self.contracted(before, &parts, ranges, &super::collect::Collect { formula })
                }
                Kind::Closures(closures) => self.contracted(before, &parts, ranges, &**closures),
            },
        };
        block.map(Some)
    }

    /// Parts, filled where they are missing, with their affine maps.
    fn placed(
        &self,
        parts: Vec<Option<Part>>,
        ranges: &[Range<usize>],
    ) -> Result<Vec<Placed>, Error> {
        let operands = parts.into_iter().zip(&self.stage.operands);
        let placed = operands.map(|(part, operand)| {
            let part = match part {
                // The skipped points depend on the end of a part.
                None if operand.skips() => {
                    let shape: Vec<usize> = operand.ranges(ranges).iter().map(Range::len).collect();
                    let fill = operand.expr.fill();
                    let fill = fill.unwrap_or_else(|| Value::zero(&operand.expr.element()));
                    Part::whole(Block::full(&fill, &shape)?, (0..shape.len()).collect())
                }
                part => present(part, &operand.expr)?,
            };
            let index = part.axes.iter().map(|&axis| operand.index[axis].within(ranges)).collect();
            Ok(Placed { part, index })
        });
        placed.collect()
    }

    /// A part as a block of the output.
    fn copied(&self, placed: &Placed, ranges: &[Range<usize>]) -> Result<Arc<Block>, Error> {
        let axes: Vec<usize> = (0..self.stage.kept()).collect();
        match placed.part.as_block(&axes) {
            Some(block) => Ok(block),
            None => Ok(Arc::new(self.arranged(placed, &axes, ranges)?)),
        }
    }

    /// The elements of a part in the order of some axes of the stage, along which it is read.
    fn arranged(
        &self,
        Placed { part, index }: &Placed,
        axes: &[usize],
        ranges: &[Range<usize>],
    ) -> Result<Block, Error> {
        let extents: Vec<usize> = axes.iter().map(|&axis| ranges[axis].len()).collect();
        let place = |affine: &Affine| {
            let own = affine.as_axis();
            axes.iter().position(|&axis| Some(axis) == own).unwrap_or_default()
        };
        let places: Vec<usize> = index.iter().map(place).collect();
        if let Some(lists) = part.arranged_lists(&places, &extents) {
            return Ok(Block::Lists(lists));
        }
        let Some(view) = part.numbers() else { return Ok((*part.dense()?).clone()) };
        let (of, kept) = (view.dtype(), axes.len());
        let formula = self.reader.kernels.same();
        let work = Work { formula, extents: &extents, kept, reducer: None, of, target: None };
        let index = places.into_iter().map(Affine::axis).collect();
        Ok(Block::Numbers(self.reader.kernels.compute(work, &[(view, index)])?))
    }

    fn folded(
        &self,
        before: Option<Arc<Block>>,
        parts: &[Placed],
        ranges: &[Range<usize>],
        formula: &Formula,
        reducer: Option<Reducer>,
    ) -> Result<Arc<Block>, Error> {
        let extents = ranges.iter().enumerate().map(|(n, range)| self.stage.extent(n, range.len()));
        let extents: Vec<usize> = extents.collect();
        let of = self.stage.out.element.number().unwrap_or(DType::F64);
        let (kept, target) = (self.stage.kept(), self.target(ranges));
        let work = Work { formula, extents: &extents, kept, reducer, of, target: target.as_ref() };
        let inputs = parts.iter().filter_map(|placed| {
            let index = placed.index.clone();
            placed.part.numbers().map(|view| (view, index))
        });
        let inputs: Vec<KernelInput> = inputs.collect();
        match before.map(Arc::unwrap_or_clone) {
            Some(Block::Numbers(mut tensor)) => {
                self.reader.kernels.fold(work, &inputs, &mut tensor)?;
                Ok(Arc::new(Block::Numbers(tensor)))
            }
            _ => Ok(Arc::new(Block::Numbers(self.reader.kernels.compute(work, &inputs)?))),
        }
    }

    /// Positions in a block of the output at which points write, if they are computed.
    fn target(&self, ranges: &[Range<usize>]) -> Option<Target> {
        let points = &self.stage.points;
        if points.are_plain() {
            return None;
        }
        let kept = 0..self.stage.kept();
        let mut writes: Vec<Affine> = kept.clone().map(Affine::axis).collect();
        for (axis, at) in &points.writes {
            writes[*axis] = at.from(ranges[*axis].start, ranges);
        }
        let guard = |at: &Affine| (at.within(ranges), at.range(ranges).len());
        let guards = points.guards.iter().map(guard).collect();
        Some(Target { shape: kept.map(|axis| ranges[axis].len()).collect(), writes, guards })
    }

    fn contracted(
        &self,
        before: Option<Arc<Block>>,
        parts: &[Placed],
        ranges: &[Range<usize>],
        by: &dyn Contracts,
    ) -> Result<Arc<Block>, Error> {
        let kept = self.stage.kept();
        let own = |operand: usize| -> Vec<usize> {
            (0..kept).filter(|&axis| self.stage.operands[operand].has(axis)).collect()
        };
        let (rows, columns) = (own(0), own(1));
        let count = |axes: &[usize]| axes.iter().map(|&axis| ranges[axis].len()).product();
        let extents =
            Extents { rows: count(&rows), pairs: count(&[kept]), columns: count(&columns) };
        let shape: Vec<usize> = ranges[..kept].iter().map(Range::len).collect();
        let left = self.arranged(&parts[0], &[&rows[..], &[kept]].concat(), ranges)?;
        let right = self.arranged(&parts[1], &[&[kept], &columns[..]].concat(), ranges)?;
        let before = before.map(Arc::unwrap_or_clone);
        let contract = || by.contract(before, &left, &right, extents, &shape);
        Ok(Arc::new(super::guarded(&by.name(), contract)?))
    }
}
