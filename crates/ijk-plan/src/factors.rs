//! Pass 9: factors of contractions, applied where they meet fewer elements.
//!
//! A contraction that is multiplied by a power of two (the `0.125` of attention) multiplies the smaller operand
//! instead, which gives the same bits; another constant would round what may be exact without it. One of weights
//! that a softmax has divided by their sums is divided itself, and so rounded once: a row of weights has one
//! divisor, and a row of the result is often much shorter.
//!
//! What is multiplied stays as far from overflow as it was: constants are of moderate size, and such weights are at
//! most 1, and their sum between 1 and their number.

use crate::contraction;
use crate::graph::{Axis, Graph, Node, Stmt};
use crate::index::{of_axes, plain_axes};
use crate::simplify::drop_dead;
use ijk_ir::core::{ArrayId, Init};
use ijk_types::{BinaryOp, Monoid, Reducer, Scalar, UnaryOp};

/// So many elements must have had a factor for each that has one then: it takes another step.
const FEWER: u64 = 4;

/// Powers of two between this and its inverse are moderate.
const MODERATE: f64 = 1.0 / (1 << 24) as f64;

/// Runs the pass.
pub(crate) fn apply_to_fewer(graph: &mut Graph) {
    let definitions = graph.definitions();
    let uses = graph.uses();
    let mut all = Vec::with_capacity(graph.statements.len());
    for at in 0..graph.statements.len() {
        let chain = Chain { graph, definitions: &definitions, uses: &uses };
        let stmt = &graph.statements[at];
        match chain.early(stmt).or_else(|| chain.late(stmt)) {
            Some(Moved { shape, by }) => {
                let dtype = graph.array(stmt.out).dtype;
                all.extend(by(graph.new_array(dtype, shape)));
            }
            None => all.push(stmt.clone()),
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

    /// A contraction of weights divided by their sums: divided itself.
    fn late(&self, stmt: &Stmt) -> Option<Moved> {
        let contraction = self.contraction(stmt)?;
        let out = plain_axes(&contraction.out_index)?;
        let shape = self.graph.array(stmt.out).shape.clone();
        let covers = extents(stmt, &out).eq(shape.iter().copied());
        let (node, weights, sums) = (0..2).find_map(|node| {
            let of = read(&contraction.value.nodes[node])?;
            let [weights, sums] = self.normalised(&of)?;
            let late = sums.axes.iter().all(|axis| out.contains(axis));
            let few = self.points(stmt.out).saturating_mul(FEWER) <= self.points(of.array);
            (late && few).then_some((node, weights, sums))
        })?;
        let places: Vec<usize> = (0..out.len()).collect();
        let divisor = renamed(&sums.axes, &out, &places).filter(|_| covers)?;
        let axes = axes_at(stmt, &out);
        let mut contraction = contraction.clone();
        let by = move |array| {
            let nodes = vec![
                Node::Access(array, of_axes(places)),
                Node::Access(sums.array, of_axes(divisor)),
                Node::Binary(BinaryOp::Div, 0, 1),
            ];
            let divided = Stmt::map(contraction.out, axes, nodes, contraction.span);
            contraction.value.nodes[node] = Node::Access(weights.array, of_axes(weights.axes));
            contraction.out = array;
            [contraction, divided]
        };
        Some(Moved { shape, by: Box::new(by) })
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

    /// The weights and their sums, as read by the statement that reads what a softmax made of them.
    fn normalised(&self, of: &Read) -> Option<[Read; 2]> {
        let quotient = self.definition(of.array).filter(|stmt| is_map(stmt))?;
        let [weights, sums, Node::Binary(BinaryOp::Div, 0, 1)] = &quotient.value.nodes[..] else {
            return None;
        };
        let (weights, sums) = (read(weights)?, read(sums)?);
        let over = self.reduced(sums.array, Monoid::Add, weights.array)?;
        let rows: Vec<usize> = over.iter().map(|&place| weights.axes[place]).collect();
        if self.uses[of.array.0 as usize] != 1
            || rows != sums.axes
            || !self.at_most_one(weights.array, &over)
        {
            return None;
        }
        let own = plain_axes(&quotient.out_index)?;
        let seen =
            |Read { array, axes }| Some(Read { array, axes: renamed(&axes, &own, &of.axes)? });
        Some([seen(weights)?, seen(sums)?])
    }

    /// Whether an array's elements are exponentials of how far others are from the greatest of a row, where
    /// rows differ in these places of the index.
    fn at_most_one(&self, array: ArrayId, rows: &[usize]) -> bool {
        let exponentials = || {
            let stmt = self.definition(array).filter(|stmt| is_map(stmt))?;
            let [x, greatest, Node::Binary(BinaryOp::Sub, 0, 1), Node::Unary(UnaryOp::Exp, 2)] =
                &stmt.value.nodes[..]
            else {
                return None;
            };
            let (x, greatest) = (read(x)?, read(greatest)?);
            let over = self.reduced(greatest.array, Monoid::Max, x.array)?;
            let axes: Vec<usize> = over.iter().map(|&place| x.axes[place]).collect();
            let out = plain_axes(&stmt.out_index)?;
            let same = rows.len() == axes.len() && rows.iter().all(|&row| axes.contains(&out[row]));
            Some(same && axes == greatest.axes)
        };
        exponentials().unwrap_or(false)
    }

    /// If an array's elements are reductions of all elements of another in rows: for each place of its index, the
    /// place of the other's.
    fn reduced(&self, array: ArrayId, by: Monoid, of: ArrayId) -> Option<Vec<usize>> {
        let stmt = self.definition(array)?;
        let [value] = &stmt.value.nodes[..] else { return None };
        let read = read(value).filter(|read| read.array == of)?;
        let out = plain_axes(&stmt.out_index)?;
        let whole = extents(stmt, &read.axes).eq(self.graph.array(of).shape.iter().copied())
            && stmt.reduce == Some(Reducer::Monoid(by))
            && stmt.init == Init::Identity(by)
            && stmt.guards.is_empty()
            && stmt.scan.is_none();
        let places: Vec<usize> = (0..read.axes.len()).collect();
        renamed(&out, &read.axes, &places).filter(|_| whole)
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
        && stmt.init == Init::Zero
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
