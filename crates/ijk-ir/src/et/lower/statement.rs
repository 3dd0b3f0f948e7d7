//! One statement: its domain, its array's new version, its value.

use super::kind::Kind;
use super::known::Version;
use super::scope::Scope;
use super::value::{Operand, ValueBuilder};
use super::{Lowering, messages, variables};
use crate::core::{self, ArrayId, Axis, AxisId, IndexExpr, Init, ScalarExpr, ScalarId, ScalarNode};
use crate::et::Checked;
use crate::instantiate::bounds::{bytes, points};
use crate::limits::{MAX_LETTERS, MAX_RANK};
use crate::text::slice;
use ijk_syntax::Span;
use ijk_syntax::et::ast::{AssignOp, Statement};
use ijk_types::{DType, Monoid, Reducer, UnaryOp};

impl Lowering<'_> {
    /// Adds a statement to the stage, and its array's version to what is known.
    pub(super) fn lower(&mut self, statement: &Statement) {
        let Some(array) = self.known.checked.array(&statement.left.array.text) else {
            return self.errors.push(messages::unknown(&statement.left.array));
        };
        let errors = self.errors.errors();
        let lowered = self.lowered(statement, array);
        let poisoned = self.known.versions.iter().flatten().any(|v| v.kind.is_none());
        debug_assert!(lowered.is_some() || poisoned || self.errors.errors() > errors);
        if lowered.is_none() && self.errors.errors() == 0 {
            let (source, span) = (&self.known.checked.source, statement.span);
            self.errors.push(messages::overflow(source, span));
        }
        let old = self.known.versions[array].as_ref().and_then(|version| version.shape.clone());
        let version = lowered.unwrap_or(Version { kind: None, shape: old });
        self.known.replace(array, version);
    }

    fn lowered(&mut self, statement: &Statement, array: usize) -> Option<Version> {
        let names = variables::variables(self.known.checked, statement);
        let scope = &mut Scope::new(&self.known, &mut self.stage, &mut self.errors, names);
        scope.fits(statement.span)?;
        let index = scope.indices(&statement.left.indices, self.known.places(array));
        let old = self.known.versions[array].clone();
        let shape = match &old {
            Some(version) => version.shape.clone(),
            None => index.as_ref().and_then(|_| scope.size(statement, array)),
        };
        let former = old.as_ref().filter(|_| statement.assign.accumulate);
        let mut builder = ValueBuilder::new(scope, self.seed, self.sites[self.next]);
        let value = builder.value(&statement.value);
        let value = match former {
            Some(Version { kind: None, .. }) => None,
            Some(Version { kind, .. }) => builder.assigned(statement, value?, *kind),
            None => builder.assigned(statement, value?, None),
        };
        let (nodes, kind) = (builder.finish(), value?.kind.stored());
        let dtype = kind.dtype();
        let (shape, index) = (shape?, index?);
        scope.holds(statement, dtype, &shape)?;
        if former.is_none()
            && let Some(whole) = scope.whole(&nodes, (dtype, &shape), &index)
        {
            scope.stage.define(array, whole);
            return Some(Version::known(kind, shape));
        }
        let monoid = monoid(statement.assign.op);
        let init = match former {
            Some(_) => Init::From(scope.former(array, dtype, &shape)),
            None => Init::Identity(monoid),
        };
        let span = statement.left.span.into();
        let out = scope.stage.array(dtype, shape.clone(), span);
        let domain = std::mem::take(&mut scope.domain);
        let reduce = reducer(self.known.checked, (self.next, statement), domain.len(), &index);
        let done = core::Statement {
            out,
            domain,
            out_index: index,
            init,
            reduce,
            value: nodes,
            guards: std::mem::take(&mut scope.guards),
            span: statement.span.into(),
        };
        let extents = std::mem::take(&mut scope.extents);
        scope.stage.push(done, extents);
        scope.stage.define(array, out);
        Some(Version::known(kind, shape))
    }
}

/// Combination of the values that fall on an element: none where a sum has one term, whose -0 stays. `axes` are those of
/// the domain, `index` is that on the left.
pub(super) fn reducer(
    checked: &Checked,
    (n, statement): (usize, &Statement),
    axes: usize,
    index: &[IndexExpr],
) -> Option<Reducer> {
    let assign = &statement.assign;
    let is_sum = assign.op == AssignOp::Add && !assign.accumulate;
    // In a `FLAT` of no elements, steps are 0.
    let is_there = |axis: usize| index.iter().any(|e| e.mentions(AxisId(axis as u32)));
    let stores = is_sum && variables::is_map(checked, n, statement) && (0..axes).all(is_there);
    (!stores).then_some(Reducer::Monoid(monoid(assign.op)))
}

pub(super) fn monoid(op: AssignOp) -> Monoid {
    match op {
        AssignOp::Add => Monoid::Add,
        AssignOp::Mul => Monoid::Mul,
        AssignOp::Max => Monoid::Max,
        AssignOp::Min => Monoid::Min,
        AssignOp::And => Monoid::And,
        AssignOp::Or => Monoid::Or,
        AssignOp::LogAddExp => Monoid::LogAddExp,
    }
}

