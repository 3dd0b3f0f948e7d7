use super::kernel::{RowLayout, Tensors, find};
use super::*;
use ijk_kernels::tuning::order::ROW_FOLD_PIECE as PIECE;
use ijk_types::{DType, Monoid};

const MONOIDS: [Monoid; 3] = [Monoid::Add, Monoid::Max, Monoid::Min];
const TERMS: [Term; 3] = [Term::Element, Term::Magnitude, Term::Square];
const KINDS: [Of; 4] = [Of::One, Of::Centre, Of::Pair, Of::Product];
const LENGTHS: [usize; 13] =
    [16, 17, 31, 49, 63, 64, 65, 100, 127, PIECE, PIECE + 1, 3 * PIECE + 7, 40 * PIECE + 9];

/// Integers of either sign, small enough that all sums are exact.
fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|n| ((n * 7 + seed) % 11) as f64 - 5.0).collect()
}

/// Reference fold of a row.
fn literal((monoid, term, of): (Monoid, Term, Of), x: &[f64], other: &[f64]) -> f64 {
    let value = |n: usize| match of {
        Of::One => x[n],
        Of::Centre => x[n] - other[0],
        Of::Pair => x[n] - other[n],
        Of::Product => x[n] * other[n],
    };
    let terms = (0..x.len()).map(|n| match term {
        Term::Element => value(n),
        Term::Magnitude => value(n).abs(),
        Term::Square => value(n) * value(n),
    });
    match monoid {
        Monoid::Add => terms.sum(),
        Monoid::Max => terms.fold(f64::NEG_INFINITY, f64::max),
        _ => terms.fold(f64::INFINITY, f64::min),
    }
}

/// Folds rows of every kind by the kernels of an element type.
fn agrees<T: Copy + Default + Into<f64>>(t: DType, level: Level, of_number: impl Fn(f64) -> T) {
    const COUNT: usize = 3;
    for length in LENGTHS {
        let (x, other) = (numbers(COUNT * length, 0), numbers(COUNT * length, 3));
        let typed = |of: &[f64]| of.iter().map(|&n| of_number(n)).collect::<Vec<T>>();
        let (typed_x, typed_other) = (typed(&x), typed(&other));
        for monoid in MONOIDS {
            for how in TERMS.iter().flat_map(|&term| KINDS.map(|of| (monoid, term, of))) {
                let Some(kernel) = find(t, how, level) else {
                    let general = level.name() == "portable" || monoid != Monoid::Add;
                    assert!(general || how.1 == Term::Magnitude, "{t} {how:?}");
                    continue;
                };
                let mut out = [T::default(); COUNT];
                let step = (length * size_of::<T>()) as isize;
                let identity = scalar_bits(ijk_types::scalar::identity(monoid, t))[0];
                let steps = [step, step, size_of::<T>() as isize];
                let rows = RowLayout { length, ahead: 0, steps, identity };
                let at = Tensors {
                    x: typed_x.as_ptr().cast(),
                    other: typed_other.as_ptr().cast(),
                    out: out.as_mut_ptr().cast(),
                };
                // SAFETY: the arrays have these rows.
                unsafe { kernel(&rows, COUNT, at) };
                for (n, out) in out.into_iter().enumerate() {
                    let row = n * length..(n + 1) * length;
                    let expected = literal(how, &x[row.clone()], &other[row]);
                    assert_eq!(out.into(), expected, "{t} {how:?} {length} row {n} {level:?}");
                }
            }
        }
    }
}

#[test]
fn rows_fold_as_written() {
    for level in Level::available() {
        agrees(DType::F32, level, |n| n as f32);
        agrees(DType::F64, level, |n| n);
        agrees(DType::I32, level, |n| n as i32);
    }
}

#[test]
fn parts_cover_long_rows() {
    for length in [1, 15, 16, 17, PIECE, 5 * ROW_FOLD_LENGTH + 7].map(|n| ROW_FOLD_LENGTH + n) {
        let how = (DType::F32, Monoid::Add);
        let long = LongRows::new(how, (length, Of::One), Level::best()).unwrap();
        let mut next = 0;
        for part in (0..long.parts).map(|part| long.part(part, length)) {
            assert_eq!(part.start, next);
            assert!(part.len() >= LEAST);
            next = part.end;
        }
        assert_eq!(next, length);
    }
}

#[test]
fn nan_is_kept_wherever_it_is() {
    let level = Level::best();
    for (monoid, at) in MONOIDS.into_iter().flat_map(|m| [0, 20, 63, 64, 98].map(|at| (m, at))) {
        let mut x = [1.0f32; 99];
        x[at] = f32::NAN;
        let mut out = 0f32;
        let identity = scalar_bits(ijk_types::scalar::identity(monoid, DType::F32))[0];
        let rows = RowLayout { length: x.len(), ahead: 0, steps: [0; 3], identity };
        let x = x.as_ptr().cast();
        let at = Tensors { x, other: x, out: (&raw mut out).cast() };
        let kernel = find(DType::F32, (monoid, Term::Element, Of::One), level).unwrap();
        // SAFETY: the row has these elements.
        unsafe { kernel(&rows, 1, at) };
        assert!(out.is_nan(), "{monoid:?}");
    }
}

#[test]
fn many_pieces_lose_little() {
    let x = vec![0.1f32; 4_000_000];
    let rows = RowLayout { length: x.len(), ahead: 0, steps: [0; 3], identity: 0 };
    let mut out = 0f32;
    let at = Tensors { x: x.as_ptr().cast(), other: x.as_ptr().cast(), out: (&raw mut out).cast() };
    let kernel = find(DType::F32, (Monoid::Add, Term::Square, Of::One), Level::best()).unwrap();
    // SAFETY: the row has these elements.
    unsafe { kernel(&rows, 1, at) };
    let expected = 4_000_000.0 * f64::from(0.1f32 * 0.1f32);
    assert!((f64::from(out) - expected).abs() < 1e-6 * expected, "{out} for {expected}");
}
