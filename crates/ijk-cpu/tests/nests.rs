//! Random nests, compared with the interpreter: all element types, SIMD levels and numbers of threads.

#![allow(unsafe_code)]

use crate::common::array::{Array, distance, modulus, same, scalar};
use crate::common::interpret::{Outcome, interpret, tolerance};
use crate::common::random::Random;
use ijk_cpu::{Engine, Level, RunError};
use ijk_plan::plan::{
    Base, Buffer, BufferId, Load, Nest, NestAxis, Node, NodeId, Place, Plan, Start, Step, Store,
};
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, UnaryOp};
use std::collections::BTreeMap;

/// A random plan of one nest, with its arrays.
struct Case {
    plan: Plan,
    arrays: Vec<Array>,
    nest: Nest,
}

/// Grows a nest node by node.
struct Maker<'r> {
    random: &'r mut Random,
    axes: Vec<NestAxis>,
    arrays: Vec<Array>,
    loads: Vec<Load>,
    body: Vec<Node>,
    types: Vec<DType>,
}

impl Maker<'_> {
    fn push(&mut self, node: Node, t: DType) -> NodeId {
        self.body.push(node);
        self.types.push(t);
        NodeId(self.body.len() as u32 - 1)
    }

    /// Strides of an array that is accessed by the nest's axes, and the array's own. With `distinct`, kept axes
    /// separate its elements.
    fn layout(&mut self, distinct: bool) -> (Vec<isize>, Vec<usize>, Vec<isize>) {
        let mut strides = vec![0; self.axes.len()];
        let (mut shape, mut own) = (Vec::new(), Vec::new());
        let mut step = if self.random.one_in(4) { 2 } else { 1 };
        let order = if self.random.one_in(2) {
            (0..self.axes.len()).rev().collect()
        } else {
            self.random.order(self.axes.len())
        };
        for a in order {
            let n = self.axes[a].extent;
            if if distinct { self.axes[a].reduced } else { self.random.one_in(5) } {
                continue;
            }
            let stride = if self.random.one_in(6) { -step } else { step };
            strides[a] = stride;
            shape.push(n);
            own.push(stride);
            step *= n.max(1) as isize + self.random.below(5).saturating_sub(3) as isize;
        }
        (strides, shape, own)
    }

    fn array(&mut self, t: DType, shape: &[usize], strides: &[isize]) -> Base {
        self.arrays.push(Array::random(t, shape, strides, self.random));
        Base { buffer: BufferId(self.arrays.len() as u32 - 1), offset: 0 }
    }

    /// A load, or a gather at the offsets a load would have.
    fn access(&mut self, t: DType) -> NodeId {
        let (strides, shape, own) = self.layout(false);
        let base = self.array(t, &shape, &own);
        let empty = self.axes.iter().any(|a| a.extent == 0);
        if self.random.one_in(8) && !empty {
            let (mut steps, mut coefficients) = (strides.clone(), vec![0; strides.len()]);
            for a in 0..strides.len() {
                if self.random.one_in(2) {
                    coefficients[a] = std::mem::take(&mut steps[a]) as i64;
                }
            }
            let offset = self.push(Node::Index { constant: 0, coefficients }, DType::I64);
            return self.push(Node::Gather { base, dtype: t, strides: steps, offset }, t);
        }
        self.loads.push(Load { base, dtype: t, strides });
        self.push(Node::Load(self.loads.len() as u32 - 1), t)
    }

    /// A node of a type, made from further ones.
    fn value(&mut self, t: DType, depth: usize) -> NodeId {
        if depth == 0 {
            return match self.random.below(8) {
                0 => {
                    let value = scalar(t, self.random);
                    self.push(Node::Const(value), t)
                }
                1 if !t.is_complex() => self.index(t),
                _ => self.access(t),
            };
        }
        match self.random.below(10) {
            0..=2 => {
                let ops: Vec<UnaryOp> = UnaryOp::ALL
                    .into_iter()
                    .filter(|op| op.accepts().contains(t) && op.result().of(t) == t)
                    .collect();
                if ops.is_empty() {
                    return self.value(t, depth - 1);
                }
                let (op, a) = (self.random.pick(&ops), self.value(t, depth - 1));
                self.push(Node::Unary(op, a), t)
            }
            3 if !t.is_complex() => {
                let from = self.random.pick(&[DType::Bool, DType::I32, DType::I64, DType::F32]);
                let a = self.value(from, depth - 1);
                self.push(Node::Unary(UnaryOp::Cast(t), a), t)
            }
            4 => {
                let (c, a) = (self.value(DType::Bool, depth - 1), self.value(t, depth - 1));
                let b = self.value(t, depth - 1);
                self.push(Node::Select(c, a, b), t)
            }
            5 if t == DType::Bool => {
                let of = self.random.pick(&[DType::I32, DType::F32, DType::F64]);
                let ops = [BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge, BinaryOp::Eq];
                let (a, b) = (self.value(of, depth - 1), self.value(of, depth - 1));
                let op = self.random.pick(&ops);
                self.push(Node::Binary(op, a, b), t)
            }
            6 if self.random.one_in(2) && t.is_float() => {
                let complex = if t == DType::F32 { DType::C64 } else { DType::C128 };
                let a = self.value(complex, depth - 1);
                self.push(Node::Unary(UnaryOp::Abs, a), t)
            }
            _ => {
                let partial = [BinaryOp::Div, BinaryOp::Mod, BinaryOp::Pow];
                let partial_too = self.random.one_in(6) || !t.is_integer();
                let ops: Vec<BinaryOp> = BinaryOp::ALL
                    .into_iter()
                    .filter(|op| op.accepts().contains(t) && op.result().of(t) == t)
                    .filter(|op| partial_too || !partial.contains(op))
                    .collect();
                let (a, b) = (self.value(t, depth - 1), self.value(t, depth - 1));
                let op = self.random.pick(&ops);
                self.push(Node::Binary(op, a, b), t)
            }
        }
    }

    fn index(&mut self, t: DType) -> NodeId {
        let coefficients = self.axes.iter().map(|_| self.random.below(5) as i64 - 2).collect();
        let index = self.push(Node::Index { constant: 3, coefficients }, DType::I64);
        if t == DType::I64 { index } else { self.push(Node::Unary(UnaryOp::Cast(t), index), t) }
    }
}

