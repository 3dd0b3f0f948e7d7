//! Nests beside loops written by hand, interleaved in one run: `cargo bench --bench nest`.
//!
//! Prints the best time of each (the least disturbed one on a busy machine), and their ratio (above 1: the engine is
//! faster). `IJK_THREADS` is the number of threads, by default one.

use ijk_cpu::{Compiled, Engine};
use ijk_plan::plan::{
    Base, Buffer, BufferId, Load, Nest, NestAxis, Node, NodeId, Place, Plan, Start, Step, Store,
};
use ijk_tensor::{TensorView, TensorViewMut};
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, UnaryOp};
use std::hint::black_box;
use std::time::Instant;

const N: usize = 4096;

/// A buffer of `f32`, C-contiguous.
fn buffer(place: Place, shape: &[usize]) -> Buffer {
    let strides = (0..shape.len()).map(|a| shape[a + 1..].iter().product::<usize>() as isize);
    Buffer { place, dtype: DType::F32, shape: shape.to_vec(), strides: strides.collect() }
}

fn base(buffer: u32) -> Base {
    Base { buffer: BufferId(buffer), offset: 0 }
}

fn load(buffer: u32, strides: &[isize]) -> Load {
    Load { base: base(buffer), dtype: DType::F32, strides: strides.to_vec() }
}

/// A nest over axes of (extent, whether reduced).
fn nest(
    axes: &[(usize, bool)],
    loads: Vec<Load>,
    body: Vec<Node>,
    out: (u32, &[isize]),
    reduce: Option<Monoid>,
) -> Step {
    let axis = |&(extent, reduced): &(usize, bool)| NestAxis {
        name: String::new(),
        extent,
        reduced,
        collides: false,
    };
    Step::Nest(Nest {
        axes: axes.iter().map(axis).collect(),
        loads,
        body,
        store: Store {
            base: base(out.0),
            dtype: DType::F32,
            strides: out.1.to_vec(),
            offset: None,
        },
        reduce: reduce.map(Reducer::Monoid),
        start: Start::Covered,
        sequential: false,
        span: Default::default(),
    })
}

/// A plan from one argument to one result.
fn plan(input: &[usize], output: &[usize], temporaries: &[&[usize]], steps: Vec<Step>) -> Plan {
    let mut buffers = vec![buffer(Place::Input(0), input), buffer(Place::Output(0), output)];
    let mut arena = 0;
    for shape in temporaries {
        buffers.push(buffer(Place::Temporary(arena), shape));
        arena += (shape.iter().product::<usize>() * 4).next_multiple_of(64);
    }
    Plan { buffers, steps, arena }
}

fn best(repeats: usize, mut run: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..repeats).map(time).fold(f64::INFINITY, f64::min)
}

/// Runs both alternately, several times, and prints nanoseconds of each.
fn compare(name: &str, bytes: usize, mut engine: impl FnMut(), mut hand: impl FnMut()) {
    let (mut ours, mut theirs) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..12 {
        ours = ours.min(best(2, &mut engine));
        theirs = theirs.min(best(2, &mut hand));
    }
    let rate = |seconds: f64| bytes as f64 / seconds / 1e9;
    println!(
        "{name:28} {:9.0} µs {:6.1} GB/s   by hand {:9.0} µs {:6.1} GB/s   ratio {:.2}",
        ours * 1e6,
        rate(ours),
        theirs * 1e6,
        rate(theirs),
        theirs / ours
    );
}

/// A closure that runs a plan of one argument and one result.
fn runner<'a>(
    engine: &'a Engine,
    compiled: &'a Compiled,
    input: &'a [f32],
    shapes: [&'a [usize]; 2],
) -> impl FnMut(&mut [f32]) + 'a {
    move |out| {
        let view = TensorView::from_slice(black_box(input), shapes[0]).expect("the shape fits");
        let out = TensorViewMut::from_slice(out, shapes[1]).expect("the shape fits");
        engine.execute(compiled, &[view], &mut [out]).expect("the plan runs");
    }
}

