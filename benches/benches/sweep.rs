//! Programs whose statements are fused to a sweep over blocks of rows, beside the same programs
//! statement by statement: `cargo bench -p ijk-benches --bench sweep`.
//!
//! Each line has the best time of both and the ratio of their rates.

use ijk_benches::{numbers, race, report};
use ijk_cpu::{Compiled, Engine};
use ijk_ir::core::{Instance, Program};
use ijk_plan::{Layout, plan};
use ijk_tensor::{TensorView, TensorViewMut};
use ijk_types::DType;
use std::hint::black_box;

/// Name, program, the shape of all its arguments, operations.
type Case = (&'static str, &'static str, [u64; 2], f64);

/// A square matrix, and about one operation for each of its elements.
const SQUARE: [u64; 2] = [4096; 2];
const ELEMENTS: f64 = 4096.0 * 4096.0;

/// Numbers of queries, keys and values for attention.
const LENGTH: u64 = 8192;
const PRODUCTS: f64 = 4.0 * 64.0 * (LENGTH * LENGTH) as f64;

const CASES: [Case; 6] = [
    ("softmax", "(I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~i) . ij/i~ij", SQUARE, ELEMENTS),
    (
        "softmax of columns",
        "(I & >ij~j) . ij-j~ij . ^ij~ij . (I & +ij~j) . ij/j~ij",
        SQUARE,
        ELEMENTS,
    ),
    (
        "layer norm",
        "rms: (I & I) . +(ij*ij)~i . i*0.000244140625~i . i+0.00001~i . @sqrt i~i
         (I & (+ij~i . i*0.000244140625~i)) . ij-i~ij . (I & rms) . ij/i~ij",
        SQUARE,
        ELEMENTS,
    ),
    (
        "RMS norm",
        "rms: (I & I) . +(ij*ij)~i . i*0.000244140625~i . i+0.00001~i . @sqrt i~i
         (I & rms) . ij/i~ij",
        SQUARE,
        ELEMENTS,
    ),
    ("log-sum-exp", "(I & >ij~i) . ij-i~ij . ^ij~ij . +ij~i . $i~i", SQUARE, ELEMENTS),
    ("attention", include_str!("../../examples/attention.ijk"), [LENGTH, 64], PRODUCTS),
];

fn main() {
    for threads in [1, 2] {
        let engine = Engine::builder().threads(threads).build();
        println!("{threads} thread(s)");
        for case in &CASES {
            compare(&engine, case);
        }
    }
}

fn compare(engine: &Engine, &(name, source, shape, operations): &Case) {
    let program = ijk_ir::compile_source(source).program.expect("a program");
    let arguments: Vec<_> = program.inputs.iter().map(|_| (DType::F32, &shape[..])).collect();
    let instance = ijk_ir::instantiate(&program, &arguments).expect("it fits");
    let together = compiled(engine, &program, &instance, None);
    let apart = compiled(engine, &program, &instance, Some(u64::MAX));
    let lengths = |shape: &[u64]| shape.iter().map(|&n| n as usize).collect::<Vec<_>>();
    let result = lengths(&instance.shapes[program.outputs[0].0 as usize]);
    let shape = lengths(&shape);
    let input = numbers(shape.iter().product());
    let mut outputs = [vec![0.0f32; result.iter().product()], vec![0.0; result.iter().product()]];
    let [first, second] = &mut outputs;
    let run = |compiled: &Compiled, out: &mut Vec<f32>| {
        let view = || TensorView::from_slice(&input, &shape).expect("it fits");
        let views: Vec<_> = arguments.iter().map(|_| view()).collect();
        let out = TensorViewMut::from_slice(black_box(out), &result).expect("it fits");
        engine.execute(compiled, &views, &mut [out]).expect("it runs");
    };
    let times = race(15, || run(&together, first), || run(&apart, second));
    report(name, operations, times, "one by one");
}

/// The program compiled for a number of near bytes: larger arrays are swept.
fn compiled(
    engine: &Engine,
    program: &Program,
    instance: &Instance,
    near: Option<u64>,
) -> Compiled {
    let mut layout = Layout::contiguous(program, instance);
    layout.near = near.unwrap_or(layout.near);
    let plan = plan(program, instance, &layout).expect("it fits");
    if std::env::var_os("IJK_PLANS").is_some() {
        println!("{plan}");
    }
    engine.compile(&plan).expect("a sound plan")
}
