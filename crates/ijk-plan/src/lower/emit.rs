//! Lowering of statements to steps: index expressions become extents, offsets and strides.

use crate::PlanError;
use crate::SMALL_DOMAIN;
use crate::domain::bounds::one_each;
use crate::graph::expr::same_bits;
use crate::graph::verify::verify;
use crate::graph::{Axis, ExprNode, Graph, Stmt, coverage};
use crate::layout::Layout;
use crate::lower::buffers::Buffers;
use crate::lower::nest::Emitter;
use crate::lower::reverse;
use crate::lower::sweep;
use crate::lower::{border, contraction, grouped};
use crate::plan::{
    Base, BufferId, Levels, Load, Nest, NestAxis, Node, Plan, Scan, ScanAxis, Sort, Start, Step,
    Store,
};
use ijk_ir::core::{ArrayId, Atom, IndexExpr, Init, Span};
use ijk_types::{Monoid, Reducer, scalar};

/// Lowers a graph to which all passes were applied.
pub(crate) fn plan(graph: &Graph, layout: &Layout) -> Result<Plan, PlanError> {
    let mut buffers = Buffers::new(graph, layout)?;
    let numbered = sweep::number_rows(graph, &buffers, layout.near);
    let graph = numbered.as_ref().unwrap_or(graph);
    if numbered.is_some() {
        verify(graph, "numbers of rows");
        buffers = Buffers::new(graph, layout)?;
    }
    let steps = emit(graph, &mut buffers, layout.near)?;
    let mut plan = Plan { arena: buffers.arena() as usize, buffers: buffers.all, steps };
    reverse::reverse_axes(&mut plan);
    Ok(plan)
}

/// Steps of all statements, and copies for outputs that are inputs or other outputs.
fn emit(graph: &Graph, buffers: &mut Buffers, near: u64) -> Result<Vec<Step>, PlanError> {
    let mut steps = Vec::with_capacity(graph.statements.len());
    let groups = sweep::groups(graph, buffers, near);
    let sweeps: Vec<_> = groups.iter().map(|group| group.statements.clone()).collect();
    buffers.share(graph, &sweeps);
    let mut groups = groups.into_iter().peekable();
    let mut at = 0;
    while at < graph.statements.len() {
        let end = match groups.next_if(|group| group.statements.start == at) {
            Some(group) => {
                steps.push(group.emit(graph, buffers)?);
                group.statements.end
            }
            None => {
                emit_statement(graph, buffers, &graph.statements[at], &mut steps)?;
                at + 1
            }
        };
        (at..end).for_each(|done| buffers.release(graph, done));
        at = end;
    }
    for (n, &output) in graph.outputs.iter().enumerate() {
        let own = BufferId((graph.inputs.len() + n) as u32);
        let (from, shape) = (buffers.of(output), &graph.array(output).shape);
        if from != own && !shape.contains(&0) {
            steps.push(copy(buffers, from, own, Span::default()));
        }
    }
    Ok(steps)
}

fn emit_statement(
    graph: &Graph,
    buffers: &mut Buffers,
    stmt: &Stmt,
    steps: &mut Vec<Step>,
) -> Result<(), PlanError> {
    buffers.define(graph, stmt.out)?;
    if graph.array(stmt.out).shape.contains(&0) {
        return Ok(());
    }
    let covered = coverage::covers(graph, stmt);
    if covered
        && let Some(ExprNode::Const(value)) = stmt.as_leaf()
        && stmt.reduce.is_none()
    {
        steps.push(Step::Fill(buffers.of(stmt.out), *value));
        return Ok(());
    }
    let partial = graph.partial.contains(&stmt.out);
    let mut in_parts = partial;
    if !covered && (!partial || matches!(stmt.init, Init::From(_))) {
        match border::fills(graph, buffers, stmt) {
            Some(fills) => {
                steps.extend(fills);
                in_parts = true;
            }
            None => steps.extend(initialise(graph, buffers, stmt)),
        }
    }
    if let Some(scan) = scan(graph, buffers, stmt) {
        steps.push(Step::Scan(scan));
        return Ok(());
    }
    if let Some(sort) = sort(graph, buffers, stmt) {
        steps.push(Step::Sort(sort));
        return Ok(());
    }
    if let Some(grouped) = grouped::grouped(graph, buffers, stmt) {
        steps.push(Step::Grouped(Box::new(grouped)));
        return Ok(());
    }
    let step = match contraction::contraction(graph, buffers, stmt) {
        Some(contraction) => Step::Contract(contraction),
        None => Step::Nest(nest(graph, buffers, stmt, covered || in_parts)),
    };
    steps.push(step);
    Ok(())
}