fn axes(random: &mut Random) -> Vec<NestAxis> {
    let rank = random.below(5);
    let mut room = 6000;
    let reduces = random.one_in(2);
    let mut axis = |_| {
        let extent = match random.below(12) {
            0 => 1,
            1 if random.one_in(4) => 0,
            1..=5 => 2 + random.below(5),
            6..=9 => 7 + random.below(40),
            _ => 100 + random.below(3000),
        };
        let extent = extent.min(room);
        room /= extent.max(1);
        let reduced = reduces && random.one_in(2);
        NestAxis { name: String::new(), extent, reduced, collides: false }
    };
    (0..rank).map(&mut axis).collect()
}

fn case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let computed: Vec<DType> = DType::ALL.into_iter().filter(|t| t.lanes() == *t).collect();
    let t = random.pick(&computed);
    let mut axes = axes(&mut random);
    let reducer = reducer(t, &axes, &mut random);
    if reducer.is_none() {
        axes.iter_mut().for_each(|a| a.reduced = false);
    }
    let (arrays, loads, body, types) = Default::default();
    let mut maker = Maker { random: &mut random, axes, arrays, loads, body, types };
    let depth = maker.random.below(4);
    let (mut strides, mut shape, mut own) = maker.layout(true);
    let arg = matches!(reducer, Some(Reducer::ArgMax | Reducer::ArgMin));
    let existing = !arg && (maker.random.one_in(4));
    if existing && reducer.is_some() && maker.random.one_in(2) {
        (strides, shape, own) = colliding(&mut maker.axes, &strides);
    }
    let out_type = if arg { DType::I64 } else { t };
    // Before the value, which is the last node.
    let scatter = !arg && maker.random.one_in(6) && !shape.contains(&0);
    let offset = scatter.then(|| {
        let coefficients = strides.iter().map(|&s| s as i64).collect();
        strides.iter_mut().for_each(|s| *s = 0);
        maker.push(Node::Index { constant: 0, coefficients }, DType::I64)
    });
    maker.value(t, depth);
    let base = maker.array(out_type, &shape, &own);
    let points: usize = maker.axes.iter().map(|a| a.extent).product();
    let sequential = points <= 256 && maker.random.one_in(2);
    let fill = scalar(out_type, maker.random);
    let nest = Nest {
        axes: maker.axes,
        loads: maker.loads,
        body: maker.body,
        store: Store { base, dtype: out_type, strides, offset },
        reduce: reducer,
        start: if existing { Start::Existing } else { Start::Covered },
        sequential,
        span: Default::default(),
    };
    let mut arrays = maker.arrays;
    let out = arrays.len() - 1;
    let buffer = |(n, a): (usize, &Array)| Buffer {
        place: if n == out { Place::Output(0) } else { Place::Input(n) },
        dtype: a.dtype,
        shape: a.shape.clone(),
        strides: a.strides.clone(),
    };
    let buffers = arrays.iter().enumerate().map(buffer).collect();
    let mut steps = vec![Step::Nest(nest.clone())];
    if existing {
        steps.insert(0, Step::Fill(base.buffer, fill));
        for offset in arrays[out].offsets() {
            arrays[out].set(offset, fill);
        }
    }
    Case { plan: Plan { buffers, steps, arena: 0 }, arrays, nest }
}

