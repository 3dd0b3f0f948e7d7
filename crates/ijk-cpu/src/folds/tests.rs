use super::kernel::{LEAST, RowLayout, Tensors, find};
use super::*;
use ijk_kernels::tuning::order::{ROW_FOLD_PART, ROW_FOLD_PIECE as PIECE};
use ijk_types::{DType, Monoid};

const MONOIDS: [Monoid; 3] = [Monoid::Add, Monoid::Max, Monoid::Min];
const TERMS: [Term; 3] = [Term::Element, Term::Magnitude, Term::Square];
const KINDS: [Of; 4] = [Of::One, Of::Centre, Of::Pair, Of::Product];
const LENGTHS: [usize; 16] = [
    9,
    12,
    15,
    16,
    17,
    31,
    49,
    63,
    64,
    65,
    100,
    127,
    PIECE,
    PIECE + 1,
    3 * PIECE + 7,
    40 * PIECE + 9,
];

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

/// Rows of one strip, without strides.
fn one_strip(length: usize, identity: u64) -> RowLayout<'static> {
    RowLayout { length, strips: 0..1, axes: &[], ahead: 0, steps: [0; 3], identity }
}

/// Folds rows of every kind by the kernels of an element type.
fn agrees<T: Copy + Default + Into<f64>>(t: DType, level: Level, of_number: impl Fn(f64) -> T) {
    // More than as many as the lanes of a vector, whose folds are combined across lanes together.
    const COUNT: usize = 37;
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
                let rows = RowLayout { steps, ..one_strip(length, identity) };
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
fn strips_fold_as_one_row() {
    const AXES: [usize; 2] = [3, 5];
    let t = DType::F32;
    for length in [1, 3, 4, 14, 16, 17, 33, 64, 77, PIECE / 3, PIECE + 3] {
        // The other operand has other gaps.
        let rows = [[length + 1, length + 7], [length, length + 2]];
        let strides = rows.map(|[inner, gap]| [AXES[1] * inner + gap, inner]);
        let whole = strides.map(|[outer, _]| AXES[0] * outer);
        let (x, other) = (numbers(whole[0], 0), numbers(whole[1], 3));
        let strip =
            |n: usize, [outer, inner]: [usize; 2]| n / AXES[1] * outer + n % AXES[1] * inner;
        let bytes = |axis: usize| strides.map(|s| (s[axis] * size_of::<f32>()) as isize);
        let axes = [0, 1].map(|axis| (AXES[axis], bytes(axis)));
        let typed = |of: &[f64]| of.iter().map(|&n| n as f32).collect::<Vec<f32>>();
        let (typed_x, typed_other) = (typed(&x), typed(&other));
        let hows = MONOIDS.into_iter().flat_map(|m| TERMS.map(|term| (m, term)));
        for (level, (monoid, term)) in
            Level::available().into_iter().flat_map(|l| hows.clone().map(move |h| (l, h)))
        {
            for (of, strips) in
                KINDS.into_iter().flat_map(|of| [0..15, 2..9, 14..15].map(|strips| (of, strips)))
            {
                let Some(kernel) = find(t, (monoid, term, of), level) else { continue };
                let at = |n: usize, k: usize| move |i: usize| strip(n, strides[k]) + i;
                let gathered = |of: &[f64], k: usize| {
                    let each = strips.clone().flat_map(|n| (0..length).map(at(n, k)));
                    each.map(|at| of[at]).collect::<Vec<f64>>()
                };
                let axes = match of {
                    Of::Centre => axes.map(|(extent, [x, _])| (extent, [x, 0])),
                    _ => axes,
                };
                let other_row = if of == Of::Centre { other.clone() } else { gathered(&other, 1) };
                let expected = literal((monoid, term, of), &gathered(&x, 0), &other_row);
                let identity = scalar_bits(ijk_types::scalar::identity(monoid, t))[0];
                let row = RowLayout {
                    strips: strips.clone(),
                    axes: &axes,
                    ..one_strip(length, identity)
                };
                let mut out = 0f32;
                let (x, other) = (typed_x.as_ptr().cast(), typed_other.as_ptr().cast());
                // SAFETY: the arrays have these strips.
                unsafe { kernel(&row, 1, Tensors { x, other, out: (&raw mut out).cast() }) };
                assert_eq!(
                    f64::from(out),
                    expected,
                    "{monoid:?} {term:?} {of:?} {length} {strips:?}"
                );
            }
        }
    }
}

#[test]
fn parts_cover_long_rows() {
    let longer = [1, 15, 16, 17, PIECE, 5 * ROW_FOLD_LENGTH + 7].map(|n| ROW_FOLD_LENGTH + n);
    let short = [(1000, 200), (20_001, 9), (4, 1 << 16), (ROW_FOLD_PART, 40)];
    for (length, count) in longer.map(|length| (length, 1)).into_iter().chain(short) {
        let strips = Strips { length, axes: vec![(count, [0; 2])] };
        let how = (DType::F32, Monoid::Add);
        let long = LongRows::new(how, (&strips, Of::One), Level::best()).unwrap();
        assert!(long.parts >= LEAST);
        let mut next = (0, 0);
        for (strips, elements) in (0..long.parts).map(|part| long.part(part, &strips)) {
            assert_eq!((strips.start, elements.start), next);
            assert!(!strips.is_empty() && !elements.is_empty());
            next =
                if elements.end == length { (strips.end, 0) } else { (strips.start, elements.end) };
        }
        assert_eq!(next, (count, 0));
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
        let rows = one_strip(x.len(), identity);
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
    let rows = one_strip(x.len(), 0);
    let mut out = 0f32;
    let at = Tensors { x: x.as_ptr().cast(), other: x.as_ptr().cast(), out: (&raw mut out).cast() };
    let kernel = find(DType::F32, (Monoid::Add, Term::Square, Of::One), Level::best()).unwrap();
    // SAFETY: the row has these elements.
    unsafe { kernel(&rows, 1, at) };
    let expected = 4_000_000.0 * f64::from(0.1f32 * 0.1f32);
    assert!((f64::from(out) - expected).abs() < 1e-6 * expected, "{out} for {expected}");
}
