//! Functions of all values along an eintup: each is an array of its own, which an earlier statement defines.

use super::kind::Kind;
use super::scope::Scope;
use super::value::{Operand, ValueBuilder};
use super::{messages, variables};
use crate::core::{self, Access, Axis, AxisId, IndexExpr, Init, ScalarExpr, ScalarNode};
use crate::instantiate::bounds::bytes;
use crate::interval::range_over;
use ijk_syntax::Function;
use ijk_syntax::et::ast::{Along, Index};
use ijk_types::{DType, Order, Reducer, TypeSet};

/// The values along an eintup, lowered.
struct AlongValues {
    domain: Vec<Axis>,
    extents: Vec<u64>,
    value: ScalarExpr,
    kind: Kind,
    /// The axis of the eintup.
    axis: usize,
}

impl ValueBuilder<'_, '_, '_> {
    /// `SORT(x, i, k)`, `ARGMAX(x, i)`.
    pub(super) fn along(&mut self, along: &Along) -> Option<Operand> {
        let checked = self.scope.known.checked;
        let names = variables::inner(checked, along);
        let values = self.values(along, &names)?;
        let (places, place) = match along.place() {
            None => (None, None),
            Some(place) => {
                let count = self.places(along, &place, values.extents[values.axis])?;
                let mut index = self.scope.place(&place, 1)?;
                (Some(count), Some(index.pop()?))
            }
        };
        let mut index = Vec::new();
        for name in names {
            match name == along.tuple.text {
                true => index.extend(place.clone()),
                false => index.extend(self.scope.axes(name)?),
            }
        }
        let reducer = reducer(along.function);
        let kind = if reducer.gives_positions() { Kind::Integer } else { values.kind };
        let array = self.array(along, values, reducer, places, kind.dtype())?;
        let node = Access { array, index, span: along.span.into() };
        Some(self.push(ScalarNode::Access(node), kind, along.span))
    }

    /// The values over all positions.
    fn values(&mut self, along: &Along, names: &[&str]) -> Option<AlongValues> {
        let (seed, site) = (self.seed, self.site);
        let scope = &mut *self.scope;
        let mut inner =
            Scope::new(scope.known, &mut *scope.stage, &mut *scope.errors, names.to_vec());
        inner.fits(along.span)?;
        let mut builder = ValueBuilder::new(&mut inner, seed, site);
        let value = builder.value(&along.of);
        let site = builder.site;
        let nodes = builder.finish();
        let axis = inner.variables.iter().find(|(name, _)| *name == along.tuple.text);
        let axis = axis.map(|(_, first)| *first);
        let (domain, extents) =
            (std::mem::take(&mut inner.domain), std::mem::take(&mut inner.extents));
        let skips = !inner.guards.is_empty();
        self.site = site;
        let (operand, axis) = (value?, axis.filter(|axis| *axis < extents.len())?);
        let source = self.scope.source();
        if operand.kind.dtype().is_complex() {
            let name = crate::text::slice(source, along.name).to_string();
            let (span, t) = (operand.span, operand.kind.dtype());
            let message = messages::operand(source, &name, span, t, TypeSet::ORDERED);
            return self.scope.fail(message.with_related(along.name, "orders them"));
        }
        let beyond = || self.scope.leaves(&nodes, &extents);
        if !extents.contains(&0) && (skips || beyond()) {
            let message = messages::along_skips(source, along);
            return self.scope.fail(message);
        }
        Some(AlongValues { domain, extents, value: nodes, kind: operand.kind, axis })
    }

    /// The number of places of the order.
    fn places(&mut self, along: &Along, place: &Index, values: u64) -> Option<u64> {
        let dims = self.scope.known.extents(|extents| extents.dims(place, 1));
        let count = self.scope.check(dims)??.pop()?;
        if count <= values {
            return Some(count);
        }
        let message = messages::places(self.scope.source(), along, count, values);
        self.scope.fail(message)
    }

    /// The array of all values of the function.
    fn array(
        &mut self,
        along: &Along,
        values: AlongValues,
        reducer: Reducer,
        places: Option<u64>,
        dtype: DType,
    ) -> Option<core::ArrayId> {
        let AlongValues { mut domain, mut extents, value, axis, .. } = values;
        let mut shape = extents.clone();
        let mut out_index: Vec<IndexExpr> =
            (0..extents.len() as u32).map(|n| IndexExpr::axis(AxisId(n))).collect();
        match places {
            Some(count) => {
                shape[axis] = count;
                out_index[axis] = IndexExpr::axis(AxisId(extents.len() as u32));
                let name = match &along.place {
                    Some(Index::Tuple(name)) => name.text.clone(),
                    _ => format!("{}'", along.tuple.text),
                };
                domain.push(Axis { name, dims: Vec::new(), pins: Vec::new() });
                extents.push(count);
            }
            None => {
                if extents[axis] == 0
                    && !extents.iter().enumerate().any(|(n, e)| n != axis && *e == 0)
                {
                    return self.scope.fail(messages::along_nothing(along));
                }
                shape.remove(axis);
                out_index.remove(axis);
            }
        }
        if bytes(dtype, &shape).is_none() {
            let name = crate::text::slice(self.scope.source(), along.span).to_string();
            return self.scope.fail(messages::too_large(&name, along.span, &shape));
        }
        let stage = &mut *self.scope.stage;
        let out = stage.array(dtype, shape, along.span.into());
        let statement = core::Statement {
            out,
            domain,
            out_index,
            init: Init::Zero,
            reduce: Some(reducer),
            value,
            guards: Vec::new(),
            span: along.span.into(),
        };
        stage.push(statement, extents);
        Some(out)
    }
}

impl Scope<'_, '_> {
    /// Returns true if an element that a value reads may be out of bounds.
    fn leaves(&self, value: &ScalarExpr, extents: &[u64]) -> bool {
        value.nodes.iter().any(|node| {
            let ScalarNode::Access(access) = node else { return false };
            let shape = self.stage.shape(access.array);
            access.index.iter().zip(shape).any(|(e, &extent)| {
                let range = range_over(e, extents);
                range.least < 0 || range.greatest >= i128::from(extent)
            })
        })
    }
}

fn reducer(function: Function) -> Reducer {
    let order = |descending, positions| Reducer::Order(Order { descending, positions });
    match function {
        Function::ArgMin => Reducer::ArgMin,
        Function::Sort => order(false, false),
        Function::ArgSort => order(false, true),
        Function::TopK => order(true, false),
        Function::ArgTopK => order(true, true),
        _ => Reducer::ArgMax,
    }
}
