//! Sums in which a comparison selects one term, rewritten as gathers.
//!
//! `y[z,d] = F32(EQ(c[z], n)) * w[n,d]` multiplies every row of `w` by 0 or 1 and sums: it is `w[c[z],d]` where that
//! row exists, and 0 elsewhere. The compared axis is removed, and its index replaced by the other side of the
//! comparison. An array that is then read at gathered positions only is computed there only: of
//! `a[t,e,h] = x[t,d] * w[e,d,h]`, read as `a[t,c[t],h]`, one expert for each `t`.

use crate::SMALL_DOMAIN;
use crate::canonical::simplify::{digits_of, drop_dead, inline};
use crate::graph::axes::{Axes, of_indices, restrict};
use crate::graph::expr::{self, Builder};
use crate::graph::terms::{Algebra, Terms};
use crate::graph::{Expr, ExprNode, Graph, Stmt, index};
use ijk_ir::core::{ArrayId, Atom, AxisId, IndexExpr, Init};
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, UnaryOp, scalar};

/// Runs the pass.
pub(crate) fn select(graph: &mut Graph) {
    if graph.statements.iter().any(compares) {
        remove_axes(graph);
    }
    let mut at = 0;
    while at < graph.statements.len() {
        match narrowed(graph, at) {
            // The narrowed statement now precedes its reader; both are looked at again.
            true => at -= 1,
            false => at += 1,
        }
    }
}

/// Removes axes that comparisons fix.
fn remove_axes(graph: &mut Graph) {
    let mut found = false;
    let definitions = graph.definitions();
    for at in 0..graph.statements.len() {
        while let Some(stmt) = selected(graph, &definitions, &graph.statements[at]) {
            graph.statements[at] = stmt;
            found = true;
        }
    }
    if found {
        drop_dead(graph);
    }
}

/// Tells whether a statement compares for equality.
fn compares(stmt: &Stmt) -> bool {
    stmt.value.nodes.iter().any(|node| matches!(node, ExprNode::Binary(BinaryOp::Eq, ..)))
}

/// The statement without an axis that a comparison fixes; the comparison may be in another statement.
fn selected(graph: &Graph, definitions: &[Option<u32>], stmt: &Stmt) -> Option<Stmt> {
    let Some(Reducer::Monoid(Monoid::Add)) = stmt.reduce else { return None };
    if stmt.scan.is_some() || graph.can_fail(stmt) {
        return None;
    }
    let named = stmt.value.nodes.iter().find_map(|node| {
        let ExprNode::Access(array, _) = node else { return None };
        let definition = &graph.statements[definitions[array.0 as usize]? as usize];
        let digits = digits_of(graph, definition).filter(|_| is_choice(graph, definition))?;
        let joined = inline(stmt, |a, _| (a == *array).then(|| (definition, digits.clone())))?;
        without_axis(graph, &joined)
    });
    named.or_else(|| without_axis(graph, stmt))
}

/// Tells whether a statement is an unguarded map with a choice as a factor.
fn is_choice(graph: &Graph, stmt: &Stmt) -> bool {
    let plain = stmt.reduce.is_none() && stmt.scan.is_none() && stmt.guards.is_empty();
    if !plain || graph.can_fail(stmt) {
        return false;
    }
    let dtype = graph.array(stmt.out).dtype;
    let terms = Terms::of(&stmt.value, &algebra(dtype)).all;
    terms.iter().any(|term| Choice::of(&stmt.value, term.root).is_some())
}

/// The algebra of sums of products.
fn algebra(dtype: DType) -> Algebra {
    Algebra { op: BinaryOp::Mul, monoid: Monoid::Add, dtype }
}

