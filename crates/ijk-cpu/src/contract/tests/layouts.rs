//! Tensors with several axes, in many orders of memory; convolutions.

use super::kit::*;
use crate::Level;
use crate::contract::canonical::algebra_of;
use crate::contract::select::blocking::Blocking;
use crate::contract::select::orient::orient;
use ijk_plan::plan::{ContractionAxis, Role};

/// Two axes of rows, one or two of columns and two of steps, each tensor contiguous along another one: rows are staged
/// in scratch memory, and steps are k-tiles.
#[test]
fn axes_in_another_order_in_each_tensor() {
    let (mut dice, workers) = (Dice(8), all_workers());
    const ROLES: [Role; 6] = [Role::M, Role::M, Role::N, Role::N, Role::K, Role::K];
    let extents = [[50, 37, 3, 2, 3, 4], [7, 33, 5, 1, 26, 24], [64, 48, 2, 1, 2, 19]];
    let lefts = [[4, 0, 5, 1], [0, 1, 4, 5], [5, 4, 1, 0], [1, 0, 5, 4]];
    let rights = [[2, 3, 5, 4], [5, 4, 3, 2], [4, 2, 5, 3]];
    let outs = [[0, 2, 3, 1], [1, 3, 2, 0], [1, 0, 3, 2]];
    for (n, extents) in extents.into_iter().enumerate() {
        for left in lefts {
            for (right, out) in rights.into_iter().flat_map(|r| outs.map(|o| (r, o))) {
                let [a, b, c] = [left, right, out].map(|order| dense(order, extents));
                let axes = (0..6).map(|x| axis(ROLES[x], extents[x], [a[x], b[x], c[x]]));
                let axes = axes.filter(|a| a.extent > 1).collect();
                let sum = if n == 0 { SUM[0] } else { dice.pick(&SUM) };
                check(&task(sum, axes), &mut dice, &workers);
            }
        }
    }
}

/// Rows, columns and steps of many short axes, and some longer ones, in a different order in each tensor.
#[test]
fn many_short_axes_in_any_order() {
    let (mut dice, workers) = (Dice(21), all_workers());
    for round in 0..60 {
        let mut axes = Vec::new();
        let mut add = |dice: &mut Dice, role, most: usize, of: &[usize]| {
            let mut points = 1;
            loop {
                let extent = dice.pick(of);
                points *= extent;
                if points > most {
                    break;
                }
                axes.push(axis(role, extent, [0; 3]));
            }
        };
        add(&mut dice, Role::M, 3000, &[2, 2, 2, 3, 4, 6, 48]);
        add(&mut dice, Role::N, 24, &[2, 3, 4]);
        add(&mut dice, Role::K, if round % 20 == 0 { 600 } else { 12 }, &[2, 3, 4]);
        place(&mut dice, &mut axes);
        let sum = dice.pick(&SUM);
        check(&task(sum, axes), &mut dice, &workers);
    }
}

/// Short runs of rows in the output, adjacent to those of other columns: they are joined in scratch memory, all columns
/// of an axis or some.
#[test]
fn runs_of_several_columns_are_joined() {
    let (mut dice, workers) = (Dice(22), all_workers());
    const ROLES: [Role; 5] = [Role::M, Role::M, Role::N, Role::N, Role::K];
    let extents = [
        [30, 20, 2, 24, 7, 1],
        [40, 9, 4, 16, 1, 1],
        [25, 17, 4, 10, 64, 1],
        // Large enough for several threads.
        [18, 18, 32, 10, 28, 1],
    ];
    let lefts = [[0, 1, 4], [4, 1, 0], [1, 0, 4]];
    let rights = [[2, 3, 4], [4, 2, 3]];
    for extents in extents {
        for (left, right) in lefts.into_iter().flat_map(|l| rights.map(|r| (l, r))) {
            for out in [[0, 2, 3, 1], [2, 0, 3, 1]] {
                let [a, b] = [left, right].map(|order| dense(order, extents));
                let c = dense(out, extents);
                let axes = (0..5).map(|x| axis(ROLES[x], extents[x], [a[x], b[x], c[x]]));
                let axes = axes.filter(|a| a.extent > 1).collect();
                check(&task(dice.pick(&SUM), axes), &mut dice, &workers);
            }
        }
    }
}

