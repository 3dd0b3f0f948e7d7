//! Statements of Einsum Tuple beside the best peer in the same run:
//! `cargo bench -p ijk-benches --bench et`. Core IR is written by hand, so that only planning and the engine
//! are measured.
//!
//! Each line has the best time of both and the ratio of their rates; 1.00 is as fast.

use ijk_benches::{faer_product, numbers, par, race, report};
use ijk_cpu::{Compiled, Engine};
use ijk_ir::core::{
    Access, Array, ArrayId, Axis, AxisId, IndexExpr, Init, Instance, Program, ScalarExpr, ScalarId,
    ScalarNode, Span, Statement, TypeTerm,
};
use ijk_plan::{Layout, plan};
use ijk_tensor::{TensorView, TensorViewMut};
use ijk_types::{BinaryOp, DType, Element, Literal, Monoid, Reducer, Scalar};
use std::hint::black_box;

fn main() {
    for threads in [1, 2] {
        let engine = Engine::builder().threads(threads).build();
        println!("{threads} thread(s)");
        convolutions(&engine, threads);
        gather(&engine);
        scatter(&engine);
        random(&engine);
    }
}

/// A program of one statement that sums.
struct Sum {
    program: Program,
    instance: Instance,
}

impl Sum {
    /// Over these axes, to an array of that shape, at these indices.
    fn new(dtype: DType, extents: &[u64], shape: &[u64], out_index: Vec<IndexExpr>) -> Self {
        let axis = |n: usize| Axis { name: format!("x{n}"), dims: vec![], pins: vec![] };
        let statement = Statement {
            out: ArrayId(0),
            domain: (0..extents.len()).map(axis).collect(),
            out_index,
            init: Init::Identity(Monoid::Add),
            reduce: Some(Reducer::Monoid(Monoid::Add)),
            value: ScalarExpr::default(),
            guards: vec![],
            span: Span::default(),
        };
        let program = Program {
            statements: vec![statement],
            outputs: vec![ArrayId(0)],
            ..Program::default()
        };
        let instance = Instance {
            dtypes: vec![],
            shapes: vec![],
            extents: vec![extents.to_vec()],
            passes: vec![],
        };
        let mut sum = Self { program, instance };
        sum.array(dtype, shape);
        sum
    }

    fn array(&mut self, dtype: DType, shape: &[u64]) -> ArrayId {
        let rank = Some(shape.len() as u32);
        let term = TypeTerm::Fixed(dtype);
        self.program.arrays.push(Array { rank, dtype: term, span: Span::default() });
        self.instance.dtypes.push(dtype);
        self.instance.shapes.push(shape.to_vec());
        ArrayId(self.program.arrays.len() as u32 - 1)
    }

    fn input(&mut self, dtype: DType, shape: &[u64]) -> ArrayId {
        let array = self.array(dtype, shape);
        self.program.inputs.push(array);
        array
    }

    fn node(&mut self, node: ScalarNode) -> ScalarId {
        let nodes = &mut self.program.statements[0].value.nodes;
        nodes.push(node);
        ScalarId(nodes.len() as u32 - 1)
    }

    fn read(&mut self, array: ArrayId, index: Vec<IndexExpr>) -> ScalarId {
        self.node(ScalarNode::Access(access(array, index)))
    }

    fn compile(&self, engine: &Engine) -> Compiled {
        let layout = Layout::contiguous(&self.program, &self.instance);
        let plan = plan(&self.program, &self.instance, &layout).expect("it fits");
        if std::env::var_os("IJK_PLANS").is_some() {
            println!("{plan}");
        }
        engine.compile(&plan).expect("a sound plan")
    }
}

fn access(array: ArrayId, index: Vec<IndexExpr>) -> Access {
    Access { array, index, span: Span::default() }
}

fn axis(n: u32) -> IndexExpr {
    IndexExpr::axis(AxisId(n))
}

fn plus(left: &IndexExpr, right: &IndexExpr) -> IndexExpr {
    left.plus(right).expect("small")
}

fn minus(left: &IndexExpr, right: &IndexExpr) -> IndexExpr {
    let mut negated = right.clone();
    negated.constant = -negated.constant;
    negated.terms.iter_mut().for_each(|term| term.0 = -term.0);
    plus(left, &negated)
}

