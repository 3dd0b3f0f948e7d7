//! Reference interpreter of nests, point by point.

use super::array::{Array, modulus};
use ijk_plan::plan::{Nest, Node, Start};
use ijk_types::{Monoid, Ordered, Reducer, Scalar, ScalarError, random, scalar};
use std::collections::BTreeMap;

/// Result of a nest in an element of its output.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The value.
    pub value: Scalar,
    /// Σ|x| of the combined values.
    pub magnitude: f64,
    /// Number of combined values.
    pub count: usize,
    /// True if an infinity or a NaN was combined.
    pub special: bool,
}

/// State of an element in the interpreter.
struct Element {
    outcome: Outcome,
    best: Option<Scalar>,
}

/// Runs a nest on buffers; returns the elements of the output with points, by offset.
pub fn interpret(nest: &Nest, buffers: &[Array]) -> Result<BTreeMap<isize, Outcome>, ScalarError> {
    let mut elements: BTreeMap<isize, Element> = BTreeMap::new();
    let extents: Vec<usize> = nest.axes.iter().map(|a| a.extent).collect();
    let points: usize = extents.iter().product();
    for n in 0..points {
        let point = point_of(n, &extents);
        let values = evaluate(nest, buffers, &point)?;
        let affine: isize =
            point.iter().zip(&nest.store.strides).map(|(&i, &s)| i as isize * s).sum();
        let computed = nest.store.offset.map_or(0, |o| integer(values[o.0 as usize]) as isize);
        let at = nest.store.base.offset + affine + computed;
        let value = *values.last().unwrap();
        let out = &buffers[nest.store.base.buffer.0 as usize];
        let element = elements.entry(at).or_insert_with(|| fresh(nest, out, at, value));
        combine(nest, element, value, &point);
    }
    Ok(elements.into_iter().map(|(at, element)| (at, element.outcome)).collect())
}

fn point_of(mut n: usize, extents: &[usize]) -> Vec<usize> {
    let mut point = vec![0; extents.len()];
    for a in (0..extents.len()).rev() {
        point[a] = n % extents[a];
        n /= extents[a];
    }
    point
}

fn fresh(nest: &Nest, out: &Array, at: isize, value: Scalar) -> Element {
    let start = match (nest.start, nest.reduce) {
        (Start::Existing, _) => out.at(at),
        (_, Some(Reducer::Monoid(monoid))) => scalar::identity(monoid, value.dtype()),
        _ => value,
    };
    let magnitude = if nest.start == Start::Existing { modulus(start) } else { 0.0 };
    let outcome = Outcome { value: start, magnitude, count: 0, special: !magnitude.is_finite() };
    Element { outcome, best: None }
}

fn combine(nest: &Nest, element: &mut Element, value: Scalar, point: &[usize]) {
    let outcome = &mut element.outcome;
    outcome.magnitude += modulus(value);
    outcome.special |= !modulus(value).is_finite();
    outcome.count += 1;
    match nest.reduce {
        None => outcome.value = value,
        Some(Reducer::Monoid(monoid)) => {
            outcome.value = scalar::binary(monoid.op(), outcome.value, value).unwrap();
        }
        Some(reducer) => {
            let axis = nest.axes.iter().position(|a| a.reduced).unwrap();
            if element.best.is_none_or(|best| beats(reducer, value, best)) {
                element.best = Some(value);
                outcome.value = Scalar::I64(point[axis] as i64);
            }
        }
    }
}

fn beats(reducer: Reducer, x: Scalar, best: Scalar) -> bool {
    fn of<T: Ordered>(reducer: Reducer, x: T, best: T) -> bool {
        if reducer == Reducer::ArgMax { x.beats_max(best) } else { x.beats_min(best) }
    }
    match (x, best) {
        (Scalar::Bool(x), Scalar::Bool(y)) => of(reducer, x, y),
        (Scalar::I32(x), Scalar::I32(y)) => of(reducer, x, y),
        (Scalar::I64(x), Scalar::I64(y)) => of(reducer, x, y),
        (Scalar::F32(x), Scalar::F32(y)) => of(reducer, x, y),
        (Scalar::F64(x), Scalar::F64(y)) => of(reducer, x, y),
        _ => unreachable!("positions of ordered values"),
    }
}

fn integer(value: Scalar) -> i64 {
    if let Scalar::I64(x) = value { x } else { unreachable!("an offset is an i64") }
}

/// The value of each node at a point.
fn evaluate(nest: &Nest, buffers: &[Array], point: &[usize]) -> Result<Vec<Scalar>, ScalarError> {
    let mut values: Vec<Scalar> = Vec::new();
    for node in &nest.body {
        let of = |id: ijk_plan::plan::NodeId| values[id.0 as usize];
        let value = match node {
            Node::Load(n) => {
                let load = &nest.loads[*n as usize];
                let steps = point.iter().zip(&load.strides).map(|(&i, &s)| i as isize * s);
                buffers[load.base.buffer.0 as usize].at(load.base.offset + steps.sum::<isize>())
            }
            Node::Const(value) => *value,
            Node::Index { constant, coefficients } => {
                let steps =
                    point.iter().zip(coefficients).map(|(&i, &c)| (i as i64).wrapping_mul(c));
                Scalar::I64(steps.fold(*constant, i64::wrapping_add))
            }
            Node::Gather { base, offset, strides, .. } => {
                let steps: isize = point.iter().zip(strides).map(|(&i, &s)| i as isize * s).sum();
                buffers[base.buffer.0 as usize]
                    .at(base.offset + steps + integer(of(*offset)) as isize)
            }
            Node::Unary(op, a) => scalar::unary(*op, of(*a))?,
            Node::Binary(op, a, b) => scalar::binary(*op, of(*a), of(*b))?,
            Node::Random { key, counter, lo, hi } => {
                let bits = random::bits(*key, integer(of(*counter)) as u64);
                match (of(*lo), of(*hi)) {
                    (Scalar::F64(lo), Scalar::F64(hi)) => {
                        Scalar::F64(random::uniform_f64(bits, lo, hi)?)
                    }
                    (lo, hi) => Scalar::I64(random::uniform_i64(bits, integer(lo), integer(hi))?),
                }
            }
            Node::Select(c, a, b) => of(if of(*c) == Scalar::Bool(true) { *a } else { *b }),
        };
        values.push(value);
    }
    Ok(values)
}

/// Largest deviation of a combination in another order.
pub fn tolerance(monoid: Monoid, outcome: &Outcome) -> f64 {
    let eps = match outcome.value {
        Scalar::F32(_) | Scalar::C64(_) => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    };
    let steps = 512.0f64.min(outcome.count as f64) + (outcome.count.max(1) as f64).log2();
    match monoid {
        Monoid::Add => steps * eps * outcome.magnitude,
        _ => 4.0 * outcome.count as f64 * eps * modulus(outcome.value),
    }
}