/// `[i+k]*k~ik . +ik~i`.
#[test]
fn correlations() {
    let (mut dice, workers) = (Dice(3), all_workers());
    for pair in SUM {
        for (m, k) in [(1000, 64), (77, 300), (5000, 3)] {
            let axes = vec![axis(Role::M, m, [1, 0, 1]), axis(Role::K, k, [1, 1, 0])];
            check(&task(pair, axes), &mut dice, &workers);
        }
    }
}

/// `nc[s*h+r][s*w+t]*fcrt~nfhw` with filters of some sides, images of either operand, and outputs of `w` columns.
fn convolution(
    [f, c, w, side]: [usize; 4],
    stride: isize,
    reversed: bool,
    swapped: bool,
) -> Vec<ContractionAxis> {
    let (n, h) = (2, 9);
    let pitch = stride * w as isize + side as isize + 1;
    let plane = pitch * (stride * h as isize + side as isize);
    let image = c as isize * plane;
    let taps = (side * side) as isize;
    let along = if reversed { -1 } else { 1 };
    let outputs = (h * w) as isize;
    let axes = [
        (Role::M, n, [image, 0, f as isize * outputs]),
        (Role::M, h, [stride * pitch, 0, w as isize]),
        (Role::M, w, [stride * along, 0, 1]),
        (Role::N, f, [0, c as isize * taps, outputs]),
        (Role::K, c, [plane, taps, 0]),
        (Role::K, side, [pitch, side as isize, 0]),
        (Role::K, side, [along, 1, 0]),
    ];
    let swap = |(role, extent, [a, b, c]): (Role, usize, [isize; 3])| {
        let role = match role {
            Role::M => Role::N,
            Role::N => Role::M,
            other => other,
        };
        axis(role, extent, [b, a, c])
    };
    match swapped {
        true => axes.map(swap).to_vec(),
        false => axes.map(|(role, extent, strides)| axis(role, extent, strides)).to_vec(),
    }
}

/// Windows in place, or packed if a panel extends to the next row of an image: one group of filters and several, more
/// than a block of k, of strides 1, 2 and 3, and reversed ones.
#[test]
fn convolutions() {
    let (mut dice, workers) = (Dice(8), all_workers());
    let sizes = [[5, 3, 16, 3], [16, 6, 16, 7], [40, 4, 21, 3], [64, 2, 24, 3], [33, 30, 8, 3]];
    for pair in SUM {
        for (size, stride) in sizes.into_iter().zip([1, 2, 1, 3, 1]) {
            let (reversed, swapped) = (dice.roll(3) == 0, dice.roll(2) == 0);
            let axes = convolution(size, stride, reversed, swapped);
            check(&task(pair, axes), &mut dice, &workers);
        }
    }
}

/// Packed rows of stride 2, for runs of steps of many lengths.
#[test]
fn strided_convolutions_of_few_steps() {
    let (mut dice, workers) = (Dice(9), all_workers());
    for side in 1..=9 {
        let axes = convolution([130, 1, 12, side], 2, false, dice.roll(2) == 0);
        check(&task(SUM[0], axes), &mut dice, &workers);
    }
}

/// Filters fill the lanes if that avoids packing an image as often as windows overlap.
#[test]
fn windows_are_read_in_place() {
    // Not with few steps, disjoint windows, or many filters.
    let sizes = [
        ([16, 16, 16, 7], true),
        ([64, 64, 56, 3], true),
        ([64, 3, 56, 3], false),
        ([64, 64, 56, 1], false),
        ([192, 64, 56, 3], false),
    ];
    for (size, expected) in sizes {
        let task = task(SUM[0], convolution(size, 1, false, false));
        for level in Level::available() {
            let Some(algebra) = algebra_of(level, &task) else { panic!("there are microkernels") };
            let rich = !algebra.tiles.windows.is_empty();
            let problem = orient(&task, algebra);
            let across = Blocking::of(&problem, 2).unpacked_rhs;
            let windows = across.is_some_and(|across| across.windows);
            assert_eq!(windows, expected && rich, "{size:?} {}", level.name());
        }
    }
}