/// The scan that computes a statement, if it is one.
fn scan(graph: &Graph, buffers: &Buffers, stmt: &Stmt) -> Option<Scan> {
    let (Some(along), Some(Reducer::Monoid(reduce))) = (stmt.scan, stmt.reduce) else {
        return None;
    };
    let (level, array, index) = match &stmt.value.nodes[..] {
        [ExprNode::Access(array, index)] => (None, array, index),
        [ExprNode::Access(level, at), ExprNode::Access(array, index)] => {
            (Some((level, at)), array, index)
        }
        _ => return None,
    };
    let ((from, from_steps), (to, to_steps)) =
        (strided(buffers, stmt, *array, index), strided(buffers, stmt, stmt.out, &stmt.out_index));
    let axis = |a: usize| scan_axis(&stmt.axes[a], from_steps[a], to_steps[a]);
    let along = along.0 as usize;
    let others = || (0..stmt.axes.len()).filter(|&a| a != along);
    let levels = level.map(|(array, index)| {
        let (base, steps) = strided(buffers, stmt, *array, index);
        Levels { base, along: steps[along], rows: others().map(|a| steps[a]).collect() }
    });
    let (rows, dtype) = (others().map(axis).collect(), graph.array(stmt.out).dtype);
    Some(Scan { dtype, reduce, from, to, levels, along: axis(along), rows, span: stmt.span })
}

/// The step that orders values, if the statement does.
fn sort(graph: &Graph, buffers: &Buffers, stmt: &Stmt) -> Option<Sort> {
    let (Some(places), Some(Reducer::Order(order))) = (stmt.scan, stmt.reduce) else { return None };
    let [ExprNode::Access(array, index)] = &stmt.value.nodes[..] else { return None };
    let ((from, from_steps), (to, to_steps)) =
        (strided(buffers, stmt, *array, index), strided(buffers, stmt, stmt.out, &stmt.out_index));
    let axis = |a: usize| scan_axis(&stmt.axes[a], from_steps[a], to_steps[a]);
    let (values, places) = (stmt.kept_axes().iter().position(|kept| !kept)?, places.0 as usize);
    let rows = (0..stmt.axes.len()).filter(|&a| a != values && a != places).map(axis).collect();
    let (values, places, dtype) = (axis(values), axis(places), graph.array(*array).dtype);
    Some(Sort { dtype, order, from, to, values, places, rows, span: stmt.span })
}

/// Base of an access, and its stride along each axis of the statement.
fn strided(
    buffers: &Buffers,
    stmt: &Stmt,
    array: ArrayId,
    index: &[IndexExpr],
) -> (Base, Vec<isize>) {
    let buffer = buffers.of(array);
    let strides = &buffers.all[buffer.0 as usize].strides;
    let (offset, steps) = affine(index, strides, stmt.axes.len());
    (Base { buffer, offset }, steps)
}

fn scan_axis(axis: &Axis, from: isize, to: isize) -> ScanAxis {
    ScanAxis { name: axis.name.clone(), extent: axis.extent as usize, from, to }
}

/// The step that initialises elements which no point reaches; `None` if they are in place.
fn initialise(graph: &Graph, buffers: &Buffers, stmt: &Stmt) -> Option<Step> {
    let out = buffers.of(stmt.out);
    match stmt.init {
        Init::From(source) if buffers.of(source) == out => None,
        Init::From(source) => Some(copy(buffers, buffers.of(source), out, stmt.span)),
        init => Some(Step::Fill(out, graph.initial_value(stmt.out, init, stmt.reduce))),
    }
}

/// Axes of a nest over a box of an array.
pub(super) fn box_axes(extents: impl Iterator<Item = usize>) -> Vec<NestAxis> {
    let axis =
        |(n, extent)| NestAxis { name: format!("i{n}"), extent, reduced: false, collides: false };
    extents.enumerate().map(axis).collect()
}

