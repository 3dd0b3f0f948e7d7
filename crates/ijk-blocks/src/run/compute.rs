//! Blocks of a stage's output, panel by panel.

use super::kernel::Work;
use super::part::Part;
use super::read::{Reader, inputs, present};
use crate::aggregation::{Contracts, Extents, Kind};
use crate::formula::{Fold, Formula};
use crate::plan::{Kernel, Stage};
use crate::{Block, Error};
use ijk_types::{DType, Reducer};
use std::ops::Range;
use std::sync::Arc;

/// A stage with what its blocks are computed with.
pub(crate) struct Computer<'a> {
    pub(crate) stage: &'a Stage,
    pub(crate) reader: Reader<'a>,
}

impl Computer<'_> {
    /// What an operand has where the stage's axes have these positions, along the stage's axes.
    pub(crate) fn operand(
        &self,
        operand: usize,
        ranges: &[Range<usize>],
    ) -> Result<Option<Part>, Error> {
        let operand = &self.stage.operands[operand];
        let own: Vec<_> = operand.axes.iter().map(|&axis| ranges[axis].clone()).collect();
        let part = self.reader.region(&operand.expr, &own)?;
        Ok(part.map(|part| part.along(&operand.axes)))
    }

    /// Adds a panel to what a block of the output holds; `None` holds nothing yet.
    ///
    /// Panels come in ascending order. Those that cannot change the block are skipped.
    pub(crate) fn add(
        &self,
        before: Option<Arc<Block>>,
        parts: Vec<Option<Part>>,
        ranges: &[Range<usize>],
    ) -> Result<Option<Arc<Block>>, Error> {
        match &self.stage.kernel {
            Kernel::Copy => match parts.into_iter().next().flatten() {
                Some(part) => self.copied(part, ranges).map(Some),
                None => Ok(before),
            },
            Kernel::Contract(by) => {
                if self.is_skipped(&parts) {
                    return Ok(before);
                }
                let operands = parts.into_iter().zip(&self.stage.operands);
                let parts = operands.map(|(part, operand)| present(part, &operand.expr));
                let parts: Vec<Part> = parts.collect::<Result<_, _>>()?;
                match &by.kind {
                    Kind::Fold(Fold::Reduce(reducer), formula) => {
                        self.folded(before, &parts, ranges, (formula, *reducer)).map(Some)
                    }
                    Kind::Fold(Fold::Collect, formula) => {
                        let collect = super::collect::Collect { formula };
                        self.contracted(before, &parts, ranges, &collect).map(Some)
                    }
                    Kind::Closures(closures) => {
                        self.contracted(before, &parts, ranges, &**closures).map(Some)
                    }
                }
            }
        }
    }

    /// Whether a panel adds nothing, as a block of it is missing that annihilates.
    fn is_skipped(&self, parts: &[Option<Part>]) -> bool {
        let (Kernel::Contract(by), [left, right]) = (&self.stage.kernel, parts) else {
            return false;
        };
        let fill = |part: &Option<Part>, operand: usize| match part {
            Some(_) => None,
            None => self.stage.operands[operand].expr.fill()?.as_number(),
        };
        let (l, r) = (fill(left, 0), fill(right, 1));
        if l.is_none() && r.is_none() {
            return false;
        }
        let dtype = |operand: usize| self.stage.operands[operand].expr.element().number();
        let (Some(left), Some(right)) = (dtype(0), dtype(1)) else { return false };
        by.annihilates((left, right), l, r)
    }

    /// A part as a block of the output.
    fn copied(&self, part: Part, ranges: &[Range<usize>]) -> Result<Arc<Block>, Error> {
        let axes: Vec<usize> = (0..self.stage.kept()).collect();
        match part.as_block(&axes) {
            Some(block) => Ok(block),
            None => Ok(Arc::new(self.arranged(&part, &axes, ranges)?)),
        }
    }

    /// The elements of a part in the order of some axes of the stage.
    fn arranged(
        &self,
        part: &Part,
        axes: &[usize],
        ranges: &[Range<usize>],
    ) -> Result<Block, Error> {
        let extents: Vec<usize> = axes.iter().map(|&axis| ranges[axis].len()).collect();
        if let Some(lists) = part.arranged_lists(axes, &extents) {
            return Ok(Block::Lists(lists));
        }
        let place = |axis: &usize| axes.iter().position(|other| other == axis).unwrap_or_default();
        let own: Vec<usize> = part.axes.iter().map(place).collect();
        let Some(view) = part.numbers() else { return Ok((*part.dense()?).clone()) };
        let (of, kept) = (view.dtype(), axes.len());
        let work = Work {
            formula: self.reader.kernels.same(),
            extents: &extents,
            kept,
            reducer: None,
            of,
        };
        Ok(Block::Numbers(self.reader.kernels.compute(work, &[(view, &own)])?))
    }

    fn folded(
        &self,
        before: Option<Arc<Block>>,
        parts: &[Part],
        ranges: &[Range<usize>],
        (formula, reducer): (&Formula, Reducer),
    ) -> Result<Arc<Block>, Error> {
        let extents: Vec<usize> = ranges.iter().map(Range::len).collect();
        let of = self.stage.out.element.number().unwrap_or(DType::F64);
        let kept = self.stage.kept();
        let work = Work { formula, extents: &extents, kept, reducer: Some(reducer), of };
        let inputs = inputs(parts);
        match before.map(Arc::unwrap_or_clone) {
            Some(Block::Numbers(mut tensor)) => {
                self.reader.kernels.fold(work, &inputs, &mut tensor)?;
                Ok(Arc::new(Block::Numbers(tensor)))
            }
            _ => Ok(Arc::new(Block::Numbers(self.reader.kernels.compute(work, &inputs)?))),
        }
    }

    fn contracted(
        &self,
        before: Option<Arc<Block>>,
        parts: &[Part],
        ranges: &[Range<usize>],
        by: &dyn Contracts,
    ) -> Result<Arc<Block>, Error> {
        let kept = self.stage.kept();
        let own = |operand: usize| -> Vec<usize> {
            let axes = self.stage.operands[operand].axes.iter().copied();
            axes.filter(|&axis| axis < kept).collect()
        };
        let (mut rows, mut columns) = (own(0), own(1));
        rows.sort_unstable();
        columns.sort_unstable();
        let count = |axes: &[usize]| axes.iter().map(|&axis| ranges[axis].len()).product();
        let extents =
            Extents { rows: count(&rows), pairs: count(&[kept]), columns: count(&columns) };
        let shape: Vec<usize> = ranges[..kept].iter().map(Range::len).collect();
        let left = self.arranged(&parts[0], &[&rows[..], &[kept]].concat(), ranges)?;
        let right = self.arranged(&parts[1], &[&[kept], &columns[..]].concat(), ranges)?;
        let before = before.map(Arc::unwrap_or_clone);
        let block =
            super::guarded(&by.name(), || by.contract(before, &left, &right, extents, &shape))?;
        Ok(Arc::new(block))
    }
}
