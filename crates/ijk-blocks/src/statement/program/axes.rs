//! Axes of a statement with their blocks, and checks that it can run on them.

use super::builder::{Read, TermBuilder};
use crate::domain::{Affine, Points, StageAxis};
use crate::statement::{AxisUse, common_block};
use crate::{Error, Problem, TypeError};
use ijk_ir::core::Init;
use ijk_types::Reducer;

impl TermBuilder<'_> {
    /// Checks that axes read at positions from arrays are whole.
    pub(super) fn check_gathers(&self) -> Result<(), Error> {
        for Read { tensor, index, name, .. } in &self.reads {
            for (axis, affine) in index.iter().enumerate() {
                let Some(block) = tensor.ty().blocks[axis] else { continue };
                if affine.gathers().is_empty() {
                    continue;
                }
                let why = format!(
                    "axis {axis} of {name} is read at positions from an array, but has blocks of {block}",
                );
                let mut blocks = tensor.ty().blocks.clone();
                blocks[axis] = None;
                let problem = Problem::NotInBlocks(why);
                let error = TypeError::named(&self.rule[..], self.shown(), problem);
                return Err(error.with_hint(crate::error::reblock_hint(name, &blocks)).into());
            }
        }
        Ok(())
    }

    /// The term's axes with their blocks.
    pub(super) fn axes(
        &self,
        order: &[Option<usize>],
        kept: usize,
        points: &Points,
    ) -> Result<Vec<StageAxis>, Error> {
        let plain = self.plain(order.len());
        let mut among: Vec<Option<usize>> = vec![None; order.len()];
        let extent_of = |place: usize| order[place].map_or(0, |axis| self.extents[axis]);
        for Read { tensor, index, .. } in &self.reads {
            for (affine, &block) in index.iter().zip(&tensor.ty().blocks) {
                // The letter with the greatest extent.
                let extent = |&&(_, own): &&(i64, usize)| extent_of(own);
                let own = affine.terms.iter().max_by_key(extent);
                if let Some(&(_, own)) = own.filter(|_| affine.as_axis().is_none()) {
                    among[own] = among[own].or(block);
                }
            }
        }
        let (shown, mut axes) = (self.shown(), Vec::with_capacity(order.len()));
        for (place, &axis) in order.iter().enumerate() {
            let folded = place >= kept;
            let Some(axis) = axis else {
                let (name, extent) = (format!("o{place}"), self.shape()[place] as usize);
                axes.push(StageAxis { name, extent, block: None, folded });
                continue;
            };
            let name = self.statement.domain[axis].name.clone();
            let block = match plain[place].is_empty() {
                true => among[place],
                false => common_block(&self.rule, &name, &plain[place], &shown)?,
            };
            // Axes that were made whole for re-cut operands stay so.
            let is_fitted = |met: &AxisUse| self.reads[met.operand].tensor.term.recuts.is_some();
            let is_fitted = plain[place].iter().any(is_fitted);
            let block = block.or_else(|| self.block_of(axis).filter(|_| !is_fitted));
            let block = block.or_else(|| self.former_block(place));
            axes.push(StageAxis { name, extent: self.extents[axis] as usize, block, folded });
        }
        for (place, at) in &points.writes {
            let block = self.former_block(*place).or_else(|| self.block_among(at, &axes));
            axes[*place].block = block.filter(|&block| block < axes[*place].extent);
        }
        Ok(axes)
    }

    /// The block of an axis that no operand has alone: that of the array axis which gives its extent.
    fn block_of(&self, axis: usize) -> Option<usize> {
        let dims = &self.statement.domain[axis].dims;
        dims.iter().find_map(|dim| {
            let tensor = self.arrays.get(&dim.array)?;
            tensor.ty().blocks.get(dim.axis as usize).copied().flatten()
        })
    }

    /// The block of an axis of the result's former elements.
    fn former_block(&self, axis: usize) -> Option<usize> {
        let Init::From(before) = self.statement.init else { return None };
        self.arrays[&before].ty().blocks.get(axis).copied().flatten()
    }

    /// Block of an axis that is written at computed positions: that of the index arrays.
    fn block_among(&self, at: &Affine, axes: &[StageAxis]) -> Option<usize> {
        let term = |&(coefficient, axis): &(i64, usize)| {
            Some(axes[axis].block?.saturating_mul(coefficient.unsigned_abs() as usize))
        };
        let inner = (0..axes.len()).filter(|&axis| at.has(axis));
        let inner = inner.filter_map(|axis| axes[axis].block).max();
        let gathers = at.gathers().into_iter();
        let gathered = gathers.flat_map(|operand| &self.reads[operand].tensor.ty().blocks);
        at.terms.iter().filter_map(term).max().or(inner).or(gathered.flatten().copied().max())
    }

    /// Checks that a fold which needs all values of an axis at once has them in one block, with points at their own
    /// positions.
    pub(super) fn check_fold(&self, axes: &[StageAxis], points: &Points) -> Result<(), Error> {
        if !matches!(self.statement.reduce, Some(Reducer::ArgMax | Reducer::ArgMin)) {
            return Ok(());
        }
        if let Some((axis, _)) = points.writes.first() {
            let why = format!("axis {axis} of the result is written at computed positions");
            return self.refuse(format!("{why}, by what needs all values at once"));
        }
        if !points.guards.is_empty() {
            return self.refuse("what needs all values at once does not have some of them");
        }
        let cut = axes.iter().position(|axis| axis.folded && axis.block.is_some());
        let Some((place, axis)) = cut.map(|at| (at, &axes[at])) else { return Ok(()) };
        let met = self.reads.iter().find_map(|read| {
            let axis = read.index.iter().position(|affine| affine.has(place))?;
            Some((read, axis))
        });
        let (what, block) = (format!("`{}`", self.rule), axis.block.unwrap_or_default());
        let Some((read, at)) = met else {
            return self.refuse(format!("{what} needs all values at once"));
        };
        let mut blocks = read.tensor.ty().blocks.clone();
        blocks[at] = None;
        let hint = crate::error::reblock_hint(&read.name, &blocks);
        let problem = Problem::Fibre { what, operand: read.name.clone(), axis: at, block };
        Err(TypeError::named(&self.rule[..], self.shown(), problem).with_hint(hint).into())
    }
}
