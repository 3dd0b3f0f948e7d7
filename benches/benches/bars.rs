//! Programs through the public interface beside the best peer, interleaved in one run:
//! `cargo bench -p ijk-benches --bench bars`. docs/performance/README.md quotes it.
//!
//! Each line has the best time of both and the ratio of their rates; 1.00 is as fast.

use ijk::ndarray::{Array1, Array2, Array4, array};
use ijk::{Engine, Program, TensorView, TensorViewMut, i};
use ijk_benches::{faer_product, numbers, par, race, report, swap_first};
use std::hint::black_box;

fn main() {
    for threads in [1, 2] {
        let engine = Engine::builder().threads(threads).build();
        println!("{threads} thread(s), {}", engine.simd());
        product(&engine, threads);
        permuted(&engine, threads);
        tropical(&engine);
        correlation(&engine);
        relu(&engine);
    }
    println!("in line");
    tiny();
}

fn program(source: &str) -> Program {
    ijk::i(source).expect("the program compiles")
}

/// Applies to two arguments, into an existing array.
fn apply(engine: &Engine, f: &Program, arguments: [TensorView<'_>; 2], out: TensorViewMut<'_>) {
    engine.apply_into(f, &arguments[..], &mut [out]).expect("the shapes fit");
}

fn square(n: usize) -> Array2<f32> {
    Array2::from_shape_vec((n, n), numbers(n * n)).expect("n × n")
}

fn product(engine: &Engine, threads: usize) {
    let n = 1024;
    let f = program("ik*kj~ijk . +ijk~ij");
    let (a, b) = (square(n), square(n));
    let (mut c, mut d) = (square(n), vec![0.0; n * n]);
    let flat = [a.as_slice().expect("dense"), b.as_slice().expect("dense")];
    let times = race(
        20,
        || apply(engine, &f, [(&a).into(), (&b).into()], TensorViewMut::from_array(&mut c)),
        || faer_product(black_box(&mut d), flat[0], flat[1], [n; 3], par(threads)),
    );
    report("ik*kj~ijk . +ijk~ij, 1024³", 2.0 * (n as f64).powi(3), times, "faer");
}

/// Beside permuting an axis, multiplying, and permuting back.
fn permuted(engine: &Engine, threads: usize) {
    let n = 48;
    let f = program("abcd*eb~abcde . +abcde~aecd");
    let shape = (n, n, n, n);
    let a = Array4::from_shape_vec(shape, numbers(n.pow(4))).expect("n⁴");
    let (b, mut c) = (square(n), Array4::<f32>::zeros(shape));
    let (mut moved, mut between) = (vec![0.0; a.len()], vec![0.0; a.len()]);
    let mut d = vec![0.0; a.len()];
    let flat = [a.as_slice().expect("dense"), b.as_slice().expect("dense")];
    let times = race(
        20,
        || apply(engine, &f, [(&a).into(), (&b).into()], TensorViewMut::from_array(&mut c)),
        || {
            swap_first(flat[0], &mut moved, n);
            faer_product(&mut between, flat[1], &moved, [n, n.pow(3), n], par(threads));
            swap_first(&between, black_box(&mut d), n);
        },
    );
    report("abcd*eb~abcde . +abcde~aecd, 48", 2.0 * (n as f64).powi(5), times, "permute, faer");
}

fn tropical(engine: &Engine) {
    let n = 512;
    let (f, g) = (program("<(ik+kj)~ij"), program("+(ik*kj)~ij"));
    let (a, b, mut c, mut d) = (square(n), square(n), square(n), square(n));
    let times = race(
        40,
        || apply(engine, &f, [(&a).into(), (&b).into()], TensorViewMut::from_array(&mut c)),
        || apply(engine, &g, [(&a).into(), (&b).into()], TensorViewMut::from_array(&mut d)),
    );
    report("<(ik+kj)~ij, 512³", 2.0 * (n as f64).powi(3), times, "+(ik*kj)~ij");
}

fn correlation(engine: &Engine) {
    let (m, k) = (10_000_000, 64);
    let f = program("[i+k]*k~ik . +ik~i");
    let (a, x) = (Array1::from(numbers(m + k - 1)), Array1::from(numbers(k)));
    let (mut y, mut z) = (Array1::<f32>::zeros(m), vec![0.0; m]);
    let times = race(
        4,
        || apply(engine, &f, [(&a).into(), (&x).into()], TensorViewMut::from_array(&mut y)),
        || {
            let (a, x) = (a.as_slice().expect("dense"), x.as_slice().expect("dense"));
            for (i, z) in z.iter_mut().enumerate() {
                *z = a[i..i + k].iter().zip(x).map(|(a, x)| a * x).sum();
            }
            black_box(&mut z);
        },
    );
    report("[i+k]*k~ik . +ik~i, 10⁷ × 64", 2.0 * m as f64 * k as f64, times, "nested loop");
}

fn relu(engine: &Engine) {
    let n = 4096;
    let f = program("ij>0~ij");
    let x = square(n).mapv(|x| x - 0.5);
    let (mut y, mut z) = (square(n), vec![0.0f32; n * n]);
    let times = race(
        20,
        || {
            let mut out = [TensorViewMut::from_array(&mut y)];
            engine.apply_into(&f, &[TensorView::from_array(&x)][..], &mut out).expect("fits");
        },
        || {
            let x = x.as_slice().expect("dense");
            z.iter_mut().zip(x).for_each(|(z, &x)| *z = if x > 0.0 { x } else { 0.0 });
            black_box(&mut z);
        },
    );
    report("ij>0~ij, 4096²", (n * n) as f64, times, "loop (1 thread)");
}

/// A thousand calls of `i!` on matrices of 3 × 3, the result allocated each time.
fn tiny() {
    let mm = i!(ik*kj~ijk . +ijk~ij);
    let a = array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]];
    let calls = 1000;
    let times = race(
        200,
        || (0..calls).for_each(|_| drop(black_box(mm(black_box(&a), black_box(&a))))),
        || (0..calls).for_each(|_| drop(black_box(black_box(&a).dot(black_box(&a))))),
    );
    report("3 × 3 by 3 × 3, 1000 calls of i!", 54.0 * f64::from(calls), times, "ndarray's dot");
}
