//! Invariants of [`Graph`], checked after every pass in debug builds.

use crate::graph::{Expr, ExprNode, Graph, Stmt, index};
use ijk_ir::core::{ArrayId, IndexExpr, Init};
use ijk_types::DType;

/// Panics with the name of the pass if the graph is invalid.
pub(crate) fn verify(graph: &Graph, pass: &str) {
    if cfg!(debug_assertions)
        && let Err(reason) = check(graph)
    {
        panic!("pass `{pass}` broke the program: {reason}");
    }
}

fn check(graph: &Graph) -> Result<(), String> {
    let mut defined = vec![false; graph.arrays.len()];
    for input in &graph.inputs {
        defined[input.0 as usize] = true;
    }
    for stmt in &graph.statements {
        check_statement(graph, stmt, &defined).map_err(|e| format!("{e} in {stmt:?}"))?;
        ensure(!defined[stmt.out.0 as usize], "an array is defined twice")?;
        defined[stmt.out.0 as usize] = true;
    }
    ensure(graph.outputs.iter().all(|o| defined[o.0 as usize]), "an output is not defined")
}

fn check_statement(graph: &Graph, stmt: &Stmt, defined: &[bool]) -> Result<(), String> {
    ensure(
        stmt.reduce.is_some() || stmt.axes.is_empty() || stmt.points() < 2 || keeps_all(stmt),
        "a map drops an axis",
    )?;
    ensure(!stmt.orders() || places_of_order(stmt), "an order has no axis of places")?;
    check_places(graph, stmt.out, &stmt.out_index, stmt)?;
    let mut known = true;
    stmt.for_each_read(|array| known &= defined[array.0 as usize]);
    ensure(known, "an array is read before it is defined")?;
    for node in &stmt.value.nodes {
        if let ExprNode::Access(array, index) = node {
            check_places(graph, *array, index, stmt)?;
        }
    }
    if let Init::From(source) = stmt.init {
        let (from, to) = (graph.array(source), graph.array(stmt.out));
        ensure(from.shape == to.shape && from.dtype == to.dtype, "initial values do not fit")?;
    }
    check_types(graph, stmt)
}

/// Tells whether one axis is reduced, and the value does not depend on that of the places.
fn places_of_order(stmt: &Stmt) -> bool {
    let Some(places) = stmt.scan else { return false };
    let kept = stmt.kept_axes();
    let depends = |e: &IndexExpr| index::depends(e, places.0 as usize);
    let values = stmt.value.nodes.iter().flat_map(ExprNode::indices);
    kept.iter().filter(|kept| !**kept).count() == 1
        && kept[places.0 as usize]
        && stmt.guards.is_empty()
        && !values.into_iter().any(depends)
}

fn keeps_all(stmt: &Stmt) -> bool {
    stmt.kept_axes().iter().zip(&stmt.axes).all(|(kept, axis)| *kept || axis.extent < 2)
}

fn check_places(
    graph: &Graph,
    array: ArrayId,
    places: &[IndexExpr],
    stmt: &Stmt,
) -> Result<(), String> {
    let shape = &graph.array(array).shape;
    ensure(places.len() == shape.len(), "an access has the wrong rank")?;
    let mut known = true;
    for e in places {
        index::for_each_axis(e, &mut |axis| known &= (axis.0 as usize) < stmt.axes.len());
    }
    ensure(known, "an index names no axis of the domain")?;
    let extents = stmt.extents();
    if extents.contains(&0) {
        return Ok(());
    }
    let inside = |(e, &extent): (&IndexExpr, &u64)| {
        let (least, greatest) = index::range(e, &extents);
        least >= 0 && greatest < i128::from(extent)
    };
    let guarded = !stmt.guards.is_empty();
    ensure(guarded || places.iter().zip(shape).all(inside), "an index leaves its array")
}

fn check_types(graph: &Graph, stmt: &Stmt) -> Result<(), String> {
    check_order(&stmt.value)?;
    let types = graph.node_types(&stmt.value);
    let dtype = match stmt.reduce {
        Some(reducer) if reducer.gives_positions() => DType::I64,
        _ => types[types.len() - 1],
    };
    ensure(dtype == graph.array(stmt.out).dtype, "the value has another type than the output")?;
    let same = stmt.value.nodes.iter().all(|node| match node {
        ExprNode::Binary(_, x, y) => types[*x as usize] == types[*y as usize],
        ExprNode::Select(c, x, y) => {
            types[*c as usize] == DType::Bool && types[*x as usize] == types[*y as usize]
        }
        _ => true,
    });
    ensure(same, "operands differ in type")
}

fn check_order(value: &Expr) -> Result<(), String> {
    let ordered = |(at, node): (usize, &ExprNode)| node.children().all(|c| (c as usize) < at);
    ensure(!value.nodes.is_empty(), "a value is missing")?;
    ensure(value.nodes.iter().enumerate().all(ordered), "an operand follows its user")
}

fn ensure(holds: bool, reason: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(reason.to_owned()) }
}
