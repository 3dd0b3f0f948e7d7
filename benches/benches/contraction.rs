//! Contractions beside their peers, interleaved in one run: `cargo bench --bench contraction`.
//!
//! Each line has the best time of both and the ratio of their rates; 1.00 is as fast.

use ijk_benches::{faer_product, numbers, par, race, report, swap_first};
use ijk_cpu::bench_api::Machine;
use ijk_plan::plan::{Base, BufferId, Contraction, ContractionAxis, Role};
use ijk_types::{BinaryOp, DType, Monoid};
use std::hint::black_box;

fn main() {
    for threads in [1, 2] {
        let machine = Machine::new(threads);
        println!("{threads} thread(s), {}", machine.level.name());
        products(&machine, threads);
        permuted(&machine, threads);
        semirings(&machine);
        vectors(&machine);
    }
    correlation();
}

fn axis(role: Role, extent: usize, [a, b, c]: [isize; 3]) -> ContractionAxis {
    ContractionAxis { name: String::new(), role, extent, a, b, c }
}

fn task(map: BinaryOp, reduce: Monoid, axes: Vec<ContractionAxis>) -> Contraction {
    let base = |n| Base { buffer: BufferId(n), offset: 0 };
    let (dtype, span) = (DType::F32, Default::default());
    Contraction {
        dtype,
        map,
        then: None,
        reduce,
        a: base(0),
        b: base(1),
        c: base(2),
        accumulate: false,
        axes,
        span,
    }
}

/// `ik*kj~ij` of row-major matrices.
fn matrices(m: usize, n: usize, k: usize) -> Vec<ContractionAxis> {
    vec![
        axis(Role::M, m, [k as isize, 0, n as isize]),
        axis(Role::N, n, [0, 1, 1]),
        axis(Role::K, k, [1, n as isize, 0]),
    ]
}

fn products(machine: &Machine, threads: usize) {
    for (n, repetitions) in [(64, 2000), (128, 500), (256, 200), (512, 60), (1024, 25), (2048, 6)] {
        let (a, b) = (numbers(n * n), numbers(n * n));
        let (mut c, mut d) = (vec![0.0; n * n], vec![0.0; n * n]);
        let task = task(BinaryOp::Mul, Monoid::Add, matrices(n, n, n));
        let times = race(
            repetitions,
            || machine.contract(&task, &a, &b, black_box(&mut c)),
            || faer_product(black_box(&mut d), &a, &b, [n; 3], par(threads)),
        );
        assert!(c.iter().zip(&d).all(|(x, y)| (x - y).abs() <= 1e-3 * y.abs().max(1.0)));
        report(&format!("ik*kj {n}³"), 2.0 * (n as f64).powi(3), times, "faer");
    }
}

/// `abcd*eb~abcde . +abcde~aecd` beside permuting b to the front, multiplying, and permuting e back.
fn permuted(machine: &Machine, threads: usize) {
    let n = 48;
    let i = n as isize;
    let axes = vec![
        axis(Role::M, n, [i * i * i, 0, i * i * i]),
        axis(Role::M, n, [i, 0, i]),
        axis(Role::M, n, [1, 0, 1]),
        axis(Role::N, n, [0, i, i * i]),
        axis(Role::K, n, [i * i, 1, 0]),
    ];
    let task = task(BinaryOp::Mul, Monoid::Add, axes);
    let (a, b) = (numbers(n * n * n * n), numbers(n * n));
    let (mut c, mut d) = (vec![0.0; a.len()], vec![0.0; a.len()]);
    let (mut moved, mut product) = (vec![0.0; a.len()], vec![0.0; a.len()]);
    let times = race(
        20,
        || machine.contract(&task, &a, &b, black_box(&mut c)),
        || {
            swap_first(&a, &mut moved, n);
            faer_product(&mut product, &b, &moved, [n, n * n * n, n], par(threads));
            swap_first(&product, black_box(&mut d), n);
        },
    );
    assert!(c.iter().zip(&d).all(|(x, y)| (x - y).abs() <= 1e-3 * y.abs().max(1.0)));
    report("abcd*eb . +abcde~aecd, 48", 2.0 * (n as f64).powi(5), times, "permute + faer");
}

