//! Matrices and batches of many sizes.

use super::kit::*;
use ijk_kernels::tuning::order::SPLIT_K_STEPS;
use ijk_plan::plan::Role;

#[test]
fn random_contractions_agree_with_the_definition() {
    let (mut dice, workers) = (Dice(1), all_workers());
    for _ in 0..rounds() {
        for pair in triples() {
            let axes = random_axes(&mut dice, 6000);
            check(&task(pair, axes), &mut dice, &workers);
        }
    }
}

/// `ik*kj` in all orders of memory, with extents around those of blocks and panels.
#[test]
fn matrices_of_many_sizes() {
    let (mut dice, workers) = (Dice(2), all_workers());
    let sizes = [
        (1, 1, 700),
        (33, 25, 257),
        (64, 13, 300),
        (5, 90, 513),
        (100, 1, 520),
        (3, 2, 999),
        (200, 14, 300),
        (11, 150, 530),
    ];
    for size in sizes {
        for order in 0..8 {
            let pair = dice.pick(&SUM);
            check(&task(pair, matrices(size, order)), &mut dice, &workers);
        }
    }
}

/// Few rows, and steps, by a long side: one operand is read once, in place.
#[test]
fn few_rows_by_many_columns() {
    let (mut dice, workers) = (Dice(33), all_workers());
    for (few, k) in [(2, 2), (3, 3), (4, 7), (13, 64), (16, 3), (33, 9), (48, 64)] {
        let long = 18_000 / k + 3;
        for size in [(few, long, k), (long, few, k)] {
            for order in 0..8 {
                check(&task(dice.pick(&SUM), matrices(size, order)), &mut dice, &workers);
            }
        }
    }
}

/// Few rows by few columns of a long k, which is cut into parts.
#[test]
fn long_sums_of_few_rows() {
    let (mut dice, workers) = (Dice(34), all_workers());
    for (m, n) in [(1, 2), (12, 1), (24, 1), (32, 2), (9, 7), (50, 24)] {
        let k = 2 * SPLIT_K_STEPS + 77;
        for order in [0, 3, 5, 6] {
            check(&task(dice.pick(&SUM), matrices((m, n, k), order)), &mut dice, &workers);
        }
    }
}

/// Two panels of two groups of rows, and fewer columns than microkernels of two groups have.
#[test]
fn few_columns_of_four_groups_of_rows() {
    let (mut dice, workers) = (Dice(24), all_workers());
    for (n, k) in [(2, 512), (4, 768), (5, 512), (7, 530), (12, 512)] {
        for m in [32, 64] {
            // Neither rows nor steps are contiguous in lhs.
            let axes = vec![
                axis(Role::M, m, [2, 0, 1]),
                axis(Role::N, n, [0, 1, m as isize]),
                axis(Role::K, k, [2 * m as isize, n as isize, 0]),
            ];
            check(&task(SUM[0], axes), &mut dice, &workers);
        }
    }
}

/// Enough columns for a range for each thread, many lhs panels with columns in place, groups of lhs panels, and rows of
/// lhs in place.
#[test]
fn columns_in_ranges_and_rows_in_groups() {
    let (mut dice, workers) = (Dice(23), all_workers());
    let sizes = [(200, 790, 130), (300, 40, 140), (500, 50, 70), (176, 40, 150), (176, 44, 150)];
    for size in sizes {
        // Rows are contiguous in the output.
        for order in 4..8 {
            check(&task(SUM[0], matrices(size, order)), &mut dice, &workers);
        }
    }
}

/// One column of every pair: all numbers of groups of rows, the last of which may be partial; rows are contiguous or not.
#[test]
fn one_column() {
    let (mut dice, workers) = (Dice(26), all_workers());
    for pair in triples() {
        for m in [1, 7, 16, 33, 50, 64, 100, 130, 200] {
            let (k, order) = (dice.pick(&[1, 5, 64, 300]), dice.roll(8));
            check(&task(pair, matrices((m, 1, k), order)), &mut dice, &workers);
        }
    }
}

