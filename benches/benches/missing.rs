//! Products of matrices with missing blocks, beside the product of whole ones: `cargo bench -p ijk-benches --bench
//! missing`, perhaps with `-- 16` for fewer blocks along each side.
//!
//! Arrays are on disk. Each line has the best time, its ratio to that of the whole product, and the ratio of their numbers
//! of block products: missing blocks cost nothing if both ratios are equal. The last grids have hardly any blocks, so that
//! only overhead remains.

use ijk::blocks::{BigTensor, Block, Executor, MemoryStore, Sink, ZarrOptions};
use ijk::{DType, Tensor};
use ijk_benches::numbers;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Elements along each side of a block.
const BLOCK: usize = 256;

/// Repetitions, of which the best counts.
const ROUNDS: usize = 5;

/// True if there is a block at a row and a column of the grid.
type Has = fn(usize, usize) -> bool;

fn main() {
    let n = std::env::args().filter_map(|text| text.parse().ok()).next().unwrap_or(12);
    let folder = tempfile::tempdir().expect("a folder");
    let shapes: [(&str, Has); 4] = [
        ("whole", |_, _| true),
        ("triangular", |i, j| j <= i),
        ("band", |i, j| i.abs_diff(j) <= 1),
        ("diagonal", |i, j| i == j),
    ];
    for workers in [1, 2] {
        let mut whole = (Duration::ZERO, 0);
        for (name, has) in shapes {
            let path = folder.path().join(format!("{name}-{workers}"));
            save(&path, n, BLOCK, has);
            let pairs = (0..n * n * n).filter(|at| {
                let (i, k, j) = (at / (n * n), at / n % n, at % n);
                has(i, k) && has(k, j)
            });
            let pairs = pairs.count();
            for finite in [false, true] {
                let executor = Executor::new().workers(workers).assume_finite(finite);
                let time = best(&executor, &path, folder.path());
                if name == "whole" {
                    whole = (time, pairs);
                }
                let part = time.as_secs_f64() / whole.0.as_secs_f64();
                let work = pairs as f64 / whole.1 as f64;
                let assumed = if finite { ", assumed to be finite" } else { "" };
                println!(
                    "{name}, {n}² blocks of {BLOCK}², {workers} workers{assumed}: {:.1} ms, {part:.3} of the whole for {work:.3} of the work",
                    time.as_secs_f64() * 1e3
                );
            }
        }
        for (name, side, has) in [
            ("block-diagonal", 200, (|i, j| i == j) as fn(usize, usize) -> bool),
            ("empty", 1000, |_, _| false),
            ("ten blocks of a million", 1000, |i, j| i == j && i % 100 == 0),
        ] {
            let path = folder.path().join(format!("{side}-{workers}-{name}"));
            save(&path, side, 4, has);
            let time = best(&Executor::new().workers(workers), &path, folder.path());
            println!(
                "{name}, {side}² blocks of 4², {workers} workers: {:.1} ms",
                time.as_secs_f64() * 1e3
            );
        }
    }
}

/// Writes a matrix of `n` by `n` blocks, some of them missing.
fn save(path: &Path, n: usize, block: usize, has: fn(usize, usize) -> bool) {
    let side = [n * block; 2];
    let nothing = BigTensor::zeros(DType::F32, side, [Some(block); 2]).expect("a type");
    let store = MemoryStore::new(nothing.ty().clone());
    for at in 0..n * n {
        let at = [at / n, at % n];
        if has(at[0], at[1]) {
            let part = Tensor::from_vec(numbers(block * block), &[block; 2]).expect("memory");
            store.write(&at, Some(Arc::new(Block::Numbers(part)))).expect("memory");
        }
    }
    let matrix = BigTensor::from_source(store).expect("a type");
    Executor::new().save(&matrix, path, &ZarrOptions::new()).expect("a disk");
}

/// The best time of its square.
fn best(executor: &Executor, path: &Path, folder: &Path) -> Duration {
    let options = ZarrOptions::new().fresh(true);
    let square = || {
        let matrix = BigTensor::open(path).expect("an array");
        let square = matrix.matmul(&matrix).expect("a type");
        executor.save(&square, folder.join("square"), &options).expect("a disk");
    };
    let time = || {
        let start = Instant::now();
        square();
        start.elapsed()
    };
    (0..ROUNDS).map(|_| time()).min().unwrap_or_default()
}
