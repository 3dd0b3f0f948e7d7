//! The body of a loop: its statements as updates, inner loops, its condition.

use super::super::kind::Kind;
use super::super::known::Version;
use super::super::scope::Scope;
use super::super::stage::StageBuilder;
use super::super::statement::{monoid, reducer};
use super::super::value::ValueBuilder;
use super::group::{PassStatement, update, updates};
use super::view::{OpenIndex, PassView};
use super::{LoopArrays, Lowering, messages, nothing};
use crate::core::{
    ArrayId, AxisId, IndexExpr, Init, Loop, LoopAxis, LoopStep, PassCondition, ScalarExpr,
    ScalarNode, Window,
};
use crate::et::walk::{self, Event, Standing};
use ijk_syntax::et::ast::{Index, Statement, Value};
use ijk_types::{DType, Monoid, Reducer};

/// A lowered statement over all axes, and what it belongs to.
struct Whole {
    scratch: StageBuilder,
    domain: Vec<crate::core::Axis>,
    extents: Vec<u64>,
    guards: Vec<(IndexExpr, u64)>,
    out_index: Vec<IndexExpr>,
    value: ScalarExpr,
    dtype: DType,
    shape: Vec<u64>,
}

impl<'a> Lowering<'a> {
    /// A loop and all in it.
    pub(super) fn looped(&mut self, at: usize, found: &mut LoopArrays) -> Loop {
        let checked = self.known.checked;
        let own = &checked.program.loops[at];
        let dims = self.known.tuple(&own.tuple.text).unwrap_or(&[]);
        let name = |n: usize| match dims.len() {
            1 => own.tuple.text.clone(),
            _ => format!("{}.{n}", own.tuple.text),
        };
        let axes = dims.iter().enumerate();
        let axes = axes.map(|(n, &extent)| LoopAxis { name: name(n), extent }).collect();
        let mut steps = Vec::new();
        let mut run: Vec<PassStatement> = Vec::new();
        let mut n = own.body.start;
        while n < own.body.end {
            let inner = (at + 1..checked.program.loops.len()).find(|&inner| {
                let body = &checked.program.loops[inner].body;
                body.start == n && body.end <= own.body.end
            });
            match inner {
                Some(inner) => {
                    steps.extend(updates(&checked.source, std::mem::take(&mut run)));
                    steps.push(LoopStep::Loop(self.looped(inner, found)));
                    n = checked.program.loops[inner].body.end;
                }
                None => {
                    run.extend(self.pass_statement(n, found));
                    n += 1;
                }
            }
        }
        steps.extend(updates(&checked.source, run));
        let until = own.until.as_ref().and_then(|condition| {
            let (flag, step) = self.condition(at, condition, found)?;
            steps.push(step);
            Some(flag)
        });
        let (descending, span) = (own.descending, own.span.into());
        Loop { axes, descending, steps, until, span }
    }

    /// Number of axes that the loops around a statement fix.
    fn fixed_axes(&self, mut loops: impl Iterator<Item = &'a ijk_syntax::et::ast::Loop>) -> usize {
        let rank = |name: &str| self.known.tuple(name).map_or(0, <[u64]>::len);
        loops.by_ref().map(|l| rank(&l.tuple.text)).sum()
    }

    /// A statement as each pass sees it; none if it does nothing, or something is wrong.
    fn pass_statement(&mut self, n: usize, found: &mut LoopArrays) -> Option<PassStatement> {
        let checked = self.known.checked;
        let statement = &checked.program.statements[n];
        let array = checked.array(&statement.left.array.text)?;
        let errors = self.errors.errors();
        let whole = self.whole(n, array);
        if whole.is_none() && self.errors.errors() == errors {
            let message = super::super::messages::overflow(&checked.source, statement.span);
            self.errors.push(message);
        }
        let whole = whole?;
        let fixed = self.fixed_axes(checked.program.loops_around(n));
        let slices = self.slices(n);
        if whole.extents[fixed..].contains(&0) {
            return self.without_points(n, array, &whole, fixed, &slices, found);
        }
        let surface = whole.scratch.sources();
        let mut view = PassView::new(&self.known, found, &surface, fixed, &whole.extents);
        let done = passes(&mut view, (n, statement), array, &whole, &slices);
        if done.is_none() {
            let message = super::super::messages::overflow(&checked.source, statement.span);
            self.errors.push(message);
        }
        done
    }