fn softmax() -> Vec<Step> {
    let (n, x, kept, both) = (N as isize, 0, [(N, false), (N, true)], [(N, false), (N, false)]);
    let shifted = || {
        vec![
            Node::Load(0),
            Node::Load(1),
            Node::Binary(BinaryOp::Sub, NodeId(0), NodeId(1)),
            Node::Unary(UnaryOp::Exp, NodeId(2)),
        ]
    };
    let divided =
        vec![Node::Load(0), Node::Load(1), Node::Binary(BinaryOp::Div, NodeId(0), NodeId(1))];
    let rows = || load(x, &[n, 1]);
    vec![
        nest(&kept, vec![rows()], vec![Node::Load(0)], (2, &[1, 0]), Some(Monoid::Max)),
        nest(&both, vec![rows(), load(2, &[1, 0])], shifted(), (4, &[n, 1]), None),
        nest(&kept, vec![load(4, &[n, 1])], vec![Node::Load(0)], (3, &[1, 0]), Some(Monoid::Add)),
        nest(&both, vec![load(4, &[n, 1]), load(3, &[1, 0])], divided, (1, &[n, 1]), None),
    ]
}

fn softmax_by_hand(x: &[f32], y: &mut [f32]) {
    for (x, y) in x.chunks_exact(N).zip(y.chunks_exact_mut(N)) {
        let m = x.iter().fold(f32::NEG_INFINITY, |m, &x| if x > m { x } else { m });
        let mut sum = 0.0;
        for (y, &x) in y.iter_mut().zip(x) {
            *y = (x - m).exp();
            sum += *y;
        }
        y.iter_mut().for_each(|y| *y /= sum);
    }
}

fn transpose_by_hand(x: &[f32], y: &mut [f32]) {
    const B: usize = 32;
    for i in (0..N).step_by(B) {
        for j in (0..N).step_by(B) {
            for a in i..i + B {
                for b in j..j + B {
                    y[a * N + b] = x[b * N + a];
                }
            }
        }
    }
}

fn main() {
    let threads = std::env::var("IJK_THREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let engine = Engine::builder().threads(threads).build();
    println!("{} threads, {}", engine.threads(), engine.level().name());
    let x: Vec<f32> = (0..N * N).map(|i| (i % 1013) as f32 / 500.0 - 1.0).collect();
    let mut race = Race { engine: &engine, x, y: vec![1f32; N * N], z: vec![1f32; N * N] };
    race.maps();
    race.copies();
    race.sums();
    let arrays = [&[N][..], &[N], &[N, N]];
    let soft = plan(&[N, N], &[N, N], &arrays, softmax());
    race.run("softmax of rows", 8 * N * N, soft, &[N, N], softmax_by_hand);
    tiny(&engine);
}

/// An engine, a matrix `x`, and memory for the results of both.
struct Race<'a> {
    engine: &'a Engine,
    x: Vec<f32>,
    y: Vec<f32>,
    z: Vec<f32>,
}

