//! Logarithms of sums of exponentials over sums of several arrays, which are evaluated as products, against loops: where
//! the greatest terms meet, where they never do, and with infinities and NaN.

use crate::common::programs::run;
use ijk::Tensor;
use ijk::ndarray::{Array1, Array2, Axis, Ix2};

const ROWS: usize = 40;
const STEPS: usize = 90;
const COLUMNS: usize = 50;

/// The logarithm of a sum of exponentials, as NumPy has it.
fn log_sum(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let greater = |m: f64, x: f64| if m.is_nan() || x.is_nan() { f64::NAN } else { m.max(x) };
    let most = terms.clone().fold(f64::NEG_INFINITY, greater);
    match most.is_infinite() {
        true => most,
        false => most + terms.map(|x| (x - most).exp()).sum::<f64>().ln(),
    }
}

/// Numbers that repeat after long, from `-spread` to `spread`.
fn numbers(seed: u64, spread: f64) -> impl FnMut() -> f64 {
    let mut state = seed | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Exact in single precision.
        ((state >> 48) as f64 / f64::from(1u32 << 15) - 1.0) * spread
    }
}

/// Two operands.
struct Operands {
    a: Array2<f64>,
    b: Array2<f64>,
}

impl Operands {
    fn new(spread: f64) -> Self {
        let (mut left, mut right) = (numbers(3, spread), numbers(5, spread));
        Self {
            a: Array2::from_shape_simple_fn((ROWS, STEPS), &mut left),
            b: Array2::from_shape_simple_fn((STEPS, COLUMNS), &mut right),
        }
    }

    /// `Σ` over steps, with another term for each point.
    fn expected(&self, other: impl Fn(usize, usize, usize) -> f64) -> Array2<f64> {
        Array2::from_shape_fn((ROWS, COLUMNS), |(i, k)| {
            let term = |j: usize| self.a[[i, j]] + self.b[[j, k]] + other(i, j, k);
            log_sum((0..STEPS).map(term))
        })
    }

    /// Runs a program of `a`, `b` and others in both types, and compares `y`: the same for one thread and several, as
    /// written and not.
    fn check(&self, source: &str, others: &[(&str, Array1<f64>)], expected: &Array2<f64>) {
        let mut bound = vec![("a", self.a.clone().into_dyn()), ("b", self.b.clone().into_dyn())];
        bound.extend(others.iter().map(|(name, array)| (*name, array.clone().into_dyn())));
        let single =
            bound.iter().map(|(name, x)| (*name, Tensor::from_array(x.mapv(|x| x as f32))));
        let single: Vec<_> = single.collect();
        let double: Vec<_> =
            bound.iter().map(|(name, x)| (*name, Tensor::from_array(x.clone()))).collect();
        let finite = bound.iter().flat_map(|(_, x)| x.iter().filter(|x| x.is_finite()));
        let most = 1.0 + finite.fold(0.0, |most: f64, x| most.max(x.abs()));
        let [single, double] = [&single, &double].map(|all| borrowed(all));
        for strict in [false, true] {
            let got = run(source, &single, strict).into_array::<f32, Ix2>().unwrap();
            close(&got.mapv(f64::from), expected, 2e-6 * most);
            let got = run(source, &double, strict).into_array::<f64, Ix2>().unwrap();
            close(&got, expected, 1e-14 * most);
        }
    }
}

fn borrowed<'a>(bound: &'a [(&'a str, Tensor)]) -> Vec<(&'a str, &'a Tensor)> {
    bound.iter().map(|(name, array)| (*name, array)).collect()
}

fn close(got: &Array2<f64>, expected: &Array2<f64>, error: f64) {
    for ((at, x), y) in got.indexed_iter().zip(expected) {
        let same = x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= error;
        assert!(same, "{at:?}: {x}, not {y}");
    }
}

const PRODUCT: &str = "y[i,k] =logaddexp a[i,j] + b[j,k]";

#[test]
fn terms_are_as_great_as_all() {
    for spread in [0.0, 1.0, 20.0, 100.0, 1000.0] {
        let of = Operands::new(spread);
        of.check(PRODUCT, &[], &of.expected(|_, _, _| 0.0));
    }
}

#[test]
fn greatest_terms_never_meet() {
    let mut of = Operands::new(1.0);
    of.a.slice_axis_mut(Axis(1), (..STEPS / 2).into()).mapv_inplace(|x| x - 500.0);
    of.b.slice_axis_mut(Axis(0), (STEPS / 2..).into()).mapv_inplace(|x| x - 700.0);
    // Some rows do.
    of.a.slice_axis_mut(Axis(0), (7..9).into()).mapv_inplace(|x| x.max(-1.0));
    of.check(PRODUCT, &[], &of.expected(|_, _, _| 0.0));
}

#[test]
fn infinities_and_nan_are_as_written() {
    let mut of = Operands::new(3.0);
    of.a.row_mut(0).fill(f64::NEG_INFINITY);
    of.b.column_mut(1).fill(f64::NEG_INFINITY);
    of.a[[2, 5]] = f64::INFINITY;
    of.b[[5, 1]] = f64::NEG_INFINITY;
    of.a[[3, 6]] = f64::NAN;
    of.b[[7, 8]] = f64::INFINITY;
    of.a.row_mut(4).slice_mut(ijk::ndarray::s![1..]).fill(f64::NEG_INFINITY);
    of.check(PRODUCT, &[], &of.expected(|_, _, _| 0.0));
}

#[test]
fn further_terms_join_theirs() {
    let of = Operands::new(2.0);
    let vector = |seed, n| Array1::from_shape_simple_fn(n, numbers(seed, 3.0));
    let (d, t, w) = (vector(7, STEPS), vector(9, ROWS), vector(11, COLUMNS));
    let source = "y[i,k] =logaddexp d[j] + a[i,j] - t[i] + (b[j,k] - w[k])";
    let expected = of.expected(|i, j, k| d[j] - t[i] - w[k]);
    let others = [("d", d), ("t", t), ("w", w.clone())];
    of.check(source, &others, &expected);
    let source = "y[i,k] = w[k]\ny[i,k] logaddexp= a[i,j] + b[j,k]";
    let mut expected = of.expected(|_, _, _| 0.0);
    expected.indexed_iter_mut().for_each(|((_, k), y)| *y = log_sum([*y, w[k]].into_iter()));
    of.check(source, &[("w", w)], &expected);
}
