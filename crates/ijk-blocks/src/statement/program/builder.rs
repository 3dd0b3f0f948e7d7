//! Term of a statement: its operands, axes, points and result.

use crate::domain::Affine;
use crate::statement::fit::Fit;
use crate::statement::{AxisUse, OperandTypes, Statement};
use crate::term::Kind;
use crate::{BigTensor, Error, MemoryStore, Problem, Site, Type, TypeError};
use ijk_ir::core::{self, ArrayId, Init, Instance, Program};
use ijk_syntax::Span;
use ijk_types::{DType, Monoid, Reducer, Scalar, scalar};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Builds the term of a statement.
pub(super) struct TermBuilder<'a> {
    pub(super) program: &'a Program,
    pub(super) instance: &'a Instance,
    pub(super) statement: &'a core::Statement,
    /// Extents of the domain's axes in the statement.
    pub(super) own: &'a [u64],
    /// Extents of the domain's axes in the term: those of the result, where it has the axis.
    pub(super) extents: Vec<u64>,
    pub(super) arrays: &'a HashMap<ArrayId, BigTensor>,
    pub(super) rule: String,
    /// For each axis of the domain, the term's.
    pub(super) places: Vec<usize>,
    pub(super) reads: Vec<Read>,
}

/// An operand, and the map of points to its positions.
pub(super) struct Read {
    pub(super) tensor: BigTensor,
    pub(super) index: Vec<Affine>,
    /// Name in messages, and the place in the program where it is read first.
    pub(super) name: Cow<'static, str>,
    pub(super) span: Option<Span>,
}

impl<'a> TermBuilder<'a> {
    /// A builder for the statement of a number.
    pub(super) fn new(
        rule: String,
        program: &'a Program,
        instance: &'a Instance,
        number: usize,
        arrays: &'a HashMap<ArrayId, BigTensor>,
    ) -> Self {
        let (places, reads, own) = (Vec::new(), Vec::new(), &instance.extents[number][..]);
        let statement = &program.statements[number];
        let extents = own.to_vec();
        Self { program, instance, statement, own, extents, arrays, rule, places, reads }
    }

    pub(super) fn build(&mut self) -> Result<BigTensor, Error> {
        let kept = self.kept_axes()?;
        let folded = (0..self.extents.len()).map(Some).filter(|axis| !kept.contains(axis));
        let order: Vec<Option<usize>> = kept.iter().copied().chain(folded).collect();
        self.places = vec![0; self.extents.len()];
        for (place, axis) in order.iter().enumerate() {
            axis.iter().for_each(|&axis| self.places[axis] = place);
        }
        if let Some(Reducer::Order(_)) = self.statement.reduce {
            return self.refuse(
                "an order of all values along an axis is computed in memory only: apply the program to arrays",
            );
        }
        let formula = self.formula()?;
        let points = self.points(&kept)?;
        self.fit(order.len(), kept.len())?;
        let axes = self.axes(&order, kept.len(), &points)?;
        self.check_gathers()?;
        self.check_fold(&axes, &points)?;
        let kept = &axes[..kept.len()];
        let dims: Vec<usize> = kept.iter().map(|axis| axis.extent).collect();
        let blocks: Vec<Option<usize>> = kept.iter().map(|axis| axis.block).collect();
        let ty = Type::new(dims, blocks, self.element());
        let operands: Vec<BigTensor> = self.reads.iter().map(|read| read.tensor.clone()).collect();
        let types = operands.iter().map(|operand| operand.ty().clone()).collect();
        let (name, reducer) = (self.rule.clone(), self.statement.reduce);
        let index = self.reads.iter().map(|read| read.index.clone()).collect();
        let statement = Statement { name, axes, index, types, formula, reducer, points };
        Ok(BigTensor::new(Kind::Statement(Arc::new(statement)), operands, ty))
    }

    /// Gives operands that may be re-cut compatible blocks.
    fn fit(&mut self, axes: usize, kept: usize) -> Result<(), Error> {
        let mut fit = Fit::new(self.reads.iter().map(|read| read.tensor.clone()));
        let needs_whole = matches!(self.statement.reduce, Some(Reducer::ArgMax | Reducer::ArgMin));
        for (operand, read) in self.reads.iter().enumerate() {
            for (axis, affine) in read.index.iter().enumerate() {
                let is_whole = needs_whole && (kept..axes).any(|folded| affine.has(folded));
                if is_whole || !affine.gathers().is_empty() {
                    fit.whole(operand, axis);
                }
            }
        }
        self.plain(axes).iter().for_each(|places| fit.index(places));
        let fitted = self.reads.iter_mut().zip(fit.operands()?);
        fitted.for_each(|(read, tensor)| read.tensor = tensor);
        Ok(())
    }