    /// The statement lowered over all axes, those of loops first.
    fn whole(&mut self, n: usize, array: usize) -> Option<Whole> {
        let statement = &self.known.checked.program.statements[n];
        let mut scratch = StageBuilder::new("", self.known.versions.len());
        let names = self.names(n);
        let scope = &mut Scope::new(&self.known, &mut scratch, &mut self.errors, names);
        scope.fits(statement.span)?;
        let index = scope.indices(&statement.left.indices, self.known.places(array));
        let Version { kind, shape } = self.known.versions[array].clone()?;
        let mut builder = ValueBuilder::new(scope, self.seed, self.sites[n]);
        let value = builder.value(&statement.value);
        let value = builder.assigned(statement, value?, Some(kind?));
        let (nodes, found) = (builder.finish(), value?.kind.dtype());
        let (domain, extents) =
            (std::mem::take(&mut scope.domain), std::mem::take(&mut scope.extents));
        let guards = std::mem::take(&mut scope.guards);
        let dtype = kind?.dtype();
        if found != dtype {
            self.errors.push(messages::changing_type(statement, dtype, found));
            return None;
        }
        let (out_index, dtype, shape) = (index?, found, shape?);
        Some(Whole { scratch, domain, extents, guards, out_index, value: nodes, dtype, shape })
    }

    /// For each axis of the array on the left, true if its place has eintups of loops and no others: those are the
    /// slice that a pass addresses.
    fn slices(&self, n: usize) -> Vec<bool> {
        let checked = self.known.checked;
        let left = &checked.program.statements[n].left;
        let array = checked.array(&left.array.text);
        let places = array.map_or(&[][..], |array| self.known.places(array));
        let mut slices = Vec::new();
        for (index, &rank) in left.indices.iter().zip(places) {
            let slice = self.is_slice(n, index);
            slices.extend((0..rank).map(|_| slice));
        }
        slices
    }

    fn is_slice(&self, n: usize, index: &Index) -> bool {
        let checked = self.known.checked;
        let (mut fixed, mut other) = (false, false);
        walk::index(index, Standing::Index, &mut |event| {
            if let Event::Name(name, Standing::Index) = event {
                let own = checked.program.loops_around(n).any(|l| l.tuple.text == name.text);
                fixed |= own;
                other |= !own;
            }
        });
        fixed && !other
    }

    /// A statement whose domain is empty in every pass: rule 0 alone.
    fn without_points(
        &mut self,
        n: usize,
        array: usize,
        whole: &Whole,
        fixed: usize,
        slices: &[bool],
        found: &mut LoopArrays,
    ) -> Option<PassStatement> {
        let statement = &self.known.checked.program.statements[n];
        if statement.assign.accumulate {
            return None;
        }
        let surface = whole.scratch.sources();
        let mut view = PassView::new(&self.known, found, &surface, fixed, &whole.extents);
        let (window, rest) = left(&mut view, array, whole, slices)?;
        let reduce = monoid(statement.assign.op);
        let (init, reducer) = (Init::Identity(reduce), Reducer::Monoid(reduce));
        let kind = (whole.dtype, rest.len());
        let lowered = nothing(ArrayId(u32::MAX), init, reducer, kind, statement.span);
        let PassView { lookups, bounds, .. } = view;
        Some(PassStatement {
            lowered,
            extents: vec![0],
            window,
            shape: whole.shape.clone(),
            dtype: whole.dtype,
            inputs: Vec::new(),
            lookups,
            bounds,
            conditions: Vec::new(),
            probe: Vec::new(),
            accumulates: false,
        })
    }

