//! Output shapes, bounds of accesses and sizes, once a statement's extents are known.

use super::{injective, messages};
use crate::core::{Access, IndexExpr, Program, ScalarNode, Statement, TypeTerm};
use crate::interval::range_over;
use ijk_syntax::Diagnostic;
use ijk_types::{DType, Literal, Reducer};

/// A statement whose extents are known.
pub struct Context<'a> {
    /// Its program.
    pub program: &'a Program,
    /// The statement.
    pub statement: &'a Statement,
    /// The extents of its domain.
    pub extents: &'a [u64],
    /// The shapes known.
    pub shapes: &'a [Option<Vec<u64>>],
    /// The element types of all arrays.
    pub dtypes: &'a [DType],
}

impl Context<'_> {
    /// The shape of what the statement defines; `None` after an error.
    pub fn output_shape(&self, errors: &mut Vec<Diagnostic>) -> Option<Vec<u64>> {
        let before = errors.len();
        let empty = self.extents.contains(&0);
        if !empty {
            self.check_accesses(errors);
        }
        let shape = self.shape(errors)?;
        self.check_extent_values(errors);
        if bytes(self.dtypes[self.statement.out.0 as usize], &shape).is_none() {
            errors.push(messages::too_large(self.program, self.statement.out, &shape));
            return None;
        }
        let domain = match (self.statement.reduce, self.extents.split_last()) {
            // The places of an order are no points of their own.
            (Some(Reducer::Order(_)), Some((_, values))) => values,
            _ => self.extents,
        };
        if points(domain).is_none() {
            errors.push(messages::domain_too_large(self.statement, self.extents));
        }
        match self.statement.reduce {
            Some(Reducer::ArgMax | Reducer::ArgMin) => self.check_positions(&shape, errors),
            Some(Reducer::Order(_)) => self.check_places(errors),
            None if !empty && errors.len() == before => {
                errors.extend(injective::check(self.program, self.statement, self.extents, &shape));
            }
            _ => {}
        }
        (errors.len() == before).then_some(shape)
    }

    /// Checks that extents are values of the types of what they are combined with.
    fn check_extent_values(&self, errors: &mut Vec<Diagnostic>) {
        for node in &self.statement.value.nodes {
            let ScalarNode::Extent(axis, term) = node else { continue };
            let (axis, t) = (axis.0 as usize, self.resolve(*term));
            let extent = self.extents[axis];
            let literal = i64::try_from(extent).ok().map(Literal::Integer);
            let value = literal.and_then(|literal| literal.to_scalar(t).ok());
            if !value.is_some_and(|value| value.as_f64().is_finite()) {
                errors.push(messages::extent_value(self.statement, axis, extent, t));
            }
        }
    }

    /// The type that a term is, which is that of some array.
    fn resolve(&self, term: TypeTerm) -> DType {
        let known = |wanted: TypeTerm| {
            let at = self.program.arrays.iter().position(|array| array.dtype == wanted);
            at.map(|at| self.dtypes[at])
        };
        match term {
            TypeTerm::Fixed(t) => t,
            TypeTerm::Var(_) => known(term).unwrap_or(DType::F64),
            TypeTerm::RealOf(v) => known(TypeTerm::Var(v)).map_or(DType::F64, DType::real),
        }
    }

    fn check_accesses(&self, errors: &mut Vec<Diagnostic>) {
        for node in &self.statement.value.nodes {
            if let ScalarNode::Access(access) = node
                && let Some(shape) = &self.shapes[access.array.0 as usize]
            {
                for (axis, (e, extent)) in access.index.iter().zip(shape).enumerate() {
                    errors.extend(self.check_access(access, axis, e, *extent));
                }
            }
        }
    }

    fn check_access(
        &self,
        access: &Access,
        axis: usize,
        e: &IndexExpr,
        extent: u64,
    ) -> Option<Diagnostic> {
        if e.as_axis().is_some_and(|a| self.extents[a.0 as usize] <= extent) {
            return None;
        }
        let range = range_over(e, self.extents);
        let fits = range.least >= 0 && range.greatest < i128::from(extent);
        (!fits).then(|| {
            messages::out_of_bounds(self.program, self.statement, access, axis, range, extent)
        })
    }

    fn shape(&self, errors: &mut Vec<Diagnostic>) -> Option<Vec<u64>> {
        let mut shape = Vec::with_capacity(self.statement.out_index.len());
        for (axis, e) in self.statement.out_index.iter().enumerate() {
            shape.push(self.output_extent(axis, e, errors)?);
        }
        Some(shape)
    }

    fn output_extent(
        &self,
        axis: usize,
        e: &IndexExpr,
        errors: &mut Vec<Diagnostic>,
    ) -> Option<u64> {
        if let Some(axis) = e.as_axis() {
            return Some(self.extents[axis.0 as usize]);
        }
        let mut empty = false;
        e.for_each_axis(&mut |axis| empty |= self.extents[axis.0 as usize] == 0);
        if empty {
            return Some(0);
        }
        let range = range_over(e, self.extents);
        if range.least < 0 {
            errors.push(messages::negative_output(self.statement, axis, range));
            return None;
        }
        match i64::try_from(range.greatest + 1) {
            Ok(extent) => Some(extent as u64),
            Err(_) => {
                errors.push(messages::huge_output(self.statement, axis, range));
                None
            }
        }
    }

    fn check_places(&self, errors: &mut Vec<Diagnostic>) {
        let (Some((places, _)), Some(axis)) = (self.extents.split_last(), self.reduced_axis())
        else {
            return;
        };
        if *places > self.extents[axis] {
            errors.push(messages::order_places(self.statement, axis, self.extents));
        }
    }

    /// The axis that the output does not depend on.
    fn reduced_axis(&self) -> Option<usize> {
        let kept = |axis: usize| {
            self.statement.out_index.iter().any(|e| e.mentions(crate::core::AxisId(axis as u32)))
        };
        (0..self.extents.len()).find(|&axis| !kept(axis))
    }

    fn check_positions(&self, shape: &[u64], errors: &mut Vec<Diagnostic>) {
        if shape.contains(&0) {
            return;
        }
        let mut kept = vec![false; self.extents.len()];
        for e in &self.statement.out_index {
            e.for_each_axis(&mut |axis| kept[axis.0 as usize] = true);
        }
        let reduced = self.extents.iter().zip(kept).position(|(n, kept)| *n == 0 && !kept);
        if let Some(axis) = reduced {
            errors.push(messages::empty_position(self.statement, axis));
        }
    }
}