    /// For each of the term's axes, the axes of operands that are indexed by it alone.
    pub(super) fn plain(&self, axes: usize) -> Vec<Vec<AxisUse>> {
        let mut plain: Vec<Vec<AxisUse>> = vec![Vec::new(); axes];
        for (operand, Read { tensor, index, .. }) in self.reads.iter().enumerate() {
            for (axis, affine) in index.iter().enumerate() {
                if let Some(own) = affine.as_axis() {
                    plain[own].push(AxisUse { operand, axis, block: tensor.ty().blocks[axis] });
                }
            }
        }
        plain
    }

    fn element(&self) -> DType {
        self.instance.dtypes[self.statement.out.0 as usize]
    }

    /// The result's extents.
    pub(super) fn shape(&self) -> &'a [u64] {
        &self.instance.shapes[self.statement.out.0 as usize]
    }

    /// Operands with their names and types.
    pub(super) fn shown(&self) -> OperandTypes {
        self.reads.iter().map(|read| (read.name.clone(), read.tensor.ty().clone())).collect()
    }

    /// Source locations of the statement and of the reads of its operands.
    pub(super) fn site(&self) -> Site {
        let (source, span) = (self.program.source.clone(), self.statement.span.into());
        Site { source, span, reads: self.reads.iter().map(|read| read.span).collect() }
    }

    pub(super) fn refuse<T>(&self, why: impl Into<String>) -> Result<T, Error> {
        let problem = Problem::NotInBlocks(why.into());
        Err(TypeError::named(&self.rule[..], self.shown(), problem).into())
    }

    /// Former elements of the result, where the fold does not begin with its identity.
    pub(super) fn before(&self) -> Result<Option<BigTensor>, Error> {
        let filled = |monoid: Option<Monoid>| {
            let (of, dims) = (self.element(), self.shape().iter().map(|&n| n as usize));
            let dims: Vec<usize> = dims.collect();
            let fill = match monoid {
                Some(monoid) => scalar::identity(monoid, of),
                None => Scalar::zero(of),
            };
            let ty = Type::new(&dims[..], vec![None; dims.len()], of);
            BigTensor::from_source(MemoryStore::with_fill(ty, fill.into())).map(Some)
        };
        match (self.statement.reduce, self.statement.init) {
            (_, Init::From(before)) => Ok(Some(self.arrays[&before].clone())),
            (Some(Reducer::Monoid(Monoid::Add | Monoid::Or)), Init::Zero) => Ok(None),
            (Some(Reducer::Monoid(_)), Init::Zero) => filled(None),
            (Some(Reducer::Monoid(own)), Init::Identity(monoid)) if own != monoid => {
                filled(Some(monoid))
            }
            _ => Ok(None),
        }
    }

    /// Name of the written array in messages.
    pub(super) fn written(&self) -> Cow<'static, str> {
        let span = self.program.arrays[self.statement.out.0 as usize].span;
        self.name_at(span).unwrap_or_else(|| "what was there".into())
    }

    /// The name before the bracket of an access in Einsum Tuple.
    pub(super) fn name_at(&self, span: core::Span) -> Option<Cow<'static, str>> {
        let text = self.program.source.get(span.start as usize..span.end as usize)?;
        let (name, _) = text.split_once('[').filter(|(name, _)| !name.trim().is_empty())?;
        Some(name.trim().to_owned().into())
    }

    /// For each axis of the result the axis of the domain that it is; none where its positions are computed.
    fn kept_axes(&mut self) -> Result<Vec<Option<usize>>, Error> {
        let mut kept: Vec<Option<usize>> = Vec::new();
        for (index, &has) in self.statement.out_index.iter().zip(self.shape()) {
            let own = index.as_axis().map(|axis| axis.0 as usize);
            let own = own.filter(|axis| !kept.contains(&Some(*axis)));
            own.iter().for_each(|&axis| self.extents[axis] = has);
            kept.push(own);
        }
        Ok(kept)
    }
}