/// Other semirings beside the matrix product of the engine.
fn semirings(machine: &Machine) {
    let n = 512;
    let (a, mut b) = (numbers(n * n), numbers(n * n));
    let (mut c, mut d) = (vec![0.0; n * n], vec![0.0; n * n]);
    let product = task(BinaryOp::Mul, Monoid::Add, matrices(n, n, n));
    let cases = [
        ("<(ik+kj) 512³", BinaryOp::Add, Monoid::Min),
        (">(ik*kj) 512³", BinaryOp::Mul, Monoid::Max),
        ("+(ik-kj) 512³", BinaryOp::Sub, Monoid::Add),
    ];
    for (name, map, reduce) in cases {
        let task = task(map, reduce, matrices(n, n, n));
        let times = race(
            40,
            || machine.contract(&task, &a, &b, black_box(&mut c)),
            || machine.contract(&product, &a, &b, black_box(&mut d)),
        );
        report(name, 2.0 * (n as f64).powi(3), times, "product");
    }
    b[n + 1] = f32::NAN;
    let task = task(BinaryOp::Add, Monoid::Min, matrices(n, n, n));
    let times = race(
        40,
        || machine.contract(&task, &a, &b, black_box(&mut c)),
        || machine.contract(&product, &a, &b, black_box(&mut d)),
    );
    report("<(ik+kj) 512³ with a NaN", 2.0 * (n as f64).powi(3), times, "product");
}

/// Matrix by vector, row-major and column-major.
fn vectors(machine: &Machine) {
    let n = 4096;
    let (a, x) = (numbers(n * n), numbers(n));
    let (mut y, mut z) = (vec![0.0; n], vec![0.0; n]);
    let i = n as isize;
    for (name, [row, column]) in [("ik*k 4096²", [i, 1]), ("ki*k 4096²", [1, i])] {
        let axes = vec![axis(Role::M, n, [row, 0, 1]), axis(Role::K, n, [column, 1, 0])];
        let task = task(BinaryOp::Mul, Monoid::Add, axes);
        let times = race(
            20,
            || machine.contract(&task, &a, &x, black_box(&mut y)),
            || match row {
                1 => axpys(&a, &x, black_box(&mut z)),
                _ => dots(&a, &x, black_box(&mut z)),
            },
        );
        report(name, 2.0 * (n as f64).powi(2), times, "plain loop");
    }
    let (a, b) = (numbers(10_000_000), numbers(10_000_000));
    let long = task(BinaryOp::Mul, Monoid::Add, vec![axis(Role::K, a.len(), [1, 1, 0])]);
    let mut sum = [0.0];
    let times = race(
        20,
        || machine.contract(&long, &a, &b, black_box(&mut sum)),
        || {
            black_box(a.iter().zip(&b).map(|(x, y)| x * y).sum::<f32>());
        },
    );
    report("i*i 10⁷", 2e7, times, "plain loop");
}

fn dots(a: &[f32], x: &[f32], y: &mut [f32]) {
    for (y, row) in y.iter_mut().zip(a.chunks(x.len())) {
        *y = row.iter().zip(x).map(|(a, x)| a * x).sum();
    }
}

fn axpys(a: &[f32], x: &[f32], y: &mut [f32]) {
    y.fill(0.0);
    for (x, row) in x.iter().zip(a.chunks(y.len())) {
        y.iter_mut().zip(row).for_each(|(y, a)| *y += a * x);
    }
}

/// `[i+k]*k~ik . +ik~i` beside two plain loops.
fn correlation() {
    let (m, k) = (10_000_000, 64);
    let (a, x) = (numbers(m + k - 1), numbers(k));
    let (mut y, mut z) = (vec![0.0; m], vec![0.0; m]);
    let axes = vec![axis(Role::M, m, [1, 0, 1]), axis(Role::K, k, [1, 1, 0])];
    let task = task(BinaryOp::Mul, Monoid::Add, axes);
    for threads in [1, 2] {
        let machine = Machine::new(threads);
        let times = race(
            5,
            || machine.contract(&task, &a, &x, black_box(&mut y)),
            || {
                for (i, z) in z.iter_mut().enumerate() {
                    *z = a[i..i + k].iter().zip(&x).map(|(a, x)| a * x).sum();
                }
                black_box(&mut z);
            },
        );
        let name = format!("[i+k]*k 10⁷×64, {threads} thread(s)");
        report(&name, 2.0 * m as f64 * k as f64, times, "plain loop (1 thread)");
    }
}