impl ValueBuilder<'_, '_, '_> {
    /// The value in the type that the array gets: that which it has in common with the former
    /// elements, where those take part.
    pub(super) fn assigned(
        &mut self,
        statement: &Statement,
        value: Operand,
        former: Option<Kind>,
    ) -> Option<Operand> {
        let logical = matches!(statement.assign.op, AssignOp::And | AssignOp::Or);
        let kind = match former {
            _ if logical => Kind::Of(DType::Bool),
            Some(former) => former.with(value.kind),
            None => value.kind,
        };
        let dtype = kind.dtype();
        let source = self.scope.source();
        if !monoid(statement.assign.op).op().accepts().contains(dtype) {
            let (symbol, name) = (statement.symbol, &statement.left.array.text);
            let places = (symbol, statement.value.span());
            let message = messages::assigned_type(source, places, name, dtype);
            return self.scope.fail(message);
        }
        let symbol = slice(source, statement.symbol).to_string();
        let former = former.map(Kind::dtype);
        if logical && former.is_some_and(DType::is_complex) {
            let accepts = UnaryOp::Cast(DType::Bool).accepts();
            let (span, t) = (statement.left.span, former.unwrap_or(DType::C128));
            let message = messages::operand(self.scope.source(), &symbol, span, t, accepts);
            return self.scope.fail(message);
        }
        Some(Operand { kind, ..self.convert(value, dtype, &symbol)? })
    }
}

impl Scope<'_, '_> {
    /// Checks the size of the domain.
    pub(super) fn fits(&mut self, span: Span) -> Option<()> {
        let source = &self.known.checked.source;
        if self.domain.len() > MAX_LETTERS {
            let found = self.domain.len();
            let message = messages::too_many_axes(source, span, found, MAX_LETTERS);
            return self.fail(message);
        }
        if !self.is_empty() && points(&self.extents).is_none() {
            let names = self.domain.iter().map(|axis| axis.name.clone());
            let extents: Vec<_> = names.zip(self.extents.iter().copied()).collect();
            let message = messages::domain_too_large(source, span, &extents);
            return self.fail(message);
        }
        Some(())
    }

    /// The shape that the first use of an array gives it.
    pub(super) fn size(&mut self, statement: &Statement, array: usize) -> Option<Vec<u64>> {
        let places = self.known.places(array);
        let mut shape = Vec::new();
        for (e, &rank) in statement.left.indices.iter().zip(places) {
            let dims = self.known.extents(|extents| extents.dims(e, rank));
            shape.extend(self.check(dims)??);
        }
        Some(shape)
    }

    /// The array that was just made for the value, if the statement gives each element the one at its own index.
    fn whole(
        &self,
        value: &ScalarExpr,
        (dtype, shape): (DType, &[u64]),
        index: &[IndexExpr],
    ) -> Option<ArrayId> {
        let [ScalarNode::Access(access)] = &value.nodes[..] else { return None };
        let made = self.stage.is_made(access.array, dtype, shape);
        let plain = index.len() == self.domain.len() && index.iter().all(|e| e.as_axis().is_some());
        let apart = index.iter().enumerate().all(|(n, e)| !index[..n].contains(e));
        // A sum makes 0 of -0.
        let exact = !dtype.is_float();
        let whole = made && plain && apart && exact && access.index == index;
        (whole && self.guards.is_empty()).then_some(access.array)
    }

    /// Checks that the size of an array fits in memory.
    pub(super) fn holds(
        &mut self,
        statement: &Statement,
        dtype: DType,
        shape: &[u64],
    ) -> Option<()> {
        let (name, span) = (&statement.left.array.text, statement.left.span);
        if shape.len() > MAX_RANK {
            let source = &self.known.checked.source;
            let message = messages::too_many_axes(source, span, shape.len(), MAX_RANK);
            return self.fail(message);
        }
        match bytes(dtype, shape) {
            Some(_) => Some(()),
            None => self.fail(messages::too_large(name, span, shape)),
        }
    }

    /// The version before, in the type of the new one.
    pub(super) fn former(&mut self, array: usize, dtype: DType, shape: &[u64]) -> ArrayId {
        let id = self.stage.read(array, self.known);
        if self.stage.dtype(id) == dtype {
            return id;
        }
        let span = self.known.checked.arrays[array].span.into();
        let out = self.stage.array(dtype, shape.to_vec(), span);
        let index: Vec<_> = (0..shape.len() as u32).map(|n| IndexExpr::axis(AxisId(n))).collect();
        let access = core::Access { array: id, index: index.clone(), span };
        let nodes =
            vec![ScalarNode::Access(access), ScalarNode::Unary(UnaryOp::Cast(dtype), ScalarId(0))];
        let axis = |n| Axis { name: format!("i{n}"), dims: Vec::new(), pins: Vec::new() };
        let cast = core::Statement {
            out,
            domain: (0..shape.len()).map(axis).collect(),
            out_index: index,
            init: Init::Zero,
            reduce: None,
            value: ScalarExpr { nodes },
            guards: Vec::new(),
            span,
        };
        self.stage.push(cast, shape.to_vec());
        out
    }
}