/// The extent of an output's axis while some letters' extents are `unknown`; `unknown` where it
/// depends on one, or is an error that is reported later.
pub fn known_output_extent(e: &IndexExpr, extents: &[u64], unknown: u64) -> u64 {
    let (mut empty, mut all_known) = (false, true);
    e.for_each_axis(&mut |axis| {
        empty |= extents[axis.0 as usize] == 0;
        all_known &= extents[axis.0 as usize] != unknown;
    });
    match (empty, all_known, e.as_axis()) {
        (true, ..) => 0,
        (false, true, Some(axis)) => extents[axis.0 as usize],
        (false, true, None) => {
            let range = range_over(e, extents);
            let extent = i64::try_from(range.greatest + 1).ok().filter(|_| range.least >= 0);
            extent.map_or(unknown, |extent| extent as u64)
        }
        (false, false, _) => unknown,
    }
}

/// The number of points of a domain, if it is below the size of any memory; axes of extent 0 do not count.
pub fn points(extents: &[u64]) -> Option<u64> {
    let nonzero = extents.iter().filter(|n| **n != 0);
    let product = nonzero.into_iter().try_fold(1u64, |product, n| product.checked_mul(*n))?;
    i64::try_from(product).ok().map(|product| product as u64)
}

/// The bytes of an array, if they fit in `isize`; axes of extent 0 left out, as ndarray does.
pub fn bytes(dtype: DType, shape: &[u64]) -> Option<u64> {
    let bytes = points(shape)?.checked_mul(dtype.size() as u64)?;
    isize::try_from(bytes).ok().map(|bytes| bytes as u64)
}
