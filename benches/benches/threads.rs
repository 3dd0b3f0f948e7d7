//! The same work on one thread and on two, interleaved: `cargo bench -p ijk-benches --bench threads`.
//!
//! Each line has the median time of both, the median of the ratios of adjacent runs, and the ratio of
//! the best times. The last lines list the cases that two threads slow down by more than the tolerance:
//! there should be none. The bench needs two idle cores: between the cases, plain loops run on one
//! thread and on two concurrently, and the last line has their speedup. If that is much less than 2,
//! other processes kept the cores busy; then only the ratio of the best times is meaningful.
//!
//! Arguments: part of the names of cases, repetitions (25).

use ijk::et::{self, Bindings};
use ijk::{Engine, Program, Tensor, TensorView, TensorViewMut};
use ijk_benches::numbers;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Shorter work is repeated until a measurement takes this long.
const SHORT: Duration = Duration::from_micros(200);

/// Tolerated slowdown by a second thread.
const SLOWER: f64 = 1.05;

/// Programs in i with the shapes of their arguments as functions of a size, and the sizes.
type Family = (&'static str, &'static str, fn(usize) -> Vec<Vec<usize>>, &'static [usize]);

const SIDES: &[usize] = &[32, 64, 128, 256, 512, 1024, 2048, 4096];
const LENGTHS: &[usize] =
    &[1 << 10, 1 << 12, 1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18, 1 << 20, 1 << 22, 1 << 24];
const PRODUCTS: &[usize] = &[16, 32, 48, 64, 80, 96, 128, 160, 192, 256, 384, 512, 768, 1024];

const FAMILIES: &[Family] = &[
    ("matmul", "ik*kj~ijk . +ijk~ij", |n| vec![vec![n, n]; 2], PRODUCTS),
    ("(max,+) matmul", ">(ik+kj)~ij", |n| vec![vec![n, n]; 2], &[16, 32, 64, 96, 128, 256, 512]),
    ("matvec", "+(ij*j)~i", |n| vec![vec![n, n], vec![n]], SIDES),
    ("vecmat", "+(i*ij)~j", |n| vec![vec![n], vec![n, n]], SIDES),
    ("64 matmuls", "+(bik*bkj)~bij", |n| vec![vec![64, n, n]; 2], &[2, 4, 8, 16, 32, 64, 128]),
    ("increment", "i+1~i", |n| vec![vec![n]], LENGTHS),
    ("add", "i+i~i", |n| vec![vec![n]; 2], LENGTHS),
    ("exp", "^i~i", |n| vec![vec![n]], LENGTHS),
    ("tanh", "@tanh i~i", |n| vec![vec![n]], LENGTHS),
    ("sum", "+i~.", |n| vec![vec![n]], LENGTHS),
    ("dot", "+(i*i)~.", |n| vec![vec![n]; 2], LENGTHS),
    ("row sums", "+ij~i", |n| vec![vec![n, n]], SIDES),
    ("column sums", "+ij~j", |n| vec![vec![n, n]], SIDES),
    ("row argmax", "@argmax ij~i", |n| vec![vec![n, n]], SIDES),
    ("add a row", "ij+j~ij", |n| vec![vec![n, n], vec![n]], SIDES),
    ("outer", "i*j~ij", |n| vec![vec![n]; 2], SIDES),
    ("transpose", "ij~ji", |n| vec![vec![n, n]], SIDES),
    ("permute", "abcd~dbca", |n| vec![vec![n; 4]], &[4, 8, 12, 16, 24, 32, 48, 64]),
    (
        "softmax",
        "(I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~i) . ij/i~ij",
        |n| vec![vec![n, n]],
        SIDES,
    ),
    (
        "correlation",
        "[i+k]*k~ik . +ik~i",
        |n| vec![vec![n], vec![64]],
        &[1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20],
    ),
];

/// Programs in Einsum Tuple, on a table, rows of 64 numbers, and positions in it.
const ROWS: [(&str, &str); 2] = [
    ("gather", "out[p,s] = table[rows[p],s]"),
    ("scatter-add", "out[e,s] = table[e,s]\nout[rows[p],s] += updates[p,s]"),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let number = |a: &String| a.parse::<usize>().ok();
    let repetitions = arguments.iter().find_map(number).unwrap_or(25).max(1);
    let wanted = arguments.iter().find(|a| number(a).is_none());
    let mut race = Race {
        engines: [1, 2].map(|threads| Engine::builder().threads(threads).build()),
        repetitions,
        wanted: wanted.cloned().unwrap_or_default(),
        slower: Vec::new(),
        gains: Vec::new(),
    };
    for &(name, source, shapes, sizes) in FAMILIES {
        let program = ijk::i(source).expect("a program");
        for &n in sizes {
            race.program(&format!("{name} {n}"), &program, &shapes(n));
        }
    }
    for (name, source) in ROWS {
        let program = ijk::et(source).expect("a program");
        for count in [10, 100, 1_000, 10_000, 100_000, 200_000] {
            race.rows(&format!("{name} {count} rows"), &program, count);
        }
    }
    println!("\n{} slower with two threads by more than 5 %", race.slower.len());
    race.slower.iter().for_each(|case| println!("  {case}"));
    let gain = median(race.gains.into_iter());
    let busy = if gain < 1.8 { ": the machine is busy" } else { "" };
    println!("a second thread did {gain:.2} times the work of one in plain loops{busy}");
}

/// Speedup of plain loops by a second thread, which depends on the load of the machine.
fn gain() -> f64 {
    let start = Instant::now();
    spin();
    let one = start.elapsed();
    std::thread::scope(|scope| {
        scope.spawn(spin);
        spin();
    });
    2.0 * one.as_secs_f64() / (start.elapsed() - one).as_secs_f64()
}

/// About a millisecond of arithmetic.
fn spin() {
    let mut x = 1u64;
    for n in 0..1_000_000 {
        x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(n));
    }
}

