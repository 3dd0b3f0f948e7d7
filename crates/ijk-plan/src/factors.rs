//! Factors of contractions, applied where they meet fewer elements.
//!
//! A contraction that is multiplied by a power of two (the `0.125` of attention) multiplies the smaller operand
//! instead, which gives the same bits; another constant would round what may be exact without it. What is
//! multiplied stays as far from overflow as it was: constants are of moderate size.

use crate::across;
use crate::contraction;
use crate::graph::{Axis, Graph, Node, Stmt};
use crate::index::{of_axes, plain_axes};
use crate::simplify::drop_dead;
use ijk_ir::core::{ArrayId, Init};
use ijk_types::{BinaryOp, Monoid, Reducer, Scalar};

/// So many elements must have had a factor for each that has one then: it takes another step.
const FEWER: u64 = 4;

/// Powers of two between this and its inverse are moderate.
const MODERATE: f64 = 1.0 / (1 << 24) as f64;

/// Runs the pass.
pub(crate) fn apply_to_fewer(graph: &mut Graph) {
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

/// What replaces a statement.
struct Moved {
    /// The shape of an array that comes between.
    shape: Vec<u64>,
    /// The statements, given that array.
    by: Box<dyn FnOnce(ArrayId) -> [Stmt; 2]>,
}

/// A statement's way back to what defines the arrays it reads.
struct Chain<'g> {
    graph: &'g Graph,
    definitions: &'g [Option<u32>],
    uses: &'g [u32],
}

/// An access to an array, by different axes.
struct Read {
    array: ArrayId,
    axes: Vec<usize>,
}

impl Chain<'_> {
    /// A contraction times a power of two: with an operand times that.
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
            let few = self.points(operand.array).saturating_mul(FEWER) <= stmt.points();
            let rows = operand.axes.contains(index.first()?);
            few.then_some((node, operand, rows))
        };
        // Rows go together with what else is computed row by row.
        let (node, operand, _) = (0..2).rev().filter_map(few).max_by_key(|&(_, _, rows)| rows)?;
        let shape = self.graph.array(operand.array).shape.clone();
        let axes = axes_at(contraction, &operand.axes);
        let whole = extents(contraction, &operand.axes).eq(shape.iter().copied());
        let mut contraction =
            Stmt { out: stmt.out, out_index: of_axes(index), ..contraction.clone() };
        // It is stored along what it reads on purpose.
        if across::along(self.graph, &contraction).is_some() {
            return None;
        }
        let by = move |array| {
            let operand = Node::Access(operand.array, of_axes(0..axes.len()));
            let nodes = vec![operand, constant, Node::Binary(op, 0, 1)];
            let scaled = Stmt::map(array, axes, nodes, contraction.span);
            if let Node::Access(read, _) = &mut contraction.value.nodes[node] {
                *read = array;
            }
            [scaled, contraction]
        };
        whole.then_some(Moved { shape, by: Box::new(by) })
    }

    /// A statement that is a contraction by multiplication and addition of real numbers.
    fn contraction<'s>(&self, stmt: &'s Stmt) -> Option<&'s Stmt> {
        let sums = stmt.init == Init::Identity(Monoid::Add)
            && stmt.reduce == Some(Reducer::Monoid(Monoid::Add))
            && matches!(stmt.value.nodes[..], [_, _, Node::Binary(BinaryOp::Mul, 0, 1)]);
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

/// The array that a statement multiplies or divides by a moderate power of two.
fn times_power_of_two(stmt: &Stmt) -> Option<(Read, BinaryOp, Node)> {
    let [x, y, Node::Binary(op @ (BinaryOp::Mul | BinaryOp::Div), 0, 1)] = &stmt.value.nodes[..]
    else {
        return None;
    };
    let (array, constant) = match (x, y) {
        (Node::Const(_), array) if *op == BinaryOp::Mul => (array, x),
        (array, constant) => (array, constant),
    };
    let size = match constant {
        Node::Const(Scalar::F32(x)) => f64::from(x.abs()),
        Node::Const(Scalar::F64(x)) => x.abs(),
        _ => return None,
    };
    let moderate = (MODERATE..=1.0 / MODERATE).contains(&size);
    let power = size.log2().fract() == 0.0;
    (moderate && power).then_some((read(array)?, *op, constant.clone()))
}

/// Whether a statement computes each element from one point.
fn is_map(stmt: &Stmt) -> bool {
    stmt.reduce.is_none()
        && stmt.guards.is_empty()
        && stmt.scan.is_none()
        && !matches!(stmt.init, Init::From(_))
}

/// The extents of some axes.
fn extents<'s>(stmt: &'s Stmt, axes: &'s [usize]) -> impl Iterator<Item = u64> + 's {
    axes.iter().map(|&axis| stmt.axes[axis].extent)
}

fn axes_at(stmt: &Stmt, axes: &[usize]) -> Vec<Axis> {
    axes.iter().map(|&axis| stmt.axes[axis].clone()).collect()
}

fn read(node: &Node) -> Option<Read> {
    let Node::Access(array, index) = node else { return None };
    Some(Read { array: *array, axes: plain_axes(index)? })
}

/// Each axis replaced by the one that stands in `to` where it stands in `from`.
fn renamed(axes: &[usize], from: &[usize], to: &[usize]) -> Option<Vec<usize>> {
    axes.iter().map(|axis| Some(to[from.iter().position(|other| other == axis)?])).collect()
}
