//! Scales of contractions, applied to the smaller operand.
//!
//! A contraction times a power of two (the `0.125` of attention) multiplies the smaller operand instead, which gives
//! the same bits; other constants would add a rounding. Constants are of moderate size, so that overflow is no more
//! likely than before.

use crate::canonical::simplify::drop_dead;
use crate::graph::index::{of_axes, plain_axes};
use crate::graph::{Axis, ExprNode, Graph, Stmt};
use crate::layout::transposed_reductions;
use crate::select::contraction;
use ijk_ir::core::{ArrayId, Init};
use ijk_types::{BinaryOp, Monoid, Reducer, Scalar};

/// Least ratio of elements of the product to those of the scaled operand, for which the separate step pays.
const MIN_PRODUCT_RATIO: u64 = 4;

/// Powers of two between `MODERATE` and its inverse are moderate.
const MODERATE: f64 = 1.0 / (1 << 24) as f64;

/// Runs the pass.
pub(crate) fn hoist_scales(graph: &mut Graph) {
    if graph.strict {
        return;
    }
    if !graph.statements.iter().any(|stmt| times_power_of_two(stmt).is_some()) {
        return drop_dead(graph);
    }
    let definitions = graph.definitions();
    let uses = graph.uses();
    let chain = Chain { graph, definitions: &definitions, uses: &uses };
    let moved: Vec<Option<Moved>> = graph.statements.iter().map(|stmt| chain.early(stmt)).collect();
    if moved.iter().all(Option::is_none) {
        return drop_dead(graph);
    }
    let mut all = Vec::with_capacity(graph.statements.len());
    for (stmt, moved) in std::mem::take(&mut graph.statements).into_iter().zip(moved) {
        match moved {
            Some(Moved { shape, by }) => {
                let dtype = graph.array(stmt.out).dtype;
                all.extend(by(graph.new_array(dtype, shape)));
            }
            None => all.push(stmt),
        }
    }
    graph.statements = all;
    drop_dead(graph);
}

/// Replacement of a statement.
struct Moved {
    /// Shape of the intermediate array.
    shape: Vec<u64>,
    /// The statements that use it.
    by: Box<dyn FnOnce(ArrayId) -> [Stmt; 2]>,
}

/// Use-def chains from a statement to the definitions of its operands.
struct Chain<'g> {
    graph: &'g Graph,
    definitions: &'g [Option<u32>],
    uses: &'g [u32],
}

/// An access indexed by distinct axes.
struct PlainAccess {
    array: ArrayId,
    axes: Vec<usize>,
}