/// An lhs in place or copied, some rows at a time; the last part may be smaller.
#[test]
fn small_matrices_in_parts() {
    let (mut dice, workers) = (Dice(7), all_workers());
    let sizes =
        [(16, 16, 100, 9), (7, 9, 90, 5), (300, 1, 33, 13), (5, 40, 64, 14), (3, 700, 2, 3)];
    for (outer, inner, k, n) in sizes {
        for transposed in [false, true] {
            // Steps between the rows, or around them.
            let (far, step) = if transposed { (inner, outer * inner) } else { (k * inner, inner) };
            let axes = vec![
                axis(Role::M, outer, [far as isize, 0, inner as isize]),
                axis(Role::M, inner, [1, 0, 1]),
                axis(Role::K, k, [step as isize, 1, 0]),
                axis(Role::N, n, [0, k as isize, (outer * inner) as isize]),
            ];
            for pair in SUM {
                check(&task(pair, axes.clone()), &mut dice, &workers);
            }
        }
    }
}

/// Batches on one thread: of few groups of rows, the last of which may be partial; in parts; and of one block of
/// panels. Each prefetches the operands of the next one, which may share rhs.
#[test]
fn batches_one_after_another() {
    let (mut dice, workers) = (Dice(25), all_workers());
    let sizes = [(33, 20, 40), (40, 9, 33), (80, 24, 70), (100, 12, 64), (37, 130, 150)];
    for (m, n, k) in sizes {
        for order in 0..8 {
            let pair = dice.pick(&SUM);
            let right = if dice.roll(3) == 0 { 0 } else { (k * n) as isize };
            let batch = axis(Role::Batch, 12, [(m * k) as isize, right, (m * n) as isize]);
            let axes = [vec![batch], matrices((m, n, k), order)].concat();
            check(&task(pair, axes), &mut dice, &workers);
        }
    }
}

/// A vector by a matrix in each batch, with steps that fill no unit of offsets.
#[test]
fn vectors_by_the_matrices_of_a_batch() {
    let (mut dice, workers) = (Dice(35), all_workers());
    for (m, k) in [(16, 40), (64, 3), (100, 65), (130, 300)] {
        for order in 0..8 {
            let batch = axis(Role::Batch, 5, [(m * k) as isize, k as isize, m as isize]);
            let axes = [vec![batch], matrices((m, 1, k), order)].concat();
            check(&task(dice.pick(&SUM), axes), &mut dice, &workers);
        }
    }
}

/// An empty k yields the identity; an empty output remains empty.
#[test]
fn empty_bundles() {
    let (mut dice, workers) = (Dice(5), all_workers());
    for pair in triples() {
        for (m, n, k) in [(3, 40, 0), (0, 5, 5), (5, 0, 5), (1, 1, 0), (0, 0, 0)] {
            let axes = vec![
                axis(Role::M, m, [5, 0, 40]),
                axis(Role::N, n, [0, 1, 1]),
                axis(Role::K, k, [1, 40, 0]),
            ];
            check(&task(pair, axes), &mut dice, &workers);
        }
        // No columns, with rows of short axes whose order differs in the output.
        let axes = vec![
            axis(Role::M, 9, [-195, 0, -26]),
            axis(Role::M, 13, [15, 0, 2]),
            axis(Role::N, 0, [0, 1, 1]),
            axis(Role::M, 3, [1, 0, 234]),
            axis(Role::K, 5, [3, 1, 0]),
        ];
        check(&task(pair, axes), &mut dice, &workers);
    }
}

/// Few rows and columns of long k: full and partial groups of lanes, strided steps.
#[test]
fn thin_matrices() {
    let (mut dice, workers) = (Dice(11), all_workers());
    for k in [64, 333, 2 * SPLIT_K_STEPS + 77] {
        for (m, n, gap) in [(1, 5, 0), (3, 2, 0), (5, 7, 2), (8, 8, 0), (8, 1, 3), (7, 9, 0)] {
            let [a, b] = [m + gap, n].map(|x| x as isize);
            let axes = vec![
                axis(Role::M, m, [1, 0, 1]),
                axis(Role::N, n, [0, 1, m as isize]),
                axis(Role::K, k, [a, b, 0]),
            ];
            check(&task(SUM[0], axes.clone()), &mut dice, &workers);
            check(&task(SUM[2], axes), &mut dice, &workers);
        }
    }
}
