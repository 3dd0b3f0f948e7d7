//! Shared by the benches: a race of two, and peers.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use std::time::{Duration, Instant};

/// The best of several calls of each, interleaved.
pub fn race(repetitions: usize, mut ours: impl FnMut(), mut theirs: impl FnMut()) -> [Duration; 2] {
    let mut best = [Duration::MAX; 2];
    for _ in 0..repetitions {
        for (who, best) in best.iter_mut().enumerate() {
            let start = Instant::now();
            if who == 0 {
                ours()
            } else {
                theirs()
            }
            *best = (*best).min(start.elapsed());
        }
    }
    best
}

/// Prints one line: the case, times and rates (operations per second) of both, and their ratio.
pub fn report(what: &str, operations: f64, [ours, theirs]: [Duration; 2], peer: &str) {
    let rate = |t: Duration| operations / t.as_secs_f64() / 1e9;
    println!(
        "  {what:<34} {:>9.1?} {:>7.1} G/s   {peer} {:>9.1?} {:>7.1} G/s   ratio {:.2}",
        ours,
        rate(ours),
        theirs,
        rate(theirs),
        theirs.as_secs_f64() / ours.as_secs_f64()
    );
}

/// Numbers from 0 to 1, the same in every run.
pub fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|n| (n * 7919 % 1000) as f32 / 1000.0).collect()
}

/// Parallelism of faer on a number of threads.
pub fn par(threads: usize) -> Par {
    if threads == 1 { Par::Seq } else { Par::rayon(threads) }
}

/// `c = a · b` by faer, of row-major matrices m × k and k × n.
pub fn faer_product(c: &mut [f32], a: &[f32], b: &[f32], [m, n, k]: [usize; 3], par: Par) {
    let a = MatRef::from_row_major_slice(a, m, k);
    let b = MatRef::from_row_major_slice(b, k, n);
    matmul(MatMut::from_row_major_slice_mut(c, m, n), Accum::Replace, a, b, 1.0, par);
}

/// `abcd~bacd`, and back.
pub fn swap_first(from: &[f32], to: &mut [f32], n: usize) {
    for a in 0..n {
        for b in 0..n {
            let rows = n * n;
            to[(b * n + a) * rows..][..rows].copy_from_slice(&from[(a * n + b) * rows..][..rows]);
        }
    }
}