/// A nest that copies one buffer to another of the same shape.
fn copy(buffers: &Buffers, from: BufferId, to: BufferId, span: Span) -> Step {
    let (source, target) = (&buffers.all[from.0 as usize], &buffers.all[to.0 as usize]);
    let load = Load {
        base: Base { buffer: from, offset: 0 },
        dtype: source.dtype,
        strides: source.strides.clone(),
    };
    let store = Store {
        base: Base { buffer: to, offset: 0 },
        dtype: target.dtype,
        strides: target.strides.clone(),
        offset: None,
    };
    Step::Nest(Nest {
        axes: box_axes(source.shape.iter().copied()),
        loads: vec![load],
        body: vec![Node::Load(0)],
        store,
        reduce: None,
        start: Start::Covered,
        sequential: false,
        span,
    })
}

fn nest(graph: &Graph, buffers: &Buffers, stmt: &Stmt, covered: bool) -> Nest {
    let mut emitter = Emitter::new(graph, buffers, stmt);
    let fixed = emitter.fixed_places(stmt);
    let stays = emitter.stays_inside(stmt.out, &stmt.out_index);
    let (base, strides, offset) = match stays {
        true if stmt.out_index.iter().all(IndexExpr::is_affine) => {
            emitter.place(stmt.out, &stmt.out_index)
        }
        true => {
            let (base, strides, offset) = emitter.split_place(stmt.out, &stmt.out_index);
            (base, strides, Some(offset))
        }
        false => emitter.masked_place(stmt.out, &stmt.out_index),
    };
    let value = emitter.value(&stmt.value);
    let dtype = graph.array(stmt.out).dtype;
    let (value, reduce) = match stmt.reduce {
        Some(Reducer::Monoid(monoid)) if stays && stores(graph, stmt, monoid) => {
            let value = if stmt.single { value } else { emitter.combined(value, monoid, dtype) };
            (emitter.masked(value, scalar::identity(monoid, dtype)), None)
        }
        Some(_) if stmt.single && stmt.guards.is_empty() => (value, None),
        reduce => (emitter.neutral_where_masked(value, reduce, dtype), reduce),
    };
    let (loads, body) = emitter.finish(value);
    Nest {
        axes: nest_axes(stmt, &fixed),
        loads,
        body,
        store: Store { base, dtype, strides, offset },
        reduce,
        start: if covered { Start::Covered } else { Start::Existing },
        sequential: stmt.points() <= SMALL_DOMAIN && !graph.partial.contains(&stmt.out),
        span: stmt.span,
    }
}

/// Tells whether a guarded reduction can store the identity where guards fail: each point owns an element, which
/// starts from the identity.
fn stores(graph: &Graph, stmt: &Stmt, monoid: Monoid) -> bool {
    let start = graph.initial_value(stmt.out, stmt.init, stmt.reduce);
    let identity = scalar::identity(monoid, graph.array(stmt.out).dtype);
    let fresh = !matches!(stmt.init, Init::From(_)) && same_bits(start, identity);
    !stmt.guards.is_empty() && fresh && one_each(stmt)
}

/// Axes of the nest. `fixed` are the positions of the output that skipped points have, too.
fn nest_axes(stmt: &Stmt, fixed: &[IndexExpr]) -> Vec<NestAxis> {
    let kept = stmt.kept_axes();
    let determined = coverage::determined(fixed, &stmt.extents());
    let axis = |a: usize| NestAxis {
        name: stmt.axes[a].name.clone(),
        extent: stmt.axes[a].extent as usize,
        reduced: !kept[a],
        collides: stmt.reduce.is_some() && kept[a] && !determined[a],
    };
    (0..stmt.axes.len()).map(axis).collect()
}

/// Offset and strides, `offset + Σ stride · axis`, of an affine index into an array of the given strides. Wrapping
/// arithmetic is exact for indices in bounds; others are never accessed.
pub(crate) fn affine(
    index: &[IndexExpr],
    array_strides: &[isize],
    axes: usize,
) -> (isize, Vec<isize>) {
    let (mut offset, mut strides) = (0isize, vec![0isize; axes]);
    for (e, &stride) in index.iter().zip(array_strides) {
        offset = offset.wrapping_add(stride.wrapping_mul(e.constant as isize));
        for (coefficient, atom) in &e.terms {
            if let Atom::Axis(axis) = atom {
                let step = &mut strides[axis.0 as usize];
                *step = step.wrapping_add(stride.wrapping_mul(*coefficient as isize));
            }
        }
    }
    (offset, strides)
}