    /// The update that tells whether a loop ends, and the flag that it sets.
    fn condition(
        &mut self,
        at: usize,
        condition: &Value,
        found: &mut LoopArrays,
    ) -> Option<(usize, LoopStep)> {
        let checked = self.known.checked;
        let loops = || checked.program.loops_over(at);
        let names = loops().map(|l| &l.tuple.text[..]).collect();
        let mut scratch = StageBuilder::new("", self.known.versions.len());
        let scope = &mut Scope::new(&self.known, &mut scratch, &mut self.errors, names);
        let mut builder = ValueBuilder::new(scope, self.seed, 0);
        let dtype = builder.value(condition)?.kind.dtype();
        if dtype != DType::Bool {
            self.errors.push(messages::until_type(condition.span(), dtype));
            return None;
        }
        let value = builder.finish();
        let (domain, extents) =
            (std::mem::take(&mut scope.domain), std::mem::take(&mut scope.extents));
        let guards = std::mem::take(&mut scope.guards);
        let (flag, fixed) = (found.flag(), self.fixed_axes(loops()));
        let surface = scratch.sources();
        let mut view = PassView::new(&self.known, found, &surface, fixed, &extents);
        let value = scalar(&mut view, &value)?;
        let (guards, conditions) = guarded(&mut view, &guards)?;
        let domain = domain[fixed..].to_vec();
        let lowered =
            crate::core::Statement { guards, span: condition.span().into(), ..any(domain, value) };
        let PassView { inputs, lookups, bounds, .. } = view;
        let statement = PassStatement {
            lowered,
            extents: Vec::new(),
            window: Window::whole(flag, 0),
            shape: Vec::new(),
            dtype: DType::Bool,
            inputs,
            lookups,
            bounds,
            conditions,
            probe: Vec::new(),
            accumulates: false,
        };
        let update = update(&checked.source, &[&statement])?;
        Some((flag, LoopStep::Update(Box::new(update))))
    }
}

/// Guards and conditions of a statement in a pass.
type Conditions = (Vec<(IndexExpr, u64)>, Vec<PassCondition>);

/// The statement over the axes that vary in a pass.
fn passes(
    view: &mut PassView<'_, '_>,
    (n, statement): (usize, &Statement),
    array: usize,
    whole: &Whole,
    slices: &[bool],
) -> Option<PassStatement> {
    let (window, out_index) = left(view, array, whole, slices)?;
    let value = scalar(view, &whole.value)?;
    let (guards, mut conditions) = guarded(view, &whole.guards)?;
    let reduce = monoid(statement.assign.op);
    let accumulates = statement.assign.accumulate;
    let mut probe = Vec::new();
    if !accumulates {
        let open = std::mem::take(&mut view.open);
        match meeting(view, &open) {
            Some(more) => conditions.extend(more),
            None => probe = open.into_iter().map(|open| (open.seen, open.extent)).collect(),
        }
    }
    let domain = whole.domain[view.fixed..].to_vec();
    let combined = reducer(view.known.checked, (n, statement), domain.len(), &out_index);
    let lowered = crate::core::Statement {
        out: ArrayId(u32::MAX),
        domain,
        out_index,
        init: Init::Identity(reduce),
        reduce: combined,
        value,
        guards,
        span: statement.span.into(),
    };
    Some(PassStatement {
        lowered,
        extents: whole.extents[view.fixed..].to_vec(),
        window,
        shape: whole.shape.clone(),
        dtype: whole.dtype,
        inputs: std::mem::take(&mut view.inputs),
        lookups: std::mem::take(&mut view.lookups),
        bounds: std::mem::take(&mut view.bounds),
        conditions,
        probe,
        accumulates,
    })
}