/// Two engines, and results so far.
struct Race {
    engines: [Engine; 2],
    repetitions: usize,
    wanted: String,
    slower: Vec<String>,
    gains: Vec<f64>,
}

impl Race {
    /// A program in i, into existing arrays.
    fn program(&mut self, name: &str, program: &Program, shapes: &[Vec<usize>]) {
        if !name.contains(&self.wanted) {
            return;
        }
        let inputs: Vec<Tensor> = shapes.iter().map(|shape| tensor(shape)).collect();
        let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
        let typed: Vec<_> = views.iter().map(|view| (view.dtype(), view.shape())).collect();
        let results = program.results(&typed).expect("it fits");
        let results = results.iter().map(|(dtype, shape)| Tensor::zeros(*dtype, shape));
        let mut results: Vec<Tensor> = results.collect::<Result<_, _>>().expect("memory");
        self.run(name, |engine| {
            let mut into: Vec<TensorViewMut<'_>> =
                results.iter_mut().map(Tensor::view_mut).collect();
            engine.apply_into(program, &views[..], &mut into).expect("it runs");
        });
    }

    /// A program in Einsum Tuple on a number of rows.
    fn rows(&mut self, name: &str, program: &et::Program, count: usize) {
        if !name.contains(&self.wanted) {
            return;
        }
        let (table, updates) = (tensor(&[count, 64]), tensor(&[count, 64]));
        let positions = (0..count as i64).map(|n| n * 7919 % count as i64).collect();
        let positions = Tensor::from_vec(positions, &[count]).expect("it fits");
        let mut bindings = Bindings::new().bind("table", &table).bind("rows", &positions);
        if program.signature().bindable().any(|name| name == "updates") {
            bindings = bindings.bind("updates", &updates);
        }
        self.run(name, |engine| drop(program.run_on(engine, &bindings).expect("it runs")));
    }

    fn run(&mut self, name: &str, mut run: impl FnMut(&Engine)) {
        let [one, two] = &self.engines;
        let mut batch = |engine: &Engine, runs: u32| {
            // Warm up with the same threads: arrays that one core has just streamed are in its private caches.
            run(engine);
            let start = Instant::now();
            (0..runs).for_each(|_| run(engine));
            start.elapsed() / runs
        };
        // The first runs plan and start threads.
        [one, two].iter().for_each(|engine| _ = batch(engine, 2));
        let each = batch(one, 3).max(Duration::from_nanos(20));
        let runs = (SHORT.as_nanos() / each.as_nanos()).max(1) as u32;
        let pairs = (0..self.repetitions).map(|_| [batch(one, runs), batch(two, runs)]);
        let pairs: Vec<[Duration; 2]> = pairs.collect();
        let times = |n: usize| pairs.iter().map(move |pair| pair[n].as_secs_f64() * 1e6);
        let [first, second] = [0, 1].map(|n| median(times(n)));
        let [least, fastest] = [0, 1].map(|n| times(n).fold(f64::INFINITY, f64::min));
        let (ratio, best) = (median(times(0).zip(times(1)).map(|(a, b)| b / a)), fastest / least);
        let line = format!(
            "{name:<28} {first:>10.2} µs  {second:>10.2} µs  ratio {ratio:.2}  of the best {best:.2}"
        );
        println!("{line}");
        if ratio > SLOWER {
            self.slower.push(line);
        }
        self.gains.push(gain());
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// An array of `f32`.
fn tensor(shape: &[usize]) -> Tensor {
    Tensor::from_vec(numbers(shape.iter().product()), shape).expect("it fits")
}
