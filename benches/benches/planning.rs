//! Time of planning: `cargo bench -p ijk-benches --bench planning`.
//!
//! A parsed program is called with a new shape each time, as a model on sequences of any length: it is bound,
//! lowered, planned, compiled and run. Calls with a cached shape only run; the difference is the cost of
//! planning. Arrays are small, so that it dominates.
//!
//! Arguments: rounds (20), parts of the names of programs.

use ijk::ndarray::Array1;
use ijk::{Einsum, Engine};
use ijk_tensor::counting::Counting;
use std::hint::black_box;
use std::time::Instant;

/// The allocator of the Python package, with counters.
#[global_allocator]
static ALLOCATOR: Counting<ijk::WithReserve> = Counting::new(ijk::WithReserve);

/// More shapes than the cache has plans, so that each is evicted before its next turn.
const SHAPES: std::ops::Range<usize> = 64..1064;

const I: [&str; 3] =
    ["(I & >t~.) . t-.~t . ^t~t . (I & +t~.) . t/.~t", "t*2~t . t+1~t . >t~.", "t*2~t . +t~."];

const ET: [&str; 3] = [
    "m[] =max x[d]\nw[d] = EXP(x[d] - m[])\nt[] = w[d]\ny[d] = w[d] / t[]",
    "s[] = POW(x[d], 2)\ny[] = SQRT(s[])",
    "y[d] = x[d] * 2 + 1",
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let rounds = arguments.first().and_then(|text| text.parse().ok()).unwrap_or(20);
    let wanted = |name: &str| arguments.iter().skip(1).all(|word| name.contains(&word[..]));
    let engine = Engine::builder().threads(1).build();
    let data: Vec<Array1<f32>> =
        SHAPES.map(|n| Array1::from_iter((0..n).map(|i| i as f32 / n as f32))).collect();
    println!("new shape  known shape  planning   µs a call;  asked for memory: new, known");
    for source in I.into_iter().filter(|source| wanted(source)) {
        let program = ijk::i(source).expect("a program");
        report(source, rounds, &data, |x| drop(black_box(engine.apply(&program, (x,)))));
    }
    for source in ET.into_iter().filter(|source| wanted(source)) {
        let program = ijk::et(source).expect("a program");
        report(source, rounds, &data, |x| {
            drop(black_box(program.run_on(&engine, [("x", x)]).expect("it runs")));
        });
    }
    if wanted("t,t->") {
        let dot = Einsum::new("t,t->").expect("subscripts");
        report("t,t->", rounds, &data, |x| {
            drop(black_box(engine.apply_einsum(&dot, (x, x))));
        });
    }
}

/// The best of some rounds of calls with all shapes in turn, and with one shape.
fn report(name: &str, rounds: usize, data: &[Array1<f32>], call: impl Fn(&Array1<f32>)) {
    let known = &data[data.len() / 2];
    let mut best = [f64::INFINITY; 2];
    for _ in 0..rounds {
        let start = Instant::now();
        data.iter().for_each(&call);
        best[0] = best[0].min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        data.iter().for_each(|_| call(known));
        best[1] = best[1].min(start.elapsed().as_secs_f64());
    }
    let count = data.len() as f64;
    let asked_new = ALLOCATOR.asked(|| data.iter().for_each(&call)) as f64 / count;
    let asked_old = ALLOCATOR.asked(|| data.iter().for_each(|_| call(known))) as f64 / count;
    let [new, old] = best.map(|seconds| seconds * 1e6 / count);
    let (line, planning) = (name.replace('\n', " ; "), new - old);
    println!(
        "{new:>9.2}  {old:>11.2}  {planning:>8.2}  {asked_new:>6.1} {asked_old:>5.1}   {line}"
    );
}