impl Race<'_> {
    /// Compares a plan of `x` with a loop by hand.
    fn run(
        &mut self,
        name: &str,
        bytes: usize,
        plan: Plan,
        shape: &[usize],
        mut by_hand: impl FnMut(&[f32], &mut [f32]),
    ) {
        let Self { engine, x, y, z } = self;
        let compiled = engine.compile(&plan).expect("the plan is sound");
        let mut run = runner(engine, &compiled, x, [&[N, N], shape]);
        let count = shape.iter().product();
        compare(name, bytes, || run(&mut y[..count]), || by_hand(black_box(x), black_box(z)));
    }

    /// Elementwise nests of two axes.
    fn map(
        &mut self,
        name: &str,
        bytes: usize,
        (loads, body): (Vec<Load>, Vec<Node>),
        by_hand: impl FnMut(&[f32], &mut [f32]),
    ) {
        let axes = [(N, false), (N, false)];
        let step = nest(&axes, loads, body, (1, &[N as isize, 1]), None);
        self.run(name, bytes, plan(&[N, N], &[N, N], &[], vec![step]), &[N, N], by_hand);
    }

    fn maps(&mut self) {
        let n = N as isize;
        let rows = || vec![load(0, &[n, 1])];
        let relu = vec![
            Node::Load(0),
            Node::Const(Scalar::F32(0.0)),
            Node::Binary(BinaryOp::Max, NodeId(0), NodeId(1)),
        ];
        self.map("ij>0~ij", 8 * N * N, (rows(), relu), |x, z| {
            x.iter().zip(z).for_each(|(&x, z)| *z = if x > 0.0 { x } else { 0.0 });
        });
        let exp = vec![Node::Load(0), Node::Unary(UnaryOp::Exp, NodeId(0))];
        self.map("^ij~ij", 8 * N * N, (rows(), exp), |x, z| {
            x.iter().zip(z).for_each(|(&x, z)| *z = x.exp());
        });
    }

    fn copies(&mut self) {
        let n = N as isize;
        let plain = (vec![load(0, &[n, 1])], vec![Node::Load(0)]);
        self.map("ij~ij", 8 * N * N, plain, |x, z| z.copy_from_slice(x));
        let transposed = (vec![load(0, &[1, n])], vec![Node::Load(0)]);
        self.map("ij~ji", 8 * N * N, transposed, transpose_by_hand);
        let sum =
            vec![Node::Load(0), Node::Load(1), Node::Binary(BinaryOp::Add, NodeId(0), NodeId(1))];
        let symmetric = (vec![load(0, &[n, 1]), load(0, &[1, n])], sum);
        self.map("ij+ji~ij", 12 * N * N, symmetric, |x, z| {
            for i in 0..N {
                for j in 0..N {
                    z[i * N + j] = x[i * N + j] + x[j * N + i];
                }
            }
        });
    }

    fn sums(&mut self) {
        let n = N as isize;
        let sum =
            |axes: [(usize, bool); 2], strides: [isize; 2], out: [isize; 2], shape: &[usize]| {
                let (loads, body) = (vec![load(0, &strides)], vec![Node::Load(0)]);
                let step = nest(&axes, loads, body, (1, &out), Some(Monoid::Add));
                plan(&[N, N], shape, &[], vec![step])
            };
        let inner = [(N, false), (N, true)];
        let rows = sum(inner, [n, 1], [1, 0], &[N]);
        self.run("+ij~i", 4 * N * N, rows, &[N], |x, z| {
            x.chunks_exact(N).zip(z).for_each(|(row, z)| *z = sum_by_hand(row));
        });
        let columns = sum(inner, [1, n], [1, 0], &[N]);
        self.run("+ij~j", 4 * N * N, columns, &[N], |x, z| {
            z[..N].fill(0.0);
            for row in x.chunks_exact(N) {
                z.iter_mut().zip(row).for_each(|(z, &x)| *z += x);
            }
        });
        let total = sum([(N, true), (N, true)], [n, 1], [0, 0], &[]);
        self.run("+ij~.", 4 * N * N, total, &[], |x, z| z[0] = sum_by_hand(x));
    }
}

fn sum_by_hand(x: &[f32]) -> f32 {
    let mut lanes = [0.0; 32];
    for strip in x.chunks_exact(32) {
        lanes.iter_mut().zip(strip).for_each(|(l, &x)| *l += x);
    }
    lanes.iter().sum()
}

/// Overhead of a call with a compiled plan.
fn tiny(engine: &Engine) {
    let body = vec![
        Node::Load(0),
        Node::Const(Scalar::F32(1.0)),
        Node::Binary(BinaryOp::Add, NodeId(0), NodeId(1)),
    ];
    let step = nest(&[(8, false)], vec![load(0, &[1])], body, (1, &[1]), None);
    let compiled = engine.compile(&plan(&[8], &[8], &[], vec![step])).expect("the plan is sound");
    let (x, mut y) = ([1f32; 8], [0f32; 8]);
    let mut run = runner(engine, &compiled, &x, [&[8], &[8]]);
    let calls = 10_000;
    let seconds = best(20, || (0..calls).for_each(|_| run(&mut y)));
    println!("{:28} {:9.0} ns", "1+i~i of 8, a call", seconds / calls as f64 * 1e9);
}
