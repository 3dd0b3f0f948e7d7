//! A literal interpreter of core programs.

use super::{Cell, combine, for_points, from_zero, places, uses};
use ijk_ir::core::*;
use ijk_plan::c_strides;
use ijk_types::{DType, Literal, Order, Reducer, Scalar, scalar};

/// Evaluates a program point by point.
pub fn run_program(p: &Program, i: &Instance, inputs: &[Vec<Scalar>]) -> Vec<Vec<Scalar>> {
    let mut arrays: Vec<Vec<Scalar>> = vec![vec![]; p.arrays.len()];
    for (id, data) in p.inputs.iter().zip(inputs) {
        arrays[id.0 as usize] = data.clone();
    }
    let mut variables = vec![DType::F64; p.types.len()];
    for (array, &dtype) in p.arrays.iter().zip(&i.dtypes) {
        if let TypeTerm::Var(v) = array.dtype {
            variables[v as usize] = dtype;
        }
    }
    let mut interpreter = Interpreter { instance: i, variables, arrays };
    for (statement, extents) in p.statements.iter().zip(&i.extents) {
        let out = interpreter.run(statement, extents);
        interpreter.arrays[statement.out.0 as usize] = out;
    }
    p.outputs.iter().map(|o| interpreter.arrays[o.0 as usize].clone()).collect()
}

struct Interpreter<'a> {
    instance: &'a Instance,
    /// Element types of the program's type variables.
    variables: Vec<DType>,
    /// Elements of the arrays computed so far.
    arrays: Vec<Vec<Scalar>>,
}

impl Interpreter<'_> {
    fn shape(&self, id: ArrayId) -> &[u64] {
        &self.instance.shapes[id.0 as usize]
    }

    /// Position of an element in C order.
    fn position(&self, id: ArrayId, index: &[IndexExpr], point: &[i64]) -> usize {
        let strides = c_strides(self.shape(id));
        index.iter().zip(strides).map(|(e, s)| e.eval(point) as isize * s).sum::<isize>() as usize
    }

    fn is_inside(&self, id: ArrayId, index: &[IndexExpr], point: &[i64]) -> bool {
        let mut places = index.iter().zip(self.shape(id));
        places.all(|(e, &n)| (0..n as i64).contains(&e.eval(point)))
    }

    /// Elements that a statement defines.
    fn run(&self, s: &Statement, extents: &[u64]) -> Vec<Scalar> {
        let t = self.instance.dtypes[s.out.0 as usize];
        let start = match (s.init, s.reduce) {
            (Init::Identity(m), Some(Reducer::Monoid(_))) => scalar::identity(m, t),
            _ => from_zero(t),
        };
        let len = self.shape(s.out).iter().product::<u64>() as usize;
        if let Some(Reducer::Order(order)) = s.reduce {
            return self.ordered(s, extents, order);
        }
        let mut out: Vec<Cell> = (0..len).map(|_| Cell { value: start, best: None }).collect();
        let kept: Vec<bool> =
            (0..extents.len()).map(|a| s.out_index.iter().any(|e| uses(e, a))).collect();
        for_points(extents, |point| {
            let counts = |node: &ScalarNode| match node {
                ScalarNode::Access(a) => self.is_inside(a.array, &a.index, point),
                _ => true,
            };
            if self.is_inside(s.out, &s.out_index, point) && s.value.nodes.iter().all(counts) {
                let position = kept.iter().position(|k| !k).map_or(0, |a| point[a]);
                let cell = &mut out[self.position(s.out, &s.out_index, point)];
                combine(cell, s.reduce, self.value(s, extents, point), position);
            }
        });
        out.into_iter().map(|c| c.value).collect()
    }

    /// At each place the value that as many others come before.
    fn ordered(&self, s: &Statement, extents: &[u64], order: Order) -> Vec<Scalar> {
        let len = self.shape(s.out).iter().product::<u64>() as usize;
        let mut rows: Vec<(usize, Vec<Scalar>)> = vec![(0, vec![]); len];
        for_points(extents, |point| {
            let (place, values) = &mut rows[self.position(s.out, &s.out_index, point)];
            *place = point[point.len() - 1] as usize;
            values.push(self.value(s, extents, point));
        });
        let chosen = |(place, values): (usize, Vec<Scalar>)| {
            let at = places(&values, order.descending).iter().position(|&own| own == place);
            let at = at.expect("no more places than values");
            if order.positions { Scalar::I64(at as i64) } else { values[at] }
        };
        rows.into_iter().map(chosen).collect()
    }

    fn value(&self, s: &Statement, extents: &[u64], point: &[i64]) -> Scalar {
        let mut values: Vec<Scalar> = vec![];
        for node in &s.value.nodes {
            let v = |x: &ScalarId| values[x.0 as usize];
            let value = match node {
                ScalarNode::Access(a) => {
                    self.arrays[a.array.0 as usize][self.position(a.array, &a.index, point)]
                }
                ScalarNode::Const(l, t) => l.to_scalar(t.resolve(&self.variables)).unwrap(),
                ScalarNode::Extent(axis, t) => {
                    let extent = Literal::Integer(extents[axis.0 as usize] as i64);
                    extent.to_scalar(t.resolve(&self.variables)).unwrap()
                }
                ScalarNode::Index(e) => Scalar::I64(e.eval(point)),
                ScalarNode::Unary(op, x) => scalar::unary(*op, v(x)).unwrap(),
                ScalarNode::Binary(op, x, y) => scalar::binary(*op, v(x), v(y)).unwrap(),
                ScalarNode::Random { .. } => unreachable!("i has no random numbers"),
                ScalarNode::Select(c, x, _) if v(c) == Scalar::Bool(true) => v(x),
                ScalarNode::Select(_, _, y) => v(y),
            };
            values.push(value);
        }
        values[values.len() - 1]
    }
}
