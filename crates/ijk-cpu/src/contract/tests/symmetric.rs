//! Products of an array with itself: the same bits as with a copy of it.

use super::kit::*;
use crate::Level;
use ijk_plan::plan::Role;
use ijk_types::{C64, C128, DType, Scalar};

/// Numbers whose products and sums are rounded.
fn rounded(t: DType, dice: &mut Dice) -> Scalar {
    let mut x = || dice.roll(2001) as f64 / 700.0 - 1.4;
    match t {
        DType::F32 => Scalar::F32(x() as f32),
        DType::F64 => Scalar::F64(x()),
        DType::C64 => Scalar::C64(C64::new(x() as f32, x() as f32)),
        DType::C128 => Scalar::C128(C128::new(x(), x())),
        _ => value(t, dice, true, false),
    }
}

#[test]
fn an_array_by_itself_is_an_array_by_its_copy() {
    let (mut dice, workers) = (Dice(31), all_workers());
    for triple in triples() {
        let (n, k) = dice.pick(&[(150, 70), (129, 530), (210, 300), (97, 700), (64, 9000)]);
        let (along, out) = (dice.roll(2), dice.roll(2));
        let pair = |first: bool, x: usize| if first { [x as isize, 1] } else { [1, x as isize] };
        let ([side, step], [row, column]) = match along {
            0 => (pair(true, k), pair(out == 0, n + 3)),
            _ => (pair(false, n), pair(out == 0, n)),
        };
        let axes = vec![
            axis(Role::M, n, [side, 0, row]),
            axis(Role::N, n, [0, side, column]),
            axis(Role::K, k, [step, step, 0]),
        ];
        let task = task(triple, axes);
        let t = task.dtype;
        let a = Data::new(t, &task.axes, |x| x.a, || rounded(t, &mut dice));
        let copy = Data { bytes: a.bytes.clone(), origin: a.origin };
        for level in Level::available() {
            for workers in &workers {
                let results = [&a, &copy].map(|b| {
                    let mut c = Data::new(t, &task.axes, |x| x.c, || rounded(t, &mut Dice(5)));
                    run(&task, &a, b, &mut c, level, workers);
                    c.bytes
                });
                assert!(results[0] == results[1], "{}: {task:#?}", level.name());
            }
        }
    }
}