/// The window on the left, and the index in it.
fn left(
    view: &mut PassView<'_, '_>,
    array: usize,
    whole: &Whole,
    slices: &[bool],
) -> Option<(Window, Vec<IndexExpr>)> {
    let version = Version::known(Kind::Of(whole.dtype), whole.shape.clone());
    let array = view.found.of(array, &version);
    let mut window = Window::whole(array, whole.shape.len());
    let mut rest = Vec::new();
    let axes = whole.out_index.iter().zip(&whole.shape).zip(slices).enumerate();
    for (axis, ((e, &extent), &slice)) in axes {
        match slice {
            true => window.fixed[axis] = Some(view.position(e, extent)?),
            false => {
                let seen = view.seen(e)?;
                view.note_open(e, &seen, extent);
                rest.push(seen);
            }
        }
    }
    Some((window, rest))
}

/// The value as a pass sees it.
fn scalar(view: &mut PassView<'_, '_>, value: &ScalarExpr) -> Option<ScalarExpr> {
    let node = |node: &ScalarNode| {
        Some(match node {
            ScalarNode::Access(access) => ScalarNode::Access(view.access(access)?),
            ScalarNode::Index(e) => ScalarNode::Index(view.seen(e)?),
            ScalarNode::Random { key, counter, lo, hi } => {
                ScalarNode::Random { key: *key, counter: view.seen(counter)?, lo: *lo, hi: *hi }
            }
            other => other.clone(),
        })
    };
    let nodes = value.nodes.iter().map(node).collect::<Option<Vec<_>>>()?;
    Some(ScalarExpr { nodes })
}

/// Guards over the axes that vary in a pass, and as conditions those that do not depend on them.
fn guarded(view: &mut PassView<'_, '_>, guards: &[(IndexExpr, u64)]) -> Option<Conditions> {
    let (mut kept, mut conditions) = (Vec::new(), Vec::new());
    for (e, extent) in guards {
        if view.fixes(e) {
            let position = view.position(e, *extent)?;
            conditions.push(PassCondition {
                least: position.clone(),
                greatest: position,
                extent: *extent,
            });
            continue;
        }
        let seen = view.seen(e)?;
        view.note_open(e, &seen, *extent);
        kept.push((seen, *extent));
    }
    Some((kept, conditions))
}

/// Conditions that hold in the passes that have a point with all of these in bounds, if such conditions tell: each
/// index steps by 1 along an axis of its own.
fn meeting(view: &PassView<'_, '_>, open: &[OpenIndex]) -> Option<Vec<PassCondition>> {
    let mut used: Vec<AxisId> = Vec::new();
    let mut conditions = Vec::new();
    for OpenIndex { lowered, extent, .. } in open {
        let is_own = |axis: AxisId| axis.0 as usize >= view.fixed;
        let mut rest = IndexExpr::constant(lowered.constant);
        let mut own = None;
        for (coefficient, atom) in &lowered.terms {
            let crate::core::Atom::Axis(axis) = atom else { return None };
            if !is_own(*axis) {
                rest = rest.plus(&IndexExpr::axis(*axis).times(*coefficient)?)?;
            } else if coefficient.abs() == 1 && own.is_none() && !used.contains(axis) {
                own = Some((*axis, *coefficient));
            } else {
                return None;
            }
        }
        let reach = own.map_or(0, |(axis, coefficient)| {
            used.push(axis);
            let last = view.extents[axis.0 as usize].max(1) - 1;
            i64::try_from(last).unwrap_or(i64::MAX / 2) * coefficient
        });
        let least = rest.plus(&IndexExpr::constant(reach.min(0)))?;
        let greatest = rest.plus(&IndexExpr::constant(reach.max(0)))?;
        let condition = PassCondition { least, greatest, extent: *extent };
        if !conditions.contains(&condition) {
            conditions.push(condition);
        }
    }
    Some(conditions)
}

/// A statement that is true if a value is at some point of a domain.
fn any(domain: Vec<crate::core::Axis>, value: ScalarExpr) -> crate::core::Statement {
    crate::core::Statement {
        out: ArrayId(u32::MAX),
        domain,
        out_index: Vec::new(),
        init: Init::Identity(Monoid::Or),
        reduce: Some(Reducer::Monoid(Monoid::Or)),
        value,
        guards: Vec::new(),
        span: Default::default(),
    }
}
