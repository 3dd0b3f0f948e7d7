//! Programs whose statements sweep over rows together, beside the same programs statement by
//! statement: `cargo bench -p ijk-benches --bench sweep`.
//!
//! Each line gives the best time of both and the ratio of their rates.

use ijk_benches::{numbers, race, report};
use ijk_cpu::{Compiled, Engine};
use ijk_plan::{Layout, plan};
use ijk_tensor::{TensorView, TensorViewMut};
use ijk_types::DType;
use std::hint::black_box;

const N: usize = 4096;

const PROGRAMS: [(&str, &str); 5] = [
    ("softmax", "(I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~i) . ij/i~ij"),
    ("softmax of columns", "(I & >ij~j) . ij-j~ij . ^ij~ij . (I & +ij~j) . ij/j~ij"),
    (
        "layer norm",
        "rms: (I & I) . +(ij*ij)~i . i*0.000244140625~i . i+0.00001~i . @sqrt i~i
         (I & (+ij~i . i*0.000244140625~i)) . ij-i~ij . (I & rms) . ij/i~ij",
    ),
    (
        "RMS norm",
        "rms: (I & I) . +(ij*ij)~i . i*0.000244140625~i . i+0.00001~i . @sqrt i~i
         (I & rms) . ij/i~ij",
    ),
    ("log-sum-exp", "(I & >ij~i) . ij-i~ij . ^ij~ij . +ij~i . $i~i"),
];

fn main() {
    for threads in [1, 2] {
        let engine = Engine::builder().threads(threads).build();
        println!("{threads} thread(s)");
        for (name, source) in PROGRAMS {
            compare(&engine, name, source);
        }
    }
}

fn compare(engine: &Engine, name: &str, source: &str) {
    let (together, shape) = compiled(engine, source, None);
    let (apart, _) = compiled(engine, source, Some(u64::MAX));
    let input = numbers(N * N);
    let mut outputs = [vec![0.0f32; shape.iter().product()], vec![0.0; shape.iter().product()]];
    let [first, second] = &mut outputs;
    let run = |compiled: &Compiled, out: &mut Vec<f32>| {
        let view = TensorView::from_slice(&input, &[N, N]).expect("it fits");
        let out = TensorViewMut::from_slice(black_box(out), &shape).expect("it fits");
        engine.execute(compiled, &[view], &mut [out]).expect("it runs");
    };
    let times = race(15, || run(&together, first), || run(&apart, second));
    report(name, (N * N) as f64, times, "one by one");
}

/// The program for a matrix of `f32`, and the shape of its result.
fn compiled(engine: &Engine, source: &str, near: Option<u64>) -> (Compiled, Vec<usize>) {
    let program = ijk_ir::compile_source(source).program.expect("a program");
    let shape = [N as u64; 2];
    let instance = ijk_ir::instantiate(&program, &[(DType::F32, &shape)]).expect("it fits");
    let mut layout = Layout::contiguous(&program, &instance);
    layout.near = near.unwrap_or(layout.near);
    let plan = plan(&program, &instance, &layout).expect("it fits");
    if std::env::var_os("IJK_PLANS").is_some() {
        println!("{plan}");
    }
    let result = &instance.shapes[program.outputs[0].0 as usize];
    let result = result.iter().map(|&n| n as usize).collect();
    (engine.compile(&plan).expect("a sound plan"), result)
}