const BATCH: u64 = 8;
const CHANNELS: u64 = 64;
const SIDE: u64 = 56;
const FILTER: u64 = 3;

/// 64 to 64 channels, 3 × 3, over 8 images of 56 × 56.
fn convolutions(engine: &Engine, threads: usize) {
    let valid = SIDE - FILTER + 1;
    for (name, side, pad, linear_in_filter) in [
        ("valid convolution", valid, 0, false),
        ("valid, linear in the filter", valid, 0, true),
        ("same convolution", SIDE, 1, false),
        ("same, linear in the filter", SIDE, 1, true),
    ] {
        let sum = convolution(side, pad, linear_in_filter);
        let [m, n, k] = [BATCH * side * side, CHANNELS, FILTER * FILTER * CHANNELS];
        let compiled = sum.compile(engine);
        let filters = numbers((k * n) as usize);
        let input = numbers((BATCH * SIDE * SIDE * CHANNELS) as usize);
        let mut output = vec![0.0f32; (m * n) as usize];
        let rows = numbers((m * k) as usize);
        let mut product = vec![0.0f32; (m * n) as usize];
        let times = race(
            20,
            || {
                let views = [sum.view(1, &filters), sum.view(2, &input)];
                sum.run(engine, &compiled, &views, &mut output);
            },
            || {
                let sizes = [m, n, k].map(|n| n as usize);
                faer_product(black_box(&mut product), &rows, &filters, sizes, par(threads));
            },
        );
        report(name, 2.0 * (m * n * k) as f64, times, "faer, equal product");
    }
}

/// `output[b, p, o] = filters[f, i, o] * input[b, p + f - pad, i]`, or with `q` for `p + f - pad`.
fn convolution(side: u64, pad: i64, linear_in_filter: bool) -> Sum {
    let [b, o, i] = [axis(0), axis(3), axis(6)];
    let (p, last) = ([axis(1), axis(2)], [axis(4), axis(5)]);
    let far = if linear_in_filter { SIDE } else { FILTER };
    let extents = [BATCH, side, side, CHANNELS, far, far, CHANNELS];
    let out_index = vec![b.clone(), p[0].clone(), p[1].clone(), o.clone()];
    let mut sum = Sum::new(DType::F32, &extents, &[BATCH, side, side, CHANNELS], out_index);
    let filters = sum.input(DType::F32, &[FILTER, FILTER, CHANNELS, CHANNELS]);
    let input = sum.input(DType::F32, &[BATCH, SIDE, SIDE, CHANNELS]);
    let pad = IndexExpr::constant(pad);
    let (f, q): (Vec<_>, Vec<_>) = p
        .iter()
        .zip(&last)
        .map(|(p, last)| match linear_in_filter {
            true => (plus(&minus(last, p), &pad), last.clone()),
            false => (last.clone(), minus(&plus(last, p), &pad)),
        })
        .unzip();
    let left = sum.read(filters, vec![f[0].clone(), f[1].clone(), i.clone(), o]);
    let right = sum.read(input, vec![b, q[0].clone(), q[1].clone(), i]);
    sum.node(ScalarNode::Binary(BinaryOp::Mul, left, right));
    sum
}

impl Sum {
    fn shape(&self, array: u32) -> Vec<usize> {
        self.instance.shapes[array as usize].iter().map(|&n| n as usize).collect()
    }

    /// An argument; array 0 is the result.
    fn view<'a, T: Element>(&self, array: u32, data: &'a [T]) -> TensorView<'a> {
        TensorView::from_slice(data, &self.shape(array)).expect("it fits")
    }

    fn run<T: Element>(
        &self,
        engine: &Engine,
        compiled: &Compiled,
        views: &[TensorView<'_>],
        out: &mut [T],
    ) {
        let out = TensorViewMut::from_slice(out, &self.shape(0)).expect("it fits");
        engine.execute(compiled, views, &mut [out]).expect("it runs");
    }
}

const ROWS: u64 = 200_000;
const TABLE: u64 = 100_000;
const WIDTH: u64 = 64;

fn positions() -> Vec<i64> {
    (0..ROWS as i64).map(|n| n * 7919 % TABLE as i64).collect()
}