/// A reducer that supports type and axes, if axes are reduced (occasionally also if not).
fn reducer(t: DType, axes: &[NestAxis], random: &mut Random) -> Option<Reducer> {
    let reduced: Vec<&NestAxis> = axes.iter().filter(|a| a.reduced).collect();
    if reduced.is_empty() && !random.one_in(5) {
        return None;
    }
    if reduced.len() == 1 && reduced[0].extent > 0 && !t.is_complex() && random.one_in(3) {
        return Some(random.pick(&[Reducer::ArgMax, Reducer::ArgMin]));
    }
    // The planner takes log-add-exps apart.
    let fits = |m: &Monoid| *m != Monoid::LogAddExp && m.op().accepts().contains(t);
    let monoids: Vec<Monoid> = Monoid::ALL.into_iter().filter(fits).collect();
    Some(Reducer::Monoid(random.pick(&monoids)))
}

/// Strides that map all kept axes to one line.
fn colliding(axes: &mut [NestAxis], strides: &[isize]) -> (Vec<isize>, Vec<usize>, Vec<isize>) {
    let mut extent = 1;
    let mut line = vec![0; strides.len()];
    for (axis, step) in axes.iter_mut().zip(&mut line) {
        if !axis.reduced {
            axis.collides = true;
            extent += axis.extent.max(1) - 1;
            *step = 1;
        }
    }
    (line, vec![extent], vec![1])
}

/// Runs a case on an engine.
fn run(case: &Case, engine: &Engine) -> Result<Array, RunError> {
    let (out, inputs) = case.arrays.split_last().unwrap();
    let mut out = out.clone();
    let views: Vec<_> = inputs.iter().map(Array::view).collect();
    engine.run(&case.plan, &views, &mut [out.view_mut()])?;
    Ok(out)
}

/// Compares a result with the interpreter's.
fn compare(case: &Case, expected: &BTreeMap<isize, Outcome>, found: &Array) -> Result<(), String> {
    let exact = match case.nest.reduce {
        Some(Reducer::Monoid(Monoid::Add | Monoid::Mul)) => case.nest.sequential,
        _ => true,
    };
    for (&at, outcome) in expected {
        let (value, got) = (outcome.value, found.at(at));
        let monoid = match case.nest.reduce {
            Some(Reducer::Monoid(monoid)) => monoid,
            _ => Monoid::Max,
        };
        let exact = exact || case.nest.store.offset.is_some();
        let fine = same(value, got)
            || (!exact && distance(value, got) <= tolerance(monoid, outcome))
            || (!exact && (outcome.special || extreme(value)))
            // The order affects the sign of a zero.
            || (monoid.op() != BinaryOp::Add && modulus(value) == 0.0 && modulus(got) == 0.0 && !case.nest.sequential);
        if !fine {
            return Err(format!("at {at}: {value:?}, but {got:?} ({outcome:?})"));
        }
    }
    Ok(())
}

/// Returns true for values near or beyond overflow or underflow, which may differ in another order.
fn extreme(value: Scalar) -> bool {
    !(1e-25..1e25).contains(&modulus(value))
}

fn check(seed: u64, engines: &[Engine]) {
    let case = case(seed);
    let expected = interpret(&case.nest, &case.arrays);
    let mut first: Option<(Level, Array)> = None;
    for engine in engines {
        let found = run(&case, engine);
        let (expected, found) = match (&expected, found) {
            (Ok(expected), Ok(found)) => (expected, found),
            (Err(_), Err(RunError::DivisionByZero | RunError::NegativePower)) => continue,
            (expected, found) => panic!(
                "seed {seed}: {:?}, but {:?}\n{:#?}",
                expected.as_ref().map(|_| ()),
                found.map(|_| ()),
                case.plan
            ),
        };
        if let Err(message) = compare(&case, expected, &found) {
            panic!("seed {seed}, {}: {message}\n{:#?}", engine.level().name(), case.plan);
        }
        match &first {
            Some((level, first)) if *level == engine.level() => {
                assert_eq!(first.bytes(), found.bytes(), "seed {seed}: threads show");
            }
            _ => first = Some((engine.level(), found)),
        }
    }
}

/// Engines of all levels with 1, 2 and 7 threads; with 2, results are written with non-temporal stores.
fn engines() -> Vec<Engine> {
    let build = |level| {
        move |threads| {
            let streams = if threads == 2 { 0 } else { usize::MAX };
            Engine::builder().level(level).threads(threads).stream_from(streams).build()
        }
    };
    Level::available().into_iter().flat_map(|level| [1, 2, 7].map(build(level))).collect()
}

#[test]
fn random_nests() {
    let engines = engines();
    let cases = std::env::var("IJK_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(1500);
    for seed in 0..cases {
        check(seed, &engines);
    }
}