impl Chain<'_> {
    /// Rewrites a contraction times a power of two as one with a scaled operand.
    fn early(&self, stmt: &Stmt) -> Option<Moved> {
        let (of, op, constant) = times_power_of_two(stmt)?;
        let out = plain_axes(&stmt.out_index)?;
        let contraction = self.contraction(self.definition(of.array)?)?;
        let own = plain_axes(&contraction.out_index)?;
        let same = extents(stmt, &of.axes).eq(extents(contraction, &own));
        let only = self.uses[of.array.0 as usize] == 1;
        let index = renamed(&out, &of.axes, &own).filter(|_| same && only && is_map(stmt))?;
        let few = |node: usize| {
            let operand = read(&contraction.value.nodes[node])?;
            let few = self.points(operand.array).saturating_mul(MIN_PRODUCT_RATIO) <= stmt.points();
            let rows = operand.axes.contains(index.first()?);
            few.then_some((node, operand, rows))
        };
        // Prefers the operand that shares the output's rows: it can join a sweep over them.
        let (node, operand, _) = (0..2).rev().filter_map(few).max_by_key(|&(_, _, rows)| rows)?;
        let shape = self.graph.array(operand.array).shape.clone();
        let axes = axes_at(contraction, &operand.axes);
        let whole = extents(contraction, &operand.axes).eq(shape.iter().copied());
        let mut contraction =
            Stmt { out: stmt.out, out_index: of_axes(index), ..contraction.clone() };
        // The pass `across` chose this layout.
        if transposed_reductions::input_order(self.graph, &contraction).is_some() {
            return None;
        }
        let by = move |array| {
            let operand = ExprNode::Access(operand.array, of_axes(0..axes.len()));
            let nodes = vec![operand, constant, ExprNode::Binary(op, 0, 1)];
            let scaled = Stmt::map(array, axes, nodes, contraction.span);
            if let ExprNode::Access(read, _) = &mut contraction.value.nodes[node] {
                *read = array;
            }
            [scaled, contraction]
        };
        whole.then_some(Moved { shape, by: Box::new(by) })
    }

    /// The statement, if it is a real sum of products.
    fn contraction<'s>(&self, stmt: &'s Stmt) -> Option<&'s Stmt> {
        let sums = stmt.init == Init::Identity(Monoid::Add)
            && stmt.reduce == Some(Reducer::Monoid(Monoid::Add))
            && matches!(stmt.value.nodes[..], [_, _, ExprNode::Binary(BinaryOp::Mul, 0, 1)]);
        let real = self.graph.array(stmt.out).dtype.is_float();
        (sums && real && stmt.scan.is_none() && contraction::is_one(self.graph, stmt))
            .then_some(stmt)
    }

    fn definition(&self, array: ArrayId) -> Option<&Stmt> {
        Some(&self.graph.statements[self.definitions[array.0 as usize]? as usize])
    }

    fn points(&self, array: ArrayId) -> u64 {
        self.graph.array(array).shape.iter().fold(1, |n: u64, extent| n.saturating_mul(*extent))
    }
}

/// Matches a statement that multiplies or divides an array by a moderate power of two.
fn times_power_of_two(stmt: &Stmt) -> Option<(PlainAccess, BinaryOp, ExprNode)> {
    let [x, y, ExprNode::Binary(op @ (BinaryOp::Mul | BinaryOp::Div), 0, 1)] =
        &stmt.value.nodes[..]
    else {
        return None;
    };
    let (array, constant) = match (x, y) {
        (ExprNode::Const(_), array) if *op == BinaryOp::Mul => (array, x),
        (array, constant) => (array, constant),
    };
    let size = match constant {
        ExprNode::Const(Scalar::F32(x)) => f64::from(x.abs()),
        ExprNode::Const(Scalar::F64(x)) => x.abs(),
        _ => return None,
    };
    let moderate = (MODERATE..=1.0 / MODERATE).contains(&size);
    let power = size.log2().fract() == 0.0;
    (moderate && power).then_some((read(array)?, *op, constant.clone()))
}

/// Tells whether a statement is an unguarded map.
fn is_map(stmt: &Stmt) -> bool {
    stmt.reduce.is_none()
        && stmt.guards.is_empty()
        && stmt.scan.is_none()
        && !matches!(stmt.init, Init::From(_))
}

/// Extents of some axes.
fn extents<'s>(stmt: &'s Stmt, axes: &'s [usize]) -> impl Iterator<Item = u64> + 's {
    axes.iter().map(|&axis| stmt.axes[axis].extent)
}

fn axes_at(stmt: &Stmt, axes: &[usize]) -> Vec<Axis> {
    axes.iter().map(|&axis| stmt.axes[axis].clone()).collect()
}

fn read(node: &ExprNode) -> Option<PlainAccess> {
    let ExprNode::Access(array, index) = node else { return None };
    Some(PlainAccess { array: *array, axes: plain_axes(index)? })
}

/// Axes mapped from their positions in `from` to those in `to`.
fn renamed(axes: &[usize], from: &[usize], to: &[usize]) -> Option<Vec<usize>> {
    axes.iter().map(|axis| Some(to[from.iter().position(|other| other == axis)?])).collect()
}