/// `out[n, c] = table[idx[n, :], c]`.
fn gather(engine: &Engine) {
    let (n, c) = (axis(0), axis(1));
    let mut sum = Sum::new(DType::F32, &[ROWS, WIDTH], &[ROWS, WIDTH], vec![n.clone(), c.clone()]);
    let table = sum.input(DType::F32, &[TABLE, WIDTH]);
    let idx = sum.input(DType::I64, &[ROWS, 1]);
    let row = IndexExpr::element(access(idx, vec![n, IndexExpr::constant(0)]));
    sum.read(table, vec![row, c]);
    let compiled = sum.compile(engine);
    let (table, idx) = (numbers((TABLE * WIDTH) as usize), positions());
    let mut out = vec![0.0f32; (ROWS * WIDTH) as usize];
    let mut other = out.clone();
    let width = WIDTH as usize;
    let times = race(
        20,
        || {
            let views = [sum.view(1, &table), sum.view(2, &idx)];
            sum.run(engine, &compiled, &views, &mut out);
        },
        || {
            for (row, &at) in other.chunks_exact_mut(width).zip(&idx) {
                row.copy_from_slice(&table[at as usize * width..][..width]);
            }
            black_box(&mut other);
        },
    );
    assert_eq!(out, other);
    report("gather of 200,000 rows of 64", (ROWS * WIDTH) as f64, times, "loop (1 thread)");
}

/// `out[idx[n, :], c] += rows[n, c]`.
fn scatter(engine: &Engine) {
    let (n, c) = (axis(0), axis(1));
    let row = |idx| IndexExpr::element(access(idx, vec![axis(0), IndexExpr::constant(0)]));
    let out_index = vec![row(ArrayId(2)), c.clone()];
    let mut sum = Sum::new(DType::F32, &[ROWS, WIDTH], &[TABLE, WIDTH], out_index);
    let rows = sum.input(DType::F32, &[ROWS, WIDTH]);
    sum.input(DType::I64, &[ROWS, 1]);
    sum.read(rows, vec![n, c]);
    let compiled = sum.compile(engine);
    let (rows, idx) = (numbers((ROWS * WIDTH) as usize), positions());
    let mut out = vec![0.0f32; (TABLE * WIDTH) as usize];
    let mut other = out.clone();
    let width = WIDTH as usize;
    let times = race(
        20,
        || {
            let views = [sum.view(1, &rows), sum.view(2, &idx)];
            sum.run(engine, &compiled, &views, &mut out);
        },
        || {
            other.fill(0.0);
            for (row, &at) in rows.chunks_exact(width).zip(&idx) {
                let to = &mut other[at as usize * width..][..width];
                to.iter_mut().zip(row).for_each(|(to, x)| *to += x);
            }
            black_box(&mut other);
        },
    );
    assert_eq!(out, other);
    report("scatter-add of 200,000 rows of 64", (ROWS * WIDTH) as f64, times, "loop (1 thread)");
}

/// `x[n] = RANDOM(0, 1, FLOAT)`.
fn random(engine: &Engine) {
    let count = 10_000_000;
    let mut sum = Sum::new(DType::F64, &[count], &[count], vec![axis(0)]);
    let bound = |x| ScalarNode::Const(Literal::Integer(x), TypeTerm::Fixed(DType::F64));
    let (lo, hi) = (sum.node(bound(0)), sum.node(bound(1)));
    sum.node(ScalarNode::Random { key: 7, counter: axis(0), lo, hi });
    let compiled = sum.compile(engine);
    let (mut out, mut other) = (vec![0.0f64; count as usize], vec![0.0f64; count as usize]);
    let times = race(
        10,
        || sum.run(engine, &compiled, &[], &mut out),
        || {
            for (n, x) in other.iter_mut().enumerate() {
                let bits = ijk_types::random::bits(7, n as u64);
                *x = ijk_types::random::uniform_f64(bits, 0.0, 1.0).unwrap_or_default();
            }
            black_box(&mut other);
        },
    );
    assert!(out.iter().zip(&other).all(|(&x, &y)| Scalar::F64(x).same_bits(Scalar::F64(y))));
    report("10⁷ random numbers", count as f64, times, "loop (1 thread)");
}