/// The statement without an axis that a comparison of its own fixes.
fn without_axis(graph: &Graph, stmt: &Stmt) -> Option<Stmt> {
    if !compares(stmt) {
        return None;
    }
    let types = graph.node_types(&stmt.value);
    let dtype = *types.last()?;
    let terms = Terms::of(&stmt.value, &algebra(dtype));
    let free = !graph.strict && stmt.points() > SMALL_DOMAIN;
    let found = terms.all.iter().filter(|term| !term.inverse).find_map(|term| {
        let choice = Choice::of(&stmt.value, term.root)?;
        // Infinities and NaN times 0 would show: they do in small domains and strict plans.
        let whole = choice.value.is_some() && term.root as usize + 1 == types.len();
        let exact = whole || !(dtype.is_float() || dtype.is_complex());
        let (axis, place) = choice.fixed(graph, stmt, &types).filter(|_| exact || free)?;
        Some((term.root, choice, axis, place))
    });
    let (root, choice, axis, place) = found?;
    let value = without(&stmt.value, root, choice.value, dtype)?;
    at_places(Stmt { value, ..stmt.clone() }, &[(axis, place)])
}

/// A term that is 0 unless two numbers are equal.
struct Choice {
    compared: [u32; 2],
    /// Its value where they are equal; 1 if `None`.
    value: Option<u32>,
}

impl Choice {
    fn of(value: &Expr, root: u32) -> Option<Self> {
        let equality = |at: u32| match value.nodes[at as usize] {
            ExprNode::Binary(BinaryOp::Eq, x, y) => Some([x, y]),
            _ => None,
        };
        match value.nodes[root as usize] {
            ExprNode::Unary(UnaryOp::Cast(_), x) => match equality(x) {
                Some(compared) => Some(Self { compared, value: None }),
                // 0 and 1 are the same numbers in all types.
                None => Self::of(value, x)
                    .filter(|inner| inner.is_one(value))
                    .map(|inner| Self { value: None, ..inner }),
            },
            ExprNode::Select(condition, yes, no) => {
                let zero = expr::is_zero_node(&value.nodes[no as usize]);
                let compared = equality(condition).filter(|_| zero)?;
                Some(Self { compared, value: Some(yes) })
            }
            _ => None,
        }
    }

    /// Tells whether its value is 1 where the numbers are equal.
    fn is_one(&self, value: &Expr) -> bool {
        self.value.is_none_or(|at| expr::is_one_node(&value.nodes[at as usize]))
    }

    /// A reduced axis with a single value for which the numbers are equal, and that value.
    fn fixed(&self, graph: &Graph, stmt: &Stmt, types: &[DType]) -> Option<(usize, IndexExpr)> {
        let [left, right] = self.compared.map(|at| expr::as_index(&stmt.value, types, at));
        let difference = index::add(&left?, &index::scale(&right?, -1)?)?;
        let kept = stmt.kept_axes();
        difference.terms.iter().find_map(|(_, atom)| {
            let Atom::Axis(AxisId(axis)) = *atom else { return None };
            let axis = Some(axis as usize).filter(|&axis| !kept[axis])?;
            Some((axis, solved(graph, stmt, &difference, axis)?))
        })
    }
}

/// The only value of an axis for which a difference is 0, in terms of the others.
pub(crate) fn solved(
    graph: &Graph,
    stmt: &Stmt,
    difference: &IndexExpr,
    axis: usize,
) -> Option<IndexExpr> {
    let own = IndexExpr::axis(AxisId(axis as u32));
    let term = difference.terms.iter().find(|(_, atom)| *atom == Atom::Axis(AxisId(axis as u32)));
    let coefficient = term.map(|(coefficient, _)| *coefficient).filter(|c| c.abs() == 1)?;
    let rest = index::add(difference, &index::scale(&own, -coefficient)?)?;
    // The value must fit an index.
    let small = index::range(&rest, &stmt.extents());
    let fits = |n: i128| i64::try_from(n).is_ok();
    let bounded = index::reads(&rest) || fits(small.0) && fits(small.1);
    let fixes = !of_indices([&rest]).contains(&(axis as u32)) && bounded;
    let place = fixes.then(|| index::scale(&rest, -coefficient)).flatten()?;
    in_bounds(graph, stmt, &place).then_some(place)
}

