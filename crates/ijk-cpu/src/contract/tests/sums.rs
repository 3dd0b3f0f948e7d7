//! Order of summation: long sums, threads, and error bounds.

use super::kit::*;
use crate::{Level, Workers};
use ijk_kernels::tuning::order::{KC, SPLIT_K_STEPS};
use ijk_plan::plan::Role;
use ijk_types::{BinaryOp, DType, Monoid, Scalar};

/// Few outputs of a long k: split-k.
#[test]
fn long_sums() {
    let (mut dice, workers) = (Dice(4), all_workers());
    let k = 2 * SPLIT_K_STEPS + 1234;
    for pair in SUM {
        for (m, n) in [(1, 1), (3, 2)] {
            let axes = vec![
                axis(Role::M, m, [k as isize, 0, 7]),
                axis(Role::N, n, [0, 1, 1]),
                axis(Role::K, k, [1, n as isize, 0]),
            ];
            check(&task(pair, axes), &mut dice, &workers);
        }
    }
}

/// The same if each operand is contiguous along another axis of k.
#[test]
fn long_sums_of_transposed_operands() {
    let (mut dice, workers) = (Dice(9), all_workers());
    for pair in SUM {
        for (m, x, y) in [(1, 331, 107), (3, 40, 1000)] {
            let size = (x * y) as isize;
            let axes = vec![
                axis(Role::M, m, [size, 0, 1]),
                axis(Role::K, x, [y as isize, 1, 0]),
                axis(Role::K, y, [1, x as isize, 0]),
            ];
            check(&task(pair, axes), &mut dice, &workers);
        }
    }
}

/// Large enough for several blocks and for threads.
#[test]
fn threads_do_not_change_results() {
    let workers = all_workers();
    let (m, n, k) = (500, 300, 600);
    let axes = vec![
        axis(Role::M, m, [k as isize, 0, n as isize]),
        axis(Role::N, n, [0, 1, 1]),
        axis(Role::K, k, [1, n as isize, 0]),
    ];
    let task = task(SUM[0], axes);
    let mut dice = Dice(6);
    let mut fill = || Scalar::F32(dice.roll(1 << 24) as f32 / 1e6);
    let a = Data::new(DType::F32, &task.axes, |x| x.a, &mut fill);
    let b = Data::new(DType::F32, &task.axes, |x| x.b, &mut fill);
    for level in Level::available() {
        let results = workers.iter().map(|workers| {
            let mut c = Data::new(DType::F32, &task.axes, |x| x.c, || Scalar::F32(f32::NAN));
            run(&task, &a, &b, &mut c, level, workers);
            c.bytes
        });
        let results: Vec<_> = results.collect();
        assert!(results.windows(2).all(|w| w[0] == w[1]), "{}", level.name());
    }
}

/// Few rows in place, and several blocks of k: threads share the columns.
#[test]
fn threads_share_columns_of_few_rows() {
    for (m, k) in [(8, 900), (16, 400), (17, 300), (33, 240)] {
        let n = 700;
        let axes = vec![
            axis(Role::M, m, [1, 0, 1]),
            axis(Role::N, n, [0, k as isize, m as isize]),
            axis(Role::K, k, [m as isize, 1, 0]),
        ];
        let task = task((DType::F32, (BinaryOp::Mul, None), Monoid::Add), axes);
        let mut dice = Dice(8);
        let mut fill = || Scalar::F32(dice.roll(1 << 24) as f32 / 1e6);
        let a = Data::new(DType::F32, &task.axes, |x| x.a, &mut fill);
        let b = Data::new(DType::F32, &task.axes, |x| x.b, &mut fill);
        for level in Level::available() {
            let result = |workers: &Workers| {
                let mut c = Data::new(DType::F32, &task.axes, |x| x.c, || Scalar::F32(f32::NAN));
                run(&task, &a, &b, &mut c, level, workers);
                c.bytes
            };
            let (one, many) = (result(&Workers::new(1)), Workers::new(3));
            for _ in 0..40 {
                assert!(result(&many) == one, "{} {m} {k}", level.name());
            }
        }
    }
}

/// The error bound that the module states.
#[test]
fn sums_keep_their_error_bound() {
    let k = 5000;
    let task = task(
        (DType::F32, (BinaryOp::Mul, None), Monoid::Add),
        vec![
            axis(Role::M, 20, [1, 0, 1]),
            axis(Role::N, 20, [0, 1, 20]),
            axis(Role::K, k, [20, 20, 0]),
        ],
    );
    let mut dice = Dice(7);
    let mut fill = || Scalar::F32(dice.roll(1 << 20) as f32 / 1e3 - 500.0);
    let a = Data::new(DType::F32, &task.axes, |x| x.a, &mut fill);
    let b = Data::new(DType::F32, &task.axes, |x| x.b, &mut fill);
    let mut c = Data::new(DType::F32, &task.axes, |x| x.c, || Scalar::F32(0.0));
    for level in Level::available() {
        run(&task, &a, &b, &mut c, level, &Workers::new(1));
        let steps = 2.0 * KC as f64 + 2.0 * k as f64 / KC as f64;
        for m in 0..20 {
            for n in 0..20 {
                let term = |k: usize| {
                    let at = (20 * k) as isize;
                    a.get(DType::F32, at + m).as_f64() * b.get(DType::F32, at + n).as_f64()
                };
                let exact: f64 = (0..k).map(term).sum();
                let size: f64 = (0..k).map(|k| term(k).abs()).sum();
                let error = (c.get(DType::F32, m + 20 * n).as_f64() - exact).abs();
                assert!(error <= steps * f64::from(f32::EPSILON) * size);
            }
        }
    }
}