/// Tells whether the elements in an index are in bounds where the statement's guards hold.
fn in_bounds(graph: &Graph, stmt: &Stmt, place: &IndexExpr) -> bool {
    let extents = stmt.extents();
    let mut inside = true;
    index::for_each_element(place, &mut |access| {
        let shape = &graph.array(access.array).shape;
        inside &= access.index.iter().zip(shape).all(|(e, &extent)| {
            let guarded = stmt.guards.iter().any(|(guard, least)| guard == e && *least <= extent);
            guarded || crate::domain::bounds::holds(e, extent, &extents)
        });
    });
    inside
}

/// The value with a term replaced by 1, or by the chosen operand.
fn without(value: &Expr, root: u32, chosen: Option<u32>, dtype: DType) -> Option<Expr> {
    let mut builder = Builder::default();
    let mut places: Vec<u32> = Vec::with_capacity(value.nodes.len());
    for (at, node) in value.nodes.iter().enumerate() {
        let place = match (node, chosen) {
            (_, Some(chosen)) if at as u32 == root => places[chosen as usize],
            (_, None) if at as u32 == root => builder.push(ExprNode::Const(one(dtype)?)),
            (&ExprNode::Binary(BinaryOp::Mul, x, y), None) if x == root && y != root => {
                places[y as usize]
            }
            (&ExprNode::Binary(BinaryOp::Mul, x, y), None) if y == root && x != root => {
                places[x as usize]
            }
            _ => builder.push(node.map_children(|child| places[child as usize])),
        };
        places.push(place);
    }
    Some(builder.finish(*places.last()?))
}

fn one(dtype: DType) -> Option<Scalar> {
    Some(scalar::identity(Monoid::Mul, dtype)).filter(|_| dtype != DType::Bool)
}

/// The statement with some axes fixed to index expressions, guarded by their extents.
fn at_places(stmt: Stmt, places: &[(usize, IndexExpr)]) -> Option<Stmt> {
    let mut map = index::of_axes(0..stmt.axes.len());
    for (axis, place) in places {
        map[*axis] = place.clone();
    }
    let mut placed = stmt.substitute(&map, stmt.axes.clone())?;
    let guard = |(axis, place): &(usize, IndexExpr)| (place.clone(), stmt.axes[*axis].extent);
    placed.guards.extend(places.iter().map(guard));
    placed.guards.sort_by_key(|(e, _)| index::reads(e));
    Some(restrict(placed, |axis| places.iter().all(|(other, _)| *other != axis)))
}

/// Narrows the computation of an array that one statement reads at gathered positions to these, and moves it before
/// the reader. Returns true if there is one.
fn narrowed(graph: &mut Graph, at: usize) -> bool {
    let Some((definition, node, array, stmt)) = narrower(graph, at) else { return false };
    graph.statements[at].value.nodes[node] = array;
    graph.statements.insert(at, stmt);
    graph.statements.remove(definition);
    true
}

/// Position of the definition, node of the reader, its replacement, and the narrowed statement.
fn narrower(graph: &mut Graph, at: usize) -> Option<(usize, usize, ExprNode, Stmt)> {
    let reader = &graph.statements[at];
    let gathers = |node: &ExprNode| {
        matches!(node, ExprNode::Access(..)) && node.indices().iter().any(index::reads)
    };
    if !reader.value.nodes.iter().any(gathers) {
        return None;
    }
    let (definitions, uses) = (graph.definitions(), graph.uses());
    let fixed = |array: ArrayId| {
        [&graph.inputs, &graph.outputs, &graph.fallible].into_iter().any(|all| all.contains(&array))
            || graph.partial.contains(&array)
    };
    let (node, definition, narrow) =
        reader.value.nodes.iter().enumerate().filter(|(_, node)| gathers(node)).find_map(
            |(n, node)| {
                let ExprNode::Access(array, places) = node else { return None };
                let definition = definitions[array.0 as usize]? as usize;
                let alone = uses[array.0 as usize] == 1 && !fixed(*array);
                let stmt = Some(&graph.statements[definition]).filter(|_| alone)?;
                Some((n, definition, NarrowedRead::of(graph, reader, places, stmt)?))
            },
        )?;
    let (stmt, places) = (graph.statements[definition].clone(), narrow.kept.clone());
    let small = narrow.of_statement(stmt)?;
    let shape = small.out_index.iter().filter_map(index::plain_axis);
    let shape = shape.map(|axis| small.axes[axis.0 as usize].extent).collect();
    let array = graph.new_array(graph.array(small.out).dtype, shape);
    Some((definition, node, ExprNode::Access(array, places), Stmt { out: array, ..small }))
}

/// Positions at which an array is read, along fixed and whole axes.
struct NarrowedRead {
    /// Fixed axes of its statement, with their positions over the statement's axes.
    fixed: Vec<(usize, IndexExpr)>,
    /// Positions along the other axes, over axes of the reader.
    kept: Vec<IndexExpr>,
}

impl NarrowedRead {
    /// The narrowing of a statement by the index of a reader, if that covers some axes whole, and fixes the others as
    /// functions of these.
    fn of(graph: &Graph, reader: &Stmt, places: &[IndexExpr], stmt: &Stmt) -> Option<Self> {
        let own = index::plain_axes(&stmt.out_index)?;
        let shape = &graph.array(stmt.out).shape;
        let whole = own.iter().zip(shape).all(|(&axis, &extent)| stmt.axes[axis].extent == extent);
        let starts = matches!(stmt.init, Init::Zero | Init::Identity(_));
        let reduces = matches!(stmt.reduce, Some(Reducer::Monoid(_)));
        if !(whole && starts && reduces) || stmt.scan.is_some() || graph.can_fail(stmt) {
            return None;
        }
        // For each axis of the reader, the matching axis of the statement.
        let mut with: Vec<Option<usize>> = vec![None; reader.axes.len()];
        let mut kept = Vec::new();
        for ((e, &axis), &extent) in places.iter().zip(&own).zip(shape) {
            let Some(plain) = index::plain_axis(e) else { continue };
            let plain = plain.0 as usize;
            if with[plain].is_some() || reader.axes[plain].extent != extent {
                return None;
            }
            with[plain] = Some(axis);
            kept.push(e.clone());
        }
        let computed: Vec<(usize, &IndexExpr)> =
            own.into_iter().zip(places).filter(|(_, e)| index::plain_axis(e).is_none()).collect();
        let axes: Axes = of_indices(computed.iter().map(|(_, e)| *e));
        if kept.is_empty() || axes.iter().any(|&axis| with[axis as usize].is_none()) {
            return None;
        }
        let extents = stmt.extents();
        let axis = |with: &Option<usize>| IndexExpr::axis(AxisId(with.unwrap_or(0) as u32));
        let map: Vec<IndexExpr> = with.iter().map(axis).collect();
        let over_own =
            |(axis, e): (usize, &IndexExpr)| Some((axis, index::substitute(e, &map, &extents)?));
        let fixed = computed.into_iter().map(over_own).collect::<Option<_>>()?;
        let narrow = Self { fixed, kept };
        let inside = narrow.fixed.iter().all(|(_, place)| in_bounds(graph, stmt, place));
        inside.then_some(narrow)
    }

    /// The statement at these positions.
    fn of_statement(&self, stmt: Stmt) -> Option<Stmt> {
        let fixed = |axis: &usize| self.fixed.iter().any(|(other, _)| other == axis);
        let own = index::plain_axes(&stmt.out_index)?;
        let out_index = index::of_axes(own.into_iter().filter(|axis| !fixed(axis)));
        at_places(Stmt { out_index, ..stmt }, &self.fixed)
    }
}
